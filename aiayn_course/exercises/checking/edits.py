"""Edits of the right formula: each is one mistake that students make, as a replacement of code.

A topic gives its right formula as a plain function, and lists known mistakes with a teacher's
sentence. KINDS has the mistakes that may be made in any formula. `explaining` tries all edits, the
known ones first, and takes the first one that gives the student's numbers in every case.
"""

import ast
import contextlib
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

from .kinds import EXCHANGED, LIKELY, OTHER_KINDS, Kind, Names, text
from .operands import nodes_of, numbers_in, tokens_in

WIDTH = 64  # columns of a piece that is shown
OPEN = re.compile(r"number\((?:[^()]|\([^()]*\))*\)")  # a number that stands in the student's code
IDS = "pad", "bos", "eos"  # that may be 1; as a size or a factor, 1 changes nothing


@dataclass(eq=False)
class Place:
    """An expression or line of a formula that other code can replace."""

    node: Any
    parents: list
    field: str
    index: int | None

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
    """A function or class that computes what is right, and all its Edits.

    known : common mistakes, each as (old code, new code, key, why). If old and new are tuples, all
        of them belong to one mistake. The new code may hold `number(x)`: any number of the
        student's code. An entry (key, why) is said of every edit with this key.
    """

    def __init__(self, function, known=()):
        self.function = function
        self.known = [entry for entry in known if len(entry) == 4]
        self.whys = dict(entry for entry in known if len(entry) == 2)

    def __call__(self, *args, **options):
        """Compute the formula with no edit."""
        return self.function(*args, **options)

    @functools.cached_property
    def tree(self):
        tree = ast.parse(textwrap.dedent(inspect.getsource(self.function)))
        tree.body[0].decorator_list = []                               # type: ignore[attr-defined]
        return tree

    @functools.cached_property
    def made_of(self):
        """Return {name: expression} for what the formula gives a value.

        It is None for a name that gets several values, or one of a call that returns several.
        """
        made: dict[str, list] = {}
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Assign):
                targets, values = (getattr(side, "elts", [side])
                                   for side in (node.targets[0], node.value))
                for i, target in enumerate(targets):
                    made.setdefault(text(target), []).append(
                        values[i] if len(values) == len(targets) else None)
        return {name: some[0] if len(some) == 1 else None for name, some in made.items()}

    @functools.cached_property
    def results(self):
        """Return {tensor: code} of what the formula returns, and of what it adds to gradients."""
        top: Any = self.tree.body[0]
        inner = {n.name for n in ast.walk(top) if isinstance(n, ast.FunctionDef) and n is not top}
        found = {}
        node: Any
        for node in nodes_of(top, inner):
            if isinstance(node, ast.AugAssign):
                found[text(node.target).removeprefix("self.")] = text(node.value)
            elif isinstance(node, ast.Call) and node.args and ".grad" in text(node.args[0]):
                found[text(node.args[0]).removeprefix("self.")] = text(node)  # np.add.at
            elif isinstance(getattr(node, "value", None), ast.Dict):
                found |= {key.value: text(x) for key, x in zip(node.value.keys, node.value.values)}
            elif isinstance(node, ast.Return):
                found["output"] = text(node.value)
        return found

    @functools.cached_property
    def last_line(self):
        """Return the code of the last result of the formula, or of its last line."""
        last: Any = self.tree.body[0]
        while hasattr(last, "body"):
            last = last.body[-1]
        return next(reversed(self.results.values()), text(last))

    def code_of(self, target):
        """Return the formula's code for what a student's line makes, or "".

        target : a name; "" is what the line returns, None is nothing
        """
        made = {name: text(code) for name, code in self.made_of.items() if code} | self.results
        only = [code for name, code in self.results.items() if not name.endswith(".grad")]
        return only[0] if target == "" and len(only) == 1 else made.get(target, "")

    @functools.cached_property
    def by_itself(self):
        """Tell whether the formula needs only the inputs, and no cache from `forward`."""
        return "cache" not in inspect.signature(self.function).parameters

    @functools.cached_property
    def places(self):
        return [Place(*place) for place in places(self.tree.body[0])]

    @functools.cached_property
    def all_edits(self):
        """List the Edits: the known mistakes, then those of each kind, the likeliest first."""
        names, known = Names(self.tree), [self.known_one(*entry) for entry in self.known]
        likely, others = ([edit for kind in kinds for edit in self.of_kind(kind, names)]
                          for kinds in (LIKELY, OTHER_KINDS))
        return [*(edit for edit in known if not edit.is_open), *likely,
                *(edit for edit in known if edit.is_open), *others]

    def of_kind(self, kind, names):
        """List the Edits of one kind: in one place, then wherever the same may be done."""
        groups: dict[tuple, Edit] = {}
        found = []
        for i, place in enumerate(self.places):
            for code, piece, key in kind.codes(place, names):
                edit = Edit(self, key, [(i, code)], piece, kind, self.whys.get(key, ""))
                found.append(edit)
                same = (text(place.node), code) if isinstance(
                    place.node, (ast.Name, ast.Attribute)) else ""
                for group in ((key, piece, same), (key, piece, same, place.parents[0])):
                    groups.setdefault(group, dataclasses.replace(edit, parts=[])).parts.append(
                        (i, code))                                     # everywhere, in one line
        if kind is EXCHANGED:
            found += [Edit(self, kind.key, parts, kind=kind)
                      for parts in exchanges(names, self.places)]
        several = {str(group.parts): group for group in groups.values() if len(group.parts) > 1}
        return [*found, *several.values()]

    def known_one(self, old, new, key, why):
        """Return the Edit that makes a known mistake wherever the old code stands."""
        parts = []
        for before, after in [(old, new)] if isinstance(old, str) else zip(old, new):
            spots = [i for i, p in enumerate(self.places) if text(p.node) == normal(before)
                     and not isinstance(p.parents[-1], ast.Expr)]
            if not spots:
                raise ValueError(f"{self.function.__name__} has no {before}")
            parts += [(i, after) for i in spots]
        return Edit(self, key, parts, known=why)

    def edits(self, numbers):
        """Yield the Edits; a number that is not known is one of `numbers`, of the student's."""
        known = {0, 1, 2, *numbers}
        for edit in self.all_edits:
            if not known.issuperset(edit.spoken_numbers):
                continue
            if edit.is_open:
                yield from (edit.with_number(number) for number in numbers
                            if edit.kind is None or number != 1 or edit.piece in IDS)
            else:
                yield edit

    @contextlib.contextmanager
    def replaced(self, parts):
        """Let other code stand in some places of the tree within a `with` block."""
        places = [self.places[i] for i, _ in parts]
        for place, (_, code) in zip(places, parts):
            place.put(tree_of_code(code, place.node))
        try:
            yield self.tree
        finally:
            for place in reversed(places):
                place.put(place.node)


