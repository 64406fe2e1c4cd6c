"""The formulas of the paper as plain loops over indices: what every layer is compared with.

Nothing here calls the arithmetic of the package. A function that takes a layer reads only its
parameters and sizes; every number is then a Python float, and every sum a loop.
"""

import math

import numpy as np


def naive_matmul(x, W, b=None):
    """y[..., n] = sum_m x[..., m] W[m, n] + b[n]."""
    y = np.zeros((*x.shape[:-1], W.shape[1]))
    for at in np.ndindex(x.shape[:-1]):
        for n in range(W.shape[1]):
            total = 0.0 if b is None else float(b[n])
            for m in range(W.shape[0]):
                total += float(x[at][m]) * float(W[m, n])
            y[at][n] = total
    return y


def naive_linear(layer, x):
    """x W + b of a Linear, whose b may be None."""
    return naive_matmul(x, layer.W.value, None if layer.b is None else layer.b.value)


def naive_softmax(scores):
    """exp(s_j) / sum_k exp(s_k) of each row; zeros where the whole row is -inf."""
    weights = np.zeros(scores.shape)
    for at in np.ndindex(scores.shape[:-1]):
        row = [float(s) for s in scores[at]]
        highest = max(row)
        if highest == -math.inf:
            continue
        exps = [math.exp(s - highest) for s in row]
        for j, e in enumerate(exps):
            weights[at][j] = e / sum(exps)
    return weights


def is_allowed(allowed, leading, i, j):
    """Whether query i may look at key j; a mask with two axes serves every leading index."""
    if allowed is None:
        return True
    index = (i, j) if allowed.ndim == 2 else (*leading, i, j)
    pairs = zip(index, allowed.shape, strict=True)
    return bool(allowed[tuple(0 if size == 1 else k for k, size in pairs)])


def naive_attention(Q, K, V, allowed=None):
    """Eq. (1), for any leading axes: the scores Q_i . K_j / sqrt(d_k), weighed."""
    scores = np.zeros((*Q.shape[:-1], K.shape[-2]))
    for *leading, i, j in np.ndindex(scores.shape):
        pairs = zip(Q[(*leading, i)], K[(*leading, j)], strict=True)
        dot = sum(float(q) * float(k) for q, k in pairs)
        scores[(*leading, i, j)] = dot / math.sqrt(Q.shape[-1])
    return naive_weighed(scores, V, allowed)


def naive_weighed(scores, V, allowed=None):
    """sum_j softmax_j(scores_ij) V_j over the allowed j."""
    scores = scores.copy()
    for *leading, i, j in np.ndindex(scores.shape):
        if not is_allowed(allowed, leading, i, j):
            scores[(*leading, i, j)] = -math.inf
    weights = naive_softmax(scores)
    y = np.zeros((*scores.shape[:-1], V.shape[-1]))
    for *leading, i, v in np.ndindex(y.shape):
        y[(*leading, i, v)] = sum(float(w) * float(V[(*leading, j, v)])
                                  for j, w in enumerate(weights[(*leading, i)]))
    return y


def one_head(linear, x, i, width):
    """x W_i (+ b_i), with W_i the columns i * width ... (i + 1) * width of the layer's matrix."""
    columns = slice(i * width, (i + 1) * width)
    b = None if linear.b is None else linear.b.value[columns]
    return naive_matmul(x, linear.W.value[:, columns], b)


def naive_multi_head(mha, x_Q, x_K, x_V, allowed=None):
    """Concat(head_1 ... head_h) W^O, one head after another, each with matrices of its own.

    With h_kv heads of keys and values, head i uses head i // (h / h_kv) of these.
    """
    heads = []
    for i in range(mha.h):
        j = i // (mha.h // getattr(mha, "h_kv", mha.h))
        Q = one_head(mha.linear_Q, x_Q, i, mha.d_k)
        K = one_head(mha.linear_K, x_K, j, mha.d_k)
        V = one_head(mha.linear_V, x_V, j, mha.d_v)
        mask = allowed
        if allowed is not None and allowed.ndim > 2:  # the axis of the heads is the third from last
            mask = allowed[..., i if allowed.shape[-3] > 1 else 0, :, :]
        heads.append(naive_rotary_attention(mha.attention, Q, K, V, mask))
    return naive_linear(mha.linear_O, np.concatenate(heads, axis=-1))


def naive_layer_norm(x, gamma, beta, eps):
    """gamma_k (x_k - mean) / sqrt(variance + eps) + beta_k; variance divided by d_model."""
    y = np.zeros(x.shape)
    d = x.shape[-1]
    for at in np.ndindex(x.shape[:-1]):
        row = [float(a) for a in x[at]]
        mean = sum(row) / d
        variance = sum((a - mean) ** 2 for a in row) / d
        for k in range(d):
            n = (row[k] - mean) / math.sqrt(variance + eps)
            y[at][k] = float(gamma[k]) * n + float(beta[k])
    return y


