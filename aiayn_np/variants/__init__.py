"""Layers that the paper argues against or mentions, and layers of later papers.

All follow the protocol of the layers. The core never imports this room.

Public names, by the file that defines them:

    activations        FeedForward, GELU, SiLU, TanhGELU
    choices            keywords
    convolution        Convolution1D
    embeddings         BiasedProjection, FairseqSinusoids, SinusoidsInHalves, UnscaledEmbedding
    gated              SwiGLU
    grouped            GroupedQueryAttention, repeat_heads, sum_heads
    layer_options      layer_factory, set_eps
    local              LocalAttention
    masked             MaskedLanguageModel
    memory_efficient   MemoryEfficientAttention
    models             LanguageModel, LlamaLayer, TokenStack, llama
    norms              BatchNorm, RMSNorm
    optimizers         AdamW, cosine_rate, matrices
    pre_norm           PreNormDecoderLayer, PreNormEncoderLayer
    recurrent          GRU, RNN
    relative_position  RelativePositionBias, relative_attention
    rotary             NoPositions, NormedRotaryPositions, RotaryAttention, RotaryPositions,
                       Stretch, rotary_attention
    scoring            AdditiveScore, ConcatScore, DotScore, GeneralScore, ScoredAttention,
                       additive_attention, concat_attention, dot_attention, general_attention
"""
