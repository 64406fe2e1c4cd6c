"""The gradient check, as a tool for any layer: ours or a student's.

For a function F of inputs and parameters x, a backward computes J^T u for any u. Draw u and v at
random, with both signs. If backward is right, then <u, J v> = <J^T u, v>. The left side needs only
the forward, the right side only the backward. One forward at a complex point gives J v:

    F(x + i h v) = F(x) + i h J v + O(h^2),    so    J v = Im F(x + i h v) / h.

Nothing is subtracted, so nothing cancels. So h can be 1e-20, and the two sides agree to 1e-12 or
better. A central difference reaches 1e-9 to 1e-11 with the best step. It is computed too, and
decides where the forward takes no complex numbers or is not analytic (np.var, np.abs).
"""

import copy
import unittest
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .adapters import adapted
from .finding import WITHOUT, arguments, arrays_in

COMPLEX_STEP = 1e-20
CENTRAL_STEPS = (1e-6, 1e-7, 1e-5)  # three, because a step across the kink of a ReLU says nothing
COMPLEX_TOLERANCE = 1e-12  # relative to the value, or to 0.01 |u| |v|
CENTRAL_TOLERANCE = 1e-5
MISLED_TOLERANCE = 1e-7  # of the central difference, where the complex step is misled
ROUNDED_TOLERANCE = 1e-5  # of a gradient that is returned in float32
SINGLE_STEPS = (1e-2, 1e-3, 3e-4, 1e-4)  # the same, where the forward is in float32
SINGLE_TOLERANCE = 1e-2
SINGLE_DIRECTIONS = 4  # an error of a few per cent hides in a direction in which little moves
ALL = "all together"  # the name of the last row
ON_A_KINK = ", on a kink: slopes from left and right differ, take another x"
NOT_COMPLEX = ", the forward takes no complex numbers"
NOT_ANALYTIC = ", the forward is not analytic"
IN_FLOAT32 = ", the forward computes in float32"
NOTES = {
    IN_FLOAT32: "The forward computes in float32, whatever it is given. Numeric is the central"
    " difference,\nwhich sees errors of 1e-2 there, and no smaller ones. With a ReLU, try another x"
    " before you believe in an error.",
    NOT_COMPLEX: "The forward takes no complex numbers. Numeric is the central difference, which"
    " sees errors of 1e-7.",
    NOT_ANALYTIC: "The forward is not analytic. Numeric is the central difference, which sees"
    " errors of 1e-7.\nThe usual cause is np.var, np.std, np.abs or np.linalg.norm, whose complex"
    " derivative is wrong.\nWrite ((x - mean)**2).mean(), np.where(x < 0, -x, x) or"
    " sqrt((x**2).sum()).",
}
ENTRIES = 500  # examined to find the worst one of a wrong tensor


@dataclass
class Row:
    """The check of one tensor: analytic, <backward(u), v>, against numeric, <u, J v>.

    numeric : by the complex step; by the central difference where that one is misled
    """

    tensor: str
    analytic: float = np.nan
    numeric: float = np.nan
    central: float = np.nan
    error: float = np.nan
    verdict: str = "ok"

    @property
    def ok(self) -> bool:
        return self.verdict.startswith("ok")


