"""The page of the tests keeps its word: its tests and files exist, and its commands parse."""

import re
import shlex
from pathlib import Path

import pytest

from aiayn_course.cli.main import parsed

FOLDER = Path(__file__).parents[2]
ROOT = FOLDER.parent
PAGE = (FOLDER / "README.md").read_text(encoding="utf-8")
CODE = re.findall(r"`([^`\n]+)`", re.sub(r"```.*?```", "", PAGE, flags=re.DOTALL))
BLOCKS = re.findall(r"```bash\n(.*?)```", PAGE, re.DOTALL)
FILES = [code for code in CODE if re.fullmatch(r"[\w/*]+\.(py|md|json)", code)]
COMMANDS = [code for code in CODE if code.startswith(("python ", "aiayn-np "))] + [
    command for block in BLOCKS
    for command in re.findall(r"(?:python|aiayn-np) [^#|\n]*", block)
]


def found(file):
    """The only file of tests of that name, in whatever room."""
    (path,) = FOLDER.rglob(file)
    return path


@pytest.mark.parametrize("name", [code for code in CODE if "::" in code])
def test_every_test_that_is_named_exists(name):
    file, test = name.split("::")
    source = found(file).read_text(encoding="utf-8")
    assert re.search(rf"^def {test}\(", source, re.MULTILINE)


def test_every_file_that_is_named_exists():
    assert len(FILES) > 40
    for name in FILES:
        assert list(FOLDER.rglob(name)) or (ROOT / name).is_file(), name


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_parses(command, pytestconfig):
    program, *words = shlex.split(command)
    if program == "aiayn-np":
        parsed(words)
        return
    files = [word for word in words if word.endswith(".py")]
    assert all((ROOT / file).is_file() for file in files)
    if words[:2] == ["-m", "pytest"]:
        marks = {mark.split(":")[0] for mark in pytestconfig.getini("markers")}
        assert set(words[3:4] if words[2:3] == ["-m"] else []) <= marks
    else:
        assert words == files
