"""Try one case on the student's layer and on the right one, with the same parameters."""

import contextlib
import copy
import dataclasses
import inspect
import math
import operator

import numpy as np

from aiayn_np.proofs.probing import randomise

from ..language import listed, say, say_name
from .calling import call, copied, must_be_unchanged
from .comparing import digest_of, is_numbers, same, scale_of
from .errors import GRADIENTS, SUM, UNPACK, shape_guess
from .stop import Stop

NOTHING = "A function without `return`, or with `return` alone, returns None."
LISTED = "A list is no array: np.array makes one of rows that are equally long."
ROUNDING = 1e-14  # of the size of what is multiplied: some units in the last place
MUST_ADD = ("It must add, `+=`: a layer may be used several times before the optimizer reads the"
            " sum.")
STUB = "Leave __init__ as it is in the stub."


class Trial:
    """The student's layer and the right one in one case, with equal parameters.

    ours, expected : the right layer, {tensor: its output or a gradient}
    layer, results, cache : the student's layer, {tensor: array}, its cache
    """

    def __init__(self, subject, student, case, rng):
        self.case, self.name = case, subject.name
        self.ours = copy.deepcopy(case.layer) or subject.reference()
        self.our_parameters = dict(self.ours.named_parameters())
        self.layer = call(f"{self.name}.__init__", subject.made_like, student, self.ours)
        self.parameters = self.named_as_ours()
        self.give_values(rng)
        self.case = case = self.scaled(subject.balanced)
        signature = inspect.signature(self.ours.forward).parameters.values()
        names = [p.name for p in signature if p.kind == p.POSITIONAL_OR_KEYWORD]
        self.names = names[: len(case.inputs)]
        self.moving = [n for n, x in zip(self.names, case.inputs) if x.dtype.kind == "f"]
        want, self.our_cache = self.ours.forward(*case.inputs, **copied(case.options))
        grad_y = case.scale * rng.standard_normal(np.shape(want))
        self.grad_y = grad_y if grad_y.ndim else float(grad_y)
        self.expected = {"output": np.asarray(want), **self.right_gradients()}
        self.start = {n: rng.standard_normal(p.value.shape) * (self.size_of(f"{n}.grad") or 1)
                      * (case.zeros < 1) for n, p in self.parameters.items()}
        self.results, self.cache = dict[str, np.ndarray](), None

    def named_as_ours(self):
        """Return {name: Parameter} of the student's layer; raise a Stop if they are not ours."""
        if not hasattr(self.layer, "named_parameters"):
            raise Stop("not a layer", say(
                "{name} must be a subclass of Module, as in the stub.", name=self.name))
        given, ours = dict(self.layer.named_parameters()), self.our_parameters
        with contextlib.suppress(AttributeError):                      # kept in a list as well
            named = {name: operator.attrgetter(name)(self.layer) for name in ours}
            if set(map(id, named.values())) == set(map(id, given.values())):
                given = named
        wanted, had = (sorted(f"{name} {np.shape(p.value)}" for name, p in some.items())
                       for some in (ours, given))
        if wanted != had:
            raise Stop("parameters", say("{name} must have the parameters {ours}, and has {given}.",
                                         name=self.name, ours=", ".join(wanted) or say("none"),
                                         given=", ".join(had) or say("none")), say(STUB))
        for name, p in given.items():
            if p.value.ndim == 1 and not np.array_equal(p.value, ours[name].value):
                raise Stop("parameters", say("{name} must start as {number} everywhere.", name=name,
                                             number=f"{ours[name].value[0]:.0f}"), say(STUB))
        return given

    def give_values(self, rng):
        """Set the Parameters of both layers to the same values."""
        if self.case.zeros < 1:
            randomise(self.ours, rng)
        for name, p in self.parameters.items():
            right = self.our_parameters[name]
            right.value *= self.case.scale
            right.value.reshape(-1)[::2] *= not self.case.zeros
            p.value = right.value.copy()
            right.value.flags.writeable = False                        # a change may do anything

    def scaled(self, balanced):
        """Return the case with its inputs at the size that its scale asks for."""
        size = 1.0 if self.parameters else self.case.scale
        if balanced and self.case.scale > 1:
            size /= self.case.scale
        return dataclasses.replace(self.case, inputs=tuple(
            size * x if x.dtype.kind == "f" else x for x in self.case.inputs))

    def right_gradients(self):
        """Return {tensor: gradient} of the right layer."""
        self.ours.zero_grad()
        returned = as_list(self.ours.backward(copied(self.grad_y), self.our_cache))
        gradients = {f"grad_{n}": g for n, g in zip(self.moving, returned)}
        return gradients | {f"{n}.grad": p.grad.copy() for n, p in self.our_parameters.items()}

    def size_of(self, tensor):
        """Return the size of the expected gradient, or 0 if it is only rounding."""
        size = scale_of(self.expected[tensor])
        return size if size > 1e-25 else 0

    def runner(self, stage):
        """Return a function that runs the student's code of a stage, "forward" or "backward"."""
        if stage == "forward":
            return self.forward
        _, cache = self.forward()
        return lambda: self.backward(cache)

    def forward(self, other=False):
        """Return the student's (y, cache); raise a Stop if forward breaks the protocol."""
        inputs, options = self.others() if other else map(
            copied, (self.case.inputs, self.case.options))
        given = [copied(x) for x in (*inputs, *options.values())]
        values = [digest_of(p.value) for p in self.parameters.values()]
        result = call(f"{self.name}.forward", self.layer.forward, *inputs, case=self.case.what,
                      **options)
        if result is None:
            raise Stop("nothing returned", say(
                "forward returns nothing: it must end with `return y, cache`."), say(NOTHING),
                tensor="output")
        if not isinstance(result, (tuple, list)) or len(result) != 2:
            raise Stop("no cache", say(
                "forward must return two things, the output and a cache with all that backward"
                " needs: `return y, cache`. It returns a {kind}.", kind=type(result).__name__),
                tensor="output")
        must_be_unchanged("forward", [*self.names, *options], given, [*inputs, *options.values()])
        self.must_not_move("forward", values)
        y, cache = result
        is_given = not isinstance(y, list) and (not is_numbers(y) or any(
            is_numbers(x) and same(y, x) for x in inputs))
        if not other and self.is_output(cache) and is_given and not self.is_output(y):
            raise Stop("order", say(
                "forward returns two things in the other order: `return y, cache`, the output"
                " first."), tensor="output")
        check_shape("forward", "output", y, self.expected["output"], self.case)
        return y, cache

    def is_output(self, thing):
        """Tell whether a thing is the right output of this case."""
        return is_numbers(thing) and same(thing, self.expected["output"])

    def fits(self, stage):
        """Tell whether the student's layer is right in a stage, backward straight after forward."""
        try:
            results = self.runner(stage)()
        except Stop:
            return False
        results = results if stage == "backward" else {"output": results[0]}
        return all(same(x, self.expected[name]) for name, x in results.items())

    def others(self):
        """Return other inputs and options of the same sizes."""
        options = {name: another(option) for name, option in copied(self.case.options).items()}
        return tuple(map(another, self.case.inputs)), options

    def must_not_move(self, what, values):
        """Raise a Stop if a Parameter's value no longer has its digest in `values`."""
        for (name, p), value in zip(self.parameters.items(), values):
            if digest_of(p.value) != value:
                raise Stop("parameter moved", say(
                    "{what} changes {name}.value. Only the optimizer moves a parameter, later:"
                    " forward reads it, and backward adds to {name}.grad.", what=what, name=name))

    def backward(self, cache):
        """Return the student's {tensor: gradient}; for a Parameter, what was added to `start`."""
        for name, p in self.parameters.items():
            p.grad = self.start[name].copy()
        grad_y, values = copied(self.grad_y), [digest_of(p.value) for p in self.parameters.values()]
        returned = call(f"{self.name}.backward", self.layer.backward, grad_y, cache,
                        case=self.case.what)
        must_be_unchanged("backward", ["grad_y"], [self.grad_y], [grad_y])
        self.must_not_move("backward", values)
        results = {}
        for name, gradient in zip(self.moving, self.counted(returned)):
            tensor = f"grad_{name}"
            self.must_not_be_another(tensor, gradient)
            check_shape("backward", tensor, gradient, self.expected[tensor], self.case)
            results[tensor] = self.without_rounding(name, tensor, np.array(gradient))
        for name, p in self.parameters.items():
            check_shape("backward", f"{name}.grad", p.grad, self.start[name], self.case)
            added = np.asarray(p.grad) - self.start[name]
            results[f"{name}.grad"] = self.without_rounding(name, f"{name}.grad", added)
        return results

    def writes_over(self, wrong):
        """Return the gradients of parameters that depend on what they held before."""
        start, found = self.start, {n: list[np.ndarray]() for n in wrong if n.endswith(".grad")}
        for self.start in ({n: 0 * x for n, x in start.items()}, start) if found else ():
            gradients = self.runner("backward")()
            found = {n: [*some, gradients[n]] for n, some in found.items()}
        return [n for n, some in found.items() if not same(*some)]

    def without_rounding(self, name, tensor, gradient):
        """Return the gradient, with expected entries where only rounding differs.

        A gradient may be 0 because large terms cancel. Their rounding error is as large as the
        product of grad_y and all other inputs, times the precision of a float. Where the numbers
        are small, nothing large cancels.
        """
        want = self.expected[tensor]
        if self.case.scale < 1 or same(gradient, want):
            return gradient
        others = [x for n, x in zip(self.names, self.case.inputs) if n in self.moving and n != name]
        size = math.prod(map(scale_of, (np.asarray(self.grad_y), *others)))
        return np.where(np.abs(gradient - want) <= ROUNDING * size, want, gradient)

    def counted(self, returned):
        """Return the gradients as a list; raise a Stop if the list has the wrong length."""
        gradients = [g for g in as_list(returned) if g is not None]
        names = listed([f"grad_{name}" for name in self.moving]) if self.moving else ""
        if self.moving and not gradients:
            raise Stop("nothing returned", say(
                "backward returns nothing: it must return {names}.", names=names), say(NOTHING),
                tensor=f"grad_{self.moving[0]}")
        if gradients and not self.moving:
            raise Stop("wrong count", say(
                "backward must return None: ids have no gradient, and those of the parameters are"
                " added to them."))
        if len(gradients) != len(self.moving):
            raise Stop("wrong count", say(
                "backward must return {names}, and returns {number}.", names=names,
                number=say("one array") if len(gradients) == 1 else say(
                    "{count} arrays", count=len(gradients))), self.why_not_as_many(gradients))
        if len(gradients) == 1 and isinstance(returned, (tuple, list)) and len(self.names) == 1:
            raise Stop("wrong count", say(
                "backward must return a single gradient as it is, not in a tuple."))
        return gradients

    def why_not_as_many(self, gradients):
        """Return a sentence on why backward returns more gradients, or fewer, than inputs."""
        inputs = [self.expected[f"grad_{name}"] for name in self.moving]
        if len(gradients) == 1 and is_sum(gradients[0], inputs):
            return say(SUM)
        if len(inputs) == 1 and is_sum(inputs[0], gradients):
            return say("Added up they are right: the input is used several times.")
        shapes = {p.value.shape for p in self.parameters.values()}
        return say("The gradients of parameters are not returned: add them to `.grad`.") if (
            len(gradients) > len(inputs) and shapes & set(map(np.shape, gradients))) else ""

    def must_not_be_another(self, tensor, gradient):
        """Raise a Stop if `gradient` has the shape of another input's gradient, and not its own."""
        shape = np.shape(gradient) if is_numbers(gradient) else None
        others = [n for n in self.moving if np.shape(self.expected[f"grad_{n}"]) == shape]
        if others and shape != np.shape(self.expected[tensor]):
            raise Stop("order", say("backward: {tensor} has the shape of {other}.", tensor=tensor,
                                    other=f"grad_{others[0]}"), say(
                "The gradients must come in the order of the inputs: {names}.",
                names=", ".join(f"grad_{n}" for n in self.moving)), tensor=tensor)


