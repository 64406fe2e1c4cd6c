"""The page of the tests keeps its word: its tests and files exist, and its commands parse."""

import re
import shlex
from pathlib import Path

import pytest

from aiayn_np.cli.main import parsed

FOLDER = Path(__file__).parents[1]
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


def test_no_file_of_tests_is_left_out():
    named = {p.name for code in CODE for p in FOLDER.rglob(code.split("::")[0]) if ".py" in code}
    assert {path.name for path in FOLDER.rglob("test_*.py")} <= named


ROWS = [[cell.strip() for cell in line.strip("|").split("|")]
        for line in PAGE.split("## From the paper to its tests")[1].split("## ")[0].splitlines()
        if line.startswith("| ") and not line.startswith("| paper")]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[2].strip("`").split("/")[-1])
def test_from_the_paper_to_its_tests(row):
    """The file defines what is named, lessons and exercises have their numbers."""
    _, _, file, name, _, lessons, exercises = row
    source = (ROOT / file.strip("`")).read_text(encoding="utf-8")
    assert re.search(rf"^(class |def )?{name.strip('`')}\b", source, re.MULTILINE)
    notebooks = ROOT / "notebooks"
    for number in re.findall(r"\d+", lessons):
        assert list(notebooks.glob(f"{int(number):02}_*.ipynb"))
    for number in re.findall(r"\d+", exercises):
        assert list((notebooks / "exercises" / "source").glob(f"{int(number):02}_*.py"))


def test_every_file_of_the_front_room_has_its_row():
    named = {row[2].strip("`") for row in ROWS}
    layers = {path.name for path in (ROOT / "aiayn_np").glob("*.py")}
    layers -= {"__init__.py", "__main__.py", "module.py", "checks.py", "reductions.py", "files.py",
               "structure.py"}
    assert {f"aiayn_np/{layer}" for layer in layers} <= named


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


def test_the_word_slow_stands_behind_slow_tests_only():
    """Slow by the mark above the test, or by that of its file."""
    for file, test, slow in re.findall(r"`(\w+\.py)::(\w+)`( \(slow\))?", PAGE):
        source = found(file).read_text(encoding="utf-8")
        decorators = source.split(f"def {test}(")[0].rsplit("\n\n", 1)[-1]
        marks = re.findall(r"^(?:pytestmark = .*|@pytest\.mark\.)slow", source, re.MULTILINE)
        of_file = any(mark.startswith("pytestmark") for mark in marks)
        assert bool(slow) == (of_file or "@pytest.mark.slow" in decorators), test
