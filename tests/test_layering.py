"""Dependencies point one way: the layers know nothing of the variants, nor of the machinery."""

import ast
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1] / "aiayn_np"
SHELL = {"run.py", "cli.py", "cli_train.py", "__main__.py"}  # these put the parts together


def imported(path):
    """The module names that a file imports, relative ones with their dots."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            yield "." * node.level + (node.module or "")
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


@pytest.mark.parametrize("path", sorted(ROOT.glob("*.py")), ids=lambda p: p.name)
def test_the_core_never_imports_a_variant(path):
    variants = [name for name in imported(path) if "variants" in name]
    assert not variants or path.name in SHELL


@pytest.mark.parametrize("path", sorted(ROOT.rglob("*.py")), ids=lambda p: p.name)
def test_layers_need_numpy_only(path):
    plotting = {"matplotlib", "matplotlib.figure", "matplotlib.colors", "matplotlib.animation"}
    outside = {name for name in imported(path) if not name.startswith(".")} - plotting
    helpers = {"cli_train.py": {"tqdm"}, "workers.py": {"threadpoolctl"}}
    allowed = {"numpy"} | helpers.get(path.name, set())
    assert {name.split(".")[0] for name in outside} - set(sys.stdlib_module_names) <= allowed
