"""Where the project's repository is, for the cells that install the package."""

import re
from pathlib import Path

PYPROJECT = Path(__file__).parent.parent / "pyproject.toml"


def repository():
    """The address `Repository` under [project.urls] in pyproject.toml, or an empty string."""
    address = re.search(r'^Repository = "(.*)"$', PYPROJECT.read_text(encoding="utf-8"), re.MULTILINE)
    return address[1] if address else ""


def with_address(text):
    """A text with that address in its install cell."""
    return text.replace('REPOSITORY = ""', f'REPOSITORY = "{repository()}"')
