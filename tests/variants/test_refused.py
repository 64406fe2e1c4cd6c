"""What a variant refuses beyond the tables of model/test_bad_inputs.py, in its own words."""

import inspect
import re

import numpy as np
import pytest
from attention_inputs import random_QKV
from layers import CLASSES

from aiayn_np.variants.optimizers import AdamW, cosine_rate
from aiayn_np.variants.relative_position import relative_attention
from aiayn_np.variants.scoring import dot_attention
from aiayn_np.variants.windows import from_windows

LONG = np.broadcast_to(np.ones((1, 4)), (10**8, 4))  # 32 bytes
Q, K, V = random_QKV(np.random.default_rng(0), T_q=7, T_k=7, d_k=4, d_v=5)


def new(name, *sizes, **options):
    """A layer of a class with these sizes."""
    cls = CLASSES[name]
    if "rng" in inspect.signature(cls).parameters:
        options["rng"] = np.random.default_rng(0)
    return cls(*sizes, **options)


def window(**options):
    return new("WindowAttention", **dict(d_model=4, h=2, window=3) | options)


def cosine(step=1, steps=5, **options):
    return cosine_rate(step, steps, **dict(peak=1.0, warmup_steps=2) | options)


VALUES = [  # (a call, the message)
    (lambda: new("Convolution1D", 3, 4, 4), "k must be odd, got k=4"),
    *((lambda n=n: new("GroupedQueryAttention", 12, 6, h_kv=n),
       f"h must be divisible by h_kv, got h=6, h_kv={n}") for n in (4, 12)),
    (lambda: new("LocalAttention", -1), "radius must be at least 0, got radius=-1"),
    (lambda: new("LocalAttention", 2)(Q[..., :6, :], K, V),
     "Q and K must have one length T (local attention is self-attention), got (2, 3, 6, 4)"),
    *((lambda s=shapes: new("BatchNorm", 5)(np.ones((3, 4, 5)), statistics=[*map(np.ones, s)]),
       "both of shape (5,), got shapes [")
      for shapes in [((5,), (1,)), ((), (5,)), ((4, 5), (4, 5)), ((5,),)]),
    (lambda: cosine(step=0), "step must be at least 1"),
    (lambda: cosine(steps=0), "steps must be at least 1"),
    (lambda: cosine(warmup_steps=0), "warmup_steps must be at least 1"),
    (lambda: cosine(peak=-1.0), "peak must lie in [0, inf)"),
    (lambda: cosine(least=1.0), "least must lie in [0, 1)"),
    (lambda: AdamW(new("Linear", 2, 3), decay=-1), "decay must lie in [0, inf), got decay=-1"),
    (lambda: AdamW(new("Linear", 2, 3), decayed=new("Linear", 2, 3).parameters()),
     "decayed must hold only parameters of this optimizer"),
    *((lambda name=name: new(name, 3, 4)(np.ones((2, 0, 3))),
       "x must have a length T of at least 1, got shape") for name in ("RNN", "GRU")),
    *((lambda s=shape: window().forward(np.ones(s)),
       f"x must have shape (B, H, W, d), H and W multiples of 3, got {shape}")
      for shape in [(2, 6, 4, 4), (2, 4, 6, 4), (6, 6, 4), (2, 0, 6, 4)]),
    (lambda: window(shift=3), "shift must lie in [0, window), got shift=3, window=3"),
    (lambda: window(shift=-1), "shift must be at least 0, got shift=-1"),
    *((lambda s=shape, M=M, H=H, W=W: from_windows(np.ones(s), M, H, W),
       "windows must have shape (B * nW, M * M, d) for M=3")
      for shape, M, H, W in [((4, 9, 5), 3, 6, 5), ((4, 9, 5), 3, 5, 6), ((4, 8, 5), 3, 6, 6),
                             ((5, 9, 5), 3, 6, 6), ((9, 5), 3, 3, 3)]),
    (lambda: from_windows(np.ones((4, 9, 5)), 3, 0, 6), "H must be at least 1, got H=0"),
    *((lambda make=make, s=shape: make().forward(np.ones(s)), message)
      for make in (lambda: new("RelativePositionBias", 2, 3),
                   lambda: new("RelativePositionBias2D", 2, 1, 3))
      for shape, message in [
          ((1, 3, 3), "scores must have h=2 on axis -3, got shape (1, 3, 3)"),
          ((3, 3), "scores must have at least 3 axes, got shape (3, 3)")]),
    (lambda: new("RelativePositionBias2D", 2, 2, 3).forward(np.ones((2, 6, 5))),
     "scores must end with axes (6, 6), got (6, 5)"),
    (lambda: new("RotaryPositions", 5), "d_k must be even, for pairs of features, got d_k=5"),
    (lambda: new("RotaryPositions", 4, base=0), "base must lie in (0, inf), got base=0"),
    (lambda: new("RotaryPositions", 4)(np.ones((2, 4)), start=-1),
     "start must be an integer of at least 0, got start=-1"),
    *((lambda name=name, q=q, k=k: new(name, 4, 5).forward(np.ones(q), np.ones(k)), message)
      for name in ("GeneralScore", "AdditiveScore", "ConcatScore") for q, k, message in [
          ((4, 3, 6), (4, 2, 6), "Q must have d_k=5 on its last axis, got shape (4, 3, 6)"),
          ((4, 3, 5), (4, 2, 4), "K must have d_k=5 on its last axis, got shape (4, 2, 4)"),
          ((3, 5), (2, 5), "Q must have at least 3 axes, got shape (3, 5)"),
          ((1, 3, 5), (1, 2, 5), "Q must have h=4 on axis -3, got shape (1, 3, 5)"),
          ((4, 3, 5), (1, 2, 5), "K must have h=4 on axis -3, got shape (1, 2, 5)"),
          ((2, 4, 3, 5), (1, 4, 2, 5), "Q and K must have one shape but for their lengths"),
          ((2, 4, 3, 5), (4, 2, 5), "Q and K must have one shape but for their lengths"),
          ((4, 3, 5), (4, 0, 5), "at least 1, got (4, 3, 5) and (4, 0, 5)"),
          ((4, 0, 5), (4, 2, 5), "at least 1, got (4, 0, 5) and (4, 2, 5)")]),
    *((lambda name=name, x=x, y=y: new(name).forward(np.ones(x), np.ones(y)),
       f"{names} must have one shape but for their lengths")
      for name, names in (("DotScore", "Q and K"), ("PairTanh", "x and y"))
      for x, y in [((3, 4), (5, 3)), ((2, 3, 4), (1, 5, 4)), ((3, 4), (0, 4))]),
]
TYPES = [
    *((lambda r=radius: new("LocalAttention", r), f"radius must be an integer, got radius={radius}")
      for radius in (1.5, True)),
    *((lambda s=shift: window(shift=s), f"shift must be an integer, got shift={shift}")
      for shift in (1.0, True)),
    (lambda: new("RotaryPositions", 4, base="1e4"), "base must be a number"),
    *((lambda name=name, given=given: new(name, given),
       f"{what} must be a layer with forward({takes}), got")
      for name, what, takes, factory in (
          ("ScoredAttention", "score", "Q, K", dot_attention),
          ("RelativeAttention", "bias", "scores", relative_attention))
      for given in (CLASSES["DotScore"], CLASSES["RelativePositionBias"], factory, None)),
]
MEMORY = [
    (lambda: new("LocalAttention", 10**12)(Q, K, V), "scores of shape"),
    (lambda: new("PairTanh").forward(LONG, LONG), "shape (100000000, 100000000, 4) need"),
]


@pytest.mark.parametrize(("call", "message", "error"), [
    pytest.param(*row, error, id=re.sub(r"\W+", " ", row[1])[:60])
    for error, rows in ((ValueError, VALUES), (TypeError, TYPES), (MemoryError, MEMORY))
    for row in rows])
def test_what_does_not_fit_is_refused(call, message, error):
    with pytest.raises(error) as caught:
        call()
    assert message in str(caught.value)