@dataclass(eq=False)
class Edit:
    """One hypothesis about a student's mistake: a call computes what a student with it gets.

    key : the diagnosis, such as "sign"
    parts : a list of (index in `formula.places`, the wrong code that stands there)
    piece : the code that a sentence about it names, such as the term that is missing
    kind : what a general edit is, None for a known mistake
    known : the teacher's sentence on a known mistake, else ""
    number, opened : a number that was not known, and the Edit in which it is not
    """

    formula: Formula
    key: str
    parts: list[tuple[int, str]]
    piece: str = ""
    kind: Kind | None = None
    known: str = ""
    number: float = 0.0
    opened: "Edit | None" = None

    def __call__(self, *args, **options):
        edit = self.opened or self
        edit.number = self.number
        return edit.compiled(*args, **options)

    @functools.cached_property
    def compiled(self):
        """Return the formula with other code in it, as a function; one for all its numbers."""
        parts = [(i, OPEN.sub("_number()", code)) for i, code in self.parts]
        with self.formula.replaced(parts) as tree:
            return made(tree, self.formula.function, _number=lambda: self.number)

    @property
    def is_open(self):
        """Tell whether a number in its code is not known."""
        return any(OPEN.search(code) for _, code in self.parts)

    @functools.cached_property
    def spoken_numbers(self):
        """Return the numbers that a sentence says to be the student's."""
        speaks = self.kind and self.kind.speaks
        return numbers_in(ast.walk(ast.parse(self.piece))) if speaks else []

    def with_number(self, number):
        """Return the Edit in which a number stands that was not known."""
        return dataclasses.replace(self, number=number, opened=self, parts=[
            (i, OPEN.sub(repr(number) if number >= 0 else f"({number!r})", code))
            for i, code in self.parts])

    @functools.cached_property
    def by_piece(self):
        """Return {piece of code that is shown: its parts}."""
        groups: dict[ast.AST, list] = {}
        for i, code in self.parts:
            groups.setdefault(self.formula.places[i].around, []).append((i, code))
        return groups

    def needed(self, explains):
        """Return the Edit without the pieces that it does not need to explain as much."""
        edit = self
        for parts in self.by_piece.values():
            less = dataclasses.replace(edit, parts=[p for p in edit.parts if p not in parts],
                                       opened=None)
            edit = less if less.parts and explains(less) else edit
        return edit

    @functools.cached_property
    def pieces(self):
        """List (right code, wrong code) of each piece that is edited."""
        found = []
        for shown, parts in self.by_piece.items():
            whole = [code for i, code in parts if self.formula.places[i].node is shown]
            with self.formula.replaced([] if whole else parts):
                after = normal(whole[0]) if whole else ast.unparse(shown)
            found.append((text(shown), after))
        return list(dict.fromkeys(found))

    def is_seen_in(self, code):
        """Tell whether what a sentence on this edit speaks of can be seen in the student's Code.

        What it puts in stands there. What it leaves out is there less often than in the formula.
        """
        if self.kind is None:                                          # a teacher's sentence
            return True
        right, wrong = (tokens_in(ast.walk(ast.parse("\n".join(some))))
                        for some in zip(*self.pieces))
        every = tokens_in(ast.walk(self.formula.tree))
        fewest = {token: self.kind.is_instead * every[token] for token in wrong - right}
        if not self.kind.is_device and any(code.tokens[t] <= n for t, n in fewest.items()):
            return False
        return not self.kind.is_missing or not (self.piece in code.conditions or any(
            code.tokens[token] >= every[token] for token in right - wrong))


def made(tree, function, **names):
    """Return the function that a syntax tree defines, with the names of the right function."""
    names |= vars(sys.modules[function.__module__])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(compile(tree, "<edit>", "exec"), names)
    return names[function.__name__]


def exchanges(names, places):
    """Yield (index, code) for what is exchanged: arguments, gradients, parts of self, or caches."""
    codes = [text(place.node) for place in places]
    gradients = [name for name in names.arrays if name.startswith("grad_")]
    for some in names.arguments, gradients, names.parts, names.caches:
        for one, other in itertools.combinations([name for name in some if name in codes], 2):
            new = {one: other, other: one}
            yield [(i, new[code]) for i, code in enumerate(codes) if code in new]


def tree_of_code(code, old):
    """Return the syntax tree of code that stands in the place of an expression or line `old`."""
    if not isinstance(old, ast.stmt):
        return ast.parse(code, mode="eval").body
    lines = ast.parse(code).body
    new: ast.AST = lines[0] if len(lines) == 1 else ast.If(ast.Constant(True), lines, [])
    for node in ast.walk(new):
        ast.copy_location(node, old)
    return new


@functools.cache
def normal(code):
    """Return code as `text` writes it."""
    return ast.unparse(ast.parse(code))


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
