"""Other normalisations: by the root mean square alone, and over the batch."""

from typing import Any

import numpy as np

from ..checks import check_array, check_gradient, check_number, check_sizes
from ..module import Cache, Module, Parameter


class RMSNorm(Module):
    """y = gamma * n,   n = x / sqrt(mean(x^2) + eps)                  Zhang and Sennrich, 2019

    x (..., d_model)   gamma (d_model,)   ->   (..., d_model)
    It is LayerNorm without the mean and without beta. It normalises the scale of a position, but
    not its offset.

    backward, with g = grad_y * gamma and s = sqrt(mean(x^2) + eps): dn_j/dx_k = (1[j = k] -
    n_j n_k / d) / s, so   grad_x_k = (g_k - n_k mean(g n)) / s
    """
    formula = "y = gamma * n"
    position_wise = True

    def __init__(self, d_model: int, eps: float = 1e-06) -> None:
        check_sizes(d_model=d_model)
        check_number("eps", eps, 0, 1)
        self.d_model, self.eps = d_model, float(eps)
        self.gamma = Parameter(np.ones(d_model))

    def forward(self, x: np.ndarray) -> tuple[np.ndarray, Cache]:
        check_array("x", x, last=("d_model", self.d_model), parameter=self.gamma)
        mean_square = (x * x).mean(axis=-1, keepdims=True)             # (..., 1)
        inv_rms = 1 / np.sqrt(mean_square + self.eps)                  # (..., 1)
        normalised = x * inv_rms                                       # (..., d_model)
        return self.gamma.value * normalised, Cache(
            normalised=normalised, inv_rms=inv_rms, freeze="normalised")

    def backward(self, grad_y: np.ndarray, cache: Cache) -> np.ndarray:
        n = cache.normalised
        check_gradient(grad_y, n.shape, n.dtype)
        # y = gamma * n
        self.gamma.grad += (grad_y * n).sum(axis=tuple(range(n.ndim - 1)))  # (d_model,)
        grad_n = grad_y * self.gamma.value                             # (..., d_model)
        # n = x * inv_rms
        mean_grad_n = (grad_n * n).mean(axis=-1, keepdims=True)        # (..., 1)
        return cache.inv_rms * (grad_n - n * mean_grad_n)              # (..., d_model)


class BatchNorm(Module):
    """y = gamma * n + beta,   n = (x - mean) / sqrt(variance + eps)   Ioffe and Szegedy, 2015

    x (..., d_model)   gamma, beta (d_model,)   ->   (..., d_model)
    Mean and variance of each feature are taken over all positions of all sequences, padding too.
    So the output for one sequence depends on the others in its batch. With `statistics=(mean,
    variance)`, both (d_model,), the layer takes these constants instead, in the dtype of x, as in
    inference. Raises ValueError for another shape. The layer keeps no running average, because a
    layer has nothing but parameters.

    backward: as LayerNorm, with the means over the rows instead of over the features.
    """
    formula = "y = gamma * n + beta"

    def __init__(self, d_model: int, eps: float = 1e-05) -> None:
        check_sizes(d_model=d_model)
        check_number("eps", eps, 0, 1, open_low=True)
        self.d_model, self.eps = d_model, float(eps)
        self.gamma = Parameter(np.ones(d_model))
        self.beta = Parameter(np.zeros(d_model))

    def forward(self, x: np.ndarray, *,
                statistics: Any = None) -> tuple[np.ndarray, Cache]:
        check_array("x", x, last=("d_model", self.d_model), parameter=self.gamma, min_ndim=2)
        rows = x.reshape(-1, self.d_model)                             # (rows, d_model)
        count = max(len(rows), 1)                                      # a batch of 0 has no mean
        fixed = statistics is not None
        if fixed:
            check_statistics(statistics, self.d_model)
            statistics = [np.asarray(s).astype(x.dtype) for s in statistics]
        mean = statistics[0] if fixed else rows.sum(axis=0) / count
        centred = rows - mean                                          # (rows, d_model)
        variance = statistics[1] if fixed else (centred * centred).sum(axis=0) / count
        inv_std = 1 / np.sqrt(variance + self.eps)                     # (d_model,)
        n = centred * inv_std
        y = self.gamma.value * n + self.beta.value
        cache = Cache(normalised=n, inv_std=inv_std, mean=mean, variance=variance, shape=x.shape,
                      fixed=fixed, freeze=None)
        return y.reshape(x.shape), cache

    def backward(self, grad_y: np.ndarray, cache: Cache) -> np.ndarray:
        check_gradient(grad_y, cache.shape, cache.normalised.dtype)
        n, count = cache.normalised, max(len(cache.normalised), 1)
        grad_rows = grad_y.reshape(n.shape)                            # (rows, d_model)
        # y = gamma * n + beta
        self.beta.grad += grad_rows.sum(axis=0)                        # (d_model,)
        self.gamma.grad += (grad_rows * n).sum(axis=0)                 # (d_model,)
        grad_n = grad_rows * self.gamma.value                          # (rows, d_model)
        # n = (x - mean) * inv_std
        if not cache.fixed:
            mean_grad, mean_grad_n = grad_n.sum(axis=0) / count, (grad_n * n).sum(axis=0) / count
            grad_n = grad_n - mean_grad - n * mean_grad_n
        return (cache.inv_std * grad_n).reshape(cache.shape)           # (..., d_model)


def check_statistics(statistics, d_model):
    """Check that `statistics` is (mean, variance), each with one number for every feature."""
    shapes = [np.shape(s) for s in statistics]
    if shapes != [(d_model,), (d_model,)]:
        raise ValueError(f"statistics must be (mean, variance), both of shape ({d_model},), got"
                         f" shapes {shapes}")