def naive_add_norm(layer, x, sublayer_output):
    """LayerNorm(x + sublayer_output) of an AddNorm, without dropout."""
    total = np.zeros(x.shape)
    for at in np.ndindex(x.shape):
        total[at] = float(x[at]) + float(sublayer_output[at])
    norm = layer.layer_norm
    return naive_layer_norm(total, norm.gamma.value, norm.beta.value, norm.eps)


def naive_feed_forward(layer, x):
    """max(0, x W_1 + b_1) W_2 + b_2."""
    hidden = naive_linear(layer.linear_1, x)
    for at in np.ndindex(hidden.shape):
        hidden[at] = max(0.0, float(hidden[at]))
    return naive_linear(layer.linear_2, hidden)


def naive_embedding(E, ids):
    """sqrt(d_model) E[id], one id and one feature after another."""
    d_model = E.shape[1]
    y = np.zeros((*ids.shape, d_model))
    for at in np.ndindex(ids.shape):
        for k in range(d_model):
            y[at][k] = math.sqrt(d_model) * float(E[int(ids[at]), k])
    return y


def naive_sinusoid(pos, k, d_model):
    """PE(pos, k): sine for an even k = 2i, cosine for an odd k = 2i + 1."""
    angle = pos / 10000.0 ** ((k - k % 2) / d_model)
    return math.cos(angle) if k % 2 else math.sin(angle)


def naive_sinusoids(T, d_model, start=0):
    """The table (T, d_model) for positions start ... start + T - 1."""
    rows = range(start, start + T)
    return np.array([[naive_sinusoid(pos, k, d_model) for k in range(d_model)] for pos in rows])


def naive_encoder_layer(layer, x, allowed=None):
    """Self-attention and feed-forward, each with Add & Norm, without dropout."""
    attended = naive_multi_head(layer.self_attention, x, x, x, allowed)
    x = naive_add_norm(layer.add_norm_1, x, attended)
    return naive_add_norm(layer.add_norm_2, x, naive_feed_forward(layer.feed_forward, x))


def naive_decoder_layer(layer, x, memory, allowed=None, memory_allowed=None):
    """Self-attention, attention over memory and feed-forward, each with Add & Norm."""
    attended = naive_multi_head(layer.self_attention, x, x, x, allowed)
    x = naive_add_norm(layer.add_norm_1, x, attended)
    attended = naive_multi_head(layer.cross_attention, x, memory, memory, memory_allowed)
    x = naive_add_norm(layer.add_norm_2, x, attended)
    return naive_add_norm(layer.add_norm_3, x, naive_feed_forward(layer.feed_forward, x))


def naive_embedded(model, embedding, ids):
    """Embedding plus positions, sinusoids or the learned matrix of `model.positions`."""
    x = naive_embedding(embedding.E.value, ids)
    learned = getattr(model.positions, "E", None)
    table = naive_sinusoids(ids.shape[1], x.shape[-1]) if learned is None else learned.value
    for b, t, k in np.ndindex(x.shape):
        x[b, t, k] += float(table[t, k])
    return x


def naive_transformer(model, src, tgt):
    """Logits (B, T_tgt, vocab_size) of Fig. 1 without dropout; no query looks at padding."""
    src, tgt = np.asarray(src), np.asarray(tgt)
    B, T_src, T_tgt = len(src), src.shape[1], tgt.shape[1]
    memory_allowed = np.zeros((B, 1, 1, T_src), dtype=bool)
    allowed = np.zeros((B, 1, T_tgt, T_tgt), dtype=bool)
    for b in range(B):
        for j in range(T_src):
            memory_allowed[b, 0, 0, j] = src[b, j] != model.pad
        for i in range(T_tgt):
            for j in range(i + 1):
                allowed[b, 0, i, j] = tgt[b, j] != model.pad
    memory = naive_embedded(model, model.src_embedding, src)
    for layer in model.encoder.layers:
        memory = naive_encoder_layer(layer, memory, memory_allowed)
    x = naive_embedded(model, model.tgt_embedding, tgt)
    for layer in model.decoder.layers:
        x = naive_decoder_layer(layer, x, memory, allowed, memory_allowed)
    return naive_matmul(x, model.output_projection.E.value.T)


