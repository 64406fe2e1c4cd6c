"""Exercise 12: the encoder layer, where one x is used four times."""

import numpy as np

from ...attention import ScaledDotProductAttention
from ...encoder import EncoderLayer
from ..exercise import Case, exercise, layer
from .multi_head import ALL

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
ENCODER_LAYER.made_like = lambda cls, ours: cls(
    ours.self_attention.d_model, ours.feed_forward.linear_1.d_out, ours.self_attention.h,
    P_drop=ours.add_norm_1.dropout.P_drop, rng=np.random.default_rng(),
)


def of_sizes(d_model, d_ff, h, P_drop=0.0):
    """Make an encoder layer of these sizes."""
    return lambda cls: cls(d_model, d_ff, h, P_drop=P_drop, rng=np.random.default_rng(0))


def without_weights(cls):
    """Make one that drops every weight of the attention."""
    layer = of_sizes(6, 7, 2)(cls)
    layer.self_attention.attention = ScaledDotProductAttention(ALL)
    return layer


@ENCODER_LAYER.tried_on
def cases(rng):
    allowed = np.ones((2, 1, 1, 5), dtype=bool)
    allowed[1, ..., 3:] = False
    return [
        Case("x (2, 5, 6)", of_sizes(6, 7, 2), (rng.standard_normal((2, 5, 6)),), {},
             dict(B=2, T=5, d_model=6, d_ff=7, h=2)),
        Case("x (3, 4, 8)", of_sizes(8, 5, 4), (rng.standard_normal((3, 4, 8)),), {},
             dict(B=3, T=4, d_model=8, d_ff=5, h=4)),
        Case("a mask", of_sizes(6, 7, 2), (rng.standard_normal((2, 5, 6)),), dict(allowed=allowed),
             dict(B=2, T=5, d_model=6, d_ff=7, h=2)),
        Case("dropout", of_sizes(6, 7, 2, ALL), (rng.standard_normal((2, 5, 6)),),
             dict(rng=np.random.default_rng(1)), special=True),
        Case("dropout on the weights", without_weights, (rng.standard_normal((2, 5, 6)),),
             dict(rng=np.random.default_rng(1)), special=True),
    ]


FIRST = [1, ("residual missing", "The residual sum around the self-attention is missing:"
             " LayerNorm(x + Sublayer(x)), not LayerNorm(Sublayer(x)).", 0)]
SECOND = [
    lambda new, old: new,
    ("residual missing", "The residual sum around the feed-forward network is missing:"
     " LayerNorm(x + Sublayer(x)), not LayerNorm(Sublayer(x)).", lambda new, old: 0),
    ("residual from the wrong x", "The second residual adds the x from before the self-attention."
     " It must be the output of the first Add & Norm.", lambda new, old: old),
]
FED = [True, ("residual from the wrong x", "The feed-forward network reads the x from before the"
              " self-attention. It must read the output of the first Add & Norm.", False)]
NORMS = [
    lambda first, second: (first, second),
    ("norms exchanged", "add_norm_1 and add_norm_2 are exchanged. Each has a gamma and a beta of"
     " its own.", lambda first, second: (second, first)),
    ("one norm twice", "add_norm_1 is used in both places. The second is add_norm_2, with a gamma"
     " and a beta of its own.", lambda first, second: (first, first)),
    ("norm missing", "The layer norms are missing.", lambda *_: (lambda x: x, lambda x: x)),
    ("norm missing", "The first layer norm is missing.", lambda _, second: (lambda x: x, second)),
    ("norm missing", "The second layer norm is missing.", lambda first, _: (first, lambda x: x)),
]
PRE = [False, ("pre-norm", "This is pre-norm, x + Sublayer(LayerNorm(x)). The paper's is post-norm,"
               " LayerNorm(x + Sublayer(x)).", True)]
MASKED = [True, ("mask ignored", "The mask does not reach the self-attention: pass allowed=allowed"
                 " on.", False)]


@ENCODER_LAYER.family("forward", first=FIRST, second=SECOND, fed=FED, norms=NORMS, pre=PRE,
                      masked=MASKED)
