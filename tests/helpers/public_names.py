"""The public names of the package: functions and classes that something outside of their room uses.

A room is a folder of a package. Its users are other rooms, the package's own `__init__.py`, the
other package, the lessons, the benchmarks and the scripts in docs/. The files are parsed and not
imported.
"""

import ast
from pathlib import Path

from imports import imported, module_name, parsed

ROOT = Path(__file__).parents[2]
OUTSIDE = ("aiayn_np", "aiayn_course", "benchmarks", "docs", "notebooks")


def public_names(package=ROOT / "aiayn_np", outside=tuple(ROOT / name for name in OUTSIDE)):
    """{(module, name): definition in the syntax tree} of all public functions and classes."""
    files = {module_name(path.relative_to(package.parent)): path for path in package.rglob("*.py")}
    users = [(path, name) for name, path in files.items()]
    users += [(path, "") for folder in outside if folder != package
              for path in folder.rglob("*.py")]
    found = {}
    for path, user in users:
        for full in imported(path, user, None):
            module, _, name = full.rpartition(".")
            if (room := room_of(module, files)) and room != room_of(user, files):
                found |= defined(module, name, files)
    return found


def room_of(module, files):
    """The room of a module, such as "aiayn_np.training"; "" at the top of the package."""
    room = ".".join(module.split(".")[:2])
    return room if "." in room and room in files and files[room].name == "__init__.py" else ""


def defined(module, name, files):
    """{(module, name): definition}, where the module defines the name or imports it; else {}."""
    for node in parsed(files[module].read_text(encoding="utf-8")).body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and node.name == name:
            return {(module, name): node}
    for full in imported(files[module], module, None):
        other, _, last = full.rpartition(".")
        if last == name and other in files and other != module:
            return defined(other, name, files)
    return {}


def without_annotation(node):
    """Names of the parameters of a definition without annotation, and "return" for the result.

    Of a class they are those of its public methods and of `__init__`.
    """
    if isinstance(node, ast.ClassDef):
        return [f"{method.name}: {name}" for method in node.body
                if isinstance(method, ast.FunctionDef)
                and (method.name == "__init__" or not method.name.startswith("_"))
                for name in without_annotation(method)]
    a = node.args
    given = [*a.posonlyargs, *a.args, a.vararg, *a.kwonlyargs, a.kwarg]
    missing = [arg.arg for arg in given
               if arg and not arg.annotation and arg.arg not in ("self", "cls")]
    return missing + ["return"] * (node.returns is None)
