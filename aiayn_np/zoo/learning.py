"""Training with a bug planted: the copy task, for a fixed number of steps."""

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial

import numpy as np

from ..attention import ScaledDotProductAttention
from ..checks import one_line
from ..decoding.greedy import exact_match
from ..experiments.learning import learn, scores
from ..training.optimizer import warmup_rate
from ..training.tasks import CopyTask
from ..training.threads import blas_threads
from ..transformer import Transformer
from .bug import Bug

STEPS, BATCH_SIZE, TESTED, P_DROP = 700, 32, 500, 0.05
SIZES = dict(N=2, d_model=32, d_ff=64, h=2, max_len=16)
SYMBOLS, MAX_LENGTH = 6, 5
RATE: dict = dict(d_model=SIZES["d_model"], warmup_steps=100, scale=0.3)  # of Eq. (3)
SOLVED, PART = 0.95, 0.5  # shares of test sequences right; a healthy model has 0.99 or more
HEALTHY_SEEDS = 4

PAGE = """\
# Does it still learn?

Made by `aiayn-np zoo --train --out tests/zoo/zoo_training.md`. Each bug of the zoo is planted, and
a model with N = {N}, d_model = {d_model}, d_ff = {d_ff}, h = {h} is trained on the copy task
(up to {max_length} symbols of {symbols}) for {steps} steps of {batch} sequences, with dropout
{P_drop} on sub-layers and attention weights, from seed 0. It is tested with the bug still planted,
on up to {tested} sequences that it was not trained on. *Tokens* are predicted from the true ones
before them; *sequences* are decoded, and must be right to the last token.

{solved} of {bugs} bugs do not keep the model from solving the task. That a model trains is no
evidence that it is right. `aiayn-np zoo` catches every one of them.

| bug | name | tokens | sequences | |
|---|---|---|---|---|"""


@dataclass
class Outcome:
    """The result of a training: shares of test tokens and of test sequences that are right.

    A share is None if it was not measured. `error` is the error that stopped the training, if any.
    """

    tokens: float | None = None
    exact: float | None = None
    error: str = ""

    def __str__(self):
        shares = ["" if s is None else f"{s:.1%}" for s in (self.tokens, self.exact)]
        return f"tokens {shares[0]:>6}  sequences {shares[1]:>6}  {self.verdict}"

    @property
    def verdict(self):
        if self.error:
            return self.error
        assert self.exact is not None
        if self.exact >= SOLVED:
            return "still solves it"
        if self.exact >= PART:
            return "learns a part"
        leaks = (self.tokens or 0) >= SOLVED                           # it sees what to predict
        return "predicts, but cannot decode" if leaks else "does not learn it"


def learn_to_copy(bug: Bug | None = None, *, seed: int = 0, steps: int = STEPS,
                  watch: Callable = iter) -> Outcome:
    """Train and test a small model on the copy task with a bug planted; None plants none.

    Tokens are predicted from the true ones before them, sequences are decoded. An error of the
    model, or a loss that is not finite, is an outcome too.
    seed : of the weights, the batches and the dropout
    watch : is given the steps of the training and yields them, such as tqdm
    """
    outcome = Outcome()
    with bug.plant() if bug else nullcontext(), np.errstate(all="ignore"), blas_threads():
        try:
            measure(outcome, seed, steps, watch)
        except (ArithmeticError, ValueError, IndexError) as error:
            text = one_line(error)
            name = "diverges" if isinstance(error, FloatingPointError) else type(error).__name__
            when = "in training" if outcome.tokens is None else "in decoding"
            outcome.error = f"{name} {when}: {text}"
    return outcome


def measure(outcome, seed, steps, watch):
    """Train and test; write each number into the outcome as soon as it is known."""
    def attention(h, d_k, d_v, rng):
        return ScaledDotProductAttention(P_DROP)
    task, rng = CopyTask(symbols=SYMBOLS, max_length=MAX_LENGTH), np.random.default_rng(seed)
    model = Transformer(task.vocab_size, P_drop=P_DROP, attention=attention, rng=rng, **SIZES)
    for _ in watch(learn(model, task, seed, steps=steps, batch_size=BATCH_SIZE,
                         schedule=partial(warmup_rate, **RATE))):
        pass
    test = task.test(TESTED)
    outcome.tokens = scores(model, test)[1]
    outcome.exact = exact_match(model, test, bos=task.bos, eos=task.eos, keep=False)


def page(rows: list) -> str:
    """The Markdown page of (bug or None, seed, Outcome)."""
    facts = dict(steps=STEPS, batch=BATCH_SIZE, tested=TESTED, P_drop=P_DROP)
    facts |= dict(symbols=SYMBOLS, max_length=MAX_LENGTH, bugs=sum(b is not None for b, *_ in rows))
    facts["solved"] = sum(b is not None and (o.exact or 0) >= SOLVED for b, _, o in rows)
    lines = [PAGE.format(**facts, **SIZES)]
    for bug, seed, outcome in rows:
        number, name = (bug.number, bug.name) if bug else ("none", f"no bug planted, seed {seed}")
        shares = ["" if s is None else f"{100 * s:.1f} %" for s in (outcome.tokens, outcome.exact)]
        lines.append(f"| {number} | {name} | {' | '.join(shares)} | {outcome.verdict} |")
    return "\n".join(lines) + "\n"
