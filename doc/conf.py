"""Configuration of Sphinx; see doc/contributing.rst for the command."""

import dataclasses
import inspect
import sys
from pathlib import Path

import ensemble_simplify

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

project = "ensemble_simplify"
author = "The ensemble_simplify developers"
copyright = "2026, The ensemble_simplify developers"
version = release = ensemble_simplify.__version__

extensions = [
    "mathml",
    "matplotlib.sphinxext.plot_directive",
    "myst_parser",
    "numpydoc",
    "other_projects",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
]
source_suffix = {".rst": "restructuredtext", ".md": "markdown"}
exclude_patterns = ["_build", "paper", "auto_examples/**/*.ipynb", "auto_examples/**/*.py"]
templates_path = ["_templates"]
default_role = "py:obj"

# Every reference must resolve, but for parameters and attributes in single backticks and for names
# of other projects that have no page of their own (see other_projects.py).
nitpicky = True
nitpick_ignore_regex = [
    ("py:obj", r"[\w.]+"),
    ("py:.*", r"(collections|numpy|scipy|sklearn|pandas|matplotlib)\..*"),
]

autosummary_generate = True
# The parameters' sections say more.
autodoc_typehints = "none"
toc_object_entries_show_parents = "hide"
# The class template lists the members; numpydoc must not do it again.
numpydoc_show_class_members = False

# What is copied is the code, without the prompts and what they print.
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
copybutton_exclude = ".linenos, .gp, .go"

# Drawings of the guide: scripts in figures/, run at build.
plot_formats = [("svg", 150)]
plot_html_show_formats = False
plot_html_show_source_link = False
plot_include_source = False
plot_apply_rcparams = True
plot_rcparams = {
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlesize": 10,
    "font.size": 9,
    "legend.frameon": False,
    "savefig.bbox": "tight",
}

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "auto_examples",
    "filename_pattern": r"[\\/]plot_",
    "ignore_pattern": r"^_",
    "subsection_order": ["../examples/models", "../examples/questions", "../examples/papers"],
    "within_subsection_order": "gallery.ReadingOrder",
    "backreferences_dir": "generated/backreferences",
    "doc_module": ("ensemble_simplify",),
    "download_all_examples": False,
    "remove_config_comments": True,
    "show_memory": False,
    # as many pages at once as `sphinx-build -j` says
    "parallel": True,
    "reset_modules": ("matplotlib", "gallery.spawn"),
    "min_reported_time": 1000,
    "show_signature": False,
    "write_computation_times": False,
}

# Formulas are MathML: nothing is loaded from another host (see mathml.py).
html_math_renderer = "mathml"
html_theme = "pydata_sphinx_theme"
html_static_path = ["_static"]
html_css_files = ["custom.css"]
html_title = "ensemble_simplify"
html_favicon = "_static/favicon.svg"
html_theme_options = {
    "logo": {
        "text": f"ensemble_simplify {version}",
        "image_light": "_static/logo-light.svg",
        "image_dark": "_static/logo-dark.svg",
        "alt_text": "",
    },
    "header_links_before_dropdown": 6,
    "navigation_with_keys": False,
    "show_prev_next": True,
    "secondary_sidebar_items": {"**": ["page-toc"], "index": []},
}
html_sidebars = {
    "index": [],
    "compare": [],
    "tutorial": [],
    "install": [],
    "contributing": [],
    "releasing": [],
    "checklists": [],
    "architecture": [],
    "architecture_files": [],
    "whats_new": [],
}
html_show_sourcelink = False


def without_constructor(app, what, name, value, options, signature, returns):
    """What functions return is not made by users: only what tells its parameters shows them."""
    is_result = what == "class" and dataclasses.is_dataclass(value)
    if is_result and "\nParameters\n" not in inspect.getdoc(value):
        return "", returns
    return None


def setup(app):
    """Draw the pictures of two pages, on methods and architecture, before anything is read."""
    import draw_architecture
    from figures import decision

    app.connect("builder-inited", lambda _: draw_architecture.write_all(HERE / "generated"))
    app.connect("autodoc-process-signature", without_constructor)
    app.connect("builder-inited", lambda _: decision.write(HERE / "generated"))
