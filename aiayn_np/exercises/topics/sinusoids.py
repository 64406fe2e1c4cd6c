"""Exercise 9: the sinusoids that tell positions apart."""

import numpy as np

from ...positional_encoding import SinusoidalPositionalEncoding
from ..exercise import Case, exercise, layer

EXERCISE = exercise(
    9, "sinusoids", "Sinusoidal positions", section="3.5", lesson="8.3", minutes=25,
    asks="the table of sines and cosines, without a loop and for an odd d_model too",
)

SINUSOIDS = layer(
    EXERCISE, SinusoidalPositionalEncoding,
    "np.arange(0, d_model, 2) holds the numbers 2i. Positions as a column divided by"
    " 10000 ** (2i / d_model) as a row: one angle for each position and each i.",
    "Even features take the sine, odd ones the cosine of the same angle: PE[:, 0::2] and"
    " PE[:, 1::2]. With an odd d_model there is one sine more than cosines. Keep the dtype of x.",
    "PE[pos, 2i] = sin(pos / 10000^(2i / d_model)), PE[pos, 2i + 1] = cos of the same angle,"
    " pos = start ... start + T - 1; y = x + PE. PE does not depend on x, so dy/dx = 1 and"
    " backward returns grad_y.",
)
SINUSOIDS.made_like = lambda cls, ours: cls(ours.d_model, ours.max_len)


def of_width(d_model):
    """Make an encoding of this width."""
    return lambda cls: cls(d_model, 50)


@SINUSOIDS.tried_on
def cases(rng):
    draw = rng.standard_normal
    return [
        Case("x (2, 5, 6)", of_width(6), (draw((2, 5, 6)),), {}, dict(B=2, T=5, d_model=6)),
        Case("x (3, 7, 8)", of_width(8), (draw((3, 7, 8)),), {}, dict(B=3, T=7, d_model=8)),
        Case("d_model = 5", of_width(5), (draw((2, 4, 5)),), special=True),
        Case("start = 3", of_width(6), (draw((2, 4, 6)),), dict(start=3), special=True),
    ]


EXPONENT = [
    lambda k, d_model: 2 * (k // 2) / d_model,
    ("wrong exponent", "The exponent is twice too large: np.arange(0, d_model, 2) holds 2i"
     " already.", lambda k, d_model: 4 * (k // 2) / d_model),
    ("wrong exponent", "The exponent is i / d_model. It must be 2i / d_model.",
     lambda k, d_model: (k // 2) / d_model),
    ("wrong exponent", "The position is multiplied by 10000^(2i / d_model). It must be divided by"
     " it.", lambda k, d_model: -2 * (k // 2) / d_model),
    ("wrong exponent", "Sine and cosine of a pair have different exponents. Feature 2i + 1 has that"
     " of feature 2i.", lambda k, d_model: k / d_model),
    ("wrong exponent", "The exponent of feature k is 2k / d_model. Both features of pair i have"
     " 2i / d_model.", lambda k, d_model: 2 * k / d_model),
]
BASE = [1e4, ("wrong base", "The base is 100 000. It must be 10 000.", 1e5),
        ("wrong base", "The base is 1 000. It must be 10 000.", 1e3)]
WAVES = [(np.sin, np.cos),
         ("sine and cosine swapped", "Even features must be sines and odd ones cosines. Here it is"
          " the other way round.", (np.cos, np.sin)),
         ("cosine missing", "All features are sines. Odd ones must be cosines.", (np.sin, np.sin))]
ORDER = [False, ("sines and cosines in halves", "All sines stand first and all cosines after them."
                 " In the paper they alternate: sine in feature 2i, cosine in 2i + 1.", True)]
FROM = [lambda start: start,
        ("positions from 1", "The first position is number 1. It must be number 0, or `start`.",
         lambda start: start + 1),
        ("start ignored", "`start` has no effect: the first position of x is number `start`.",
         lambda start: 0)]
ANGLE = [1.0, ("2 pi", "The angle has a factor 2 pi. The wave lengths of the paper begin at 2 pi,"
               " which the sine has of itself.", 2 * np.pi)]
ADDED = [np.add,
         ("x not added", "PE is returned alone. It must be added to x.", lambda x, PE: 0 * x + PE),
         ("multiplied", "x is multiplied by PE. It must be added.", np.multiply)]


@SINUSOIDS.family("forward", exponent=EXPONENT, base=BASE, waves=WAVES, halves=ORDER, first=FROM,
                  angle=ANGLE, added=ADDED)
def output(layer, x, start=0, *, exponent, base, waves, halves, first, angle, added):
    T, d_model = x.shape[-2:]
    pos, k = first(start) + np.arange(T)[:, None], np.arange(d_model)
    angles = angle * pos / base ** exponent(k, d_model)
    PE = np.where(k % 2, waves[1](angles), waves[0](angles))
    return added(x, np.concatenate([PE[:, 0::2], PE[:, 1::2]], axis=1) if halves else PE)


@SINUSOIDS.mistake("backward", "PE in backward")
def through_table(layer, grad_y, x, start=0):
    """PE is added to the gradient. It is a constant: dy/dx = 1."""
    return dict(grad_x=grad_y + layer.table(x.shape[-2], start=start))


@SINUSOIDS.mistake("backward", "grad_y forgotten")
def ones(layer, grad_y, x, start=0):
    """dy/dx = 1 is returned alone. It must be multiplied by grad_y."""
    return dict(grad_x=np.ones_like(grad_y))
