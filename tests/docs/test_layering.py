"""The house: arrows go one way, there is no circle, and layers need NumPy alone."""

import ast
import sys
from pathlib import Path

import pytest
from imports import circles, imported, imports_of, module_name, nodes_in

ROOT = Path(__file__).parents[2] / "aiayn_np"
COURSE = Path(__file__).parents[2] / "aiayn_course"
BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
PROTOCOL = {"module", "checks", "reductions", "structure"}
LAYERS = {
    "softmax", "masking", "attention", "linear", "multi_head", "feed_forward", "embedding",
    "positional_encoding", "layer_norm", "dropout", "add_norm", "encoder", "decoder", "transformer",
}
# room -> the rooms that it may import, besides itself; "layers" is Section 3 with its protocol
ROOMS = {
    "layers": set(),
    "files": set(),
    "variants": {"layers"},
    "optimizers": {"layers", "training"},
    "decoding": {"layers", "variants"},
    "training": {"layers", "decoding"},
    "proofs": {"layers", "files", "variants", "optimizers", "decoding", "training"},
    "reading": {"layers", "variants"},
    "plotting": {"layers", "files", "decoding", "training"},
    "text": {"layers", "files", "decoding", "training", "plotting"},
    "models": {"layers", "files", "variants", "text"},
    "runs": {"layers", "files", "variants", "optimizers", "decoding", "training", "reading",
             "plotting", "text", "models"},
}
# the same for the course, which may import each room of the paper
COURSE_ROOMS = {
    "data": set(), "drawings": set(), "page": set(), "lab": {"data"}, "exercises": {"lab"},
}
OUTSIDE = {  # third-party packages of a room, besides NumPy
    "plotting": {"matplotlib", "PIL"}, "lab": {"matplotlib"}, "drawings": {"matplotlib"},
    "training": {"threadpoolctl", "mpi4py"}, "cli": {"tqdm"}, "models": {"torch", "safetensors"},
}


@pytest.fixture(scope="module")
def graph():
    return imports_of(ROOT, "aiayn_np")


def room_of(module):
    """The room of a module of the package, by its dotted name within it.

    variants/optimizers.py is one of its own: training knows decoding, which knows the variants.
    """
    if module == "variants.optimizers":
        return "optimizers"
    first = module.split(".")[0]
    return "layers" if first in LAYERS | PROTOCOL else first


def test_a_room_imports_only_what_lies_below_it(graph):
    wrong = {}
    for module, used in graph.items():
        room = room_of(module)
        if room not in ("", "__main__", "cli"):                        # these put all together
            wrong[module] = {room_of(name) for name in used} - {room} - ROOMS[room]
    assert {module: rooms for module, rooms in wrong.items() if rooms} == {}


def test_the_paper_never_imports_the_course():
    for path in ROOT.rglob("*.py"):
        names = imported(path, module_name(path.relative_to(ROOT)), "aiayn_np")
        assert not [name for name in names if name.split(".")[0] == "aiayn_course"], path


def test_a_room_of_the_course_imports_only_what_lies_below_it():
    wrong = {}
    for module, used in imports_of(COURSE, "aiayn_course").items():
        room = module.split(".")[0]
        if room not in ("", "__main__", "cli"):
            rooms = {name.split(".")[0] for name in used} - {"", room}
            wrong[module] = rooms - COURSE_ROOMS[room]
    assert {module: rooms for module, rooms in wrong.items() if rooms} == {}


@pytest.mark.parametrize("module", sorted(LAYERS | PROTOCOL))
def test_a_layer_imports_the_protocol_and_layers(module, graph):
    assert graph[module] <= (PROTOCOL if module in PROTOCOL else LAYERS | PROTOCOL)


def test_nothing_but_the_start_imports_the_command_line(graph):
    for module, used in graph.items():
        if room_of(module) not in ("cli", "__main__"):
            assert "cli" not in {room_of(name) for name in used}, module


@pytest.mark.parametrize(("folder", "package"), [
    (ROOT, "aiayn_np"), (COURSE, "aiayn_course"), (BENCHMARKS, None)])
def test_there_is_no_circle(folder, package):
    assert circles(imports_of(folder, package)) == []


def test_only_open_py_knows_the_kinds_of_runs():
    """Everything else asks the run for what it needs: its `command`, its `batch`, its `measure`."""
    for path in [*ROOT.rglob("*.py"), *COURSE.rglob("*.py")]:
        for call in nodes_in(path.read_text(encoding="utf-8"), ast.Call):
            if ast.unparse(call.func) == "isinstance":
                kinds = {name.id for name in ast.walk(call.args[1]) if isinstance(name, ast.Name)}
                assert not any(kind.endswith("Run") for kind in kinds), f"{path}:{call.lineno}"


def test_the_top_of_the_package_is_section_3():
    modules = {path.stem for path in ROOT.glob("*.py")} - {"__init__", "__main__"}
    assert modules == LAYERS | PROTOCOL | {"files"}
    entries = [path for path in ROOT.iterdir() if path.name != "__pycache__"]
    assert len(entries) <= 40
    assert set(ROOMS) | {"cli"} >= {path.name for path in entries if path.is_dir()}


def test_third_party_packages_are_those_of_the_room():
    own, wrong = {"aiayn_np", "aiayn_course", "numpy", *sys.stdlib_module_names}, {}
    for path in [*ROOT.rglob("*.py"), *COURSE.rglob("*.py")]:
        package, *parts = path.relative_to(ROOT.parent).parts
        module = module_name(Path(*parts))
        names = {name.split(".")[0] for name in imported(path, module, package)}
        wrong[module] = names - own - OUTSIDE.get(room_of(module), set())
    assert {module: names for module, names in wrong.items() if names} == {}
