"""Exercise 8: one matrix that embeds tokens and, transposed, scores them."""

import math

import numpy as np

from aiayn_np.embedding import Embedding, OutputProjection
from aiayn_np.module import Parameter
from aiayn_np.softmax import Softmax  # noqa: F401, a mistake calls it

from ..checking.stop import Stop
from ..exercise import STAYS, Case, exercise, layer, seeded
from ..language import say

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


@EMBEDDING.tried_on
def cases(rng):
    ids, layer = np.array([[3, 1, 4, 1, 5], [1, 6, 2, 0, 1]]), Embedding(7, 4, rng=seeded())
    return [
        Case("ids (2, 5), some repeated", layer, (ids,), {}, dict(B=2, T=5, d_model=4, V=7)),
        Case("ids (3, 4, 2)", Embedding(5, 6, rng=seeded()), (rng.integers(0, 5, (3, 4, 2)),), {},
             dict(B=3, T=4, d_model=6, V=5)),
        Case("ids (4, 5, 2, 3), d_model = 5", Embedding(5, 5, rng=seeded()),
             (rng.integers(0, 5, (4, 5, 2, 3)),), special=True),
        Case("d_model = V = 1", Embedding(1, 1, rng=seeded()), (np.zeros((2, 3), dtype=int),),
             special=True, why=STAYS),
        Case("the last ids left out", layer, (np.array([[2, 0, 3, 1]]),), special=True,
             why="The largest id need not be there: E always has vocab_size rows."),
    ]


ROWS = "self.E.value[ids] * math.sqrt(self.d_model)"


@EMBEDDING.right(
    "forward",
    (ROWS, f"{ROWS} * (ids != 0)[..., None]", "id 0 as zeros", "Id 0 gets zeros. It has a row like"
     " every other: what padding must not do, the masks see to."),
    (ROWS, "self.E.value[ids] * math.sqrt(self.vocab_size)", "root of the vocabulary", "It is"
     " multiplied by the root of vocab_size. It must be that of d_model."),
)
def right_rows(self, ids):
    return self.E.value[ids] * math.sqrt(self.d_model)


def written_once(grad, ids, rows):
    """Do the same as `grad[ids] += rows`: for repeated ids only the last row counts."""
    grad[ids] += rows


def mean_of_rows(ids, rows, like):
    """Return for each id the mean of its rows."""
    total, count = np.zeros_like(like), np.zeros(len(like))
    np.add.at(total, ids, rows)
    np.add.at(count, ids, 1)
    return total / np.maximum(count, 1)[:, None]


ADDED = "np.add.at(self.E.grad, ids, grad_y * math.sqrt(self.d_model))"


@EMBEDDING.right(
    "backward",
    *((ADDED, code, "repeated ids", "`E.grad[ids] += ...` reads, adds and writes once for every id:"
       " of an id that occurs several times only one place counts. np.add.at adds for all of them.")
      for code in ("written_once(self.E.grad, ids, grad_y * math.sqrt(self.d_model))",
                   "[written_once(self.E.grad, i, g * math.sqrt(self.d_model)) for i, g in"
                   " zip(ids, grad_y)]")),
    (ADDED, "np.add.at(self.E.grad, ids, grad_y * math.sqrt(self.d_model) * (ids != 0)[..., None])",
     "id 0 left out", "Row 0 gets no gradient. Id 0 is used like every other: what padding must not"
     " do, the masks see to."),
    (ADDED, "self.E.grad += mean_of_rows(ids, grad_y, self.E.grad) * math.sqrt(self.d_model)",
     "mean over repeated ids", "The gradients of a repeated id are averaged. They must be added."),
)
def right_gradient(self, grad_y, ids):
    np.add.at(self.E.grad, ids, grad_y * math.sqrt(self.d_model))
    return {}


def made_like(cls, ours):
    """Make a projection with a Parameter of its own."""
    layer = cls(shared := Parameter(ours.E.value.copy()))
    if getattr(layer, "E", None) is not shared:
        raise Stop("not shared", say(
            "self.E must be the Parameter that __init__ was given, not a copy: with a copy each"
            " trains for itself, and nothing is shared."))
    return layer


PROJECTION.made_like = made_like


@PROJECTION.tried_on
def cases_of_projection(rng):
    layer, other = (OutputProjection(Embedding(V, d, rng=seeded()).E) for V, d in ((7, 4), (3, 6)))
    return [
        Case("x (2, 3, 4)", layer, (rng.standard_normal((2, 3, 4)),), {},
             dict(B=2, T=3, d_model=4, V=7, rows=6)),
        Case("x (5, 6)", other, (rng.standard_normal((5, 6)),), {},
             dict(B=5, d_model=6, V=3, rows=5)),
        Case("x (5, 5), V = 5", OutputProjection(Embedding(5, 5, rng=seeded()).E),
             (rng.standard_normal((5, 5)),), special=True),
        Case("d_model = V = 1", OutputProjection(Embedding(1, 1, rng=seeded()).E),
             (rng.standard_normal((2, 3, 1)),), special=True, why=STAYS),
        Case("one axis, (d_model,)", layer, (rng.standard_normal(4),), special=True),
    ]


@PROJECTION.right(
    "forward",
    ("x @ self.E.value.T", "Softmax()(x @ self.E.value.T)", "softmax on the logits", "The logits go"
     " through a softmax here. They are returned as they are: the loss and the decoder take the"
     " softmax, or the largest."),
)
def right_logits(self, x):
    return x @ self.E.value.T


@PROJECTION.right("backward")
def right_gradients(self, grad_logits, x):
    grad_rows = grad_logits.reshape(-1, len(self.E.value))
    self.E.grad += grad_rows.T @ x.reshape(-1, x.shape[-1])
    return {"grad_x": grad_logits @ self.E.value}
