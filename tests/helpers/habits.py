"""Eight habits in which public code writes layers, right and with the faults that were found there.

Each entry of HABITS is a function `make(rng, fault)` that returns (layer, inputs). A fault is a
word that the code below asks for; "" is the right layer.
"""

import numpy as np


def softmax(z):
    e = np.exp(z - z.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def softmax_back(w, grad_w):
    return w * (grad_w - (grad_w * w).sum(axis=-1, keepdims=True))


# 1 two functions with a cache: the parameters are inputs


def cached_functions(rng, fault):
    eps = 0.1

    def norm_forward(x, gamma, beta):
        centered = x - x.mean(axis=-1, keepdims=True)
        count = x.shape[-1] - (fault == "ddof")
        variance = (centered**2).sum(axis=-1, keepdims=True) / count
        std = np.sqrt(variance + eps)
        return gamma * centered / std + beta, (centered, std, gamma)

    def norm_backward(dout, cache):
        centered, std, gamma = cache
        if fault == "eps":
            std = np.sqrt(std**2 - eps)
        n = centered / std
        g = dout if fault == "gamma" else dout * gamma
        dx = (g - g.mean(-1, keepdims=True) - n * (g * n).mean(-1, keepdims=True)) / std
        dx = dx * gamma if fault == "gamma" else dx
        return dx, (dout * n).sum(axis=(0, 1)), dout.sum(axis=(0, 1))

    x, gamma, beta = rng.standard_normal((2, 3, 6)), rng.uniform(0.5, 2, 6), rng.standard_normal(6)
    return (norm_forward, norm_backward), (x, gamma, beta)


# 2 the input kept in self, gradients in dW and db


class Dense:
    def __init__(self, rng, fault):
        self.W, self.b, self.fault = rng.standard_normal((4, 3)), rng.standard_normal(3), fault
        self.seen = np.zeros(4)                                        # a running mean, say

    def forward(self, x):
        self.x = x
        self.seen = 0.9 * self.seen + 0.1 * x.mean(axis=0)
        return x @ self.W + self.b

    def backward(self, dout):
        self.dW = self.x.T @ dout
        if self.fault != "no bias":
            self.db = dout.mean(axis=0) if self.fault == "mean" else dout.sum(axis=0)
        return dout @ self.W.T


def kept_input(rng, fault):
    return Dense(rng, fault), (rng.standard_normal((5, 4)),)


# 3 params and grads as dicts of the layer


class Lookup:
    def __init__(self, rng, fault):
        self.params, self.grads, self.fault = {"E": rng.standard_normal((6, 4))}, {}, fault

    def forward(self, ids):
        self.ids = ids
        return self.params["E"][ids] * 2.0

    def backward(self, dout):
        grad = np.zeros_like(self.params["E"])
        if self.fault == "assigned":
            grad[self.ids] = dout * 2.0
        else:
            np.add.at(grad, self.ids, dout if self.fault == "sqrt" else dout * 2.0)
        self.grads["dE"] = grad


def dicts(rng, fault):
    return Lookup(rng, fault), (np.array([[1, 4, 1], [0, 4, 5]]),)


# 4 params and grads as lists, and gradients written into them in place


class FeedForward:
    def __init__(self, rng, fault):
        shapes = (4, 7), (7,), (7, 4), (4,)
        self.params = [rng.standard_normal(shape) for shape in shapes]
        self.grads = [np.zeros_like(p) for p in self.params]
        self.fault = fault

    def forward(self, x):
        W1, b1, W2, b2 = self.params
        self.x, self.pre = x, x @ W1 + b1
        self.hidden = np.maximum(self.pre, 0)
        return self.hidden @ W2 + b2

    def backward(self, dout):
        W1, _, W2, _ = self.params
        where = self.hidden >= 0 if self.fault == "relu" else self.pre > 0
        g = (dout @ W2.T) * where
        gradients = self.x.T @ g, g.sum(0), self.hidden.T @ dout, dout.sum(0)
        for place, gradient in zip(self.grads, gradients):
            place[...] = gradient
        return g @ W1.T


def lists(rng, fault):
    return FeedForward(rng, fault), (rng.standard_normal((5, 4)),)


# 5 a result that is kept too, gradients in dinputs and dweights


class Activation:
    def __init__(self, rng, fault):
        self.weights, self.fault = rng.standard_normal((4, 5)), fault

    def forward(self, inputs):
        self.inputs = inputs
        self.output = softmax(inputs @ self.weights)
        return self.output

    def backward(self, dvalues):
        dscores = softmax_back(self.output, dvalues)
        if self.fault == "sum":
            dscores = self.output * (1 - self.output) * dvalues
        if self.fault == "batch":
            dscores = dscores / len(dvalues)
        self.dweights = self.inputs.T @ dscores
        self.dinputs = dscores @ self.weights.T
        return self.dinputs


def attributes(rng, fault):
    layer = Activation(rng, fault)
    layer.forward(np.ones((2, 4)))                                     # it was used before
    layer.backward(np.ones((2, 5)))
    return layer, (rng.standard_normal((3, 4)),)


# 6 objects that hold data and grad, and a layer that is called


class Weight:
    def __init__(self, data):
        self.data, self.grad = data, np.zeros_like(data)


class Residual:
    def __init__(self, rng, fault):
        self.W, self.fault = Weight(rng.standard_normal((4, 4))), fault

    def __call__(self, x):
        self.x, self.h = x, np.tanh(x @ self.W.data)
        return x + self.h

    def backward(self, dout):
        g = dout * (1 - self.h**2)
        self.W.grad += self.x.T @ g
        return g @ self.W.data.T + (0 if self.fault == "lost" else dout)


def objects(rng, fault):
    return Residual(rng, fault), (rng.standard_normal((3, 4)),)


# 7 functions that get a dict of parameters and return a dict of gradients


def parameter_dict(rng, fault):
    def attend(x, parameters):
        q, k, v = (x @ parameters[name] for name in ("W_q", "W_k", "W_v"))
        w = softmax(q @ k.swapaxes(-1, -2) / 2.0)
        return w @ v, (x, q, k, v, w, parameters)

    def attend_backward(dout, cache):
        x, q, k, v, w, parameters = cache
        ds = softmax_back(w, dout @ v.swapaxes(-1, -2)) / (1.0 if fault == "scale" else 2.0)
        d = {"W_q": ds @ k, "W_k": ds.swapaxes(-1, -2) @ q, "W_v": w.swapaxes(-1, -2) @ dout}
        if fault == "swapped":
            d["W_q"], d["W_k"] = d["W_k"], d["W_q"]
        grads = {f"d{name}": np.einsum("btd,bte->de", x, g) for name, g in d.items()}
        grads["dx"] = sum(g @ parameters[name].T for name, g in d.items())
        return grads

    parameters = {name: rng.standard_normal((4, 4)) for name in ("W_q", "W_k", "W_v")}
    return (attend, attend_backward), (rng.standard_normal((2, 3, 4)), parameters)


# 8 layers in a list, with masks from NumPy's global generator


class Dropout:
    def __init__(self, fault):
        self.fault = fault

    def forward(self, x):
        self.mask = (np.random.rand(*x.shape) < 0.8) / 0.8             # noqa: NPY002
        return x * self.mask

    def backward(self, dout):
        if self.fault == "redrawn":
            self.mask = (np.random.rand(*dout.shape) < 0.8) / 0.8      # noqa: NPY002
        return dout * self.mask


class Sequence:
    def __init__(self, rng, fault):
        second = Dense(rng, fault)
        second.W = rng.standard_normal((3, 3))
        second.seen = np.zeros(3)
        self.layers = [Dense(rng, ""), Dropout(fault), second]
        self.fault = fault

    def forward(self, x):
        for layer in self.layers:
            x = layer.forward(x)
        return x

    def backward(self, dout):
        for layer in self.layers[::-1]:
            dout = layer.backward(dout)
        return dout


def nested(rng, fault):
    return Sequence(rng, fault), (rng.standard_normal((20, 4)),)       # 60 entries: no mask twice


HABITS = {function.__name__: function for function in (
    cached_functions, kept_input, dicts, lists, attributes, objects, parameter_dict, nested)}
TENSORS = {  # of each habit, as a report names them
    "cached_functions": "x gamma beta", "kept_input": "x W b", "dicts": "params.E",
    "lists": "x params.0 params.1 params.2 params.3", "attributes": "inputs weights",
    "objects": "x W",
    "parameter_dict": "x parameters.W_q parameters.W_k parameters.W_v",
    "nested": "x layers.0.W layers.0.b layers.2.W layers.2.b",
}
FAULTS = [  # habit, fault, the tensors whose gradient is wrong
    ("cached_functions", "gamma", "x"),                     # gamma outside the sums
    ("cached_functions", "eps", "x gamma"),                 # eps in the forward only
    ("cached_functions", "ddof", "x"),                      # the forward divides by d - 1
    ("kept_input", "mean", "b"),                            # the mean over the batch, not the sum
    ("dicts", "sqrt", "params.E"),                          # the factor sqrt(d_model) is missing
    ("dicts", "assigned", "params.E"),                      # repeated ids do not add up
    ("lists", "relu", "x params.0 params.1"),               # ReLU's slope from the wrong array
    ("attributes", "sum", "inputs weights"),                # softmax without the sum
    ("attributes", "batch", "inputs weights"),              # softmax divided by the batch
    ("objects", "lost", "x"),                               # the residual branch is missing
    ("parameter_dict", "scale", "x parameters.W_q parameters.W_k"),    # 1 / sqrt(d_k) is missing
    ("parameter_dict", "swapped", "x parameters.W_q parameters.W_k"),  # two gradients swapped
    ("nested", "redrawn", "x layers.0.W layers.0.b"),       # the mask is drawn again in backward
]
