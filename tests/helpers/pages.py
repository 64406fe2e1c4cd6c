"""What the tests of the pages share."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(path for path in ROOT.glob("docs/*.md")
                                       if path.name != "index.md")])  # Sphinx checks the others


def blocks(text, language):
    """The code blocks of a language in a page."""
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)
