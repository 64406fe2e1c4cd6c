"""Exercise 2: layer normalisation, where each feature moves all others by mean and variance."""

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
        Case("x (2, 7, 3, 4)", of_width(4), (rng.standard_normal((2, 7, 3, 4)),), special=True),
        Case("rows of variance 1e-6", of_width(5), (tiny,)),
        Case("a constant row", of_width(7), (constant,), special=True),
        Case("one axis, (d_model,)", of_width(5), (rng.standard_normal(5),), special=True),
        Case("one sequence of one position", of_width(4), (rng.standard_normal((1, 1, 4)),),
             special=True),
    ]


OUTPUT = "self.gamma.value * n + self.beta.value"
VARIANCE = "(centred ** 2).mean(axis=-1, keepdims=True)"
ROOT = "np.sqrt(variance + self.eps)"


@LAYER_NORM.right(
    "forward",
    ("wrong axis", "Layer norm takes mean and variance of the features of one position: axis=-1,"
     " keepdims=True. Over the batch it would be batch norm."),
    (VARIANCE, "(centred ** 2).sum(axis=-1, keepdims=True) / (x.shape[-1] - 1)",
     "unbiased variance", "The variance is divided by d_model - 1, as torch.std does it. The layer"
     " norm of the paper divides by d_model."),
    (VARIANCE, "(x ** 2).mean(axis=-1, keepdims=True)", "mean of the squares", "The squares of x"
     " are averaged, not those of x - mean."),
    (ROOT, "(np.sqrt(variance) + self.eps)", "eps outside the root", "eps is added to the root. It"
     " belongs inside: sqrt(variance + eps)."),
    ("centred / np.sqrt(variance + self.eps)", "centred * (1 / np.sqrt(variance) + self.eps)",
     "eps outside the root", "eps is added to 1 / sqrt(variance). It belongs inside the root:"
     " sqrt(variance + eps)."),
    ("variance + self.eps", "variance", "eps missing", "There is no eps: a constant row has"
     " variance 0, and 0 / 0 is nan."),
    (ROOT, "(variance + self.eps)", "no root", "It is divided by the variance, not by its square"
     " root."),
    ("eps is fixed", "eps is a fixed number here. Use self.eps."),
    ("centred / np.sqrt(variance + self.eps)",
     "x - x.mean(axis=-1, keepdims=True) / np.sqrt(variance + self.eps)", "brackets", "Only the"
     " mean is divided by the root. The brackets around x - mean are missing."),
    ("centred / np.sqrt(variance + self.eps)", "x / np.sqrt(variance + self.eps)",
     "mean not subtracted", "The mean is not subtracted."),
    (OUTPUT, "n", "gamma and beta missing", "gamma and beta are not applied: y = gamma * n +"
     " beta."),
    (OUTPUT, "self.gamma.value * n", "beta missing", "beta is not added: y = gamma * n + beta."),
    (OUTPUT, "n + self.beta.value", "gamma missing", "gamma is not applied: y = gamma * n +"
     " beta."),
    (OUTPUT, "self.gamma.value * (n + self.beta.value)", "gamma times beta", "beta is multiplied by"
     " gamma, too: y = gamma * n + beta."),
    (OUTPUT, "self.beta.value * n + self.gamma.value", "gamma and beta exchanged", "gamma and beta"
     " are exchanged: y = gamma * n + beta."),
)
def right_output(self, x):
    centred = x - x.mean(axis=-1, keepdims=True)
    variance = (centred**2).mean(axis=-1, keepdims=True)
    n = centred / np.sqrt(variance + self.eps)
    return self.gamma.value * n + self.beta.value


INSIDE = "g - mean_g - n * mean_gn"
MEAN_G, MEAN_GN = "g.mean(axis=-1, keepdims=True)", "(g * n).mean(axis=-1, keepdims=True)"
SUM_G, SUM_GN = "g.sum(axis=-1, keepdims=True)", "(g * n).sum(axis=-1, keepdims=True)"
CONSTANT = "Mean and variance are treated as constants. They depend on x:"
SUMS = "They must be means: 1 / d_model comes from mean and variance."
HALF = "The derivative of a square has a 2, and that of the root 1/2: together 1."


