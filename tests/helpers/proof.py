"""The gradient check of these tests: <u, Im F(x + ihv) / h> = <backward(u), v>, with h = 1e-20.

It is written apart from aiayn_np.gradient_check, so that the two check each other.
"""

import warnings

import numpy as np

STEP = 1e-20
RELATIVE, ABSOLUTE = 1e-12, 1e-14  # of the value, or of |u| |v|
SAME_VALUE = 1e-14  # Re F(x + 0j) against F(x), relative to the largest entry or to 1,
ROUNDINGS = 4  # or this many times what F(x) changes by when x is rounded another way
PLANTED = 1e-6


class Case:
    """A layer with inputs and options; `tensors` are the inputs and parameters that can move."""

    def __init__(self, layer, inputs, options):
        self.layer, self.inputs, self.options = layer, list(inputs), options
        self.moving = [i for i, x in enumerate(inputs) if np.asarray(x).dtype.kind == "f"]
        self.parameters = dict(layer.named_parameters())
        self.tensors = {f"input {i}": self.inputs[i] for i in self.moving}
        self.tensors |= {name: p.value for name, p in self.parameters.items()}
        self.rng = options.get("rng")
        self.state = None if self.rng is None else self.rng.bit_generator.state

    def forward(self, shift=None, dtype=float):
        """(y, cache) at tensors + shift; the same generator state, hence dropout, at every call."""
        original = self.tensors
        shift = shift or {}
        moved = {
            n: x + shift[n] if n in shift else x.astype(dtype, copy=False)
            for n, x in original.items()
        }
        arrays = [moved.get(f"input {i}", x) for i, x in enumerate(self.inputs)]
        try:
            for name, parameter in self.parameters.items():
                parameter.value = moved[name]
            return self.layer.forward(*arrays, **self.options)
        finally:
            for name, parameter in self.parameters.items():
                parameter.value = original[name]
            if self.rng is not None:
                self.rng.bit_generator.state = self.state

    def gradients(self, u, cache):
        """{tensor: gradient} of <u, F> from one backward, parameters cleared before."""
        for parameter in self.parameters.values():
            parameter.zero_grad()
        returned = as_list(self.layer.backward(u, cache))
        assert len(returned) == len(self.moving), f"{len(returned)} gradients returned"
        found = dict(zip((f"input {i}" for i in self.moving), returned))
        return found | {name: p.grad.copy() for name, p in self.parameters.items()}

    def directions(self, names, rng):
        """A random signed direction for each tensor; where it is -inf, nothing can move."""
        tensors = self.tensors
        return {n: rng.standard_normal(tensors[n].shape) * np.isfinite(tensors[n]) for n in names}

    def complex_step(self, u, v):
        """(<u, J v>, Re F) from one forward at x + ihv."""
        with warnings.catch_warnings():
            warnings.simplefilter("error", np.exceptions.ComplexWarning)
            y, _ = self.forward({name: 1j * STEP * d for name, d in v.items()}, complex)
        return np.sum(u * np.imag(y)) / STEP, np.real(y)

    def rounding(self, y, draws=3):
        """The largest change of a finite entry of y when every tensor moves by its last digit."""
        rng, eps, changes = np.random.default_rng(0), np.finfo(float).eps, []
        for _ in range(draws):
            shift = {n: np.where(np.isfinite(x), x, 0) * rng.choice([-eps, eps], x.shape)
                     for n, x in self.tensors.items()}
            moved, _ = self.forward(shift)
            changes.append(np.abs(np.where(np.isfinite(y), moved - y, 0)).max())
        return max(changes)

    def __repr__(self):
        shapes = [np.shape(x) for x in self.inputs]
        options = {name: getattr(o, "shape", o) for name, o in self.options.items()}
        return f"inputs {shapes}, options {options}, {self.layer!r}"


def as_list(returned):
    """What a backward returned, as a list: None is nothing, a single array is one."""
    if returned is None:
        return []
    return list(returned) if isinstance(returned, tuple) else [returned]


def inner(gradients, v):
    return sum(float(np.sum(gradients[name] * d)) for name, d in v.items())


