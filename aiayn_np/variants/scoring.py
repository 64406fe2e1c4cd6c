"""Scores of a key for a query: Bahdanau et al. (2015) and Luong et al. (2015).

Sec. 3.2.1 names two common attentions, "additive" and "dot-product", and takes the second with a
scale. This file has both without the scale, and Luong's "general" and "concat". Each score is a
layer with forward(Q, K) -> scores. ScoredAttention makes an attention of any of them.
"""

import math

import numpy as np

from ..checks import (
    check_array,
    check_attention_shapes,
    check_gradient,
    check_memory,
    check_rng,
    check_same_dtype,
    check_sizes,
    is_layer,
)
from ..dropout import Dropout
from ..masking import Mask
from ..module import Cache, Module, Parameter, Rng
from ..softmax import Softmax


def check_pairs(names, x, y):
    """Check (..., T_q, n) and (..., T_k, n): equal dtypes, and shapes equal but for the lengths."""
    for name, array in zip(names, (x, y)):
        check_array(name, array, min_ndim=2)
    check_same_dtype(**dict(zip(names, (x, y))))
    alike = (*x.shape[:-2], x.shape[-1]) == (*y.shape[:-2], y.shape[-1])
    if not alike or x.shape[-2] == 0 or y.shape[-2] == 0:
        raise ValueError(f"{names[0]} and {names[1]} must have one shape but for their lengths,"
                         f" which must be at least 1, got {x.shape} and {y.shape}")


def check_heads_of(Q, K, W, d_k):
    """Check Q (..., h, T_q, d_k) and K (..., h, T_k, d_k) against a parameter W (h, ...)."""
    for name, x in (("Q", Q), ("K", K)):
        check_array(name, x, last=("d_k", d_k), parameter=W, min_ndim=3)
        if x.shape[-3] != len(W.value):
            raise ValueError(f"{name} must have h={len(W.value)} on axis -3, got shape {x.shape}")
    check_pairs(("Q", "K"), Q, K)


def check_part(name, layer, call):
    """Check that a part of an attention is a layer called as `call`, not a class or factory."""
    if not is_layer(layer):
        raise TypeError(f"{name} must be a layer with {call}, got {layer!r}")


def sum_leading(x):
    """Sum (..., h, m, n) over all sequences to (h, m, n), for a parameter of h heads."""
    return x.reshape(-1, *x.shape[-3:]).sum(axis=0)


class DotScore(Module):
    """score(q, k) = q . k                                             Luong et al. "dot", no scale

    Q (..., T_q, d_k)   K (..., T_k, d_k)   ->   scores (..., T_q, T_k)
    If q and k have entries of variance 1, the score has variance d_k, hence the paper's scale.

    backward: scores_ij = sum_a Q_ia K_ja, so
    grad_Q_ia = sum_j grad_scores_ij K_ja   and   grad_K_ja = sum_i grad_scores_ij Q_ia
    """
    formula = "score(q, k) = q . k"
    position_wise = True

    def forward(self, Q: np.ndarray, K: np.ndarray) -> tuple[np.ndarray, Cache]:
        check_pairs(("Q", "K"), Q, K)
        return Q @ K.mT, Cache(Q=Q, K=K)                               # (..., T_q, T_k)

    def backward(self, grad_scores: np.ndarray, cache: Cache) -> tuple[np.ndarray, np.ndarray]:
        Q, K = cache.Q, cache.K
        check_gradient(grad_scores, (*Q.shape[:-1], K.shape[-2]), Q.dtype, "grad_scores")
        # scores = Q @ K.mT
        grad_K = grad_scores.mT @ Q                                    # (..., T_k, d_k)
        grad_Q = grad_scores @ K                                       # (..., T_q, d_k)
        return grad_Q, grad_K


