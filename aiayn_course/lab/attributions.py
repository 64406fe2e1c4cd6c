"""Eight methods that attribute a written token to the source tokens, for one table.

A method gets a model of the paper (post-norm), its inputs ids ((1, T_src), (1, T_tgt)), a Recording
of their forward, and the gradient of the last row's logits. It returns (T_src,).
"""

import numpy as np

from aiayn_np.reading.freezing import edited, frozen
from aiayn_np.reading.recording import Recording

PLACE = "src_positions"  # path of the vectors that get the attributions
POINTS = 16  # on the straight path of integrated gradients


def shares(model, ids, recording, grad):
    """Multiply gradient by input, with the model's scales, weights and gates held constant."""
    return gradient_times_input(model, ids, recording, grad, frozen(recording.cache))


def attn_lrp(model, ids, recording, grad):
    """Hold the norms, and halve each factor of a product     Achtibat et al., 2024 (AttnLRP)"""
    def rule(_, part):
        if hasattr(part, "V"):
            return {name: getattr(part, name) / 2 for name in ("Q", "K", "V", "kept")}
        is_norm = hasattr(part, "normalised")
        return {"normalised": np.zeros_like(part.normalised)} if is_norm else {}
    cache = edited(recording.cache, rule)
    return gradient_times_input(model, ids, recording, grad, cache)


def gradient_times_input(model, ids, recording, grad, cache=None):
    """Multiply the vector of each source token by the gradient of the logit."""
    gradients, _ = recording.backward(grad, cache or recording.cache)
    return (recording.outputs[PLACE] * gradients[PLACE]).sum(axis=-1)[0]


def integrated_gradients(model, ids, recording, grad):
    """Multiply each embedding by its mean gradient on a path from no embedding to the whole one

    Sundararajan et al., 2017, Eq. (1). At the start of the path the source has positions alone.
    """
    x = recording.outputs["src_embedding"]                             # (1, T_src, d_model)
    place = next(number for number, (*_, cache) in enumerate(recording.calls)
                 if cache is recording.cache.src_positions)
    share = (np.arange(POINTS) + 0.5)[:, None, None] / POINTS
    points = recording.outputs[PLACE] - (1 - share) * x                # (POINTS, T_src, d_model)
    path = Recording(model, *(np.repeat(row, POINTS, axis=0) for row in ids),
                     given={place: points})
    gradients, _ = path.backward(np.repeat(grad, POINTS, axis=0), path.cache)
    return (x * gradients[PLACE].mean(axis=0)).sum(axis=-1)[0]


def last_map(model, ids, recording, grad):
    """Return the weights of the last cross-attention, averaged over its heads."""
    return cross_maps(recording)[-1][-1]


def mean_map(model, ids, recording, grad):
    """Return the weights of all cross-attentions, averaged over heads and layers."""
    return np.mean(cross_maps(recording), axis=0)[-1]


def rollout(model, ids, recording, grad):
    """Multiply the maps of all layers, each averaged with the identity  Abnar and Zuidema, 2020"""
    def half(c):
        mean = weights(c)
        return (mean + np.eye(len(mean))) / 2

    encoder = [half(c.self_attention) for c in recording.cache.encoder.layers]
    decoder = [(half(c.self_attention), 0.5, weights(c.cross_attention) / 2)
               for c in recording.cache.decoder.layers]
    return followed(encoder, decoder)


def alti(model, ids, recording, grad):
    """Multiply the contributions of all layers, by nearness      Ferrando et al., 2022 (ALTI+)"""
    encoder, decoder, cache, outputs = [], [], recording.cache, recording.outputs
    x = outputs[PLACE][0]
    for i, (layer, c) in enumerate(zip(model.encoder.layers, cache.encoder.layers)):
        parts = values(layer.self_attention, c.self_attention)
        encoder.append(nearness(with_residual(parts, x), layer.add_norm_1, c.add_norm_1))
        x = outputs[f"encoder.layers.{i}"][0]
    x = outputs["tgt_positions"][0]
    for i, (layer, c) in enumerate(zip(model.decoder.layers, cache.decoder.layers)):
        parts = with_residual(values(layer.self_attention, c.self_attention), x)
        own = nearness(parts, layer.add_norm_1, c.add_norm_1)
        x = outputs[f"decoder.layers.{i}.add_norm_1"][0]
        parts = np.append(values(layer.cross_attention, c.cross_attention), x[:, None], axis=1)
        near = nearness(parts, layer.add_norm_2, c.add_norm_2)
        decoder.append((own, near[:, -1:], near[:, :-1]))
        x = outputs[f"decoder.layers.{i}"][0]
    return followed(encoder, decoder)


def followed(encoder, decoder):
    """Follow the contributions of the positions through the layers; return those to the last row.

    encoder : for each layer (T_src, T_src)     decoder : for each layer (own (T_tgt, T_tgt),
        residual of the cross-attention, cross (T_tgt, T_src))
    """
    memory = np.eye(len(encoder[0]))
    for layer in encoder:
        memory = layer @ memory                                        # (T_src, T_src)
    rows = np.zeros((len(decoder[0][0]), len(memory)))                 # (T_tgt, T_src)
    for own, residual, cross in decoder:
        rows = residual * (own @ rows) + cross @ memory
    return rows[-1]


def cross_maps(recording):
    """Return the weights of each cross-attention: (layers, T_tgt, T_src)."""
    return [weights(c.cross_attention) for c in recording.cache.decoder.layers]


def weights(c):
    """Return the mean map over the heads of an attention, (T_q, T_k), from its cache."""
    return c.attention.weights[0].mean(axis=0)


def values(attention, c):
    """Return the vector that each key adds to each query: (T_q, T_k, d_model)."""
    V = c.attention.V[0]                                               # (h, T_k, d_v)
    W_O = attention.linear_O.W.value.reshape(len(V), V.shape[-1], -1)
    return np.einsum("hqk,hkv,hvd->qkd", c.attention.kept[0], V, W_O, optimize=True)


def with_residual(parts, x):
    """Add the residual x (T, d_model) to each position's own part of (T, T, d_model)."""
    parts[np.arange(len(x)), np.arange(len(x))] += x
    return parts


def nearness(parts, add_norm, c):
    """Return (T_q, parts): the nearness of each part to the norm of the sum, as a share."""
    centred = parts - parts.mean(axis=-1, keepdims=True)
    parts = centred * c.layer_norm.inv_std[0][:, None] * add_norm.layer_norm.gamma.value
    y = parts.sum(axis=1, keepdims=True)
    near = np.maximum(abs(y).sum(axis=-1) - abs(y - parts).sum(axis=-1), 0)
    return near / np.maximum(near.sum(axis=-1, keepdims=True), 1e-30)


METHODS = {
    "shares": shares, "ALTI+": alti, "AttnLRP": attn_lrp, "last cross map": last_map,
    "mean of cross maps": mean_map, "rollout": rollout,
    "integrated gradients": integrated_gradients, "gradient × input": gradient_times_input,
}
