"""Layers as students and teachers write them: each is made right, or with one fault.

Each entry of NEIGHBOURS is a function `make(rng, k)` that returns (layer, inputs). Some gradient is
multiplied by k: 1 in the right layer.
"""

import numpy as np

from aiayn_np.proofs.adapters import as_layer


class MSELoss:
    def __init__(self, rng, k):
        self.k = k

    def forward(self, pred, target):
        self.diff = pred - target
        return (self.diff**2).mean()

    def backward(self):
        return self.k * 2 * self.diff / self.diff.size


class InPlace:
    """ReLU that writes into its input and into the gradient that it gets."""

    def __init__(self, rng, k):
        self.k = k

    def forward(self, x):
        self.mask = x <= 0
        x[self.mask] = 0
        return x

    def backward(self, dout):
        dout[self.mask] = 0
        dout *= self.k
        return dout


class CastCache:
    """A cache in float32; the output and the parameters are float64."""

    def __init__(self, rng, k):
        self.gamma, self.k = rng.uniform(1, 2, 6), k

    def forward(self, x):
        centered = x - x.mean(-1, keepdims=True)
        std = np.sqrt((centered**2).mean(-1, keepdims=True) + 1e-5)
        self.n, self.std = (centered / std).astype(np.float32), std.astype(np.float32)
        return self.gamma * (centered / std)

    def backward(self, dout):
        self.dgamma = (dout * self.n).sum(0)
        g = dout * self.gamma
        inner = (g * self.n).mean(-1, keepdims=True)
        return (g - g.mean(-1, keepdims=True) - self.k * self.n * inner) / self.std


class MaskedAttention:
    def __init__(self, rng, k):
        self.k = k

    def forward(self, Q, K, V, mask=None):
        self.Q, self.K, self.V = Q, K, V
        s = Q @ K.swapaxes(-1, -2) / np.sqrt(Q.shape[-1])
        s = np.where(mask, s, -1e9)
        e = np.exp(s - s.max(-1, keepdims=True))
        self.A = e / e.sum(-1, keepdims=True)
        return self.A @ V, self.A

    def backward(self, dout):
        dA = dout @ self.V.swapaxes(-1, -2)
        ds = self.A * (dA - (dA * self.A).sum(-1, keepdims=True)) / np.sqrt(self.Q.shape[-1])
        dV = self.A.swapaxes(-1, -2) @ dout
        return ds @ self.K, self.k * ds.swapaxes(-1, -2) @ self.Q, dV


def masked_attention(rng, k):
    x = rng.standard_normal((3, 2, 4, 5))
    return MaskedAttention(rng, k), (*x, np.tril(np.ones((4, 4), bool)))


def dropout_with_param(rng, k):
    def dropout_forward(x, dropout_param):
        np.random.seed(dropout_param["seed"])                          # noqa: NPY002
        mask = (np.random.rand(*x.shape) < 0.7) / 0.7                  # noqa: NPY002
        return x * mask, (dropout_param, mask.astype(np.float32))

    def dropout_backward(dout, cache):
        return k * dout * cache[1]

    return (dropout_forward, dropout_backward), (rng.standard_normal((5, 6)), {"seed": 3})


def softmax_loss(rng, k):
    def loss(x, y):
        p = np.exp(x - x.max(1, keepdims=True))
        p /= p.sum(1, keepdims=True)
        N = x.shape[0]
        dx = p.copy()
        dx[np.arange(N), y] -= 1
        return -np.log(p[np.arange(N), y]).sum() / N, k * dx / N

    return loss, (rng.standard_normal((4, 6)), np.array([1, 0, 5, 1]))


def state_for_a_gradient(rng, k):
    def step(x, hprev):
        h = np.tanh(x + hprev)
        return (h * h).sum(), k * (1 - h * h) * 2 * h, h

    return step, tuple(rng.standard_normal((2, 3, 4)))


def min_char_rnn(rng, k):
    """Karpathy's lossFun, with its parameters outside; as_layer says what is what."""
    Wxh, Whh, bh = (rng.standard_normal(s) for s in ((4, 3), (4, 4), (4, 1)))

    def lossFun(inputs, targets, hprev):
        xs, hs, loss = {}, {-1: np.copy(hprev)}, 0
        for t in range(len(inputs)):
            xs[t] = np.zeros((3, 1))
            xs[t][inputs[t]] = 1
            hs[t] = np.tanh(np.dot(Wxh, xs[t]) + np.dot(Whh, hs[t - 1]) + bh)
            loss += hs[t][targets[t], 0]
        dWxh, dWhh, dbh = np.zeros_like(Wxh), np.zeros_like(Whh), np.zeros_like(bh)
        dhnext = np.zeros_like(hs[0])
        for t in reversed(range(len(inputs))):
            dh = dhnext.copy()
            dh[targets[t]] += 1
            dhraw = (1 - hs[t] * hs[t]) * dh
            dbh += dhraw
            dWxh += np.dot(dhraw, xs[t].T)
            dWhh += k * np.dot(dhraw, hs[t - 1].T)
            dhnext = np.dot(Whh.T, dhraw)
        return loss, dWxh, dWhh, dbh, hs[len(inputs) - 1]

    def forward(hprev):
        loss, *rest = lossFun([0, 2, 1], [1, 3, 0], hprev)
        return loss, rest

    def backward(d, rest):
        return None, {name: d * g for name, g in zip(("Wxh", "Whh", "bh"), rest)}

    layer = as_layer(forward=forward, backward=backward,
                     parameters={"Wxh": Wxh, "Whh": Whh, "bh": bh})
    return layer, (rng.standard_normal((4, 1)),)


def of_class(cls, *shapes):
    def make(rng, k):
        return cls(rng, k), tuple(rng.standard_normal(shape) for shape in shapes)

    return make


CLASSES = {
    MSELoss: [(5, 2), (5, 2)], InPlace: [(5, 4)], CastCache: [(5, 6)],
}
NEIGHBOURS = {cls.__name__: of_class(cls, *shapes) for cls, shapes in CLASSES.items()} | {
    function.__name__: function for function in (
        masked_attention, dropout_with_param, softmax_loss, min_char_rnn)}
REFUSED = {name: NEIGHBOURS.pop(name) for name in ("MSELoss", "softmax_loss")}
REFUSED["state_for_a_gradient"] = state_for_a_gradient