class GradientReport:
    """A table of Rows; true when everything agrees.

    not_checked : {array of an adapted layer: why it is not checked}
    """

    def __init__(self, title: str, rows: list[Row], *, checked: str = "",
                 not_checked: dict[str, str] | None = None) -> None:
        self.title, self.rows, self.checked = title, rows, checked
        self.not_checked = not_checked or {}

    def __bool__(self) -> bool:
        return all(row.ok for row in self.rows)

    @property
    def worst(self) -> Row:
        """The row with the largest error, among the wrong ones if there are any."""
        single = [row for row in self.rows if row.tensor != ALL]
        return max(single, key=lambda row: (not row.ok, np.nan_to_num(row.error, nan=np.inf)))

    def __repr__(self):
        name_width = max(len(row.tensor) for row in self.rows)
        lines = [f"{'tensor':<{name_width}}  {'analytic':>15}  {'numeric':>15}  {'error':>7}"
                 f"  {'central':>13}  verdict"]
        for r in self.rows:
            lines.append(f"{r.tensor:<{name_width}}  {r.analytic:>15.8e}  {r.numeric:>15.8e}"
                         f"  {r.error:>7.0e}  {r.central:>13.6e}  {r.verdict}")
        wrong = sum(not row.ok for row in self.rows)
        total = f"{len(self.rows) - wrong} of {len(self.rows)} agree"
        what = "worst wrong" if wrong else "worst error"
        worst = f"{what}: {self.worst.tensor}, {self.worst.error:.0e}"
        notes = [n for why, n in NOTES.items() if any(why in r.verdict for r in self.rows)]
        notes += [self.checked] if self.checked else []
        notes += [f"Not checked: {name} {why}." for name, why in self.not_checked.items()]
        forgotten = [n for n, why in self.not_checked.items() if "though the output" in why]
        last = f"; NOT CHECKED: {', '.join(forgotten)}" if forgotten else ""
        return "\n".join([f"Gradients of {self.title}", *lines, *notes, f"{total}; {worst}{last}"])


def check_gradients(layer: Any, *inputs: Any, seed: int = 0, **options: Any) -> GradientReport:
    """Check a layer's backward against its own forward, tensor by tensor.

    Parameters
    ----------
    layer : any object with ``forward(*inputs, **options) -> y, cache`` and
        ``backward(grad_y, cache)``; its Parameters are found by ``named_parameters``. Layers of
        other habits, and those of PyTorch, go through ``as_layer``
    inputs : arrays; float ones are checked, integer ids are only passed on
    seed : of the random directions
    options : passed to forward; an ``rng`` is copied for every call, so that dropout repeats

    Returns
    -------
    GradientReport. It is true when the gradient of every input and parameter agrees, and when all
    of them agree together; ``print`` shows the table. `error` is the difference of analytic and
    numeric, relative to the value or to ``0.01 |u| |v|``, whichever is larger. It must be at most
    1e-12. It must be at most 1e-7 if the central difference decides, 1e-5 for a gradient that is
    returned in float32, and 1e-2 for a forward in float32. Then the verdict says so.

    Raises
    ------
    TypeError when there is nothing to check: no float input and no Parameter
    ValueError when an input is nan or inf

    The layer itself is left as it was: a float64 copy is checked.
    """
    known = adapted(layer, *inputs, **options)
    given = getattr(known, "inputs", inputs) if known is not layer else inputs
    proof, rows = likeliest(known, given, options, seed)
    names = known.names if hasattr(known, "not_checked") else {
        f"input {i}": name for i, name in enumerate(arguments(layer.forward, with_defaults=True))
        if name not in proof.parameters}
    for row in rows:
        row.tensor = names.get(row.tensor, row.tensor)
    if not hasattr(known, "not_checked"):
        return GradientReport(type(layer).__name__, rows)
    missing = {names.get(f"input {i}", f"input {i}"): WITHOUT for i in proof.fixed}
    some, missing = len(proof.tensors), missing | proof.layer.not_checked
    along = f"{SINGLE_DIRECTIONS} random directions" if proof.single else "one random direction"
    checked = "\n".join([*known.notes, f"Checked: {some} of {some + len(missing)} arrays, each"
                         f" along {along}, by {proof.forwards} forwards."])
    return GradientReport(known.title, rows, checked=checked, not_checked=missing)


def likeliest(layer: Any, inputs: Iterable, options: dict, seed: int) -> tuple["Proof", list[Row]]:
    """Return the proof, and its rows, of the first reading of a layer in which fewest are wrong.

    A reading says which inputs have no gradient: the targets of a loss, say.
    """
    found = []
    for fixed in getattr(layer, "readings", [set()]):
        proof = Proof(layer, inputs, options, seed, fixed)
        found.append((proof, proof.rows()))
        if all(row.ok for row in found[-1][1]):
            break
    return min(found, key=lambda pair: sum(not row.ok for row in pair[1]))


