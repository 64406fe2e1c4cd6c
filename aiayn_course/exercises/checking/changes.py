"""Change the right formula, to explain a student's numbers.

A topic gives its right formula as a plain function. Here each piece of it is changed in turn: a
term or factor is left out, a sign or an axis is changed, an array is replaced by another. A topic
also lists known mistakes. Each is a change with a teacher's sentence, which follows the numbers in
a report.

All changes stand in one list, the likeliest first. `diagnosis` names the first one that gives the
student's numbers in every case.

All changes of a formula are compiled at once. Each place of the formula has a switch: 0 computes
the right code there; 1, 2, ... compute the changes.
"""

import ast
import copy
import dataclasses
import functools
import inspect
import itertools
import re
import sys
import textwrap
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..language import say
from .free import Free, filled
from .operators import CALLED, normal, replacements, text
from .report import listed

WIDTH = 64  # columns of a piece that is shown
IS_FIXED = "It is one fixed number in your code. It must be the one that is given."
KNOWN, FREE = -2, 1.2  # costs of a known mistake, and of one with a free number
PLACE = re.compile(r"^( *)_place_(\d+)_$|_place_(\d+)_", re.MULTILINE)


@dataclass(eq=False)
class Place:
    """An expression or line of a formula, with the wrong pieces of code that may stand there."""

    node: Any
    parents: list
    field: str
    index: int | None
    codes: list[str] = dataclasses.field(default_factory=list)

    def put(self, node):
        """Put a node into this place of the tree."""
        holder = self.parents[-1]
        if self.index is None:
            setattr(holder, self.field, node)
        else:
            getattr(holder, self.field)[self.index] = node

    @functools.cached_property
    def around(self):
        """Return the largest piece of code around this place that fits into a line."""
        return next((p for p in self.parents if isinstance(p, ast.expr) and not isinstance(
            p, (ast.Tuple, ast.Dict)) and len(text(p)) <= WIDTH), self.node)


