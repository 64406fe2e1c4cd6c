"""Claim 6: PE(pos + k) is a linear function of PE(pos), a rotation by k (Sec. 3.5)."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from aiayn_np.plotting.figures import COLORS, MARKERS, log_ticks
from aiayn_np.positional_encoding import LearnedPositionalEncoding, SinusoidalPositionalEncoding

from ..experiment import AGREES, DISAGREES, Experiment, Result

EXACT = 1e-12  # errors up to this are rounding in float64
SHOWN = 100  # distances on either side in the figure


@dataclass
class ShiftIsRotation(Result):
    """The largest error of PE(pos + k) = M PE(pos) for each k, and further measurements.

    error : with the rotation M_k    fitted_error : with M by least squares, small d_model
    random_error : least squares on a random table     matrix_error : of the fitted M against M_k
    orthogonality, composition : largest error of M M^T = 1 and of M_a M_b = M_(a + b)
    distance_error : largest difference, between p, of the cosine of PE(p) and PE(p + k)
    similarity (len(starts), 2 SHOWN + 1) : cosines around some p; random_similarity : one p
    falling : means of the cosine over k = 1, 2-3, 4-7, ...
    """

    d_model: int
    fitted_d_model: int
    positions: int
    k: np.ndarray
    error: np.ndarray
    fitted_error: np.ndarray
    random_error: np.ndarray
    matrix_error: float
    orthogonality: float
    composition: float
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
            f" {self.error.max():.0e}, while random positions have no such matrix (error ≥"
            f" {self.random_error.min():.1f}); the cosine of PE(p) and PE(p + k) depends on k alone"
            f" and falls from {self.falling[0]:.2f} (k = 1) to {self.falling[-1]:.2f} (mean of"
            f" k = {last} to {2 * last - 1})."
        )

    @property
    def verdict(self):
        """Return AGREES if all identities hold within EXACT, and fail for random positions."""
        worst = max(self.error.max(), self.fitted_error.max(), self.matrix_error,
                    self.orthogonality, self.composition, self.distance_error)
        return AGREES if worst <= EXACT and self.random_error.min() > 0.1 else DISAGREES

    def draw(self, left, right):
        self.draw_errors(left)
        self.draw_similarity(right)

    def draw_similarity(self, ax):
        """Draw rings around three positions, in different sizes, so that equal positions show."""
        k = np.arange(-SHOWN, SHOWN + 1)
        ax.plot(k, self.random_similarity, color="0.6", label="random positions")
        for i, (p, similarity) in enumerate(zip(self.starts, self.similarity)):
            ax.plot(k, similarity, "o-", color=COLORS[i], markersize=11 - 4 * i, fillstyle="none",
                    linewidth=1, markevery=10, label=f"p = {p}")
        ax.set(xlabel="distance k", ylabel="cosine of PE(p) and PE(p + k)")
        ax.legend(loc="center right", bbox_to_anchor=(1, 0.35))

    def draw_errors(self, ax):
        small = f"$d_{{model}}$ = {self.fitted_d_model}"
        lines = [(self.random_error, f"best matrix, random positions, {small}"),
                 (self.error, f"the rotation $M_k$, $d_{{model}}$ = {self.d_model}"),
                 (self.fitted_error, f"best matrix, sinusoids, {small}")]
        for (error, label), style in zip(lines, (1, 0, 2)):
            ax.loglog(self.k, error, MARKERS[style] + "-", color=COLORS[style], label=label)
        ax.set(xlabel="distance k", ylabel="largest error of PE(pos + k)", ylim=(1e-15, 1e2))
        ax.set_yticks([1e-15, 1e-12, 1e-9, 1e-6, 1e-3, 1])
        log_ticks(ax.xaxis, self.k)
        ax.legend(loc="center", bbox_to_anchor=(0.5, 0.55), fontsize=10)


def rotation(d_model, k):
    """Return M_k (d_model, d_model), which rotates each pair by k / 10000^(2i / d_model)."""
    even = np.arange(0, d_model, 2)
    angle = k / 10000 ** (even / d_model)
    M = np.zeros((d_model, d_model))
    M[even, even] = M[even + 1, even + 1] = np.cos(angle)
    M[even, even + 1], M[even + 1, even] = np.sin(angle), -np.sin(angle)
    return M


def fitted(table, k):
    """Fit M by least squares on every second position; return (M, its error on the others)."""
    here, there = table[:-k], table[k:]
    M = np.linalg.lstsq(here[::2], there[::2], rcond=None)[0].T
    return M, np.abs(there - here @ M.T)[1::2].max()


def rotations(PE, k):
    """Return the errors of the rotations M_k for a table PE (T, d_model)."""
    d_model = PE.shape[1]
    M = {j: rotation(d_model, j) for j in k}
    one = np.eye(d_model)
    return dict(
        error=np.array([np.abs(PE[j:] - PE[:-j] @ M[j].T).max() for j in k]),
        orthogonality=max(np.abs(m @ m.T - one).max() for m in M.values()),
        composition=max(np.abs(M[a] @ M[b] - rotation(d_model, a + b)).max()
                        for a, b in pairwise(k)),
    )


def fits(table, k):
    """Return (error of the fitted matrix for each k, largest difference from the rotation)."""
    found = [fitted(table, j) for j in k]
    apart = [np.abs(M - rotation(len(M), j)).max() for j, (M, _) in zip(k, found)]
    return np.array([error for _, error in found]), max(apart)


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
    """Compare the table of positions with its rotation and with a fit by least squares.

    Parameters
    ----------
    k : distances, at least two    d_model : width for the rotation, even    T : positions, >= 512
    fitted_d_model : width for the fit, even and small; in wide tables slow sines hardly determine M
    positions : the encoding that is measured
    """
    rng = np.random.default_rng(seed)
    random = LearnedPositionalEncoding(d_model, T, rng=rng).table(T)
    PE = positions(d_model, T, rng=rng).table(T)
    error, matrix_error = fits(positions(fitted_d_model, T, rng=rng).table(T), k)
    random_error, _ = fits(random[:, :fitted_d_model], k)
    return ShiftIsRotation(
        d_model, fitted_d_model, T, np.array(k), fitted_error=error, random_error=random_error,
        matrix_error=matrix_error, **rotations(PE, k), **cosines(PE, random),
    )


ROTATION = Experiment(
    "rotation", claim=6, section="3.5",
    says="For a fixed distance k, PE(pos + k) is a linear function of PE(pos); the authors hope"
    " that this makes it easy to attend by relative position.",
    alt="Left: largest error against the distance k on two logarithmic axes; the rotation and the"
    " matrix fitted to the sinusoids are off by rounding errors, the matrix fitted to random"
    " positions by many times more. Right: cosine of two encodings against their distance; the"
    " points of three"
    " positions lie on one curve that peaks at 0 and falls to both sides, while that of random"
    " positions has the peak and only noise beside it.",
    run=shift_is_rotation, result=ShiftIsRotation,
)
