"""The check of a layer: forward by value, then every gradient, then the protocol, then dtypes."""

import numpy as np

from ..gradient_check import ALL, Proof
from .calling import Stop, call, copied
from .comparing import guess, row_of, same
from .diagnosis import explain, has, is_wrong, observed, telling
from .report import Row
from .trial import MUST_ADD, Trial, as_list


class LayerCheck:
    """Checks a student's layer; `rows` fill up as far as it gets, and a Stop says what is wrong."""

    def __init__(self, subject, student, seed):
        self.subject, self.student, self.seed = subject, student, seed
        self.rng = np.random.default_rng(seed)
        self.cases = sorted(subject.cases(self.rng), key=lambda case: case.special)
        self.rows = {"output": Row("output")}

    def run(self):
        """Raise the Stop that names the first thing that is wrong."""
        trials = [Trial(self.subject, self.student, case, self.rng) for case in self.cases]
        self.rows |= {tensor: Row(tensor) for trial in trials for tensor in trial.expected}
        ordinary = sum(not case.special for case in self.cases)
        for stage in (self.forwards, self.backwards):
            stage(trials[:ordinary], trials[:ordinary])
            for i in range(ordinary, len(trials)):                     # special ones one by one
                stage([trials[i]], trials[: i + 1])
        self.protocol(trials[0])
        self.dtypes(self.cases[0])

    def forwards(self, new, trials):
        """Run the new cases, and compare the outputs of all that have been run."""
        for trial in new:
            trial.got, trial.cache = trial.forward()
        if self.wrong(["output"], trials):
            key, why = self.why("forward", trials, ["output"])
            first = next(t for t in trials if is_wrong(t, ["output"]))
            raise Stop(key, f"{why} {self.own_backward(first)}".strip())

    def wrong(self, tensors, trials):
        """The tensors that are wrong in some case; fills their rows."""
        for tensor in tensors:
            pairs = [(t.case, *observed(t, tensor)) for t in trials if has(t, tensor)]
            self.rows[tensor] = row_of(tensor, pairs)
        return [tensor for tensor in tensors if not self.rows[tensor].ok]

    def why(self, stage, trials, wrong):
        """(diagnosis, sentence): a known mistake, or what the first wrong tensor looks like."""
        def pairs(trials):
            return [(t.case, *observed(t, wrong[0])) for t in trials if has(t, wrong[0])]
        return (explain(self.subject, stage, trials, wrong)
                or guess(pairs(telling(trials, wrong[:1])), pairs(trials)))

    def own_backward(self, trial):
        """Whether backward is the derivative of the student's own forward, which is wrong."""
        try:
            fits = call("backward", is_derivative, trial.theirs, trial.case, self.seed)
        except Stop:
            return ""
        if fits:
            return ("Your backward is the derivative of your own forward: it is the forward that"
                    " differs.")
        return ("Your backward is not the derivative of your own forward either; but look at the"
                " forward first.")

    def backwards(self, new, trials):
        """Run the new cases, and compare the gradients of all that have been run."""
        for trial in new:
            trial.found = self.backward_of(trial)
        if wrong := self.wrong(list(trials[0].expected), trials):
            self.remembers(trials)
            self.adds(trials, wrong)
            key, why = self.why("backward", trials, wrong)
            raise Stop(key, f"Forward is right; wrong is {' and '.join(wrong)}. {why}")

    def backward_of(self, trial):
        """Its gradients; another forward, elsewhere, comes between forward and backward."""
        trial.forward(other=True)
        return trial.backward(trial.cache)

    def remembers(self, trials):
        """Stop if gradients are right without the forward in between: the layer keeps arrays."""
        for trial in trials:
            _, cache = trial.forward()
            found = trial.backward(cache)
            if not all(same(found[n], trial.expected[n]) for n in found):
                return
        raise Stop("stale", "The gradients are right only as long as no other forward comes between"
                   " forward and backward: the layer keeps arrays in itself. Put them into the"
                   " cache, and read them from the cache that backward receives.")

    def adds(self, trials, wrong):
        """Stop if the gradient of a parameter depends on what `grad` held before."""
        trial = trials[0]
        _, cache = trial.forward()
        zeros = {name: np.zeros_like(x) for name, x in trial.start.items()}
        found = trial.backward(cache, zeros)
        for tensor in wrong:
            if tensor.endswith(".grad") and not same(found[tensor], trial.found[tensor]):
                raise Stop("overwritten", f"{tensor} depends on what it held before: backward"
                           f" writes over it, at least in part. {MUST_ADD}", tensor)

    def protocol(self, trial):
        """A second backward with one cache gives the same, and adds once more."""
        _, cache = trial.forward()
        first = trial.backward(cache)
        second = trial.backward(cache)
        for tensor in first:
            if not same(second[tensor], first[tensor]):
                raise Stop("cache changed", f"A second backward with the same cache gives another"
                           f" {tensor}: backward writes into an array of the cache.", tensor)

    def dtypes(self, case):
        """float32 in, float32 out; and the inputs are read-only."""
        trial = Trial(self.subject, self.student, case, self.rng)
        layer = trial.theirs.astype(np.float32)
        inputs = tuple(read_only(x) for x in case.inputs)
        options = {k: read_only(v) for k, v in copied(case.options).items()}
        y, cache = call(f"{self.subject.name}.forward", layer.forward, *inputs, **options)
        if np.ndim(y):
            must_be_float32("output", y)
        grad_y = read_only(np.asarray(trial.grad_y)) if np.ndim(y) else float(trial.grad_y)
        returned = call(f"{self.subject.name}.backward", layer.backward, grad_y, cache)
        for name, grad in zip(trial.moving, as_list(returned)):
            must_be_float32(f"grad_{name}", grad)
        for name, p in layer.named_parameters():
            must_be_float32(f"{name}.grad", p.grad)


def is_derivative(layer, case, seed):
    """Whether backward is the derivative of the layer's own forward, all tensors together."""
    proof = Proof(layer, case.inputs, case.options, seed)
    gradients, problems = proof.gradients()
    draw = proof.rng.standard_normal
    directions = {n: draw(x.shape) * np.isfinite(x) for n, x in proof.tensors.items()}
    return not problems and proof.row(ALL, gradients, directions).ok


def read_only(thing):
    """A float32 copy of a float array, and a copy of any other, that cannot be written to."""
    if not isinstance(thing, np.ndarray):
        return thing
    thing = thing.astype(np.float32) if thing.dtype.kind == "f" else thing.copy()
    thing.flags.writeable = False
    return thing


def must_be_float32(tensor, array):
    dtype = np.asarray(array).dtype
    if dtype != np.float32:
        raise Stop("dtype", f"The numbers are right, but {tensor} is {dtype} where everything that"
                   " came in is float32. Mostly it is a number of NumPy, such as np.sqrt(4) or"
                   " mask.sum(), where a Python one would do (math.sqrt, int), or an array made by"
                   " np.zeros or np.arange without a dtype.", tensor)
