"""Exercise 8: one matrix that embeds tokens and, transposed, scores them."""

import math

import numpy as np

from ...embedding import Embedding, OutputProjection
from ...module import Parameter
from ..exercise import Case, exercise, layer

EXERCISE = exercise(
    8, "embedding", "Embedding and the shared matrix", section="3.4", lesson="8.5, 9.6", minutes=30,
    asks="a look-up whose gradient adds up over repeated ids, and the projection that shares its"
         " matrix",
)

EMBEDDING = layer(
    EXERCISE, Embedding,
    "Row ids[...] of E, times sqrt(d_model). E.value[ids] takes an array of ids of any shape.",
    "Row v of E was used wherever ids == v, so its gradient is the sum of grad_y at all these"
    " places, times sqrt(d_model). Ids have no gradient: return None.",
    "E.grad[ids] += ... writes once for every id, however often it occurs. np.add.at(self.E.grad,"
    " ids, grad_y * math.sqrt(self.d_model)) adds every time.",
)
PROJECTION = layer(
    EXERCISE, OutputProjection,
    "logits = x E^T: one score for every row of E. E is the Parameter of the embedding.",
    "It is a linear map with W = E^T and no bias: look at what exercise 3 gives for it.",
    "logits_v = sum_m x_m E_vm, so grad_x = grad_logits @ E and, summed over all positions,"
    " grad_E = grad_logits^T @ x, added: E has a gradient from the embeddings, too.",
)
EMBEDDING.made_like = lambda cls, ours: cls(
    ours.vocab_size, ours.d_model, rng=np.random.default_rng()
)
PROJECTION.made_like = lambda cls, ours: cls(ours.E)


def of_sizes(vocab_size, d_model):
    """Make an embedding of these sizes."""
    return lambda cls: cls(vocab_size, d_model, rng=np.random.default_rng(0))


@EMBEDDING.tried_on
def cases(rng):
    ids = np.array([[3, 1, 4, 1, 5], [1, 6, 2, 0, 1]])
    return [
        Case("ids (2, 5), some repeated", of_sizes(7, 4), (ids,), {},
             dict(B=2, T=5, d_model=4, V=7)),
        Case("ids (3, 2, 2)", of_sizes(5, 3), (rng.integers(0, 5, (3, 2, 2)),), {},
             dict(B=3, d_model=3, V=5)),
    ]


@EMBEDDING.mistake("forward", "sqrt(d_model) missing")
def no_root(layer, ids):
    """The factor sqrt(d_model) is missing (Section 3.4)."""
    return layer.E.value[ids]


@EMBEDDING.mistake("forward", "sqrt(d_model) divides")
def divided(layer, ids):
    """It is divided by sqrt(d_model). It must be multiplied (Section 3.4)."""
    return layer.E.value[ids] / math.sqrt(layer.d_model)


@EMBEDDING.mistake("forward", "d_model without root")
def no_square_root(layer, ids):
    """It is multiplied by d_model. It must be its square root."""
    return layer.E.value[ids] * layer.d_model


@EMBEDDING.mistake("forward", "root of the vocabulary")
def root_of_vocabulary(layer, ids):
    """It is multiplied by the root of vocab_size. It must be that of d_model."""
    return layer.E.value[ids] * math.sqrt(layer.vocab_size)


def added(layer, ids, rows, at_once=False):
    """E.grad after adding rows at ids, once for each place or, wrongly, once for each id."""
    grad = np.zeros_like(layer.E.value)
    if at_once:
        grad[ids] += rows
    else:
        np.add.at(grad, ids, rows)
    return {"E.grad": grad}


@EMBEDDING.mistake("backward", "repeated ids")
def repeats_lost(layer, grad_y, ids):
    """`E.grad[ids] += ...` reads, adds and writes once for every id: of an id that occurs several
    times only one place counts. np.add.at adds for all of them."""
    return added(layer, ids, grad_y * math.sqrt(layer.d_model), at_once=True)


@EMBEDDING.mistake("backward", "repeated ids")
def repeats_and_root_lost(layer, grad_y, ids):
    """`E.grad[ids] += ...` counts repeated ids only once: use np.add.at. And the factor
    sqrt(d_model) of the forward is missing."""
    return added(layer, ids, grad_y, at_once=True)


@EMBEDDING.mistake("backward", "sqrt(d_model) missing in backward")
def no_root_in_backward(layer, grad_y, ids):
    """Forward multiplies by sqrt(d_model), so the gradient must be multiplied by it, too."""
    return added(layer, ids, grad_y)


def projection(vocab_size, d_model):
    """Make a projection with an E of these sizes, a new Parameter for each."""
    E = np.random.default_rng(0).standard_normal((vocab_size, d_model))
    return lambda cls: cls(Parameter(E.copy()))


@PROJECTION.tried_on
def cases_of_projection(rng):
    return [
        Case("x (2, 3, 4)", projection(7, 4), (rng.standard_normal((2, 3, 4)),), {},
             dict(B=2, T=3, d_model=4, V=7, rows=6)),
        Case("x (5, 6)", projection(3, 6), (rng.standard_normal((5, 6)),), {},
             dict(B=5, d_model=6, V=3, rows=5)),
    ]


@PROJECTION.mistake("forward", "sqrt(d_model) in the projection")
def scaled(layer, x):
    """The factor sqrt(d_model) belongs to the embedding, not to the projection."""
    return x @ layer.E.value.T * math.sqrt(x.shape[-1])


@PROJECTION.mistake("forward", "sqrt(d_model) in the projection")
def scaled_down(layer, x):
    """It is divided by sqrt(d_model). The paper's projection is x E^T."""
    return x @ layer.E.value.T / math.sqrt(x.shape[-1])


@PROJECTION.mistake("backward", "use of E not counted")
def E_forgotten(layer, grad_y, x):
    """E.grad stays as it was. E is used here, too, so this use adds its share to E.grad, beside
    that of the embeddings."""
    return {"E.grad": np.zeros_like(layer.E.value)}


@PROJECTION.mistake("backward", "mean over the rows")
def mean(layer, grad_y, x):
    """E.grad is averaged over the positions. It must be their sum."""
    rows = x.reshape(-1, x.shape[-1])
    return {"E.grad": grad_y.reshape(len(rows), -1).T @ rows / len(rows)}
