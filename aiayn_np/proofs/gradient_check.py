"""The gradient check for any layer: ours or a student's.

For a function F of inputs and parameters x, a backward computes J^T u for any u. Draw u and v at
random, with both signs. If backward is right, then <u, J v> = <J^T u, v>. The left side needs only
the forward, the right side only the backward. One forward at a complex point gives J v:

    F(x + i h v) = F(x) + i h J v + O(h^2),    so    J v = Im F(x + i h v) / h.

Nothing is subtracted, so nothing cancels. So h can be 1e-20, and the two sides agree to 1e-12 or
better. A central difference is computed too; with the best step it agrees to 1e-9 to 1e-11. It
decides if the forward takes no complex numbers or is not analytic (np.var, np.abs).

A gradient is wrong if it differs from the central difference by more than rounding explains. If x
is on a kink, such as ReLU's at 0, left and right slopes differ; then a point beside x decides.
"""

import copy
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from .adapters import adapted
from .finding import WITHOUT, arguments, arrays_in

COMPLEX_STEP = 1e-20
COMPLEX_TOLERANCE = 1e-12  # relative to the value, or to 0.01 |u| |v|
CONFIRMED = 1e-5  # a central difference this near confirms the complex step
ROUNDED = {"f": 1e-5, "e": 1e-2}  # tolerance of a gradient that is returned in float32, float16
TRIES = 8  # number of points beside a kink, and of directions to find one
BESIDE = 0.03  # distance from a kink to the next point, relative to the largest number
ALL = "all together"  # the name of the last row
ON_A_KINK = ", on a kink: slopes from left and right differ"
MOVED = ", measured beside x, which is on a kink"
NOT_COMPLEX = ", the forward takes no complex numbers"
NOT_ANALYTIC = ", the forward is not analytic"
IN_FLOAT32 = ", the forward computes in float32"
IN_FLOAT16 = ", the forward computes in float16"
NOTES = {
    **{why: f"The forward computes in {why[-7:]}, whatever it is given. Numeric is the central"
       f" difference,\nwhich sees errors of {size} there, and no smaller ones."
       for why, size in ((IN_FLOAT32, "2e-2"), (IN_FLOAT16, "1e-1"))},
    NOT_COMPLEX: "The forward takes no complex numbers. Numeric is the central difference, which"
    " sees errors of 1e-7.",
    NOT_ANALYTIC: "The forward is not analytic. Numeric is the central difference, which sees"
    " errors of 1e-7.\nThe usual cause is np.var, np.std, np.abs or np.linalg.norm, whose complex"
    " derivative is wrong.\nWrite ((x - mean)**2).mean(), np.where(x < 0, -x, x) or"
    " sqrt((x**2).sum()).",
}
ENTRIES = 500  # entries that are examined one by one in a wrong tensor


@dataclass(frozen=True)
class Precision:
    """The precision of central differences, for a forward in float64, float32 or float16.

    unit : the largest relative rounding error of a number, with some margin
    steps : several step sizes, because a step across the kink of a ReLU shows nothing
    tolerance : largest error, relative to the largest of |value|, share |gradient|, floor |u| |v|
    directions : the number of directions; an error of a few per cent may be small in one direction
    length : tolerance of the gradient's length, measured over all directions together
    """

    unit: float
    steps: tuple[float, ...]
    tolerance: float
    share: float = 0.01
    floor: float = 0.01
    directions: int = 1
    length: float = np.inf
    why: str = ""


DOUBLE = Precision(1e-15, (1e-6, 1e-7, 1e-5), 1e-7)
SINGLE = Precision(3e-7, (1e-2, 1e-3, 3e-3, 3e-4), 3e-3, 0.3, 0.0, 4, 5e-3, IN_FLOAT32)
HALF = Precision(5e-4, (0.05, 0.03, 0.02), 25e-3, 0.1, 0.0, 16, 5e-2, IN_FLOAT16)


