"""Claim 13: embeddings are multiplied by sqrt(d_model) before positions are added (Sec. 3.4)."""

from dataclasses import dataclass

import numpy as np

from aiayn_np.embedding import Embedding
from aiayn_np.plotting.figures import COLORS, MARKERS, log_ticks
from aiayn_np.positional_encoding import SinusoidalPositionalEncoding

from ..experiment import AGREES, DISAGREES, Experiment, Result
from ..measuring import exponent

WITH, WITHOUT = r"with $\sqrt{d_{model}}$", "without it"


@dataclass
class EmbeddingScale(Result):
    """Size (root mean square) and likeness (mean cosine) of embedding plus position, by d_model.

    position : size of the positional encoding
    scaled, unscaled : size of the embedding with the factor, and without it
    same_token : (2, len(d_model)), likeness of one token at two positions; row 0 has the factor
    same_position : (2, len(d_model)), likeness of two tokens at one position
    """

    d_model: np.ndarray
    position: np.ndarray
    scaled: np.ndarray
    unscaled: np.ndarray
    same_token: np.ndarray
    same_position: np.ndarray
    title = r"$\sqrt{d_{model}}$ keeps embeddings larger than positional encodings at the start"

    @property
    def ratio(self):
        """Return the size of the scaled embedding divided by that of the positional encoding."""
        return self.scaled / self.position

    @property
    def finding(self):
        first, last = self.d_model[0], self.d_model[-1]
        bare = self.unscaled / self.position
        return (
            f"From d_model = {first} to {last} embeddings drawn N(0, 1/d_model) are"
            f" {self.ratio.min():.2f} to {self.ratio.max():.2f} times as large as positions with"
            f" the factor, {bare[0]:.2f} to {bare[-1]:.2f} times without; at {last} two tokens at"
            f" one position then have cosine {self.same_position[1, -1]:.3f}, not"
            f" {self.same_position[0, -1]:.2f}."
        )

    @property
    def verdict(self):
        """Return AGREES if the ratio is √2 with the factor, < 1 and as d_model^-0.5 without it."""
        steady = np.abs(self.ratio / np.sqrt(2) - 1).max() < 0.03
        falls = abs(exponent(self.d_model, self.unscaled / self.position) + 0.5) < 0.03
        return AGREES if steady and falls and (self.unscaled < self.position).all() else DISAGREES

    def draw(self, left, right):
        lines = [(self.scaled, f"embedding {WITH}"), (self.position, "positional encoding"),
                 (self.unscaled, f"embedding {WITHOUT}")]
        for (y, label), i in zip(lines, (0, 6, 1)):
            left.loglog(self.d_model, y, MARKERS[i] + "-", color=COLORS[i], label=label)
        left.set(xlabel="$d_{model}$", ylabel="root mean square of an entry")
        log_ticks(left.yaxis, [0.03, 0.1, 0.3, 1])
        self.draw_cosines(right)
        for ax in (left, right):
            log_ticks(ax.xaxis, self.d_model)
            ax.legend(loc="lower left")

    def draw_cosines(self, ax):
        places = ((0.80, 0.38), (0.57, 1.03))                        # of the names, for each factor
        for i, how in enumerate((WITH, WITHOUT)):
            style: dict = dict(marker=MARKERS[i], color=COLORS[i])
            ax.semilogx(self.d_model, self.same_token[i], **style, label=how)
            ax.semilogx(self.d_model, self.same_position[i], "--", **style)
            names = ("one token at two positions", "two tokens at one position")
            for name, y in zip(names, places[i]):
                ax.text(self.d_model[-1], y, name, color=COLORS[i], ha="right")
        ax.set(xlabel="$d_{model}$", ylabel="cosine of embedding + position", ylim=(0, 1.12))
        ax.set_yticks([0, 0.25, 0.5, 0.75, 1])


def cosines(y):
    """Return (same token, same position): mean cosines of pairs of y (tokens, T, d_model)."""
    y = y / np.linalg.norm(y, axis=-1, keepdims=True)
    return [(z @ z.mT)[..., ~np.eye(z.shape[1], dtype=bool)].mean() for z in (y, y.swapaxes(0, 1))]


def size(x):
    return np.sqrt(np.mean(x**2))


def embedding_scale(
    d_model=(8, 16, 32, 64, 128, 256, 512, 1024), *, vocab_size=1000, T=64, tokens=64, seed=0,
):
    """Measure untrained embeddings, N(0, 1/d_model), and positional encodings.

    d_model : widths        vocab_size : rows of the embedding        T : positions, from 0
    tokens : the number of tokens for the cosines
    """
    rng = np.random.default_rng(seed)
    sizes, likeness = [], []
    for width in d_model:
        layer = Embedding(vocab_size, width, rng=rng)
        scaled, unscaled = layer(np.arange(vocab_size)), layer.E.value
        PE = SinusoidalPositionalEncoding(width, T).table(T)
        sizes.append([size(PE), size(scaled), size(unscaled)])
        likeness.append([cosines(x[:tokens, None] + PE) for x in (scaled, unscaled)])
    return EmbeddingScale(np.array(d_model), *np.transpose(sizes), *np.transpose(likeness))


EMBEDDING_SCALE = Experiment(
    "embedding_scale", claim=13, section="3.4",
    says="Embeddings are multiplied by √d_model, without a reason given. Judged here is one half of"
    " the usual one: without the factor, positions would be larger than embeddings drawn with"
    " variance 1/d_model at the start. (Whether this hurts training is claim 15.)",
    alt="Left: size of an entry of embeddings with and without the factor and of positions,"
    " against d_model. Right: cosines of sums of both, for one token at two positions and for"
    " two tokens at one position.",
    run=embedding_scale, result=EmbeddingScale,
)
