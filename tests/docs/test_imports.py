"""The finder of circles among imports finds those that are planted, however they are written."""

import pytest
from imports import circles, imports_of


def house(folder, files):
    """Write {path: text} into a folder."""
    for path, text in files.items():
        (folder / path).parent.mkdir(exist_ok=True)
        (folder / path).write_text(text)
    return folder


def test_relative_and_absolute_imports_everywhere_in_a_file(tmp_path):
    house(tmp_path, {
        "__init__.py": "from .module import Module\nfrom .room import loop as first\n",
        "module.py": "import numpy as np\nimport os.path\n",
        "room/__init__.py": "from .loop import train\nfrom . import loss\n",
        "room/loop.py": "def f():\n    from ..module import Module\n    from .. import missing\n",
        "room/loss.py": "import house.room.loop\nclass A:\n    from house import module\n",
        "room/deep.py": "from house.room.loss import A\nfrom . import train\nimport housekeeping\n",
    })
    assert imports_of(tmp_path, "house") == {
        "": {"module", "room.loop"}, "module": set(), "room": {"room.loop", "room.loss"},
        "room.loop": {"module", ""}, "room.loss": {"room.loop", "module"},
        "room.deep": {"room.loss", "room"},
    }
    assert circles(imports_of(tmp_path, "house")) == [["", "room.loop"]]


@pytest.mark.parametrize("back", [
    "import a", "from a import x", "def f():\n    import a", "def f():\n    from a import x"])
def test_a_planted_circle_of_scripts_is_found(tmp_path, back):
    house(tmp_path, {"a.py": "import b\nfrom other import a", "b.py": "import c", "c.py": "",
                     "d.py": "import a, d"})
    assert circles(imports_of(tmp_path)) == []
    house(tmp_path, {"c.py": back})
    assert circles(imports_of(tmp_path)) == [["a", "b", "c"]]


def test_two_circles_are_two():
    graph = {"a": {"b"}, "b": {"a", "c"}, "c": {"d"}, "d": {"c"}, "e": {"a"}}
    assert circles(graph) == [["a", "b"], ["c", "d"]]