@dataclass
class Slope:
    """A central difference along a direction.

    noise : the largest error that rounding may have caused
    doubt : noise plus the difference between left and right slope
    scale : errors are relative to the values, or to this number if it is larger
    """

    value: float
    noise: float
    doubt: float
    step: float
    scale: float

    def error(self, other: float) -> float:
        """Return the relative difference to a number; inf if the value or the number is nan."""
        error = abs(self.value - other) / max(abs(self.value), abs(other), self.scale)
        return error if np.isfinite(error) else np.inf

    def rounding(self, other: float) -> float:
        """Return the part of the error that rounding may have caused."""
        return self.noise / max(abs(self.value), abs(other), self.scale)

    def supports(self, other: float, tolerance: float) -> bool:
        """Tell whether error and rounding both are within the tolerance."""
        return max(self.error(other), self.rounding(other)) <= tolerance

    def confirms(self, other: float, tolerance: float, most: float) -> bool:
        """Tell whether the error is within tolerance plus rounding, which counts up to `most`."""
        return self.error(other) <= tolerance + min(self.rounding(other), most)

    def refutes(self, other: float, tolerance: float) -> bool:
        """Tell whether the error is larger than tolerance and rounding explain."""
        return self.doubt < np.inf and self.error(other) > tolerance + self.rounding(other)


@dataclass
class Row:
    """The check of one tensor: analytic, <backward(u), v>, against numeric, <u, J v>.

    numeric : by the complex step, or by the central difference if the complex step is misled
    """

    tensor: str
    analytic: float = np.nan
    numeric: float = np.nan
    central: float = np.nan
    error: float = np.nan
    verdict: str = "ok"
    step: float = 0.0  # of the central difference that decided

    @property
    def ok(self) -> bool:
        return self.verdict.startswith("ok")

    @property
    def wrong(self) -> bool:
        return self.verdict.startswith("WRONG")


class GradientReport:
    """A table of Rows; true if at least one tensor agrees and none is wrong.

    not_checked : {array of an adapted layer: the reason why it is not checked}
    """

    def __init__(self, title: str, rows: list[Row], *, checked: str = "",
                 not_checked: dict[str, str] | None = None) -> None:
        self.title, self.rows, self.checked = title, rows, checked
        self.not_checked = not_checked or {}

    def __bool__(self) -> bool:
        return any(row.ok for row in self.rows) and not any(row.wrong for row in self.rows)

    @property
    def worst(self) -> Row:
        """Return the row with the largest error, among the wrong rows if there are any."""
        single = [row for row in self.rows if row.tensor != ALL]
        return max(single, key=lambda row: (row.wrong, np.nan_to_num(row.error, nan=np.inf)))

    def __repr__(self):
        name_width = max(len(row.tensor) for row in self.rows)
        lines = [f"{'tensor':<{name_width}}  {'analytic':>15}  {'numeric':>15}  {'error':>7}"
                 f"  {'central':>13}  verdict"]
        for r in self.rows:
            lines.append(f"{r.tensor:<{name_width}}  {r.analytic:>15.8e}  {r.numeric:>15.8e}"
                         f"  {r.error:>7.0e}  {r.central:>13.6e}  {r.verdict}")
        undecided = sum(not row.ok and not row.wrong for row in self.rows)
        total = f"{sum(row.ok for row in self.rows)} of {len(self.rows)} agree"
        total += f", {undecided} undecided" if undecided else ""
        what = "worst wrong" if self.worst.wrong else "worst error"
        worst = f"{what}: {self.worst.tensor}, {self.worst.error:.0e}"
        notes = [n for why, n in NOTES.items() if any(why in r.verdict for r in self.rows)]
        notes += [self.checked] if self.checked else []
        notes += [f"Not checked: {name} {why}." for name, why in self.not_checked.items()]
        forgotten = [n for n, why in self.not_checked.items() if "though the output" in why]
        last = f"; NOT CHECKED: {', '.join(forgotten)}" if forgotten else ""
        return "\n".join([f"Gradients of {self.title}", *lines, *notes, f"{total}; {worst}{last}"])


