"""The gradient check of every layer, and of the whole model with its loss; see registry.py."""

import numpy as np

from aiayn_np.add_norm import AddNorm
from aiayn_np.attention import ScaledDotProductAttention
from aiayn_np.decoder import Decoder, DecoderLayer
from aiayn_np.embedding import Embedding, OutputProjection
from aiayn_np.encoder import EncoderLayer
from aiayn_np.feed_forward import PositionwiseFeedForward
from aiayn_np.layer_norm import LayerNorm
from aiayn_np.module import Parameter
from aiayn_np.proofs.probing import randomise
from aiayn_np.softmax import Softmax
from aiayn_np.training.loss import LabelSmoothedCrossEntropy, ModelLoss

from .registry import (
    D_FF,
    D_MODEL,
    HEADS,
    SRC,
    T_SRC,
    T_TGT,
    TARGETS,
    TGT,
    VOCAB,
    B,
    H,
    attention_inputs,
    check,
    fresh,
    multi_head_inputs,
    prove,
    small_llama,
    small_model,
)


@check("gradient: softmax")
def softmax_gradient():
    scores = 2 * fresh().standard_normal((B, 3, T_SRC))
    scores[0, 1, 2:] = scores[1, 2] = -np.inf
    prove(Softmax(), scores)


@check("gradient: attention")
def attention_gradient():
    *arrays, allowed = attention_inputs(fresh())
    prove(ScaledDotProductAttention(P_drop=0.3), *arrays, allowed=allowed, rng=fresh())


@check("gradient: multi-head")
def multi_head_gradient():
    layer, arrays, allowed = multi_head_inputs(fresh())
    prove(layer, *arrays, allowed=allowed)


@check("gradient: feed-forward")
def feed_forward_gradient():
    rng = fresh()
    layer = randomise(PositionwiseFeedForward(D_MODEL, D_FF, rng=rng), rng)
    prove(layer, rng.standard_normal((B, T_SRC, D_MODEL)))


@check("gradient: embedding")
def embedding_gradient():
    prove(Embedding(VOCAB, D_MODEL, rng=fresh()), SRC)


@check("gradient: output projection")
def output_projection_gradient():
    rng = fresh()
    E = Parameter(rng.standard_normal((VOCAB, D_MODEL)))
    prove(OutputProjection(E), rng.standard_normal((B, T_TGT, D_MODEL)))


@check("gradient: layer norm")
def layer_norm_gradient():
    rng = fresh()
    prove(randomise(LayerNorm(D_MODEL), rng), rng.standard_normal((B, T_SRC, D_MODEL)))


@check("gradient: add & norm")
def add_norm_gradient():
    rng = fresh()
    x, y = rng.standard_normal((2, B, T_SRC, D_MODEL))
    prove(randomise(AddNorm(D_MODEL, 0.3), rng), x, y, rng=fresh())


@check("gradient: encoder layer")
def encoder_layer_gradient():
    rng = fresh()
    layer = randomise(EncoderLayer(D_MODEL, D_FF, H, P_drop=0.3, **HEADS, rng=rng), rng)
    allowed = (SRC != 0)[:, None, None]
    prove(layer, rng.standard_normal((B, T_SRC, D_MODEL)), allowed=allowed, rng=fresh())


def decoder_gradient(T_src, T_tgt):
    rng = fresh()
    layers = [DecoderLayer(D_MODEL, D_FF, H, P_drop=0.3, **HEADS, rng=rng) for _ in range(2)]
    x, memory = (rng.standard_normal((B, T, D_MODEL)) for T in (T_tgt, T_src))
    masks = dict(allowed=np.tri(T_tgt, dtype=bool), memory_allowed=rng.random((T_tgt, T_src)) < 0.7)
    prove(randomise(Decoder(layers), rng), x, memory, **masks, rng=fresh())


@check("gradient: decoder")
def decoder_gradient_of_two_lengths():
    decoder_gradient(T_SRC, T_TGT)


@check("gradient: decoder, one length")
def decoder_gradient_of_one_length():
    """Check with one length: then a swap of decoder and memory raises no error of shapes."""
    decoder_gradient(T_TGT, T_TGT)


@check("gradient: loss")
def loss_gradient():
    logits = 2 * fresh().standard_normal((B, T_TGT, VOCAB))
    prove(LabelSmoothedCrossEntropy(0.1), logits, targets=TARGETS)


@check("gradient: parts since 2017")
def since_2017_gradient():
    """Check a whole language model: rotary positions, grouped queries, SwiGLU, RMS norms."""
    prove(small_llama(fresh()), SRC)


@check("gradient: whole model")
def whole_model_gradient():
    """Check the whole model: padding, causal mask, shared E, smoothing, repeated dropout."""
    whole = ModelLoss(small_model(fresh()), LabelSmoothedCrossEntropy(0.1))
    prove(whole, SRC, TGT, targets=TARGETS, rng=fresh())
