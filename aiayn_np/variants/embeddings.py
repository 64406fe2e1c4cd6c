"""Embeddings, positions and output projections of later models."""

import numpy as np

from ..checks import (
    check_array,
    check_gradient,
    check_ids,
    check_positions,
    check_rng,
    check_sizes,
)
from ..embedding import Embedding, OutputProjection
from ..module import Cache, Module, Parameter, Rng
from ..positional_encoding import SinusoidalPositionalEncoding
from ..reductions import add_at, column_sum


class UnscaledEmbedding(Embedding):
    """y = E[ids]                         without the paper's factor sqrt(d_model)

    ids (...) integers   E (vocab_size, d_model)   ->   (..., d_model)
    backward: row v of E gets the sum of the gradients wherever ids == v.
    """
    formula = "y = E[ids]"
    position_wise = True

    def forward(self, ids: np.ndarray) -> tuple[np.ndarray, Cache]:
        ids = check_ids("ids", ids, self.vocab_size)
        return self.E.value.take(ids, axis=0), Cache(ids=ids)

    def backward(self, grad_y: np.ndarray, cache: Cache) -> None:
        check_gradient(grad_y, (*cache.ids.shape, self.d_model), self.E.value.dtype)
        # y = E[ids]
        add_at(self.E.grad, cache.ids.reshape(-1), grad_y.reshape(-1, self.d_model))


class SegmentEmbedding(Module):
    """y = x + E[segments]: segments number the sentence of each token      Devlin et al., 2018

    x (..., T, d_model)   segments (..., T) integers, all 0 for None   ->   the shape of x
    backward: row s of E gets the sum of the gradients wherever segments == s.
    """
    formula = "y = x + E[segments]"
    position_wise = True

    def __init__(self, segments: int, d_model: int, *, rng: Rng) -> None:
        check_sizes(segments=segments, d_model=d_model)
        check_rng(rng, or_none=True)
        self.segments, self.d_model = segments, d_model
        self.E = Parameter.normal(d_model**-0.5, (segments, d_model), rng)

    def forward(self, x: np.ndarray, *,
                segments: np.ndarray | None = None) -> tuple[np.ndarray, Cache]:
        check_array("x", x, last=("d_model", self.d_model), parameter=self.E)
        segments = np.zeros(x.shape[:-1], np.intp) if segments is None else segments
        segments = check_ids("segments", segments, self.segments)
        if segments.shape != x.shape[:-1]:
            raise ValueError("segments must have the shape of x without its last axis,"
                             f" {x.shape[:-1]}, got {segments.shape}")
        cache = Cache(segments=segments, shape=x.shape, dtype=x.dtype)
        return x + self.E.value.take(segments, axis=0), cache

    def backward(self, grad_y: np.ndarray, cache: Cache) -> np.ndarray:
        check_gradient(grad_y, cache.shape, cache.dtype)
        # y = x + E[segments]
        add_at(self.E.grad, cache.segments.reshape(-1), grad_y.reshape(-1, self.d_model))
        return grad_y


class SinusoidsInHalves(SinusoidalPositionalEncoding):
    """y = x + PE          the paper's columns in another order: all sines first, then all cosines

    x (..., T, d_model), whose first position has the number `start`   ->   the same shape
    The order makes no difference to a model: its matrices learn with the order that they get.
    """
    position_wise = True
    first = 0

    def table(self, T: int, *, start: int = 0) -> np.ndarray:
        """Return PE (T, d_model) from position start on; an odd d_model has one more sine."""
        PE = super().table(T, start=start)
        return np.concatenate([PE[:, 0::2], PE[:, 1::2]], axis=1)


class FairseqSinusoids(SinusoidalPositionalEncoding):
    """y = x + PE,   PE(pos, i)         = sin((pos + first) w_i)                   as in fairseq
                     PE(pos, i + d / 2) = cos((pos + first) w_i),   w_i = 10000^(-i / (d / 2 - 1))

    x (..., T, d), whose first position has the number `start`   ->   the same shape
    The slowest wave has the length 2 pi 10000; the paper's is a little faster. An odd d, at least
    4, has a last column of zeros. fairseq counts the first position as pad + 1: `first`.
    """
    position_wise = True

    def __init__(self, d_model: int, max_len: int, *, first: int = 2, rng: Rng = None) -> None:
        super().__init__(d_model, max_len)
        if d_model < 4:
            raise ValueError(f"d_model must be at least 4, for two waves, got d_model={d_model}")
        self.first = first

    def table(self, T: int, *, start: int = 0) -> np.ndarray:
        """Return PE (T, d_model) from position start on."""
        check_positions(T, start, self.max_len)
        half = self.d_model // 2
        w = 10000 ** (-np.arange(half) / (half - 1))                   # (d_model // 2,)
        angle = (np.arange(start, start + T) + self.first)[:, None] * w
        return np.concatenate([np.sin(angle), np.cos(angle), np.zeros((T, self.d_model % 2))],
                              axis=1)


class BiasedProjection(OutputProjection):
    """logits = x E^T + b                                              Sec. 3.4 with a bias

    x (..., d_model)   E (vocab_size, d_model)   b (vocab_size,)   ->   (..., vocab_size)
    It is OutputProjection with a bias that starts at zero.
    """
    formula = "logits = x E^T + b"
    position_wise = True

    def __init__(self, E: Parameter) -> None:
        super().__init__(E)
        self.b = Parameter(np.zeros(len(E.value), E.value.dtype))

    def forward(self, x: np.ndarray) -> tuple[np.ndarray, Cache]:
        logits, cache = super().forward(x)                             # (..., vocab_size)
        logits += self.b.value
        return logits, cache

    def backward(self, grad_logits: np.ndarray, cache: Cache) -> np.ndarray:
        # logits = x E^T + b
        grad_x = super().backward(grad_logits, cache)                  # (..., d_model)
        self.b.grad += column_sum(grad_logits)                         # (vocab_size,)
        return grad_x
