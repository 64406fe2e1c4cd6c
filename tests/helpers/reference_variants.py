"""The formulas of the variants as plain loops, beside those of the paper in reference.py."""

import math

import numpy as np
import reference as ref


def naive_local(layer, Q, K, V, allowed=None):
    """Attention whose query i may look at the keys j with |i - j| <= radius."""
    i = np.arange(Q.shape[-2])
    near = abs(i[:, None] - i) <= layer.radius
    return ref.naive_attention(Q, K, V, near if allowed is None else near & allowed)


def naive_convolution(layer, x):
    """b_n + sum_jm x_(t + j - left)m W_jmn; x is zero outside of the sequence."""
    W, T, left = layer.W.value, x.shape[-2], layer.k // 2
    y = np.zeros((*x.shape[:-1], layer.d_out))
    for *at, t, n in np.ndindex(y.shape):
        row = x[tuple(at)]
        y[(*at, t, n)] = layer.b.value[n] + sum(
            float(row[t + j - left, m]) * float(W[j, m, n])
            for j in range(layer.k) if 0 <= t + j - left < T for m in range(layer.d_in))
    return y


def naive_map(W, x):
    """sum_m x_m W_mn for every n, as floats."""
    return [sum(float(x[m]) * float(W[m, n]) for m in range(len(x))) for n in range(W.shape[1])]


def naive_score(layer, head, q, k):
    """The formula of one head for one query and one key."""
    kind = type(layer).__name__
    if kind == "DotScore":
        return sum(float(a) * float(b) for a, b in zip(q, k, strict=True))
    W = layer.W.value[head]
    if kind == "GeneralScore":
        return sum(float(q[a]) * float(W[a, b]) * float(k[b])
                   for a in range(len(q)) for b in range(len(k)))
    if kind == "ConcatScore":
        inside = naive_map(W, [*q, *k])
    else:
        pairs = zip(naive_map(W, q), naive_map(layer.U.value[head], k), strict=True)
        inside = [x + y for x, y in pairs]
    return sum(float(v) * math.tanh(s) for v, s in zip(layer.v.value[head], inside, strict=True))


def naive_scores(layer, Q, K):
    """Every query with every key, one after the other; of relative positions with their bias."""
    scores = np.zeros((*Q.shape[:-1], K.shape[-2]))
    for *leading, i, j in np.ndindex(scores.shape):
        q, k, at = Q[(*leading, i)], K[(*leading, j)], (*leading, i, j)
        if type(layer).__name__ == "RelativeScore":
            scores[at] = naive_score(layer.dot, None, q, k) / math.sqrt(len(q))
        else:
            scores[at] = naive_score(layer, leading[-1], q, k)
    if type(layer).__name__ == "RelativeScore":
        scores = scores + naive_bias(layer.bias, *scores.shape[-2:])
    return scores


def naive_scored_attention(layer, Q, K, V, allowed=None):
    """sum_j softmax_j(score(Q_i, K_j)) V_j over the allowed j."""
    return ref.naive_weighed(naive_scores(layer.score, Q, K), V, allowed)


def naive_bias(layer, T_q, T_k):
    """The bias of relative positions (h, T_q, T_k), entry by entry."""
    if hasattr(layer, "height"):
        return naive_bias_2d(layer.b.value, layer.height, layer.width)
    bias, most = np.zeros((layer.h, T_q, T_k)), layer.max_distance
    for head, i, j in np.ndindex(bias.shape):
        bias[head, i, j] = layer.b.value[max(-most, min(most, j - i)) + most, head]
    return bias


def naive_bias_2d(b, height, width):
    """(h, T, T): for every offset of rows and columns the next row of the table."""
    offsets = {}
    for down in range(-(height - 1), height):
        for right in range(-(width - 1), width):
            offsets[down, right] = b[len(offsets)]
    T = height * width
    bias = np.zeros((b.shape[1], T, T))
    for y_i, x_i, y_j, x_j in np.ndindex(height, width, height, width):
        bias[:, y_i * width + x_i, y_j * width + x_j] = offsets[y_i - y_j, x_i - x_j]
    return bias


