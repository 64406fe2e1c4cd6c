"""The KV cache: a decoder that computes each position once and keeps its keys and values.

Decoding needs the logits after token 1, then after tokens 1 and 2, and so on. If every step
computes the whole prefix, T tokens cost 1 + 2 + ... + T positions. The causal mask makes this
unnecessary: no position depends on later ones, so its numbers stay right. A new position
needs only the keys and values of the earlier positions, in each self-attention.

So each self-attention keeps the keys and values of all positions so far and adds those of the new
position. Each attention over the memory projects the memory once. The layers know nothing of this.
A copy of the decoder gets the two attention classes below, and its own `forward` runs on a
"sequence" of one token. Only the positional encoding is given the position of this token.

This is right if no other layer mixes positions or counts them. If a layer may do so, every step
computes the whole prefix (see conditions.py).
"""

import copy

import numpy as np

from ..attention import ScaledDotProductAttention
from ..masking import not_padding
from ..multi_head import MultiHeadAttention, merge_heads, split_heads
from ..transformer import Transformer
from ..variants.grouped import repeat_heads
from ..variants.rotary import RotaryAttention
from .conditions import may_keep

FORWARD = Transformer.forward  # a replaced forward may do more than decode


def start_decoding(model: Transformer, src: np.ndarray,
                   keep: bool | None = None) -> "RecomputingDecoder":
    """Return a decoder that gives logits token by token for sources (B, T_src).

    keep : as in greedy_decode, with the same errors
    """
    return (KVCacheDecoder if may_keep(model, keep) else RecomputingDecoder)(model, src)


class RecomputingDecoder:
    """A decoder that computes the whole prefix for each token: slow, and right for every model."""

    def __init__(self, model: Transformer, src: np.ndarray) -> None:
        self.model, self.src = model, src                              # (B, T_src)
        self.memory, _ = model.encode(src)                             # (B, T_src, d_model)
        self.memory_allowed = not_padding(src, model.pad)              # (B, 1, 1, T_src)
        self.source = np.arange(len(src))                             # (B,), the source of each row
        self.tgt = np.empty((len(src), 0), dtype=int)                  # (B, T)

    def next_logits(self, tokens: np.ndarray) -> np.ndarray:
        """Return the logits (B, vocab_size) after one more token (B,) of each sequence."""
        self.tgt = np.concatenate([self.tgt, tokens[:, None]], axis=1)
        if getattr(self.model.forward, "__func__", None) is not FORWARD:
            return self.model.forward(self.src, self.tgt)[0][:, -1]
        logits, _ = self.model.decode(self.tgt, self.memory, memory_allowed=self.memory_allowed)
        return logits[:, -1]

    def select(self, rows: np.ndarray) -> None:
        """Keep these sequences, in this order; a sequence may come several times."""
        self.tgt = self.tgt[rows]
        if not np.array_equal(self.source, self.source[rows]):
            self.source = self.source[rows]
            self.select_memory(rows)

    def select_memory(self, rows: np.ndarray) -> None:
        """Select the rows of the arrays that belong to the sources."""
        self.src, self.memory = self.src[rows], self.memory[rows]
        self.memory_allowed = self.memory_allowed[rows]


class KVCacheDecoder(RecomputingDecoder):
    """A decoder with kept keys and values. Each call computes one position."""

    def __init__(self, model: Transformer, src: np.ndarray) -> None:
        super().__init__(model, src)
        self.decoder = copy.copy(model.decoder)
        self.decoder.layers = [copy.copy(layer) for layer in model.decoder.layers]
        for layer in self.decoder.layers:
            layer.self_attention = GrowingAttention(layer.self_attention)
            layer.cross_attention = MemoryAttention(layer.cross_attention)

    def next_logits(self, tokens: np.ndarray) -> np.ndarray:
        start = self.tgt.shape[1]
        self.tgt = np.concatenate([self.tgt, tokens[:, None]], axis=1)
        x, _ = self.model.tgt_embedding.forward(tokens[:, None])       # (B, 1, d_model)
        x, _ = self.model.positions.forward(x, start=start)
        x, _ = self.model.dropout.forward(x, rng=None)
        masks = not_padding(self.tgt, self.model.pad), self.memory_allowed     # (B, 1, 1, T)
        allowed, memory_allowed = (None if mask.all() else mask for mask in masks)     # is faster
        x, _ = self.decoder.forward(x, self.memory, allowed=allowed,
                                    memory_allowed=memory_allowed, rng=None)
        logits, _ = self.model.output_projection.forward(x)            # (B, 1, vocab_size)
        return logits[:, 0]

    def select(self, rows: np.ndarray) -> None:
        super().select(rows)
        for layer in self.decoder.layers:
            layer.self_attention.select(rows)

    def select_memory(self, rows: np.ndarray) -> None:
        super().select_memory(rows)
        for layer in self.decoder.layers:
            layer.cross_attention.select(rows)


