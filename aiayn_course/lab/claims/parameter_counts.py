"""Claim 16: the numbers of parameters in Table 3, counted from the structure of the layers."""

from dataclasses import dataclass

import numpy as np

from aiayn_np.plotting.figures import COLORS, MARKERS

from ..experiment import AGREES, DISAGREES, IN_PART, Experiment, Result, plain_text

BASE = dict(N=6, d_model=512, d_ff=2048, h=8)
# Row, differences from the base, and the printed millions. A row without a printed number has the
# base's number, as the table says: (A) with d_k = d_v = 512 / h, (D), (E) with 512 positions.
ROWS: list[tuple[str, dict[str, int], int]] = [
    ("base", {}, 65),
    *[(f"h = {h}", dict(h=h), 65) for h in (1, 4, 16, 32)],
    ("$d_k$ = 16", dict(d_k=16), 58), ("$d_k$ = 32", dict(d_k=32), 60),
    ("N = 2", dict(N=2), 36), ("N = 4", dict(N=4), 50), ("N = 8", dict(N=8), 80),
    ("$d_{model}$ = 256", dict(d_model=256), 28), ("$d_{model}$ = 1024", dict(d_model=1024), 168),
    ("$d_{ff}$ = 1024", dict(d_ff=1024), 53), ("$d_{ff}$ = 4096", dict(d_ff=4096), 90),
    *[(f"$P_{{drop}}$ = {P}", {}, 65) for P in ("0.0", "0.2")],
    *[(f"$ε_{{ls}}$ = {eps}", {}, 65) for eps in ("0.0", "0.2")],
    ("learned positions", dict(learned_positions=512), 65),
    ("big", dict(d_model=1024, d_ff=4096, h=16), 213),
]
FITTING = 41_200  # ids with which the base model has its printed number
ONE_ROUNDING, TWO_ROUNDINGS = 0.5, 1.0  # millions
GROUPS = ["printed = counted, rounded", "within 1 M", "further apart"]


def count_parameters(
    vocabulary, *, N, d_model, d_ff, h, d_k=None, d_v=None, bias=False, learned_positions=0
):
    """Count the parameters of a Transformer with one matrix for embeddings and last projection.

    d_k, d_v : d_model / h by default        bias : whether the projections of attention have biases
    learned_positions : rows of a learned table of positions; 0 for sinusoids
    """
    d_k, d_v = d_k or d_model // h, d_v or d_model // h
    attention = h * (2 * d_k + d_v) * d_model + h * d_v * d_model      # W^Q, W^K, W^V and W^O
    if bias:
        attention += h * (2 * d_k + d_v) + d_model
    feed_forward = 2 * d_model * d_ff + d_ff + d_model                 # W_1, W_2, b_1 and b_2
    norm = 2 * d_model                                                 # gamma and beta
    encoder = attention + feed_forward + 2 * norm
    decoder = 2 * attention + feed_forward + 3 * norm
    return (vocabulary + learned_positions) * d_model + N * (encoder + decoder)


@dataclass
class ParameterCounts(Result):
    """Counted and printed parameters of each row of Table 3, base first and big last."""

    rows: list[str]
    counted: np.ndarray  # without biases in the projections of attention
    printed: np.ndarray  # millions
    differs: np.ndarray  # whether the row prints a number of its own
    title = "Parameters of Table 3, counted: differences to the base model"
    panels, size = (1, 1), (7.0, 5.6)

    @property
    def difference(self):
        """Return two arrays in millions: the counted and the printed difference from the base."""
        return (self.counted - self.counted[0]) / 1e6, self.printed - self.printed[0]

    @property
    def group(self):
        """Return each row's index in GROUPS, by the distance of counted and printed difference."""
        counted, printed = self.difference
        distance = np.abs(counted - printed)
        return (distance > ONE_ROUNDING).astype(int) + (distance > TWO_ROUNDINGS)

    @property
    def finding(self):
        own, far = self.group[self.differs], np.flatnonzero(self.group == 2)
        counted, printed = self.difference
        listed = " and ".join(f"{plain_text(self.rows[i])} ({counted[i]:+.1f} M, printed"
                              f" {printed[i]:+.0f})" for i in far)
        left = " and ".join(f"{plain_text(row)} ({count / 1e6:.2f} M)" for row, count, due in zip(
            self.rows, count_rows(FITTING), self.printed) if round(count / 1e6) != due)
        return (
            f"Of {own.size} differences to base {np.sum(own == 0)} equal the printed ones, rounded,"
            f" {np.sum(own == 1)} lie within 1 M; {f'{listed} do not' if listed else 'all do'};"
            f" base has {self.counted[0] / 1e6:.2f} M (printed {self.printed[0]:.0f}), big"
            f" {self.counted[-1] / 1e6:.2f} M (printed {self.printed[-1]:.0f}). With V ="
            f" {FITTING} all rows equal the printed numbers, rounded, but {left or 'none'}."
        )

    @property
    def verdict(self):
        """Return AGREES if every counted difference is the printed one within two roundings.

        It is IN_PART if most differences are.
        """
        far = np.mean(self.group[self.differs] == 2)
        return AGREES if far == 0 else IN_PART if far < 0.5 else DISAGREES

    def draw(self, ax):
        counted, printed = self.difference
        rows = np.flatnonzero(self.differs)
        rows = rows[np.argsort(counted[rows])]
        for group, label in enumerate(GROUPS):
            at = np.flatnonzero(self.group[rows] == group)
            ax.plot((counted - printed)[rows[at]], at, MARKERS[group],
                    color=COLORS[group], markersize=9, label=label)
        for y, i in enumerate(rows):
            text = f"{counted[i]:+.2f} M, printed {printed[i]:+.0f} M".replace("-", "−")
            ax.annotate(text, (1.02, y), xycoords=("axes fraction", "data"), va="center")
        ax.axvspan(-ONE_ROUNDING, ONE_ROUNDING, color="0.85", linewidth=0, zorder=0)
        ax.axvline(0, color="0.6", linewidth=1, zorder=0)
        ax.set_yticks(range(len(rows)), [self.rows[i] for i in rows])
        ax.set(xlim=(-3.5, 4), xticks=range(-3, 5), ylim=(-0.6, len(rows) - 0.4))
        ax.set_xlabel("counted − printed difference to base (M, millions of parameters)")
        ax.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=3, columnspacing=1, frameon=False)


def count_rows(vocabulary):
    """Return the number of parameters of each row of Table 3, (rows,)."""
    return np.array([count_parameters(vocabulary, **BASE | changes) for _, changes, _ in ROWS])


def parameter_counts(vocabulary=37_000):
    """Count every row of Table 3 by `count_parameters`; no model is built.

    vocabulary : number of tokens; the paper says "about 37000"
    """
    printed = np.array([millions for _, _, millions in ROWS])
    return ParameterCounts([name for name, _, _ in ROWS], count_rows(vocabulary), printed,
                           printed != printed[0])


PARAMETER_COUNTS = Experiment(
    "parameter_counts", claim=16, section="3.4, 6.2, Table 3",
    says="Table 3 prints millions of parameters for base, big and nine variations. Counted here:"
    " V·d_model + N·(encoder layer + decoder layer), one matrix for both embeddings and the last"
    " projection, no biases in attention.",
    alt="One point for each row of Table 3 that prints its parameters: how far its counted"
    " difference to the base model lies from the printed one; grey: one rounding.",
    run=parameter_counts, result=ParameterCounts,
)
