"""Layers of strangers: on numbers of every size, on kinks, in narrow types, in other styles.

Each entry of NUMBERS and STRANGERS is a function `make(rng, k)` that returns (layer, inputs).
Some gradient is multiplied by k: 1 in the right layer.
"""

import numpy as np

from aiayn_np import Parameter


def pair(f, derivative, draw):
    def make(rng, k):
        return (lambda x: (f(x), x), lambda dout, x: k * dout * derivative(x)), (draw(rng),)

    return make


def house_prices(rng, k):
    def loss(price, target):
        return ((price - target) ** 2).mean(), (price, target)

    def back(d, cache):
        return k * d * 2 * (cache[0] - cache[1]) / cache[0].size

    return (loss, back), (rng.uniform(1e5, 9e5, 20), rng.integers(10**5, 10**6, 20))


class Network:
    """Two matrices and an activation, in numbers of one type, whatever it is given."""

    dtype, slope = float, staticmethod(lambda h: h > 0)

    def __init__(self, rng, k):
        self.W, self.V = rng.standard_normal((4, 8)), rng.standard_normal((8, 3))
        self.b, self.k = np.zeros(8), k

    def activation(self, z):
        return np.where(z > 0, z, 0)

    def cast(self, x):
        return x if self.dtype is float else np.asarray(x, self.dtype)

    def forward(self, x):
        self.x = self.cast(x)
        self.h = self.activation(self.x @ self.cast(self.W) + self.cast(self.b))
        return self.h @ self.cast(self.V)

    def backward(self, dout):
        h = self.h.astype(float)
        self.dV = h.T @ dout
        g = dout @ self.V.T * self.slope(h)
        self.dW, self.db = self.x.T @ g, self.k * g.sum(0)
        return g @ self.W.T


class SingleNetwork(Network):
    dtype = np.float32


class SingleTanh(SingleNetwork):
    slope = staticmethod(lambda h: 1 - h**2)

    def activation(self, z):
        return np.tanh(z)


class HalfTanh(SingleTanh):
    dtype = np.float16


class HalfInside:
    """A hidden layer in a narrow type; the input, parameters and output are float64."""

    dtype: type = np.float16

    def __init__(self, rng, k):
        self.W, self.k = rng.standard_normal((4, 3)), k

    def forward(self, x):
        self.x = x
        self.h = np.tanh(x @ self.W).astype(self.dtype)
        return self.h.astype(float)

    def backward(self, dout):
        g = dout * (1 - self.h.astype(float) ** 2)
        self.dW = self.k * self.x.T @ g
        return g @ self.W.T


class SingleInside(HalfInside):
    dtype = np.float32


class HalfInput(HalfInside):
    def forward(self, x):
        self.x = x.astype(np.float16).astype(float)
        self.h = np.tanh(self.x @ self.W)
        return self.h


def padded(rng):
    return np.concatenate([rng.standard_normal((3, 4)), np.zeros((2, 4))])


def of(cls, draw):
    return lambda rng, k: (cls(rng, k), (draw(rng),))


def normal(rng):
    return rng.standard_normal((5, 4))


NUMBERS = {
    "prices": house_prices,
    "square at 1e6": pair(np.square, lambda x: 2 * x, lambda rng: 1e6 * normal(rng)),
    "sine at 1e6": pair(np.sin, np.cos, lambda rng: 1e6 * normal(rng)),
    "abs at 1e-5": pair(np.abs, np.sign, lambda rng: 1e-5 * normal(rng)),
    "log near 0": pair(np.log, lambda x: 1 / x, lambda rng: 10.0 ** rng.uniform(-7, -4, 6)),
    "padded": of(Network, padded),
}
ROUNDED = {
    "float32": of(SingleNetwork, normal), "padded, float32": of(SingleNetwork, padded),
    "tanh in float32": of(SingleTanh, normal), "float16": of(HalfTanh, normal),
    "float16 inside": of(HalfInside, normal), "float32 inside": of(SingleInside, normal),
}


# where the weights are, and how backward is called


class Affine:
    """The layer that the classes below vary: W in self, its gradient in dW."""

    def __init__(self, rng, k):
        self.W, self.k = rng.standard_normal((4, 4)), k

    def forward(self, x):
        self.x = x
        return x @ self.W

    def backward(self, dout):
        self.dW = self.k * self.x.T @ dout
        return dout @ self.W.T


class InAParameter(Affine):
    """The weight is a Parameter of the package, whose gradient is assigned; the layer is no Module.
    """

    def __init__(self, rng, k):
        super().__init__(rng, k)
        self.W = Parameter(self.W)

    def forward(self, x):
        self.x = x
        return x @ self.W.value

    def backward(self, dout):
        self.W.grad = self.W.grad + self.k * self.x.T @ dout
        return dout @ self.W.value.T


