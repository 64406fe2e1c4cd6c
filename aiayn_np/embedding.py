"""Embeddings and the pre-softmax projection, which share one matrix: Sec. 3.4."""

import math

from .checks import check_array, check_gradient, check_ids, check_rng, check_sizes
from .module import Cache, Module, Parameter, Rng
from .reductions import add_at


class Embedding(Module):
    """y = sqrt(d_model) * E[ids]                                      Sec. 3.4

    ids (...) integers   E (vocab_size, d_model), drawn N(0, 1/d_model)   ->   (..., d_model)
    backward: row v of E was used wherever ids == v, so row v gets the sum of the gradients there,
    times sqrt(d_model). Ids have no gradient: backward returns None. rng=None leaves E empty.
    """
    formula = "y = sqrt(d_model) * E[ids]"
    position_wise = True

    def __init__(self, vocab_size: int, d_model: int, *, rng: Rng):
        check_sizes(vocab_size=vocab_size, d_model=d_model)
        check_rng(rng, or_none=True)
        self.vocab_size, self.d_model = vocab_size, d_model
        self.E = Parameter.normal(1 / math.sqrt(d_model), (vocab_size, d_model), rng)

    def forward(self, ids):
        ids = check_ids("ids", ids, self.vocab_size)
        return self.E.value.take(ids, axis=0) * math.sqrt(self.d_model), Cache(ids=ids)

    def backward(self, grad_y, cache):
        check_gradient(grad_y, (*cache.ids.shape, self.d_model), self.E.value.dtype)
        # y = E[ids] * sqrt(d_model)
        grad_rows = (grad_y * math.sqrt(self.d_model)).reshape(-1, self.d_model)
        add_at(self.E.grad, cache.ids.reshape(-1), grad_rows)   # adds repeated ids, += does not


class OutputProjection(Module):
    """logits = x E^T                                                  Sec. 3.4

    x (..., d_model)   E (vocab_size, d_model), the embedding's   ->   (..., vocab_size)
    """
    formula = "logits = x E^T"
    position_wise = True

    def __init__(self, E: Parameter):
        if not isinstance(E, Parameter) or E.value.ndim != 2:
            raise TypeError(f"E must be a Parameter (vocab_size, d_model), got {E!r}")
        self.E = E

    def forward(self, x):
        vocab_size, d_model = self.E.value.shape
        check_array("x", x, last=("d_model", d_model), parameter=self.E)
        logits = x.reshape(-1, d_model) @ self.E.value.T               # (rows, vocab_size)
        return logits.reshape(*x.shape[:-1], vocab_size), Cache(x=x)

    def backward(self, grad_logits, cache):
        vocab_size, d_model = self.E.value.shape
        check_gradient(grad_logits, (*cache.x.shape[:-1], vocab_size), cache.x.dtype)
        grad_rows = grad_logits.reshape(-1, vocab_size)
        # logits = x E^T
        self.E.grad += grad_rows.T @ cache.x.reshape(-1, d_model)      # (vocab_size, d_model)
        return (grad_rows @ self.E.value).reshape(cache.x.shape)       # (..., d_model)
