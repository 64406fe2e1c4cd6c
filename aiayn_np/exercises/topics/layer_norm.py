"""Exercise 2: layer normalisation, through whose mean and variance every feature moves all."""

from typing import Any

import numpy as np

from ...layer_norm import LayerNorm
from ..exercise import Case, exercise, layer

EXERCISE = exercise(
    2, "layer norm", "Layer normalisation", section="3.1, 5.4", lesson="7.4", minutes=45,
    asks="forward over the features of one position, the gradients of gamma and beta, and the"
         " three ways in which a feature moves the output",
)

LAYER_NORM = layer(
    EXERCISE, LayerNorm,
    "Over the last axis: n = (x - mean) / sqrt(variance + eps), y = gamma * n + beta. The variance"
    " is the mean of the squared differences (divided by d_model), and eps is inside the root.",
    "beta.grad and gamma.grad: sum grad_y and grad_y * n over all positions, and add. Then go on"
    " with g = grad_y * gamma, the gradient of n. Cache n and s = sqrt(variance + eps).",
    "x_k moves n_j directly, through the mean and through the variance:"
    " dn_j/dx_k = (1[j = k] - 1/d - n_j n_k / d) / s. So grad_x_k = sum_j g_j dn_j/dx_k ="
    " (g_k - mean(g) - n_k mean(g n)) / s, with means over the features, keepdims=True.",
)

LAYER_NORM.made_like = lambda cls, ours: cls(ours.d_model, ours.eps)


def of_width(d_model, **options):
    """Make a layer norm of this width."""
    return lambda cls: cls(d_model, **options)


@LAYER_NORM.tried_on
def cases(rng):
    tiny = 1e-3 * rng.standard_normal((4, 5))
    constant = rng.standard_normal((3, 7))
    constant[1] = 2.5
    return [
        Case("x (2, 3, 4)", of_width(4), (2 * rng.standard_normal((2, 3, 4)) + 1,), {},
             dict(B=2, T=3, d_model=4, rows=6)),
        Case("x (5, 6), eps=0.01", of_width(6, eps=0.01), (rng.standard_normal((5, 6)),), {},
             dict(B=5, d_model=6, rows=5)),
        Case("rows of variance 1e-6", of_width(5), (tiny,), special=True),
        Case("a constant row", of_width(7), (constant,), special=True),
    ]


VARIANCE = [
    lambda x, **along: x.var(**along),
    ("unbiased variance", "The variance is divided by d_model - 1, as torch.std does it. The layer"
     " norm of the paper divides by d_model.", lambda x, **along: x.var(ddof=1, **along)),
    ("mean of the squares", "The squares of x are averaged, not those of x - mean.",
     lambda x, **along: (x * x).mean(**along)),
]
ROOT = [
    lambda variance, eps: np.sqrt(variance + eps),
    ("eps outside the root", "eps is added to the root. It belongs inside: sqrt(variance + eps).",
     lambda variance, eps: np.sqrt(variance) + eps),
    ("eps missing", "There is no eps: a constant row has variance 0, and 0 / 0 is nan.",
     lambda variance, eps: np.sqrt(variance)),
    ("no root", "It is divided by the variance, not by its square root.",
     lambda variance, eps: variance + eps),
]
for number in (1e-6, 1e-5, 1e-3):
    ROOT.append(("eps is fixed", "eps is a fixed number here. Use self.eps.",
                 lambda variance, eps, number=number: np.sqrt(variance + number)))
AXIS = [
    -1,
    ("wrong axis", "Mean and variance are taken over the batch, as batch norm does it. Layer norm"
     " takes those of one position: axis=-1.", 0),
    ("wrong axis", "Mean and variance are taken over the positions. Layer norm takes those of the"
     " features of one position: axis=-1.", -2),
    ("wrong axis", "Mean and variance are taken over the whole array. Layer norm takes those of one"
     " position: axis=-1, keepdims=True.", None),
]
CENTRE = [1, ("mean not subtracted", "The mean is not subtracted.", 0)]
AFFINE = [
    lambda n, gamma, beta: gamma * n + beta,
    ("gamma and beta missing", "gamma and beta are not applied: y = gamma * n + beta.",
     lambda n, gamma, beta: n),
    ("beta missing", "beta is not added: y = gamma * n + beta.", lambda n, gamma, beta: gamma * n),
    ("gamma missing", "gamma is not applied: y = gamma * n + beta.",
     lambda n, gamma, beta: n + beta),
    ("gamma times beta", "beta is multiplied by gamma, too: y = gamma * n + beta.",
     lambda n, gamma, beta: gamma * (n + beta)),
    ("gamma and beta exchanged", "gamma and beta are exchanged: y = gamma * n + beta.",
     lambda n, gamma, beta: beta * n + gamma),
]


@LAYER_NORM.family("forward", variance=VARIANCE, root=ROOT, axis=AXIS, centre=CENTRE, affine=AFFINE)
def output(layer, x, *, variance, root, axis, centre, affine):
    along = dict(axis=axis, keepdims=True)
    n = (x - centre * x.mean(**along)) / root(variance(x, **along), layer.eps)
    return affine(n, layer.gamma.value, layer.beta.value)


