"""A small model, and batches of rows of given lengths."""

import numpy as np

from aiayn_np import Adam, LabelSmoothedCrossEntropy, Transformer
from aiayn_np.training.loop import token_nats, training_steps

CRITERION = LabelSmoothedCrossEntropy(0.1)


def small(seed=0, P_drop=0.0, dtype=np.float64):
    model = Transformer(7, N=1, d_model=8, d_ff=12, h=2, P_drop=P_drop,
                        rng=np.random.default_rng(seed))
    return model.astype(dtype)


def batch(rng, lengths):
    """Targets of these lengths, the rest padding."""
    T = max(*lengths, 2)
    tgt = np.where(np.arange(T) < np.array(lengths)[:, None], rng.integers(1, 7, (len(lengths), T)),
                   0)
    return rng.integers(1, 7, (len(lengths), 5)), np.maximum(tgt, 1), tgt


def gradient_by(model, ids, shares, rng=None):
    """(mean nats, all gradients) of a batch in shares, by a step of the loop at the rate 0."""
    optimizer = Adam(model)
    (step,) = training_steps(model, CRITERION, optimizer, lambda _: ids, lambda _: 0.0, steps=1,
                             rng=rng, measure=token_nats, shares=shares)
    return float(step.scores), optimizer.gradients()