def length(v):
    return np.sqrt(sum(np.sum(d * d) for d in v.values()))


def planted_error(gradient):
    """The gradient wrong by 1e-6 relative; one so small that this passes, wrong by 1e-6."""
    is_small = np.abs(gradient).max() < 1e-3
    return gradient + PLANTED if is_small else gradient * (1 + PLANTED)


def prove(layer, inputs, options, rng, *, together=1, each=False, plant=None):
    """Assert that backward is the transpose of forward's derivative.

    `together` random directions move all tensors at once; `each` adds one per tensor. With `plant`,
    the gradient of that tensor is made wrong by 1e-6 first, and this must fail.
    """
    case = Case(layer, inputs, options)
    y, cache = case.forward()
    u = rng.standard_normal(np.shape(y))
    gradients = case.gradients(u, cache)
    for name, x in case.tensors.items():
        assert gradients[name].shape == x.shape, name
    if plant is not None:
        gradients[plant] = planted_error(gradients[plant])
    for names in [list(case.tensors)] * together + [[name] for name in case.tensors if each]:
        v = case.directions(names, rng)
        numeric, real_part = case.complex_step(u, v)
        analytic = inner(gradients, v)
        error, bound = abs(analytic - numeric), tolerance(numeric, u, v)
        if not error <= bound:
            detail = "" if plant else f"{errors(case, u, gradients, names, rng)}; {case}"
            raise AssertionError(
                f"{' '.join(names)}: analytic {analytic!r}, complex step {numeric!r},"
                f" error {error:.1e} > {bound:.1e}; {detail}"
            )
        assert_same_value(case, real_part, y)


def tolerance(numeric, u, v):
    """By how much the two sides may differ."""
    return max(RELATIVE * abs(numeric), ABSOLUTE * np.linalg.norm(u) * length(v))


def unseen_errors(layer, inputs, options, rng):
    """The tensors whose gradient `prove` would let be wrong by 1e-6: there should be none.

    A direction may happen to be at right angles to an error: then there are two more.
    """
    case = Case(layer, inputs, options)
    y, cache = case.forward()
    u = rng.standard_normal(np.shape(y))
    gradients = case.gradients(u, cache)
    unseen = list(case.tensors)
    for _ in range(3):
        v = case.directions(list(case.tensors), rng)
        numeric, _ = case.complex_step(u, v)
        bound = tolerance(numeric, u, v)
        planted = {n: gradients | {n: planted_error(gradients[n])} for n in unseen}
        unseen = [n for n, wrong in planted.items() if abs(inner(wrong, v) - numeric) <= bound]
        if not unseen:
            break
    return unseen


def errors(case, u, gradients, names, rng):
    """{tensor: relative error along a direction of its own}, for the message of a failure."""
    found = {}
    for name in names:
        v = case.directions([name], rng)
        numeric, _ = case.complex_step(u, v)
        found[name] = f"{abs(inner(gradients, v) - numeric) / (abs(numeric) + 1e-300):.1e}"
    return found


def assert_same_value(case, real_part, y):
    """The complex forward computes the same function as the real one, but for rounding.

    A layer norm over a nearly constant row enlarges rounding: there, the two may differ by as much
    as y changes when every tensor is rounded another way.
    """
    different = np.asarray(real_part != y)
    if different.any():
        error = np.abs(np.asarray(real_part)[different] - np.asarray(y)[different]).max()
        bound = SAME_VALUE * np.abs(np.asarray(y)[np.isfinite(y)]).max(initial=1)
        if not error <= bound:
            bound = max(bound, ROUNDINGS * case.rounding(y))
        assert error <= bound, f"Re F(x + 0j) differs from F(x) by {error:.1e}"


def arrays_in(node):
    """Every array and NumPy scalar at or below a cache (or list, tuple, dict)."""
    if isinstance(node, (np.ndarray, np.generic)):
        yield node
    elif isinstance(node, dict):
        for child in node.values():
            yield from arrays_in(child)
    elif isinstance(node, (list, tuple)):
        for child in node:
            yield from arrays_in(child)
    elif hasattr(node, "__dict__"):
        yield from arrays_in(vars(node))