class Formula:
    """A function or class that computes what is right, and all its Changes.

    known : common mistakes, each as (old code, new code, key, why). If old and new are tuples,
        their changes belong together. An entry (key, why) explains every change with this key.
    """

    def __init__(self, function, known=()):
        self.function, self.compiled, self.free = function, None, Free()
        self.known = [entry for entry in known if len(entry) == 4]
        self.whys = dict(entry for entry in known if len(entry) == 2)

    @functools.cached_property
    def tree(self):
        tree = ast.parse(textwrap.dedent(inspect.getsource(self.function)))
        tree.body[0].decorator_list = []                               # type: ignore[attr-defined]
        return tree

    @functools.cached_property
    def made_of(self):
        """Return {name: expression} for the names that the formula gives a value once."""
        made: dict[str, list] = {}
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Assign):
                both = [getattr(side, "elts", [side]) for side in (node.targets[0], node.value)]
                for target, value in zip(*both):
                    made.setdefault(text(target), []).append(value)
        return {name: some[0] for name, some in made.items() if len(some) == 1}

    @functools.cached_property
    def by_itself(self):
        """Tell whether the formula needs only the inputs, and no cache from `forward`."""
        return "cache" not in inspect.signature(self.function).parameters

    def __call__(self, *args, **options):
        """Compute the formula with no change."""
        return self.run((), args, options)

    @functools.cached_property
    def places(self):
        return [Place(*place) for place in places(self.tree.body[0])]

    @functools.cached_property
    def changes(self):
        """List all Changes, the cheapest first: known mistakes cost least."""
        known = [self.known_one(*entry) for entry in self.known]
        every = [*known, *self.general(), *self.exchanged()]
        return sorted(every, key=lambda change: change.cost)

    def part(self, i, code):
        """Return the part of a Change that puts a piece of code into place i; keep the piece."""
        codes = self.places[i].codes
        if code not in codes:
            codes.append(code)
            self.compiled = None
        return i, codes.index(code) + 1

    def known_one(self, old, new, key, why):
        """Return the Change that makes a known mistake wherever the old code stands."""
        parts = []
        for before, after in [(old, new)] if isinstance(old, str) else zip(old, new):
            spots = [i for i, p in enumerate(self.places) if text(p.node) == normal(before)]
            if not spots:
                raise ValueError(f"{self.function.__name__} has no {before}")
            parts += [self.part(i, after) for i in spots]
        return Change(self, key, parts, FREE if "free(" in str(new) else KNOWN, why)

    def general(self):
        """List Changes in one place, or of one kind in a whole line or everywhere."""
        names, every, groups = names_of(self.tree), [], dict[tuple, Change]()
        for i, place in enumerate(self.places):
            for cost, key, piece, code in replacements(place, names):
                part, edit = self.part(i, code), (key, *edit_of(text(place.node), code))
                every.append(Change(self, key, [part], cost, self.said_of(key), piece))
                for where in ((edit, place.parents[0]), edit, (key, text(place.node), code)):
                    group = Change(self, key, [], cost, self.said_of(key), piece)
                    groups.setdefault(where, group).parts.append(part)
        lines = {str(group.parts): group for group in groups.values() if len(group.parts) > 1}
        return [*every, *lines.values()]

    def said_of(self, key):
        """Return a teacher's sentence for all changes with this key, or ""."""
        return self.whys.get(key, IS_FIXED if key.endswith(" is fixed") else "")

    def exchanged(self):
        """Yield Changes that exchange two arrays, two parts of self or two caches everywhere."""
        arrays, parts, caches, _ = names_of(self.tree)
        kinds = arrays, [f"self.{part}" for part in parts], [f"cache.{part}" for part in caches]
        codes = [text(place.node) for place in self.places]
        for one, other in (pair for kind in kinds for pair in itertools.combinations(kind, 2)):
            if one in codes and other in codes:
                new = {one: other, other: one}
                parts = [self.part(i, new[code]) for i, code in enumerate(codes) if code in new]
                yield Change(self, "exchanged", parts, 1)

    def run(self, parts, args, options):
        """Compute the formula with the changes in `parts`.

        parts : a list of (index in `self.places`, number of the code to use there); 0 is the right
            code
        """
        if self.compiled is None:
            self.switches = [0] * len(self.places)
            names = {**vars(sys.modules[self.function.__module__]), "_switches": self.switches,
                     "free": self.free}
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                exec(compile(self.code(), "<changes>", "exec"), names)
            self.compiled = names[self.function.__name__]
        self.switches[:] = [0] * len(self.switches)
        for place, number in parts:
            self.switches[place] = number
        return self.compiled(*args, **options)

    def code(self):
        """Return the formula's code with all changes; a switch for each place chooses one."""
        right = {}
        for i, place in reversed(list(enumerate(self.places))):        # the inner ones first
            if place.codes:
                right[i], name = ast.unparse(place.node), ast.Name(f"_place_{i}_")
                place.put(ast.Expr(name) if isinstance(place.node, ast.stmt) else name)
        whole = ast.unparse(self.tree)
        for i in right:
            self.places[i].put(self.places[i].node)

        def written(place):
            indent, line, piece = place.groups()
            i = int(line or piece)
            codes = [PLACE.sub(written, right[i]), *self.places[i].codes]
            if piece:
                tests = [f"({code}) if _switches[{i}] == {n} else" for n, code in enumerate(codes)]
                return f"({' '.join(tests)} None)"
            tests = [f"if _switches[{i}] == {n}:\n{textwrap.indent(code, '    ')}"
                     for n, code in enumerate(codes)]
            return textwrap.indent("\n".join(tests).replace("\nif _sw", "\nelif _sw"), indent)

        return PLACE.sub(written, whole)


class Kept(ast.NodeTransformer):
    """The right formula, which keeps every array on its way, also one that has no name.

    values : {piece of code: its values, in the order of the runs}
    """

    def __init__(self, formula):
        self.values, self.by_itself = dict[int, list](), formula.by_itself
        names = {**vars(sys.modules[formula.function.__module__]), "_keep": self.keep}
        tree = self.visit(copy.deepcopy(formula.tree))
        exec(compile(ast.fix_missing_locations(tree), "<changes>", "exec"), names)
        self.function = names[formula.function.__name__]

    def __call__(self, *args, **options):
        return self.function(*args, **options)

    def generic_visit(self, node):
        super().generic_visit(node)
        if not isinstance(node, (ast.BinOp, ast.Call, ast.Compare)):
            return node
        number = len(self.values)
        self.values[number] = []
        return ast.Call(ast.Name("_keep", ast.Load()), [ast.Constant(number), node], [])

    def keep(self, number, value):
        """Keep a copy of a value, and return the value."""
        if isinstance(value, (np.ndarray, float)):
            self.values[number].append(np.array(value))
        return value


