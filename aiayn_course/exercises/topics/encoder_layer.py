"""Exercise 12: the encoder layer, where one x is used four times."""

import numpy as np

from aiayn_np.attention import ScaledDotProductAttention
from aiayn_np.encoder import EncoderLayer

from ..exercise import Case, exercise, layer, seeded
from .attention import masks
from .multi_head import ALL, with_dropout_of

EXERCISE = exercise(
    12, "encoder layer", "The encoder layer", section="3.1, Fig. 1 left", lesson="7.6", minutes=30,
    asks="self-attention, Add & Norm, feed-forward, Add & Norm; and a backward that loses none of"
         " the uses of x",
)

ENCODER_LAYER = layer(
    EXERCISE, EncoderLayer,
    "x = add_norm_1(x, self_attention(x, x, x))\ny = add_norm_2(x, feed_forward(x))\nAddNorm is"
    " given: forward(x, sublayer_output), and its backward returns one gradient for each.",
    "An array that is used several times gets the sum of the gradients of its uses. How often is x"
    " used in the first line, and how often in the second?",
    "Each with its own cache:\ngrad_x, grad_fed = add_norm_2.backward(grad_y, ...)\n"
    "grad_x = grad_x + feed_forward.backward(grad_fed, ...)\n"
    "grad_x, grad_attended = add_norm_1.backward(grad_x, ...)\n"
    "grad_Q, grad_K, grad_V = self_attention.backward(grad_attended, ...)\n"
    "return grad_x + grad_Q + grad_K + grad_V",
)
ENCODER_LAYER.balanced = True


def made_like(cls, ours):
    """Make an encoder layer with the sizes and dropout rates of ours."""
    d_ff, P_drop = ours.feed_forward.linear_1.d_out, ours.add_norm_1.dropout.P_drop
    layer = cls(ours.self_attention.d_model, d_ff, ours.self_attention.h, P_drop=P_drop,
                rng=np.random.default_rng())
    with_dropout_of(layer.self_attention, ours.self_attention)
    return layer


ENCODER_LAYER.made_like = made_like


@ENCODER_LAYER.tried_on
def cases(rng):
    allowed = np.ones((3, 1, 1, 5), dtype=bool)
    allowed[1, ..., 3:] = False
    layer, other = (EncoderLayer(*sizes, P_drop=0.0, rng=seeded())
                    for sizes in ((6, 7, 2), (8, 5, 4)))
    dropping = EncoderLayer(6, 7, 2, P_drop=0.0, rng=seeded(),
                            attention=ScaledDotProductAttention(ALL))
    return [
        Case("x (3, 5, 6)", layer, (rng.standard_normal((3, 5, 6)),), {},
             dict(B=3, T=5, d_model=6, d_ff=7, h=2)),
        Case("x (3, 7, 8)", other, (rng.standard_normal((3, 7, 8)),), {},
             dict(B=3, T=7, d_model=8, d_ff=5, h=4)),
        Case("a mask", layer, (rng.standard_normal((3, 5, 6)),), dict(allowed=allowed),
             dict(B=3, T=5, d_model=6, d_ff=7, h=2)),
        *(Case(what, layer, (rng.standard_normal((3, 5, 6)),), dict(allowed=mask), special=True)
          for what, mask in masks(rng, 3, 1, 5, 5).items()),
        Case("one position that nobody may look at", layer, (rng.standard_normal((3, 1, 6)),),
             dict(allowed=np.zeros((1, 1), dtype=bool)), special=True),
        Case("dropout, and no rng", EncoderLayer(6, 7, 2, P_drop=0.5, rng=seeded()),
             (rng.standard_normal((3, 5, 6)),), special=True,
             why="Without an rng no dropout is drawn."),
        Case("a mask of two axes", layer, (rng.standard_normal((3, 5, 6)),),
             dict(allowed=np.tri(5, dtype=bool)), special=True),
        Case("T = d_model = 5, h = d_ff = 1", EncoderLayer(5, 1, 1, P_drop=0.0, rng=seeded()),
             (rng.standard_normal((2, 5, 5)),), special=True),
        *(Case(what, some, (rng.standard_normal((3, 5, 6)),),
               dict(allowed=allowed, rng=np.random.default_rng(1)), special=True)
          for what, some in (("dropout", EncoderLayer(6, 7, 2, P_drop=ALL, rng=seeded())),
                             ("dropout on the weights", dropping),
                             ("rng given without dropout", layer))),
    ]


