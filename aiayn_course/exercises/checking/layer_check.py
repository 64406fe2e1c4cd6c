"""Check a layer: the values of forward, then every gradient, then the protocol, then dtypes."""

import contextlib
import copy
import dataclasses
from typing import Any

import numpy as np

from aiayn_np.module import Parameter

from ..exercise import STAYS, SUBJECTS
from ..language import listed, say, say_name
from .calling import OWN_ARRAY, call, copied
from .checks import Check
from .comparing import is_numbers, same
from .explaining import is_wrong
from .operands import Code, source_of
from .report import Row
from .stop import Stop
from .tracing import first_double
from .trial import MUST_ADD, Trial, as_list, check_shape

FROM_THE_END = "Count axes from the end, -1, -2: any number of axes may stand in front."
SIZES = (  # what is tried of every layer, a field of Case, a teacher's sentence
    ("small numbers, around 1e-4", dict(scale=1e-4), "A small number counts like all others:"
     " nothing is cut off or added there."),
    ("large numbers, around 1 000", dict(scale=1e3), "A large number stays as it is: nothing is"
     " clipped."),
    ("some zeros in the parameters", dict(zeros=0.5), "A 0 is a number like all others."),
    ("zeros in the parameters", dict(zeros=1), "A new layer holds numbers and gradients that are"
     " 0. They count like all others."),
)
PARTS = (  # of the first case: what it is, the part of each array, a teacher's sentence
    ("one sequence", lambda x: x[:1], STAYS),
    ("one sequence without its axis", lambda x: x[0], FROM_THE_END),
    ("an axis more in front", lambda x: np.stack([x, x[::-1]]), FROM_THE_END),
    ("sequences of one position", lambda x: x[..., :1] if x.dtype.kind == "i" else x[..., :1, :],
     STAYS),
    ("one sequence of one position", lambda x: x[:1, :1] if x.dtype.kind == "i" else
     x[:1, ..., :1, :], STAYS),
    ("arrays in another order of the memory", np.asfortranarray, "The order of the axes is that of"
     " the shape, however the numbers lie in the memory: reshape as NumPy does it without order."),
)
DOUBLE = ("Mostly it is a number of NumPy, such as np.sqrt(4) or mask.sum(), where a Python one"
          " would do (math.sqrt, int), or an array made by np.zeros, np.eye or np.arange without a"
          " dtype.")
TINY = "A number below 1e-45 is 0 in float32, so it guards no division."


