"""Small models trained for a while, for the claims that only training can show."""

from itertools import islice

import numpy as np

from ..loss import LabelSmoothedCrossEntropy
from ..training import token_scores, train
from ..transformer import Transformer

STEPS_PER_POINT = 10  # steps whose mean is one point of a curve
SMALL = dict(N=1, d_model=32, d_ff=64, h=4, P_drop=0.0, max_len=64)


def small_model(task, seed, **options):
    """A float32 Transformer of size SMALL, but for the options, for a task."""
    rng = np.random.default_rng(seed)
    return Transformer(task.vocab_size, **(SMALL | options), rng=rng).astype(np.float32)


def learn(model, task, seed, *, steps, **options):
    """`train` without its end: the Progress of every step. Options are those of `train`.

    The model keeps its last state: `train` would validate, and perhaps load, the average of its
    last states at the last step, so that one step more is asked for and not taken.
    """
    rng = np.random.default_rng([seed, 1])
    more = steps + 1
    options = dict(steps=more, validate_every=more, validation_size=1) | options
    return islice(train(model, task, rng=rng, **options), steps)


def losses(model, task, seed, *, steps, **options):
    """The training loss of every step, without smoothing, in nats a token: (steps,)."""
    return np.array([p.loss for p in learn(model, task, seed, steps=steps, **options)])


def scores(model, examples):
    """(nats a token, share of tokens right) of a model on (src, tgt_in, tgt_out), without dropout.
    """
    src, tgt_in, tgt_out = examples
    criterion = LabelSmoothedCrossEntropy(0.0, pad=model.pad)
    _, cache = criterion.forward(model(src, tgt_in), targets=tgt_out)
    return token_scores(cache)


def check_points(steps):
    """Curves are means over STEPS_PER_POINT steps: a ValueError where some would be left over."""
    if steps < STEPS_PER_POINT or steps % STEPS_PER_POINT:
        raise ValueError(f"steps must be a multiple of {STEPS_PER_POINT}, got {steps}")


def smooth(values, width):
    """Means over `width` neighbours along the last axis: (..., n) -> (..., n // width)."""
    n = values.shape[-1] // width * width
    return values[..., :n].reshape(*values.shape[:-1], -1, width).mean(axis=-1)