class GeneralScore(Module):
    """score(q, k) = q^T W k                        Luong et al. "general", multiplicative attention

    Q (..., h, T_q, d_k)   K (..., h, T_k, d_k)   W (h, d_k, d_k)   ->   scores (..., h, T_q, T_k)
    W is drawn N(0, 1/d_k^2): for q and k with entries of variance 1 the d_k^2 products sum to a
    score of variance 1. With q = x W^Q and k = x W^K the score is a dot product again, of x W^Q W
    and k: in multi-head attention W adds parameters, but no new function. rng=None leaves W empty.

    backward: scores_ij = sum_b mapped_ib K_jb with mapped_ib = sum_a Q_ia W_ab, so
    grad_mapped_ib = sum_j grad_scores_ij K_jb,    grad_K_jb = sum_i grad_scores_ij mapped_ib,
    grad_W_ab = sum_i Q_ia grad_mapped_ib, over all sequences too,   and
    grad_Q_ia = sum_b grad_mapped_ib W_ab
    """
    formula = "score(q, k) = q^T W k"
    position_wise = True

    def __init__(self, h: int, d_k: int, *, rng: Rng) -> None:
        check_sizes(h=h, d_k=d_k)
        check_rng(rng, or_none=True)
        self.h, self.d_k = h, d_k
        self.W = Parameter.normal(1 / d_k, (h, d_k, d_k), rng)

    def forward(self, Q: np.ndarray, K: np.ndarray) -> tuple[np.ndarray, Cache]:
        check_heads_of(Q, K, self.W, self.d_k)
        mapped = Q @ self.W.value                                      # (..., h, T_q, d_k)
        return mapped @ K.mT, Cache(Q=Q, K=K, mapped=mapped)           # (..., h, T_q, T_k)

    def backward(self, grad_scores: np.ndarray, cache: Cache) -> tuple[np.ndarray, np.ndarray]:
        Q, K, mapped = cache.Q, cache.K, cache.mapped
        check_gradient(grad_scores, (*Q.shape[:-1], K.shape[-2]), Q.dtype, "grad_scores")
        # scores = mapped @ K.mT
        grad_K = grad_scores.mT @ mapped                               # (..., h, T_k, d_k)
        grad_mapped = grad_scores @ K                                  # (..., h, T_q, d_k)
        # mapped = Q @ W
        self.W.grad += sum_leading(Q.mT @ grad_mapped)                 # (h, d_k, d_k)
        grad_Q = grad_mapped @ self.W.value.mT                         # (..., h, T_q, d_k)
        return grad_Q, grad_K


class PairTanh(Module):
    """hidden_ij = tanh(x_i + y_j): the hidden layer of a perceptron, at every pair.

    x (..., T_q, d_a)   y (..., T_k, d_a)   ->   hidden (..., T_q, T_k, d_a)

    backward: d tanh(s) / ds = 1 - tanh(s)^2, so grad_sum_ija = grad_hidden_ija (1 - hidden_ija^2);
    x_i is in the pairs with every j, and y_j is in the pairs with every i, so
    grad_x_ia = sum_j grad_sum_ija   and   grad_y_ja = sum_i grad_sum_ija
    """
    formula = "hidden_ij = tanh(x_i + y_j)"
    position_wise = True

    def forward(self, x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, Cache]:
        check_pairs(("x", "y"), x, y)
        check_memory((*x.shape[:-1], *y.shape[-2:]), x.dtype)
        hidden = np.tanh(x[..., :, None, :] + y[..., None, :, :])      # (..., T_q, T_k, d_a)
        return hidden, Cache(hidden=hidden)

    def backward(self, grad_hidden: np.ndarray, cache: Cache) -> tuple[np.ndarray, np.ndarray]:
        hidden = cache.hidden
        check_gradient(grad_hidden, hidden.shape, hidden.dtype, "grad_hidden")
        # hidden = tanh(x + y)
        grad_sum = grad_hidden * (1 - hidden * hidden)                 # (..., T_q, T_k, d_a)
        grad_y = grad_sum.sum(axis=-3)                                 # (..., T_k, d_a)
        grad_x = grad_sum.sum(axis=-2)                                 # (..., T_q, d_a)
        return grad_x, grad_y


