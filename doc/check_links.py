"""Check every link of the built documentation, without the network.

    python doc/check_links.py HTML_DIRECTORY

A link inside the documentation has to lead to a file below the directory and, with a fragment, to
an ``id`` or ``name`` in it. A link to another host has to begin with https and to name a host of
`HOSTS`, and a DOI has to look like one. Nothing may be loaded from another host: pages work
offline. Ends with status 1 and a list of what is wrong. Whether other hosts answer is asked by
``sphinx-build -b linkcheck`` (see doc/releasing.rst).
"""

import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

# A new host is added here by hand, so that a mistyped one is found without asking it.
HOSTS = """
    archive.ics.uci.edu arxiv.org creativecommons.org docs.python.org docs.scipy.org doi.org
    epub.ub.uni-muenchen.de jinja.palletsprojects.com joblib.readthedocs.io
    keepachangelog.com matplotlib.org numpy.org
    pandas.pydata.org proceedings.mlr.press proceedings.neurips.cc
    pydata-sphinx-theme.readthedocs.io pypi.org scikit-learn.org semver.org
    sphinx-gallery.github.io www.sphinx-doc.org
""".split()
DOI = re.compile(r"/10\.\d{4,9}/\S+")
# What a browser fetches by itself.
LOADED = {("link", "href"), *((tag, "src") for tag in ("iframe", "img", "script", "source"))}


class Page(HTMLParser):
    """Links and anchors of one page, and what it loads."""

    def __init__(self, path):
        super().__init__()
        self.links, self.loaded, self.anchors = set(), set(), set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        for name, value in attrs:
            if name in ("href", "src") and value:
                self.links.add(value)
                if (tag, name) in LOADED:
                    self.loaded.add(value)
            elif name in ("id", "name") and value:
                self.anchors.add(value)


def wrong_outside(url, is_loaded):
    """What is wrong with an address on another host; empty if nothing is."""
    if is_loaded and url.scheme != "data":
        return "is loaded from another host"
    if url.scheme in ("data", "mailto"):
        return ""
    if url.scheme != "https":
        return "does not begin with https"
    if url.netloc not in HOSTS:
        return "names a host that is not in HOSTS of doc/check_links.py"
    if url.netloc == "doi.org" and not DOI.fullmatch(unquote(url.path)):
        return "is not a DOI"
    return ""


def wrong_inside(url, path, pages, root):
    """What is wrong with a link of a page to another, or to a place in it; empty if nothing is."""
    target = (path.parent / unquote(url.path)).resolve() if url.path else path
    if target.is_dir():
        target /= "index.html"
    if not target.is_relative_to(root) or not target.exists():
        return "no such file"
    if url.fragment and target.suffix == ".html" and target in pages:
        if unquote(url.fragment) not in pages[target].anchors:
            return "no such anchor"
    return ""


def broken_links(root):
    """Yield (page, link, reason) for links with which something is wrong."""
    root = root.resolve()
    files = sorted(path for path in root.rglob("*.html") if "_static" not in path.parts)
    pages = {path: Page(path) for path in files}
    if not pages:
        yield root, "", "no pages here"
    for path, page in pages.items():
        for link in sorted(page.links):
            url = urlsplit(link)
            if url.scheme or url.netloc:
                reason = wrong_outside(url, link in page.loaded)
            else:
                reason = wrong_inside(url, path, pages, root)
            if reason:
                yield path, link, reason


def main():
    """Print what is wrong; the number of such links decides the exit status."""
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    broken = list(broken_links(Path(sys.argv[1])))
    for page, link, reason in broken:
        print(f"{page}: {link}: {reason}")
    print(f"{len(broken)} broken links")
    return bool(broken)


if __name__ == "__main__":
    sys.exit(main())