@np.errstate(all="ignore")  # a step may leave the domain of a log
def check_gradients(layer: Any, *inputs: Any, seed: int = 0, **options: Any) -> GradientReport:
    """Check a layer's backward against its own forward, tensor by tensor.

    Parameters
    ----------
    layer : any object with ``forward(*inputs, **options) -> y, cache`` and
        ``backward(grad_y, cache)``; its Parameters are found by ``named_parameters``. Layers of
        other habits are described by ``as_layer``
    inputs : arrays; float ones are checked, integer ids are only passed on
    seed : for the random directions
    options : passed to forward; an ``rng`` is copied for every call, so that dropout repeats

    Returns
    -------
    GradientReport. It is true when the gradient of every input and parameter agrees, and when all
    of them agree together; ``print`` shows the table. `error` is the difference of analytic and
    numeric, relative to the value or to ``0.01 |u| |v|``, whichever is larger. It must be at most
    1e-12. The verdict names each exception: at most 1e-7 if the central difference decides, 1e-5
    for a gradient that is returned in float32, some 2e-2 for a forward in float32. A tensor without
    any measurement is undecided. If all tensors are undecided, the report is false.

    Raises
    ------
    TypeError when there is nothing to check: no float input and no Parameter
    ValueError when an input is nan or inf

    The layer itself is not changed: a float64 copy is checked.
    """
    proof, rows = likeliest(adapted(layer, *inputs, **options), inputs, options, seed)
    known = proof.layer
    names = known.names if hasattr(known, "not_checked") else {
        f"input {i}": name for i, name in enumerate(arguments(layer.forward, with_defaults=True))
        if name not in proof.parameters}
    for row in rows:
        row.tensor = names.get(row.tensor, row.tensor)
    if not hasattr(known, "not_checked"):
        return GradientReport(type(layer).__name__, rows)
    missing = {names[f"input {i}"]: WITHOUT for i in proof.fixed} | known.not_checked
    some = len(proof.tensors)
    along = "one random direction" if proof.drawn == 1 else f"{proof.drawn} random directions"
    checked = "\n".join([*known.notes, f"Checked: {some} of {some + len(missing)} arrays, each"
                         f" along {along}, by {proof.forwards} forwards."])
    return GradientReport(known.title, rows, checked=checked, not_checked=missing)


def likeliest(layers: list, inputs: Iterable, options: dict,
              seed: int) -> tuple["Proof", list[Row]]:
    """Try the readings of a layer; return (proof, rows) of the first one with fewest wrong rows.

    A reading is a way to call backward, with a set of inputs without a gradient, such as targets.
    """
    found = []
    for layer in layers:
        for fixed in getattr(layer, "readings", [set()]):
            proof = Proof(layer, getattr(layer, "inputs", inputs), options, seed, fixed)
            found.append((proof, proof.decided_rows()))
            if not any(row.wrong for row in found[-1][1]):
                return found[-1]
    return min(found, key=lambda pair: sum(1 + 99 * np.isnan(row.analytic)
                                           for row in pair[1] if row.wrong))


