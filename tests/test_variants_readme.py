"""The page on the variants names every file, and its commands parse."""

import re
import shlex
from pathlib import Path

from aiayn_np.cli import parser

FOLDER = Path(__file__).parents[1] / "aiayn_np" / "variants"
PAGE = (FOLDER / "README.md").read_text(encoding="utf-8")


def test_every_file_is_named_and_every_name_is_a_file():
    files = {path.name for path in FOLDER.glob("*.py")} - {"__init__.py"}
    assert set(re.findall(r"\]\(([^)]*)\)", PAGE)) == files


def test_every_command_parses():
    (block,) = re.findall(r"```bash\n(.*?)```", PAGE, re.DOTALL)
    for line in block.splitlines():
        parser().parse_args(shlex.split(line)[1:])
