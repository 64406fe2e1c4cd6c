"""Claim 3: additive attention costs more than the dot product (Sec. 3.2.1)."""

from dataclasses import dataclass

import numpy as np

from aiayn_np.attention import ScaledDotProductAttention
from aiayn_np.module import Cache
from aiayn_np.plotting.figures import COLORS, MARKERS, log_ticks
from aiayn_np.variants.scoring import DotScore, ScoredAttention, additive_attention

from ..experiment import AGREES, DISAGREES, IN_PART, Experiment, Result
from ..measuring import draw_quartiles, peak_bytes, step_of, time_ratios


@dataclass
class AdditiveCost(Result):
    """Time and memory of additive attention, divided by those of the scaled dot product.

    n : lengths, measured with the width d_k[at]      d_k : widths, measured at the length n[at]
    time_n, time_d : (3, sizes), lower quartile, median and upper quartile
    pairs_d : of the same shape, time of the control, PairByPair
    memory_n, memory_d : (sizes,), ratios of peak bytes
    """

    n: np.ndarray
    d_k: np.ndarray
    time_n: np.ndarray
    memory_n: np.ndarray
    time_d: np.ndarray
    memory_d: np.ndarray
    pairs_d: np.ndarray
    at: int
    title = "Additive attention takes more time and memory than the dot product"
    size, layout = (11.0, 4.8), {"sharey": True}

    @property
    def finding(self):
        d, time, memory = self.d_k, self.time_d[1], self.memory_d
        least = self.time_n[1].argmin()
        return (
            f"At n = {self.n[self.at]} additive attention takes {time[0]:.1f} times as long as the"
            f" dot product for d_k = {d[0]} and {time[-1]:.0f} times for d_k = {d[-1]}, and"
            f" {memory[0]:.1f} and {memory[-1]:.0f} times as many bytes. (It keeps d_k numbers for"
            f" each pair of positions, not one; its products with W and U are counted in.) With"
            f" d_k = {d[self.at]} the least is {self.time_n[1][least]:.1f} times the time, at n ="
            f" {self.n[least]}. A dot product, summed pair by pair without a matrix product,"
            f" takes {self.pairs_d[1][0]:.1f} and {self.pairs_d[1][-1]:.0f} times as long."
        )

    @property
    def verdict(self):
        """Return AGREES if the dot product needs at most half the time and memory at every size.

        It is IN_PART if it does at some sizes.
        """
        half = np.concatenate([self.time_n[1], self.time_d[1], self.memory_n, self.memory_d]) >= 2
        return AGREES if half.all() else IN_PART if half.any() else DISAGREES

    def draw(self, left, right):
        for ax, x, time, memory, label in (
            (left, self.n, self.time_n, self.memory_n, "$n$, length of the sequence"),
            (right, self.d_k, self.time_d, self.memory_d, "$d_k$, width of queries and keys"),
        ):
            draw_quartiles(ax, x, time, "additive, time", 0)
            ax.plot(x, memory, color=COLORS[1], marker=MARKERS[1], label="additive, peak bytes")
            ax.axhline(1, color="0.6", linestyle=":")
            ax.set(xlabel=label, xscale="log", yscale="log")
            log_ticks(ax.xaxis, x)
        draw_quartiles(right, self.d_k, self.pairs_d, "dot, pair by pair, time", 2)
        left.set(title=f"$d_k$ = {self.d_k[self.at]}", ylabel="cost / cost of the dot product")
        log_ticks(left.yaxis, (0.3, 1, 3, 10, 30, 100))
        right.set_title(f"$n$ = {self.n[self.at]}")
        right.legend(loc="lower right")


class PairByPair(DotScore):
    """Control: the unscaled score, pair by pair; small inputs keep its weights normal numbers."""

    def forward(self, Q, K):
        return (Q[..., :, None, :] * K[..., None, :, :]).sum(axis=-1), Cache(Q=Q, K=K)

    def backward(self, grad_scores, cache):
        grad = grad_scores[..., None]                                  # (..., T_q, T_k, 1)
        return ((grad * cache.K[..., None, :, :]).sum(axis=-2),
                (grad * cache.Q[..., :, None, :]).sum(axis=-3))


def cost_ratios(n, d_k, repeats, rng):
    """Return the times of additive attention and of the control, and peak bytes, over dot's."""
    *inputs, grad = rng.standard_normal((4, 1, n, d_k), dtype=np.float32) * float(d_k) ** -0.5
    layers = (additive_attention(1, d_k, d_k, rng).astype(np.float32), ScaledDotProductAttention(),
              ScoredAttention(PairByPair()))
    steps = [step_of(layer, inputs, grad) for layer in layers]
    additive, _, pairs = time_ratios(steps, 1, repeats).T
    return additive, pairs, peak_bytes(steps[0]) / peak_bytes(steps[1])


def additive_cost(n=(16, 32, 64, 128, 256), d_k=(4, 16, 64, 256, 1024), *, at=2, repeats=15,
                  seed=0):
    """Compare forward and backward of additive attention with those of the scaled dot product.

    n : lengths, measured with the width d_k[at]       d_k : widths, measured at length n[at]
    at : index into n and d_k       repeats : number of timings for each layer, in turns
    """
    rng = np.random.default_rng(seed)
    cost_ratios(max(n), d_k[at], 1, rng)  # memory comes faster once there was the largest array
    time_n, _, memory_n = zip(*[cost_ratios(size, d_k[at], repeats, rng) for size in n])
    time_d, pairs_d, memory_d = zip(*[cost_ratios(n[at], size, repeats, rng) for size in d_k])
    return AdditiveCost(np.array(n), np.array(d_k), np.array(time_n).T, np.array(memory_n),
                        np.array(time_d).T, np.array(memory_d), np.array(pairs_d).T, at)


ADDITIVE_COST = Experiment(
    "additive_cost", claim=3, section="3.2.1",
    says="Both are alike in theoretical complexity, but the dot product is much faster and takes"
    " less memory, because it is a matrix product. (Judged: at most half the time and the memory at"
    " every size. The reason is not judged; the last sentence below is its control.)",
    alt="Time and peak bytes of additive attention over those of the dot product, against n"
    " and against d_k, on logarithmic axes; at the dotted line, 1, both are equal.",
    dropped="inputs of variance 1: by pairs one processor took 10 times as long, another 27",
    run=additive_cost, result=AdditiveCost, timed=True,
)
