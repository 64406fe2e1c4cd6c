"""Try one case on the student's layer and on the right one, with the same parameters."""

import contextlib
import copy
import dataclasses
import inspect
import math
import operator

import numpy as np

from aiayn_np.proofs.probing import randomise

from ..language import say, say_name
from .calling import Stop, call, copied, must_be_unchanged
from .comparing import is_numbers, same, scale_of
from .errors import GRADIENTS, SUM, UNPACK
from .report import listed
from .shapes import shape_guess, shape_question

ADDED = ("An axis of length {count} stands in front, as if a tuple were added to an array: unpack"
         " what backward returns, such as grad_Q, grad_K, grad_V, and add each.")
NOTHING = "A function without `return`, or with `return` alone, returns None."
LISTED = "A list is no array: np.array makes one of rows that are equally long."
ROUNDING = 1e-14  # of the size of what is multiplied: some units in the last place
MUST_ADD = ("It must add, `+=`: a layer may be used several times before the optimizer reads the"
            " sum.")


class Trial:
    """The student's layer and the right one in one case, with equal parameters.

    ours, want, expected : the right layer, its output, {tensor: gradient}
    layer, got, cache, results : the student's layer, its output, its cache and its gradients
    first : {name: Parameter}, with the arrays that the student's Parameters were made with
    """

    def __init__(self, subject, student, case, rng):
        self.case, self.name = case, subject.name
        self.ours = copy.deepcopy(case.layer) or subject.reference()
        self.our_parameters = dict(self.ours.named_parameters())
        self.layer = call(f"{self.name}.__init__", subject.made_like, student, self.ours)
        self.parameters = self.give_parameters(rng)
        self.case = case = self.scaled(subject.balanced)
        signature = inspect.signature(self.ours.forward).parameters.values()
        names = [p.name for p in signature if p.kind == p.POSITIONAL_OR_KEYWORD]
        self.names = names[: len(case.inputs)]
        self.moving = [n for n, x in zip(self.names, case.inputs) if x.dtype.kind == "f"]
        self.want, self.our_cache = self.ours.forward(*case.inputs, **copied(case.options))
        grad_y = case.scale * rng.standard_normal(np.shape(self.want))
        self.grad_y = grad_y if grad_y.ndim else float(grad_y)
        self.expected = self.right_gradients()
        self.start = {n: rng.standard_normal(p.value.shape) * (self.size_of(f"{n}.grad") or 1)
                      * (not case.zeros) for n, p in self.parameters.items()}
        self.got = self.cache = self.results = None
        self.overwritten: list[str] = []

    def give_parameters(self, rng):
        """Set the student's Parameters to our values, and return {name: Parameter}."""
        if not hasattr(self.layer, "named_parameters"):
            raise Stop("not a layer", say(
                "{name} must be a subclass of Module, as in the stub.", name=self.name))
        given, ours = (dict(layer.named_parameters()) for layer in (self.layer, self.ours))
        with contextlib.suppress(AttributeError):                      # kept in a list as well
            named = {name: operator.attrgetter(name)(self.layer) for name in ours}
            if set(map(id, named.values())) == set(map(id, given.values())):
                given = named
        if set(given) != set(ours):
            raise Stop("parameters", say(
                "{name} must have the parameters {ours}, and has {given}: leave __init__ as it is"
                " in the stub.", name=self.name, ours=", ".join(ours) or say("none"),
                given=", ".join(given) or say("none")))
        for name, p in given.items():
            want = ours[name].value
            if np.shape(p.value) != want.shape:
                raise Stop("parameters", say(
                    "{name} must have shape {shape}, and has {other}: leave __init__ as it is in"
                    " the stub.", name=name, shape=want.shape, other=np.shape(p.value)))
            if want.ndim == 1 and not np.array_equal(p.value, want):
                raise Stop("parameters", say(
                    "{name} must start as {number} everywhere: leave __init__ as it is in the"
                    " stub.", name=name, number=f"{want[0]:.0f}"))
        self.first = {name: copy.copy(p) for name, p in given.items()}
        if not self.case.zeros:
            randomise(self.ours, rng)
        for p in ours.values():
            p.value *= self.case.scale
            p.value.reshape(-1)[::2] *= not self.case.zeros
        for name, p in given.items():
            p.value = ours[name].value.copy()
            ours[name].value.flags.writeable = False                   # a change may do anything
        return given

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

    def compute(self, stage):
        """Keep what the student's layer computes up to a stage, "forward" or "backward"."""
        self.got, self.cache = self.forward()
        if stage == "backward":
            self.results = self.backward(self.cache)

    def forward(self, other=False):
        """Return the student's (y, cache); raise a Stop if forward breaks the protocol."""
        inputs, options = self.others() if other else map(
            copied, (self.case.inputs, self.case.options))
        given = [copied(x) for x in (*inputs, *options.values())]
        values = [p.value.copy() for p in self.parameters.values()]
        result = call(f"{self.name}.forward", self.layer.forward, *inputs, case=self.case.what,
                      **options)
        if result is None:
            raise Stop("nothing returned", say(
                "forward returns nothing: it must end with `return y, cache`."), "output",
                cause=say(NOTHING))
        if not isinstance(result, (tuple, list)) or len(result) != 2:
            raise Stop("no cache", say(
                "forward must return two things, the output and a cache with all that backward"
                " needs: `return y, cache`. It returns {kind}.", kind=kind(result)), "output")
        must_be_unchanged("forward", [*self.names, *options], given, [*inputs, *options.values()])
        self.must_not_move("forward", values)
        y, cache = result
        if not other and self.swapped(y, cache, inputs):
            raise Stop("order", say(
                "forward returns two things in the other order: `return y, cache`, the output"
                " first."), "output")
        check_shape("forward", "output", y, self.want, self.case)
        return y, cache

    def fits(self, stage, grads=None):
        """Tell whether the student's layer is right up to a stage, "forward" or "backward"."""
        try:
            y, cache = self.forward()
            return same(y, self.want) and (stage == "forward" or all(same(
                x, self.expected[n]) for n, x in self.backward(cache, grads).items()))
        except Stop:
            return False

    def output(self):
        """Return the student's output, also one of a wrong shape; None if there is none."""
        try:
            return self.forward()[0]
        except Stop as stop:
            return stop.got

    def without_each_option(self):
        """Yield (name, the student's output without this option) where the output is numbers."""
        for name in self.case.options:
            rest = {n: option for n, option in self.case.options.items() if n != name}
            with contextlib.suppress(Stop):
                y, _ = call("forward", self.layer.forward, *copied(self.case.inputs),
                            **copied(rest))
                if is_numbers(y):
                    yield name, y

    def right_without(self, name):
        """Return the right output without an option."""
        options = {n: option for n, option in self.case.options.items() if n != name}
        return self.ours.forward(*self.case.inputs, **copied(options))[0]

    def others(self):
        """Return other inputs and options of the same sizes."""
        options = {name: another(option) for name, option in copied(self.case.options).items()}
        return tuple(map(another, self.case.inputs)), options

    def must_not_move(self, what, values):
        """Raise a Stop if a value of a Parameter is no longer the one in `values`."""
        for (name, p), value in zip(self.parameters.items(), values):
            if not np.array_equal(p.value, value, equal_nan=True):
                raise Stop("parameter moved", say(
                    "{what} changes {name}.value. Only the optimizer moves a parameter, later:"
                    " forward reads it, and backward adds to {name}.grad.", what=what, name=name))

    def swapped(self, y, cache, inputs):
        """Tell whether forward returned the output second, and no attempt at it first.

        A list is an attempt. So are numbers of the output's shape, unless they are an input.
        """
        if self.is_output(y) or not self.is_output(cache):
            return False
        if is_numbers(y) and np.shape(y) == np.shape(self.want):
            return any(is_numbers(x) and same(y, x) for x in inputs)
        return not isinstance(y, list)

    def is_output(self, thing):
        """Tell whether a thing is the right output of this case."""
        return is_numbers(thing) and same(thing, self.want)

    def backward(self, cache, grads=None):
        """Return the student's {tensor: gradient}; for a Parameter, what was added to `grads`."""
        grads = copy.deepcopy(self.start) if grads is None else grads
        start = copy.deepcopy(grads)
        for name, p in self.parameters.items():
            p.grad = grads[name]
        grad_y, values = copied(self.grad_y), [p.value.copy() for p in self.parameters.values()]
        what = f"{self.name}.backward"
        returned = call(what, self.layer.backward, grad_y, cache, case=self.case.what)
        must_be_unchanged("backward", ["grad_y"], [self.grad_y], [grad_y])
        self.must_not_move("backward", values)
        results = {}
        for name, gradient in zip(self.moving, self.counted(returned)):
            tensor = f"grad_{name}"
            if is_numbers(gradient):
                self.must_not_be_another(tensor, gradient)
            check_shape("backward", tensor, gradient, self.expected[tensor], self.case)
            results[tensor] = self.without_rounding(name, tensor, np.array(gradient))
        for name, p in self.parameters.items():
            check_shape("backward", f"{name}.grad", p.grad, start[name], self.case)
            got, right = np.asarray(p.grad), self.expected[f"{name}.grad"]
            if same(got, right) and not same(got - start[name], right):
                self.overwritten.append(f"{name}.grad")                # go on as if it were added
                got = got + start[name]
            results[f"{name}.grad"] = self.without_rounding(name, f"{name}.grad", got - start[name])
        return results

    def without_rounding(self, name, tensor, gradient):
        """Return the gradient, with expected entries where only rounding differs.

        A gradient may be 0 because large terms cancel. Their rounding error is as large as the
        product of grad_y and all other inputs, times the precision of a float. Where the numbers
        are small, nothing large cancels.
        """
        if self.case.scale < 1:
            return gradient
        others = [x for n, x in zip(self.names, self.case.inputs) if n in self.moving and n != name]
        size = math.prod(map(scale_of, (np.asarray(self.grad_y), *others)))
        want = self.expected[tensor]
        return np.where(np.abs(gradient - want) <= ROUNDING * size, want, gradient)

    def counted(self, returned):
        """Return the gradients as a list; raise a Stop if the list has the wrong length."""
        gradients = [g for g in as_list(returned) if g is not None]
        names = listed([f"grad_{name}" for name in self.moving]) if self.moving else ""
        if len(self.moving) and not gradients:
            where = say("backward returns nothing: it must return {names}.", names=names)
            raise Stop("nothing returned", where, f"grad_{self.moving[0]}", where=where,
                       cause=say(NOTHING))
        if gradients and not self.moving:
            raise Stop("wrong count", say(
                "backward must return None: ids have no gradient, and those of the parameters are"
                " added to them."))
        if len(gradients) != len(self.moving):
            why = self.why_not_as_many(gradients)
            raise Stop("wrong count", say(
                "backward must return {names}, and returns {number}. {why}", names=names, why=why,
                number=say("one array") if len(gradients) == 1 else say(
                    "{count} arrays", count=len(gradients))).strip())
        if len(gradients) == 1 and isinstance(returned, (tuple, list)) and len(self.names) == 1:
            raise Stop("wrong count", say(
                "backward must return a single gradient as it is, not in a tuple."))
        return gradients

    def why_not_as_many(self, gradients):
        """Return a sentence on why backward returns more gradients, or fewer, than inputs."""
        if len(gradients) == 1 and self.is_sum(gradients[0]):
            return say(SUM)
        shapes = set(map(np.shape, gradients))
        if len(self.moving) == len(shapes) == 1 and all(map(is_numbers, gradients)) and same(
                sum(gradients), self.expected[f"grad_{self.moving[0]}"]):
            return say("Added up they are right: the input is used several times.")
        of_parameters = {p.value.shape for p in self.parameters.values()} & shapes
        return say("The gradients of parameters are not returned: add them to `.grad`.") if (
            of_parameters and len(gradients) > len(self.moving)) else ""

    def is_sum(self, gradient):
        """Tell whether a gradient is the sum of the expected ones."""
        expected = [self.expected[f"grad_{name}"] for name in self.moving]
        return len(set(map(np.shape, expected))) == 1 and is_numbers(gradient) and same(
            gradient, sum(expected))

    def must_not_be_another(self, tensor, gradient):
        """Raise a Stop if `gradient` has the shape of another input's gradient, and not its own."""
        shape = np.shape(gradient)
        others = [n for n in self.moving if np.shape(self.expected[f"grad_{n}"]) == shape]
        if others and shape != np.shape(self.expected[tensor]):
            names = ", ".join(f"grad_{n}" for n in self.moving)
            raise Stop("order", say(
                "backward: {tensor} has the shape of {other}. The gradients must come in the order"
                " of the inputs: {names}.", tensor=tensor, other=f"grad_{others[0]}",
                names=names), tensor)