class Proof:
    """A float64 copy of a layer; `tensors` has its float inputs and its parameters by name."""

    def __init__(self, layer: Any, inputs: Iterable, options: dict, seed: int,
                 fixed: Iterable[int] = ()) -> None:
        self.layer, self.options = copy.deepcopy(layer), options
        self.rng = np.random.default_rng(seed)
        self.parameters = dict(getattr(self.layer, "named_parameters", dict)())
        self.inputs = [np.array(x) for x in inputs]
        self.forwards, self.drawn = 0, 1  # and the directions of a row
        self.precisions: list[Precision] = []  # of the rows at this point
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
        # Another forward, at another point, runs before any backward. A layer that uses its last
        # forward instead of the cache that it is given gets wrong gradients here.
        near = np.random.default_rng(seed + 1)
        self.near = {n: 0.01 * near.standard_normal(x.shape) * np.where(x, np.abs(x), 1)
                     for n, x in self.finite.items()}
        self.run(self.near)
        self.kept = {x.dtype.char for _, x in arrays_in({0: self.cache})}
        self.u = self.rng.standard_normal(np.shape(self.y))
        near_u = 0.99 * np.linalg.norm(self.u - np.mean(self.u))
        alike = [x - x.mean() for x in self.finite.values() if x.shape == np.shape(self.y)]
        if any(np.sum(x * self.u) > near_u * np.linalg.norm(x) for x in alike):
            self.u = self.rng.standard_normal(np.shape(self.y))        # x was drawn by this seed

    def beside(self) -> "Proof | None":
        """Return the same proof at a point beside this one; None if forward has no value there."""
        other = copy.copy(self)
        other.precisions = []
        other.tensors = {n: x + BESIDE * (np.abs(self.finite[n]).max(initial=0) or 1)
                         * self.rng.random(x.shape) for n, x in self.tensors.items()}
        other.y, other.cache = other.run({})
        other.run(self.near)
        return None if np.isnan(other.y).any() else other

    def run(self, shift: dict, dtype: type = float) -> tuple[Any, Any]:
        """Return (y, cache) of forward with tensors[name] + shift[name] for names in `shift`."""
        values = {n: x.astype(dtype) + shift.get(n, 0) for n, x in self.tensors.items()}
        arrays = [values.get(f"input {i}", x) for i, x in enumerate(self.inputs)]
        for name, parameter in self.parameters.items():
            parameter.value = values[name]
        options = dict(self.options)
        if options.get("rng") is not None:
            options["rng"] = copy.deepcopy(options["rng"])
        self.forwards += 1
        return self.layer.forward(*arrays, **options)

    def decided_rows(self) -> list[Row]:
        """Return the rows; rows on a kink are measured at a point beside the kink."""
        rows = {row.tensor: row for row in self.rows()}
        for _ in range(TRIES):
            undecided = {name for name, row in rows.items() if not row.ok and not row.wrong}
            other = self.beside() if undecided else None
            if other is None:
                break
            for row in other.rows():
                if row.tensor in undecided and (row.ok or row.wrong):
                    row.verdict += MOVED
                    rows[row.tensor] = row
            self.forwards, self.drawn = other.forwards, max(self.drawn, other.drawn)
        return list(rows.values())

    def rows(self) -> list[Row]:
        gradients, problems = self.gradients()
        if problems:
            return problems
        directions = self.directions()
        rows = [self.row(name, gradients, {name: v}) for name, v in directions.items()]
        if wrong := [row for row in rows if row.wrong]:
            worst = max(wrong, key=lambda row: row.error)
            worst.verdict += self.worst_entry(worst, gradients[worst.tensor])
        if len(rows) > 1:
            rows.append(self.row(ALL, gradients, directions))
        return rows

    def directions(self) -> dict[str, np.ndarray]:
        """Return a random direction for each tensor; entries of -inf, as in a mask, stay."""
        draw = self.rng.standard_normal
        return {name: draw(x.shape) * np.isfinite(x) for name, x in self.tensors.items()}

    def gradients(self) -> tuple[dict[str, np.ndarray], list[Row]]:
        """Return ({tensor: gradient}, rows with the reason why gradients cannot be compared)."""
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
            # In sums of many terms, as in rows of E, an entry may cancel: it is not exactly double.
            atol = 1e-9 * np.abs(found[n]).max(initial=0) + 1e-14 * np.linalg.norm(self.u)
            if not np.allclose(p.grad, 2 * found[n], rtol=1e-9, atol=atol):
                problems.append(Row(n, verdict="WRONG: backward must add to grad, a second call"
                                               " did not double it"))
        return found, problems

    def backward(self, clear: bool = True) -> list:
        """Return the result of backward(u) as a list."""
        for name, parameter in self.parameters.items():
            parameter.value = self.tensors[name]
            if clear:
                parameter.grad = np.zeros_like(parameter.value)
        u = self.u.copy() if np.ndim(self.y) else float(self.u)        # backward may write in it
        returned = self.layer.backward(u, self.cache)
        if returned is None:
            return []
        return list(returned) if isinstance(returned, (tuple, list)) else [returned]

    def row(self, name: str, gradients: dict, directions: dict) -> Row:
        """Compare <gradient, v> with <u, J v>, along several directions if forward rounds."""
        exact = self.complex_step(directions)
        precision = self.precision_along(directions, exact)
        self.precisions.append(precision)
        if name == ALL and precision is DOUBLE:                        # one array hides another's
            precision = max(self.precisions, key=lambda p: p.tolerance)
        self.drawn = max(self.drawn, precision.directions)
        draws = [directions] + [self.directions() for _ in range(precision.directions - 1)]
        exact = exact if precision is DOUBLE else np.nan
        rows = [self.row_along(name, gradients, {n: draw[n] for n in directions}, precision, exact)
                for draw in draws]
        right = [row for row in rows if row.ok]
        most = precision is HALF and 3 * len(right) > len(rows)        # many a step crosses a kink
        worst = max(right if most else rows, key=lambda row: (row.wrong, row.ok, row.error))
        a, d = np.array([(row.analytic, row.central) for row in rows]).T
        if worst.ok and abs(np.sum(a * (d - a))) > precision.length * np.sum(a * a):
            worst.verdict = "WRONG" + precision.why
        if worst.wrong and precision is not HALF and self.on_a_kink(directions, precision):
            worst.verdict = "undecided" + ON_A_KINK
        return worst

    def row_along(self, name: str, gradients: dict, directions: dict, precision: Precision,
                  exact: float) -> Row:
        """Compare <gradient, v> with <u, J v> along one direction."""
        analytic = sum(float(np.sum(gradients[n] * v)) for n, v in directions.items())
        believed = exact if np.isfinite(exact) else analytic
        slopes: list[Slope] = []
        for slope in self.slopes(gradients, directions, precision):    # until one is good
            slopes.append(slope)
            if slope.supports(believed, precision.tolerance):
                break
        rounded, note = self.narrow(gradients, directions)
        row = decided(name, analytic, exact, slopes, precision, rounded)
        if rounded and row.ok and row.error > COMPLEX_TOLERANCE:
            row.verdict += note
        return row

    def narrow(self, gradients: dict, directions: dict) -> tuple[float, str]:
        """Return the tolerance for gradients or caches in few digits, and a note on it."""
        returned = {np.asarray(gradients[n]).dtype.char for n in directions}
        char = min((returned | self.kept) & set(ROUNDED), default="")  # "e" before "f"
        what = "gradient" if char in returned else "cache"
        digits = "float32, right to 1e-7" if char == "f" else "float16, right to 1e-3"
        return ROUNDED.get(char, 0.0), f", the {what} is {digits}"

    def precision_along(self, directions: dict, exact: float) -> Precision:
        """Return the precision of forward along a direction; `exact`: the complex step, or nan."""
        char = np.asarray(self.y).dtype.char
        if char not in ROUNDED and not (np.isnan(exact) and self.rounds(directions, 1e-9, DOUBLE)):
            return DOUBLE
        return HALF if char == "e" or self.rounds(directions, 1e-5, SINGLE) else SINGLE

    def rounds(self, directions: dict, fine: float, precision: Precision) -> bool:
        """Tell whether a fine step changes the output not at all, or far too much.

        Rounded to float32, a number changes by 0 or by 6e-8 if it is moved by 1e-9.
        """
        def output(h):
            shift = {n: self.near[n] + h * v * (1 + np.abs(self.finite[n]))
                     for n, v in directions.items()}
            return np.nan_to_num(self.run(self.near | shift)[0], posinf=0, neginf=0).astype(float)

        y, found = output(0), []
        noise = precision.unit / fine * np.linalg.norm(y)
        for sign in (1, -1, 2, -2):
            small, middle, wide = ((output(sign * h) - y) / h for h in (fine, 1e-5, 1e-2))
            large = middle if middle.any() and fine < 1e-5 else wide
            size = np.linalg.norm(large) * (1.5 if small.any() else 0.5)
            found.append(np.linalg.norm(small - large) > size + noise)
        return any(found)

    def on_a_kink(self, names: Iterable[str], precision: Precision) -> bool:
        """Tell whether left and right slopes differ, and still do for a smaller step.

        max(0, x) has such a kink at x = 0. On a smooth bend the difference falls with the step.
        """
        h, found = precision.steps[0], []
        for _ in range(TRIES):
            directions = {n: v for n, v in self.directions().items() if n in names}
            (_, wide), (slope, near) = (self.slope(directions, step) for step in (h, h / 10))
            least = max(1e-3, 10 * precision.tolerance) * abs(slope)
            found.append(near > max(wide / 3, least))
        return any(found)

    def slopes(self, gradients: dict, directions: dict, precision: Precision) -> Iterator[Slope]:
        """Yield central differences; steps are relative to 1, the largest and the smallest x."""
        norm, names = np.linalg.norm, list(directions)
        sizes = np.concatenate([np.abs(self.finite[n]).ravel() for n in names])
        largest, smallest = sizes.max(initial=0), sizes[sizes > 0].min(initial=1)
        v, g = (norm([norm(x[n]) for n in names]) for x in (directions, gradients))
        scale = np.finfo(float).tiny + max(
            precision.floor * norm(self.u) * v / max(largest, 1.0), precision.share * g)
        height = norm(self.u * np.nan_to_num(self.y, posinf=0, neginf=0))
        for length in dict.fromkeys((1.0, max(largest, 1.0), max(smallest, 1e-10))):
            for step in precision.steps:
                h = step * length
                value, apart = self.slope(directions, h)
                noise = precision.unit * (height + max(abs(value), g) * largest) / h
                doubt = noise + apart
                yield Slope(value, noise, doubt if np.isfinite(value) else np.inf, h, scale)

    def complex_step(self, directions: dict) -> float:
        """Return <u, Im F(x + i h v) / h>, or nan if the forward takes no complex numbers."""
        shift = {n: 1j * COMPLEX_STEP * v for n, v in directions.items()}
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error", np.exceptions.ComplexWarning)
                y, _ = self.run(shift, complex)
        except (TypeError, ValueError, RuntimeError, np.exceptions.ComplexWarning):
            return np.nan
        return float(np.sum(self.u * np.imag(y)) / COMPLEX_STEP)

    def slope(self, directions: dict, h: float) -> tuple[float, float]:
        """Return <u, (F(x + h v) - F(x - h v)) / 2h>, and the difference of left and right slope.

        An output of -inf, as after a mask, counts as constant.
        """
        up, down = (np.asarray(self.run({n: side * v for n, v in directions.items()})[0], float)
                    for side in (h, -h))
        y, moves = np.asarray(self.y, float), np.isfinite(self.y)
        change = np.subtract(up, down, out=np.zeros_like(y), where=moves)
        bend = up + down - 2 * np.where(moves, y, 0)
        return np.sum(self.u * change) / (2 * h), np.sum(np.abs(self.u * bend), where=moves) / h

    def worst_entry(self, row: Row, gradient: np.ndarray) -> str:
        """Name the entry of a wrong gradient that differs most from the numeric slope."""
        x = self.tensors[row.tensor]

        def sides(entries):
            v = np.zeros(x.shape)
            v.flat[entries] = 1
            along = {row.tensor: v}
            numeric = self.slope(along, row.step)[0] if row.step else self.complex_step(along)
            off = np.nan_to_num(abs(np.sum(gradient * v) - numeric), nan=np.inf)
            return off, float(np.sum(gradient * v)), numeric

        some = self.rng.permutation(x.size)
        while len(some) > ENTRIES:                                     # the half that is worse
            some = max(np.array_split(some, 2), key=sides)
        (_, got, must), k = max((sides(k), int(k)) for k in some)
        at = tuple(int(i) for i in np.unravel_index(k, x.shape))
        which = "" if len(some) == x.size else f" ({len(some)} of {x.size} were examined)"
        digits = 6 if f"{got:.6g}" != f"{must:.6g}" else 10
        return f": worst entry {list(at)} is {got:.{digits}g}, must be {must:.{digits}g}{which}"


