"""Layer normalisation: the "Norm" of "Add & Norm" in Fig. 1 (Sec. 3.1; Ba et al., 2016)."""

import numpy as np

from .checks import check_array, check_gradient, check_number, check_sizes
from .module import Cache, Module, Parameter
from .reductions import column_sum, row_mean


class LayerNorm(Module):
    """y = gamma * n + beta,   n = (x - mean) / sqrt(variance + eps)   Sec. 3.1

    x (..., d_model)   gamma, beta (d_model,)   ->   (..., d_model)
    Mean and variance (biased: divided by d_model) are taken over the features of one position.
    (x - mean)^2 must be finite: beyond |x| of 1e19 in float32, 1e154 in float64, n is 0.

    backward, with g = grad_y * gamma and s = sqrt(variance + eps): x_k moves n_j directly, through
    the mean and through the variance,   dn_j/dx_k = (1[j = k] - 1/d - n_j n_k / d) / s,   so
    grad_x_k = sum_j g_j dn_j/dx_k = (g_k - mean(g) - n_k mean(g n)) / s
    """
    formula = "y = gamma * n + beta"
    position_wise = True

    def __init__(self, d_model: int, eps: float = 1e-6):
        check_sizes(d_model=d_model)
        check_number("eps", eps, 0, 1)
        self.d_model, self.eps = d_model, float(eps)
        self.gamma = Parameter(np.ones(d_model))
        self.beta = Parameter(np.zeros(d_model))

    def forward(self, x):
        check_array("x", x, last=("d_model", self.d_model), parameter=self.gamma)
        centred = x - row_mean(x)                                      # (..., d_model)
        variance = row_mean(centred * centred)                         # (..., 1)
        inv_std = 1 / np.sqrt(variance + self.eps)                     # (..., 1)
        n = centred * inv_std                                          # (..., d_model)
        y = self.gamma.value * n
        y += self.beta.value
        return y, Cache(normalised=n, inv_std=inv_std, freeze="normalised")

    def backward(self, grad_y, cache):
        n = cache.normalised
        check_gradient(grad_y, n.shape, n.dtype)
        # y = gamma * n + beta
        self.beta.grad += column_sum(grad_y)                           # (d_model,)
        self.gamma.grad += column_sum(grad_y * n)                      # (d_model,)
        grad_n = grad_y * self.gamma.value                             # (..., d_model)
        # n = (x - mean) * inv_std: grad_x = inv_std * (grad_n - mean_grad - n * mean_grad_n)
        mean_grad = row_mean(grad_n)                                   # (..., 1)
        mean_grad_n = row_mean(grad_n * n)                             # (..., 1)
        grad_x = grad_n - mean_grad                                    # (..., d_model)
        grad_x -= n * mean_grad_n
        grad_x *= cache.inv_std
        return grad_x
