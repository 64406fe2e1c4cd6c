"""Every room has a budget of lines: who adds to a room that is full takes something out.

The budgets stand in budgets.json. A smaller one is entered when a room has become smaller; a larger
one needs a reason that its reviewers accept. Code is never squeezed to meet a budget.
"""

import json
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BUDGETS = json.loads((Path(__file__).parent / "budgets.json").read_text())
PACKAGES = ("aiayn_np", "aiayn_course")


def lines(path):
    return len(path.read_text(encoding="utf-8").splitlines())


def rooms_of(package, root=ROOT):
    """{room: lines of Python}; what stands beside the rooms is the room "*.py"."""
    found = Counter()
    for path in (root / package).rglob("*.py"):
        room, *more = path.relative_to(root / package).parts
        found[room if more else "*.py"] += lines(path)
    return found


def over(found, budgets):
    """The rooms with more lines than their budget, and those without one."""
    return {room: (n, budgets.get(room)) for room, n in found.items() if n > budgets.get(room, -1)}


@pytest.mark.parametrize("package", PACKAGES)
def test_every_room_keeps_its_budget(package):
    assert over(rooms_of(package), BUDGETS[package]) == {}


def test_the_scripts_of_the_page_and_the_tests_keep_theirs():
    page = [path for path in (ROOT / "aiayn_course" / "page").iterdir()
            if path.suffix in (".js", ".html", ".css")]
    assert sum(map(lines, page)) <= BUDGETS["scripts of the page"]
    assert sum(map(lines, (ROOT / "tests").rglob("*.py"))) <= BUDGETS["tests"]


def test_a_room_over_its_budget_and_a_room_without_one_are_found(tmp_path):
    for name, n in (("layer.py", 3), ("text/language.py", 4), ("new/more.py", 1)):
        (tmp_path / "package" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "package" / name).write_text("x = 1\n" * n)
    found = rooms_of("package", tmp_path)
    assert over(found, {"*.py": 3, "text": 3}) == {"text": (4, 3), "new": (1, None)}
    assert over(found, {"*.py": 3, "text": 4, "new": 1}) == {}
