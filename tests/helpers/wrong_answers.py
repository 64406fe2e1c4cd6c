"""Wrong answers as students write them, each with the diagnosis that it must get.

In WRONG each is the solution of an exercise with a few pieces of its text changed: (exercise, class
or function, diagnosis, (old, new), ...). In WRONG_OTHERWISE it is one of the other right answers,
right_answers.py: (name of the answer, diagnosis, (old, new), ...).
"""

VARIANCES = "scores.var(axis=-1, where=allowed)"
UNBIASED = ("scores.var(axis=-1, where=allowed) * (n := np.broadcast_to(allowed, scores.shape).sum("
            "axis=-1)) / (n - 1)")
ROLLED = "np.roll(earlier, 1, axis=-1)"
MARGIN = "return score.mean(axis=0) - baseline.mean(axis=0)"
REPLACED = "kept[:, head] = 0 if real is None else heads[:, head][real].mean(axis=0)"

WRONG = [
    # What can happen in every exercise
    (1, "Softmax", "not written yet", ("weights = cache.weights\n",
                                       'raise NotImplementedError("not written yet")\n')),
    (1, "Softmax", "nothing returned", ("return weights, Cache(weights=weights)", "pass")),
    (1, "Softmax", "no cache", ("return weights, Cache(weights=weights)", "return weights")),
    (2, "LayerNorm", "no cache", (
        "return self.gamma.value * n + self.beta.value, Cache(n=n, inv_std=inv_std)",
        "return self.gamma.value * n + self.beta.value, n, inv_std")),
    (5, "causal", "nothing returned", ("return np.tri(T, dtype=bool)", "np.tri(T, dtype=bool)")),
    (11, "warmup_rate", "nothing returned", ("return d_model", "d_model")),
    (13, "greedy_decode", "nothing returned", ("return tgt[:, 1:]", "tgt = tgt[:, 1:]")),
    (11, "Adam", "shapes", ("np.zeros_like(p.value) for p in self.parameters]\n        self.v",
                           "np.zeros(7) for p in self.parameters]\n        self.v")),
    (3, "Linear", "nothing returned", ("return grad_y @ self.W.value.T", "pass")),
    (4, "ScaledDotProductAttention", "wrong count", (", grad_scores.mT @ cache.Q, grad_V", "")),
    (1, "Softmax", "wrong count", ("return weights * (grad_weights - mean_grad)",
                                   "return (weights * (grad_weights - mean_grad),)")),
    (3, "Linear", "wrong type", ("return y, Cache(x=x)", "return y.tolist(), Cache(x=x)")),
    (3, "Linear", "not summed", ("grad_rows.sum(axis=0)", "grad_y")),
    (2, "LayerNorm", "not summed", ("grad_y.sum(axis=positions)", "grad_y")),
    (3, "Linear", "shapes", ("+= rows.T @ grad_rows", "+= grad_rows.T @ rows")),
    (1, "Softmax", "axis lost", ("mean_grad = (grad_weights * weights).sum(axis=-1, keepdims=True)",
                                 "mean_grad = (grad_weights * weights).sum(-1)")),
    (4, "ScaledDotProductAttention", "order", (
        "return grad_scores @ cache.K, grad_scores.mT @ cache.Q, grad_V",
        "return grad_scores.mT @ cache.Q, grad_scores @ cache.K, grad_V")),
    (3, "Linear", "transposed", ("self.W.grad += rows.T @ grad_rows",
                                 "self.W.grad = self.W.grad.T + grad_rows.T @ rows")),
    (4, "ScaledDotProductAttention", "transposed", (
        "return grad_scores @ cache.K,", "return (grad_scores @ cache.K).mT,")),
    (3, "Linear", "sign", ("return grad_y @ self.W.value.T", "return -grad_y @ self.W.value.T")),
    (1, "Softmax", "wrong type", ("return weights, Cache(weights=weights)",
                                  "return weights.tolist(), weights"),
     ("weights = cache.weights", "weights = cache")),
    (1, "Softmax", "logarithm", ("return weights, Cache(weights=weights)",
                                 "return np.log(weights), weights"),
     ("weights = cache.weights", "weights = cache")),
    (1, "Softmax", "factor", ("return weights * (grad_weights - mean_grad)",
                              "return weights * (grad_weights - mean_grad) / len(weights)")),
    (8, "OutputProjection", "factor", ("return grad_logits @ self.E.value",
                                       "return grad_logits @ self.E.value / len(rows)")),
    (3, "Linear", "overwritten", ("self.W.grad +=", "self.W.grad =")),
    (8, "OutputProjection", "overwritten", ("self.E.grad +=", "self.E.grad =")),
    (7, "ReLU", "changed in place", ("np.maximum(x, 0), Cache(x=x)",
                                     "np.maximum(x, 0, out=x), Cache(x=x)")),
    (2, "LayerNorm", "changed in place", ("g = grad_y * self.gamma.value",
                                          "grad_y *= self.gamma.value; g = grad_y")),
    (5, "Mask", "changed in place", ("np.where(cache.allowed, grad_y, 0.0)",
                                     "np.multiply(grad_y, cache.allowed, out=grad_y)")),
    (1, "Softmax", "cache changed", ("return weights * (grad_weights - mean_grad)",
                                     "weights *= grad_weights - mean_grad; return weights")),
    (7, "ReLU", "cache changed", ("grad_y * (cache.x > 0)",
                                  "np.multiply(grad_y, cache.x > 0, out=cache.x)"),
     ("np.maximum(x, 0), Cache(x=x)", "np.maximum(x, 0), Cache(x=x.copy())")),
    (1, "Softmax", "stale", ("return weights, Cache(", "self.w = weights; return weights, Cache("),
     ("weights = cache.weights", "weights = self.w")),
    (3, "Linear", "stale", ("return y, Cache(x=x)", "self.x = x; return y, None"),
     ("cache.x.reshape", "self.x.reshape")),
    (8, "Embedding", "stale", (", Cache(ids=ids)", ", setattr(self, 'ids', ids)"),
     ("cache.ids", "self.ids")),
    (5, "Mask", "stale", (
        "return np.where(allowed, scores, -math.inf), Cache(allowed=allowed)",
        "self.allowed = allowed; return np.where(allowed, scores, -math.inf), {}"),
     ("return grad_y if cache.allowed is None else np.where(cache.allowed, grad_y, 0.0)",
      "return np.where(self.allowed, grad_y, 0.0)")),
    (4, "ScaledDotProductAttention", "dtype", ("scores = Q @ K.mT / math.sqrt(Q.shape[-1])",
                                               "import numpy as np; scores = Q @ K.mT /"
                                               " np.sqrt(Q.shape[-1])")),
    (9, "SinusoidalPositionalEncoding", "dtype", (".astype(x.dtype)", "")),
    (3, "Linear", "error", ("y = x @ self.W.value", "y = self.W.value @ x")),
    (6, "MultiHeadAttention", "not kept", ("cache.linear_O), self.h)", "cache.linear_0), self.h)")),
    (3, "Linear", "parameters", ("self.W = Parameter(rng", "self.w = Parameter(rng"),
     ("y = x @ self.W.value", "y = x @ self.w.value")),
    (3, "Linear", "not a layer", ("class Linear(Module)", "class Linear")),
    (3, "Linear", "some entries", ("return y, Cache(x=x)", "y[0] = 0; return y, Cache(x=x)")),
    # Softmax
    (1, "Softmax", "mean instead of sum", ("(grad_weights * weights).sum(",
                                           "(grad_weights * weights).mean(")),
    (1, "Softmax", "number in the denominator", ("(total + (total == 0))", "(total + 1e-8)")),
    (1, "Softmax", "rows of -inf", ("highest = np.where(highest == -math.inf, 0.0, highest)\n",
                                    "\n")),
    (1, "Softmax", "wrong axis", ("exp_scores.sum(axis=-1, keepdims=True)", "exp_scores.sum(0)")),
    # Layer norm
    (2, "LayerNorm", "eps outside the root", ("1 / np.sqrt(variance + self.eps)",
                                              "1 / (np.sqrt(variance) + self.eps)")),
    (2, "LayerNorm", "term left out", ("np.sqrt(variance + self.eps)", "np.sqrt(variance)")),
    (2, "LayerNorm", "eps is fixed", ("np.sqrt(variance + self.eps)", "np.sqrt(variance + 1e-5)")),
    (2, "LayerNorm", "gamma and beta missing", ("self.gamma.value * n + self.beta.value", "n")),
    (2, "LayerNorm", "gamma outside the means", ("g = grad_y * self.gamma.value", "g = grad_y"),
     ("return cache.inv_std * (", "return self.gamma.value * cache.inv_std * (")),
    (2, "LayerNorm", "factor left out", ("(grad_y * n).sum(axis=pos", "grad_y.sum(axis=pos")),
    # Linear
    (3, "Linear", "bias missing", ("y = y + self.b.value", "pass")),
    (3, "Linear", "wrong", ("grad_y.reshape(-1, self.d_out)\n",
                            "np.ones(grad_y.shape).reshape(-1, self.d_out)\n"),
     ("return grad_y @", "return np.ones(grad_y.shape) @")),
    # Attention
    (4, "ScaledDotProductAttention", "scale by the length", (
        "Q @ K.mT / math.sqrt(Q.shape[-1])", "Q @ K.mT / math.sqrt(K.shape[-2])")),
    (4, "ScaledDotProductAttention", "mask ignored", ("(scores, allowed=allowed)", "(scores)")),
    (4, "ScaledDotProductAttention", "the opposite", (
        "(scores, allowed=allowed)", "(scores, allowed=None if allowed is None else ~allowed)")),
    (4, "ScaledDotProductAttention", "mask with 0", (
        "scores, cache.mask = self.mask.forward(scores, allowed=allowed)",
        "_, cache.mask = self.mask.forward(scores, allowed=allowed); scores = scores if allowed is"
        " None else scores * allowed")),
    (4, "ScaledDotProductAttention", "mask after softmax", (
        "scores, cache.mask = self.mask.forward(scores, allowed=allowed)",
        "_, cache.mask = self.mask.forward(scores, allowed=allowed)"), (
        "return cache.weights @ V, cache",
        "cache.weights = cache.weights * (1 if allowed is None else allowed)\n"
        "        return cache.weights @ V, cache")),
    (4, "ScaledDotProductAttention", "factor left out", (
        "cache.mask) / math.sqrt(cache.Q.shape[-1])", "cache.mask)")),
    (4, "ScaledDotProductAttention", "multiplied", (
        "cache.mask) / math.sqrt(cache.Q.shape[-1])", "cache.mask) * cache.Q.shape[-1] ** 0.5")),
    (4, "ScaledDotProductAttention", "softmax skipped", (
        "self.softmax.backward(grad_weights, cache.softmax)", "grad_weights"),
     ("self.mask.backward(grad_scores, cache.mask)", "grad_scores")),
    # Masks
    (5, "causal", "inverted", ("np.tri(T, dtype=bool)", "np.triu(np.ones((T, T)), 1) == 1")),
    (5, "not_padding", "another comparison", ("(ids != pad)", "(ids == pad)")),
    (5, "not_padding", "pad is fixed", ("(ids != pad)", "(ids != 0)")),
    (5, "Mask", "large number instead of -inf", ("-math.inf)", "-1e9)")),
    (5, "Mask", "sign", ("-math.inf)", "math.inf)")),
    (5, "Mask", "mask with 0", ("-math.inf)", "0.0)")),
    (5, "Mask", "nan instead of -inf", ("np.where(allowed, scores, -math.inf)",
                                        "scores + ~allowed * -math.inf")),
    (5, "Mask", "mask forgotten in backward", ("if cache.allowed is None else np.where("
                                               "cache.allowed, grad_y, 0.0)", "")),
    # Multi-head attention
    (6, "MultiHeadAttention", "heads split by reshape alone", (
        "x.reshape(*x.shape[:-1], h, x.shape[-1] // h).swapaxes(-2, -3)",
        "x.reshape(*x.shape[:-2], h, x.shape[-2], x.shape[-1] // h)"), (
        "x = x.swapaxes(-2, -3)\n    return x.reshape(*x.shape[:-2], x.shape[-2] * x.shape[-1])",
        "return x.reshape(*x.shape[:-3], x.shape[-2], x.shape[-3] * x.shape[-1])")),
    (6, "MultiHeadAttention", "wrong", ("return y, c\n", "return merge_heads(heads), c\n")),
    (6, "MultiHeadAttention", "another part", ("self.linear_V.forward(x_V)",
                                                         "self.linear_K.forward(x_V)")),
    (6, "MultiHeadAttention", "another array", ("self.linear_V.forward(x_V)",
                                                       "self.linear_V.forward(x_K)")),
    (6, "MultiHeadAttention", "rng not passed on", (", rng=rng)\n        y, c.linear_O", ")\n"
                                                    "        y, c.linear_O")),
    (6, "MultiHeadAttention", "keys and values exchanged", (
        "return grad_x_Q, grad_x_K, grad_x_V", "return grad_x_Q, grad_x_V, grad_x_K")),
    # Feed-forward
    (7, "ReLU", "always open", ("(cache.x > 0)", "(np.maximum(cache.x, 0) >= 0)")),
    (7, "ReLU", "another comparison", ("(cache.x > 0)", "(cache.x >= 0)")),
    (7, "ReLU", "absolute value", ("np.maximum(x, 0)", "np.abs(x)")),
    (7, "ReLU", "another array", ("grad_y * (cache.x > 0)", "np.where(grad_y > 0, grad_y, 0)")),
    (7, "PositionwiseFeedForward", "ReLU missing", (
        "self.linear_2.forward(active)", "self.linear_2.forward(hidden)")),
    (7, "PositionwiseFeedForward", "another array", (
        "self.linear_1.backward(grad_hidden,", "self.linear_1.backward(grad_active,")),
    (7, "PositionwiseFeedForward", "residual added", ("return y, c\n", "return x + y, c\n")),
    # Embedding and projection
    (8, "Embedding", "factor left out", (
        "grad_y * math.sqrt(self.d_model))", "grad_y)")),
    (8, "Embedding", "repeated ids", (
        "np.add.at(self.E.grad, cache.ids, grad_y * math.sqrt(self.d_model))",
        "self.E.grad[cache.ids] += grad_y * math.sqrt(self.d_model)")),
    (8, "OutputProjection", "zero", ("self.E.grad +=", "_ =")),
    # Sinusoids
    (9, "SinusoidalPositionalEncoding", "sine and cosine swapped", (
        "= np.sin(angle)", "= np.cos(angle)"), ("= np.cos(angle)[:", "= np.sin(angle)[:")),
    (9, "SinusoidalPositionalEncoding", "factor", (
        "np.arange(0, self.d_model, 2) /", "2 * np.arange(0, self.d_model, 2) /")),
    (9, "SinusoidalPositionalEncoding", "wrong base", ("10000 **", "1000 **")),
    (9, "SinusoidalPositionalEncoding", "start ignored", ("np.arange(start, start + T)",
                                                          "np.arange(T)")),
    (9, "SinusoidalPositionalEncoding", "sines and cosines in halves", (
        "PE[:, 0::2] =", "PE[:, : (self.d_model + 1) // 2] ="),
     ("PE[:, 1::2] =", "PE[:, (self.d_model + 1) // 2 :] =")),
    (9, "SinusoidalPositionalEncoding", "positions from 1", (
        "np.arange(start, start + T)", "np.arange(start + 1, start + T + 1)")),
    # Loss
    (10, "LabelSmoothedCrossEntropy", "off by one", (
        "self.eps_ls / logits.shape[-1], dtype", "self.eps_ls / (logits.shape[-1] - 1), dtype")),
    (10, "LabelSmoothedCrossEntropy", "smoothing over V - 1", (
        "self.eps_ls / logits.shape[-1], dtype", "self.eps_ls / (logits.shape[-1] - 1), dtype"),
     ("np.take_along_axis(q, targets[..., None], axis=-1) + (1 - self.eps_ls)",
      "1 - self.eps_ls")),
    (10, "LabelSmoothedCrossEntropy", "smoothing missing", (
        "loss = -np.where(real, q * log_p, 0)",
        "loss = -np.where(real, np.eye(q.shape[-1])[targets] * log_p, 0)")),
    (10, "LabelSmoothedCrossEntropy", "factor left out", (".sum() / count", ".sum()")),
    (10, "LabelSmoothedCrossEntropy", "log(p + eps)", ("loss = -", "log_p = np.log(np.exp(log_p) +"
                                                       " 1e-9); loss = -")),
    (10, "LabelSmoothedCrossEntropy", "divided by all positions", (
        "(grad_loss / cache.count)", "(grad_loss / cache.real.size)")),
    # Adam and warm-up
    (11, "Adam", "sign", ("p.value -=", "p.value +=")),
    (11, "Adam", "another part", ("v += (1 - self.beta_2)", "v += (1 - self.beta_1)")),
    (11, "Adam", "wrong t", ("self.t += 1\n        for", "for"), (
        "m_hat, v_hat =", "self.t += 1; m_hat, v_hat =")),
    (11, "Adam", "correction kept", (
        "m_hat, v_hat = m / (1 - self.beta_1**self.t), v / (1 - self.beta_2**self.t)",
        "m /= 1 - self.beta_1**self.t; v /= 1 - self.beta_2**self.t; m_hat, v_hat = m, v")),
    (11, "Adam", "root missing", ("(np.sqrt(v_hat) + self.eps)", "(v_hat + self.eps)")),
    (11, "Adam", "exchanged", ("self.beta_1, self.beta_2, self.eps = beta_1, beta_2",
                                     "self.beta_2, self.beta_1, self.eps = beta_1, beta_2")),
    (11, "Adam", "eps is fixed", ("self.eps = beta_1, beta_2, eps",
                                  "self.eps = beta_1, beta_2, 1e-8")),
    (11, "Adam", "v of the wrong thing", ("(p.grad**2 - v)", "(m**2 - v)")),
    (11, "warmup_rate", "off by one", ("return d_model", "step = step + 1; return d_model")),
    (11, "warmup_rate", "another number", ("warmup_steps**-1.5)\n    ###",
                                                     "warmup_steps**-0.5)\n    ###")),
    (11, "warmup_rate", "factor left out", ("return d_model**-0.5 * min", "return min")),
    # Encoder layer
    (12, "EncoderLayer", "residual missing", (
        "self.add_norm_1.forward(x, attended,", "self.add_norm_1.forward(0 * x, attended,")),
    (12, "EncoderLayer", "pre-norm", (
        "attended, c.self_attention = self.self_attention.forward(x, x, x, allowed=allowed,"
        " rng=rng)\n        x, c.add_norm_1 = self.add_norm_1.forward(x, attended, rng=rng)\n"
        "        fed, c.feed_forward = self.feed_forward.forward(x)\n"
        "        y, c.add_norm_2 = self.add_norm_2.forward(x, fed, rng=rng)\n",
        "n = self.add_norm_1.layer_norm(x)\n"
        "        x = x + self.self_attention(n, n, n, allowed=allowed)\n"
        "        y = x + self.feed_forward(self.add_norm_2.layer_norm(x))\n")),
    (12, "EncoderLayer", "dropout on x", (
        "self.add_norm_1.forward(x, attended, rng=rng)", "self.add_norm_1.forward(attended, x,"
        " rng=rng)"), ("self.add_norm_2.forward(x, fed,", "self.add_norm_2.forward(fed, x,")),
    (1, "Softmax", "one maximum for all", ("highest = scores.max(axis=-1, keepdims=True)",
                                           "highest = scores.max()")),
    (12, "EncoderLayer", "uses of x lost", (
        "return grad_x + sum(self.self_attention.backward(grad_attended, cache.self_attention))",
        "return grad_x + self.self_attention.backward(grad_attended, cache.self_attention)[0]")),
    (12, "EncoderLayer", "another part", (
        "y, c.add_norm_2 = self.add_norm_2.forward", "y, c.add_norm_2 = self.add_norm_1.forward")),
    # Greedy decoding
    (13, "greedy_decode", "tokens after eos", (
        "np.where(ended, model.pad, logits[:, -1].argmax(axis=-1))",
        "logits[:, -1].argmax(axis=-1)")),
    (13, "greedy_decode", "pad is fixed", ("np.where(ended, model.pad", "np.where(ended, 0")),
    (13, "greedy_decode", "any instead of all", ("ended.all()", "ended.any()")),
    (13, "greedy_decode", "memory_allowed not passed on", ("memory_allowed=memory_allowed",
                                             "memory_allowed=None")),
    (13, "greedy_decode", "max_len ignored", ("for _ in range(max_len)", "while True")),
    (13, "greedy_decode", "longer than the model", ("min(src.shape[1] + 50, model.max_len)",
                                                    "src.shape[1] + 50")),
    (1, "Softmax", "unknown name", ("mean_grad = (grad_weights", "mean_grad = (grad_w")),
    (1, "Softmax", "nan", ("scores.max(axis=-1", "scores.mean(axis=-1")),
    (5, "not_padding", "axes not inserted", ("(ids != pad)[:, None, None, :]", "ids != pad")),
    (5, "Mask", "inf", ("np.where(allowed, scores, -math.inf)",
                             "np.where(allowed, -math.inf, scores)")),
    (13, "greedy_decode", "another index", ("logits[:, -1]", "logits[:, 0]")),
    # The variance of a row, jobs of heads, muting, induction heads, shares
    *((14, "row_variance", diagnosis, (VARIANCES, code)) for diagnosis, code in (
        ("all scores at once", "scores.var(axis=(0, 2, 3), where=allowed)[None, :, None]"),
        ("standard deviation", "scores.std(axis=-1, where=allowed)"),
        ("unbiased variance", UNBIASED), ("masked keys counted", "(scores * allowed).var(axis=-1)"),
        ("masked keys counted", "np.where(allowed, scores, -math.inf).var(axis=-1)"))),
    *((14, "scale_moved", diagnosis, ("math.sqrt(d_k)", code)) for diagnosis, code in (
        ("root cut off", "math.isqrt(d_k)"), ("wrong d_k", "math.sqrt(h)"),
        ("wrong d_k", "math.sqrt(W_Q.shape[1])"), ("wrong d_k", "math.sqrt(len(W_Q))"))),
    (15, "margin", "queries without a place", ("places >= 0", "places > 0")),
    (15, "margin", "queries without a place", (
        MARGIN, "return (score.sum(axis=0) - baseline.sum(axis=0)) / places.size")),
    (15, "margin", "baseline missing", (" - baseline.mean(axis=0)", "")),
    *((15, "best_job", "threshold too low", ("untrained.max()", code)) for code in (
        "untrained.mean()", "untrained.max(axis=(0, 2))", "0")),
    (15, "best_job", "no job is 0", (", -1)", ", 0)")),
    *((16, "muted", diagnosis, (REPLACED, code)) for diagnosis, code in (
        ("mean left out", "kept[:, head] = 0"),
        ("another mean", "kept[:, head] = 0 if real is None else heads[:, head].mean(axis=(0, 1))"),
        ("another mean", "kept[:, head] = 0 if real is None else"
                         " heads.swapaxes(1, 2)[real].mean(axis=(0, 1))"),
        ("another sum", "kept[:, head] = 0 if real is None else"
                        " heads[:, head] + heads[:, head][real].mean(axis=0)"),
        ("another head", "kept[:, head - 1] = 0 if real is None else"
                         " heads[:, head - 1][real].mean(axis=0)"))),
    (16, "muted", "the others muted", ("heads.copy()", "0 * heads"), (
        "= 0 if real is None", "= heads[:, head] if real is None")),
    *((17, "prefix_score", diagnosis, (ROLLED, code)) for diagnosis, code in (
        ("the token itself", "earlier"), ("the token itself", "np.roll(earlier, -1, axis=-1)"),
        )),
    *((18, "token_shares", diagnosis, (old, new)) for diagnosis, old, new in (
        ("roads missing", "grad + of_heads", "of_heads"), ("roads missing", "(1, 0)", "(1,)"),
        ("roads missing", "(1, 0)", "(0,)"), ("layers in the wrong order", "(1, 0)", "(0, 1)"),
        ("rows and columns", "weights[layer].mT", "weights[layer]"),
        ("rows and columns", "W_VO[layer].mT", "W_VO[layer]"),
        ("heads mixed", ".sum(axis=1)", ".mean(axis=1)"), ("heads mixed", ".sum(axis=1)", "[:, 0]"),
        ("another position", "grad[:, -1]", "grad[:, 0]"),
        ("gradient alone", "(x * grad)", "grad"))),
]