def region(r, c, M, shift):
    """The window of the shifted grid that pixel (r, c) lies in, cut off at the edges."""
    return (r - shift) // M, (c - shift) // M


def naive_window_attention(layer, x):
    """For every pixel: attention over the pixels of its region, head by head."""
    m, (B, H, W, d_model) = layer.self_attention, x.shape
    h, M, d_k = m.h, layer.window, m.d_k
    q, k, v = (ref.naive_matmul(x, getattr(m, f"linear_{name}").W.value) for name in "QKV")
    b = m.attention.score.bias.b.value.reshape(2 * M - 1, 2 * M - 1, h)
    heads = np.zeros((B, H, W, d_model))
    for n, r, c, head in np.ndindex(B, H, W, h):
        mine = slice(head * d_k, (head + 1) * d_k)
        here = region(r, c, M, layer.shift)
        seen = [(R, C) for R, C in np.ndindex(H, W) if region(R, C, M, layer.shift) == here]
        scores = np.array([
            sum(q[n, r, c, mine] * k[n, R, C, mine]) / math.sqrt(d_k)
            + b[r - R + M - 1, c - C + M - 1, head] for R, C in seen
        ])
        for w, (R, C) in zip(ref.naive_softmax(scores), seen):
            heads[n, r, c, mine] += w * v[n, R, C, mine]
    return ref.naive_matmul(heads, m.linear_O.W.value)


def naive_norm(layer, x):
    """A layer norm, or the norm by the root of the mean square."""
    if not hasattr(layer, "beta"):
        return ref.naive_rms_norm(layer, x)
    return ref.naive_layer_norm(x, layer.gamma.value, layer.beta.value, layer.eps)


def naive_pre_norm_encoder(layer, x, allowed=None):
    """x + attention(norm(x)), then x + feed-forward(norm(x)), without dropout."""
    n = naive_norm(layer.norm_1, x)
    x = x + ref.naive_multi_head(layer.self_attention, n, n, n, allowed)
    return x + ref.naive_feed_forward(layer.feed_forward, naive_norm(layer.norm_2, x))


def naive_pre_norm_decoder(layer, x, memory, allowed=None, memory_allowed=None):
    """The same with attention over the memory, whose own norm ends the encoder."""
    n = naive_norm(layer.norm_1, x)
    x = x + ref.naive_multi_head(layer.self_attention, n, n, n, allowed)
    n = naive_norm(layer.norm_2, x)
    x = x + ref.naive_multi_head(layer.cross_attention, n, memory, memory, memory_allowed)
    return x + ref.naive_feed_forward(layer.feed_forward, naive_norm(layer.norm_3, x))


OF_STACKS = {"EncoderLayer": ref.naive_encoder_layer, "PreNormEncoderLayer": naive_pre_norm_encoder,
             "LlamaLayer": ref.naive_llama_layer}


def naive_stack(stack, ids, allowed=None):
    """Embedding, positions, the layers one after another, and the norm at their end."""
    x, T = stack.embedding.E.value[ids], ids.shape[1]
    if type(stack.embedding).__name__ == "Embedding":
        x = x * math.sqrt(stack.d_model)
    if hasattr(stack.positions, "E"):
        x = x + stack.positions.E.value[:T]
    elif type(stack.positions).__name__ != "NoPositions":
        x = x + ref.naive_sinusoids(T, stack.d_model)
    for layer in stack.encoder.layers:
        x = OF_STACKS[type(layer).__name__](layer, x, allowed)
    return x if stack.encoder.norm is None else naive_norm(stack.encoder.norm, x)


def naive_language_model(model, ids):
    """The logits of decoder-only models: no position looks ahead, and none at padding."""
    B, T = ids.shape
    allowed = np.zeros((B, 1, T, T), dtype=bool)
    for b, i in np.ndindex(B, T):
        for j in range(i + 1):
            allowed[b, 0, i, j] = model.pad is None or ids[b, j] != model.pad
    x = naive_stack(model.stack, ids, allowed)
    return ref.naive_matmul(x, model.output_projection.E.value.T)
