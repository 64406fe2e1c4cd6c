"""The KV cache: a decoder that is asked for one more token without computing anything twice.

Decoding asks for the logits after token 1, then after tokens 1 and 2, and so on. Computed anew each
time, T tokens cost 1 + 2 + ... + T positions. But a position of the decoder depends on the later
ones in nothing (that is the causal mask), so what was computed for it stays right. And of the
earlier positions the new one needs only what its attention looks at: their keys and values.

So each self-attention keeps K and V of all positions so far and adds those of the new one, and each
attention over the memory projects the memory once. The layers know nothing of it: in a copy of the
decoder the attentions are replaced by the two classes below, and then its own `forward` runs on a
"sequence" of one token. Only the layer that adds positions has to be told which one it is.

That is right only if no layer but these attentions mixes positions or counts them. So it is done
for classes that are known to be so, and everything else recomputes the prefix (`Recomputing`).
"""

import copy
from inspect import signature
from types import FunctionType

import numpy as np

from . import masking, multi_head
from .add_norm import AddNorm
from .attention import ScaledDotProductAttention
from .checks import is_layer
from .decoder import Decoder, DecoderLayer
from .dropout import Dropout
from .embedding import Embedding, OutputProjection
from .feed_forward import PositionwiseFeedForward, ReLU
from .layer_norm import LayerNorm
from .linear import Linear
from .masking import Mask, not_padding
from .multi_head import MultiHeadAttention
from .positional_encoding import LearnedPositionalEncoding, SinusoidalPositionalEncoding
from .softmax import Softmax
from .transformer import Transformer


def functions_of(place):
    """The functions of a class or module as they are now."""
    return {name: f for name, f in vars(place).items() if isinstance(f, FunctionType)}


# As they are when imported: a class with a method exchanged, such as a planted bug, is not known.
ONE_BY_ONE = {place: functions_of(place) for place in (
    AddNorm, Decoder, DecoderLayer, Dropout, Embedding, LayerNorm, LearnedPositionalEncoding,
    Linear, Mask, MultiHeadAttention, OutputProjection, PositionwiseFeedForward, ReLU,
    ScaledDotProductAttention, SinusoidalPositionalEncoding, Softmax, Transformer,
    masking, multi_head,
)}


def can_keep(model):
    """Whether every layer on the decoder's side computes a position from that position alone, but
    for the attentions in their usual places, and these from Q, K and V without counting them; and
    the positions can be told where to start.

    Said by this list, or by a class of itself: `one_by_one = True` in its own body. A subclass does
    not inherit it, since it may do what it likes.
    """
    if type(model) is not Transformer or type(model.decoder) is not Decoder:
        return False
    if "start" not in signature(model.positions.forward).parameters:
        return False
    layers = list(layers_of([model.tgt_embedding, model.positions, model.dropout, model.decoder,
                             model.output_projection]))
    keep = [getattr(layer, name, None) for layer in model.decoder.layers
            for name in ("self_attention", "cross_attention")]
    attentions = {id(layer) for layer in layers if type(layer) is MultiHeadAttention}
    places = {masking, multi_head, Transformer, *map(type, layers)}
    return attentions == set(map(id, keep)) and all(map(is_known, places))


def is_known(place):
    """Whether a class or module is on the list and unchanged, or says so of itself."""
    known = ONE_BY_ONE.get(place)
    return functions_of(place) == known if known else vars(place).get("one_by_one", False)


def layers_of(node):
    """Yield a layer and all layers in it, whether Modules or not."""
    if is_layer(node):
        yield node
        node = getattr(node, "__dict__", {})
    node = list(node.values()) if isinstance(node, dict) else node
    for child in node if isinstance(node, (list, tuple)) else ():
        yield from layers_of(child)


def start_decoding(model, src):
    """What gives logits token by token for sources (B, T_src): Keeping if it can be."""
    return (Keeping if can_keep(model) else Recomputing)(model, src)