class LayerCheck(Check):
    """The check of a student's layer."""

    stages = ("forward", "backward")

    def __init__(self, subject, student, seed):
        self.rng = np.random.default_rng(seed)
        cases = subject.cases(self.rng)
        sizes = [dataclasses.replace(cases[0], what=what, special=True, why=why, **field)
                 for what, field, why in SIZES]
        short = [cut(cases[0], *part) for part in PARTS]
        super().__init__(subject, student, [*cases, *short, *sizes])
        self.rows = {"output": Row("output")}

    def trial_of(self, case):
        return Trial(self.subject, self.student, case, self.rng)

    def tensors(self):
        output, *gradients = self.trials[0].expected
        return [output] if self.stage == "forward" else gradients

    def code(self):
        """Return the Code in which a mistake of a stage may stand."""
        others = "__init__", "backward" if self.stage == "forward" else "forward"
        is_whole = self.stage == "backward" and self.formula.by_itself
        return Code(self.student, others[:1] if is_whole else others, others)

    def compute(self, trial):
        """Run a stage of the student's layer. Between forward and backward comes another input."""
        if self.stage == "forward":
            trial.results["output"], trial.cache = trial.forward()
        else:
            trial.forward(other=True)
            trial.results |= trial.backward(trial.cache)

    def fill(self, trials):
        """Give all trials an output, also one of a wrong shape; tell whether all have one."""
        for trial in trials if self.stage == "forward" else ():
            try:
                trial.results["output"] = trial.forward()[0]
            except Stop as stop:
                if stop.got is None:
                    return False
                trial.results["output"] = stop.got
        return self.stage == "forward"

    def suspect(self, trials, wrong):
        """Raise a Stop for a fault of another kind than that of an edit of the formula."""
        if names := trials[0].writes_over(wrong):
            raise Stop("overwritten", say("backward writes over {names}.", names=listed(names)),
                       say(MUST_ADD), tensor=names, question=say(
                           "What becomes of a gradient that was there before?"))
        if wrong and self.stage == "backward" and all(trial.fits(self.stage) for trial in trials):
            raise stale(wrong[0], say("another forward, which comes before backward"))
        if wrong:
            self.must_not_be_a_part(next(trial for trial in trials if is_wrong(trial, wrong)))

    def must_not_be_a_part(self, trial):
        """Raise a Stop if it is a student's layer inside this one that is wrong."""
        for name, part in list(vars(trial.layer).items()):
            right = copy.copy(getattr(trial.ours, name, None))
            if type(part).__name__ in SUBJECTS and type(part) is not type(right):
                vars(right).update({
                    n: p for n, p in vars(part).items() if isinstance(p, Parameter)})
                setattr(trial.layer, name, right)
                is_right = trial.fits(self.stage)
                setattr(trial.layer, name, part)
                if is_right:
                    raise Stop("another layer", say(
                        "With the right {part} in its place everything is right here. Your {part}"
                        " is not right yet. Check it first: check({part}).",
                        part=type(part).__name__))

    def finish(self):
        """Raise a Stop if the layer breaks the protocol of layers. Its numbers are right."""
        trial = self.trials[0]
        _, cache = trial.forward()
        first = trial.backward(cache)
        second = trial.backward(cache)
        if wrong := [tensor for tensor in first if not same(second[tensor], first[tensor])]:
            raise Stop("cache changed", say(
                "A second backward with the same cache gives another {tensor}: backward writes"
                " into an array of the cache.", tensor=wrong[0]), say(OWN_ARRAY), tensor=wrong[0])
        for other in self.trials:
            self.keeps_nothing(trial, cache, first, other)
        self.keeps_no_value(trial)
        self.methods(trial)
        for case in [self.cases[0], *(case for case in self.cases if any(
                np.isneginf(x).any() for x in case.inputs))]:          # a row that is masked
            self.dtypes(self.trial_of(case))

    def keeps_nothing(self, trial, cache, gradients, other):
        """Raise a Stop if a forward on other arrays changes what a later call gives.

        cache, gradients : of the trial's forward and backward
        """
        event = say("a forward on something else ({case})", case=say(other.case.what))
        inputs, options = other.others()
        right = [other.ours.forward(*inputs, **options)[0], other.expected["output"]]
        got = [other.forward(other=True)[0], other.forward()[0]]
        if other.case.layer is trial.case.layer:
            inputs, options = other.case.inputs, other.case.options
            right.append(trial.ours.forward(*inputs, **copied(options))[0])
            got.append(call("forward", trial.layer.forward, *copied(inputs), case=other.case.what,
                            **copied(options))[0])
        if not all(is_numbers(y) and same(y, want) for y, want in zip(got, right)):
            raise stale("output", event)
        again: dict[str, Any] = {}
        with contextlib.suppress(Stop):
            again = trial.backward(cache)
        for tensor, right_one in gradients.items():
            if tensor not in again or not same(again[tensor], right_one):
                raise stale(tensor, event)

    def keeps_no_value(self, trial):
        """Raise a Stop if a layer computes with the values that its parameters had before."""
        for name, p in trial.parameters.items():
            p.value[...] = 0.25 + 0.5 * p.value
            trial.our_parameters[name].value = p.value.copy()
        trial.expected["output"], trial.our_cache = trial.ours.forward(
            *trial.case.inputs, **copied(trial.case.options))
        trial.expected |= trial.right_gradients()
        y, cache = trial.forward()
        for tensor, x in (dict(output=y) | trial.backward(cache)).items():
            if not same(x, trial.expected[tensor]):
                raise stale(tensor, say("a step of the optimizer"))

    def methods(self, trial):
        """Check the results of the other methods that the exercise asks for."""
        for name, arguments, options in self.subject.methods:
            method = getattr(trial.layer, name, None)
            if method is None:
                raise Stop("missing", say("{subject} has no {name}.", name=name,
                                          subject=self.subject.name))
            got = call(f"{self.subject.name}.{name}", method, *arguments, **options)
            want = getattr(trial.ours, name)(*arguments, **options)
            given = [*map(str, arguments), *(f"{key}={value}" for key, value in options.items())]
            code = f"{name}({', '.join(given)})"
            check_shape(self.subject.name, name, got, want,
                        dataclasses.replace(trial.case, what=code))
            if not same(got, want):
                raise Stop("wrong method", say("{code} by itself is not right.", code=f"`{code}`"),
                           say("Compare it with what forward adds."),
                           question=say("What does each of its arguments change?"))

    def dtypes(self, trial):
        """Raise a Stop unless read-only float32 arrays give float32 results."""
        results: dict[str, Any] = {}
        layer = trial.layer.astype(np.float32)
        inputs, options, grad_y = map(as_float32, (
            trial.case.inputs, trial.case.options, trial.grad_y))

        def doubles():
            return [name for name, x in results.items() if np.asarray(x).dtype != np.float32]

        def run():
            y, cache = call(f"{self.subject.name}.forward", layer.forward, *inputs, **options)
            results.update({"output": y} if np.ndim(y) else {})
            if not doubles():
                returned = call(f"{self.subject.name}.backward", layer.backward, grad_y, cache)
                results.update(zip([f"grad_{name}" for name in trial.moving], as_list(returned)))
                results.update((f"{n}.grad", p.grad) for n, p in layer.named_parameters())

        run()
        if wrong := doubles():
            key = first_double(run)
            begins = say("The first array of float64 is made in line {line}: `{code}`.",
                         line=key[1], code=source_of(*key[:2])) if key else ""
            raise Stop("dtype", say(
                "The numbers are right, but a result must have the type of what comes in: here"
                " float32. {tensor} is {dtype}. {begins}", tensor=say_name(wrong[0]),
                dtype=np.asarray(results[wrong[0]]).dtype, begins=begins).strip(), say(DOUBLE),
                tensor=wrong[0], question=say("Which array or number is of another type?"))
        if wrong := [name for name, x in results.items() if np.isnan(x).any()]:
            raise Stop("nan", say("The numbers are right, but from float32 {tensor} becomes nan.",
                                  tensor=say_name(wrong[0])), say(TINY), tensor=wrong[0],
                       question=say("Which number is 0 in float32, and what is 0 / 0?"))


def stale(tensor, event):
    """Return the Stop for a tensor that is wrong after an event that must not change it."""
    return Stop("stale", say("{tensor} is wrong after {event}.", tensor=say_name(tensor),
                             event=event),
                say("The layer keeps something from before in itself. Compute it anew in each call:"
                    " from what the call is given, from the cache, and from p.value."),
                tensor=tensor, question=say("What is left in the layer after a call?"))


def cut(case, what, part, why):
    """Return the Case with `part` of each of its arrays."""
    def of(thing):
        return part(thing) if isinstance(thing, np.ndarray) else thing
    return dataclasses.replace(
        case, what=what, special=True, why=why, sizes={}, inputs=tuple(map(of, case.inputs)),
        options={name: of(option) for name, option in case.options.items()})


def as_float32(thing):
    """Return a read-only copy of arrays, with floats as float32; return all else as it is."""
    if isinstance(thing, tuple):
        return tuple(map(as_float32, thing))
    if isinstance(thing, dict):
        return {name: as_float32(x) for name, x in thing.items()}
    floats = isinstance(thing, np.ndarray) and thing.dtype.kind == "f"
    return copied(thing.astype(np.float32) if floats else thing)