def another(thing):
    """Return other numbers with the shape and dtype of an array, another number, or the thing."""
    if type(thing) is int:
        return thing + 1
    if not isinstance(thing, np.ndarray):
        return thing
    return (thing[::-1] * (0.5 if thing.dtype.kind == "f" else 1)).astype(thing.dtype)


def kind(thing):
    """Describe a thing for a message."""
    if isinstance(thing, np.ndarray):
        return say("one array of shape {shape} and type {dtype}", shape=thing.shape,
                   dtype=thing.dtype)
    if isinstance(thing, tuple):
        return say("a tuple of {count}", count=len(thing))
    return say("an object of type {type}", type=type(thing).__name__)


def as_list(returned):
    """Turn the return value of a backward into a list."""
    if returned is None:
        return []
    return list(returned) if isinstance(returned, (tuple, list)) else [returned]


def check_shape(what, tensor, got, want, case):
    """Raise a Stop with a reason unless `got` holds real numbers in the shape of `want`."""
    if not is_numbers(got):
        why = say(LISTED) if isinstance(got, list) else unpacked(what, got)
        raise Stop("wrong type", say(
            "{what}: {tensor} must be an array of real numbers, and is {kind}. {why}", what=what,
            tensor=say_name(tensor), kind=kind(got), why=why).strip(), tensor, cause=why)
    got, want = np.asarray(got), np.asarray(want)
    if got.shape != want.shape:
        diagnosis, why = shape_guess(got.shape, want.shape, case.sizes)
        if tensor.startswith("grad_") and got.shape[1:] == want.shape and len(got) in (2, 3):
            diagnosis, why = "not unpacked", say(ADDED, count=len(got))
        raise Stop(diagnosis, say(
            "{what}: {tensor} must have shape {shape}, and has {other} ({case}). {why}", what=what,
            tensor=say_name(tensor), shape=want.shape, other=got.shape, case=say(case.what),
            why=why), tensor, got=got, cause=why, question=shape_question(got.shape, want.shape))


def unpacked(what, got):
    """Return advice on unpacking if `got` is a tuple, else ""."""
    return say(GRADIENTS if what == "backward" else UNPACK) if isinstance(got, tuple) else ""
