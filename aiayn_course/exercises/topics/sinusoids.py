"""Exercise 9: the sinusoids, which make positions different."""

import numpy as np

from aiayn_np.positional_encoding import SinusoidalPositionalEncoding

from ..exercise import STAYS, Case, exercise, layer

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
SINUSOIDS.methods = [("table", (4,), dict(start=2)), ("table", (3,), {})]


@SINUSOIDS.tried_on
def cases(rng):
    draw, layer = rng.standard_normal, SinusoidalPositionalEncoding(6, 50)
    return [
        Case("x (2, 5, 6)", layer, (draw((2, 5, 6)),), {}, dict(B=2, T=5, d_model=6)),
        Case("x (3, 4, 8)", SinusoidalPositionalEncoding(8, 50),
             (draw((3, 4, 8)),), {}, dict(B=3, T=4, d_model=8)),
        Case("d_model = 5", SinusoidalPositionalEncoding(5, 50), (draw((2, 4, 5)),), special=True,
             why="With an odd d_model there is one cosine fewer than sines."),
        Case("start = 3", layer, (draw((2, 4, 6)),), dict(start=3), special=True),
        Case("one position, start = 7", layer, (draw((2, 1, 6)),), dict(start=7), special=True),
        Case("start = 30, more positions than features", layer, (draw((2, 12, 6)),),
             dict(start=30), special=True),
        Case("T = d_model = 6", layer, (draw((2, 6, 6)),), special=True),
        Case("d_model = 1", SinusoidalPositionalEncoding(1, 50), (draw((2, 4, 1)),), special=True,
             why=STAYS),
    ]


EXPONENT, PAIRS = "two_i / d_model", "Feature 2i + 1 has the exponent of feature 2i."
COS, SIN = "np.cos(angle)", "np.sin(angle)"
WAVES = "Even features must be sines and odd ones cosines."


@SINUSOIDS.right(
    "forward",
    *((EXPONENT, code, "wrong exponent", why) for code, why in (
        ("k / d_model", f"Sine and cosine of a pair have different exponents. {PAIRS}"),
        ("two_i / (d_model - d_model % 2)", "With an odd d_model the exponent is divided by"
         " d_model - 1. It is 2i / d_model."),
        ("2 * k / d_model", "The exponent of feature k is 2k / d_model. Both features of pair i"
         " have 2i / d_model."),
    )),
    *((f"pos / 10000 ** ({EXPONENT})", code, "brackets", "A power comes before a division: 10000 is"
       " raised to 2i alone, and then it is divided by d_model. The exponent is (2i / d_model).")
      for code in (f"pos / 10000.0 ** {EXPONENT}", f"pos / (10000.0 ** {EXPONENT})")),
    ("10000", "number(1e3)", "wrong base", "The base must be 10 000."),
    ((COS, SIN), (SIN, COS), "sine and cosine swapped", f"{WAVES} Here it is the other way round."),
    ("x + PE", "x + np.concatenate([PE[:, 0::2], PE[:, 1::2]], axis=1)",
     "sines and cosines in halves", "All sines stand first and all cosines after them. In the paper"
     " they alternate: sine in feature 2i, cosine in 2i + 1."),
    ("np.arange(start, start + T)", "np.arange(start + 1, start + T + 1)", "positions from 1",
     "The first position is number 1. It must be number 0, or `start`."),
    ("np.arange(start, start + T)", "np.arange(T)", "start ignored", "`start` has no effect: the"
     " first position of x is number `start`."),
    ("x + PE", "np.sqrt(d_model) * x + PE", "x scaled", "x is multiplied by sqrt(d_model) here."
     " The embedding has done that."),
)
def right_output(self, x, start=0):
    T, d_model = x.shape[-2], x.shape[-1]
    pos, k = np.arange(start, start + T)[:, None], np.arange(d_model)
    two_i = k // 2 * 2
    angle = pos / 10000 ** (two_i / d_model)
    PE = np.where(k % 2, np.cos(angle), np.sin(angle))
    return x + PE


@SINUSOIDS.right(
    "backward",
    ("grad_y", "grad_y + self.table(grad_y.shape[-2], start=start)", "PE in backward", "PE is added"
     " to the gradient. It is a constant: dy/dx = 1."),
)
def right_gradient(self, grad_y, x, start=0):
    return {"grad_x": grad_y}
