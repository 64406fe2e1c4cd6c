"""Five methods that attribute a written token to the source tokens, for one table.

A method gets a model of the paper (post-norm), its inputs ids ((1, T_src), (1, T_tgt)), a Recording
of their forward, and the gradient of the last row's logits. It returns (T_src,).
"""

import numpy as np

from aiayn_np.reading.freezing import edited, frozen

PLACE = "src_positions"  # path of the vectors that get the attributions


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


def last_map(model, ids, recording, grad):
    """Return the weights of the last cross-attention, averaged over its heads."""
    return cross_maps(recording)[-1][-1]


def mean_map(model, ids, recording, grad):
    """Return the weights of all cross-attentions, averaged over heads and layers."""
    return np.mean(cross_maps(recording), axis=0)[-1]


def cross_maps(recording):
    """Return the weights of each cross-attention: (layers, T_tgt, T_src)."""
    return [weights(c.cross_attention) for c in recording.cache.decoder.layers]


def weights(c):
    """Return the mean map over the heads of an attention, (T_q, T_k), from its cache."""
    return c.attention.weights[0].mean(axis=0)


METHODS = {
    "shares": shares, "AttnLRP": attn_lrp, "last cross map": last_map,
    "mean of cross maps": mean_map, "gradient × input": gradient_times_input,
}
