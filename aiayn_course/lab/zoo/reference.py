"""The paper's formulas a second time, for one sequence, without axes for batches and heads.

Nothing here calls a layer: only its parameters and sizes are read. There are no masks either: a
query gets the list of its allowed keys.
"""

import math

import numpy as np


def attention(Q, K, V, keys):
    """Compute Eq. (1): Q (T_q, d_k), K (T_k, d_k), V (T_k, d_v); keys[i]: keys of query i."""
    out = np.zeros((len(Q), V.shape[1]))
    for i, q in enumerate(Q):
        exps = {j: math.exp(float(q @ K[j]) / math.sqrt(len(q))) for j in keys[i]}
        for j, e in exps.items():
            out[i] += e / sum(exps.values()) * V[j]
    return out


def multi_head(layer, x_Q, x_K, x_V, keys):
    """Compute one head after another, each with its columns of the matrices."""
    heads = []
    for i in range(layer.h):
        Q, K = (one_head(m, x, i, layer.d_k) for m, x in ((layer.linear_Q, x_Q),
                                                          (layer.linear_K, x_K)))
        heads.append(attention(Q, K, one_head(layer.linear_V, x_V, i, layer.d_v), keys))
    return linear(layer.linear_O, np.concatenate(heads, axis=1))


def one_head(layer, x, i, width):
    """Return the columns i * width ... (i + 1) * width of a Linear."""
    columns = range(i * width, (i + 1) * width)
    y = [x @ layer.W.value[:, c] + (0 if layer.b is None else layer.b.value[c]) for c in columns]
    return np.stack(y, axis=1)


def linear(layer, x):
    """Compute x W + b."""
    return one_head(layer, x, 0, layer.d_out)


def feed_forward(layer, x):
    """Compute Eq. (2)."""
    hidden = linear(layer.linear_1, x)
    return linear(layer.linear_2, hidden * (hidden > 0))


def layer_norm(layer, x):
    """Give the features of each row the mean 0 and the mean square 1."""
    rows = []
    for row in x:
        mean = math.fsum(row) / len(row)
        variance = math.fsum((a - mean) ** 2 for a in row) / len(row)
        n = (row - mean) / math.sqrt(variance + layer.eps)
        rows.append(layer.gamma.value * n + layer.beta.value)
    return np.array(rows)


def sinusoids(T, d_model):
    """Compute Sec. 3.5, number by number: sine for an even feature 2i, cosine for 2i + 1."""
    def number(pos, k):
        angle = pos / 10000 ** (2 * (k // 2) / d_model)
        return math.cos(angle) if k % 2 else math.sin(angle)
    return np.array([[number(pos, k) for k in range(d_model)] for pos in range(T)])


def rms_norm(layer, x):
    """Give the features of each row the mean square 1."""
    return np.array([layer.gamma.value * row / math.sqrt(math.fsum(a * a for a in row) / len(row)
                                                         + layer.eps) for row in x])


def rotary(x, base, interleaved):
    """Multiply pair i of position t of x (T, d_k), a complex number, by exp(it base^(-2i/d_k))."""
    y, d = np.zeros(x.shape), x.shape[1]
    for t, i in np.ndindex(len(x), d // 2):
        a, b = (2 * i, 2 * i + 1) if interleaved else (i, i + d // 2)
        angle = t / base ** (2 * i / d)
        z = complex(x[t, a], x[t, b]) * complex(math.cos(angle), math.sin(angle))
        y[t, a], y[t, b] = z.real, z.imag
    return y


def grouped(layer, x, keys):
    """Compute grouped heads with rotary positions; head i uses head i // (h / h_kv) of the keys."""
    heads, turn = [], layer.attention.rotary_Q
    for i in range(layer.h):
        j = i * layer.h_kv // layer.h
        Q, K = (rotary(one_head(m, x, n, layer.d_k), turn.base, turn.interleaved)
                for m, n in ((layer.linear_Q, i), (layer.linear_K, j)))
        heads.append(attention(Q, K, one_head(layer.linear_V, x, j, layer.d_v), keys))
    return linear(layer.linear_O, np.concatenate(heads, axis=1))


def embedding(E, ids):
    """Return rows of E times sqrt(d_model)."""
    return np.array([E[i] * math.sqrt(E.shape[1]) for i in ids])


def transformer(model, src, tgt):
    """Compute the logits (T_tgt, vocab_size) of Fig. 1 for one source and target, lists of ids."""
    E = model.src_embedding.E.value
    of_src = [[j for j, i in enumerate(src) if i != model.pad]]
    x = embedding(E, src) + sinusoids(len(src), E.shape[1])
    for layer in model.encoder.layers:
        x = encoder_layer(layer, x, of_src * len(src))
    y = embedding(E, tgt) + sinusoids(len(tgt), E.shape[1])
    before = [[j for j in range(i + 1) if tgt[j] != model.pad] for i in range(len(tgt))]
    for layer in model.decoder.layers:
        y = decoder_layer(layer, y, x, before, of_src * len(tgt))
    return y @ E.T


def encoder_layer(layer, x, keys):
    """Compute Fig. 1 left."""
    x = layer_norm(layer.add_norm_1.layer_norm, x + multi_head(layer.self_attention, x, x, x, keys))
    return layer_norm(layer.add_norm_2.layer_norm, x + feed_forward(layer.feed_forward, x))


def decoder_layer(layer, y, memory, before, of_src):
    """Compute Fig. 1 right."""
    attended = multi_head(layer.self_attention, y, y, y, before)
    y = layer_norm(layer.add_norm_1.layer_norm, y + attended)
    attended = multi_head(layer.cross_attention, y, memory, memory, of_src)
    y = layer_norm(layer.add_norm_2.layer_norm, y + attended)
    return layer_norm(layer.add_norm_3.layer_norm, y + feed_forward(layer.feed_forward, y))


def cross_entropy(logits, targets, eps_ls, pad):
    """Return the mean over real targets as in Sec. 5.4, with q written out. logits (tokens, V)."""
    losses = []
    for z, target in zip(logits, targets):
        log_total = math.log(math.fsum(math.exp(a) for a in z))
        q = [eps_ls / len(z) + (1 - eps_ls) * (v == target) for v in range(len(z))]
        if target != pad:
            losses.append(-math.fsum(q_v * (a - log_total) for q_v, a in zip(q, z)))
    return math.fsum(losses) / len(losses)


def adam(value, grads, rates, beta_1, beta_2, eps):
    """Compute one number after Adam's steps (Kingma and Ba, Algorithm 1)."""
    m = v = 0.0
    for t, (grad, rate) in enumerate(zip(grads, rates), 1):
        m = beta_1 * m + (1 - beta_1) * grad
        v = beta_2 * v + (1 - beta_2) * grad**2
        value -= rate * m / (1 - beta_1**t) / (math.sqrt(v / (1 - beta_2**t)) + eps)
    return value


def rate(step, d_model, warmup_steps):
    """Compute Eq. (3) in two branches: a straight line, then the inverse square root."""
    if step < warmup_steps:
        return step / math.sqrt(d_model * warmup_steps) / warmup_steps
    return 1 / math.sqrt(d_model * step)