PIECES = "layer norm with var, and a backward in pieces"
ONE_PIECE = "attention in one piece"
FILLED = "decoding by forward, into a filled array"
TOKENS = "loss, token by token"
KINGMA = "adam by Kingma and Ba's efficient form"
BY_LOOP = "sinusoids by a loop"
WRITTEN_OUT = "encoder layer, its sums written out"

WRONG_OTHERWISE = [
    ("softmax, row by row", "no maximum subtracted", ("np.exp(row - row.max())", "np.exp(row)")),
    ("softmax, row by row", "sum forgotten", ("- np.outer(y[at], y[at])", "")),
    ("softmax, row by row", "term left out", ("np.diag(y[at]) - np", "-np")),
    ("softmax, row by row", "sign", ("np.diag(y[at]) - np", "np.diag(y[at]) + np")),
    (PIECES, "sum instead of mean", (" + dmu / d", " + dmu")),
    (PIECES, "mean terms missing", (" + dvar * 2 * (x - mu) / d", "")),
    (PIECES, "factor", ("dvar * 2 *", "dvar *")),
    ("layer norm by einsum", "unbiased variance", ("np.mean(c**2, axis=-1)", "c.var(-1, ddof=1)")),
    ("linear by tensordot", "mean instead of sum", ("g.sum(tuple(axes))", "g.mean(tuple(axes))")),
    (ONE_PIECE, "large number instead of -inf", ("s, -np.inf)", "s, -1e9)")),
    (ONE_PIECE, "wrong axis", ("s.max(-1, keepdims", "s.max(-2, keepdims"), ("e.sum(-1, keepdims",
                                                                          "e.sum(-2, keepdims")),
    (ONE_PIECE, "term left out", ("(dw - (dw * w).sum(-1)[..., None])", "dw")),
    ("causal by comparing", "off by one", (">=", ">")),
    ("causal by comparing", "upside down", (">=", "<=")),
    ("relu by its output", "leaky", ("x < 0, 0, x", "x < 0, 0.01 * x, x")),
    ("embedding by a loop", "overwritten", ("self.E.grad[i] +=", "self.E.grad[i] =")),
    (BY_LOOP, "wrong exponent", ("(2 * (k // 2) /", "(k /")),
    (BY_LOOP, "wrong", ("if k % 2 else", "if k % 2 == 0 else"),
     ("(start + p)", "(start + p + 1)")),
    (BY_LOOP, "replaced by zeros", ("y = x.copy()", "y = np.zeros_like(x)")),
    (TOKENS, "mean over pads", ("if targets[at] == self.pad:", "if False:")),
    (TOKENS, "wrong", ("q[targets[at]] += 1 - self.eps_ls", "q = np.eye(V)[targets[at]]"),
     ("if targets[at] == self.pad:", "if False:")),
    (TOKENS, "smoothing on the others only", ("q[targets[at]] += 1", "q[targets[at]] = 1")),
    (TOKENS, "term left out", ("np.exp(log_p) - q", "np.exp(log_p)")),
    (TOKENS, "factor", ("math.log(np.exp(z).sum())", "math.log(np.exp(z).sum())\n"
                        "            log_p = log_p / math.log(2)")),
    (KINGMA, "eps before the correction", ("self.eps * root", "self.eps")),
    (KINGMA, "not in place", ("p.value -= rate", "p.value = p.value - rate")),
    (WRITTEN_OUT, "another array", ("feed_forward.forward(n)",
                                                "feed_forward.forward(x)")),
    (WRITTEN_OUT, "term left out", ('(attended, c["a"]):', '(attended, c["a"])[:2]:')),
    (FILLED, "condition left out", ("alive.remove(b)", "pass")),
    (FILLED, "filled up to max_len", ("tgt[:, 1 : length + 1]", "tgt[:, 1:]")),
]