ATTEND = "self.self_attention(x, x, x, allowed=allowed, rng=rng)"
FEED, ADD_1, ADD_2 = ("self.feed_forward(x_1)", "self.add_norm_1(x, attended, rng=rng)",
                      "self.add_norm_2(x_1, fed, rng=rng)")
RESIDUAL = "LayerNorm(x + Sublayer(x)), not LayerNorm(Sublayer(x))."
SUMMED = "AddNorm makes the sum itself: it must be given x and the output of the sub-layer alone."


@ENCODER_LAYER.right(
    "forward",
    (ADD_1, "self.add_norm_1.layer_norm(attended)", "residual missing", "The residual sum around"
     f" the self-attention is missing: {RESIDUAL}"),
    (ADD_2, "self.add_norm_2.layer_norm(fed)", "residual missing", "The residual sum around the"
     f" feed-forward network is missing: {RESIDUAL}"),
    ((ADD_1, ADD_2), ("x + attended", "x_1 + fed"), "norm missing", "The layer norms are missing."),
    (ADD_1, "x + attended", "norm missing", "The first layer norm is missing."),
    (ADD_2, "x_1 + fed", "norm missing", "The second layer norm is missing."),
    ((ATTEND, ADD_1, FEED, ADD_2),
     ("self.self_attention(*[self.add_norm_1.layer_norm(x)] * 3, allowed=allowed, rng=rng)",
      "x + attended", "self.feed_forward(self.add_norm_2.layer_norm(x_1))", "x_1 + fed"),
     "pre-norm", "This is pre-norm, x + Sublayer(LayerNorm(x)). The paper's is post-norm,"
     " LayerNorm(x + Sublayer(x))."),
    ((ATTEND, FEED), ("self.feed_forward(x)", ATTEND.replace("x, x, x", "x_1, x_1, x_1")),
     "feed-forward first", "The feed-forward network comes before the self-attention. In Fig. 1 it"
     " comes after it."),
    ((ADD_1, ADD_2), ("self.add_norm_1(attended, x, rng=rng)", "self.add_norm_2(fed, x_1,"
                      " rng=rng)"), "dropout on x", "Dropout falls on x, and not on the output of"
     " the sub-layer: the order is add_norm(x, sublayer_output)."),
    ((ADD_1, ADD_2), ("self.add_norm_1(x, x + attended, rng=rng)", "self.add_norm_2(x_1, x_1 + fed,"
                      " rng=rng)"), "residual twice", SUMMED),
    (ADD_1, "self.add_norm_1(x, x + attended, rng=rng)", "residual twice", SUMMED),
    (ADD_2, "self.add_norm_2(x_1, x_1 + fed, rng=rng)", "residual twice", SUMMED),
)
def right_output(self, x, allowed=None, rng=None):
    attended = self.self_attention(x, x, x, allowed=allowed, rng=rng)
    x_1 = self.add_norm_1(x, attended, rng=rng)
    fed = self.feed_forward(x_1)
    return self.add_norm_2(x_1, fed, rng=rng)


@ENCODER_LAYER.right(
    "backward",
    *(("grad_x + grad_Q + grad_K + grad_V", f"grad_x + 3 * grad_{name}", "uses of x lost", "One of"
       " the three gradients stands for all. x is query, key and value: all three are added.")
      for name in "QKV"),
    *(("grad_x + grad_Q + grad_K + grad_V", f"grad_x + grad_{name}", "uses of x lost", "Two of the"
       " three gradients are missing. x is query, key and value: all three are added.")
      for name in "QKV"),
    ("grad_x + grad_Q + grad_K + grad_V", "grad_x + (grad_Q + grad_K + grad_V) / 3",
     "mean of three gradients", "The three gradients are averaged. x is query, key and value, and"
     " what it does in each place adds up, without a division."),
)
def right_gradients(self, grad_y, x, cache):
    grad_x_1, grad_fed = self.add_norm_2.backward(grad_y, cache.add_norm_2)
    grad_x_1 = grad_x_1 + self.feed_forward.backward(grad_fed, cache.feed_forward)
    grad_x, grad_attended = self.add_norm_1.backward(grad_x_1, cache.add_norm_1)
    grad_Q, grad_K, grad_V = self.self_attention.backward(grad_attended, cache.self_attention)
    return {"grad_x": grad_x + grad_Q + grad_K + grad_V}
