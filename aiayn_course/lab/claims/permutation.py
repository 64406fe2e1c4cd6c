"""Claim 8: without positions the encoder cannot know the order of its tokens (Sec. 3.5)."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from aiayn_np.masking import causal
from aiayn_np.plotting.figures import COLORS, MARKERS, WIDEST, draw_spread
from aiayn_np.transformer import Transformer

from ..experiment import AGREES, DISAGREES, Experiment, Result

ROUNDING, BROKEN = 1e-12, 0.1  # below the first a stack is equivariant, above the second it is not
LABELS = {"encoder": "encoder,\nno positions", "decoder": "decoder, no mask,\nno positions",
          "causal": "decoder, causal\nmask, no positions", "positions": "encoder\nwith positions"}


@dataclass
class PermutationSymmetry(Result):
    """‖f(Px) - P f(x)‖ / ‖f(x)‖ of each stack f, the keys of LABELS, for random permutations P.

    random : stack -> (permutations,), for any P      moved : numbers of positions that P moves
    by_moved : stack -> (permutations, len(moved)), for P that moves exactly so many positions
    """

    random: dict
    moved: np.ndarray
    by_moved: dict
    title = "Without positions, the encoder does not see the order"
    size = (WIDEST, 4.6)
    layout: ClassVar[dict] = dict(width_ratios=[1.25, 1])

    @property
    def finding(self):
        worst = max(self.random["encoder"].max(), self.random["decoder"].max())
        positions, mask = (np.median(self.random[name]) for name in ("positions", "causal"))
        return (
            f"Reordering the input only reorders the output without positions, to {worst:.0e} of"
            f" its norm (rounding); with positions the outputs differ by {positions:.2f}, with a"
            f" causal mask alone by {mask:.2f} (medians of {len(self.random['encoder'])} orders)."
        )

    @property
    def verdict(self):
        same = all(self.random[name].max() < ROUNDING for name in ("encoder", "decoder"))
        broken = all(np.median(self.random[name]) > BROKEN for name in ("positions", "causal"))
        return AGREES if same and broken else DISAGREES

    def draw(self, left, right):
        n, T = len(self.random["encoder"]), int(self.moved[-1])
        jitter = np.random.default_rng(0).uniform(-0.3, 0.3, n)
        for i, name in enumerate(LABELS):
            left.semilogx(self.random[name], jitter - i, MARKERS[i], color=COLORS[i], alpha=0.4,
                          markersize=4)
            draw_spread(right, self.moved, self.by_moved[name], name, i)
        left.set_yticks(-np.arange(len(LABELS)), LABELS.values())
        for color, label in zip(COLORS, left.get_yticklabels()):
            label.set_color(color)
        left.set(title=f"any order P of {T} tokens", xlim=(1e-17, 10))
        left.set(xlabel="‖f(Px) − P f(x)‖ / ‖f(x)‖", xticks=[1e-16, 1e-12, 1e-8, 1e-4, 1])
        right.set(title="orders that move few or many", ylabel="‖f(Px) − P f(x)‖ / ‖f(x)‖",
                  xlabel=f"tokens that P moves, of {T}", xticks=self.moved, ylim=(-0.03, None))
        names = {"encoder": "no positions,\nno mask", "causal": "causal mask",
                 "positions": "positions"}
        for name, text in names.items():
            right.text(T + 0.8, np.median(self.by_moved[name][:, -1]), text, va="center",
                       color=COLORS[list(LABELS).index(name)])


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


def moving(m, T, n, rng):
    """Return permutations (n, T) that move m random positions in a circle."""
    P = np.tile(np.arange(T), (n, 1))
    places = rng.permuted(P, axis=1)[:, :m]
    np.put_along_axis(P, places, np.roll(places, 1, axis=1), axis=1)
    return P


def permutation_symmetry(T=16, *, N=6, d_model=64, h=8, permutations=100, seed=0):
    """Compare f(Px) with P f(x) in float64, for the stacks of an untrained Transformer.

    Parameters
    ----------
    T : tokens of x, all different      N, d_model, h : sizes of the stacks, with d_ff = 4 d_model
    permutations : number of draws for each number of moved positions
    """
    rng = np.random.default_rng(seed)
    model = Transformer(T, N=N, d_model=d_model, d_ff=4 * d_model, h=h, max_len=T, rng=rng)
    x = model.src_embedding(rng.permutation(T))                        # (T, d_model)
    functions = stacks(model, x)
    any_order = rng.permuted(np.tile(np.arange(T), (permutations, 1)), axis=1)
    moved = np.unique([2, *range(4, T, 4), T])
    few_or_many = [moving(m, T, permutations, rng) for m in moved]
    return PermutationSymmetry(
        random={name: difference(f, x, any_order) for name, f in functions.items()}, moved=moved,
        by_moved={name: np.stack([difference(f, x, P) for P in few_or_many], axis=1)
                  for name, f in functions.items()},
    )


PERMUTATION = Experiment(
    "permutation", claim=8, section="3.5",
    says="The model has no recurrence and no convolution, so it can make use of the order of the"
    " sequence only if positions are added to the embeddings.",
    alt="Left, on a logarithmic axis, a strip of points for each stack: encoder and unmasked"
    " decoder without positions lie at rounding errors, the decoder with a causal mask and the"
    " encoder with positions many orders of magnitude above. Right, the difference against the"
    " number of moved positions: two flat lines at 0, two that rise.",
    run=permutation_symmetry, result=PermutationSymmetry,
)
