"""Claim 2: without the scale a large d_k saturates the softmax: gradients vanish (Sec. 3.2.1)."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from aiayn_np.attention import ScaledDotProductAttention
from aiayn_np.plotting.figures import COLORS, MARKERS, SMALL, log_ticks
from aiayn_np.variants.scoring import DotScore, ScoredAttention

from ..experiment import AGREES, DISAGREES, IN_PART, NOT_SETTLED, Experiment, Result

WIDTHS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096)
WIDE = 512  # the finding names the first measured d_k of at least this size, or the last
PAPER_D_K = 64
# Upper bounds: unscaled over scaled norm at the widest d_k and at WIDE, and the largest scaled norm
# over that at the widest d_k.
VANISHED, AT_WIDE, FLAT = 0.01, 0.2, 2.0
D_V, GROUP = 64, 64  # width of the values; queries that share keys
FLOOR = 1e-10  # the lowest value in the figure
NAMES = r"with $1/\sqrt{d_k}$", "without the scale"


@dataclass
class Saturation(Result):
    """Norms for each d_k, scaled (row 0) and unscaled (row 1): quartiles and means over queries.

    n_keys : numbers of keys; all arrays but `others` are of the first number
    others : (numbers of keys but the first, 3, len(d_k)), `shares` and `mean_shares` of these
    jacobian, gradient : (2, len(d_k), 3), the lower quartile, the median and the upper quartile
    mean_gradient : (2, len(d_k))
    one_hot : (2, len(d_k)), share of queries whose largest weight exceeds 0.99
    """

    d_k: np.ndarray
    n_keys: np.ndarray
    others: np.ndarray
    jacobian: np.ndarray
    gradient: np.ndarray
    mean_gradient: np.ndarray
    one_hot: np.ndarray
    title = "The gradient of a query without the scale, as $d_k$ grows (32 keys)"
    layout: ClassVar = {"sharex": True}

    @property
    def wide(self):
        """Return the index of the d_k in the finding."""
        return min(int(np.searchsorted(self.d_k, WIDE)), len(self.d_k) - 1)

    @property
    def paper(self):
        """Return the index of the d_k that is nearest to the paper's."""
        return int(np.abs(self.d_k - PAPER_D_K).argmin())

    @property
    def mean_shares(self):
        """Return the unscaled mean gradients divided by the scaled ones, (len(d_k),)."""
        return np.divide(*self.mean_gradient[::-1])

    @property
    def shares(self):
        """Return unscaled medians divided by scaled ones: (2, len(d_k)), Jacobian and gradient."""
        return np.array([x[1, :, 1] / x[0, :, 1] for x in (self.jacobian, self.gradient)])

    @property
    def fall(self):
        """Return the largest scaled median over that at the widest d_k, for the worse norm."""
        medians = np.array([self.jacobian[0, :, 1], self.gradient[0, :, 1]])
        return float((medians.max(axis=1) / medians[:, -1]).max())

    @property
    def finding(self):
        wide, paper, (jacobian, gradient) = self.wide, self.paper, self.shares
        mean = self.mean_shares
        more = "; ".join(
            f"{n} keys {100 * s[1, wide]:.2g} % and {s[1, paper]:.1f} times, mean"
            f" {s[2].min():.1f} to {s[2].max():.1f}" for n, s in zip(self.n_keys[1:], self.others))
        return (
            f"With {self.n_keys[0]} keys and d_k = {self.d_k[wide]} the median query without the"
            f" scale keeps {100 * jacobian[wide]:.1g} % of the softmax Jacobian and"
            f" {100 * gradient[wide]:.1g} % of the gradient that it has with it; but at d_k ="
            f" {self.d_k[paper]} its gradient is {gradient[paper]:.1f} times as large, and the mean"
            f" gradient is {mean.min():.1f} to {mean.max():.1f} times as large at every d_k. The"
            f" same gradients with other numbers of keys: {more}."
        )

    @property
    def verdict(self):
        """Judge WIDE and the widest d_k; the paper does not say where gradients vanish.

        It is IN_PART if the median query's gradients vanish there, but not for each number of keys,
        nor at the paper's d_k, or if the mean gradients do not vanish. It is DISAGREES if nothing
        is smaller without the scale, or if norms fall with it too.
        """
        all_of = np.array([[*self.shares, self.mean_shares], *self.others])    # (keys, 3, d_k)
        median = all_of[:, :2]
        small = (median[..., self.wide] < AT_WIDE) & (median[..., -1] < VANISHED)
        if self.fall >= FLAT or (median[..., -1] >= 1).all():
            return DISAGREES
        everywhere = (all_of[:, 1, self.paper] < 1) & (all_of[:, 2, self.wide] < 1)
        if small.all() and everywhere.all():
            return AGREES
        return IN_PART if small.all(axis=1).any() else NOT_SETTLED

    def draw(self, left, right):
        for ax, norms in ((left, self.jacobian), (right, self.gradient)):
            for i, name in enumerate(NAMES):
                low, median, high = norms[i].T
                ax.loglog(self.d_k, median, MARKERS[i], ls="-", color=COLORS[i],
                          label=f"{name}, median")
                ax.fill_between(self.d_k, low, high, color=COLORS[i], alpha=0.2, linewidth=0)
            ax.set(ylim=(FLOOR, 100), xlabel="$d_k$, width of queries and keys")
        for i, name in enumerate(NAMES):
            right.plot(self.d_k, self.mean_gradient[i], ":", color=COLORS[i], label=f"{name}, mean")
        log_ticks(right.xaxis, self.d_k[::2])
        left.set(title="Jacobian of the softmax", ylabel="norm for one query")
        left.text(0.5, 0.03, "the orange band goes on below", transform=left.transAxes,
                  ha="center", fontsize=SMALL)
        right.set_title("gradient that reaches the query")
        right.legend(loc="lower left", title="band: quartiles")


