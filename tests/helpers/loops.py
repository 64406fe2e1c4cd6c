"""Which plain loop each layer of the registry is compared with."""

import reference as ref
import reference_variants as var

LOOPS = {
    "Softmax": lambda layer, x: ref.naive_softmax(x),
    "Linear": ref.naive_linear,
    "ScaledDotProductAttention": lambda layer, *QKV, allowed: ref.naive_attention(*QKV, allowed),
    "MultiHeadAttention": ref.naive_multi_head,
    "PositionwiseFeedForward": ref.naive_feed_forward,
    "LayerNorm": lambda layer, x: ref.naive_layer_norm(
        x, layer.gamma.value, layer.beta.value, layer.eps
    ),
    "AddNorm": ref.naive_add_norm,
    "Embedding": lambda layer, ids: ref.naive_embedding(layer.E.value, ids),
    "OutputProjection": lambda layer, x: ref.naive_matmul(x, layer.E.value.T),
    "SinusoidalPositionalEncoding": lambda layer, x, start=0: (
        x + ref.naive_sinusoids(x.shape[-2], x.shape[-1], start)
    ),
    "LearnedPositionalEncoding": lambda layer, x, start=0: (
        x + layer.E.value[start : start + x.shape[-2]]
    ),
    "EncoderLayer": ref.naive_encoder_layer,
    "DecoderLayer": ref.naive_decoder_layer,
    "LabelSmoothedCrossEntropy": lambda layer, logits, targets: ref.naive_cross_entropy(
        logits, targets, layer.eps_ls, layer.pad
    ),
    "Transformer": ref.naive_transformer,
    "RMSNorm": ref.naive_rms_norm,
    "RotaryPositions": ref.naive_rotary,
    "NormedRotaryPositions": ref.naive_rotary,
    "NoPositions": lambda layer, x, start=0: x,
    "RotaryAttention": ref.naive_rotary_attention,
    "GroupedQueryAttention": ref.naive_multi_head,
    "SwiGLU": ref.naive_gated,
    "LlamaLayer": ref.naive_llama_layer,
    "LocalAttention": var.naive_local,
    "MemoryEfficientAttention": lambda layer, *QKV, allowed: ref.naive_attention(*QKV, allowed),
    "Convolution1D": var.naive_convolution,
    **dict.fromkeys(("DotScore", "GeneralScore", "AdditiveScore", "ConcatScore", "RelativeScore"),
                    var.naive_scores),
    **dict.fromkeys(("ScoredAttention", "RelativeAttention"), var.naive_scored_attention),
    **dict.fromkeys(
        ("RelativePositionBias", "RelativePositionBias2D"),
        lambda layer, scores: scores + var.naive_bias(layer, *scores.shape[-2:]),
    ),
    "WindowAttention": var.naive_window_attention,
    "PreNormEncoderLayer": var.naive_pre_norm_encoder,
    "PreNormDecoderLayer": var.naive_pre_norm_decoder,
    "TokenStack": var.naive_stack,
    "LanguageModel": var.naive_language_model,
}
