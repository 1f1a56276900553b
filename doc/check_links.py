"""Check that every link inside the built documentation leads somewhere.

    python doc/check_links.py HTML_DIRECTORY

Follows ``href`` and ``src`` of every page to a file below the directory and, with a fragment, to an
``id`` or ``name`` in it. Links to other hosts are not followed. Ends with status 1 and a list if
something is missing.
"""

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """Links and anchors of one page."""

    def __init__(self, path):
        super().__init__()
        self.links, self.anchors = set(), set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        for name, value in attrs:
            if name in ("href", "src") and value:
                self.links.add(value)
            elif name in ("id", "name") and value:
                self.anchors.add(value)


def broken_links(root):
    """Yield (page, link, reason) for links that lead nowhere."""
    root = root.resolve()
    files = sorted(path for path in root.rglob("*.html") if "_static" not in path.parts)
    pages = {path: Page(path) for path in files}
    if not pages:
        yield root, "", "no pages here"
    for path, page in pages.items():
        for link in sorted(page.links):
            url = urlsplit(link)
            if url.scheme or url.netloc:
                continue
            target = (path.parent / unquote(url.path)).resolve() if url.path else path
            if target.is_dir():
                target /= "index.html"
            if not target.is_relative_to(root) or not target.exists():
                yield path, link, "no such file"
            elif url.fragment and target.suffix == ".html":
                if unquote(url.fragment) not in pages[target].anchors:
                    yield path, link, "no such anchor"


def main():
    """Print what is broken; the number of broken links decides the exit status."""
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    root = Path(sys.argv[1])
    broken = list(broken_links(root))
    for page, link, reason in broken:
        print(f"{page}: {link}: {reason}")
    print(f"{len(broken)} broken links")
    return bool(broken)


if __name__ == "__main__":
    sys.exit(main())