def saturation(d_k=WIDTHS, *, n_keys=(32, 8, 128), queries=2048, seed=0):
    """Measure the gradients through the softmax for random queries and keys, entries N(0, 1).

    Two norms are measured for each query q: the Frobenius norm of the softmax Jacobian dw/ds, and
    the norm of dL/dq. The gradient dL/dout is N(0, 1/d_v) and V is N(0, 1), so that dL/dw has
    variance 1 for any d_k. With the scale, dL/dq = sum_j dL/ds_j k_j / sqrt(d_k). Its norm is near
    |dL/ds|, because |k_j| is near sqrt(d_k), so it is flat without further normalisation. Without
    the scale it is sqrt(d_k) times |dL/ds|. This factor works against vanishing, and is left in.

    d_k : increasing widths           n_keys : numbers of keys for each query
    queries : a multiple of 64, at least 64; a quarter of them for all numbers of keys but the first
    """
    own, *others = (Saturation(
        np.array(d_k), np.array(n_keys), np.zeros((0, 3, len(d_k))),
        *measured(d_k, n, queries if n == n_keys[0] else max(queries // 4, GROUP),
                  np.random.default_rng(seed))) for n in n_keys)
    own.others = np.array([[*other.shares, other.mean_shares] for other in others])
    return own


def measured(d_k, n_keys, queries, rng):
    """Return the arrays of `Saturation` for one number of keys."""
    layers = ScaledDotProductAttention(), ScoredAttention(DotScore())
    found = []
    for width in d_k:
        Q = rng.standard_normal((queries // GROUP, GROUP, width))
        K = rng.standard_normal((queries // GROUP, n_keys, width))
        V = rng.standard_normal((queries // GROUP, n_keys, D_V))
        grad_out = rng.standard_normal((queries // GROUP, GROUP, D_V)) / np.sqrt(D_V)
        found.append([norms(layer, Q, K, V, grad_out) for layer in layers])
    jacobian, gradient, largest = np.array(found).transpose(2, 1, 0, 3)   # (2, len(d_k), queries)
    return (quartiles(jacobian), quartiles(gradient), gradient.mean(axis=-1),
            (largest > 0.99).mean(axis=-1))


def norms(layer, Q, K, V, grad_out):
    """Return, per query, norms of the softmax Jacobian and dL/dq, and the largest weight."""
    _, cache = layer.forward(Q, K, V)
    w = cache.weights                                                  # (groups, GROUP, n_keys)
    # |diag(w) - w w^T|^2 = sum_j w_j^2 (1 - w_j)^2 + sum_{j != k} w_j^2 w_k^2
    rows = np.eye(w.shape[-1])[:, None, None] * np.ones_like(w)        # one gradient for each key
    jacobian = [layer.softmax.backward(row, cache.softmax) for row in rows]
    grad_Q, _, _ = layer.backward(grad_out, cache)
    square = sum((row * row).sum(axis=-1) for row in jacobian)
    return [x.ravel() for x in (np.sqrt(square), np.linalg.norm(grad_Q, axis=-1), w.max(axis=-1))]


def quartiles(values):
    """Return the quartiles along the last axis: (..., n) -> (..., 3)."""
    return np.moveaxis(np.quantile(values, [0.25, 0.5, 0.75], axis=-1), 0, -1)


SATURATION = Experiment(
    "saturation", claim=2, section="3.2.1",
    says="It is suspected that for large d_k the dot products grow so large that the softmax works"
    " where its gradients are extremely small; dividing by √d_k counteracts this.",
    alt="Norm of the softmax Jacobian and of the gradient of a query against d_k, on"
    " logarithmic axes: with the scale both medians are flat; without it they fall by many"
    " orders of magnitude, and the mean gradient, dotted, does not.",
    run=saturation, result=Saturation,
)
