"""Links from our pages into the references of other projects: no inventory is fetched at build."""

import importlib

from docutils import nodes

# Where each project keeps a page for a public name.
PAGES = {
    "matplotlib": "https://matplotlib.org/stable/api/_as_gen/{name}.html",
    "numpy": "https://numpy.org/doc/stable/reference/generated/{name}.html",
    "pandas": "https://pandas.pydata.org/docs/reference/api/{name}.html",
    "scipy": "https://docs.scipy.org/doc/scipy/reference/generated/{name}.html",
    "sklearn": "https://scikit-learn.org/stable/modules/generated/{name}.html",
}


def _page(name):
    """Address of the page of a public class or function, or of the class of a method; else None."""
    parts = name.split(".")
    if parts[0] not in PAGES:
        return None
    for end in (len(parts), len(parts) - 1):
        module, own = ".".join(parts[: end - 1]), parts[end - 1]
        try:
            found = getattr(importlib.import_module(module), own)
        except (ImportError, AttributeError, ValueError):
            continue
        if callable(found):
            address = PAGES[parts[0]].format(name=".".join(parts[:end]))
            return address if end == len(parts) else f"{address}#{name}"
    return None


def link(app, env, node, contnode):
    """Answer a reference that Sphinx cannot resolve, if it is to a name of another project."""
    if node.get("refdomain") != "py" or (address := _page(node["reftarget"])) is None:
        return None
    project = node["reftarget"].partition(".")[0]
    return nodes.reference(
        "", "", contnode, internal=False, refuri=address, reftitle=f"in {project}"
    )


def setup(app):
    app.connect("missing-reference", link)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
