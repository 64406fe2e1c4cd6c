"""Right answers that look nothing like ours: loops, einsum, other names, caches of any kind."""

RIGHT = {
    "softmax, row by row": ("Softmax", '''
class Softmax(Module):
    def forward(self, scores):
        y = np.zeros_like(scores)
        for at in np.ndindex(scores.shape[:-1]):
            row = scores[at]
            if np.isfinite(row.max()):
                e = np.exp(row - row.max())
                y[at] = e / e.sum()
        return y, (y,)

    def backward(self, grad, cache):
        (y,) = cache
        out = np.empty_like(y)
        for at in np.ndindex(y.shape[:-1]):
            jacobian = np.diag(y[at]) - np.outer(y[at], y[at])
            out[at] = jacobian @ grad[at]
        return out
'''),
    "softmax, in place on its own arrays": ("Softmax", '''
class Softmax(Module):
    def forward(self, s):
        top = np.max(s, -1, keepdims=True)
        top[~np.isfinite(top)] = 0
        e = s - top
        np.exp(e, out=e)
        total = e.sum(-1, keepdims=True)
        np.divide(e, total, out=e, where=total > 0)
        return e, {"w": e}

    def backward(self, g, cache):
        w = cache["w"]
        out = g * w
        out -= w * np.einsum("...j,...j->...", g, w)[..., None]
        return out
'''),
    "layer norm with var, and a backward in pieces": ("LayerNorm", '''
class LayerNorm(Module):
    def __init__(self, d_model, eps=1e-6):
        self.eps = eps
        self.gamma, self.beta = Parameter(np.ones(d_model)), Parameter(np.zeros(d_model))

    def forward(self, x):
        mu, var = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
        y = self.gamma.value * (x - mu) * (var + self.eps) ** -0.5 + self.beta.value
        return y, (x, mu, var)

    def backward(self, dy, cache):
        x, mu, var = cache
        d = x.shape[-1]
        xhat = (x - mu) / np.sqrt(var + self.eps)
        for row, n in zip(dy.reshape(-1, d), xhat.reshape(-1, d)):
            self.gamma.grad += row * n
            self.beta.grad += row
        dxhat = dy * self.gamma.value
        dvar = (dxhat * (x - mu)).sum(-1, keepdims=True) * -0.5 * (var + self.eps) ** -1.5
        dmu = -dxhat.sum(-1, keepdims=True) / np.sqrt(var + self.eps)
        return dxhat / np.sqrt(var + self.eps) + dvar * 2 * (x - mu) / d + dmu / d
'''),
    "layer norm by einsum": ("LayerNorm", '''
class LayerNorm(Module):
    def __init__(self, d_model, eps=1e-6):
        self.eps = eps
        self.gamma, self.beta = Parameter(np.ones(d_model)), Parameter(np.zeros(d_model))

    def forward(self, x):
        c = x - np.mean(x, axis=-1)[..., None]
        s = (np.mean(c**2, axis=-1) + self.eps) ** 0.5
        n = c / s[..., None]
        return n * self.gamma.value + self.beta.value, Cache(n=n, s=s)

    def backward(self, grad_y, cache):
        n, d = cache.n, cache.n.shape[-1]
        rows, ns = grad_y.reshape(-1, d), n.reshape(-1, d)
        self.gamma.grad = self.gamma.grad + np.einsum("rd,rd->d", rows, ns)
        self.beta.grad = self.beta.grad + np.einsum("rd->d", rows)
        g = grad_y * self.gamma.value
        inner = np.einsum("...d,...d->...", g, n)[..., None]
        return (d * g - g.sum(-1)[..., None] - n * inner) / (d * cache.s[..., None])
'''),
    "linear by tensordot": ("Linear", '''
class Linear(Module):
    def __init__(self, d_in, d_out, *, bias=True, rng):
        self.W, self.bias = Parameter(rng.standard_normal((d_in, d_out))), bias
        self.b = Parameter(np.zeros(d_out)) if bias else None

    def forward(self, x):
        y = np.tensordot(x, self.W.value, 1)
        if self.bias:
            y += self.b.value
        return y, {"input": x}

    def backward(self, g, cache):
        x, axes = cache["input"], list(range(g.ndim - 1))
        self.W.grad += np.tensordot(x, g, (axes, axes))
        if self.bias:
            self.b.grad += g.sum(tuple(axes))
        return np.tensordot(g, self.W.value.T, 1)
'''),
    "attention in one piece": ("ScaledDotProductAttention", '''
class ScaledDotProductAttention(Module):
    def __init__(self, P_drop=0.0):
        pass

    def forward(self, Q, K, V, *, allowed=None, rng=None):
        s = np.einsum("...qd,...kd->...qk", Q, K) * Q.shape[-1] ** -0.5
        if allowed is not None:
            s = np.where(allowed, s, -np.inf)
        top = s.max(-1, keepdims=True)
        e = np.exp(s - np.where(np.isfinite(top), top, 0))
        w = e / np.maximum(e.sum(-1, keepdims=True), np.finfo(s.dtype).tiny)
        return np.einsum("...qk,...kv->...qv", w, V), (Q, K, V, w)

    def backward(self, g, cache):
        Q, K, V, w = cache
        dw = np.einsum("...qv,...kv->...qk", g, V)
        ds = w * (dw - (dw * w).sum(-1)[..., None]) * Q.shape[-1] ** -0.5
        return (np.einsum("...qk,...kd->...qd", ds, K), np.einsum("...qk,...qd->...kd", ds, Q),
                np.einsum("...qk,...qv->...kv", w, g))
'''),
    "causal by comparing": ("causal", '''
def causal(T):
    return np.arange(T)[:, None] >= np.arange(T)[None, :]
'''),
    "not_padding by newaxis": ("not_padding", '''
def not_padding(ids, pad=0):
    return np.expand_dims(~(ids == pad), (1, 2))
'''),
    "mask by a copy": ("Mask", '''
class Mask(Module):
    def forward(self, scores, *, allowed=None):
        y = scores.copy()
        if allowed is not None:
            y[~np.broadcast_to(allowed, y.shape)] = -np.inf
        return y, allowed

    def backward(self, grad_y, allowed):
        grad = np.array(grad_y)
        return grad if allowed is None else grad * allowed
'''),
    "heads one by one": ("MultiHeadAttention", '''
class MultiHeadAttention(Module):
    def __init__(self, d_model, h, *, d_k=None, d_v=None, rng):
        self.d_model, self.h = d_model, h
        self.d_k, self.d_v = d_k or d_model // h, d_v or d_model // h
        self.linear_Q = Linear(d_model, h * self.d_k, bias=False, rng=rng)
        self.linear_K = Linear(d_model, h * self.d_k, bias=False, rng=rng)
        self.linear_V = Linear(d_model, h * self.d_v, bias=False, rng=rng)
        self.attention = ScaledDotProductAttention()
        self.linear_O = Linear(h * self.d_v, d_model, bias=False, rng=rng)

    def forward(self, x_Q, x_K, x_V, *, allowed=None, rng=None):
        Q, cQ = self.linear_Q.forward(x_Q)
        K, cK = self.linear_K.forward(x_K)
        V, cV = self.linear_V.forward(x_V)
        heads, caches = [], []
        for i in range(self.h):
            mask = allowed[:, 0] if allowed is not None and allowed.ndim == 4 else allowed
            k, v = slice(i * self.d_k, (i + 1) * self.d_k), slice(i * self.d_v, (i + 1) * self.d_v)
            qkv = Q[..., k], K[..., k], V[..., v]
            head, cache = self.attention.forward(*qkv, allowed=mask, rng=rng)
            heads.append(head)
            caches.append(cache)
        y, cO = self.linear_O.forward(np.concatenate(heads, -1))
        return y, [cQ, cK, cV, caches, cO]

    def backward(self, grad_y, cache):
        cQ, cK, cV, caches, cO = cache
        parts = np.split(self.linear_O.backward(grad_y, cO), self.h, axis=-1)
        grads = [self.attention.backward(g, c) for g, c in zip(parts, caches)]
        Q, K, V = (np.concatenate(g, -1) for g in zip(*grads))
        return (self.linear_Q.backward(Q, cQ), self.linear_K.backward(K, cK),
                self.linear_V.backward(V, cV))
'''),
    "relu by its output": ("ReLU", '''
class ReLU(Module):
    def forward(self, x):
        y = np.where(x < 0, 0, x)
        return y, y > 0

    def backward(self, grad_y, positive):
        grad = grad_y.copy()
        grad[~positive] = 0
        return grad
'''),
    "embedding by a loop": ("Embedding", '''
class Embedding(Module):
    def __init__(self, vocab_size, d_model, *, rng):
        self.vocab_size, self.d_model = vocab_size, d_model
        self.E = Parameter(rng.standard_normal((vocab_size, d_model)))

    def forward(self, ids):
        return np.take(self.E.value, ids, axis=0) * math.sqrt(self.d_model), ids

    def backward(self, g, ids):
        for i, row in zip(ids.ravel(), g.reshape(-1, self.d_model)):
            self.E.grad[i] += math.sqrt(self.d_model) * row
        return None
'''),
    "sinusoids by a loop": ("SinusoidalPositionalEncoding", '''
class SinusoidalPositionalEncoding(Module):
    def __init__(self, d_model, max_len, *, rng=None):
        self.d_model, self.max_len = d_model, max_len

    def table(self, T, *, start=0):
        PE = np.zeros((T, self.d_model))
        for p in range(T):
            for k in range(self.d_model):
                angle = (start + p) / 10000 ** (2 * (k // 2) / self.d_model)
                PE[p, k] = math.cos(angle) if k % 2 else math.sin(angle)
        return PE

    def forward(self, x, *, start=0):
        y = x.copy()
        y += self.table(x.shape[-2], start=start)
        return y, None

    def backward(self, grad_y, cache):
        return grad_y
'''),
    "loss, token by token": ("LabelSmoothedCrossEntropy", '''
class LabelSmoothedCrossEntropy(Module):
    def __init__(self, eps_ls=0.1, pad=0):
        self.eps_ls, self.pad = eps_ls, pad

    def forward(self, logits, *, targets):
        V, total, n = logits.shape[-1], 0.0, 0
        grad = np.zeros_like(logits)
        for at in np.ndindex(targets.shape):
            if targets[at] == self.pad:
                continue
            z = logits[at] - logits[at].max()
            log_p = z - math.log(np.exp(z).sum())
            q = np.full(V, self.eps_ls / V)
            q[targets[at]] += 1 - self.eps_ls
            total -= float((q * log_p).sum())
            grad[at] = np.exp(log_p) - q
            n += 1
        return total / n, (grad, n)

    def backward(self, grad_loss, cache):
        grad, n = cache
        return grad * (grad_loss / n)
'''),
    "adam by Kingma and Ba's efficient form": ("Adam", '''
class Adam:
    def __init__(self, parameters, *, beta_1=0.9, beta_2=0.98, eps=1e-9):
        self.ps, self.b1, self.b2, self.eps = list(parameters), beta_1, beta_2, eps
        self.state, self.power_1, self.power_2 = {}, 1.0, 1.0

    def step(self, rate):
        self.power_1 *= self.b1
        self.power_2 *= self.b2
        for p in self.ps:
            m, v = self.state.get(id(p), (0.0, 0.0))
            m = self.b1 * m + (1 - self.b1) * p.grad
            v = self.b2 * v + (1 - self.b2) * np.square(p.grad)
            self.state[id(p)] = m, v
            root = np.sqrt(1 - self.power_2)
            p.value -= rate * root / (1 - self.power_1) * m / (np.sqrt(v) + self.eps * root)
'''),
    "warm-up in two branches": ("warmup_rate", '''
def warmup_rate(step, d_model, warmup_steps):
    if step < warmup_steps:
        return step / math.sqrt(d_model * warmup_steps) / warmup_steps
    return 1 / math.sqrt(d_model * step)
'''),
    "encoder layer, its sums written out": ("EncoderLayer", '''
class EncoderLayer(Module):
    def __init__(self, d_model, d_ff, h, *, P_drop=0.1, d_k=None, d_v=None, attention=None, rng):
        self.self_attention = MultiHeadAttention(d_model, h, d_k=d_k, d_v=d_v, rng=rng)
        self.add_norm_1 = AddNorm(d_model, P_drop)
        self.feed_forward = PositionwiseFeedForward(d_model, d_ff, rng=rng)
        self.add_norm_2 = AddNorm(d_model, P_drop)

    def forward(self, x, *, allowed=None, rng=None):
        a, c1 = self.self_attention.forward(x, x, x, allowed=allowed, rng=rng)
        a, d1 = self.add_norm_1.dropout.forward(a, rng=rng)
        n, c2 = self.add_norm_1.layer_norm.forward(x + a)
        f, c3 = self.feed_forward.forward(n)
        f, d2 = self.add_norm_2.dropout.forward(f, rng=rng)
        y, c4 = self.add_norm_2.layer_norm.forward(n + f)
        return y, dict(a=c1, n=c2, f=c3, y=c4, d1=d1, d2=d2)

    def backward(self, grad_y, c):
        grad = self.add_norm_2.layer_norm.backward(grad_y, c["y"])
        fed = self.add_norm_2.dropout.backward(grad, c["d2"])
        grad = grad + self.feed_forward.backward(fed, c["f"])
        grad = self.add_norm_1.layer_norm.backward(grad, c["n"])
        attended = self.add_norm_1.dropout.backward(grad, c["d1"])
        for part in self.self_attention.backward(attended, c["a"]):
            grad = grad + part
        return grad
'''),
    "decoding by forward, into a filled array": ("greedy_decode", '''
def greedy_decode(model, src, *, bos, eos, max_len=None):
    if max_len is None:
        max_len = min(len(src[0]) + 50, model.max_len)
    tgt = np.full((len(src), max_len + 1), model.pad)
    tgt[:, 0] = bos
    alive, length = list(range(len(src))), 0
    while alive and length < max_len:
        logits, _ = model.forward(src, tgt[:, : length + 1])
        length += 1
        for b in list(alive):
            tgt[b, length] = np.argmax(logits[b, length - 1])
            if tgt[b, length] == eos:
                alive.remove(b)
    return tgt[:, 1 : length + 1]
'''),
    "row_variance: nanvar": ("row_variance", '''
def row_variance(Q, K, *, allowed=None):
    s = Q @ K.mT / math.sqrt(Q.shape[-1])
    if allowed is not None:
        s = np.where(allowed, s, np.nan)
    return np.nanvar(s, axis=-1).mean(axis=(0, 2))
'''),
    "margin: one-hot": ("margin", '''
def margin(weights, places, shuffled):
    T = weights.shape[-1]
    d = (np.arange(T) == places[..., None]).astype(float) - (np.arange(T) == shuffled[..., None])
    return np.einsum('bhqk,bqk->h', weights, d) / np.sum(places > -1)
'''),
    "best_job: in place on own": ("best_job", '''
def best_job(margins, untrained):
    j = margins.argmax(-1)
    j[np.take_along_axis(margins, j[:, None], 1)[:, 0] <= untrained.ravel().max()] = -1
    return j
'''),
    "muted: einsum": ("muted", '''
def muted(heads, W_O, head, *, real=None):
    B, h, T, d = heads.shape
    W = W_O.reshape(h, d, -1)
    m = 0.0 if real is None else np.einsum('btd,bt->d', heads[:, head], real) / real.sum()
    whole = np.einsum('bhtd,hdm->btm', heads, W)
    return whole - np.einsum('btd,dm->btm', heads[:, head] - m, W[head])
'''),
    "prefix_score: previous token": ("prefix_score", '''
def prefix_score(weights, ids):
    prev = np.concatenate([np.full((len(ids), 1), -1), ids[:, :-1]], axis=1)
    T = ids.shape[1]
    a = (prev[:, None, :] == ids[:, :, None]) & np.tri(T, dtype=bool)
    r = a.any(axis=2)
    on = np.where(a[:, None], weights, 0).sum(axis=3).transpose(1, 0, 2)[:, r]
    return on.mean(axis=1) if r.any() else np.zeros(weights.shape[1])
'''),
    "token_shares: four roads": ("token_shares", '''
def token_shares(x, weights, W_VO, e):
    (A1, A2), (W1, W2) = weights, W_VO
    last = A2[:, :, -1]
    s = np.zeros(x.shape[:2])
    s[:, -1] = x[:, -1] @ e
    s += np.einsum('bhj,bjd,hde,e->bj', A1[:, :, -1], x, W1, e)
    s += np.einsum('bhj,bjd,hde,e->bj', last, x, W2, e)
    s += np.einsum('bgt,bhtj,bjd,hdc,gce,e->bj', last, A1, x, W1, W2, e)
    return s
'''),
}
