"""Check a layer: the values of forward, then every gradient, then the protocol, then dtypes."""

import contextlib
import copy
import dataclasses
import linecache
import warnings
from typing import Any

import numpy as np

from aiayn_np.module import Parameter

from ..exercise import STAYS, SUBJECTS
from ..language import say, say_name
from .calling import OWN_ARRAY, Stop, call, copied, line_of
from .comparing import guess, is_numbers, look, row_of, same, some_slices
from .errors import in_words
from .example import short
from .explaining import (
    Finding,
    compared,
    explain,
    is_wrong,
    of_a_shape,
    reason,
    telling,
)
from .operands import Code
from .report import Row, listed
from .tracing import first_double
from .trial import MUST_ADD, Trial, as_list, check_shape

ONES = np.ones((64, 64))  # their product is right, and most machines raise no flag at it
SIZES = (  # what is tried of every layer, a field of Case, a teacher's sentence
    ("small numbers, around 1e-4", dict(scale=1e-4), "A small number counts like all others:"
     " nothing is cut off or added there."),
    ("large numbers, around 1 000", dict(scale=1e3), "A large number stays as it is: nothing is"
     " clipped."),
    ("zeros in the parameters", dict(zeros=True), "A new layer holds numbers and gradients that are"
     " 0. They count like all others."),
)
PARTS = (  # of the first case: what it is, the part of each array, a teacher's sentence
    ("one sequence", lambda x: x[:1], STAYS),
    ("one sequence without its axis", lambda x: x[0], ""),
    ("an axis more in front", lambda x: np.stack([x, x[::-1]]), ""),
    ("sequences of one position", lambda x: x[..., :1] if x.dtype.kind == "i" else x[..., :1, :],
     STAYS),
    ("one sequence of one position", lambda x: x[:1, :1] if x.dtype.kind == "i" else
     x[:1, ..., :1, :], STAYS),
    ("arrays in another order of the memory", np.asfortranarray, "The order of the axes is that of"
     " the shape, however the numbers lie in the memory: reshape as NumPy does it without order."),
)
FROM_THE_END = "Count axes from the end, -1, -2: any number of axes may stand in front."
DOUBLE = ("Mostly it is a number of NumPy, such as np.sqrt(4) or mask.sum(), where a Python one"
          " would do (math.sqrt, int), or an array made by np.zeros, np.eye or np.arange without a"
          " dtype.")
TINY = "A number below 1e-45 is 0 in float32, so it guards no division."


