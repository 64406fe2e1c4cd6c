"""Notice what is not a student's own: three casual cheats, and files that are alike.

The process of one answer calls `asked`, `held`, `replaced` and `lines_of`. `alike` compares the
answers of a class. Nothing here notices a cheat who takes some trouble.
"""

import ast
import collections
import inspect
import itertools
import keyword
import re
import sys
from collections.abc import Iterable
from typing import Any

from aiayn_course import PACKAGES

from ..language import say

SAME, NEARLY, SHARE = 5, 10, 0.9  # lines of equal and of similar code, and the share in common
NAME = re.compile(rf"(?<![.\w])(?!(?:np|math|{'|'.join(keyword.kwlist)})\b)[^\W\d]\w*\b(?!=)")


def asked(trees, objects):
    """Return remarks on code that asks the package for the solution.

    objects : names of the exercise's classes and functions, which the student is to write
    """
    code, names = "\n".join(map(ast.unparse, trees)), "|".join(objects)
    taken = re.findall(rf"from aiayn_\S* import (?:.*\W)?({names})\b|(?<!\bself)\.({names})\b"
                       rf"|getattr\(.*'({names})'", code)
    read = re.findall(r"\b(?:getsource\w*|__code__)\b", code)
    return [say("it takes {name} from the package", name=name)
            for name in sorted({"".join(some) for some in taken})] + [
            say("it reads source code by {name}", name=name) for name in sorted({*read})]


def held():
    """Return {place: object} of all that NumPy and the package's modules and classes hold now."""
    found: dict[str, Any] = {}
    for name, module in [*sys.modules.items()]:
        if name.split(".")[0] in PACKAGES or name == "numpy":
            found |= {f"{name}.{key}": thing for key, thing in vars(module).items()}
            found |= {f"{name}.{key}.{n}": method for key, thing in vars(module).items()
                      if inspect.isclass(thing) for n, method in vars(thing).items()}
    return found


def replaced(before):
    """Return the places that hold another object than in `before`."""
    now = held()
    return [place for place, thing in before.items() if now.get(place) is not thing]


def lines_of(trees):
    """Return the lines of a file's functions, laid out alike and without comments.

    What the student's file gives does not count: docstrings, the `__init__` of a layer, imports,
    calls of `check`, and a function that is not written yet.
    """
    found, nodes = [], [*itertools.chain.from_iterable(map(ast.walk, trees))]
    given = [part for node in nodes if isinstance(node, ast.ClassDef) and node.bases
             for part in node.body if getattr(part, "name", "") == "__init__"]
    for node in nodes:
        body = node.body if isinstance(node, ast.FunctionDef) and node not in given else []
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Lambda):
            body = [node]
        for part in body:
            text = isinstance(part, ast.Expr) and isinstance(part.value, ast.Constant)
            if not (text or isinstance(part, ast.Raise)):
                found += [line.strip() for line in ast.unparse(part).splitlines()]
    return found


def alike(grades: Iterable[Any]) -> list[tuple[str, list[str], bool]]:
    """Return [(exercise, students, whether their code is equal)] of answers that are alike.

    Equal code has SAME lines at least. Other answers are alike if they are equal but for the names
    of variables, or if they have NEARLY lines or more and then SHARE of them in common.
    """
    groups: list[tuple[str, set, bool]] = []
    some = [(g, collections.Counter(NAME.sub("x", line) for line in g.code))
            for g in grades if len(g.code) >= SAME]
    for (a, of_a), (b, of_b) in itertools.combinations(some, 2):
        same, counts = a.code == b.code, [len(a.code), len(b.code)]
        near = of_a == of_b or (min(counts) >= NEARLY
                                and 2 * (of_a & of_b).total() >= SHARE * sum(counts))
        if a.exercise == b.exercise and (same or near):
            both = {a.student, b.student}
            old = [g for g in groups if (g[0], g[2]) == (a.exercise, same) and g[1] & both]
            groups = [g for g in groups if g not in old]
            groups.append((a.exercise, both.union(*(g[1] for g in old)), same))
    return [(exercise, sorted(students), same) for exercise, students, same in groups]
