"""Every link of a built site leads to a file, and to a place in it.

    python docs/check_links.py site

The build of the site does this last, and a link that leads nowhere is a warning of it.
"""

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """The links and the anchors of a page."""

    def __init__(self, path):
        super().__init__()
        self.links, self.anchors = [], set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.anchors |= {attributes.get("id"), attributes.get("name")}
        self.links += [value for name in ("href", "src") if (value := attributes.get(name))]


def dead_links(site):
    """[(page, link)] that lead to no file of the site, or to no anchor of its page."""
    site = Path(site).resolve()
    pages = {path: Page(path) for path in site.rglob("*.html")}
    dead = []
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            target = target / "index.html" if target.is_dir() else target
            anchor = unquote(parts.fragment)
            named = "=" not in anchor                                  # else a live page reads it
            if not target.is_file() or (anchor and named and target in pages
                                        and anchor not in pages[target].anchors):
                dead.append((path.relative_to(site).as_posix(), link))
    return dead


def at_the_end(app, error):
    """Warn of dead links when a site is built."""
    from sphinx.util import logging

    if error is None and app.builder.format == "html":
        for page, link in dead_links(app.outdir):
            logging.getLogger(__name__).warning("%s: dead link %s", page, link)


def setup(app):
    app.connect("build-finished", at_the_end)
    return dict(parallel_read_safe=True, parallel_write_safe=True)


if __name__ == "__main__":
    found = dead_links(sys.argv[1])
    print(*(f"{page}: {link}" for page, link in found), sep="\n")
    sys.exit(bool(found))
