"""Softmax over the last axis: the "SoftMax" box of Fig. 2 (left)."""

import math

import numpy as np

from .checks import check_array, check_gradient
from .module import Cache, Module
from .reductions import row_max, row_sum


class Softmax(Module):
    """softmax(s)_j = exp(s_j) / sum_k exp(s_k)                       Sec. 3.2.1, Eq. (1)

    scores (..., n)   ->   weights (..., n), each row sums to 1
    A row of only -inf (a query that may attend to nothing) gives zeros, and gradient zero.

    backward, with w = softmax(s):  dw_j/ds_k = w_j (1[j = k] - w_k)   so
    grad_s_k = sum_j grad_w_j dw_j/ds_k = w_k (grad_w_k - sum_j grad_w_j w_j)
    """
    formula = "softmax(s)_j = exp(s_j) / sum_k exp(s_k)"
    position_wise = True

    def forward(self, scores):
        check_array("scores", scores)
        highest = row_max(scores)        # (..., 1); softmax(s) = softmax(s - max): no overflow
        highest = np.where(highest == -math.inf, 0.0, highest)         # a row of only -inf
        exp_scores = np.exp(scores - highest)                          # (..., n)
        total = row_sum(exp_scores)                                    # (..., 1), 0 for such a row
        weights = exp_scores / (total + (total == 0))                  # (..., n)
        return weights, Cache(y=weights, freeze="y")

    def backward(self, grad_weights, cache):
        weights = cache.y
        check_gradient(grad_weights, weights.shape, weights.dtype)
        # weights = exp(scores) / sum(exp(scores))
        mean_grad = row_sum(grad_weights * weights)         # (..., 1), mean under the weights
        return weights * (grad_weights - mean_grad)                    # (..., n)