def decided(name: str, analytic: float, exact: float, slopes: list[Slope], precision: Precision,
            rounded: float) -> Row:
    """Decide the row of one direction; a central difference must confirm the complex step."""
    best = min(slopes, key=lambda slope: slope.doubt)
    limit = max(precision.tolerance, rounded)
    confirmed = any(s.confirms(exact, CONFIRMED, 1e-2) for s in slopes)
    misled = any(s.supports(analytic, limit) for s in slopes) and not any(
        s.supports(exact, precision.tolerance) for s in slopes)
    if confirmed and not misled:
        error = abs(analytic - exact) / max(abs(analytic), abs(exact), best.scale)
        verdict = "ok" if error <= max(COMPLEX_TOLERANCE, rounded) else "WRONG"
        return Row(name, analytic, exact, best.value, error, verdict)
    near = [s for s in slopes if s.confirms(analytic, limit, 1e-3 if s is best else limit)]
    slope = min(near, key=lambda s: s.error(analytic), default=best)
    verdict = "ok" if near else "WRONG" if best.refutes(analytic, limit) else "undecided"
    return Row(name, analytic, slope.value, best.value, slope.error(analytic),
               verdict + (precision.why or (NOT_COMPLEX if np.isnan(exact) else NOT_ANALYTIC)),
               slope.step)
