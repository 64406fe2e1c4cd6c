"""The Transformer: Fig. 1, whole."""

import copy
import math

from .checks import (
    check_factory,
    check_ids,
    check_integers,
    check_layer_options,
    check_positions,
    check_sizes,
)
from .decoder import Decoder, DecoderLayer
from .dropout import Dropout
from .embedding import Embedding, OutputProjection
from .encoder import Encoder, EncoderLayer, final_norm, mirrored
from .masking import causal, not_padding
from .module import Cache, Module
from .positional_encoding import SinusoidalPositionalEncoding


class Transformer(Module):
    """logits = Decoder(tgt, Encoder(src)) E^T                         Sec. 3, Fig. 1

    src (B, T_src), tgt (B, T_tgt) token ids   ->   logits (B, T_tgt, vocab_size)
    One matrix E embeds the source, embeds the target and projects to the logits (Sec. 3.4).
    `tgt` is the output shifted right: it starts with a begin-of-sequence token, and logits[:, t]
    predict the token after tgt[:, t]. The softmax of Fig. 1 is part of the loss. The masks are
    built here: padding is never attended to, and the decoder never looks ahead.

    positions : a class or factory called as positions(d_model, max_len, rng=rng), or a layer
    attention : a factory called as attention(h, d_k, d_v, rng), once for each place
    encoder_layer, decoder_layer : classes or factories with EncoderLayer's signature
    """
    formula = "logits = Decoder(tgt, Encoder(src)) E^T"
    kept_at = ("",)

    def __init__(
        self, vocab_size, *, N=6, d_model=512, d_ff=2048, h=8, d_k=None, d_v=None, P_drop=0.1,
        max_len=512, pad=0, positions=SinusoidalPositionalEncoding, attention=None,
        encoder_layer=EncoderLayer, decoder_layer=DecoderLayer, rng,
    ):
        check_sizes(vocab_size=vocab_size, N=N, max_len=max_len)
        check_layer_options(d_model, d_ff, h, d_k, d_v, P_drop, rng)
        check_factory("attention", attention, "attention(h, d_k, d_v, rng)")
        self.vocab_size, self.d_model, self.h, self.max_len = vocab_size, d_model, h, max_len
        self.pad = int(check_ids("pad", pad, vocab_size, ndim=0))
        self.src_embedding = Embedding(vocab_size, d_model, rng=rng)
        self.tgt_embedding = copy.copy(self.src_embedding)             # a second layer, the same E
        is_layer = isinstance(positions, Module)
        self.positions = positions if is_layer else positions(d_model, max_len, rng=rng)
        self.dropout = Dropout(P_drop)
        options = dict(P_drop=P_drop, d_k=d_k, d_v=d_v, attention=attention, rng=rng)
        encoder_layers = [encoder_layer(d_model, d_ff, h, **options) for _ in range(N)]
        decoder_layers = [decoder_layer(d_model, d_ff, h, **options) for _ in range(N)]
        self.encoder = Encoder(encoder_layers, norm=final_norm(encoder_layers, d_model))
        self.decoder = Decoder(decoder_layers, norm=final_norm(decoder_layers, d_model))
        self.output_projection = OutputProjection(self.src_embedding.E)

    @classmethod
    def base(cls, vocab_size=37000, *, rng, **options):
        """Return the paper's base model (Table 3): N=6, d_model=512, d_ff=2048, h=8."""
        return cls(vocab_size, rng=rng, **options)

    @classmethod
    def big(cls, vocab_size=37000, *, rng, **options):
        """Return the paper's big model (Table 3): d_model=1024, d_ff=4096, h=16, P_drop=0.3."""
        big = dict(d_model=1024, d_ff=4096, h=16, P_drop=0.3)
        return cls(vocab_size, rng=rng, **(big | options))

    def forward(self, src, tgt, *, rng=None):
        tgt = check_ids("tgt", tgt, self.vocab_size, ndim=2)           # before `encode` draws
        check_positions(tgt.shape[1], 0, getattr(self.positions, "max_len", math.inf))
        src = check_integers("src", src, ndim=2)
        if len(src) != len(tgt):
            raise ValueError("src and tgt must have one batch size, got"
                             f" {src.shape}, {tgt.shape}")
        memory, encoded = self.encode(src, rng=rng)
        memory_allowed = not_padding(src, self.pad)
        logits, decoded = self.decode(tgt, memory, memory_allowed=memory_allowed, rng=rng)
        return logits, Cache(**vars(encoded), **vars(decoded))

    def encode(self, src, *, rng=None):
        """Return (memory (B, T_src, d_model), cache) for source ids (B, T_src)."""
        src = check_ids("src", src, self.vocab_size, ndim=2)
        c = Cache()
        x, c.src_embedding = self.src_embedding.forward(src)           # (B, T_src, d_model)
        x, c.src_positions = self.positions.forward(x)
        x, c.src_dropout = self.dropout.forward(x, rng=rng)
        allowed = not_padding(src, self.pad)                           # (B, 1, 1, T_src)
        memory, c.encoder = self.encoder.forward(x, allowed=allowed, rng=rng)
        return memory, c

    def decode(self, tgt, memory, *, memory_allowed, rng=None):
        """Return (logits (B, T_tgt, vocab_size), cache) of target ids (B, T_tgt) and the memory."""
        tgt = check_ids("tgt", tgt, self.vocab_size, ndim=2)
        c = Cache()
        x, c.tgt_embedding = self.tgt_embedding.forward(tgt)           # (B, T_tgt, d_model)
        x, c.tgt_positions = self.positions.forward(x)
        x, c.tgt_dropout = self.dropout.forward(x, rng=rng)
        allowed = causal(tgt.shape[1]) & not_padding(tgt, self.pad)    # (B, 1, T_tgt, T_tgt)
        x, c.decoder = self.decoder.forward(
            x, memory, allowed=allowed, memory_allowed=memory_allowed, rng=rng
        )
        logits, c.output_projection = self.output_projection.forward(x)
        return logits, c

    def backward(self, grad_logits, cache):
        mirrored(self.encoder, cache.encoder)      # refuses another depth before anything is added
        mirrored(self.decoder, cache.decoder)
        grad_y = self.output_projection.backward(grad_logits, cache.output_projection)
        grad_y, grad_memory = self.decoder.backward(grad_y, cache.decoder)
        grad_y = self.dropout.backward(grad_y, cache.tgt_dropout)
        grad_y = self.positions.backward(grad_y, cache.tgt_positions)
        self.tgt_embedding.backward(grad_y, cache.tgt_embedding)
        grad_x = self.encoder.backward(grad_memory, cache.encoder)
        grad_x = self.dropout.backward(grad_x, cache.src_dropout)
        grad_x = self.positions.backward(grad_x, cache.src_positions)
        self.src_embedding.backward(grad_x, cache.src_embedding)
