"""Pre-norm layers: x + Dropout(Sublayer(Norm(x))), for `encoder_layer=` and `decoder_layer=`.

The paper normalises after the residual sum (post-norm). Here the sum runs through the whole stack
without a norm, and gradients reach the first layer without passing a norm. In exchange the stack
needs one norm at its end. Transformer adds this norm; its class is `stack_norm`. A layer that
wraps one of these layers needs it too, unless the wrapper normalises and has `stack_norm = None`.
"""

from typing import Any

import numpy as np

from ..checks import check_layer_options
from ..dropout import Dropout
from ..feed_forward import PositionwiseFeedForward
from ..layer_norm import LayerNorm
from ..module import Cache, Module, Rng
from ..multi_head import MultiHeadAttention


class PreNormEncoderLayer(Module):
    """x = x + Dropout(Attention(Norm(x)));  x = x + Dropout(FFN(Norm(x)))    Xiong et al., 2020

    The signature and the inputs are those of EncoderLayer. A subclass may set another
    `stack_norm`, such as RMSNorm. Then its layers use this norm too.
    """
    formula = "x = x + Dropout(Attention(Norm(x)));  x = x + Dropout(FFN(Norm(x)))"
    kept_at = ("",)

    stack_norm: Any = LayerNorm

    def __init__(self, d_model: int, d_ff: int, h: int, *, P_drop: float = 0.1,
                 d_k: int | None = None, d_v: int | None = None, attention: Any = None,
                 rng: Rng) -> None:
        check_layer_options(d_model, d_ff, h, d_k, d_v, P_drop, rng)
        heads = dict(d_k=d_k, d_v=d_v, attention=attention, rng=rng)
        self.norm_1 = self.stack_norm(d_model)
        self.self_attention = MultiHeadAttention(d_model, h, **heads)
        self.norm_2 = self.stack_norm(d_model)
        self.feed_forward: Module = PositionwiseFeedForward(d_model, d_ff, rng=rng)
        self.dropout = Dropout(P_drop)

    def forward(self, x: np.ndarray, *, allowed: np.ndarray | None = None,
                rng: Rng = None) -> tuple[np.ndarray, Cache]:
        c = Cache()
        n, c.norm_1 = self.norm_1.forward(x)
        attended, c.self_attention = self.self_attention.forward(n, n, n, allowed=allowed, rng=rng)
        dropped, c.dropout_1 = self.dropout.forward(attended, rng=rng)
        x = x + dropped
        n, c.norm_2 = self.norm_2.forward(x)
        fed, c.feed_forward = self.feed_forward.forward(n)
        dropped, c.dropout_2 = self.dropout.forward(fed, rng=rng)
        return x + dropped, c

    def backward(self, grad_y: np.ndarray, cache: Cache) -> np.ndarray:
        # y = x + dropout(feed_forward(norm_2(x)))
        grad_fed = self.dropout.backward(grad_y, cache.dropout_2)
        grad_n = self.feed_forward.backward(grad_fed, cache.feed_forward)
        grad_x = grad_y + self.norm_2.backward(grad_n, cache.norm_2)
        # x = x + dropout(self_attention(n, n, n)),  n = norm_1(x)
        grad_attended = self.dropout.backward(grad_x, cache.dropout_1)
        grad_Q, grad_K, grad_V = self.self_attention.backward(grad_attended, cache.self_attention)
        return grad_x + self.norm_1.backward(grad_Q + grad_K + grad_V, cache.norm_1)


class PreNormDecoderLayer(Module):
    """The same three times: self-attention, attention over the memory, feed-forward

    The signature and the inputs are those of DecoderLayer. The memory is already normalised.
    """
    formula = "The same three times: self-attention, attention over the memory, feed-forward"
    position_wise = True

    stack_norm = LayerNorm

    def __init__(self, d_model: int, d_ff: int, h: int, *, P_drop: float = 0.1,
                 d_k: int | None = None, d_v: int | None = None, attention: Any = None,
                 rng: Rng) -> None:
        check_layer_options(d_model, d_ff, h, d_k, d_v, P_drop, rng)
        heads = dict(d_k=d_k, d_v=d_v, attention=attention, rng=rng)
        self.norm_1 = self.stack_norm(d_model)
        self.self_attention = MultiHeadAttention(d_model, h, **heads)
        self.norm_2 = self.stack_norm(d_model)
        self.cross_attention = MultiHeadAttention(d_model, h, **heads)
        self.norm_3 = self.stack_norm(d_model)
        self.feed_forward = PositionwiseFeedForward(d_model, d_ff, rng=rng)
        self.dropout = Dropout(P_drop)

    def forward(self, x: np.ndarray, memory: np.ndarray, *, allowed: np.ndarray | None = None,
                memory_allowed: np.ndarray | None = None,
                rng: Rng = None) -> tuple[np.ndarray, Cache]:
        c = Cache()
        n, c.norm_1 = self.norm_1.forward(x)
        attended, c.self_attention = self.self_attention.forward(n, n, n, allowed=allowed, rng=rng)
        dropped, c.dropout_1 = self.dropout.forward(attended, rng=rng)
        x = x + dropped
        n, c.norm_2 = self.norm_2.forward(x)
        attended, c.cross_attention = self.cross_attention.forward(
            n, memory, memory, allowed=memory_allowed, rng=rng
        )
        dropped, c.dropout_2 = self.dropout.forward(attended, rng=rng)
        x = x + dropped
        n, c.norm_3 = self.norm_3.forward(x)
        fed, c.feed_forward = self.feed_forward.forward(n)
        dropped, c.dropout_3 = self.dropout.forward(fed, rng=rng)
        return x + dropped, c

    def backward(self, grad_y: np.ndarray, cache: Cache) -> tuple[np.ndarray, np.ndarray]:
        # y = x + dropout(feed_forward(norm_3(x)))
        grad_fed = self.dropout.backward(grad_y, cache.dropout_3)
        grad_n = self.feed_forward.backward(grad_fed, cache.feed_forward)
        grad_x = grad_y + self.norm_3.backward(grad_n, cache.norm_3)
        # x = x + dropout(cross_attention(norm_2(x), memory, memory))
        grad_attended = self.dropout.backward(grad_x, cache.dropout_2)
        grad_n, grad_K, grad_V = self.cross_attention.backward(grad_attended, cache.cross_attention)
        grad_memory = grad_K + grad_V
        grad_x = grad_x + self.norm_2.backward(grad_n, cache.norm_2)
        # x = x + dropout(self_attention(n, n, n)),  n = norm_1(x)
        grad_attended = self.dropout.backward(grad_x, cache.dropout_1)
        grad_Q, grad_K, grad_V = self.self_attention.backward(grad_attended, cache.self_attention)
        grad_x = grad_x + self.norm_1.backward(grad_Q + grad_K + grad_V, cache.norm_1)
        return grad_x, grad_memory