CONSTANT = "Mean and variance are treated as constants. They depend on x:"
TERMS = [
    (1, 1),
    ("mean terms missing", f"{CONSTANT} - mean(g) and - n mean(g n) are missing.", (0, 0)),
    ("mean terms missing", "The road through the variance is missing: - n mean(g n).", (1, 0)),
    ("mean terms missing", "The road through the mean is missing: - mean(g).", (0, 1)),
    ("half a term", "n mean(g n) is there by half. The derivative of a square has a 2, and that of"
     " the root 1/2: together 1.", (1, 0.5)),
    ("half a term", "n mean(g n) is there twice. The derivative of a square has a 2, and that of"
     " the root 1/2: together 1.", (1, 2)),
    ("sign of the terms", "mean(g) is added. It must be subtracted.", (-1, 1)),
    ("sign of the terms", "n mean(g n) is added. It must be subtracted.", (1, -1)),
]
ONE_SUM = ("One of the two terms is a sum over the features. It must be a mean: 1 / d_model comes"
           " from mean and variance.")
MEANS: list[Any] = [
    (np.mean, np.mean),
    ("sums instead of means", "The terms are sums over the features. They must be means:"
     " 1 / d_model comes from mean and variance.", (np.sum, np.sum)),
    ("sums instead of means", ONE_SUM, (np.sum, np.mean)),
    ("sums instead of means", ONE_SUM, (np.mean, np.sum)),
    ("mean over the wrong axis", "mean(g) is taken over the batch. Both means are taken over the"
     " features: axis=-1.", (lambda a, **_: a.mean(axis=0, keepdims=True), np.mean)),
    ("mean over the wrong axis", "The means are taken over the batch. They must be taken over the"
     " features: axis=-1.", (lambda a, **_: a.mean(axis=0, keepdims=True),) * 2),
]
GAMMA = [
    lambda gamma: (gamma, 1),
    ("gamma outside the means", "gamma is multiplied at the end. It differs from feature to feature"
     " and belongs inside the means: begin with g = grad_y * gamma.", lambda gamma: (1, gamma)),
    ("gamma missing", "gamma is missing: the gradient of n is grad_y * gamma.", lambda _: (1, 1)),
]
S: list[Any] = [
    lambda x, eps: np.sqrt(x.var(axis=-1, keepdims=True) + eps),
    ("eps in forward only", "backward divides by sqrt(variance), forward by sqrt(variance + eps).",
     lambda x, eps: x.std(axis=-1, keepdims=True)),
    ("1 / s missing", "The division by s = sqrt(variance + eps) is missing.", lambda x, eps: 1),
    ("s on the wrong side", "It is multiplied by s, or divided by 1 / s. It must be divided by s.",
     lambda x, eps: 1 / np.sqrt(x.var(axis=-1, keepdims=True) + eps)),
]
N = [
    lambda centred, s: centred / s,
    ("x - mean instead of n", "The last term is made of x - mean. It must be n, which is divided by"
     " s.", lambda centred, s: centred),
]


@LAYER_NORM.family("backward", terms=TERMS, mean=MEANS, gamma=GAMMA, s=S, n=N)
def gradient(layer, grad_y, x, *, terms, mean, gamma, s, n):
    inside, outside = gamma(layer.gamma.value)
    n = n(x - x.mean(axis=-1, keepdims=True), S[0](x, layer.eps))
    g, along = grad_y * inside, dict(axis=-1, keepdims=True)
    of_mean, of_variance = mean[0](g, **along), n * mean[1](g * n, **along)
    grad_n = g - terms[0] * of_mean - terms[1] * of_variance
    return dict(grad_x=outside * grad_n / s(x, layer.eps))


def summed(array):
    return array.reshape(-1, array.shape[-1]).sum(axis=0)


@LAYER_NORM.mistake("backward", "n missing in gamma")
def n_missing(layer, grad_y, x):
    """gamma.grad is the sum of grad_y * n, not of grad_y: y = gamma * n + beta."""
    return {"gamma.grad": summed(grad_y)}


@LAYER_NORM.mistake("backward", "x instead of n")
def x_for_n(layer, grad_y, x):
    """gamma.grad is the sum of grad_y * n, with the normalised n and not x."""
    return {"gamma.grad": summed(grad_y * x)}


@LAYER_NORM.mistake("backward", "gamma in its own gradient")
def gamma_in_gamma(layer, grad_y, x):
    """gamma.grad is made from grad_y * gamma. The derivative of gamma * n by gamma is n."""
    n = (x - x.mean(axis=-1, keepdims=True)) / S[0](x, layer.eps)
    return {"gamma.grad": summed(grad_y * n) * layer.gamma.value}


@LAYER_NORM.mistake("backward", "gamma in beta")
def gamma_in_beta(layer, grad_y, x):
    """beta.grad is made from grad_y * gamma. It is the sum of grad_y: beta is only added."""
    return {"beta.grad": summed(grad_y) * layer.gamma.value}
