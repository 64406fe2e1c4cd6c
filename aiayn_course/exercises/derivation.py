"""Check a derivation: lines of NumPy, each computed and compared with the line before.

    check_derivation('''
        w = np.exp(s) / np.exp(s).sum()
        d(w, s) == np.diag(w) - np.outer(w, w)

        d(g @ w, s)
        g @ d(w, s)
        w * (g - g @ w)
    ''', s="n", g="n")

`d(y, x)` is the derivative of `y` by the entries of `x`, computed by the complex step, as in the
gradient check. Its shape is y.shape + x.shape: d(w, s)[j, i] is the derivative of w[j] by s[i].
"""

import ast
import copy
import functools
import itertools
import textwrap
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from types import CodeType
from typing import Any

import numpy as np

from aiayn_np.proofs.slopes import COMPLEX_STEP, COMPLEX_TOLERANCE

REAL_STEP, AGREE = 1e-5, 1e-8  # the central difference has an error of about 1e-10
DEFINITION, BEGINS, HOLDS = "definition", "begins", "holds"
MISLED = ("complex step and central difference contradict each other; np.abs, np.var, np.std,"
          " np.vdot, np.linalg.norm, and the log or root of a negative number mislead the complex"
          " step: write np.sqrt((x**2).sum()), and x = np.exp(u) for a positive x")


@dataclass
class Line:
    """A line of a derivation: its number, its text, and the result of the check.

    sides : expressions that must be equal; a single one must equal the line before
    name : the name that the line defines, or ""
    """

    number: int
    text: str
    sides: list[ast.expr]
    name: str
    new_chain: bool
    verdict: str = ""
    error: float = np.nan


@dataclass(repr=False)
class DerivationReport:
    """The lines of a derivation up to the first false line; true when every line holds.

    example : text, the numbers of the smallest example in which the false line fails
    """

    lines: list[Line]
    first_false: Line | None
    example: str

    def __bool__(self) -> bool:
        return self.first_false is None

    def __repr__(self):
        rows = ["line  verdict     error  text"]
        for line in self.lines:
            error = "" if np.isnan(line.error) else f"{line.error:.0e}"
            wrong = "ERROR" if np.isnan(line.error) else "FALSE"
            verdict = wrong if line is self.first_false else line.verdict
            text = line.text.replace("\n", "\n" + " " * 25)
            rows.append(f"{line.number:>4}  {verdict:<10}  {error:>5}  {text}")
        if self.first_false is None:
            rows.append(f"Steps that hold: {sum(x.verdict == HOLDS for x in self.lines)}")
            return "\n".join(rows)
        fault = "cannot be computed" if np.isnan(self.first_false.error) else "is false"
        where = f"Line {self.first_false.number} {fault}: {self.first_false.verdict}"
        return "\n".join([*rows, where, self.example])


