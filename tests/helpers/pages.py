"""What the tests of the pages share."""

import functools
import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(path for path in ROOT.glob("docs/*.md")
                                       if path.name != "index.md")])  # Sphinx checks the others
EVERY_PAGE = sorted([*PAGES, ROOT / ".github" / "pull_request_template.md", *(
    path for folder in ("aiayn_np", "benchmarks", "docs", "figures", "notebooks", "tests")
    for path in ROOT.glob(f"{folder}/**/*.md")
    if path not in PAGES and ROOT / "docs" / "pages" not in path.parents)])


@functools.cache
def committed():
    """The files of the repository and their folders; None where git does not know."""
    listed = subprocess.run(["git", "-C", ROOT, "ls-files", "-z"], capture_output=True, text=True)
    files = {ROOT / name for name in listed.stdout.split("\0") if name}
    return files | {folder for path in files for folder in path.parents} or None


def blocks(text, language):
    """The code blocks of a language in a page."""
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)