def is_sum(total, arrays):
    """Tell whether an array is the sum of others that all have its shape."""
    return all(is_numbers(x) and np.shape(x) == np.shape(total) for x in (total, *arrays)) and same(
        total, sum(arrays))


def another(thing):
    """Return other numbers with the shape and dtype of an array, another number, or the thing."""
    if type(thing) is int:
        return thing + 1
    if not isinstance(thing, np.ndarray):
        return thing
    return (thing[::-1] * (0.5 if thing.dtype.kind == "f" else 1)).astype(thing.dtype)


def as_list(returned):
    """Turn the return value of a backward into a list."""
    if returned is None:
        return []
    return list(returned) if isinstance(returned, (tuple, list)) else [returned]


def check_shape(what, tensor, got, want, case):
    """Raise a Stop with a reason unless `got` holds real numbers in the shape of `want`."""
    if not is_numbers(got):
        why = say(LISTED) if isinstance(got, list) else "" if not isinstance(got, tuple) else say(
            GRADIENTS if what == "backward" else UNPACK)
        raise Stop("wrong type", say(
            "{what}: {tensor} must be an array of real numbers, and is of type {kind}.", what=what,
            tensor=say_name(tensor), kind=type(got).__name__), why, tensor=tensor)
    got, want = np.asarray(got), np.asarray(want)
    if got.shape != want.shape:
        diagnosis, why, question = shape_guess(got.shape, want.shape)
        raise Stop(diagnosis, say(
            "{what}: {tensor} must have shape {shape}, and has {other} ({case}).", what=what,
            tensor=say_name(tensor), shape=want.shape, other=got.shape, case=say(case.what)), why,
            tensor=tensor, got=got, question=question)
