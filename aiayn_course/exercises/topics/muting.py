"""Exercise 16: a head is muted, by zeros or by its mean."""

import numpy as np

from ..exercise import exercise, function, sized

EXERCISE = exercise(
    16, "muting", "Muting a head", section="3.2.2", lesson="11.6", minutes=30,
    asks="what one head adds to the output, and what may stand in its place",
)


def muted(heads, W_O, head, *, real=None):
    """heads (B, h, T, d_v), W_O (h d_v, d_model), real (B, T) -> (B, T, d_model)"""
    B, h, T, d_v = heads.shape
    output, instead = heads[:, head], np.zeros(d_v)
    if real is not None:
        counted = real[..., None]
        instead = (output * counted).sum(axis=(0, 1)) / real.sum()
    is_muted = (np.arange(h) == head)[:, None, None]
    kept = np.where(is_muted, instead, heads)
    return kept.swapaxes(1, 2).reshape(B, T, h * d_v) @ W_O


MUTED = function(
    EXERCISE, muted,
    "Concat(head_1 ... head_h) W^O is a sum: rows i d_v to (i + 1) d_v of W^O belong to head i.",
    "In a copy of `heads`, put zeros in the place of the head's output, or with `real` its mean"
    " over the real positions of all sequences, (d_v,). All other heads stay as they are.",
    "kept = heads.copy(); kept[:, head] = 0, or heads[:, head][real].mean(axis=0); then"
    " kept.swapaxes(1, 2).reshape(B, T, h * d_v) @ W_O",
    run=lambda it, case: {"output": it(*case.inputs, **case.options)},
)


@MUTED.tried_on
def cases(rng):
    def case(head, B, h, T, d_v, d_model, mean=True):
        real = np.arange(T) < np.maximum(T - np.arange(B) % 3, 1)[:, None]
        return sized(1 + rng.standard_normal((B, h, T, d_v)), rng.standard_normal((
            h * d_v, d_model)), head, options=dict(real=real) if mean else {}, B=B, h=h, T=T,
            d_v=d_v, d_model=d_model)
    return [case(1, 2, 3, 5, 4, 6, False), case(2, 3, 4, 2, 5, 7, False), case(1, 2, 3, 5, 4, 6),
            case(0, 4, 2, 3, 6, 5), case(1, 1, 2, 3, 4, 5), case(1, 2, 3, 1, 4, 5), case(
                0, 2, 1, 3, 4, 5), case(2, 3, 4, 2, 1, 5), case(0, 2, 3, 5, 4, 1, False)]


MEAN = "(output * counted).sum(axis=(0, 1)) / real.sum()"
KEPT = "np.where(is_muted, instead, heads)"
OWN = "The mean of this head over the real positions of all sequences stands at every position."
MUTED.right(
    "function",
    *((MEAN, code, "another mean", f"{what} {OWN}") for code, what in (
        ("output.mean(axis=(0, 1))", "Padding comes into the mean."),
        ("(output * counted).mean(axis=(0, 1))", "It is divided by the number of all positions."),
        ("((output * counted).sum(axis=1) / counted.sum(axis=1)).mean(axis=0)", "Each sequence"
         " is averaged first, and a short one counts as much as a long one."),
        ("((output * counted).sum(axis=1) / counted.sum(axis=1))[:, None, None]", "Each sequence"
         " has a mean of its own."),
        ("((heads * counted[:, None]).sum(axis=(0, 2)) / real.sum()).mean(axis=0)", "All heads come"
         " into the mean."))),
    ("real is not None", "False", "mean left out", f"There are zeros with `real`, too. {OWN}"),
    (KEPT, "np.where(is_muted, instead + heads * (real is not None), heads)", "another sum",
     "The mean is added to the head's output. It takes its place."),
    (KEPT, "np.where(is_muted, heads if real is None else instead, 0 * heads)", "the others muted",
     "Only this head is left. All others must stay, and this one is muted."),
    (("heads[:, head]", "np.arange(h) == head"), ("heads[:, head - 1]", "np.arange(h) == (head - 1)"
     " % h"), "another head", "Another head is muted: `head` counts from 0."),
    ("kept.swapaxes(1, 2).reshape(B, T, h * d_v) @ W_O",
     "np.where(np.arange(h * d_v) % h == head, np.repeat(instead, h), heads.swapaxes(1,"
     " 2).reshape(B, T, h * d_v)) @ W_O", "features interleaved", "Every h-th feature is muted. A"
     " head owns d_v features side by side."),
)(muted)
