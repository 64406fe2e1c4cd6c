"""Smooth activations of later models, instead of ReLU in the feed-forward network."""

import math

import numpy as np
from numpy.polynomial import chebyshev

from ..checks import check_array, check_gradient
from ..linear import Linear
from ..module import Cache, Module, Rng

FAR = 6.0  # erf(6) rounds to 1 in float64
MIDDLE = 3.75  # the fit below uses t = 1 + 2 MIDDLE / FAR (z - FAR) / (z + MIDDLE), -1 to 1
BLOCK = 64 * 1024  # numbers at a time, so that the temporary arrays fit the processor cache


def fit_erf(degree):
    """Return coefficients of a polynomial in t, (1 + 2z) exp(z^2) (1 - erf(z)) for 0 <= z <= 6.

    Shepherd and Laframboise (1981) use this form. The values are fitted to Python's `math.erfc`.
    """
    t = np.cos(math.pi * (np.arange(degree + 1) + 0.5) / (degree + 1))
    z = FAR * (1 + t) / (2 + FAR / MIDDLE * (1 - t))
    values = [(1 + 2 * x) * math.exp(x * x) * math.erfc(x) for x in z]
    return chebyshev.cheb2poly(chebyshev.chebfit(t, values, degree))


ERF = fit_erf(9), fit_erf(20)  # for 32 bits, and for more


def erf(x):
    """Return the error function, 2 / sqrt(pi) * integral of exp(-t^2) from 0 to x, to about 1e-15.

    NumPy has no erf. Every step here is analytic, as the complex step of the gradient check needs.
    """
    sign = np.copysign(1.0, x.real)
    z = np.minimum(sign * x, FAR)                                      # complex: by the real parts
    t = 1 + 2 * MIDDLE / FAR * (z - FAR) / (z + MIDDLE)
    *terms, last = ERF[x.dtype.itemsize > 4].astype(x.dtype)
    y = np.full_like(t, last)
    for term in terms[::-1]:                                           # Horner, in place
        y *= t
        y += term
    return sign * (1 - np.exp(-z * z) / (1 + 2 * z) * y)


class GELU(Module):
    """y = x Phi(x),   Phi(x) = (1 + erf(x / sqrt(2))) / 2         Hendrycks and Gimpel, 2016

    x of any shape   ->   the same shape. Phi is the distribution function of N(0, 1).
    backward: dy/dx = Phi(x) + x phi(x), where phi(x) = exp(-x^2 / 2) / sqrt(2 pi)
    """
    formula = "y = x Phi(x)"
    position_wise = True

    def forward(self, x: np.ndarray) -> tuple[np.ndarray, Cache]:
        check_array("x", x)
        blocks = np.array_split(x.ravel(), x.size // BLOCK + 1)
        phi = np.concatenate([(1 + erf(z / math.sqrt(2))) / 2 for z in blocks]).reshape(x.shape)
        return x * phi, Cache(x=x, phi=phi, freeze="x")

    def backward(self, grad_y: np.ndarray, cache: Cache) -> np.ndarray:
        check_gradient(grad_y, cache.x.shape, cache.x.dtype)
        # y = x * Phi(x)
        density = np.exp(-cache.x * cache.x / 2) / math.sqrt(2 * math.pi)
        return grad_y * (cache.phi + cache.x * density)


class TanhGELU(Module):
    """y = x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2      GPT-2's form of GELU

    x of any shape   ->   the same shape
    backward: u = sqrt(2 / pi) (x + 0.044715 x^3) has du/dx = sqrt(2 / pi) (1 + 3 * 0.044715 x^2),
    and d tanh(u)/du = 1 - tanh(u)^2
    """
    formula = "y = x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2"
    position_wise = True

    def forward(self, x: np.ndarray) -> tuple[np.ndarray, Cache]:
        check_array("x", x)
        t = np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * (x * x * x)))
        return x * (1 + t) / 2, Cache(x=x, t=t, freeze="x")

    def backward(self, grad_y: np.ndarray, cache: Cache) -> np.ndarray:
        check_gradient(grad_y, cache.x.shape, cache.x.dtype)
        x, t = cache.x, cache.t
        # y = x * (1 + t) / 2,   t = tanh(u)
        slope_u = math.sqrt(2 / math.pi) * (1 + 3 * 0.044715 * x * x)
        return grad_y * ((1 + t) / 2 + x * (1 - t * t) * slope_u / 2)


class SiLU(Module):
    """y = x / (1 + exp(-x))                            Elfwing et al., 2017; also called swish

    x of any shape   ->   the same shape
    backward: y = x s with s = 1 / (1 + exp(-x)), and ds/dx = s (1 - s), so dy/dx = s + x s (1 - s)
    """
    formula = "y = x / (1 + exp(-x))"
    position_wise = True

    def forward(self, x: np.ndarray) -> tuple[np.ndarray, Cache]:
        check_array("x", x)
        s = (1 + np.tanh(x / 2)) / 2                   # = 1 / (1 + exp(-x)), without overflow
        return x * s, Cache(x=x, s=s, freeze="x")

    def backward(self, grad_y: np.ndarray, cache: Cache) -> np.ndarray:
        check_gradient(grad_y, cache.x.shape, cache.x.dtype)
        # y = x * s
        return grad_y * (cache.s + cache.x * cache.s * (1 - cache.s))


class FeedForward(Module):
    """FFN(x) = activation(x W_1 + b_1) W_2 + b_2            Eq. (2) with another activation

    x (..., d_model)   ->   (..., d_model), through d_ff.   activation: a layer without parameters
    """
    formula = "FFN(x) = activation(x W_1 + b_1) W_2 + b_2"
    position_wise = True

    def __init__(self, d_model: int, d_ff: int, *, activation: Module, rng: Rng) -> None:
        self.linear_1 = Linear(d_model, d_ff, rng=rng)
        self.activation = activation
        self.linear_2 = Linear(d_ff, d_model, rng=rng)

    def forward(self, x: np.ndarray) -> tuple[np.ndarray, Cache]:
        check_array("x", x, last=("d_model", self.linear_1.d_in), parameter=self.linear_1.W)
        cache = Cache()
        hidden, cache.linear_1 = self.linear_1.forward(x)              # (..., d_ff)
        active, cache.activation = self.activation.forward(hidden)
        y, cache.linear_2 = self.linear_2.forward(active)              # (..., d_model)
        return y, cache

    def backward(self, grad_y: np.ndarray, cache: Cache) -> np.ndarray:
        grad_active = self.linear_2.backward(grad_y, cache.linear_2)   # (..., d_ff)
        grad_hidden = self.activation.backward(grad_active, cache.activation)
        return self.linear_1.backward(grad_hidden, cache.linear_1)     # (..., d_model)