@LAYER_NORM.right(
    "backward",
    ("wrong axis", "The means are taken over the features: axis=-1, keepdims=True."),
    (INSIDE, "g", "mean terms missing", f"{CONSTANT} - mean(g) and - n mean(g n) are missing."),
    (INSIDE, "g - mean_g", "mean terms missing", "The road through the variance is missing:"
     " - n mean(g n)."),
    (INSIDE, "g - n * mean_gn", "mean terms missing", "The road through the mean is missing:"
     " - mean(g)."),
    (INSIDE, "g - mean_g - 0.5 * n * mean_gn", "half a term", "n mean(g n) is there by half."
     f" {HALF}"),
    (INSIDE, "g - mean_g - 2 * n * mean_gn", "half a term", f"n mean(g n) is there twice. {HALF}"),
    (INSIDE, "g + mean_g - n * mean_gn", "sign of the terms", "mean(g) must be subtracted."),
    (INSIDE, "g - mean_g + n * mean_gn", "sign of the terms", "n mean(g n) must be subtracted."),
    ((MEAN_G, MEAN_GN), (SUM_G, SUM_GN), "sums instead of means", f"The terms are sums. {SUMS}"),
    (MEAN_G, SUM_G, "sums instead of means", f"One of the two terms is a sum. {SUMS}"),
    (MEAN_GN, SUM_GN, "sums instead of means", f"One of the two terms is a sum. {SUMS}"),
    (("grad_y * self.gamma.value", "(g - mean_g - n * mean_gn) / s"),
     ("grad_y", "self.gamma.value * (g - mean_g - n * mean_gn) / s"), "gamma outside the means",
     "gamma is multiplied at the end. It differs from feature to feature and belongs inside the"
     " means: begin with g = grad_y * gamma."),
    ("grad_y * self.gamma.value", "grad_y", "gamma missing", "gamma is missing: the gradient of n"
     " is grad_y * gamma."),
    ("(g - mean_g - n * mean_gn) / s", "g - mean_g - n * mean_gn", "1 / s missing", "The division"
     " by s = sqrt(variance + eps) is missing."),
    ("(g - mean_g - n * mean_gn) / s", "(g - mean_g - n * mean_gn) * s", "s on the wrong side",
     "It is multiplied by s, or divided by 1 / s. It must be divided by s."),
    ("(g - mean_g - n * mean_gn) / s", "(g - mean_g - n * mean_gn) / x.std(axis=-1, keepdims=True)",
     "eps in forward only", "backward divides by sqrt(variance), forward by sqrt(variance + eps)."),
    (("n * mean_gn", MEAN_GN), ("centred * mean_gn", "(g * centred).mean(axis=-1, keepdims=True)"),
     "x - mean instead of n", "The last term is made of x - mean. It must be n, which is divided by"
     " s."),
    ("(grad_y * n).sum(axis=positions)", "grad_y.sum(axis=positions)", "n missing in gamma",
     "gamma.grad is the sum of grad_y * n, not of grad_y: y = gamma * n + beta."),
    ("(grad_y * n).sum(axis=positions)", "(grad_y * x).sum(axis=positions)", "x instead of n",
     "gamma.grad is the sum of grad_y * n, with the normalised n and not x."),
    ("(grad_y * n).sum(axis=positions)", "(g * n).sum(axis=positions)", "gamma in its own gradient",
     "gamma.grad is made from grad_y * gamma. The derivative of gamma * n by gamma is n."),
    (("(grad_y * n).sum(axis=positions)", "grad_y.sum(axis=positions)"),
     ("grad_y.sum(axis=positions)", "(grad_y * n).sum(axis=positions)"), "gamma and beta exchanged",
     "gamma.grad and beta.grad are exchanged: y = gamma * n + beta."),
    ("grad_y.sum(axis=positions)", "g.sum(axis=positions)", "gamma in beta", "beta.grad is made"
     " from grad_y * gamma. It is the sum of grad_y: beta is only added."),
)
def right_gradients(self, grad_y, x):
    centred = x - x.mean(axis=-1, keepdims=True)
    variance = (centred**2).mean(axis=-1, keepdims=True)
    n, s = centred / np.sqrt(variance + self.eps), np.sqrt(variance + self.eps)
    g, y = grad_y * self.gamma.value, self.gamma.value * n + self.beta.value
    positions = tuple(range(y.ndim - 1))
    self.beta.grad += grad_y.sum(axis=positions)
    self.gamma.grad += (grad_y * n).sum(axis=positions)
    mean_g = g.mean(axis=-1, keepdims=True)
    mean_gn = (g * n).mean(axis=-1, keepdims=True)
    return {"grad_x": (g - mean_g - n * mean_gn) / s}
