"""Exercise 2: layer normalisation, where each feature moves all others by mean and variance."""

import numpy as np

from aiayn_np.layer_norm import LayerNorm

from ..exercise import STAYS, Case, exercise, layer

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
FAR = ("Subtract the mean first, and then take the squares: where the mean is large, the difference"
       " of mean(x^2) and mean^2 keeps few digits.")
LAYER_NORM.made_like = lambda cls, ours: cls(ours.d_model, ours.eps)


@LAYER_NORM.tried_on
def cases(rng):
    tiny = 1e-3 * rng.standard_normal((7, 5))
    constant = rng.standard_normal((3, 7))
    constant[1] = 2.5
    return [
        Case("x (2, 3, 4)", LayerNorm(4), (2 * rng.standard_normal((2, 3, 4)) + 1,), {},
             dict(B=2, T=3, d_model=4, rows=6)),
        Case("x (5, 6), eps=0.01", LayerNorm(6, eps=0.01), (rng.standard_normal((5, 6)),), {},
             dict(B=5, d_model=6, rows=5)),
        Case("rows of variance 1e-6", LayerNorm(5), (tiny,)),
        Case("eps and variances of 1e-12", LayerNorm(5, eps=1e-12), (1e-3 * tiny,), special=True),
        Case("rows around 10 000", LayerNorm(5), (1e4 + rng.standard_normal((3, 5)),), special=True,
             why=FAR),
        Case("d_model = 1", LayerNorm(1), (rng.standard_normal((2, 3, 1)),), special=True,
             why=STAYS),
        Case("as many positions as features", LayerNorm(4), (rng.standard_normal((4, 4)),),
             special=True),
        Case("a constant row", LayerNorm(7), (constant,), special=True),
        Case("one axis, (d_model,)", LayerNorm(5), (rng.standard_normal(5),), special=True),
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
    (VARIANCE, "(x ** 2).mean(axis=-1, keepdims=True) - mean ** 2",
     "variance as a difference", FAR),
    (ROOT, "(np.sqrt(variance) + self.eps)", "eps outside the root", "eps is added to the root. It"
     " belongs inside: sqrt(variance + eps)."),
    ("eps is fixed", "eps is a fixed number here. Use self.eps."),
    (OUTPUT, "n", "gamma and beta missing", "gamma and beta are not applied: y = gamma * n +"
     " beta."),
)
def right_output(self, x):
    mean = x.mean(axis=-1, keepdims=True)
    centred = x - mean
    variance = (centred**2).mean(axis=-1, keepdims=True)
    n = centred / np.sqrt(variance + self.eps)
    return self.gamma.value * n + self.beta.value


INSIDE = "g - mean_g - n * mean_gn"
MEAN_G, MEAN_GN = "g.mean(axis=-1, keepdims=True)", "(g * n).mean(axis=-1, keepdims=True)"


@LAYER_NORM.right(
    "backward",
    (INSIDE, "g", "mean terms missing", "Mean and variance are treated as constants. They depend on"
     " x: - mean(g) and - n mean(g n) are missing."),
    (INSIDE, "g - mean_g", "mean terms missing", "The road through the variance is missing:"
     " - n mean(g n)."),
    (INSIDE, "g - n * mean_gn", "mean terms missing", "The road through the mean is missing:"
     " - mean(g)."),
    (INSIDE, "g / x.shape[-1] - mean_g - n * mean_gn", "length missing in a term", "The sums are"
     " d_model times the means, and g alone was not multiplied by d_model: it is g - mean(g)"
     " - n mean(g n), or d_model g - sum(g) - n sum(g n) and then a division by d_model."),
    (("grad_y * self.gamma.value", "(g - mean_g - n * mean_gn) / s"),
     ("grad_y", "self.gamma.value * (g - mean_g - n * mean_gn) / s"), "gamma outside the means",
     "gamma is multiplied at the end. It differs from feature to feature and belongs inside the"
     " means: begin with g = grad_y * gamma."),
    (("n * mean_gn", "(g * n).mean(axis=-1, keepdims=True)"),
     ("centred * mean_gn", "(g * centred).mean(axis=-1, keepdims=True)"), "x - mean instead of n",
     "The term of the variance is s^2 times too large: x - mean stands there and not n = (x - mean)"
     " / s, or the power of the variance is -1/2 and not -3/2."),
    (f"({INSIDE}) / s", f"self.gamma.value * ({INSIDE}) / s", "gamma twice", "gamma comes in twice:"
     " in g, and at the end. It is in g = grad_y * gamma already."),
    (("n * mean_gn", MEAN_GN), ("x * mean_gn", MEAN_GN.replace("n)", "x)")), "x instead of n",
     "In the term of the variance stands x. It must be n, the normalised x."),
    ((MEAN_G, MEAN_GN), (MEAN_G.replace("mean", "sum"), MEAN_GN.replace("mean", "sum")),
     "sums instead of means", "Sums stand in place of both means: each must be divided by"
     " d_model."),
    (("(grad_y * n).sum(axis=positions)", "grad_y.sum(axis=positions)"),
     ("grad_y.sum(axis=positions)", "(grad_y * n).sum(axis=positions)"), "gamma and beta exchanged",
     "gamma.grad and beta.grad are exchanged: y = gamma * n + beta."),
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
