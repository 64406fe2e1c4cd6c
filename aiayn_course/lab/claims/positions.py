"""Claim 6: PE(pos + k) is a linear function of PE(pos), a rotation by k (Sec. 3.5)."""

from dataclasses import dataclass

import numpy as np

from aiayn_np.plotting.figures import COLORS, MARKERS, log_ticks
from aiayn_np.positional_encoding import LearnedPositionalEncoding, SinusoidalPositionalEncoding

from ..experiment import AGREES, DISAGREES, Experiment, Result, upper

EXACT = 1e-12  # errors up to this are rounding in float64
SHOWN = 100  # distances on either side in the figure


@dataclass
class ShiftIsRotation(Result):
    """The largest error of PE(pos + k) = M PE(pos) for each k, and further measurements.

    error : with the rotation M_k
    random_error, fitted_error : with M by least squares on a random table and on that of sinusoids,
        both of a small d_model
    distance_error : largest difference, between p, of the cosine of PE(p) and PE(p + k)
    similarity (len(starts), 2 SHOWN + 1) : cosines around some p; random_similarity : one p
    falling : means of the cosine over k = 1, 2-3, 4-7, ...
    """

    d_model: int
    fitted_d_model: int
    positions: int
    k: np.ndarray
    error: np.ndarray
    random_error: np.ndarray
    fitted_error: np.ndarray
    distance_error: float
    starts: np.ndarray
    similarity: np.ndarray
    random_similarity: np.ndarray
    falling: np.ndarray
    title = "A step of k is a rotation: PE(pos + k) = $M_k$ PE(pos)"

    @property
    def finding(self):
        last = 2 ** (len(self.falling) - 1)
        return (
            f"Over {self.positions} positions a rotation M_k takes PE(pos) to PE(pos + k) within"
            f" {upper(self.error.max())}. A matrix fitted to every second position gives the others"
            f" within {upper(self.fitted_error.max())} for sinusoids of width"
            f" {self.fitted_d_model}; random positions of this width have no such matrix (error ≥"
            f" {self.random_error.min():.1f}). The cosine of PE(p) and PE(p + k) depends on k alone"
            f" and falls from {self.falling[0]:.2f} (k = 1) to {self.falling[-1]:.2f} (mean of"
            f" k = {last} to {2 * last - 1})."
        )

    @property
    def verdict(self):
        """Return AGREES if all identities hold within EXACT, and fail for random positions."""
        worst = max(self.error.max(), self.fitted_error.max(), self.distance_error)
        return AGREES if worst <= EXACT and self.random_error.min() > 0.1 else DISAGREES

    def draw(self, ax, right):
        self.draw_similarity(right)
        d, small = self.d_model, self.fitted_d_model
        lines = [(self.error, f"the rotation $M_k$, $d_{{model}}$ = {d}"),
                 (self.random_error, f"best matrix, random positions, $d_{{model}}$ = {small}"),
                 (self.fitted_error, f"best matrix, sinusoids, $d_{{model}}$ = {small}")]
        for i, (error, label) in enumerate(lines):
            ax.loglog(self.k, error, MARKERS[i] + "-", color=COLORS[i], label=label)
        ax.set(xlabel="distance k", ylabel="largest error of PE(pos + k)", ylim=(1e-15, 1e2))
        ax.set_yticks([1e-15, 1e-12, 1e-9, 1e-6, 1e-3, 1])
        log_ticks(ax.xaxis, self.k)
        ax.legend(loc="center", bbox_to_anchor=(0.5, 0.55), fontsize=10)

    def draw_similarity(self, ax):
        """Draw rings around three positions, in different sizes, so that equal positions show."""
        k = np.arange(-SHOWN, SHOWN + 1)
        ax.plot(k, self.random_similarity, color="0.6", label="random positions")
        for i, (p, similarity) in enumerate(zip(self.starts, self.similarity)):
            ax.plot(k, similarity, "o-", color=COLORS[i], markersize=11 - 4 * i, fillstyle="none",
                    linewidth=1, markevery=10, label=f"p = {p}")
        ax.set(xlabel="distance k", ylabel="cosine of PE(p) and PE(p + k)")
        ax.legend(loc="center right", bbox_to_anchor=(1, 0.35), fontsize=10)


def rotation(d_model, k):
    """Return M_k (d_model, d_model), which rotates each pair by k / 10000^(2i / d_model)."""
    even = np.arange(0, d_model, 2)
    angle = k / 10000 ** (even / d_model)
    M = np.zeros((d_model, d_model))
    M[even, even] = M[even + 1, even + 1] = np.cos(angle)
    M[even, even + 1], M[even + 1, even] = np.sin(angle), -np.sin(angle)
    return M


def fitted_error(table, k):
    """Fit M by least squares on every second position; return its error on the others."""
    here, there = table[:-k], table[k:]
    M = np.linalg.lstsq(here[::2], there[::2], rcond=None)[0].T
    return np.abs(there - here @ M.T)[1::2].max()


def unit(x):
    return x / np.linalg.norm(x, axis=-1, keepdims=True)


def cosines(PE, random):
    """Return the cosines of PE(p) and PE(p + k), and those of random positions."""
    T, PE, random = len(PE), unit(PE), unit(random)
    all_of = PE @ PE.T                                                 # (T, T)
    diagonals = [np.diagonal(all_of, k) for k in range(T // 2)]
    mean = np.array([d.mean() for d in diagonals])
    starts, near = np.array([T // 4, T // 2, T - T // 4]), np.arange(-SHOWN, SHOWN + 1)
    octaves = 2 ** np.arange(int(np.log2(T // 2)))
    return dict(
        distance_error=max(np.ptp(d) for d in diagonals),
        starts=starts, similarity=all_of[starts[:, None], starts[:, None] + near],
        random_similarity=random[T // 2] @ random[T // 2 + near].T,
        falling=np.array([mean[k : 2 * k].mean() for k in octaves]),
    )


def shift_is_rotation(
    k=(1, 2, 4, 8, 16, 32, 64, 128, 256), *, d_model=512, fitted_d_model=8, T=1024, seed=0,
    positions=SinusoidalPositionalEncoding,
):
    """Compare the table of positions with its rotation, and a random one with its best matrix.

    k : distances, at least two    d_model : width for the rotation, even    T : positions, >= 512
    fitted_d_model : width for the fit, small
    positions : the encoding that is measured
    """
    rng = np.random.default_rng(seed)
    random = LearnedPositionalEncoding(d_model, T, rng=rng).table(T)
    PE = positions(d_model, T, rng=rng).table(T)
    error = [np.abs(PE[j:] - PE[:-j] @ rotation(d_model, j).T).max() for j in k]
    small = random[:, :fitted_d_model], positions(fitted_d_model, T, rng=rng).table(T)
    fitted = np.array([[fitted_error(table, j) for j in k] for table in small])
    return ShiftIsRotation(d_model, fitted_d_model, T, np.array(k), np.array(error), *fitted,
                           **cosines(PE, random))


ROTATION = Experiment(
    "rotation", claim=6, section="3.5",
    says="For a fixed distance k, PE(pos + k) is a linear function of PE(pos). (The authors hope"
    " that this makes it easy to attend by relative position; that is not tested here.)",
    alt="Left: largest error against the distance k, of the rotation and of the matrices fitted"
    " to random positions and to sinusoids. Right: cosine of two encodings against their"
    " distance: one curve for three positions, and noise for random ones.",
    run=shift_is_rotation, result=ShiftIsRotation,
)
