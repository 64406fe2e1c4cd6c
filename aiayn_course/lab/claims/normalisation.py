"""Claim 15: layer norm treats each position alone, batch norm does not (Sec. 3.1)."""

from dataclasses import dataclass

import numpy as np

from aiayn_np.embedding import Embedding
from aiayn_np.layer_norm import LayerNorm
from aiayn_np.plotting.figures import draw_spread, log_ticks
from aiayn_np.positional_encoding import SinusoidalPositionalEncoding
from aiayn_np.variants.norms import BatchNorm

from ..experiment import AGREES, DISAGREES, Experiment, Result

VOCAB = 1000
SEEN = 1e-3  # the least relative change that matters
PADDED = (0, 2, 4, 8, 16, 24, 48, 64)  # positions added to 16


@dataclass
class NormDependence(Result):
    """Relative change of a norm's output for a sequence that itself stays the same.

    batch_sizes : B            layer_rows, batch_rows : (draws, len(B)), the other sequences redrawn
    shares : of padding        layer_padding, batch_padding : (draws, len(shares)), with embedded
        pad tokens appended; batch_tokens : (draws,), with as many other tokens as the most padding
    """

    batch_sizes: np.ndarray
    layer_rows: np.ndarray
    batch_rows: np.ndarray
    shares: np.ndarray
    layer_padding: np.ndarray
    batch_padding: np.ndarray
    batch_tokens: np.ndarray
    title = "LayerNorm depends on neither batch nor padding, BatchNorm in training on both"

    @property
    def finding(self):
        rows = 100 * np.median(self.batch_rows, axis=0)
        padding = 100 * np.median(self.batch_padding[:, -1])
        most = max(self.layer_rows.max(), self.layer_padding.max())
        return (
            f"In training, other sequences in the batch change what BatchNorm gives for a sequence"
            f" by {rows[0]:.0f} % (B = {self.batch_sizes[0]}) to {rows[-1]:.1f} %"
            f" (B = {self.batch_sizes[-1]}), and {100 * self.shares[-1]:.0f} % padding, counted in"
            f" the mean and variance, changes it by {padding:.0f} % (as many other tokens by"
            f" {100 * np.median(self.batch_tokens):.0f} %; padding that is left out of them cannot"
            f" change it); LayerNorm's output changes by"
            f" {f'up to {most:.0e}' if most else 'exactly 0'}."
        )

    @property
    def verdict(self):
        alone = not (self.layer_rows.any() or self.layer_padding.any())
        seen = min(self.batch_rows.min(), self.batch_padding[:, self.shares > 0].min()) > SEEN
        return AGREES if alone and seen else DISAGREES

    def draw(self, left, right):
        draw_spread(left, self.batch_sizes, self.batch_rows, "BatchNorm", 1)
        draw_spread(left, self.batch_sizes, self.layer_rows, "LayerNorm", 0)
        left.set_xscale("log", base=2)
        log_ticks(left.xaxis, self.batch_sizes)
        left.set(title="the other sequences are replaced", xlabel="sequences in the batch, B",
                 ylabel="relative change of the output")
        padded = self.shares > 0
        for i, name, changes in ((1, "BatchNorm", self.batch_padding),
                                 (0, "LayerNorm", self.layer_padding)):
            draw_spread(right, 100 * self.shares[padded], changes[:, padded], name, i)
        right.set(title="padding is appended to all sequences", xlabel="share of padding, %")
        for ax in (left, right):
            ax.set_yscale("symlog", linthresh=0.01, linscale=0.6)
            ax.set_yticks([0, 0.01, 0.1, 1], ["exactly 0", "1 %", "10 %", "100 %"])
            ax.set_ylim(-0.002, 2)
            ax.legend(title="median (band: all draws)")


def change(before, after):
    """Return ‖after - before‖ / ‖before‖."""
    return np.linalg.norm(after - before) / np.linalg.norm(before)


def rows_replaced(norm, x, other):
    """Return the change of the first sequence of x (B, T, d_model) if `other` replaces the rest."""
    replaced = np.concatenate([x[:1], other[1:]])
    return change(norm(x)[0], norm(replaced)[0])


def padding_appended(norm, x, padding):
    """Return the change at x (B, T, d_model) when padding (B, P, d_model) is appended."""
    T = x.shape[1]
    return change(norm(x), norm(np.concatenate([x, padding], axis=1))[:, :T])


def norm_dependence(
    batch_sizes=(2, 4, 8, 16, 32, 64, 128, 256), padded=PADDED, *, T=16, B=32, d_model=64,
    draws=20, seed=0,
):
    """Change the rest of a batch of embedded tokens, and compare the outputs of the norms.

    batch_sizes : B of the first part      padded : numbers of padding positions of the second part
    T, d_model : sizes of the sequences    B : batch size of the second part
    draws : number of batches, each with its own embedding
    """
    layer, batch = LayerNorm(d_model), BatchNorm(d_model)
    positions = SinusoidalPositionalEncoding(d_model, T + max(padded))
    rows, paddings, tokens_added = [], [], []
    for draw in range(draws):
        rng = np.random.default_rng([seed, draw])
        embedding = Embedding(VOCAB, d_model, rng=rng)
        tokens = rng.integers(1, VOCAB, (2, max(*batch_sizes, B), T))
        x, other = positions(embedding(tokens))                        # (largest B, T, d_model)
        rows.append([[rows_replaced(n, x[:b], other[:b]) for b in batch_sizes]
                     for n in (layer, batch)])
        pads = positions(embedding(np.zeros((B, max(padded)), int)), start=T)
        paddings.append([[padding_appended(n, x[:B], pads[:, :P]) for P in padded]
                         for n in (layer, batch)])
        more = positions(embedding(rng.integers(1, VOCAB, (B, max(padded)))), start=T)
        tokens_added.append(padding_appended(batch, x[:B], more))
    shares = np.array(padded) / (T + np.array(padded))
    (layer_rows, batch_rows), both = np.swapaxes(rows, 0, 1), np.swapaxes(paddings, 0, 1)
    return NormDependence(np.array(batch_sizes), layer_rows, batch_rows, shares, both[0], both[1],
                          np.array(tokens_added))


NORMALISATION = Experiment(
    "normalisation", claim=15, section="3.1",
    says="Every sub-layer is followed by layer normalisation, cited and not argued for. Judged here"
    " is the usual reason: a position's output depends on neither batch nor padding.",
    alt="Relative change of the output, left against batch size, right against the share of"
    " padding: LayerNorm lies on the line marked exactly 0 in both, BatchNorm far above.",
    run=norm_dependence, result=NormDependence,
)
