"""A bug: a wrong version of some methods, to be planted and removed again."""

import inspect
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby
from types import ModuleType
from typing import Any

import numpy as np

from aiayn_course import PACKAGES
from aiayn_np.proofs.vector_cases import tensors_of
from aiayn_np.proofs.vectors import Pair, difference

BUGS: dict[int, "Bug"] = {}  # by number; the files of bugs fill it
PAPER = 32  # bugs 1 to 32 are of the paper's model, the others of later parts
Wrong: Any = object  # base of wrong versions, whose `self` is of the right class


@dataclass(frozen=True)
class Bug:
    """One bug from real code.

    layer : the class or module that contains the bug
    what : the fault, in a few sentences
    formula : the wrong formula, and the right one
    seen : the public project that had the bug, or "common"
    caught_by : the check that must catch the bug, one of `checks.CHECKS`
    methods : {name: the wrong version}
    """

    number: int
    name: str
    layer: Any
    what: str
    formula: str
    seen: str
    caught_by: str
    methods: dict

    @property
    def where(self) -> str:
        """Name the methods that the bug replaces: "Softmax.backward"."""
        return f"{self.layer.__name__.rsplit('.', 1)[-1]}.{', '.join(self.methods)}"

    @contextmanager
    def plant(self) -> "Iterator[Bug]":
        """Put the wrong versions in place in a `with` block; an error inside removes them, too.

        Methods are replaced in their class, functions everywhere in the package. So every object of
        the class is wrong, in every thread of this program, even if it was made before the block.
        Do not plant a bug while another thread computes.
        """
        with planted(self.layer, self.methods):
            yield self

    def explains(self, pairs: list[Pair]) -> str:
        """Name the wrong tensors of another program if they are exactly what this bug gives.

        Return "" if a tensor has other numbers. A case that the bug cannot compute says nothing.
        pairs : the tensors of a component, as `compare_vectors` compares them
        """
        same: set[str] = set()
        left, wrong = {"output.ids"}, {pair.name for pair in pairs if pair.fault}  # ids tell little
        for _, group in groupby(pairs, lambda pair: pair.case["name"]):
            if left >= wrong:
                return ""
            first, *others = group
            try:
                with self.plant(), np.errstate(all="ignore"):
                    changed = tensors_of(first.case)
            except (TypeError, ValueError, LookupError, ArithmeticError):
                continue
            for case, name, x, right, _, fault in (first, *others):
                changes = difference(case, changed[name], right)[1]
                if changes and difference(case, x, changed[name])[1]:
                    return ""
                if changes or fault:
                    (same if changes else left).add(name)
        if not same or same & left:
            return ""
        names, more = sorted(same)[:3], f" and {len(same) - 3} more" if len(same) > 3 else ""
        return f"{', '.join(names)}{more}: the numbers of bug {self.number}, {self.name}"


@contextmanager
def planted(layer: Any, methods: dict) -> Iterator[None]:
    """Replace methods of a class, or functions of a module, in a `with` block.

    methods : {name: the function to use in the block}
    """
    rights = {name: vars(layer)[name] for name in methods}
    try:
        for name, new in methods.items():
            replace(layer, name, rights[name], new)
        yield
    finally:
        for name, new in methods.items():
            replace(layer, name, new, rights[name])


def replace(layer, name, old, new):
    """Set a method of a class; or set a function, in its module and in modules that imported it."""
    places = [layer]
    if isinstance(layer, ModuleType):
        package = [m for n, m in list(sys.modules.items()) if n.split(".")[0] in PACKAGES]
        places += [m for m in package if vars(m).get(name) is old]
    for place in places:
        setattr(place, name, new)


def bug(number, name, layer, *, seen="common", caught_by):
    """Return a decorator: the functions of its class are wrong versions of functions of `layer`.

    Its `explanation` describes the fault and, after an empty line, gives the formula.
    """
    def register(wrong):
        what, formula = inspect.cleandoc(wrong.explanation).split("\n\n")
        methods = {n: getattr(wrong, n) for n, f in vars(wrong).items() if callable(f)}
        facts = dict(what=what, formula=formula, seen=seen, caught_by=caught_by, methods=methods)
        BUGS[number] = Bug(number, name, layer, **facts)
        return BUGS[number]
    return register