class Change:
    """One hypothesis about a student's mistake: a formula with a piece of wrong code in it.

    A call computes what a student with this mistake gets.

    key : the diagnosis, such as "sign"
    parts : a list of (index in `formula.places`, number of the wrong code that is put there)
    cost : a likelier mistake costs less
    known : a teacher's sentence if the mistake is common, else ""
    piece : the code that a sentence about it names, such as the term that is missing
    number : the number that is free in its code, see `free`, or None
    """

    def __init__(self, formula, key, parts, cost, known="", piece=""):
        self.formula, self.key, self.parts, self.piece = formula, key, parts, piece
        self.cost, self.known, self.number = cost, known, None

    def __call__(self, *args, **options):
        self.formula.free.number = self.number
        return self.formula.run(self.parts, args, options)

    @functools.cached_property
    def free(self):
        """Tell whether a number in its code is not known yet."""
        return any("free(" in self.formula.places[i].codes[n - 1] for i, n in self.parts)

    @property
    def function(self):
        """Return the function that its sentence says a student calls, or ""."""
        is_called = self.key in CALLED or " instead of " in self.key
        return self.piece.rpartition(".")[2] if is_called else ""

    @property
    def by_itself(self):
        return self.formula.by_itself

    @property
    def pieces(self):
        """List (right code, wrong code) of each piece that is changed, in one line each."""
        groups: dict[ast.AST, list] = {}
        for i, n in self.parts:
            place = self.formula.places[i]
            groups.setdefault(place.around, []).append((place, place.codes[n - 1]))
        pieces = dict.fromkeys(tuple(map(in_a_line, before_and_after(shown, some)))
                               for shown, some in groups.items())
        return list(dict.fromkeys((before, filled(after, self.number)) for before, after in pieces))

    @property
    def named(self):
        """Return `piece` with the free number written down."""
        return filled(self.piece, self.number)

    @property
    def why(self):
        """Return a sentence on what was changed, and the teacher's sentence."""
        shown = [say("`{after}` where `{before}` is right" if after != "pass" else
                     "`{before}` left out", before=before, after=after)
                 for before, after in self.pieces]
        return say("Your numbers are those of {codes}. {known}", codes=listed(shown, 2),
                   known=say(self.known)).strip()


def before_and_after(shown, some):
    """Return (right code, wrong code) of a piece in which (place, code) of some places are put."""
    for place, code in some:
        if place.node is shown:
            return text(shown), normal(code)
    for place, code in some:
        place.put(ast.parse(code, mode="eval").body)
    after = ast.unparse(shown)
    for place, _ in some:
        place.put(place.node)
    return text(shown), after


def edit_of(right, wrong):
    """Return (right, wrong) without the ends that both have, and without brackets and spaces."""
    codes = [re.sub(r"[() ]", "", code) for code in (right, wrong)]
    for _ in range(2):                                                 # the start, the end
        start = sum(1 for _ in itertools.takewhile(lambda two: two[0] == two[1], zip(*codes)))
        codes = [code[start:][::-1] for code in codes]
    return tuple(codes)


def in_a_line(code):
    """Join lines of code into one."""
    return re.sub(r"\n *", "; ", re.sub(r":\n *", ": ", code))


def places(top):
    """Yield (node, parents, field, index) of each expression and line of a function or class."""
    def visit(node, parents):
        for name, value in ast.iter_fields(node):
            for i, child in enumerate(value if isinstance(value, list) else [value]):
                if not isinstance(child, ast.AST) or isinstance(child, ast.arguments) or (
                        name == "keys"):                               # names of results
                    continue
                above = [node] if isinstance(node, ast.stmt) else [*parents, node]
                index = i if isinstance(value, list) else None
                is_line = isinstance(child, ast.stmt) and not isinstance(
                    child, (ast.FunctionDef, ast.Return))
                if is_line or (isinstance(child, ast.expr) and not isinstance(
                        getattr(child, "ctx", None), ast.Store)):
                    yield child, above, name, index
                yield from visit(child, above)
    yield from visit(top, [])


def names_of(tree):
    """Return the names that a formula uses: arrays, entries of self and of the cache, arguments."""
    names, of_self, of_cache = dict[str, int](), dict[str, int](), dict[str, int]()
    arguments = [node.arg for node in ast.walk(tree)
                 if isinstance(node, ast.arg) and node.arg != "self"]
    for node in ast.walk(tree):
        if isinstance(node, ast.arg) and node.arg not in ("self", "model", "parameters", "cache"):
            names[node.arg] = 1
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names[node.id] = 1
        if isinstance(node, ast.Attribute):
            {"self": of_self, "cache": of_cache}.get(text(node.value), {})[node.attr] = 1
    return list(names), list(of_self), list(of_cache), arguments
