"""Public functions and classes of every room are annotated, and their room names them."""

import ast
import importlib

import pytest
from imports import module_name, parsed
from public_names import ROOT, defined, public_names, without_annotation

import aiayn_np

NAMES = public_names() | public_names(ROOT / "aiayn_course")
ROOMS = sorted({tuple(module.split(".")[:2]) for module, _ in NAMES})


def test_the_names_of_the_package_are_public():
    for module, name in (("training.toys", "train"), ("decoding.beam", "beam_search"),
                         ("runs.open", "open_run")):
        assert (f"aiayn_np.{module}", name) in NAMES
    assert ("aiayn_course.lab.zoo.runner", "hunt") in NAMES


@pytest.mark.parametrize("room", ROOMS)
def test_public_signatures_are_annotated(room):
    missing = {f"{module}.{name}": found for (module, name), node in NAMES.items()
               if tuple(module.split(".")[:2]) == room and (found := without_annotation(node))}
    assert missing == {}


@pytest.mark.parametrize("room", ["aiayn_course.exercises", "aiayn_course.lab.zoo",
                                  "aiayn_np.models"])
def test_what_a_room_hands_out_is_annotated(room):
    files = {module_name(path.relative_to(ROOT)): path for path in ROOT.glob("aiayn_*/**/*.py")}
    names = importlib.import_module(room).__all__
    found = {name: missing for name in names
             for node in defined(room, name, files).values()
             if (missing := without_annotation(node))}
    assert found == {}


def test_the_package_exports_what_it_imports():
    """Type checkers ask `__all__`."""
    tree = parsed((ROOT / "aiayn_np" / "__init__.py").read_text(encoding="utf-8"))
    imported = {alias.name for node in tree.body if isinstance(node, ast.ImportFrom)
                for alias in node.names}
    assert set(aiayn_np.__all__) == imported


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_names_its_public_names(room):
    text = ROOT.joinpath(*room, "__init__.py").read_text(encoding="utf-8")
    words = set((ast.get_docstring(ast.parse(text)) or "").replace(",", " ").split())
    public = {name for module, name in NAMES if tuple(module.split(".")[:2]) == room}
    assert public <= words, f"not named: {', '.join(sorted(public - words))}"
