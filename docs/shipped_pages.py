"""The README and the pages that it leads to as HTML, for `aiayn-np docs`.

    python docs/shipped_pages.py [FOLDER]     (default: build/pages)

setup.py puts them into the wheel. A link to another page leads to its HTML, and one to a file of
the package leads to that file. A link to a file that a wheel does not have becomes plain text.
"""

import html
import os
import posixpath
import shutil
import sys
from pathlib import Path

from markdown_it import MarkdownIt
from mdit_py_plugins.anchors import anchors_plugin

ROOT = Path(__file__).resolve().parents[1]
PAGES = [path.relative_to(ROOT).as_posix() for path in [
    *sorted(ROOT.glob("*.md")), *sorted(ROOT.glob("docs/*.md")),
    *sorted(ROOT.glob("aiayn_np/*/README.md")), *(ROOT / f"{folder}/README.md" for folder in (
        "notebooks", "notebooks/exercises", "benchmarks", "tests")),
] if path != ROOT / "docs" / "index.md"]
PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
:root {{ color-scheme: light dark; }}
body {{ font: 16px/1.55 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto;
       padding: 0 1rem; }}
pre, code {{ font: 0.9em/1.45 ui-monospace, monospace; }}
pre, table {{ overflow-x: auto; display: block; }}
pre {{ padding: 0.8rem; border: 1px solid #8886; border-radius: 4px; }}
td, th {{ border: 1px solid #8886; padding: 0.25rem 0.6rem; text-align: left; }}
table {{ border-collapse: collapse; }}
img {{ max-width: 100%; background: white; }}
</style>
</head>
<body>
<main>
{body}</main>
</body>
</html>
"""


def make_pages(out, package):
    """Write every page below the folder `out`; links to code lead to the folder `package`."""
    shutil.rmtree(out, ignore_errors=True)
    reader = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    reader.use(anchors_plugin, max_level=4)
    for page in PAGES:
        path = Path(out, page).with_suffix(".html")
        path.parent.mkdir(parents=True, exist_ok=True)
        tokens = reader.parse((ROOT / page).read_text(encoding="utf-8"))
        for token in tokens:
            if token.children:
                token.children = relinked(token.children, page, Path(out), Path(package))
        body = reader.renderer.render(tokens, reader.options, {})
        title = next(t.content for i, t in enumerate(tokens[1:]) if tokens[i].tag == "h1")
        path.write_text(PAGE.format(title=html.escape(title), body=body), encoding="utf-8",
                        newline="\n")


def relinked(tokens, page, out, package):
    """The tokens of a line with links that lead somewhere; pictures are copied beside the page."""
    kept, open_links = [], []
    for token in tokens:
        if token.type == "image":
            name = target_of(page, token.attrs["src"])
            Path(out, name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, out / name)
        if token.type == "link_open":
            address = new_address(token.attrs["href"], page, out, package)
            open_links.append(address)
            token.attrs["href"] = address or ""
        if token.type == "link_open" and address is None:
            continue
        if token.type == "link_close" and open_links.pop() is None:
            continue
        kept.append(token)
    return kept


def new_address(address, page, out, package):
    """Where a link of a page leads in HTML; None where nothing is there."""
    path, hash_, anchor = address.partition("#")
    if "://" in address or not path:
        return address
    name = target_of(page, path)
    if name in PAGES:
        return posixpath.splitext(path)[0] + ".html" + hash_ + anchor
    if name.startswith("aiayn_np/"):
        target = Path(package, name.removeprefix("aiayn_np/"))
        return Path(os.path.relpath(target, Path(out, page).parent)).as_posix()
    return None


def target_of(page, path):
    """The file that a link of a page leads to, by its path in the repository."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(page), path))


if __name__ == "__main__":
    folder = sys.argv[1] if len(sys.argv) > 1 else ROOT / "build" / "pages"
    make_pages(folder, ROOT / "aiayn_np")
    print(folder)