def check_derivation(steps: str, *, seed: int = 0, **given: Any) -> DerivationReport:
    """Compute every line of a derivation on random arrays, and find the first that is false.

    Parameters
    ----------
    steps : lines of Python. ``name = expression`` is a definition, and holds. In
        ``a == b == c`` all sides must be equal. Another expression must equal the line before (its
        last side). An empty line begins a new chain, and nothing is compared with its first
        expression. Lines may use ``np``, the given names, the names of sizes, and ``d(y, x)``, the
        derivative by a given or defined ``x``, of shape y.shape + x.shape
    given : name="n" for a random vector, name="T k" for a matrix, name="" for a number. Their
        entries have both signs; for a positive x write ``x = np.exp(u)``. An array or a number is
        taken unchanged. A line may use sizes, such as ``t = np.eye(n)[0]``

    Returns
    -------
    DerivationReport. It is true when every line holds to 1e-12, relative to the largest number of
    the line, or to 1. `first_false` names the first line that is false or cannot be computed, and
    `example` shows the numbers of the smallest sizes in which it is false. The verdict of a line
    that was compared with nothing is "definition" or "begins".

    Raises
    ------
    ValueError if nothing is compared, or a name has two meanings. SyntaxError as in Python

    The lines run as Python code, so check only lines that you would run yourself.
    """
    names = dict.fromkeys(" ".join(v for v in given.values() if isinstance(v, str)).split())
    sizes = {name: 3 + k for k, name in enumerate(names)}
    for name in (*given, *sizes):
        if name in ("d", "np") or not name.isidentifier():
            raise ValueError(f"given must name arrays and sizes by a word, but not by d, which is"
                             f" the derivative, or np, got {name!r}")
    lines = read(steps, [*given, *sizes])
    rng = np.random.default_rng(seed)
    arrays = draw(given, sizes, rng.standard_normal)
    mirrored = {name: -x if isinstance(given[name], str) else x for name, x in arrays.items()}
    if (false := first_false(lines, mirrored, sizes)) is not None:     # numbers of both signs
        arrays = mirrored
    else:
        false = first_false(lines, arrays, sizes)
    if false is None and not any(line.verdict == HOLDS for line in lines):
        raise ValueError("steps must hold a == b, or two expressions in a row, got neither")
    if false and np.isfinite(false.error):
        arrays, sizes = smallest(lines, false, given, arrays, sizes, rng)
    numbers = {**sizes, **arrays} if false else {}
    example = "\n".join(["with", *(f"{name} =\n{x}" if np.ndim(x) else f"{name} = {x}"
                                   for name, x in numbers.items())])
    return DerivationReport([line for line in lines if line.verdict], false, example)


def read(steps: str, given: Iterable[str]) -> list[Line]:
    """Return the lines of a derivation."""
    text = textwrap.dedent(steps)
    rows, lines, end, known = text.splitlines(), [], 0, {"d", "np", *given}
    for node in ast.parse(text).body:
        name = ""
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            name = node.targets[0].id
        elif not isinstance(node, ast.Expr):
            raise ValueError(f"line {node.lineno} must be name = expression, a == b, or an"
                             f" expression, got {rows[node.lineno - 1].strip()}")
        if name in known:
            raise ValueError(f"line {node.lineno} must not give {name} a second meaning")
        known |= {name} - {""}
        sides = [node.value]
        if not name and isinstance(node.value, ast.Compare):
            sides = [node.value.left, *node.value.comparators]
            if not all(isinstance(op, ast.Eq) for op in node.value.ops):
                raise ValueError(f"line {node.lineno} must compare by ==, got"
                                 f" {rows[node.lineno - 1].strip()}")
        between, end = rows[end:node.lineno - 1], node.end_lineno or node.lineno
        lines.append(Line(node.lineno, "\n".join(rows[node.lineno - 1:end]).strip(), sides, name,
                          any(not row.strip() for row in between)))
    return lines


def draw(given: dict, sizes: dict[str, int], random: Callable) -> dict[str, Any]:
    """Draw the numbers of the given names."""
    return {name: random([sizes[size] for size in form.split()]) if isinstance(form, str) else form
            for name, form in given.items()}


def first_false(lines: list[Line], arrays: dict, sizes: dict[str, int]) -> Line | None:
    """Compute and compare the lines with these arrays; return the first false line."""
    example = Example({"np": np, **sizes, **arrays})
    before: list[tuple[str, Any]] = []
    for line in lines:
        line.error, before = np.nan, [] if line.new_chain else before
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                sides = [(ast.unparse(side), example.value_of(side)) for side in line.sides]
        except Exception as error:                                     # whatever the line raises
            line.verdict = f"{type(error).__name__}, {error}"
            return line
        if line.name:
            example.definitions[line.name], line.verdict = line.sides[0], DEFINITION
            continue
        chain = before + sides if len(sides) == 1 else sides
        line.verdict, before = HOLDS if len(chain) > 1 else BEGINS, chain[-1:]
        for pair in itertools.pairwise(chain):
            line.error = np.fmax(line.error, difference(*(value for _, value in pair)))
            if line.error > COMPLEX_TOLERANCE:
                text = functools.partial(np.array2string, suppress_small=True)  # rounding is 0
                line.verdict = "".join(f"\n{name} is\n{text(np.asarray(x))}" for name, x in pair)
                return line
    return None