class AdditiveScore(Module):
    """score(q, k) = v^T tanh(W^T q + U^T k)         Bahdanau et al., additive attention; Sec. 3.2.1

    Q (..., h, T_q, d_k)   K (..., h, T_k, d_k)   ->   scores (..., h, T_q, T_k)
    W, U (h, d_k, d_a)   v (h, d_a)   d_a = d_k by default
    W and U are drawn N(0, 1/(2 d_k)), v N(0, 1/d_a). For q and k with entries of variance 1 the sum
    inside tanh has variance 1. Its tanh has variance 0.4, and so has the score, for any d_k and
    d_a. So no scale is needed. (Sec. 3.2.1: for large d_k it outperforms the unscaled dot product.)
    rng=None leaves W, U and v empty.

    backward: scores_ij = sum_a hidden_ija v_a, so
    grad_hidden_ija = grad_scores_ij v_a   and   grad_v_a = sum_ij grad_scores_ij hidden_ija;
    then through PairTanh (see there) to grad_x, grad_y. x = Q W and y = K U are linear maps.
    """
    formula = "score(q, k) = v^T tanh(W^T q + U^T k)"
    position_wise = True

    def __init__(self, h: int, d_k: int, *, d_a: int | None = None, rng: Rng) -> None:
        d_a = d_k if d_a is None else d_a
        check_sizes(h=h, d_k=d_k, d_a=d_a)
        check_rng(rng, or_none=True)
        self.h, self.d_k, self.d_a = h, d_k, d_a
        self.W = Parameter.normal(math.sqrt(1 / (2 * d_k)), (h, d_k, d_a), rng)
        self.U = Parameter.normal(math.sqrt(1 / (2 * d_k)), (h, d_k, d_a), rng)
        self.pair_tanh = PairTanh()
        self.v = Parameter.normal(math.sqrt(1 / d_a), (h, d_a), rng)

    def forward(self, Q: np.ndarray, K: np.ndarray) -> tuple[np.ndarray, Cache]:
        check_heads_of(Q, K, self.W, self.d_k)
        cache = Cache(Q=Q, K=K)
        x, y = Q @ self.W.value, K @ self.U.value                      # (..., h, T_q or T_k, d_a)
        hidden, cache.pair_tanh = self.pair_tanh.forward(x, y)         # (..., h, T_q, T_k, d_a)
        scores = hidden @ self.v.value[:, None, :, None]               # (..., h, T_q, T_k, 1)
        return scores[..., 0], cache

    def backward(self, grad_scores: np.ndarray, cache: Cache) -> tuple[np.ndarray, np.ndarray]:
        Q, K, hidden = cache.Q, cache.K, cache.pair_tanh.hidden
        check_gradient(grad_scores, hidden.shape[:-1], Q.dtype, "grad_scores")
        # scores = hidden @ v
        grad_v = grad_scores[..., None, :] @ hidden                    # (..., h, T_q, 1, d_a)
        self.v.grad += sum_leading(grad_v[..., 0, :]).sum(axis=-2)     # (h, d_a)
        grad_hidden = grad_scores[..., None] * self.v.value[:, None, None, :]
        grad_x, grad_y = self.pair_tanh.backward(grad_hidden, cache.pair_tanh)
        # x, y = Q @ W, K @ U
        self.U.grad += sum_leading(K.mT @ grad_y)                      # (h, d_k, d_a)
        self.W.grad += sum_leading(Q.mT @ grad_x)
        grad_K = grad_y @ self.U.value.mT                              # (..., h, T_k, d_k)
        grad_Q = grad_x @ self.W.value.mT                              # (..., h, T_q, d_k)
        return grad_Q, grad_K


class ConcatScore(Module):
    """score(q, k) = v^T tanh(W^T [q; k])                              Luong et al. "concat"

    Q (..., h, T_q, d_k)   K (..., h, T_k, d_k)   ->   scores (..., h, T_q, T_k)
    W (h, 2 d_k, d_a), drawn N(0, 1/(2 d_k))   v (h, d_a), drawn N(0, 1/d_a)   d_a = d_k by default
    The first d_k rows of W multiply q, the others multiply k: W^T [q; k] = W_q^T q + W_k^T k. So
    this is AdditiveScore with W_q = W and W_k = U, and no array (T_q, T_k, 2 d_k) is built.
    rng=None leaves W and v empty.

    backward: as in AdditiveScore.
    """
    formula = "score(q, k) = v^T tanh(W^T [q; k])"
    position_wise = True

    def __init__(self, h: int, d_k: int, *, d_a: int | None = None, rng: Rng) -> None:
        d_a = d_k if d_a is None else d_a
        check_sizes(h=h, d_k=d_k, d_a=d_a)
        check_rng(rng, or_none=True)
        self.h, self.d_k, self.d_a = h, d_k, d_a
        self.W = Parameter.normal(math.sqrt(1 / (2 * d_k)), (h, 2 * d_k, d_a), rng)
        self.pair_tanh = PairTanh()
        self.v = Parameter.normal(math.sqrt(1 / d_a), (h, d_a), rng)

    def forward(self, Q: np.ndarray, K: np.ndarray) -> tuple[np.ndarray, Cache]:
        check_heads_of(Q, K, self.W, self.d_k)
        cache = Cache(Q=Q, K=K)
        W_q, W_k = np.split(self.W.value, 2, axis=-2)                  # (h, d_k, d_a) each
        hidden, cache.pair_tanh = self.pair_tanh.forward(Q @ W_q, K @ W_k)
        scores = hidden @ self.v.value[:, None, :, None]               # (..., h, T_q, T_k, 1)
        return scores[..., 0], cache

    def backward(self, grad_scores: np.ndarray, cache: Cache) -> tuple[np.ndarray, np.ndarray]:
        Q, K, hidden = cache.Q, cache.K, cache.pair_tanh.hidden
        check_gradient(grad_scores, hidden.shape[:-1], Q.dtype, "grad_scores")
        # scores = hidden @ v
        grad_v = grad_scores[..., None, :] @ hidden                    # (..., h, T_q, 1, d_a)
        self.v.grad += sum_leading(grad_v[..., 0, :]).sum(axis=-2)     # (h, d_a)
        grad_hidden = grad_scores[..., None] * self.v.value[:, None, None, :]
        grad_x, grad_y = self.pair_tanh.backward(grad_hidden, cache.pair_tanh)
        # x, y = Q @ W_q, K @ W_k
        W_q, W_k = np.split(self.W.value, 2, axis=-2)
        self.W.grad += sum_leading(np.concatenate([Q.mT @ grad_x, K.mT @ grad_y], axis=-2))
        return grad_x @ W_q.mT, grad_y @ W_k.mT                        # (..., h, T_q or T_k, d_k)