class OfTheClass(Affine):
    W = np.random.default_rng(3).standard_normal((4, 4))

    def __init__(self, rng, k):
        self.k = k

    def backward(self, dout):
        OfTheClass.dW = self.k * self.x.T @ dout
        return dout @ OfTheClass.W.T


WEIGHTS = np.random.default_rng(4).standard_normal((4, 4))


def in_a_global(rng, k):
    def backward(dout, x):
        return dout @ WEIGHTS.T, {"dWEIGHTS": k * x.T @ dout}

    return (lambda x: (x @ WEIGHTS, x), backward), (normal(rng),)


class Tied(Affine):
    """One array under two names, each with the gradient of its own use."""

    def __init__(self, rng, k):
        super().__init__(rng, k)
        self.W1 = self.W2 = self.__dict__.pop("W")

    def forward(self, x):
        self.x, self.h = x, np.tanh(x @ self.W1)
        return self.h @ self.W2

    def backward(self, dout):
        self.dW2 = self.h.T @ dout
        g = (dout @ self.W2.T) * (1 - self.h**2)
        self.dW1 = self.k * self.x.T @ g
        return g @ self.W1.T


def named(value, gradient):
    """A layer whose gradient has a certain name."""
    class Layer:
        def __init__(self, rng, k):
            setattr(self, value, rng.standard_normal((4, 3)))
            self.k = k

        def forward(self, x):
            self.x = x
            return x @ getattr(self, value)

        def backward(self, dout):
            setattr(self, gradient, self.k * self.x.T @ dout)
            return dout @ getattr(self, value).T

    return of(Layer, normal)


NAMES = [("weight", "d_weight"), ("W", "W_grad"), ("kernel", "grad_kernel"), ("w", "dw")]
OTHER_NAMES = [("weight", "delta_weight"), ("W", "weights_grad"), ("W", "dL_dW")]


class UpstreamLast(Affine):
    def forward(self, x):
        return x @ self.W

    def backward(self, x, dout):
        self.dW = self.k * x.T @ dout
        return dout @ self.W.T


class AllInOne(Affine):
    """One tuple of the gradients of all outputs."""

    def forward(self, x):
        self.x = x
        return x**2, np.sin(x)

    def backward(self, grads):
        da, db = grads
        return 2 * da * self.x + self.k * db * np.cos(self.x)


class TwoResults:
    """A static function with a context, in two outputs."""

    def __init__(self, rng, k):
        self.k = k

    def forward(self, context, a):
        context.save_for_backward(a)
        return a * a, np.sin(a)

    def backward(self, context, d1, d2):
        (a,) = context.saved_values
        return 2 * d1 * a + self.k * d2 * np.cos(a)


class OnlyPositions(Affine):
    def backward(self, dout, /):
        return super().backward(dout)


def cache_called(name):
    """A pair whose cache is one array, and whose backward gives it the name of a gradient."""
    def make(rng, k):
        scope: dict = {"k": k}
        exec(f"def backward(dout, {name}):\n    return 2 * k * dout * {name}", scope)
        return (lambda x: (x**2, x), scope["backward"]), (normal(rng),)

    return make


def writes_upstream(rng, k):
    def backward(d, x):
        d *= k * 2 * x
        return d

    return (lambda x: (x**2, x), backward), (normal(rng),)


STRANGERS = {cls.__name__: of(cls, normal) for cls in (Tied, OnlyPositions, InAParameter)} | {
    "writes_upstream": writes_upstream} | {
    f"{g} of {w}": named(w, g) for w, g in NAMES} | {
    f"cache called {name}": cache_called(name) for name in ("diff", "delta", "dx", "dcache")}
REFUSED = {cls.__name__: of(cls, normal) for cls in (
    OfTheClass, UpstreamLast, AllInOne, TwoResults)} | {
    "in_a_global": in_a_global,
    "derivative of x": lambda rng, k: ((np.tanh, lambda x: k / np.cosh(x) ** 2), (normal(rng),)),
    "derivative of y": lambda rng, k: ((np.exp, lambda y: k * y), (normal(rng),)),
    "backward of x": lambda rng, k: ((np.square, lambda d, x: 2 * k * d * x), (normal(rng),)),
    "not used": lambda rng, k: ((lambda x: (2 * x, x), lambda d, e: 2 * k * d), (normal(rng),))} | {
    f"{g} of {w}": named(w, g) for w, g in OTHER_NAMES}