class MemoryAttention(MultiHeadAttention):
    """Attention over the memory with the sublayers of a given one; it projects K and V once."""

    def __init__(self, attention):
        vars(self).update(vars(attention))
        self.h_kv = getattr(attention, "h_kv", attention.h)            # of a GroupedQueryAttention
        self.kept: tuple = ()

    def forward(self, x_Q, x_K, x_V, *, allowed=None, rng=None):
        Q = self.queries(x_Q)                                          # (B, h, 1, d_k)
        K, V = (repeat_heads(x, self.h // self.h_kv)                   # (B, h, T, d_k or d_v)
                for x in self.keys_and_values(x_K, x_V))
        heads, cache = self.attention.forward(Q, K, V, allowed=allowed, rng=rng)
        return self.linear_O(merge_heads(heads)), cache                # (B, 1, d_model)

    def queries(self, x_Q):
        """Return the queries of these positions, (B, h, T, d_k)."""
        return split_heads(self.linear_Q(x_Q), self.h)

    def project(self, x_K, x_V):
        """Return keys and values of these positions, (B, h_kv, T, d_k) and (B, h_kv, T, d_v)."""
        K, V = self.linear_K(x_K), self.linear_V(x_V)
        return split_heads(K, self.h_kv), split_heads(V, self.h_kv)

    def keys_and_values(self, x_K, x_V):
        """Return the keys and values of all positions."""
        if not self.kept:
            self.kept = self.project(x_K, x_V)
        return self.kept

    def select(self, rows):
        """Keep the keys and values of these sequences."""
        self.kept = tuple(x[rows] for x in self.kept)


class GrowingAttention(MemoryAttention):
    """Self-attention: each call adds positions, and their queries look at all positions so far.

    A RotaryAttention rotates queries and keys by their position. Each key is rotated once, when it
    is new, and kept rotated.
    """

    def __init__(self, attention):
        super().__init__(attention)
        self.T, self.room = 0, 0            # positions in `kept`, positions that fit
        self.rotary = None
        if isinstance(self.attention, RotaryAttention):
            self.rotary, self.attention = self.attention, ScaledDotProductAttention()

    def queries(self, x_Q):
        Q = super().queries(x_Q)
        return self.rotary.rotary_Q(Q, start=self.T) if self.rotary else Q

    def project(self, x_K, x_V):
        K, V = super().project(x_K, x_V)
        return self.rotary.rotary_K(K, start=self.T) if self.rotary else K, V

    def keys_and_values(self, x_K, x_V):
        K, V = self.project(x_K, x_V)                                  # of the new positions
        start, self.T = self.T, self.T + K.shape[2]
        if self.room < self.T:
            self.make_room(start, K, V)
        for kept, new in zip(self.kept, (K, V)):
            kept[:, :, start : self.T] = new
        return [kept[:, :, : self.T] for kept in self.kept]

    def make_room(self, start, *new):
        """Double the room, so that growing to T positions copies fewer than 2 T of them."""
        self.room = max(16, self.T, 2 * start)
        longer = tuple(np.empty((*x.shape[:2], self.room, x.shape[3]), x.dtype) for x in new)
        for array, old in zip(longer, self.kept):
            array[:, :, :start] = old[:, :, :start]
        self.kept = longer