def difference(a: Any, b: Any) -> float:
    """Return the largest difference, relative to the largest number; inf for unequal shapes."""
    a, b = np.asarray(a, float), np.asarray(b, float)
    if a.shape != b.shape and a.ndim and b.ndim:                    # a number may equal all entries
        return np.inf
    largest = max(1.0, np.abs(a).max(initial=0), np.abs(b).max(initial=0))
    return float(np.nan_to_num(np.abs(a - b).max(initial=0) / largest, nan=np.inf))


def smallest(lines: list[Line], false: Line, given: dict, arrays: dict, sizes: dict[str, int],
             rng: np.random.Generator) -> tuple[dict, dict[str, int]]:
    """Return (arrays, sizes) of the smallest example in which the line is false."""
    until = lines[:lines.index(false) + 1]
    every = itertools.product(*(range(1, size + 1) for size in sizes.values()))
    for some in sorted(every, key=lambda some: (np.prod(some), some)):
        few = dict(zip(sizes, some))
        found = draw(given, few, lambda shape: rng.integers(-20, 21, shape) / 10)
        if first_false(until, found, few) is false and np.isfinite(false.error):
            return found, few
    first_false(until, arrays, sizes)                                  # only the large one
    return arrays, sizes


@functools.lru_cache(maxsize=1000)
def parts(node: ast.expr) -> tuple[CodeType, set[str], list[list[ast.expr]]]:
    """Return (code, names, arguments of every d) of an expression; the code numbers each d."""
    node, slopes = copy.deepcopy(node), []
    for call in ast.walk(node):
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "d":
            if len(call.args) != 2 or not isinstance(call.args[1], ast.Name):
                raise ValueError("d(y, x) needs the name of x")
            slopes.append(copy.deepcopy(call.args))                    # the walk continues inside
            call.args = [ast.Constant(len(slopes) - 1)]
    names = {name.id for name in ast.walk(node) if isinstance(name, ast.Name)}
    return compile(ast.unparse(node), "a derivation", "eval"), names, slopes


class Example:
    """Values of names and definitions; a definition is computed when an expression uses it."""

    def __init__(self, numbers: dict[str, Any]) -> None:
        self.numbers, self.definitions = numbers, dict[str, ast.expr]()

    def value_of(self, node: ast.expr, moved: str = "", by: Any = 0.0,
                 known: dict[str, Any] | None = None) -> Any:
        """Return the value of an expression, with `by` added to the array named `moved`.

        known : the values of names that are computed already
        """
        code, names, slopes = parts(node)
        if moved and slopes:
            raise ValueError("d(y, x) must have no d within y")
        known = {} if known is None else known
        for name in names - known.keys():
            if name in self.numbers:
                known[name] = self.numbers[name]
            elif name in self.definitions:
                known[name] = self.value_of(self.definitions[name], moved, by, known)
            if name == moved:
                known[name] = known[name] + by
        derivatives = [self.derivative(*slope) for slope in slopes]
        return eval(code, {"d": derivatives.__getitem__, **known})

    def derivative(self, y: ast.expr, x: Any) -> np.ndarray:
        """Return d y / d x of shape y.shape + x.shape, by the complex step."""
        at = np.asarray(self.value_of(x), float)

        def slopes(step, part, width):
            columns = [part(np.asarray(self.value_of(y, x.id, step * e))) / width
                       for e in np.eye(at.size).reshape(at.size, *at.shape)]
            return np.stack(columns, axis=-1).reshape(columns[0].shape + at.shape)

        by_complex = slopes(1j * COMPLEX_STEP, np.imag, COMPLEX_STEP)
        h = REAL_STEP
        central = (slopes(h, np.real, 2 * h) - slopes(-h, np.real, 2 * h))
        if difference(by_complex, central) > AGREE:
            raise ValueError(MISLED)
        return by_complex
