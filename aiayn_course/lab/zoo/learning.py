"""Training with a planted bug: the copy task, for a fixed number of steps."""

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial

import numpy as np

from aiayn_np.attention import ScaledDotProductAttention
from aiayn_np.checks import one_line
from aiayn_np.decoding.greedy import exact_match
from aiayn_np.training.optimizer import warmup_rate
from aiayn_np.training.tasks import CopyTask
from aiayn_np.training.threads import blas_threads
from aiayn_np.transformer import Transformer

from ..learning import learn, scores
from .bug import Bug

STEPS, BATCH_SIZE, TESTED, P_DROP = 700, 32, 500, 0.05
SIZES = dict(N=2, d_model=32, d_ff=64, h=2, max_len=16)
SYMBOLS, MAX_LENGTH = 6, 5
RATE: dict = dict(d_model=SIZES["d_model"], warmup_steps=100, scale=0.3)  # of Eq. (3)
SOLVED, PART = 0.95, 0.5  # shares of right test sequences; a healthy model has 0.99 or more
HEALTHY_SEEDS = 4

HEAD = f"""\
# Does it still learn?

This page is what `aiayn-np zoo --train` prints. Each bug of the zoo is planted, and
a small model ({", ".join(f"{name} = {size}" for name, size in SIZES.items())}) is trained to copy
(up to {MAX_LENGTH} symbols of {SYMBOLS}), for {STEPS} steps of {BATCH_SIZE} sequences, with dropout
{P_DROP} on sub-layers and attention weights, from seed 0. It is tested with the bug still planted,
on up to {TESTED} sequences that it was not trained on. *Tokens* are predicted from the true ones
before them; *sequences* are decoded, and must be right to the last token.

That a model trains is no evidence that it is right. `aiayn-np zoo` catches every one of the bugs.

| bug | name | tokens | sequences | |
|---|---|---|---|---|"""


@dataclass
class Outcome:
    """The result of a training: shares of right test tokens and of right test sequences.

    A share is None if it was not measured. `error` is the error that stopped the training, or "".
    """

    tokens: float | None = None
    exact: float | None = None
    error: str = ""

    def __str__(self):
        shares = ["" if s is None else f"{100 * s:.1f} %" for s in (self.tokens, self.exact)]
        return f"{' | '.join(shares)} | {self.verdict}"

    @property
    def verdict(self):
        if self.error:
            return self.error
        assert self.exact is not None
        if self.exact >= SOLVED:
            return "still solves it"
        if self.exact >= PART:
            return "learns a part"
        leaks = (self.tokens or 0) >= SOLVED                           # it sees its targets
        return "predicts, but cannot decode" if leaks else "does not learn it"


def learn_to_copy(bug: Bug | None = None, *, seed: int = 0, steps: int = STEPS,
                  watch: Callable = iter) -> Outcome:
    """Train and test a small model on the copy task with a planted bug; None plants no bug.

    Tokens are predicted from the true earlier tokens, sequences are decoded. An error of the model,
    or a loss that is not finite, is an outcome too.
    seed : for the weights, the batches and the dropout
    watch : a function that takes the steps of the training and yields them, such as tqdm
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
    """Train and test; write each number into the outcome as soon as it is measured."""
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