class ScoredAttention(Module):
    """Attention(Q, K, V) = softmax(score(Q, K)) V                     Sec. 3.2.1 with another score

    Q (..., T_q, d_k)   K (..., T_k, d_k)   V (..., T_k, d_v)   ->   (..., T_q, d_v)
    score: a layer (Q, K) -> scores (..., T_q, T_k), such as the four above.
    allowed: bool, True where query i may look at key j.

    backward: as in ScaledDotProductAttention, with the score in place of product and scale.
    """
    formula = "Attention(Q, K, V) = softmax(score(Q, K)) V"
    position_wise = True

    def __init__(self, score: Module, P_drop: float = 0.0) -> None:
        check_part("score", score, "forward(Q, K)")
        self.score = score
        self.mask = Mask()
        self.softmax = Softmax()
        self.dropout = Dropout(P_drop)

    def forward(self, Q: np.ndarray, K: np.ndarray, V: np.ndarray, *,
                allowed: np.ndarray | None = None, rng: Rng = None) -> tuple[np.ndarray, Cache]:
        check_attention_shapes(Q, K, V)
        check_memory((*Q.shape[:-1], K.shape[-2]), Q.dtype)
        cache = Cache(V=V)
        scores, cache.score = self.score.forward(Q, K)                     # (..., T_q, T_k)
        scores, cache.mask = self.mask.forward(scores, allowed=allowed)
        weights, cache.softmax = self.softmax.forward(scores)              # rows sum to 1
        cache.weights = weights                                            # the attention map
        kept, cache.dropout = self.dropout.forward(weights, rng=rng)
        cache.kept = kept
        return kept @ V, cache                                             # (..., T_q, d_v)

    def backward(self, grad_out: np.ndarray,
                 cache: Cache) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        check_gradient(grad_out, (*cache.kept.shape[:-1], cache.V.shape[-1]), cache.V.dtype)
        # out = kept @ V
        grad_kept = grad_out @ cache.V.mT                                  # (..., T_q, T_k)
        grad_V = cache.kept.mT @ grad_out                                  # (..., T_k, d_v)
        grad_weights = self.dropout.backward(grad_kept, cache.dropout)
        grad_scores = self.softmax.backward(grad_weights, cache.softmax)
        grad_scores = self.mask.backward(grad_scores, cache.mask)
        grad_Q, grad_K = self.score.backward(grad_scores, cache.score)
        return grad_Q, grad_K, grad_V


def dot_attention(h: int, d_k: int, d_v: int, rng: Rng) -> ScoredAttention:
    """Make the layer for Transformer(attention=dot_attention): the paper's without its scale."""
    return ScoredAttention(DotScore())


def general_attention(h: int, d_k: int, d_v: int, rng: Rng) -> ScoredAttention:
    """Make the layer for Transformer(attention=general_attention)."""
    return ScoredAttention(GeneralScore(h, d_k, rng=rng))


def concat_attention(h: int, d_k: int, d_v: int, rng: Rng) -> ScoredAttention:
    """Make the layer for Transformer(attention=concat_attention)."""
    return ScoredAttention(ConcatScore(h, d_k, rng=rng))


def additive_attention(h: int, d_k: int, d_v: int, rng: Rng) -> ScoredAttention:
    """Make the layer for Transformer(attention=additive_attention)."""
    return ScoredAttention(AdditiveScore(h, d_k, rng=rng))
