"""The gradient check for any layer: ours or a student's.

For a function F of inputs and parameters x, a backward computes J^T u for any u. Draw u and v at
random, with both signs. If backward is right, then <u, J v> = <J^T u, v>. The left side needs only
the forward, the right side only the backward. One forward at a complex point gives J v:

    F(x + i h v) = F(x) + i h J v + O(h^2),    so    J v = Im F(x + i h v) / h.

Nothing is subtracted, so nothing cancels. So h can be 1e-20, and the two sides agree to 1e-12 or
better. A central difference is computed too; with the best step it agrees to 1e-9 to 1e-11. It
decides if the forward takes no complex numbers or is not analytic (np.var, np.abs).
On a kink, such as ReLU's at 0, left and right slopes differ; then a point beside x decides.
"""

import copy
import warnings
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from .adapters import read
from .finding import arguments, arrays_in
from .report import ALL, BESIDE_KINK, KINK, GradientReport, Row, Verdict
from .slopes import COMPLEX_STEP, FLOAT32, FLOOR, SHARE, STEPS, TOLERANCE, UNIT, Slope, decided

TRIES = 8  # number of points beside a kink, and of directions to find one
BESIDE = 0.03  # distance from a kink to the next point, relative to the largest number
ENTRIES = 500  # entries that are examined one by one in a wrong tensor
ROUNDED = "the layer must compute in float64: it rounds to float32 or float16, which hides errors"


@np.errstate(all="ignore")  # a step may leave the domain of a log
def check_gradients(layer: Any, *inputs: Any, seed: int = 0, **options: Any) -> GradientReport:
    """Check the backward of a float64 copy of a layer against its forward, tensor by tensor.

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
    1e-12; the verdict names each exception. If all tensors are undecided, the report is false.

    Raises
    ------
    TypeError when there is nothing to check: no float input and no Parameter
    ValueError when an input is nan or inf
    """
    return Proof(layer, inputs, options, seed).report()


def check_finite(arrays: Iterable) -> None:
    """Refuse nan and inf; -inf may stand in a mask."""
    for x in arrays:
        if wrong := [n for n in x[~np.isfinite(x)] if n != -np.inf]:
            raise ValueError(f"inputs must be finite, or -inf in a mask, got {wrong[0]}")


class Own:
    """A float64 copy of a layer in the form of this package, with its inputs."""

    def __init__(self, layer: Any, inputs: Iterable, options: dict) -> None:
        self.layer, self.options = copy.deepcopy(layer), options
        self.parameters = dict(getattr(self.layer, "named_parameters", dict)())
        self.inputs = [np.array(x) for x in inputs]
        names = arguments(layer.forward, with_defaults=True)
        names += [f"input {i}" for i in range(len(names), len(self.inputs))]
        self.names = [f"input {i}" if name in self.parameters else name
                      for i, name in enumerate(names[: len(self.inputs)])]
        self.floats = [i for i, x in enumerate(self.inputs) if x.dtype.kind == "f"]

    def tensors(self) -> dict[str, np.ndarray]:
        """Return {name: float64 array} of the float inputs and the Parameters."""
        found = {self.names[i]: self.inputs[i].astype(float) for i in self.floats}
        return found | {name: p.value.astype(float) for name, p in self.parameters.items()}

    def forward(self, values: dict) -> tuple[Any, Any]:
        """Return (y, cache) for {name: array}."""
        for name, parameter in self.parameters.items():
            parameter.value = values[name]
        arrays = [values.get(name, x) for name, x in zip(self.names, self.inputs)]
        options = {n: copy.deepcopy(x) if n == "rng" else x for n, x in self.options.items()}
        return self.layer.forward(*arrays, **options)

    def backward(self, u: Any, cache: Any) -> list:
        """Add to the gradients of the Parameters; return those of the inputs as a list."""
        returned = self.layer.backward(u, cache)
        if returned is None:
            return []
        return list(returned) if isinstance(returned, (tuple, list)) else [returned]

    def gradients(self, values: dict, u: Any, cache: Any) -> tuple[dict, list[Row]]:
        """Return ({name: gradient}, rows with the faults that need no comparison)."""
        for name, parameter in self.parameters.items():
            parameter.value, parameter.grad = values[name], np.zeros_like(values[name])
        returned = self.backward(copy.copy(u), cache)                  # backward may write in it
        if len(returned) == len(self.inputs):                          # with a None for ids
            returned = [returned[i] for i in self.floats]
        if len(returned) != len(self.floats):
            return {}, [Row("backward", state=Verdict.WRONG, fault=f"{len(returned)} gradients"
                            f" returned for {len(self.floats)} inputs")]
        found = dict(zip([self.names[i] for i in self.floats], returned))
        found |= {n: p.grad.copy() for n, p in self.parameters.items()}
        if any(np.shape(found[n]) != np.shape(values[n]) for n in found):
            return found, []
        self.backward(copy.copy(u), cache)
        faults = []
        for n, p in self.parameters.items():
            # In sums of many terms, as in rows of E, an entry may cancel: it is not exactly double.
            atol = 1e-9 * np.abs(found[n]).max(initial=0) + 1e-14 * np.linalg.norm(u)
            if not np.allclose(p.grad, 2 * found[n], rtol=1e-9, atol=atol):
                faults.append(Row(n, state=Verdict.WRONG, fault="backward must add to grad, a"
                                  " second call did not double it"))
        return found, faults