def output(layer, x, allowed=None, *, first, second, fed, norms, pre, masked):
    def attend(x):
        return layer.self_attention(x, x, x, allowed=allowed if masked else None)
    norm_1, norm_2 = norms(layer.add_norm_1.layer_norm, layer.add_norm_2.layer_norm)
    if pre:
        new = first * x + attend(norm_1(x))
        return second(new, x) + layer.feed_forward(norm_2(new if fed else x))
    new = norm_1(first * x + attend(x))
    return norm_2(second(new, x) + layer.feed_forward(new if fed else x))


@ENCODER_LAYER.mistake("forward", "feed-forward first")
def other_order(layer, x, allowed=None):
    """The feed-forward network comes before the self-attention. In Fig. 1 it comes after it."""
    x = layer.add_norm_1(x, layer.feed_forward(x))
    return layer.add_norm_2(x, layer.self_attention(x, x, x, allowed=allowed))


@ENCODER_LAYER.mistake("forward", "dropout missing")
def no_dropout(layer, x, allowed=None, rng=None):
    """There is no dropout, though forward has been given an rng: pass rng=rng on to both AddNorms,
    and to the attention."""
    return layer(x, allowed=allowed)


@ENCODER_LAYER.mistake("forward", "dropout missing")
def no_dropout_of_weights(layer, x, allowed=None, rng=None):
    """The attention does not get the rng: pass rng=rng on, since it may drop weights."""
    x = layer.add_norm_1(x, layer.self_attention(x, x, x, allowed=allowed), rng=rng)
    return layer.add_norm_2(x, layer.feed_forward(x), rng=rng)


@ENCODER_LAYER.mistake("forward", "dropout on x")
def dropout_on_x(layer, x, allowed=None, rng=None):
    """Dropout falls on x, and not on the output of the sub-layer: the order is
    add_norm(x, sublayer_output)."""
    attended = layer.self_attention(x, x, x, allowed=allowed, rng=rng)
    x = layer.add_norm_1(attended, x, rng=rng)
    return layer.add_norm_2(layer.feed_forward(x), x, rng=rng)


SUM = "a sum hands its gradient to both of its terms."
USES = "x is query, key and value: grad_Q + grad_K + grad_V."
RESIDUAL_1 = [1, ("residual missing in backward", "The residual around the self-attention is lost:"
                  f" {SUM}", 0)]
RESIDUAL_2 = [1, ("residual missing in backward", "The residual around the feed-forward network is"
                  f" lost: {SUM}", 0)]
THROUGH = [1, ("sub-layer missing in backward", "The gradient through the feed-forward network is"
               " lost: it is added to that of the residual.", 0),
           ("sub-layer counted twice", "The gradient through the feed-forward network is added"
            " twice.", 2)]
KEPT = [
    (1, 1, 1),
    ("uses of x lost", f"Only the queries' gradient counts. {USES}", (1, 0, 0)),
    ("uses of x lost", f"Only the keys' gradient counts. {USES}", (0, 1, 0)),
    ("uses of x lost", f"Only the values' gradient counts. {USES}", (0, 0, 1)),
    ("uses of x lost", f"The queries' gradient is lost. {USES}", (0, 1, 1)),
    ("uses of x lost", f"The keys' gradient is lost. {USES}", (1, 0, 1)),
    ("uses of x lost", f"The values' gradient is lost. {USES}", (1, 1, 0)),
    ("uses of x lost", f"The three gradients are averaged, not added. {USES}", (1 / 3,) * 3),
    ("sub-layer missing in backward", "The gradient through the self-attention is lost: it is added"
     " to that of the residual.", (0, 0, 0)),
]


@ENCODER_LAYER.family("backward", residual_1=RESIDUAL_1, residual_2=RESIDUAL_2, through=THROUGH,
                      kept=KEPT)
def gradient(layer, grad_y, x, allowed=None, *, residual_1, residual_2, through, kept):
    _, cache = layer.forward(x, allowed=allowed)
    grad_new, grad_fed = layer.add_norm_2.backward(grad_y, cache.add_norm_2)
    fed = layer.feed_forward.backward(grad_fed, cache.feed_forward)
    grad_new = residual_2 * grad_new + through * fed
    grad_x, grad_attended = layer.add_norm_1.backward(grad_new, cache.add_norm_1)
    grads = layer.self_attention.backward(grad_attended, cache.self_attention)
    return dict(grad_x=residual_1 * grad_x + sum(k * g for k, g in zip(kept, grads)))
