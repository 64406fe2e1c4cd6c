"""Claim 1: q . k has mean 0 and variance d_k, hence the scale (Sec. 3.2.1, footnote 4)."""

from dataclasses import dataclass

import numpy as np

from aiayn_np.plotting.figures import COLORS, log_ticks

from ..experiment import AGREES, DISAGREES, Experiment, Result, upper

BLOCK = 256  # queries that share keys
QUERIES = 1 << 17  # for d_k = 1; wider q and k have fewer queries, but at least 2 BLOCK


@dataclass
class DotProductVariance(Result):
    """Mean and variance of q . k, and variance of q . k / sqrt(d_k), for each d_k."""

    d_k: np.ndarray
    mean: np.ndarray
    variance: np.ndarray
    scaled_variance: np.ndarray
    title = "Dot products grow with their width: Var(q·k) = $d_k$"
    panels, size = (1, 1), (7.0, 4.4)

    @property
    def error(self):
        """Return the largest difference of variance / d_k from 1."""
        return float(np.abs(self.variance / self.d_k - 1).max())

    @property
    def scaled_error(self):
        """Return the largest difference of the variance of q . k / sqrt(d_k) from 1."""
        return float(np.abs(self.scaled_variance - 1).max())

    @property
    def mean_error(self):
        """Return the largest difference of the mean from 0, in units of sqrt(d_k)."""
        return float(np.abs(self.mean / np.sqrt(self.d_k)).max())

    @property
    def finding(self):
        return (
            f"With entries drawn N(0, 1) and d_k = {self.d_k[0]} to {self.d_k[-1]}, q·k has a"
            f" variance within {upper(100 * self.error)} % of d_k and a mean within"
            f" {upper(self.mean_error)} √d_k of 0; q·k / √d_k has a variance within"
            f" {upper(100 * self.scaled_error)} % of 1."
        )

    @property
    def verdict(self):
        errors = self.error, self.scaled_error, self.mean_error
        return AGREES if max(errors) < 0.03 else DISAGREES

    def draw(self, ax):
        ax.loglog(self.d_k, self.d_k, color="0.6", label="$d_k$, as the paper says")
        ax.loglog(self.d_k, self.variance, "o", color=COLORS[0], label="q·k measured")
        ax.loglog(self.d_k, self.scaled_variance, "s", color=COLORS[1],
                  label=r"q·k / $\sqrt{d_k}$ measured")
        ax.set(xlabel="$d_k$, width of queries and keys", ylabel="variance of the score")
        log_ticks(ax.xaxis, self.d_k)
        ax.legend()


def dot_product_variance(d_k=(1, 4, 16, 64, 256, 1024, 4096, 16384), *, seed=0):
    """Measure the dot products of random queries and keys whose entries are N(0, 1).

    d_k : widths to measure
    """
    rng = np.random.default_rng(seed)
    measured = []
    for width in d_k:
        groups = max(2, QUERIES // BLOCK // width)
        Q, K = rng.standard_normal((2, groups, BLOCK, width), dtype=np.float32)
        scores = (Q @ K.mT).astype(np.float64)                         # (groups, BLOCK, BLOCK)
        moments = scores.mean(), scores.var()
        scores /= np.sqrt(width)
        measured.append([*moments, scores.var()])
    return DotProductVariance(np.array(d_k), *np.transpose(measured))


VARIANCE = Experiment(
    "variance", claim=1, section="3.2.1, footnote 4",
    says="If the entries of q and k are independent with mean 0 and variance 1, q·k has mean 0 and"
    " variance d_k; dividing by √d_k makes it 1.",
    alt="Variance of the score against d_k on two logarithmic axes: the points of q·k lie on"
    " the rising line d_k, those of q·k / √d_k on a flat line at 1.",
    run=dot_product_variance, result=DotProductVariance,
)