class LayerCheck:
    """The check of a student's layer: `run` fills `rows` and raises a Stop for the first fault."""

    def __init__(self, subject, student, seed):
        self.subject, self.student, self.seed = subject, student, seed
        self.rng = np.random.default_rng(seed)
        cases = subject.cases(self.rng)
        sizes = [dataclasses.replace(cases[0], what=what, special=True, why=why, **field)
                 for what, field, why in SIZES]
        short = [cut(cases[0], *part) for part in PARTS]
        self.cases = sorted([*cases, *short, *sizes], key=lambda case: case.special)
        self.rows, self.trial = {"output": Row("output")}, None        # the one that runs
        self.stage, self.finding = "forward", None

    def run(self):
        """Raise a Stop that names the first fault, if any."""
        trials = [Trial(self.subject, self.student, case, self.rng) for case in self.cases]
        self.trials = trials
        self.rows |= {tensor: Row(tensor) for trial in trials for tensor in trial.expected}
        ordinary = sum(not case.special for case in self.cases)
        for stage in (self.forwards, self.backwards):
            self.stage = stage.__name__.removesuffix("s")
            stage(trials[:ordinary], trials[:ordinary])
            for i in range(ordinary, len(trials)):                     # special ones one by one
                stage([trials[i]], trials[: i + 1])
        self.protocol(trials[0])
        self.methods(trials[0])
        for case in [self.cases[0], *filter(has_minus_inf, self.cases)]:
            self.dtypes(case)

    def forwards(self, new, trials):
        """Run forward in the new trials, and compare the outputs of all trials so far."""
        for trial in new:
            with self.axes_counted(trial):
                self.try_forward(trial, trials)
        if self.wrong(["output"], trials):
            raise Stop(*self.why("forward", trials, ["output"]))

    def try_forward(self, trial, trials):
        """Run forward in one trial, and try to explain an output of a wrong shape."""
        try:
            trial.compute("forward")
        except Stop as stop:
            if stop.by_error:
                self.methods(trial)
            for other in trials:
                other.got = other.output()
            if any(other.got is None for other in trials):
                raise
            formula = self.subject.formulas["forward"]
            self.finding = of_a_shape(stop, formula, "forward", trials, ["output"],
                                      self.code("forward"))
            raise stop.explained(self.finding) from stop

    @contextlib.contextmanager
    def axes_counted(self, trial):
        """Add the case's advice and a new axis count to the message of a Python error."""
        self.trial = trial
        axes, before = axes_of(trial), {axes_of(t) for t in self.trials[: self.trials.index(trial)]}
        try:
            yield
        except Stop as stop:
            stop.advise(trial.case)
            if not stop.by_error or not before or axes in before:
                raise
            counts = say(" or ").join(map(str, sorted(before)))
            cause = say("Your code runs with {some} axes, and this input has {axes}.", axes=axes,
                        some=counts)
            is_sum = stop.diagnosis in ("einsum", "not summed")
            cause += " " + (stop.cause if is_sum else say(FROM_THE_END))
            raise Stop("number of axes", f"{stop.message} {cause}", where=stop.where, cause=cause,
                       by_error=True, question=say(
                           "Why does your code run with {some} axes, and not with {axes}?",
                           some=counts, axes=axes)) from stop

    def wrong(self, tensors, trials):
        """Return the tensors that are wrong in some case, and fill their rows."""
        for tensor in tensors:
            self.rows[tensor] = row_of(tensor, compared(trials, tensor))
        return [tensor for tensor in tensors if not self.rows[tensor].ok]

    def why(self, stage, trials, wrong):
        """Return (diagnosis, sentences) for the wrong tensors."""
        self.keeps_arrays(stage, next(t for t in trials if is_wrong(t, wrong)), wrong)
        if part := self.wrong_part(stage, next(t for t in trials if is_wrong(t, wrong)), wrong):
            return "another layer", say(
                "With the right {part} in its place everything is right here. Your {part} is not"
                " right yet. Check it first: check({part}).", part=part)
        seen = compared(telling(trials, wrong[:1]), wrong[0])
        plain, formula = look(seen), self.subject.formulas[stage]
        if plain and plain[0] in ("nan", "inf"):
            case = seen[-1][0]
            advice = say(case.why) if case.special and case.why and case.scale == 1 else ""
            told = plain[1], self.began(trials, stage), advice
            plain = plain[0], " ".join(filter(None, told))
        explanation = explain(formula, stage, trials, wrong, self.code(stage))
        if not explanation and plain and plain[0] == "zero" and wrong[0].count(".") > 1:
            part = wrong[0].rsplit(".", 2)[0]
            plain = "zero", say("{zero} {part}.backward adds to it: is it called?",
                                zero=plain[1], part=part)
        key, why = (reason(plain, explanation)
                    or (stage == "forward" and self.without_options(trials, wrong))
                    or guess(seen, compared(trials, wrong[0])))
        if key == "wrong":                                             # others may tell more
            key, why = next(((some[0], say("{name}: {message}", name=t, message=some[1]))
                             for t in wrong[1:] if (some := some_slices(compared(trials, t)))),
                            (key, why))
        self.finding = Finding(stage, wrong, telling(trials, wrong), plain, why, explanation)
        return key, why

    def keeps_arrays(self, stage, trial, wrong):
        """Raise a Stop if all is right while the Parameters have the arrays of __init__."""
        arrays = [f"`self.{n}`" for n, x in vars(trial.layer).items() if isinstance(x, np.ndarray)]
        values = {name: p.value for name, p in trial.parameters.items()}
        for name, p in trial.parameters.items():
            p.value = trial.first[name].value
            p.value[...] = values[name]
        is_right = arrays and trial.fits(stage, {n: old.grad for n, old in trial.first.items()})
        for name, p in trial.parameters.items():
            p.value = values[name]
        if is_right:
            where = say("{names} is made in __init__, from the array that a Parameter had then."
                        " By now the Parameter has another array.", names=listed(arrays))
            cause = say("A layer keeps the Parameter, not its array: astype, for one, gives it"
                        " another. Read its .value and .grad in forward and backward.")
            raise Stop("array kept", f"{where} {cause}", wrong, where=where, cause=cause)

    def code(self, stage):
        """Return the Code in which a mistake of a stage may stand."""
        others = "__init__", "backward" if stage == "forward" else "forward"
        is_whole = stage == "backward" and self.subject.formulas[stage].by_itself
        return Code(self.student, others[:1] if is_whole else others, others)

    def wrong_part(self, stage, trial, wrong):
        """Return the name of a student's layer inside this one that alone is wrong, or None."""
        for name, part in list(vars(trial.layer).items()):
            right = getattr(trial.ours, name, None)
            if type(part).__name__ not in SUBJECTS or type(part) is type(right):
                continue
            setattr(trial.layer, name, made := copy.copy(right))
            vars(made).update({n: p for n, p in vars(part).items() if isinstance(p, Parameter)})
            is_right = trial.fits(stage)
            setattr(trial.layer, name, part)
            if is_right:
                return type(part).__name__
        return None

    def without_options(self, trials, wrong):
        """Return (diagnosis, sentence) if the student's output is right without an option, or None.

        An option such as `rng` must change nothing where dropout is off.
        """
        trial = next(t for t in trials if is_wrong(t, wrong))
        for name, y in trial.without_each_option():
            if same(y, trial.want):
                return f"{name} changes it", say(
                    "The output is right without {name}, which must change nothing here ({case})."
                    " {name} is passed on to the parts, and the layer itself does not use it.",
                    name=name, case=say(trial.case.what))
        return None

    def began(self, trials, stage):
        """Return a sentence on the student's line in which nan or inf begins, and why, or ""."""
        tensors = ["output"] if stage == "forward" else list(trials[0].expected)
        failing = next(t for t in trials if is_wrong(t, tensors))
        try:
            with raising() if stage == "forward" else contextlib.nullcontext():
                _, cache = failing.layer.forward(*copied(failing.case.inputs),
                                                  **copied(failing.case.options))
            with raising():
                if stage == "backward":
                    failing.layer.backward(copied(failing.grad_y), cache)
        except RuntimeWarning as error:
            return say("It begins{line} {how}.", line=line_of(error), how=in_words(error))
        return ""

    def backwards(self, new, trials):
        """Run backward in the new trials, and compare the gradients of all trials so far."""
        for trial in new:
            with self.axes_counted(trial):
                trial.results = self.backward_of(trial)
        overwritten = "".join(say("backward writes over {names}. {why} ", why=say(MUST_ADD),
                                  names=listed(t.overwritten))
                              for t in trials[:1] if t.overwritten)
        if wrong := self.wrong(list(trials[0].expected), trials):
            self.remembers(trials)
            self.adds(trials, wrong)
            key, why = self.why("backward", trials, wrong)
            if overwritten:
                raise Stop("overwritten", say(
                    "{message}There is more, in {names}: {more}", message=overwritten,
                    names=listed(wrong), more=why), trials[0].overwritten, cause=overwritten)
            raise Stop(key, say("Forward is right; wrong is {names}. {why}",
                                names=listed(wrong), why=why), where=why)
        if overwritten:
            raise Stop("overwritten", overwritten.strip(), trials[0].overwritten,
                       question=say("What becomes of a gradient that was there before?"))

    def backward_of(self, trial):
        """Run forward on other arrays, then the trial's backward; return the gradients."""
        trial.forward(other=True)
        return trial.backward(trial.cache)

    def remembers(self, trials):
        """Raise a Stop if only another forward pass spoils gradients: the layer keeps arrays."""
        for trial in trials:
            _, cache = trial.forward()
            gradients = trial.backward(cache)
            if not all(same(gradients[n], trial.expected[n]) for n in gradients):
                return
        raise Stop("stale", say("The gradients are right only as long as no other forward comes"
                                " between forward and backward: the layer keeps arrays in itself."
                                " Put them into the cache, and read them from the cache that"
                                " backward receives."))

    def adds(self, trials, wrong):
        """Raise a Stop if the gradient of a parameter depends on what `grad` held before."""
        trial = trials[0]
        _, cache = trial.forward()
        zeros = {name: np.zeros_like(x) for name, x in trial.start.items()}
        gradients = trial.backward(cache, zeros)
        for tensor in wrong:
            if tensor.endswith(".grad") and not same(gradients[tensor], trial.results[tensor]):
                raise Stop("overwritten", say(
                    "{tensor} depends on what it held before: backward writes over it, at least in"
                    " part. {why}", tensor=tensor, why=say(MUST_ADD)), tensor)

    def protocol(self, trial):
        """Raise a Stop if a second backward with the same cache gives or adds other gradients."""
        _, cache = trial.forward()
        first = trial.backward(cache)
        second = trial.backward(cache)
        for tensor in first:
            if not same(second[tensor], first[tensor]):
                where = say("A second backward with the same cache gives another {tensor}: backward"
                            " writes into an array of the cache.", tensor=tensor)
                raise Stop("cache changed", where, tensor, where=where, cause=say(OWN_ARRAY))
        self.keeps_a_size(trial, cache, first)
        for some in self.trials:
            inputs, options = some.others()
            right = some.ours.forward(*inputs, **options)[0], some.want
            got = some.forward(other=True)[0], some.forward()[0]
            if not all(map(same, got, right)):
                where = say("A forward after another one, on something else, gives a wrong output"
                            " ({case}).", case=say(some.case.what))
                cause = say("Mostly a layer keeps something of the first call in itself then."
                            " Compute it anew in each, from what forward is given.")
                raise Stop("stale", f"{where} {cause}", "output", where=where, cause=cause,
                           question=say("What is left in the layer after a forward?"))

    def keeps_a_size(self, trial, cache, right):
        """Raise a Stop if backward reads a size that a later forward left in the layer."""
        for other in self.trials:
            inputs, options = copied(other.case.inputs), copied(other.case.options)
            with contextlib.suppress(Stop):                            # it may need another layer
                call("forward", trial.layer.forward, *inputs, **options)
            try:
                gradients = trial.backward(cache)
            except Stop:
                gradients = {}
            if not all(n in gradients and same(gradients[n], right[n]) for n in right):
                raise Stop("stale", say(
                    "backward fails if a forward on arrays of another size came in between"
                    " ({case}): the layer keeps a size in itself. Take it from an array of"
                    " the cache.", case=say(other.case.what)))

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
                        dataclasses.replace(trial.case, what=code, sizes={}))
            for row, (mine, right) in enumerate(zip(got, want)):
                if not same(mine, right):
                    ignored = options and same(got, call(name, method, *arguments))
                    where = say(
                        "{code} by itself is not right: row {row} is {mine}, and must be {right}.",
                        code=f"`{code}`", row=row, mine=" ".join(map(short, mine)),
                        right=" ".join(map(short, right)))
                    cause = say("{names} has no effect on it.", names=listed(
                        [f"`{key}`" for key in options])) if ignored else say(
                        "Compare it with what forward adds.")
                    raise Stop("wrong method", f"{where} {cause}", where=where, cause=cause,
                               question=say("What does each of its arguments change?"))

    def dtypes(self, case):
        """Raise a Stop unless read-only float32 arrays give float32 results."""
        trial = Trial(self.subject, self.student, case, self.rng)
        layer = trial.layer.astype(np.float32)
        inputs, options, grad_y = map(as_float32, (case.inputs, case.options, trial.grad_y))
        results: dict[str, Any] = {}
        parameters = dict(layer.named_parameters())

        def doubles():
            return [name for name, x in results.items() if np.asarray(x).dtype != np.float32]

        def run():
            y, cache = call(f"{self.subject.name}.forward", layer.forward, *inputs, **options)
            results.update({"output": y} if np.ndim(y) else {})
            if not doubles():
                returned = call(f"{self.subject.name}.backward", layer.backward, grad_y, cache)
                results.update(zip([f"grad_{name}" for name in trial.moving], as_list(returned)))
                results.update((f"{name}.grad", p.grad) for name, p in parameters.items())

        run()
        if wrong := doubles():
            key = first_double(run)
            begins = say("The first array of float64 is made in line {line}: `{code}`.",
                         line=key[1], code=linecache.getline(*key[:2]).strip()) if key else ""
            where = say("The numbers are right, but a result must have the type of what comes in:"
                        " here float32. {tensor} is {dtype}. {begins}", tensor=say_name(wrong[0]),
                        dtype=np.asarray(results[wrong[0]]).dtype, begins=begins)
            raise Stop("dtype", f"{where} {say(DOUBLE)}", wrong[0], where=where, cause=say(DOUBLE),
                       question=say("Which array or number is of another type?"))
        if wrong := [name for name, x in results.items() if np.isnan(x).any()]:
            where = say("The numbers are right, but from float32 {tensor} becomes nan.",
                        tensor=say_name(wrong[0]))
            raise Stop("nan", f"{where} {say(TINY)}", wrong[0], where=where, cause=say(TINY),
                       question=say("Which number is 0 in float32, and what is 0 / 0?"))


