"""Configurations of what works along the sequence for the laws; see layers.py."""

from layers import dropout, leading, mask, queries_keys_values, rate, register, sizes

from aiayn_np.variants.convolution import Convolution1D
from aiayn_np.variants.local import LocalAttention
from aiayn_np.variants.memory_efficient import MemoryEfficientAttention
from aiayn_np.variants.recurrent import GRU, RNN


@register(LocalAttention)
def local(rng):
    """Any radius from 0 to beyond the sequence."""
    B, h, T, d_k, d_v = sizes(rng, 5)
    lead = [(), (B,), (B, h)][rng.integers(3)]
    Q, K = rng.standard_normal((2, *lead, T, d_k))
    V = rng.standard_normal((*lead, T, d_v))
    options = {"allowed": mask(rng, (*lead, T, T)), **dropout(rng)}
    return LocalAttention(int(rng.integers(0, T + 2)), rate(rng)), [Q, K, V], options


@register(MemoryEfficientAttention)
def memory_efficient(rng):
    """Blocks of one key, of a few and of more than there are."""
    inputs, options = queries_keys_values(rng)
    return MemoryEfficientAttention(int(rng.integers(1, inputs[1].shape[-2] + 2))), inputs, options


def recurrent(cls):
    def drawn(rng):
        B, T, d_in, d_hidden = sizes(rng, 4)
        return cls(d_in, d_hidden, rng=rng), [rng.standard_normal((B, T, d_in))], {}
    return register(cls)(drawn)


recurrent(RNN)
recurrent(GRU)


@register(Convolution1D)
def convolution(rng):
    """Also windows that are wider than the sequence."""
    d_in, d_out, T = sizes(rng, 3)
    layer = Convolution1D(d_in, d_out, int(rng.choice([1, 3, 5, 7])), rng=rng)
    return layer, [rng.standard_normal((*leading(rng)[1:], T, d_in))], {}