def naive_cross_entropy(logits, targets, eps_ls, pad):
    """Mean over targets that are not pad of -sum_v q_v log p_v, with the whole q written out."""
    V = logits.shape[-1]
    losses = []
    for at in np.ndindex(targets.shape):
        if targets[at] == pad:
            continue
        z = [float(a) for a in logits[at]]
        log_total = max(z) + math.log(sum(math.exp(a - max(z)) for a in z))
        q = [eps_ls / V + (1 - eps_ls if v == targets[at] else 0.0) for v in range(V)]
        losses.append(-sum(q[v] * (z[v] - log_total) for v in range(V)))
    return sum(losses) / len(losses) if losses else 0.0


def naive_rms_norm(layer, x):
    """gamma_k x_k / sqrt(mean square + eps)."""
    y = np.zeros(x.shape)
    for at in np.ndindex(x.shape[:-1]):
        row = [float(a) for a in x[at]]
        root = math.sqrt(sum(a * a for a in row) / len(row) + layer.eps)
        for k, a in enumerate(row):
            y[at][k] = float(layer.gamma.value[k]) * a / root
    return y


def naive_speed(w, stretch):
    """The speed of a pair by the length of its wave, in the cases of Meta's code for Llama 3.1."""
    if stretch is None:
        return w
    factor, low, high, length = stretch
    wave = 2 * math.pi / w
    if wave < length / high:
        return w
    if wave > length / low:
        return w / factor
    smooth = (length / wave - low) / (high - low)
    return (1 - smooth) * w / factor + smooth * w


def naive_rotary(layer, x, start=0):
    """Every pair of features as a complex number, times exp(i t base^(-2i/d_k))."""
    if hasattr(layer, "norm"):
        x = naive_rms_norm(layer.norm, x)
    d, y = x.shape[-1], np.zeros(x.shape)
    for at in np.ndindex(x.shape[:-1]):
        for i in range(d // 2):
            a, b = (2 * i, 2 * i + 1) if layer.interleaved else (i, i + d // 2)
            angle = (start + at[-1]) * naive_speed(layer.base ** (-2 * i / d), layer.stretch)
            z = complex(x[at][a], x[at][b]) * complex(math.cos(angle), math.sin(angle))
            y[at][a], y[at][b] = z.real, z.imag
    return y


def naive_rotary_attention(layer, Q, K, V, allowed=None):
    """Eq. (1) of turned queries and keys; a layer that does not turn is Eq. (1) itself."""
    if hasattr(layer, "rotary_Q"):
        Q, K = naive_rotary(layer.rotary_Q, Q), naive_rotary(layer.rotary_K, K)
    return naive_attention(Q, K, V, allowed)


ACTIVATIONS = {
    "ReLU": lambda z: max(0.0, z),
    "SiLU": lambda z: z * (1 + math.tanh(z / 2)) / 2,
    "GELU": lambda z: z * (1 + math.erf(z / math.sqrt(2))) / 2,
}


def naive_gated(layer, x):
    """(activation(x W_gate) x W_1) W_2, number by number."""
    activation = ACTIVATIONS[type(layer.activation).__name__]
    hidden = naive_linear(layer.linear_gate, x)
    up = naive_linear(layer.linear_1, x)
    for at in np.ndindex(hidden.shape):
        hidden[at] = activation(float(hidden[at])) * float(up[at])
    return naive_linear(layer.linear_2, hidden)


def naive_llama_layer(layer, x, allowed=None):
    """x + attention(norm(x)), then x + feed-forward(norm(x)), without dropout."""
    n = naive_rms_norm(layer.norm_1, x)
    x = x + naive_multi_head(layer.self_attention, n, n, n, allowed)
    return x + naive_gated(layer.feed_forward, naive_rms_norm(layer.norm_2, x))


def naive_adam(value, grads, rates, beta_1=0.9, beta_2=0.98, eps=1e-9):
    """The values of one scalar after each step of Algorithm 1 of Kingma and Ba."""
    m = v = 0.0
    values = []
    for t, (grad, rate) in enumerate(zip(grads, rates, strict=True), start=1):
        m = beta_1 * m + (1 - beta_1) * grad
        v = beta_2 * v + (1 - beta_2) * grad**2
        m_hat = m / (1 - beta_1**t)
        v_hat = v / (1 - beta_2**t)
        value = value - rate * m_hat / (math.sqrt(v_hat) + eps)
        values.append(value)
    return values


def naive_warmup_rate(step, d_model, warmup_steps):
    """Eq. (3), in its two branches: linear up to warmup_steps, inverse square root after."""
    if step < warmup_steps:
        return step / (math.sqrt(d_model) * warmup_steps * math.sqrt(warmup_steps))
    return 1 / (math.sqrt(d_model) * math.sqrt(step))