class Proof:
    """The comparison of both sides; `layer` is an Own layer or a Reading of another one.

    tensors : {name: float64 array} of inputs and parameters
    u : the gradient of the output, drawn at random
    near : for each tensor the way to a point close by
    kept : the dtypes in the cache
    """

    def __init__(self, layer: Any, inputs: Iterable, options: dict, seed: int) -> None:
        inputs = tuple(inputs)
        check_finite(x for _, x in arrays_in(inputs))
        self.title, self.rng = type(layer).__name__, np.random.default_rng(seed)
        self.reading = read(layer, inputs, options)
        self.layer = self.reading or Own(layer, inputs, options)
        self.tensors = self.layer.tensors()
        if not self.tensors:
            raise TypeError("inputs must hold a float array, or the layer a Parameter; integer"
                            " inputs are only passed on, and as_layer says what is a parameter")
        check_finite(self.tensors.values())
        self.finite = {n: np.where(x == -np.inf, 0, x) for n, x in self.tensors.items()}
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
        if "e" in self.kept:
            raise TypeError(ROUNDED)
        self.u = self.rng.standard_normal(np.shape(self.y))
        near_u = 0.99 * np.linalg.norm(self.u - np.mean(self.u))
        alike = [x - x.mean() for x in self.finite.values() if x.shape == np.shape(self.y)]
        if any(np.sum(x * self.u) > near_u * np.linalg.norm(x) for x in alike):
            self.u = self.rng.standard_normal(np.shape(self.y))        # x was drawn by this seed

    def report(self) -> GradientReport:
        """Compare the gradients of all tensors."""
        rows = self.decided_rows()
        if self.reading is None:
            return GradientReport(self.title, rows)
        some, gaps = len(self.tensors), self.reading.gaps
        checked = f"Checked: {some} of {some + len(gaps)} arrays, each along one random direction."
        return GradientReport(self.reading.calls.layer.title, rows, not_checked=gaps,
                              checked=f"{self.reading}\n{checked}")

    def beside(self) -> "Proof | None":
        """Return the same proof at a point beside this one; None if forward has no value there."""
        other = copy.copy(self)
        other.tensors = {n: x + BESIDE * (np.abs(self.finite[n]).max(initial=0) or 1)
                         * self.rng.random(x.shape) for n, x in self.tensors.items()}
        other.y, other.cache = other.run({})
        other.run(self.near)
        return None if np.isnan(other.y).any() else other

    def run(self, shift: dict, dtype: type = float) -> tuple[Any, Any]:
        """Return (y, cache) of forward with tensors[name] + shift[name] for names in `shift`."""
        return self.layer.forward({n: x.astype(dtype) + shift.get(n, 0)
                                   for n, x in self.tensors.items()})

    def decided_rows(self) -> list[Row]:
        """Return the rows; rows on a kink are measured at a point beside the kink."""
        rows = {row.tensor: row for row in self.rows()}
        for _ in range(TRIES):
            undecided = {n for n, row in rows.items() if row.state is Verdict.UNDECIDED}
            other = self.beside() if undecided else None
            if other is None:
                break
            for row in other.rows():
                if row.tensor in undecided and row.state is not Verdict.UNDECIDED:
                    row.why += (BESIDE_KINK,)
                    rows[row.tensor] = row
        return list(rows.values())

    def rows(self) -> list[Row]:
        """Return a row for each tensor, and one for all together; or the rows of problems alone."""
        gradients, problems = self.gradients()
        if problems:
            return problems
        directions = self.directions()
        rows = [self.row(name, gradients, {name: v}) for name, v in directions.items()]
        if wrong := [row for row in rows if row.wrong]:
            worst = max(wrong, key=lambda row: row.error)
            self.name_worst_entry(worst, gradients[worst.tensor])
        if len(rows) > 1:                                              # one array hides another's
            rows.append(self.row(ALL, gradients, directions))
        return rows

    def directions(self) -> dict[str, np.ndarray]:
        """Return a random direction for each tensor; entries of -inf, as in a mask, stay."""
        draw = self.rng.standard_normal
        return {name: draw(x.shape) * np.isfinite(x) for name, x in self.tensors.items()}

    def gradients(self) -> tuple[dict[str, np.ndarray], list[Row]]:
        """Return ({tensor: gradient}, rows with the reason why gradients cannot be compared)."""
        u = self.u if np.ndim(self.y) else float(self.u)
        found, faults = self.layer.gradients(self.tensors, u, self.cache)
        if any(np.asarray(g).dtype.char == "e" for g in found.values()):
            raise TypeError(ROUNDED)
        shapes = {n: x.shape for n, x in self.tensors.items()}
        return found, faults or [Row(n, state=Verdict.WRONG, fault=f"shape {np.shape(g)}, must be"
                                     f" {shapes[n]}")
                                 for n, g in found.items() if np.shape(g) != shapes[n]]

    def row(self, name: str, gradients: dict, directions: dict) -> Row:
        """Compare <gradient, v> with <u, J v> for a direction v of each array in `directions`."""
        exact = self.complex_step(directions)
        if np.isnan(exact) and self.rounds(directions):
            raise TypeError(ROUNDED)
        analytic = sum(float(np.sum(gradients[n] * v)) for n, v in directions.items())
        believed = exact if np.isfinite(exact) else analytic
        slopes: list[Slope] = []
        for slope in self.slopes(gradients, directions):               # until one is good
            slopes.append(slope)
            if slope.supports(believed, TOLERANCE):
                break
        kinds = self.kept | {np.asarray(gradients[n]).dtype.char for n in directions}
        row = decided(name, analytic, exact, slopes, FLOAT32 if "f" in kinds else 0.0)
        if row.wrong and self.on_a_kink(directions):
            row.state, row.why = Verdict.UNDECIDED, (*row.why, KINK)
        return row

    def rounds(self, directions: dict) -> bool:
        """Tell whether a fine step changes the output not at all, or far too much.

        Rounded to float32, a number changes by 0 or by 6e-8 if it is moved by 1e-9.
        """
        def output(h):
            shift = {n: self.near[n] + h * v * (1 + np.abs(self.finite[n]))
                     for n, v in directions.items()}
            return np.nan_to_num(self.run(self.near | shift)[0], posinf=0, neginf=0).astype(float)

        y = output(0)
        noise = UNIT / 1e-9 * np.linalg.norm(y)
        for sign in (1, -1, 2, -2):
            fine, middle, wide = ((output(sign * h) - y) / h for h in (1e-9, 1e-5, 1e-2))
            coarse = middle if middle.any() else wide
            most = np.linalg.norm(coarse) * (1.5 if fine.any() else 0.5)
            if np.linalg.norm(fine - coarse) > most + noise:
                return True
        return False

    def on_a_kink(self, names: Iterable[str]) -> bool:
        """Tell whether left and right slopes differ, and still do for a smaller step.

        max(0, x) has such a kink at x = 0. On a smooth bend the difference falls with the step.
        """
        h, found = STEPS[0], []
        for _ in range(TRIES):
            directions = {n: v for n, v in self.directions().items() if n in names}
            (_, wide), (slope, near) = (self.slope(directions, step) for step in (h, h / 10))
            found.append(near > max(wide / 3, 1e-3 * abs(slope)))
        return any(found)

    def slopes(self, gradients: dict, directions: dict) -> Iterator[Slope]:
        """Yield central differences; steps are relative to 1, the largest and the smallest x."""
        norm, names = np.linalg.norm, list(directions)
        sizes = np.concatenate([np.abs(self.finite[n]).ravel() for n in names])
        largest, smallest = sizes.max(initial=0), sizes[sizes > 0].min(initial=1)
        v, g = (norm([norm(x[n]) for n in names]) for x in (directions, gradients))
        scale = np.finfo(float).tiny + max(FLOOR * norm(self.u) * v / max(largest, 1.0), SHARE * g)
        height = norm(self.u * np.nan_to_num(self.y, posinf=0, neginf=0))
        for length in dict.fromkeys((1.0, max(largest, 1.0), max(smallest, 1e-10))):
            for step in STEPS:
                h = step * length
                value, apart = self.slope(directions, h)
                noise = UNIT * (height + max(abs(value), g) * largest) / h
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

    def name_worst_entry(self, row: Row, gradient: np.ndarray) -> None:
        """Name in a wrong row the entry that differs most from the numeric slope."""
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
        at = [int(i) for i in np.unravel_index(k, x.shape)]
        digits = 6 if f"{got:.6g}" != f"{must:.6g}" else 10
        part = f" ({len(some)} of {x.size} were examined)" if len(some) < x.size else ""
        row.fault = f"worst entry {at} is {got:.{digits}g}, must be {must:.{digits}g}{part}"
