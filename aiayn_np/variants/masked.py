"""BERT: an encoder that predicts masked tokens (Devlin et al., 2018)."""

from collections.abc import Callable

import numpy as np

from ..checks import check_ids, check_layer_options, check_sizes
from ..dropout import Dropout
from ..encoder import Encoder, EncoderLayer, final_norm
from ..layer_norm import LayerNorm
from ..linear import Linear
from ..masking import not_padding
from ..module import Cache, Module, Parameter, Rng
from ..positional_encoding import LearnedPositionalEncoding
from .activations import GELU
from .embeddings import BiasedProjection, SegmentEmbedding, UnscaledEmbedding


class MaskedTokenHead(Module):
    """logits = LayerNorm(activation(x W + b)) E^T + b_E

    x (..., d_model)   ->   (..., vocab_size).   E is the embedding's Parameter.
    """
    formula = "logits = LayerNorm(activation(x W + b)) E^T + b_E"
    position_wise = True

    def __init__(self, E: Parameter, *, activation: Callable[[], Module] = GELU, rng: Rng) -> None:
        d_model = E.value.shape[1]
        self.linear = Linear(d_model, d_model, rng=rng)
        self.activation = activation()
        self.layer_norm = LayerNorm(d_model, eps=1e-12)
        self.projection = BiasedProjection(E)

    def forward(self, x: np.ndarray) -> tuple[np.ndarray, Cache]:
        c = Cache()
        x, c.linear = self.linear.forward(x)                           # (..., d_model)
        x, c.activation = self.activation.forward(x)
        x, c.layer_norm = self.layer_norm.forward(x)
        logits, c.projection = self.projection.forward(x)              # (..., vocab_size)
        return logits, c

    def backward(self, grad_logits: np.ndarray, cache: Cache) -> np.ndarray:
        grad_x = self.projection.backward(grad_logits, cache.projection)
        grad_x = self.layer_norm.backward(grad_x, cache.layer_norm)
        grad_x = self.activation.backward(grad_x, cache.activation)
        return self.linear.backward(grad_x, cache.linear)


class MaskedLanguageModel(Module):
    """logits = Head(Encoder(LayerNorm(E[ids] + E[pos] + E[segments])))

    It predicts every token from all other tokens, left and right: encoder-only, as BERT.
    ids (B, T)   segments (B, T), all 0 for None   ->   logits (B, T, vocab_size)
    The three embeddings of a token are added and normalised before the first layer.
    layer: a class or factory with EncoderLayer's signature;  pad: an id, or None for no padding.
    """
    formula = "logits = Head(Encoder(LayerNorm(E[ids] + E[pos] + E[segments])))"

    def __init__(self, vocab_size: int, *, N: int = 12, d_model: int = 768, d_ff: int = 3072,
                 h: int = 12, P_drop: float = 0.1, max_len: int = 512, segments: int = 2,
                 pad: int | None = 0, layer: Callable[..., Module] = EncoderLayer,
                 activation: Callable[[], Module] = GELU, rng: Rng) -> None:
        check_sizes(vocab_size=vocab_size, N=N, max_len=max_len)
        check_layer_options(d_model, d_ff, h, None, None, P_drop, rng)
        self.vocab_size, self.max_len, self.pad = vocab_size, max_len, pad
        self.embedding = UnscaledEmbedding(vocab_size, d_model, rng=rng)
        self.positions = LearnedPositionalEncoding(d_model, max_len, rng=rng)
        self.segments = SegmentEmbedding(segments, d_model, rng=rng)
        self.layer_norm = LayerNorm(d_model, eps=1e-12)
        self.dropout = Dropout(P_drop)
        layers = [layer(d_model, d_ff, h, P_drop=P_drop, rng=rng) for _ in range(N)]
        self.encoder = Encoder(layers, norm=final_norm(layers, d_model))
        self.head = MaskedTokenHead(self.embedding.E, activation=activation, rng=rng)

    def forward(self, ids: np.ndarray, *, segments: np.ndarray | None = None,
                rng: Rng = None) -> tuple[np.ndarray, Cache]:
        ids = check_ids("ids", ids, self.vocab_size, ndim=2)
        c = Cache()
        x, c.embedding = self.embedding.forward(ids)                   # (B, T, d_model)
        x, c.positions = self.positions.forward(x)
        x, c.segments = self.segments.forward(x, segments=segments)
        x, c.layer_norm = self.layer_norm.forward(x)
        x, c.dropout = self.dropout.forward(x, rng=rng)
        allowed = None if self.pad is None else not_padding(ids, self.pad)     # (B, 1, 1, T)
        x, c.encoder = self.encoder.forward(x, allowed=allowed, rng=rng)
        logits, c.head = self.head.forward(x)                          # (B, T, vocab_size)
        return logits, c

    def backward(self, grad_logits: np.ndarray, cache: Cache) -> None:
        grad_x = self.head.backward(grad_logits, cache.head)
        grad_x = self.encoder.backward(grad_x, cache.encoder)
        grad_x = self.dropout.backward(grad_x, cache.dropout)
        grad_x = self.layer_norm.backward(grad_x, cache.layer_norm)
        grad_x = self.segments.backward(grad_x, cache.segments)
        grad_x = self.positions.backward(grad_x, cache.positions)
        self.embedding.backward(grad_x, cache.embedding)