def has_minus_inf(case):
    """Tell whether -inf stands in an input of a case, as in a row of scores that is masked."""
    return any(np.isneginf(x).any() for x in case.inputs if is_numbers(x))


@contextlib.contextmanager
def raising():
    """Raise a RuntimeWarning where nan or inf begins.

    Where BLAS flags a right product too, such as Apple's with NumPy before 2.3.5, no product does.
    """
    with warnings.catch_warnings(), np.errstate(over="warn", invalid="warn", divide="warn"):
        warnings.simplefilter("error", RuntimeWarning)
        try:
            _ = ONES @ ONES
        except RuntimeWarning:
            warnings.filterwarnings("ignore", ".* in matmul", RuntimeWarning)
        yield


def cut(case, what, part, why):
    """Return the Case with `part` of each of its arrays."""
    def of(thing):
        return part(thing) if isinstance(thing, np.ndarray) else thing
    return dataclasses.replace(
        case, what=what, special=True, why=why, sizes={}, inputs=tuple(map(of, case.inputs)),
        options={name: of(option) for name, option in case.options.items()})


def axes_of(trial):
    """Return the largest axis count of a trial's inputs."""
    return max(np.ndim(x) for x in trial.case.inputs)


def as_float32(thing):
    """Return a read-only copy of arrays, with floats as float32; return all else as it is."""
    if isinstance(thing, tuple):
        return tuple(map(as_float32, thing))
    if isinstance(thing, dict):
        return {name: as_float32(x) for name, x in thing.items()}
    floats = isinstance(thing, np.ndarray) and thing.dtype.kind == "f"
    return copied(thing.astype(np.float32) if floats else thing)
