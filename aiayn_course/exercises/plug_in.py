"""Train the Transformer with a student's parts, beside the same model with our parts."""

import copy
import sys
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from aiayn_np.decoding.greedy import filled, greedy_decode
from aiayn_np.module import Module, Parameter
from aiayn_np.training.loss import LabelSmoothedCrossEntropy
from aiayn_np.training.optimizer import Adam, warmup_rate
from aiayn_np.training.tasks import CopyTask
from aiayn_np.training.threads import blas_threads
from aiayn_np.transformer import Transformer

from ..lab.zoo.bug import planted
from .checking.calling import call
from .checking.checker import subject_of
from .checking.stop import Stop
from .language import listed, say, speaking, spoken, tidy

SIZES = dict(N=2, d_model=32, d_ff=48, h=4, P_drop=0.0, max_len=16)
MAX_LENGTH, BATCH_SIZE, WARMUP_STEPS, RATE_SCALE = 5, 32, 50, 0.3
TASK = CopyTask(symbols=6, max_length=MAX_LENGTH)
EQUAL = 1e-8  # relative to the largest entry, or to 0.001
TESTED = 200  # sequences that are decoded at the end


@dataclass(repr=False)
class TrainingReport:
    """The comparison of both models after each step; true if they stay equal.

    losses : (steps, 2): yours, ours
    first : the first step and tensor that differ, if any
    trained, exact : all steps are equal; shares of test sequences decoded exactly: yours, ours
    language : the language of the report
    """

    parts: list[str]
    equal: bool = True
    first: str = ""
    losses: list[tuple[float, float]] = field(default_factory=list)
    exact: tuple[float, float] | None = None
    trained: bool = False
    language: str = field(default_factory=spoken)

    def __bool__(self):
        return self.equal

    def __str__(self):
        with speaking(self.language):
            return "\n".join(self.lines())

    def lines(self) -> list[str]:
        """Return the lines of the report."""
        lines = [say("A Transformer with your {parts}, on the copy task:",
                     parts=", ".join(self.parts))]
        every = max(len(self.losses) // 8, 1)
        for step in range(1, len(self.losses) + 1):
            if step == 1 or step % every == 0:
                yours, ours = self.losses[step - 1]
                lines.append(say("  step {step}   loss yours {yours}   ours {ours}",
                                 step=f"{step:4d}", yours=f"{yours:.6f}", ours=f"{ours:.6f}"))
        if self.exact:
            yours, ours = self.exact
            lines.append(say("  sequences decoded exactly: yours {yours}, ours {ours}",
                             yours=f"{yours:.1%}", ours=f"{ours:.1%}"))
        lines.append(self.first or say("Equal to ours in all of {count} steps: every loss, every"
                                       " gradient, every parameter.", count=len(self.losses)))
        return lines

    __repr__ = __str__


class Side:
    """A model, its loss, its optimizer and its schedule, some of them the student's."""

    def __init__(self, model, students):
        self.students = {subject_of(s).reference: s for s in students}
        self.model = exchanged(model, self.students)
        self.criterion = exchanged(LabelSmoothedCrossEntropy(0.1), self.students)
        self.optimizer = call("Adam.__init__", self.students.get(Adam, Adam),
                              self.model.parameters())
        self.rate = self.students.get(warmup_rate, warmup_rate)
        self.decode = self.students.get(greedy_decode, partial(greedy_decode, keep=False))

    def planted(self):
        """Put the student's functions in place of the package's in a `with` block."""
        stack = ExitStack()
        for reference, student in self.students.items():
            if not isinstance(reference, type):
                module = sys.modules[reference.__module__]
                stack.enter_context(planted(module, {reference.__name__: student}))
        return stack

    def step(self, batch, step):
        """Do one training step, and return {tensor: array} of everything that it computed."""
        src, tgt_in, tgt_out = batch
        with blas_threads(), self.planted():
            self.model.zero_grad()
            logits, cache = self.model.forward(src, tgt_in)
            loss, loss_cache = self.criterion.forward(logits, targets=tgt_out)
            grad_logits = self.criterion.backward(1.0, loss_cache)
            self.model.backward(grad_logits, cache)
            rate = RATE_SCALE * self.rate(step, SIZES["d_model"], WARMUP_STEPS)
        results = {"logits": logits, "loss": np.asarray(loss),
                   "gradient of the logits": grad_logits}
        named = dict(reversed(list(self.model.named_parameters())))    # as backward goes
        results |= {f"{name}.grad": p.grad.copy() for name, p in named.items()}
        self.optimizer.step(rate)
        return results | {name: p.value.copy() for name, p in named.items()}

    def exact(self, task):
        """Return the share of test sequences that are decoded exactly."""
        src, _, tgt_out = task.test(TESTED)
        with self.planted():
            got = self.decode(self.model, src, bos=task.bos, eos=task.eos, max_len=MAX_LENGTH + 1)
        got = filled(got, tgt_out.shape[1], task.pad)
        return float((got == tgt_out).all(axis=1).mean())


def exchanged(layer, students):
    """Replace a layer and its parts by the student's layers, if the student wrote their classes."""
    student = students.get(type(layer))
    if student is not None:
        ours, layer = layer, call(f"{type(layer).__name__}.__init__",
                                  subject_of(student).made_like, student, layer)
        for name, part in vars(ours).items():
            if isinstance(part, (Parameter, Module)):
                setattr(layer, name, part)
    for name, part in vars(layer).items():
        if isinstance(part, Module):
            setattr(layer, name, exchanged(part, students))
        elif isinstance(part, list):
            part[:] = [exchanged(p, students) if isinstance(p, Module) else p for p in part]
    return layer


def train_with(*students: type | Callable, steps: int = 100, seed: int = 0,
               language: str | None = None) -> TrainingReport:
    """Train on the copy task with the students' layers and functions in place of ours.

    Two models start from the same parameters and see the same batches. One model is the library's.
    The other has the given layers, functions, loss and optimizer in place of ours. After an equal
    step our model takes over the other's parameters, so that rounding errors do not accumulate.

    Parameters
    ----------
    students : classes and functions of the exercises, as for ``check``
    steps : number of training steps
    seed : for parameters and batches
    language : "en" or "zh", for the report; None: from AIAYN_LANG or the locale

    Returns
    -------
    TrainingReport, true if both stay equal. Otherwise training stops, and the report names the
    first step and tensor that differ, or the error, and which parts make the difference.

    Raises
    ------
    ValueError if no part is given, if one is no part of a model, or if the language is unknown
    """
    with speaking(language):
        must_be_parts(students)
        report = TrainingReport([subject_of(s).name for s in students])
        model, rng = beginning(seed)
        try:
            compare(students, model, rng, steps, report)
        except Stop as stop:
            report.equal = False
            report.first = tidy(f"{stop.message} {blamed(students, model, seed, report)}")
        return report


def must_be_parts(students):
    """Raise a ValueError unless there are students' parts, and all are parts of a model."""
    if not students:
        raise ValueError(say("students must hold at least one class or function"))
    for subject in map(subject_of, students):
        if subject.reference.__module__.split(".")[0] != "aiayn_np":
            raise ValueError(say("{name} is no part of a model", name=subject.name))


def beginning(seed):
    """Return a new model of ours, and the generator of its batches."""
    rng = np.random.default_rng(seed)
    return Transformer(TASK.vocab_size, rng=rng, **SIZES), rng


def compare(students, model, rng, steps, report, decodes=True):
    """Train `model` and a copy with the students' parts; raise a Stop where they part."""
    sides = Side(copy.deepcopy(model), students), Side(model, ())
    for step in range(1, steps + 1):
        batch = TASK.batch(BATCH_SIZE, rng)
        yours = call(say("step {step}", step=step), sides[0].step, batch, step)
        ours = sides[1].step(batch, step)
        report.losses.append((float(yours["loss"]), float(ours["loss"])))
        must_be_equal(step, yours, ours)
        sides[1].model.load_state_dict(sides[0].model.state_dict())
    if decodes:
        report.trained = True
        shares = call(say("decoding"), sides[0].exact, TASK), sides[1].exact(TASK)
        report.exact, (yours, ours) = shares, (f"{share:.1%}" for share in shares)
        if shares[0] != shares[1]:
            raise Stop("differs", say(
                "Training is equal in all of {steps} steps, but decoding is not: yours {yours}"
                " exactly, ours {ours}.", steps=steps, yours=yours, ours=ours))


def blamed(students, model, seed, report):
    """Return a sentence on the parts that make the difference, each tried alone beside ours."""
    if len(students) == 1:
        return ""
    names, steps, alone = [], len(report.losses) + 1, TrainingReport([])
    for student in students:
        try:
            if report.trained:
                compare([student], copy.deepcopy(model), None, 0, alone)
            else:
                first, rng = beginning(seed)
                compare([student], first, rng, steps, alone, decodes=False)
        except Stop:
            names.append(subject_of(student).name)
    if not names:
        return say("No part alone makes the difference: it takes several of them.")
    return say("With ours in all other places it is so with your {names}.", names=listed(names))


def must_be_equal(step, yours, ours):
    """Raise a Stop for the first tensor, in the order of a step, that differs."""
    for name, want in ours.items():
        got, size = yours[name], max(float(np.abs(want).max()), 1e-3)
        error = np.inf if got.shape != want.shape else float(np.abs(got - want).max()) / size
        if not error <= EQUAL:
            raise Stop("differs", say(
                "They part at step {step}: {name} differs by {error} of its size." if not want.ndim
                else "They part at step {step}: {name} differs by {error} of its largest entry.",
                step=step, name=say(name), error=f"{error:.1e}"))
