"""Which plain loop each layer of the registry is compared with."""

from reference import (
    naive_add_norm,
    naive_attention,
    naive_cross_entropy,
    naive_decoder_layer,
    naive_embedding,
    naive_encoder_layer,
    naive_feed_forward,
    naive_gated,
    naive_grouped,
    naive_layer_norm,
    naive_linear,
    naive_llama_layer,
    naive_matmul,
    naive_multi_head,
    naive_rms_norm,
    naive_rotary,
    naive_rotary_attention,
    naive_sinusoids,
    naive_softmax,
    naive_transformer,
)
from reference_variants import (
    naive_bias,
    naive_convolution,
    naive_language_model,
    naive_local,
    naive_pre_norm_decoder,
    naive_pre_norm_encoder,
    naive_scored_attention,
    naive_scores,
    naive_stack,
    naive_window_attention,
)

LOOPS = {
    "Softmax": lambda layer, x: naive_softmax(x),
    "Linear": naive_linear,
    "ScaledDotProductAttention": lambda layer, Q, K, V, allowed: naive_attention(Q, K, V, allowed),
    "MultiHeadAttention": naive_multi_head,
    "PositionwiseFeedForward": naive_feed_forward,
    "LayerNorm": lambda layer, x: naive_layer_norm(
        x, layer.gamma.value, layer.beta.value, layer.eps
    ),
    "AddNorm": naive_add_norm,
    "Embedding": lambda layer, ids: naive_embedding(layer.E.value, ids),
    "OutputProjection": lambda layer, x: naive_matmul(x, layer.E.value.T),
    "SinusoidalPositionalEncoding": lambda layer, x, start=0: (
        x + naive_sinusoids(x.shape[-2], x.shape[-1], start)
    ),
    "LearnedPositionalEncoding": lambda layer, x, start=0: (
        x + layer.E.value[start : start + x.shape[-2]]
    ),
    "EncoderLayer": naive_encoder_layer,
    "DecoderLayer": naive_decoder_layer,
    "LabelSmoothedCrossEntropy": lambda layer, logits, targets: naive_cross_entropy(
        logits, targets, layer.eps_ls, layer.pad
    ),
    "Transformer": naive_transformer,
    "RMSNorm": naive_rms_norm,
    "RotaryPositions": naive_rotary,
    "NormedRotaryPositions": naive_rotary,
    "NoPositions": lambda layer, x, start=0: x,
    "RotaryAttention": naive_rotary_attention,
    "GroupedQueryAttention": naive_grouped,
    "SwiGLU": naive_gated,
    "LlamaLayer": naive_llama_layer,
    "LocalAttention": naive_local,
    "MemoryEfficientAttention": lambda layer, Q, K, V, allowed: naive_attention(Q, K, V, allowed),
    "Convolution1D": naive_convolution,
    **dict.fromkeys(
        ("DotScore", "GeneralScore", "AdditiveScore", "ConcatScore", "RelativeScore"), naive_scores
    ),
    **dict.fromkeys(("ScoredAttention", "RelativeAttention"), naive_scored_attention),
    **dict.fromkeys(
        ("RelativePositionBias", "RelativePositionBias2D"),
        lambda layer, scores: scores + naive_bias(layer, *scores.shape[-2:]),
    ),
    "WindowAttention": naive_window_attention,
    "PreNormEncoderLayer": naive_pre_norm_encoder,
    "PreNormDecoderLayer": naive_pre_norm_decoder,
    "TokenStack": naive_stack,
    "LanguageModel": naive_language_model,
}
