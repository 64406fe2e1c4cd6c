"""Half a Transformer: decoder-only language models, old and new."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ..checks import check_ids, check_layer_options, check_sizes
from ..dropout import Dropout
from ..embedding import Embedding, OutputProjection
from ..encoder import Encoder, EncoderLayer, final_norm, mirrored
from ..masking import causal, not_padding
from ..module import Cache, Module, Parameter, Rng
from ..positional_encoding import SinusoidalPositionalEncoding
from .activations import SiLU
from .embeddings import UnscaledEmbedding
from .gated import SwiGLU
from .grouped import GroupedQueryAttention
from .norms import RMSNorm
from .pre_norm import PreNormEncoderLayer
from .rotary import NoPositions, RotaryAttention, RotaryPositions


class TokenStack(Module):
    """Embedding, positions, dropout and N layers: a language model without its output projection

    ids (B, T)   allowed: the mask of the layers   ->   (B, T, d_model)
    layer: a class with EncoderLayer's signature.   embedding: a class called as Embedding.
    positions: a class or factory called as positions(d_model, max_len, rng=rng), or a layer.
    """
    formula = "Embedding, positions, dropout and N layers"
    kept_at = ("",)

    def __init__(self, vocab_size: int, *, N: int, d_model: int, d_ff: int, h: int,
                 P_drop: float = 0.1, max_len: int = 512,
                 layer: Callable[..., Module] = EncoderLayer,
                 embedding: Callable[..., Any] = Embedding,
                 positions: Any = SinusoidalPositionalEncoding, rng: Rng) -> None:
        check_sizes(vocab_size=vocab_size, N=N, max_len=max_len)
        check_layer_options(d_model, d_ff, h, None, None, P_drop, rng)
        self.vocab_size, self.d_model, self.max_len = vocab_size, d_model, max_len
        self.embedding = embedding(vocab_size, d_model, rng=rng)
        is_layer = isinstance(positions, Module)
        self.positions = positions if is_layer else positions(d_model, max_len, rng=rng)
        self.dropout = Dropout(P_drop)
        layers = [layer(d_model, d_ff, h, P_drop=P_drop, rng=rng) for _ in range(N)]
        self.encoder = Encoder(layers, norm=final_norm(layers, d_model))

    def forward(self, ids: np.ndarray, *, allowed: np.ndarray | None = None,
                rng: Rng = None) -> tuple[np.ndarray, Cache]:
        c = Cache()
        x, c.embedding = self.embedding.forward(ids)                   # (B, T, d_model)
        x, c.positions = self.positions.forward(x)
        x, c.dropout = self.dropout.forward(x, rng=rng)
        x, c.encoder = self.encoder.forward(x, allowed=allowed, rng=rng)
        return x, c

    def backward(self, grad_x: np.ndarray, cache: Cache) -> None:
        grad_x = self.encoder.backward(grad_x, cache.encoder)
        grad_x = self.dropout.backward(grad_x, cache.dropout)
        grad_x = self.positions.backward(grad_x, cache.positions)
        self.embedding.backward(grad_x, cache.embedding)


class LanguageModel(Module):
    """logits = TokenStack(ids) E^T: decoder-only, as GPT              cf. Radford et al., 2018

    ids (B, T)   ->   logits (B, T, vocab_size); logits[:, t] predict the token after ids[:, t].
    Without a source there is no memory, and so no cross-attention. The rest of a decoder layer is
    an encoder layer with a causal mask. `options` are those of TokenStack.
    pad: the id of padding; None: no padding.   tied: whether E is the embedding's Parameter;
    otherwise E has a Parameter of its own, drawn N(0, 1/d_model).
    """
    formula = "logits = TokenStack(ids) E^T"
    kept_at = ("",)

    def __init__(self, vocab_size: int, *, pad: int | None = 0, tied: bool = True, rng: Rng,
                 **options: Any) -> None:
        self.pad = pad
        self.stack = TokenStack(vocab_size, rng=rng, **options)
        self.d_model, self.max_len = self.stack.d_model, self.stack.max_len
        self.output_projection = OutputProjection(
            self.stack.embedding.E if tied else
            Parameter.normal(self.d_model**-0.5, (vocab_size, self.d_model), rng))

    def forward(self, ids: np.ndarray, *, rng: Rng = None) -> tuple[np.ndarray, Cache]:
        ids = check_ids("ids", ids, self.stack.vocab_size, ndim=2)
        c = Cache()
        allowed = causal(ids.shape[1])                                 # (T, T)
        if self.pad is not None:
            allowed = allowed & not_padding(ids, self.pad)             # (B, 1, T, T)
        x, c.stack = self.stack.forward(ids, allowed=allowed, rng=rng)
        logits, c.output_projection = self.output_projection.forward(x)
        return logits, c

    def backward(self, grad_logits: np.ndarray, cache: Cache) -> None:
        mirrored(self.stack.encoder, cache.stack.encoder)      # refuses another depth at once
        grad_x = self.output_projection.backward(grad_logits, cache.output_projection)
        self.stack.backward(grad_x, cache.stack)


class LlamaLayer(PreNormEncoderLayer):
    """x = x + Attention(RMSNorm(x));  x = x + SwiGLU(RMSNorm(x))        Touvron et al., 2023

    x (..., T, d_model)   allowed: the mask of MultiHeadAttention   ->   (..., T, d_model)
    h heads of queries share h_kv heads of keys and values; queries and keys are rotated
    (RotaryAttention).
    bias: of the attention   gate_bias: of SwiGLU   rotary: the class of both rotary layers
    """
    formula = "x = x + Attention(RMSNorm(x));  x = x + SwiGLU(RMSNorm(x))"
    kept_at = ("",)
    stack_norm = RMSNorm

    def __init__(self, d_model: int, d_ff: int, h: int, *, h_kv: int | None = None,
                 d_k: int | None = None, base: float = 10000.0, bias: bool = False,
                 gate_bias: bool = False, activation: Callable[[], Module] = SiLU,
                 rotary: Callable[..., RotaryPositions] = RotaryPositions, P_drop: float = 0.0,
                 rng: Rng) -> None:
        check_layer_options(d_model, d_ff, h, d_k, d_k, P_drop, rng)
        d_k = d_model // h if d_k is None else d_k
        attention = RotaryAttention(rotary(d_k, base=base), rotary(d_k, base=base))
        self.norm_1 = RMSNorm(d_model)
        self.self_attention = GroupedQueryAttention(d_model, h, h_kv=h_kv, d_k=d_k, d_v=d_k,
                                                    bias=bias, attention=attention, rng=rng)
        self.norm_2 = RMSNorm(d_model)
        self.feed_forward = SwiGLU(d_model, d_ff, activation=activation, bias=gate_bias, rng=rng)
        self.dropout = Dropout(P_drop)


def llama(vocab_size: int, *, N: int, d_model: int, d_ff: int, h: int, max_len: int = 512,
          P_drop: float = 0.0, tied: bool = True, pad: int | None = None, rng: Rng,
          **options: Any) -> LanguageModel:
    """Make a LanguageModel of LlamaLayers; `options` are those of a LlamaLayer.

    tied : as in LanguageModel

    >>> model = llama(50, N=2, d_model=8, d_ff=12, h=4, h_kv=2, rng=np.random.default_rng(0))
    >>> model(np.array([[3, 1, 4]])).shape
    (1, 3, 50)
    """
    return LanguageModel(
        vocab_size, N=N, d_model=d_model, d_ff=d_ff, h=h, max_len=max_len, P_drop=P_drop, pad=pad,
        tied=tied, layer=partial(LlamaLayer, **options), embedding=UnscaledEmbedding,
        positions=NoPositions, rng=rng)
