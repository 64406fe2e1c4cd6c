"""Claim 9: the mask keeps the decoder from looking ahead, exactly (Sec. 3.1, 3.2.3)."""

from dataclasses import dataclass

import numpy as np

from aiayn_np.masking import causal, not_padding
from aiayn_np.plotting.figures import WIDEST, draw_map
from aiayn_np.transformer import Transformer

from ..experiment import AGREES, DISAGREES, Experiment, Result


@dataclass
class Causality(Result):
    """Frobenius norms ‖∂ out_t / ∂ input_s‖ of the decoder, (T, T) or (T, T_src).

    masked, unmasked : derivatives by the decoder's input x_s, with the causal mask and without
    memory : derivatives by the memory at s       real : bool (T_src,), False for padding
    """

    masked: np.ndarray
    unmasked: np.ndarray
    memory: np.ndarray
    real: np.ndarray
    title = "With the causal mask, no output depends on a later input"
    size = (WIDEST, 4.6)

    @property
    def future(self):
        """Return bool (T, T), True where s > t."""
        return np.arange(len(self.masked)) > np.arange(len(self.masked))[:, None]

    @property
    def zeros(self):
        """Tell for each block whether it is exactly 0: the future, padding, all other positions."""
        seen = (self.masked[~self.future], self.memory[:, self.real].ravel())
        return (self.masked[self.future] == 0, self.memory[:, ~self.real].ravel() == 0,
                np.concatenate(seen) == 0)

    @property
    def finding(self):
        future, padded, _ = self.zeros
        past, without = self.masked[~self.future], (self.unmasked[self.future] == 0).sum()
        return (
            f"With the mask {future.sum()} of {future.size} blocks ∂out_t/∂x_s with s > t are"
            f" exactly 0 and the others have norms of {past.min():.2g} to {past.max():.2g},"
            f" without it {f'{without} are' if without else 'none is'} 0; for padded source"
            f" positions {padded.sum()} of {padded.size} are exactly 0."
        )

    @property
    def verdict(self):
        future, padded, seen = self.zeros
        exact = future.all() and padded.all() and not seen.any() and self.unmasked.all()
        return AGREES if exact else DISAGREES

    def draw(self, *axes):
        T, most = len(self.masked), max(self.masked.max(), self.unmasked.max())
        pairs = ((self.masked, "with the causal mask"), (self.unmasked, "without a mask"))
        for ax, (norms, title) in zip(axes, pairs):
            image = draw_map(ax, norms / most, norms != 0, title)
            ax.set(xlabel="input position s", ylabel="output position t")
            ax.set_xticks(range(T))
            ax.set_yticks(range(T))
        axes[0].text(0.7 * T, 0.2 * T, "exactly 0", ha="center", backgroundcolor="white")
        bar = axes[0].figure.colorbar(image, ax=axes, shrink=0.8, pad=0.02)
        bar.set_label("‖∂out$_t$/∂x$_s$‖ / its largest")


def block_norms(decoder, x, memory, **masks):
    """Return ‖∂ out_t / ∂ x_s‖ (T, T) and ‖∂ out_t / ∂ memory_s‖ (T, T_src), by backward passes.

    x (T, d_model), memory (T_src, d_model). A batch has T d_model copies of the sequence. The
    backward of each copy starts from one number of the output.
    """
    T, d_model = x.shape
    copies = T * d_model
    x, memory = (np.broadcast_to(a, (copies, *a.shape)) for a in (x, memory))
    y, cache = decoder.forward(x, memory, **masks)
    one_each = np.eye(copies).reshape(y.shape)
    gradients = decoder.backward(one_each, cache)                      # (copies, T_x, d_model)
    blocks = (g.reshape(T, d_model, -1, d_model) for g in gradients)
    return tuple(np.linalg.norm(b, axis=(1, 3)) for b in blocks)       # (T, T_x)


def causality(T=10, *, T_src=8, padded=3, N=2, d_model=32, h=4, allowed=causal, seed=0):
    """Measure the Jacobian of an untrained decoder in float64, position by position.

    T, T_src : target and source positions      padded : number of padded source positions
    N, d_model, h : sizes of the stacks, with d_ff = 4 d_model
    allowed : a function that returns the mask (T, T) for T
    """
    rng = np.random.default_rng(seed)
    model = Transformer(50, N=N, d_model=d_model, d_ff=4 * d_model, h=h, rng=rng)
    src, tgt = rng.integers(1, 50, (1, T_src)), rng.integers(1, 50, (1, T))
    src[:, T_src - padded :] = model.pad
    x, memory = model.positions(model.tgt_embedding(tgt))[0], model.encode(src)[0][0]
    real = not_padding(src, model.pad)                                 # (1, 1, 1, T_src)
    masked, of_memory = block_norms(
        model.decoder, x, memory, allowed=allowed(T), memory_allowed=real
    )
    unmasked, _ = block_norms(model.decoder, x, memory, memory_allowed=real)
    return Causality(masked, unmasked, of_memory, real.ravel())


CAUSALITY = Experiment(
    "causality", claim=9, section="3.1, 3.2.3",
    says="Masking in the decoder's self-attention, with outputs shifted by one position, makes the"
    " prediction for a position depend only on known outputs at earlier positions. (The shift"
    " itself is not tested.)",
    alt="Two heat-maps of the influence of input position s on output position t: with the"
    " mask all above the diagonal is hatched, exactly zero; without it every cell is filled.",
    run=causality, result=Causality,
)
