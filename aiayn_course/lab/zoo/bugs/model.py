"""Bugs of embeddings, positions, the decoder and the whole model."""

import math

import numpy as np

from aiayn_np.decoder import Decoder, DecoderLayer
from aiayn_np.embedding import Embedding
from aiayn_np.masking import causal
from aiayn_np.module import Cache
from aiayn_np.positional_encoding import SinusoidalPositionalEncoding
from aiayn_np.transformer import Transformer

from ..bug import Wrong, bug


@bug(6, "sqrt(d_model) missing in embedding backward", Embedding,
     seen="csd81/attention-is-all-you-need-numpy", caught_by="gradient: embedding")
class RootForgotten(Wrong):
    explanation = """
    The part of the embedding in the gradient of E is too short by sqrt(d_model). The output
    projection adds its part, which is right, so the sum is not even proportional to the right one.

    grad_E[id] = sum grad_y    must be    sqrt(d_model) sum grad_y
    """

    def backward(self, grad_y, cache):
        np.add.at(self.E.grad, cache.ids, grad_y)


@bug(7, "embedding gradient not summed over repeated ids", Embedding,
     caught_by="gradient: embedding")
class RepeatsLost(Wrong):
    explanation = """
    `grad[ids] += rows` reads, adds and writes once for every id. If an id occurs five times in the
    batch, only one occurrence counts.

    grad_E[id] = grad_y of its last occurrence    must be the sum over all; times sqrt(d_model)
    """

    def backward(self, grad_y, cache):
        self.E.grad[cache.ids] += grad_y * math.sqrt(self.d_model)


@bug(26, "positional exponent counts 2i twice", SinusoidalPositionalEncoding,
     caught_by="values: positions")
class TwiceTwo(Wrong):
    explanation = """
    `arange(0, d_model, 2)` holds 2i already. Wave lengths grow twice as fast, and half of the
    features hardly change with the position.

    pos / 10000^(2 (2i) / d_model)    must be    pos / 10000^(2i / d_model)
    """

    def table(self, T, *, start=0):
        pos, two_i = np.arange(start, start + T)[:, None], np.arange(0, self.d_model, 2)
        angle = pos / 10000 ** (2 * two_i / self.d_model)
        return np.stack([np.sin(angle), np.cos(angle)], axis=-1).reshape(T, -1)[:, : self.d_model]


@bug(27, "sinusoids with base 1e5", SinusoidalPositionalEncoding,
     seen="rziga/numpy-is-all-you-need", caught_by="values: positions")
class AnotherBase(Wrong):
    explanation = """
    These are other waves. Any reasonable base works in training, but it is not the paper's, and a
    model that was trained with one base is wrong with the other.

    pos / 100000^(2i / d_model)    must be    pos / 10000^(2i / d_model)
    """

    def table(self, T, *, start=0):
        pos, two_i = np.arange(start, start + T)[:, None], np.arange(0, self.d_model, 2)
        angle = pos / 100000 ** (two_i / self.d_model)
        return np.stack([np.sin(angle), np.cos(angle)], axis=-1).reshape(T, -1)[:, : self.d_model]


@bug(9, "cross-attention takes V from the decoder", DecoderLayer,
     seen="rziga/numpy-is-all-you-need", caught_by="exact: causality")
class ValuesFromDecoder(Wrong):
    explanation = """
    The mask over the memory hides padding, not the future, so values from the decoder leak the
    future. Source and target must have one length, as in every batch of a copy task. The backward
    is that of this forward.

    attended = cross_attention(x, memory, x)    must be    cross_attention(x, memory, memory)
    """

    def forward(self, x, memory, *, allowed=None, memory_allowed=None, rng=None):
        c = Cache()
        attended, c.self_attention = self.self_attention.forward(x, x, x, allowed=allowed, rng=rng)
        x, c.add_norm_1 = self.add_norm_1.forward(x, attended, rng=rng)
        attended, c.cross_attention = self.cross_attention.forward(
            x, memory, x, allowed=memory_allowed, rng=rng
        )
        x, c.add_norm_2 = self.add_norm_2.forward(x, attended, rng=rng)
        fed, c.feed_forward = self.feed_forward.forward(x)
        x, c.add_norm_3 = self.add_norm_3.forward(x, fed, rng=rng)
        return x, c

    def backward(self, grad_y, cache):
        grad_x, grad_fed = self.add_norm_3.backward(grad_y, cache.add_norm_3)
        grad_x = grad_x + self.feed_forward.backward(grad_fed, cache.feed_forward)
        grad_x, grad_attended = self.add_norm_2.backward(grad_x, cache.add_norm_2)
        # attended = cross_attention(x, memory, x)
        grad_Q, grad_K, grad_V = self.cross_attention.backward(grad_attended, cache.cross_attention)
        grad_memory, grad_x = grad_K, grad_x + grad_Q + grad_V
        grad_x, grad_attended = self.add_norm_1.backward(grad_x, cache.add_norm_1)
        # attended = self_attention(x, x, x)
        grad_Q, grad_K, grad_V = self.self_attention.backward(grad_attended, cache.self_attention)
        return grad_x + grad_Q + grad_K + grad_V, grad_memory