def checks_of(layer: Any, *inputs: Any, seed: int = 0, **options: Any) -> list[Callable[[], None]]:
    """Return one check for each tensor, for ``@pytest.mark.parametrize("check", checks_of(...))``.

    Each is a function without arguments, named after its tensor. It raises AssertionError with the
    table if the gradient is wrong, and unittest.SkipTest with the reason if the array has none.
    The arguments are those of ``check_gradients``, which runs once, when the list is made.
    """
    report = check_gradients(layer, *inputs, seed=seed, **options)
    rows = {row.tensor: row for row in report.rows if row.tensor != ALL}

    def check_of(name):
        def check():
            if name in report.not_checked:
                raise unittest.SkipTest(f"{name} {report.not_checked[name]}")
            if not rows[name].ok:
                raise AssertionError(f"the gradient of {name} is not right\n{report}")

        check.__name__ = name
        return check

    return [check_of(name) for name in [*rows, *report.not_checked]]


class Proof:
    """A float64 copy of the layer; `tensors` holds its float inputs and its parameters by name."""

    def __init__(self, layer: Any, inputs: Iterable, options: dict, seed: int,
                 fixed: Iterable[int] = ()) -> None:
        self.layer, self.options = copy.deepcopy(layer), options
        self.rng = np.random.default_rng(seed)
        has_parameters = hasattr(self.layer, "named_parameters")
        self.parameters = dict(self.layer.named_parameters()) if has_parameters else {}
        self.inputs = [np.array(x) for x in inputs]
        self.forwards = 0
        self.floats = [i for i, x in enumerate(self.inputs) if x.dtype.kind == "f"]
        self.fixed = set(fixed)  # inputs without a gradient
        self.moving = [i for i in self.floats if i not in self.fixed]
        self.tensors = {f"input {i}": self.inputs[i].astype(float) for i in self.moving}
        self.tensors |= {name: p.value.astype(float) for name, p in self.parameters.items()}
        if not self.tensors:
            raise TypeError("inputs must hold a float array, or the layer a Parameter; integer"
                            " inputs are only passed on, and as_layer says what is a parameter")
        self.finite = {n: np.where(x == -np.inf, 0, x) for n, x in self.tensors.items()}
        for x in self.finite.values():
            if not np.isfinite(x).all():
                raise ValueError("inputs must be finite, or -inf in a mask, got"
                                 f" {x[~np.isfinite(x)][0]}")
        self.y, self.cache = self.run({})
        if np.isnan(self.y).any():
            raise ValueError("forward must give no nan, got one: log of a negative number is one")
        # Another forward, at another point, runs before any backward. So a layer that remembers its
        # last forward, instead of reading the cache that it is given, gets wrong gradients here.
        self.single = np.asarray(self.y).dtype == np.float32 or self.rounds(seed + 1)
        self.kept = any(x.dtype == np.float32 for _, x in arrays_in({0: self.cache}))
        self.step = SINGLE_STEPS[0] if self.single else CENTRAL_STEPS[0]
        self.u = self.rng.standard_normal(np.shape(self.y))

    def rounds(self, seed: int) -> bool:
        """Tell whether forward rounds to float32 on its way: then a step of 1e-9 shows no slope.

        What is rounded at the step of 1e-9 is moved by nothing, or by 60 times too much.
        """
        rng = np.random.default_rng(seed)

        def draw(x):
            return rng.standard_normal(x.shape) * np.isfinite(x)

        def output(shift):
            return np.nan_to_num(self.run(shift)[0], posinf=0, neginf=0)

        base = {name: 0.01 * draw(x) for name, x in self.tensors.items()}
        y = output(base)
        noise = 1e-5 * np.linalg.norm(y)
        for name, x in self.tensors.items():
            v = draw(x) * (1 + np.abs(self.finite[name]))
            fine, coarse = ((output(base | {name: base[name] + h * v}) - y) / h
                            for h in (1e-9, 1e-5))
            if np.linalg.norm(fine - coarse) > 0.5 * np.linalg.norm(coarse) + noise:
                return True
        return False

    def run(self, shift: dict, dtype: type = float) -> tuple[Any, Any]:
        """(y, cache) of the forward with tensors[name] + shift[name] for the names in `shift`."""
        values = {n: x.astype(dtype) + shift.get(n, 0) for n, x in self.tensors.items()}
        arrays = [values.get(f"input {i}", x) for i, x in enumerate(self.inputs)]
        for name, parameter in self.parameters.items():
            parameter.value = values[name]
        options = dict(self.options)
        if options.get("rng") is not None:
            options["rng"] = copy.deepcopy(options["rng"])
        self.forwards += 1
        return self.layer.forward(*arrays, **options)

    def rows(self) -> list[Row]:
        gradients, problems = self.gradients()
        if problems:
            return problems
        several = [self.directions() for _ in range(SINGLE_DIRECTIONS if self.single else 1)]
        directions = several[0]
        rows = [max((self.row(name, gradients, {name: draw[name]}) for draw in several),
                    key=lambda row: row.error) for name in directions]
        if wrong := [row for row in rows if not row.ok]:
            worst = max(wrong, key=lambda row: row.error)
            worst.verdict += self.worst_entry(worst.tensor, gradients[worst.tensor])
        if len(rows) > 1:
            rows.append(self.row(ALL, gradients, directions))
        return rows

    def directions(self) -> dict[str, np.ndarray]:
        """A random direction for each tensor; an input of -inf, as from a mask, is not moved."""
        draw = self.rng.standard_normal
        return {name: draw(x.shape) * np.isfinite(x) for name, x in self.tensors.items()}

    def gradients(self) -> tuple[dict[str, np.ndarray], list[Row]]:
        """({tensor: gradient}, rows that say why the gradients cannot be compared)."""
        returned = self.backward()
        names = [f"input {i}" for i in self.moving]
        if len(returned) == len(self.inputs):                          # with a None for ids
            returned = [returned[i] for i in self.moving]
        elif len(returned) == len(self.floats):
            returned = [g for i, g in zip(self.floats, returned) if i in self.moving]
        if len(returned) != len(names):
            row = Row("backward", verdict=f"WRONG: {len(returned)} gradients returned for"
                                          f" {len(names)} inputs")
            return {}, [row]
        found = dict(zip(names, returned))
        found |= {n: p.grad.copy() for n, p in self.parameters.items()}
        problems = [
            Row(n, verdict=f"WRONG: shape {np.shape(g)}, must be {self.tensors[n].shape}")
            for n, g in found.items() if np.shape(g) != self.tensors[n].shape
        ]
        if problems:
            return found, problems
        self.backward(clear=False)
        for n, p in self.parameters.items():
            # A sum of many terms may cancel in an entry, as in rows of E: it is not exactly double.
            atol = 1e-9 * np.abs(found[n]).max(initial=0) + 1e-14 * np.linalg.norm(self.u)
            if not np.allclose(p.grad, 2 * found[n], rtol=1e-9, atol=atol):
                problems.append(Row(n, verdict="WRONG: backward must add to grad, a second call"
                                               " did not double it"))
        return found, problems

    def backward(self, clear: bool = True) -> list:
        """Return what backward(u) returns, as a list."""
        for name, parameter in self.parameters.items():
            parameter.value = self.tensors[name]
            if clear:
                parameter.grad = np.zeros_like(parameter.value)
        u = self.u if np.ndim(self.y) else float(self.u)
        returned = self.layer.backward(u, self.cache)
        if returned is None:
            return []
        return list(returned) if isinstance(returned, (tuple, list)) else [returned]

    def row(self, name: str, gradients: dict, directions: dict) -> Row:
        """Compare <gradient, v> with <u, J v> along one direction."""
        analytic = sum(float(np.sum(gradients[n] * v)) for n, v in directions.items())
        length = np.sqrt(sum(np.sum(v * v) for v in directions.values()))
        floor = 0.01 * np.linalg.norm(self.u) * length + np.finfo(float).tiny

        def error(a, b):
            return abs(a - b) / max(abs(a), abs(b), floor)

        if self.single:
            largest = max(np.abs(self.finite[n]).max(initial=1) for n in directions)
            slopes = [self.central(directions, h * scale)
                      for scale in {1.0, largest} for h in SINGLE_STEPS]
            numeric = min(slopes, key=lambda c: error(c, analytic))
            verdict = "ok" if error(analytic, numeric) <= SINGLE_TOLERANCE else "WRONG"
            return Row(name, analytic, numeric, numeric, error(analytic, numeric),
                       verdict + IN_FLOAT32)
        by_complex = self.complex_step(directions)
        believed = by_complex if np.isfinite(by_complex) else analytic
        central: list[float] = []
        for h in CENTRAL_STEPS:                                        # until one step is good
            central.append(self.central(directions, h))
            if error(central[-1], believed) <= CENTRAL_TOLERANCE:
                break
        nearest = min(central, key=lambda c: error(c, believed))
        agree = error(nearest, by_complex) <= CENTRAL_TOLERANCE        # False for nan
        returned = any(np.asarray(gradients[n]).dtype == np.float32 for n in directions)
        in_single = returned or self.kept
        limit = ROUNDED_TOLERANCE if in_single else MISLED_TOLERANCE
        close = error(analytic, central[0]) <= limit
        numeric, tolerance, why = by_complex, COMPLEX_TOLERANCE, ""
        if not agree or (close and error(central[0], by_complex) > MISLED_TOLERANCE):
            why = self.contradiction(by_complex, directions, floor)
            if close or why != ON_A_KINK:
                numeric, tolerance, nearest = central[0], MISLED_TOLERANCE, central[0]
        off = error(analytic, numeric)
        if COMPLEX_TOLERANCE < off <= ROUNDED_TOLERANCE and in_single:
            what = "gradient" if returned else "cache"
            tolerance, why = ROUNDED_TOLERANCE, f"{why}, the {what} is float32, right to 1e-7"
        return Row(name, analytic, numeric, nearest, off,
                   ("ok" if off <= tolerance else "WRONG") + why)

    def contradiction(self, by_complex: float, directions: dict, floor: float) -> str:
        """Say why complex step and central difference contradict each other.

        On a kink the slopes from left and right differ, as those of max(0, x) do at x = 0.
        """
        if not np.isfinite(by_complex):
            return NOT_COMPLEX
        right = self.slope(directions, CENTRAL_STEPS[0], 0)
        left = self.slope(directions, 0, -CENTRAL_STEPS[0])
        kink = abs(right - left) > 1e-3 * max(abs(right), abs(left), floor)
        return ON_A_KINK if kink else NOT_ANALYTIC

    def complex_step(self, directions: dict) -> float:
        """<u, Im F(x + i h v) / h>, or nan where the forward takes no complex numbers."""
        shift = {n: 1j * COMPLEX_STEP * v for n, v in directions.items()}
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error", np.exceptions.ComplexWarning)
                y, _ = self.run(shift, complex)
        except (TypeError, ValueError, np.exceptions.ComplexWarning):
            return np.nan
        return float(np.sum(self.u * np.imag(y)) / COMPLEX_STEP)

    def central(self, directions: dict, h: float) -> float:
        """<u, (F(x + h v) - F(x - h v)) / 2h>."""
        return self.slope(directions, h, -h)

    def slope(self, directions: dict, above: float, below: float) -> float:
        """<u, F(x + above v) - F(x + below v)> / (above - below)."""
        up, _ = self.run({n: above * v for n, v in directions.items()})
        down, _ = self.run({n: below * v for n, v in directions.items()})
        finite = np.isfinite(up)                                       # -inf - -inf would be nan
        change = np.subtract(up, down, out=np.zeros_like(up), where=finite)
        return float(np.sum(self.u * change) / (above - below))

    def worst_entry(self, name: str, gradient: np.ndarray) -> str:
        """Name the entry of a wrong gradient that is farthest from its central difference."""
        x = self.tensors[name]
        some = self.rng.permutation(x.size)[:ENTRIES]
        numeric = []
        for k in some:
            v = np.zeros(x.shape)
            v.flat[k] = 1
            numeric.append(self.central({name: v}, self.step))
        k = int(np.argmax(np.abs(gradient.flat[some] - numeric)))
        at = tuple(int(i) for i in np.unravel_index(some[k], x.shape))
        which = "" if len(some) == x.size else f" of {len(some)} examined"
        got, must = gradient.flat[some[k]], numeric[k]
        digits = 6 if f"{got:.6g}" != f"{must:.6g}" else 10
        return f": worst entry{which} {list(at)} is {got:.{digits}g}, must be {must:.{digits}g}"