class Recomputing:
    """Logits token by token, from the whole prefix each time: slow, and right for every model."""

    def __init__(self, model, src):
        self.model = model
        self.memory, _ = model.encode(src)                             # (B, T_src, d_model)
        self.memory_allowed = not_padding(src, model.pad)              # (B, 1, 1, T_src)
        self.source = np.arange(len(src))                              # (B,), of each sequence
        self.tgt = np.empty((len(src), 0), dtype=int)                  # (B, T)

    def next_logits(self, tokens):
        """Logits (B, vocab_size) after one more token (B,) of each sequence."""
        self.tgt = np.concatenate([self.tgt, tokens[:, None]], axis=1)
        logits, _ = self.model.decode(self.tgt, self.memory, memory_allowed=self.memory_allowed)
        return logits[:, -1]

    def select(self, rows):
        """Go on with these sequences, in this order; one may come several times."""
        self.tgt = self.tgt[rows]
        if not np.array_equal(self.source, self.source[rows]):
            self.source = self.source[rows]
            self.select_memory(rows)

    def select_memory(self, rows):
        """The same for what belongs to the sources."""
        self.memory, self.memory_allowed = self.memory[rows], self.memory_allowed[rows]


class Keeping(Recomputing):
    """The same logits from kept keys and values: each call computes one position."""

    def __init__(self, model, src):
        super().__init__(model, src)
        self.decoder = copy.copy(model.decoder)
        self.decoder.layers = [copy.copy(layer) for layer in model.decoder.layers]
        for layer in self.decoder.layers:
            layer.self_attention = GrowingAttention(layer.self_attention)
            layer.cross_attention = MemoryAttention(layer.cross_attention)

    def next_logits(self, tokens):
        start = self.tgt.shape[1]
        self.tgt = np.concatenate([self.tgt, tokens[:, None]], axis=1)
        x, _ = self.model.tgt_embedding.forward(tokens[:, None])       # (B, 1, d_model)
        x, _ = self.model.positions.forward(x, start=start)
        masks = not_padding(self.tgt, self.model.pad), self.memory_allowed
        allowed, memory_allowed = (None if mask.all() else mask for mask in masks)
        x, _ = self.decoder.forward(x, self.memory, allowed=allowed, memory_allowed=memory_allowed)
        logits, _ = self.model.output_projection.forward(x)            # (B, 1, vocab_size)
        return logits[:, 0]

    def select(self, rows):
        super().select(rows)
        for layer in self.decoder.layers:
            layer.self_attention.select(rows)

    def select_memory(self, rows):
        super().select_memory(rows)
        for layer in self.decoder.layers:
            layer.cross_attention.select(rows)


class MemoryAttention:
    """Attention over the memory as Keeping uses it: K and V of the first call serve for all."""

    def __init__(self, attention):
        self.attention, self.h = attention, attention.h
        self.d_model, self.linear_Q = attention.d_model, attention.linear_Q
        self.kept: tuple = ()

    def forward(self, x_Q, x_K, x_V, *, allowed=None, rng=None):
        Q, _ = self.attention.project_Q(x_Q)                           # (B, h, 1, d_k)
        K, V = self.keys_and_values(x_K, x_V)                          # (B, h, T, d_k or d_v)
        return self.attention.attend(Q, K, V, allowed=allowed, rng=rng)

    def keys_and_values(self, x_K, x_V):
        """Keys and values of all positions."""
        if not self.kept:
            K, V, _ = self.attention.project_KV(x_K, x_V)
            self.kept = K, V
        return self.kept

    def select(self, rows):
        """Go on with these sequences."""
        self.kept = tuple(x[rows] for x in self.kept)


class GrowingAttention(MemoryAttention):
    """Self-attention: every call brings one position, and its query looks at all so far."""

    def __init__(self, attention):
        super().__init__(attention)
        self.T, self.room = 0, 0            # positions that `kept` holds, and has room for

    def keys_and_values(self, x_K, x_V):
        K, V, _ = self.attention.project_KV(x_K, x_V)                  # of the new position
        if self.room == self.T:
            self.make_room(K, V)
        for kept, new in zip(self.kept, (K, V)):
            kept[:, :, self.T] = new[:, :, 0]
        self.T += 1
        return [kept[:, :, : self.T] for kept in self.kept]

    def make_room(self, *new):
        """Twice as much as there is: so T positions are copied less than T times in all."""
        self.room = max(16, 2 * self.T)
        longer = tuple(np.empty((*x.shape[:2], self.room, x.shape[3]), x.dtype) for x in new)
        for array, old in zip(longer, self.kept):
            array[:, :, : self.T] = old
        self.kept = longer
