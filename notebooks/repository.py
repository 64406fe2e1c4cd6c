"""Where the project's repository is, for the cells that install the package."""

import re
from pathlib import Path

PYPROJECT = Path(__file__).parent.parent / "pyproject.toml"
PLACEHOLDER = "example.org"  # where nothing can be


def repository():
    """The address under [project.urls] in pyproject.toml; an empty string for the placeholder."""
    text = PYPROJECT.read_text(encoding="utf-8") if PYPROJECT.exists() else ""
    address = re.search(r'^Repository = "(.*?)"', text, re.MULTILINE)
    return address[1] if address and PLACEHOLDER not in address[1] else ""


def with_address(text):
    """A text with that address in its install cell."""
    return text.replace('REPOSITORY = ""', f'REPOSITORY = "{repository()}"')
