"""Who imports whom in a folder of Python files, and the circles among them."""

import ast
import functools


def imports_of(folder, package=None):
    """{module: set of modules} of all imports among the files of a folder and the folders in it.

    Every import counts, at the top of a file or inside a function, absolute or relative. A module
    is named by its path, "training.loop", and a package by its folder. What lies outside of the
    folder does not count, nor does a module's import of itself.

    package : name by which absolute imports call the folder, "aiayn_np"; None for scripts, which
        import each other by their bare names
    """
    files = {module_name(path.relative_to(folder)): path for path in folder.rglob("*.py")}
    return {name: {found for full in imported(path, name, package)
                   if (found := inside(full, package, files)) not in (None, name)}
            for name, path in files.items()}


def module_name(path):
    """ "training.loop" of training/loop.py, "training" of its __init__.py, "" of the outermost."""
    parts = path.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@functools.cache
def imported(path, name, package):
    """Absolute names that the file of a module imports, `from a import b` as "a.b"."""
    return tuple(absolute_names(path, name, package))


def absolute_names(path, name, package):
    full = ".".join(filter(None, (package, name))).split(".")
    here = full if path.name == "__init__.py" else full[:-1]           # what one dot means
    for node in nodes_in(path.read_text(encoding="utf-8"), ast.Import, ast.ImportFrom):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        if isinstance(node, ast.ImportFrom):
            above = here[: len(here) + 1 - node.level] if node.level else []
            stem = [*above, *filter(None, [node.module])]
            yield from (".".join([*stem, alias.name]) for alias in node.names)


@functools.cache
def parsed(text):
    """The syntax tree of the text of a file."""
    return ast.parse(text)


@functools.cache
def nodes_in(text, *kinds):
    """The nodes of some kinds in the text of a file, inside functions too."""
    return [node for node in ast.walk(parsed(text)) if isinstance(node, kinds)]


def inside(full, package, files):
    """The longest beginning of an absolute name that is a module of the folder, or None."""
    parts = full.split(".")
    if package is not None:
        if parts[0] != package:
            return None
        parts = parts[1:]
    shortest = 0 if package is not None else 1
    names = (".".join(parts[:n]) for n in range(len(parts), shortest - 1, -1))
    return next((name for name in names if name in files), None)


def circles(graph):
    """Sorted lists of the modules that reach themselves, one for each group that is a circle."""
    reached = {name: reachable(graph, name) for name in graph}
    groups = {tuple(sorted(other for other in reached[name] if name in reached.get(other, ())))
              for name in graph if name in reached[name]}
    return sorted(map(list, groups))


def reachable(graph, start):
    """Everything that a module imports, directly or through others."""
    found, new = set(), set(graph[start])
    while new:
        found |= new
        new = {after for name in new for after in graph.get(name, ())} - found
    return found