@bug(10, "cross-attention gradients swapped", DecoderLayer, seen="YVSemlani/numpy-transformer",
     caught_by="gradient: decoder, one length")
class GradientsSwapped(Wrong):
    explanation = """
    The decoder gets the gradient of the values, and the memory gets that of the queries. If source
    and target have one length, the shapes fit and there is no error.

    grad_V, grad_K, grad_Q = cross_attention.backward(...)    must be    grad_Q, grad_K, grad_V
    """

    def backward(self, grad_y, cache):
        grad_x, grad_fed = self.add_norm_3.backward(grad_y, cache.add_norm_3)
        grad_x = grad_x + self.feed_forward.backward(grad_fed, cache.feed_forward)
        grad_x, grad_attended = self.add_norm_2.backward(grad_x, cache.add_norm_2)
        # attended = cross_attention(x, memory, memory)
        grad_V, grad_K, grad_Q = self.cross_attention.backward(grad_attended, cache.cross_attention)
        grad_memory = grad_K + grad_V
        grad_x, grad_attended = self.add_norm_1.backward(grad_x + grad_Q, cache.add_norm_1)
        # attended = self_attention(x, x, x)
        grad_Q, grad_K, grad_V = self.self_attention.backward(grad_attended, cache.self_attention)
        return grad_x + grad_Q + grad_K + grad_V, grad_memory


@bug(25, "memory gradient from only the last decoder layer", Decoder,
     caught_by="gradient: decoder")
class OnlyTheLastLayer(Wrong):
    explanation = """
    Every decoder layer reads the memory, so the encoder must get a gradient from all of them.

    grad_memory = that of layer N    must be the sum over layers 1 ... N
    """

    def backward(self, grad_x, cache):
        grad_x, grad_memory = self.layers[-1].backward(grad_x, cache.layers[-1])
        for layer, layer_cache in zip(self.layers[-2::-1], cache.layers[-2::-1]):
            grad_x, _ = layer.backward(grad_x, layer_cache)
        return grad_x, grad_memory


@bug(8, "tied matrix: one of three contributions lost", Transformer,
     caught_by="gradient: whole model")
class SourceLost(Wrong):
    explanation = """
    One matrix embeds the source, embeds the target and makes the logits. Its gradient is a sum of
    three parts. A layer that keeps only its last input, or a missing line, loses one in silence.

    grad_E = output + target    must be    output + target + source
    """

    def backward(self, grad_logits, cache):
        grad_y = self.output_projection.backward(grad_logits, cache.output_projection)
        grad_y, grad_memory = self.decoder.backward(grad_y, cache.decoder)
        grad_y = self.dropout.backward(grad_y, cache.tgt_dropout)
        grad_y = self.positions.backward(grad_y, cache.tgt_positions)
        self.tgt_embedding.backward(grad_y, cache.tgt_embedding)
        grad_x = self.encoder.backward(grad_memory, cache.encoder)
        grad_x = self.dropout.backward(grad_x, cache.src_dropout)
        grad_x = self.positions.backward(grad_x, cache.src_positions)


@bug(18, "padding mask missing on targets", Transformer,
     seen="csd81/attention-is-all-you-need-numpy", caught_by="exact: no weight on padding")
class TargetPaddingSeen(Wrong):
    explanation = """
    The decoder's self-attention is only causal. Padding at the end does no harm, because it stands
    in the future of all real tokens. With padding at the front every token attends to it.

    allowed = causal(T)    must be    causal(T) & not_padding(tgt)
    """

    def decode(self, tgt, memory, *, memory_allowed, rng=None):
        c = Cache()
        x, c.tgt_embedding = self.tgt_embedding.forward(tgt)
        x, c.tgt_positions = self.positions.forward(x)
        x, c.tgt_dropout = self.dropout.forward(x, rng=rng)
        allowed = causal(tgt.shape[1])
        x, c.decoder = self.decoder.forward(
            x, memory, allowed=allowed, memory_allowed=memory_allowed, rng=rng
        )
        logits, c.output_projection = self.output_projection.forward(x)
        return logits, c
