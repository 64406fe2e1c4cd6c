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
# Upper bounds: unscaled over scaled norm at the widest d_k and at WIDE, and max/min of the scaled
# norm. The share at 512 is a median; for other seeds it lies between 0.06 and 0.13.
VANISHED, AT_WIDE, FLAT = 0.01, 0.2, 2.0
D_V, GROUP = 64, 64  # width of the values; queries that share keys
FLOOR = 1e-10  # the lowest value in the figure
NAMES = r"with $1/\sqrt{d_k}$", "without the scale"


@dataclass
class Saturation(Result):
    """Norms for each d_k, scaled (row 0) and unscaled (row 1): quartiles and means over queries.

    jacobian, gradient : (2, len(d_k), 3), the lower quartile, the median and the upper quartile
    mean_gradient : (2, len(d_k))
    one_hot : (2, len(d_k)), share of queries whose largest weight exceeds 0.99
    """

    d_k: np.ndarray
    jacobian: np.ndarray
    gradient: np.ndarray
    mean_gradient: np.ndarray
    one_hot: np.ndarray
    title = "Without the scale, a wide $d_k$ leaves most queries little gradient"
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
    def flatness(self):
        """Return the largest over the smallest scaled median of all d_k, for the worse norm."""
        medians = np.array([self.jacobian[0, :, 1], self.gradient[0, :, 1]])
        return float((medians.max(axis=1) / medians.min(axis=1)).max())

    @property
    def finding(self):
        wide, paper, (jacobian, gradient) = self.wide, self.paper, self.shares
        whose, mean = "the paper's " * int(self.d_k[paper] == PAPER_D_K), self.mean_shares
        return (
            f"At d_k = {self.d_k[wide]} the median query without the scale keeps"
            f" {100 * jacobian[wide]:.1g} % of the softmax Jacobian and {100 * gradient[wide]:.1g}"
            f" % of the gradient that it has with it; but at {whose}d_k = {self.d_k[paper]} its"
            f" gradient is {gradient[paper]:.1f} times as large, and the mean gradient is"
            f" {mean.min():.1f} to {mean.max():.1f} times as large at every d_k."
        )

    @property
    def verdict(self):
        """Judge WIDE and the widest d_k; the paper does not say where gradients vanish.

        The verdict is IN_PART if the median query's gradients vanish there, but not at the paper's
        d_k, or if the mean gradients do not vanish.
        """
        if self.flatness >= FLAT:
            return DISAGREES
        small = self.shares[:, self.wide] < AT_WIDE, self.shares[:, -1] < VANISHED
        if not np.all(small):
            return NOT_SETTLED
        everywhere = self.shares[1, self.paper] < 1 and self.mean_shares[self.wide] < 1
        return AGREES if everywhere else IN_PART

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


def saturation(d_k=WIDTHS, *, n_keys=32, queries=2048, seed=0):
    """Measure the gradients through the softmax for random queries and keys, entries N(0, 1).

    Two norms are measured for each query q: the Frobenius norm of the softmax Jacobian dw/ds, and
    the norm of dL/dq. The gradient dL/dout is N(0, 1/d_v) and V is N(0, 1), so that dL/dw has
    variance 1 for any d_k. With the scale, dL/dq = sum_j dL/ds_j k_j / sqrt(d_k). Its norm is near
    |dL/ds|, because |k_j| is near sqrt(d_k), so it is flat without further normalisation. Without
    the scale it is sqrt(d_k) times |dL/ds|. This factor works against vanishing, and is left in.

    Parameters
    ----------
    d_k : increasing widths           n_keys : number of keys for each query
    queries : a multiple of 64, at least 64
    """
    rng = np.random.default_rng(seed)
    layers = ScaledDotProductAttention(), ScoredAttention(DotScore())
    measured = []
    for width in d_k:
        Q = rng.standard_normal((queries // GROUP, GROUP, width))
        K = rng.standard_normal((queries // GROUP, n_keys, width))
        V = rng.standard_normal((queries // GROUP, n_keys, D_V))
        grad_out = rng.standard_normal((queries // GROUP, GROUP, D_V)) / np.sqrt(D_V)
        measured.append([norms(layer, Q, K, V, grad_out) for layer in layers])
    jacobian, gradient, largest = np.array(measured).transpose(2, 1, 0, 3)  # (2, len(d_k), queries)
    return Saturation(np.array(d_k), quartiles(jacobian), quartiles(gradient),
                      gradient.mean(axis=-1), (largest > 0.99).mean(axis=-1))


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
    alt="Two panels against d_k on logarithmic axes, the norm of the softmax Jacobian and of the"
    " gradient of a query: with the scale both medians are flat; without it the gradient first"
    " grows, then both fall by many orders of magnitude, while its mean, dotted, lies above that"
    " with the scale at every width but the narrowest.",
    run=saturation, result=Saturation,
)
