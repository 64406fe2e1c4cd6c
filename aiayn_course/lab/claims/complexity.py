"""Claim 5: the cost of each kind of layer as n and d grow (Sec. 4, Table 1)."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from aiayn_np.attention import ScaledDotProductAttention
from aiayn_np.plotting.figures import COLORS, WIDEST
from aiayn_np.variants.convolution import Convolution1D
from aiayn_np.variants.local import LocalAttention
from aiayn_np.variants.recurrent import RNN

from ..experiment import AGREES, DISAGREES, IN_PART, Experiment, Result
from ..measuring import STEADY, exponent, seconds

RADIUS, K = 32, 3  # restricted attention has r = 2 RADIUS + 1 = 65, the convolution K
LAYERS = {
    "self-attention": lambda d, rng: ScaledDotProductAttention(),
    "restricted": lambda d, rng: LocalAttention(RADIUS),
    "recurrent": lambda d, rng: RNN(d, d, rng=rng),
    "convolution": lambda d, rng: Convolution1D(d, d, K, rng=rng),
}
# At these sizes the term of Table 1 dominates, and a call takes a few milliseconds.
SIZES = {
    "n": {"self-attention": [(n, 64) for n in (256, 512, 1024)],
          "restricted": [(n, 64) for n in (1024, 2048, 4096, 8192)],
          "recurrent": [(n, 128) for n in (128, 256, 512, 1024)],
          "convolution": [(n, 128) for n in (1024, 2048, 4096, 8192)]},
    "d": {"self-attention": [(128, d) for d in (1024, 2048, 4096, 8192)],
          "restricted": [(128, d) for d in (1024, 2048, 4096, 8192)],
          "recurrent": [(16, d) for d in (768, 1024, 1536)],
          "convolution": [(128, d) for d in (768, 1024, 1536)]},
}
TABLE_1 = {
    "n": {"self-attention": 2, "restricted": 1, "recurrent": 1, "convolution": 1},
    "d": {"self-attention": 1, "restricted": 1, "recurrent": 2, "convolution": 2},
}
TOLERANCE = 0.2


@dataclass
class Complexity(Result):
    """Costs of forward passes, relative to the smallest size: axis -> layer -> array.

    sizes : n or d, depending on the axis     time : the best of many
    """

    sizes: dict
    time: dict
    title = "Cost of a layer as length n and width d grow: the exponents of Table 1"
    size = (WIDEST, 5.0)

    def exponents(self, axis):
        """Return {layer: exponent of n or d in the layer's time}."""
        return {name: exponent(self.sizes[axis][name], y) for name, y in self.time[axis].items()}

    @property
    def error(self):
        """Return the largest difference of an exponent over a whole range from Table 1."""
        return max(abs(b - TABLE_1[axis][name])
                   for axis in TABLE_1 for name, b in self.exponents(axis).items())

    def steps(self, axis):
        """Return {layer: exponents of the time between neighbouring sizes}."""
        return {name: np.diff(np.log(self.time[axis][name])) / np.diff(np.log(sizes))
                for name, sizes in self.sizes[axis].items()}

    @property
    def largest_step(self):
        """Return the largest difference of an exponent between neighbours from Table 1."""
        return max(np.abs(b - TABLE_1[axis][name]).max()
                   for axis in TABLE_1 for name, b in self.steps(axis).items())

    @property
    def finding(self):
        def told(axis):
            return ", ".join(
                f"{name} {b.min():.2f} to {b.max():.2f} ({axis} = {sizes[0]} to {sizes[-1]})"
                for (name, b), sizes in zip(self.steps(axis).items(), self.sizes[axis].values()))
        return (
            f"Exponents of the time between neighbouring sizes: of n, {told('n')}; of d,"
            f" {told('d')}; over each whole range they are at most {self.error:.2f} from Table 1 (r"
            f" and k are not varied, and at these sizes the term of Table 1 dominates)."
        )

    @property
    def verdict(self):
        """Return AGREES if every step has the exponent of Table 1, IN_PART if every range has."""
        if self.error > TOLERANCE:
            return DISAGREES
        return AGREES if self.largest_step <= TOLERANCE else IN_PART

    def draw(self, *axes):
        rows = np.arange(len(LAYERS))[::-1]
        for ax, axis, word in zip(axes, TABLE_1, ("length", "width")):
            for row, (name, b) in zip(rows, self.steps(axis).items()):
                due, color = TABLE_1[axis][name], COLORS[len(rows) - 1 - row]
                ax.plot([due - TOLERANCE, due + TOLERANCE], [row, row], color="0.88", linewidth=26,
                        solid_capstyle="butt", zorder=0)
                ax.plot(due, row, "|", color="0.4", markersize=26, label="Table 1")
                ax.plot(b, np.full(len(b), row), "|", color=color, markersize=14,
                        markeredgewidth=2, label="between neighbouring sizes")
                ax.plot(self.exponents(axis)[name], row, "o", color=color, label="whole range")
            sizes = self.sizes[axis].values()
            ax.set(yticks=rows, xlim=(0.5, 2.5), xticks=(0.5, 1, 1.5, 2, 2.5), ylim=(-0.6, 3.6),
                   yticklabels=[f"{name}\n{axis} = {x[0]} to {x[-1]}"
                                for name, x in zip(LAYERS, sizes)],
                   xlabel=f"exponent of the {word} ${axis}$ in the time")
        handles, labels = axes[0].get_legend_handles_labels()
        axes[0].legend(handles[:3], labels[:3], loc="upper center", frameon=False,
                       bbox_to_anchor=(0.5, -0.14), markerscale=0.5,
                       title="grey band: 0.2 beside Table 1")


def forward_of(name: str, n: int, d: int, rng: np.random.Generator) -> Callable[[], object]:
    """Return a function without arguments: a forward pass of a layer on one float32 sequence."""
    layer = LAYERS[name](d, rng).astype(np.float32)
    x = rng.standard_normal((n, d), dtype=np.float32)
    inputs = (x, x, x) if isinstance(layer, ScaledDotProductAttention) else (x,)
    return lambda: layer.forward(*inputs)


def relative_costs(sizes, measure, rng):
    """Return {layer: costs of its forward passes at all its sizes, relative to the first size}.

    sizes : layer -> pairs (n, d)       measure : list of functions -> a number for each function
    """
    costs = {}
    for name, pairs in sizes.items():
        cost = np.asarray(measure([forward_of(name, n, d, rng) for n, d in pairs]))
        costs[name] = cost / cost[0]
    return costs


def complexity(sizes=SIZES, *, repeats=100, seed=0):
    """Measure self-attention, restricted self-attention, an RNN and a convolution.

    As in Table 1, attention has no projections here. Only forward passes are measured; backward
    passes have the same products, twice as many. Each layer is measured at sizes at which the term
    of Table 1 dominates, so times of different layers cannot be compared. `aiayn-np figures` uses
    one thread of BLAS. We guess that several threads on a busy machine blur the exponents.

    Parameters
    ----------
    sizes : axis, "n" or "d" -> layer -> pairs (n, d), with one of them growing
    repeats : calls of each size, in turns; the fastest call counts
    """
    rng = np.random.default_rng(seed)
    grown = {axis: {name: np.array(pairs)[:, column] for name, pairs in sizes[axis].items()}
             for column, axis in enumerate(TABLE_1)}
    best = {axis: relative_costs(sizes[axis], lambda f: seconds(f, repeats, STEADY).min(axis=1),
                                 rng) for axis in TABLE_1}
    return Complexity(grown, best)


COMPLEXITY = Experiment(
    "complexity", claim=5, section="4, Table 1",
    says="A layer costs n²·d operations for self-attention, r·n·d for restricted self-attention,"
    " n·d² for recurrence and k·n·d² for convolution.",
    alt="Two panels, the exponents of the length n and of the width d in the time of four layers,"
    " over whole ranges and between neighbouring sizes, and those of Table 1. Of n, self-attention"
    " lies near 2 and the others near 1; of d, recurrence and convolution lie near 2 and both kinds"
    " of attention near 1. Single steps lie up to 0.3 away.",
    run=complexity, result=Complexity, timed=True,
)
