"""Claim 8: without positions the encoder cannot know the order of its tokens (Sec. 3.5)."""

from dataclasses import dataclass

import numpy as np

from aiayn_np.masking import causal
from aiayn_np.plotting.figures import COLORS, MARKERS
from aiayn_np.transformer import Transformer

from ..experiment import AGREES, DISAGREES, IN_PART, Experiment, Result

ROUNDING, BROKEN = 1e-12, 0.1  # below the first a stack is equivariant, above the second it is not
LABELS = {"encoder": "encoder,\nno positions", "decoder": "decoder, no mask,\nno positions",
          "causal": "decoder, causal\nmask, no positions", "positions": "encoder\nwith positions"}


@dataclass
class PermutationSymmetry(Result):
    """‖f(Px) - P f(x)‖ / ‖f(x)‖ of each stack f, the keys of LABELS, for random permutations P.

    random : stack -> (permutations,)      tokens : of x
    """

    random: dict
    tokens: int
    title = "Without positions, the encoder does not see the order"
    panels, size = (1, 1), (7.0, 4.4)

    @property
    def finding(self):
        worst = max(self.random["encoder"].max(), self.random["decoder"].max())
        positions, mask = (np.median(self.random[name]) for name in ("positions", "causal"))
        decoder = "; a decoder with a causal mask sees the order without positions"
        return (
            f"In untrained stacks, reordering the input only reorders the output without positions,"
            f" to {worst:.0e} of its norm (rounding); with positions the outputs differ by"
            f" {positions:.2f}, with a causal mask alone by {mask:.2f} (medians of"
            f" {len(self.random['encoder'])} orders). So the claim holds for the"
            f" encoder{decoder * bool(mask > BROKEN)}."
        )

    @property
    def verdict(self):
        """Return AGREES if no stack sees the order without positions, and one does with them.

        It is IN_PART if the decoder sees it by its causal mask alone.
        """
        same = all(self.random[name].max() < ROUNDING for name in ("encoder", "decoder"))
        positions, mask = (np.median(self.random[name]) for name in ("positions", "causal"))
        if not same or positions <= BROKEN:
            return DISAGREES
        return IN_PART if mask > BROKEN else AGREES

    def draw(self, ax):
        n = len(self.random["encoder"])
        jitter = np.random.default_rng(0).uniform(-0.3, 0.3, n)
        for i, name in enumerate(LABELS):
            ax.semilogx(self.random[name], jitter - i, MARKERS[i], color=COLORS[i], alpha=0.4,
                        markersize=4)
        ax.set_yticks(-np.arange(len(LABELS)), LABELS.values())
        for color, label in zip(COLORS, ax.get_yticklabels()):
            label.set_color(color)
        ax.set(xlim=(1e-17, 10), xticks=[1e-16, 1e-12, 1e-8, 1e-4, 1],
               xlabel=f"‖f(Px) − P f(x)‖ / ‖f(x)‖ for {n} orders P of {self.tokens} tokens")


def difference(f, x, P):
    """Return ‖f(Px) - P f(x)‖ / ‖f(x)‖, (n,), for permutations P (n, T) of x (T, d_model)."""
    y = f(x[None])[0]
    return np.linalg.norm(f(x[P]) - y[P], axis=(1, 2)) / np.linalg.norm(y)


def stacks(model, x):
    """Return the stacks as functions of x (n, T, d_model); both decoders have the same memory."""
    memory = model.encoder(model.positions(x[None, ::-1]))

    def decoder(x, allowed=None):
        return model.decoder(x, np.broadcast_to(memory, x.shape), allowed=allowed)

    return dict(
        encoder=model.encoder,
        decoder=decoder,
        causal=lambda x: decoder(x, causal(x.shape[1])),
        positions=lambda x: model.encoder(model.positions(x)),
    )


def permutation_symmetry(T=16, *, N=6, d_model=64, h=8, permutations=100, seed=0):
    """Compare f(Px) with P f(x) in float64, for the stacks of an untrained Transformer.

    T : tokens of x, all different      N, d_model, h : sizes of the stacks, with d_ff = 4 d_model
    permutations : number of draws
    """
    rng = np.random.default_rng(seed)
    model = Transformer(T, N=N, d_model=d_model, d_ff=4 * d_model, h=h, max_len=T, rng=rng)
    x = model.src_embedding(rng.permutation(T))                        # (T, d_model)
    functions = stacks(model, x)
    any_order = rng.permuted(np.tile(np.arange(T), (permutations, 1)), axis=1)
    return PermutationSymmetry(
        {name: difference(f, x, any_order) for name, f in functions.items()}, T)


PERMUTATION = Experiment(
    "permutation", claim=8, section="3.5",
    says="The model has no recurrence and no convolution, so it can make use of the order of the"
    " sequence only if positions are added to the embeddings.",
    alt="On a logarithmic axis, a strip of points for each stack: encoder and unmasked"
    " decoder without positions lie at rounding errors, the others many powers of ten above.",
    run=permutation_symmetry, result=PermutationSymmetry,
)
