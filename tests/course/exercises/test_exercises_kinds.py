"""Kinds of mistakes that strangers made: each gets its reason, and no other one."""

import pytest
from solutions import answer, edited, run, source

from aiayn_course.exercises import check

CORRECTED = ("m_hat, v_hat = m / (1 - self.beta_1**self.t), v / (1 - self.beta_2**self.t)",
             "m_hat, v_hat = m, v")
EPS = "np.sqrt(v_hat) + self.eps)"
CLEARED = (EPS, f"{EPS}\n            p.grad[...] = 0")
M, V = (f"self.{name} = [np.zeros_like(p.value) for p in self.parameters]" for name in "mv")
PICKED, UNPACKED = "logits[:, -1].argmax(axis=-1)", "grad_Q, grad_K, grad_V = self.attention."
PARTS = "sum(self.self_attention.backward(grad_attended, cache.self_attention))"
ONE_EACH = "A backward returns one gradient for each array"

PER_HEAD = (
    ("heads, c.attention = self.attention.forward(Q, K, V, allowed=allowed, rng=rng)",
     """parts = []
        for i in range(self.h):
            head, c.attention = self.attention.forward(
                *(x[..., i, :, :] for x in (Q, K, V)), rng=rng,
                allowed=None if allowed is None else np.broadcast_to(
                    allowed, (*Q.shape[:-1], K.shape[-2]))[..., i, :, :])
            parts.append(head)
        heads = np.stack(parts, axis=-3)"""),
    ("grad_Q, grad_K, grad_V = self.attention.backward(grad_heads, cache.attention)",
     """grad_Q, grad_K, grad_V = (np.stack(g, axis=-3) for g in zip(*(
            self.attention.backward(grad_heads[..., i, :, :], cache.attention)
            for i in range(self.h))))"""))
W_GRAD = "self.W.grad += rows.T @ grad_rows"
ZEROS = "return grad_y if cache", "return 0 * grad_y if True or cache"
COSINES, LOSS = "np.cos(angle)[:, : self.d_model // 2]", "-np.where(real, q * log_p, 0).sum()"
EVERYWHERE = """((1 - self.eps_ls) * -log_p[..., targets] + self.eps_ls * -log_p.mean(axis=-1))"""
WHOLE = "return tgt[:, 1:]"
WITHOUT_EOS = """rows = [row[: (row + [eos]).index(eos)] for row in tgt[:, 1:].tolist()]
    longest = max(map(len, rows))
    return np.array([row + [model.pad] * (longest - len(row)) for row in rows])"""
FILLED = ("return np.pad(tgt, ((0, 0), (0, max_len + 1 - tgt.shape[1])),"
          " constant_values=model.pad)")
KINDS = [  # exercise, class, diagnosis, words of the reason, what is changed in the solution
    (7, "PositionwiseFeedForward", "wrong", [],
     [("(hidden)", "(hidden + self.linear_1.b.value)"),
      ("return y, c", "return y + self.linear_2.b.value, c")]),
    (11, "Adam", "m and v are one", ["one array"], [(M, f"self.m = {V}"), (f"        {V}\n", "")]),
    (11, "Adam", "means not kept", ["names a new array"],
     [("m += (1 - self.beta_1)", "m = m + (1 - self.beta_1)"),
      ("v += (1 - self.beta_2)", "v = v + (1 - self.beta_2)")]),
    (11, "Adam", "bias correction missing", ["too small at first", "There is more: "],
     [CORRECTED, CLEARED]),
    (11, "Adam", "gradient cleared", ["clears p.grad", "There is more: ",
     "values after each step"],
     [("rate * m_hat /", "rate * np.tanh(m_hat + 1) /"), CLEARED]),
    (11, "Adam", "eps inside the root", ["outside", "There is more: "],
     [("np.sqrt(v_hat) + self.eps", "np.sqrt(v_hat + self.eps)"),
      ("p.value -= rate", "p.value = p.value - rate")]),
    (4, "ScaledDotProductAttention", "wrong", [],
     [("Q @ K.mT / math.sqrt(Q.shape[-1])", "Q @ K.mT / Q.shape[-1]"),
      ("(scores, allowed=allowed)", "(scores)")]),
    (13, "greedy_decode", "wrong axis", ["over the positions"],
     [(PICKED, "logits.argmax(axis=1)[:, -1]")]),
    (13, "greedy_decode", "number of axes", ["Arrays that are joined have equally many axes"],
     [("token[:, None]", "token")]),
    (13, "greedy_decode", "argmin instead of argmax", ["logits[:, -1].argmin("],
     [(PICKED, "logits[:, -1].argmin(axis=-1)")]),
    (13, "greedy_decode", "prefix lost", ["must be appended"],
     [("tgt = np.concatenate([tgt, token[:, None]], axis=1)", "tgt = token[:, None]")]),
    (3, "Linear", "value forgotten", ["self.W.value"], [("x @ self.W.value", "x @ self.W")]),
    (7, "PositionwiseFeedForward", "value forgotten", ["call its forward"],
     [("hidden, c.linear_1 = self.linear_1.forward(x)", "hidden = x @ self.linear_1")]),
    (11, "Adam", "value forgotten", ["A Parameter is no array"], [(M, M.replace("p.value", "p"))]),
    *((7, "ReLU", "two arrays for one", ["np.maximum"], [("np.maximum(x, 0)", code)])
      for code in ("np.max(0, x)", "np.max([0, x])", "max(0, x)")),
    (7, "ReLU", "axis lost", ["np.maximum"], [("np.maximum(x, 0)", "np.max(x, 0)")]),
    (11, "warmup_rate", "two arrays for one", ["np.minimum"], [("min(step", "np.min(step")]),
    (6, "MultiHeadAttention", "not unpacked", [ONE_EACH],
     [(UNPACKED, "grad_Q = grad_K = grad_V = self.attention.")]),
    (7, "PositionwiseFeedForward", "shapes", ["got (3, 7)"],
     [("grad_hidden = self", "grad_hidden, c = self")]),
    (7, "PositionwiseFeedForward", "wrong type", ["returns two things"],
     [("y, c.linear_2 = self", "y = self")]),
    (3, "Linear", "not kept", ["A tuple has no names"],
     [("Cache(x=x)", "(x, y)")]),
    (4, "ScaledDotProductAttention", "another array", ["`softmax(scores, axis=-1) @ K` where"],
     [("cache.weights @ V", "cache.weights @ K")]),
    (10, "LabelSmoothedCrossEntropy", "mean over everything", ["all entries"],
     [(".sum() / count", ".mean()")]),
    (11, "warmup_rate", "wrong", [],
     [("min(step", "max(step"), ("d_model**-0.5", "d_model**0.5")]),
    (3, "Linear", "wrong", ["Wrong: W.grad and b.grad."],
     [(W_GRAD, f"first = grad_y[0].reshape(-1, self.d_out)\n        {W_GRAD}"),
      ("rows.T @ grad_rows", "cache.x[0].reshape(-1, self.d_in).T @ first"),
      ("grad_rows.sum", "first.sum")]),
    (3, "Linear", "factor", ["1 / the number of sequences"],
     [(W_GRAD, "self.W.grad += (cache.x.mT @ grad_y).reshape(-1, self.d_in, self.d_out).mean(0)")]),
    *((3, "Linear", "number of axes", ["X.T reverses all axes"],
       [(W_GRAD, f"self.W.grad += {x_T} @ grad_y")])
      for x_T in ("cache.x.T", "np.transpose(cache.x)")),
    (6, "MultiHeadAttention", "shapes", ["is undone in reverse order"],
     [(UNPACKED, "grad_V, grad_K, grad_Q = self.attention.")]),
    (3, "Linear", "einsum", ["einsum sums over none"],
     [("rows.T @ grad_rows", "np.einsum('...i,...o->io', cache.x, grad_y)")]),
    (3, "Linear", "None", ["With bias=False, self.b is None"],
     [("if self.b is not None:\n            y =", "if True:\n            y =")]),
    (3, "Linear", "wrong count", ["add them to `.grad`"],
     [("return grad_y @ self.W.value.T", "return grad_y @ self.W.value.T, self.W.grad, 1")]),
    (4, "ScaledDotProductAttention", "sqrt left out",
     ["`Q @ K.mT / Q.shape[-1]` where"],
     [("Q @ K.mT / math.sqrt(Q.shape[-1])", "Q @ K.mT / Q.shape[-1]"),
      ("/ math.sqrt(cache.Q.shape[-1])", "* cache.Q.shape[-1]")]),
    (3, "Linear", "zero", ["`self.b.grad += grad_rows.sum(axis=0)` left out"],
     [("self.b.grad += grad_rows.sum(axis=0)", "pass")]),
    (12, "EncoderLayer", "allowed not passed on",
     ["`self.self_attention(x, x, x, rng=rng)` where"],
     [("allowed=allowed, rng=rng", "rng=rng"),
      ("(grad_x, cache.add_norm_1)", "(np.tanh(grad_x), cache.add_norm_1)")]),
    (5, "Mask", "zero", ["It is zero everywhere"],
     [ZEROS]),
    (6, "MultiHeadAttention", "cache of the last head", ["Keep one for every head"],
     list(PER_HEAD)),
    (6, "MultiHeadAttention", "wrong", ["Wrong: grad_x_Q and linear_Q.W.grad."],
     [("grad_x_Q = self", "grad_Q[..., :1, :, :] = 0\n        grad_x_Q = self")]),
    (6, "MultiHeadAttention", "reshape for a transpose",
     ["`heads.reshape(heads.swapaxes(-2, -3).shape)` where"],
     [("x = x.swapaxes(-2, -3)\n    return x.reshape(*x.shape[:-2], x.shape[-2] * x.shape[-1])",
       "return x.reshape(*x.shape[:-3], x.shape[-2], -1)"),
      ("allowed=allowed, rng=rng", "rng=rng")]),
    (6, "MultiHeadAttention", "wrong count", ["Gradients of several inputs are added up"],
     [("return grad_x_Q, grad_x_K, grad_x_V", "return grad_x_Q + grad_x_K + grad_x_V")]),
    (6, "MultiHeadAttention", "error", ["must have d_in=12 on its last axis"],
     [("forward(merge_heads(heads))", "forward(heads[..., 0, :, :])")]),
    (8, "Embedding", "error", ["E always has vocab_size rows"],
     [("self.E.value[ids] *", "(ids[..., None] == np.arange(ids.max() + 1)) @ self.E.value *")]),
    (9, "SinusoidalPositionalEncoding", "shapes", ["one cosine fewer"],
     [(COSINES, "np.cos(angle)")]),
    (9, "SinusoidalPositionalEncoding", "zero", ["It is zero everywhere"],
     [("return grad_y", "return np.zeros_like(grad_y)")]),
    (9, "SinusoidalPositionalEncoding", "brackets", ["`(pos / 10000) ** (np.arange("],
     [("pos / 10000 ** (np", "(pos / 10000) ** (np")]),
    *((10, "LabelSmoothedCrossEntropy", "all targets everywhere", ["a target of its own"],
       [(LOSS, code)]) for code in (f"({EVERYWHERE} * real[..., 0]).sum()",
                                    f"{EVERYWHERE}[real[..., 0]].sum()")),
    (11, "warmup_rate", "brackets", ["(step * warmup_steps) ** (-1.5)"],
     [("step * warmup_steps**-1.5", "(step * warmup_steps)**-1.5")]),
    (11, "Adam", "brackets", ["1 - beta^t"],
     [(f"{x} / (1 - self.beta_{i}**self.t)", f"{x} / (1 - self.beta_{i})**self.t")
      for x, i in ("m1", "v2")]),
    (11, "Adam", "last parameter only", ["after the loop"],
     [("            p.value -= rate", "        p.value -= rate")]),
    (12, "EncoderLayer", "rng not passed on",
     ["`self.add_norm_1(x, attended)` where", "`self.add_norm_2(x, fed)` where"],
     [("allowed=allowed, rng=rng", "allowed=allowed"), ("(x, attended, rng=rng)", "(x, attended)"),
      ("(x, fed, rng=rng)", "(x, fed)")]),
    (13, "greedy_decode", "eos removed", ["A row ends before its eos"], [(WHOLE, WITHOUT_EOS)]),
    (13, "greedy_decode", "shape", [], [(WHOLE, FILLED)]),
    (13, "greedy_decode", "bos returned", ["the last token cut away"],
     [(WHOLE, "return tgt[:, :-1]")]),
    (13, "greedy_decode", "changed in place", ["writes in line 37, `src[:] = model.pad;"],
     [("memory_allowed = not", "src[:] = model.pad; memory_allowed = not")]),
    (11, "Adam", "stale", ["Each must begin anew"],
     [("class Adam:", "class Adam:\n    __slots__, kept = ['__dict__'], {}"),
      ("self.m = [np.zeros_like(p.value) for",
       "self.m = [self.kept.setdefault(p.value.shape, np.zeros_like(p.value)) for")]),
    (2, "LayerNorm", "another default", ["takes 1e-05, and must take 1e-06"],
     [("eps=1e-6", "eps=1e-5")]),
    (10, "LabelSmoothedCrossEntropy", "sign", ["`grad_loss * (q - np.exp(log_p)) *"],
     [("np.exp(cache.log_p) - cache.q", "cache.q - np.exp(cache.log_p)")]),
    (4, "ScaledDotProductAttention", "another size", ["math.sqrt(Q.shape[1])"],
     [("math.sqrt(Q.shape[-1])", "math.sqrt(Q.shape[1])")]),
    (8, "Embedding", "factor left out", ["`np.add.at(self.E.grad, ids, grad_y)`"],
     [("grad_y * math.sqrt(self.d_model))", "grad_y)")]),
    (13, "greedy_decode", "another index", ["logits[:, 0].argmax"],
     [("logits[:, -1]", "logits[:, 0]")]),
    (8, "Embedding", "dtype", ["is made in line 37: `return np.eye(self.vocab_size)[ids] @"],
     [("self.E.value[ids]", "np.eye(self.vocab_size)[ids] @ self.E.value")]),
    (2, "LayerNorm", "overwritten", ["writes over gamma.grad and beta.grad"],
     [("self.beta.grad +=", "self.beta.grad ="), ("self.gamma.grad +=", "self.gamma.grad =")]),
    (13, "greedy_decode", "stops at pad", ["Only eos ends a row"],
     [("ended |= token == eos", "ended |= np.isin(token, [eos, model.pad])")]),
    (13, "greedy_decode", "pad never taken", ["whichever it is"],
     [("        token =", "        logits[..., model.pad] = -np.inf\n        token =")]),
    (13, "greedy_decode", "0 taken for None", ["holds for 0, too"],
     [("max_len is None", "not max_len")]),
    (10, "LabelSmoothedCrossEntropy", "stale", ["keeps something from before in itself"],
     [("count = int(real.sum())", "count = self.count = int(real.sum())"),
      ("grad_loss / cache.count", "grad_loss / self.count")]),
    (5, "not_padding", "shape", ["An axis of length 1 is missing"],
     [("[:, None, None, :]", "[:, None, :]")]),
    (10, "LabelSmoothedCrossEntropy", "condition ignored", ["`(targets != self.pad) | True`"],
     [("np.where(cache.real, p_minus_q, 0) * (grad_loss / cache.count)",
       "p_minus_q * (grad_loss / cache.real.size)")]),
    (2, "LayerNorm", "another array", ["self.beta.value)).sum(axis=positions)` where"],
     [("(grad_y * n).sum", "(grad_y * (self.gamma.value * n + self.beta.value)).sum")]),
    (12, "EncoderLayer", "exchanged", ["cache.add_norm_1)` where", "cache.add_norm_2)` where"],
     [("(grad_y, cache.add_norm_2)", "(grad_y, cache.add_norm_1)"),
      ("(grad_x, cache.add_norm_1)", "(grad_x, cache.add_norm_2)")]),
    (4, "ScaledDotProductAttention", "factor left out",                # one mistake in two places
     ["`grad_scores @ K` where", "`grad_scores.mT @ Q` where"],
     [("cache.mask) / math.sqrt(cache.Q.shape[-1])", "cache.mask)")]),
    (2, "LayerNorm", "wrong axis", ["batch norm"],
     [("x.mean(axis=-1, keepdims=True)", "x.mean(axis=0, keepdims=True)"),
      ("(centred * centred).mean(axis=-1,", "(centred * centred).mean(axis=0,")]),
    (7, "PositionwiseFeedForward", "not unpacked", ["returns two things"],
     [("hidden, c.linear_1 = self", "hidden = self")]),
    (3, "Linear", "order", ["in the other order"], [("return y, Cache(x=x)", "return x, y")]),
    (1, "Softmax", "signature", ["that of the stub"],
     [("def forward(self, scores)", "def forward(scores)")]),
]


MEANS = "mean_g, mean_gn = g.mean(axis=-1, keepdims=True), (g * n).mean(axis=-1, keepdims=True)"
SUMS = [
    (MEANS, f"inv_std = cache.inv_std\n        {MEANS.replace('mean(', 'sum(')}"),
    ("cache.inv_std * (g", "inv_std / g.shape[-1] * (g"),
]
DOUBTS = [  # exercise, name, what is changed, code in the line that is doubted, or ""
    (7, "PositionwiseFeedForward", [
        ("np.maximum(x, 0), Cache(x=x)", "np.maximum(x, 0), x > 0"),
        ("active, c.relu", "active, on"), ("return y, c", "return x + y, Cache(relu=on)")], ""),
    (4, "ScaledDotProductAttention", [
        ("scores, cache.mask = self.mask.forward(scores, allowed=allowed)", "c = cache"),
        ("        cache.weights, ", "        weights, "),
        ("        return cache.weights @ V", "        if allowed is not None:\n"
         "            weights = 0 + weights * allowed\n        return weights @ V")],
     "        weights, "),
]
OTHERS_CACHE = [
    ("cache.x > 0", "cache > 0"), ("np.maximum(x, 0), Cache(x=x)", "np.maximum(x, 0), x"),
    ("(grad_active, cache.relu)", "(grad_active, cache.linear_1)"),
]
CAUSES = [  # exercise, name, diagnosis, words of the first hint, what is changed
    (4, "ScaledDotProductAttention", "error", "`grad_scores` must be transposed",
     [("grad_scores.mT @ cache.Q", "grad_scores @ cache.Q")]),
    (4, "ScaledDotProductAttention", "error", "All axes of `grad_scores.T` are reversed",
     [("grad_scores.mT @ cache.Q", "np.matmul(grad_scores.T, cache.Q)")]),
    (7, "ReLU", "wrong", "No single cause is known",
     [("np.maximum(x, 0)", "np.log1p(np.exp(x))")]),
    (7, "ReLU", "order", "stands in the report",
     [("np.maximum(x, 0), Cache(x=x)", "Cache(x=x), np.maximum(x, 0)")]),
    (2, "LayerNorm", "x - mean instead of n", "the power of the variance is -1/2",
     [("n * mean_gn)", "n * mean_gn / cache.inv_std**2)")]),
    (2, "LayerNorm", "length missing in a term", "g alone was not multiplied by d_model",
     SUMS),
    (7, "PositionwiseFeedForward", "cache for an array", "the cache of its own forward",
     OTHERS_CACHE),
    *((5, "Mask", "mask as an index", "does not broadcast", [
        ("        return np.where(allowed, scores, -math.inf), Cache",
         f"        y = scores.copy()\n        y[{index}] = -math.inf\n        return y, Cache")])
      for index in ("~allowed", "..., ~allowed", ":, :, ~allowed")),
    (5, "Mask", "mask as an index", "does not broadcast", [
        ("np.where(cache.allowed, grad_y, 0.0)", "grad_y[cache.allowed]")]),
    (9, "SinusoidalPositionalEncoding", "stale", "keeps something from before in itself",
     [("        pos = np.arange(", "        if len(getattr(self, 'kept', ())) == T:\n"
       "            return self.kept\n        pos = np.arange("),
      ("        return PE\n", "        self.kept = PE\n        return PE\n")]),
    (13, "greedy_decode", "another size", "the length of another axis",
     [("src.shape[1] + 50", "src.shape[0] + 50")]),
    (5, "causal", "dtype", "np.zeros and np.ones make floats", [("dtype=bool", "dtype=int")]),
    (11, "Adam", "nan", "It is as if `self.t += 1` were left out, or came too late",
     [("        self.t += 1\n", "")]),
    (12, "EncoderLayer", "another array", "It is as if `grad_y` stood in place of another array",
     [("feed_forward.backward(grad_fed,", "feed_forward.backward(grad_y,")]),
    (1, "Softmax", "a name of PyTorch", "In NumPy it is `axis`",
     [("exp_scores.sum(axis=-1, keepdims=True)", "exp_scores.sum(dim=-1, keepdims=True)")]),
    (3, "Linear", "a name of PyTorch", "In NumPy it is `reshape`",
     [("grad_y.reshape(-1, self.d_out)", "grad_y.view(-1, self.d_out)")]),
    (6, "MultiHeadAttention", "a name of PyTorch", "In NumPy it is `swapaxes`",
     [("Q, K, V = split_heads(Q, self.h)", "Q, K, V = Q.transpose(1, 2)")]),
    (6, "MultiHeadAttention", "signature", "takes `allowed` and `rng` by name alone",
     [("(Q, K, V, allowed=allowed, rng=rng)", "(Q, K, V, allowed)")]),
    (8, "Embedding", "index", "Long enough is axis 0.", [("self.E.value[ids]",
                                                         "self.E.value[:, ids]")]),
    (13, "greedy_decode", "mask without axes", "mask[:, None, None, :]",
     [("memory_allowed = not_padding(src, model.pad)", "memory_allowed = src != model.pad")]),
    (3, "Linear", "error", "`self.W.value` and `x` belong in the other order",
     [("y = x @ self.W.value", "y = np.dot(self.W.value, x)")]),
    (2, "LayerNorm", "another array", "`self.gamma.value * n + self.beta.value` stood in place",
     [("Cache(n=n, inv_std", "Cache(n=self.gamma.value * n + self.beta.value, inv_std")]),
    (11, "Adam", "a function too many", "as if `np.abs` were applied, too",
     [("rate * m_hat /", "rate * np.abs(m_hat) /")]),
    (15, "best_job", "threshold too low", "The threshold is too low",
     [("untrained.max()", "untrained.min()")]),
    (4, "ScaledDotProductAttention", "error", "Here `K` belongs, where `Q` stands.",
     [("return grad_scores @ cache.K", "Q, K = cache.Q, cache.K\n        return grad_scores @ Q")]),
]


@pytest.mark.parametrize(("number", "name", "diagnosis", "words", "edits"), CAUSES)
def test_the_first_hint_names_the_cause(number, name, diagnosis, words, edits):
    report = check(answer(number, name, *edits))
    assert report.diagnosis == diagnosis
    assert words in report.hints[0]


def test_the_line_that_calls_the_one_that_stops_is_named():
    code = edited(source(7), OTHERS_CACHE)
    line = code[: code.index("grad_hidden = ")].count("\n") + 1
    report = check(run(code)["PositionwiseFeedForward"])
    assert f"Line {line} calls it: `grad_hidden = " in report.where
    assert "Whose cache does the calling line give" in report.question


@pytest.mark.parametrize(("number", "name", "edits", "doubted"), DOUBTS)
def test_a_right_line_is_not_doubted(number, name, edits, doubted):
    code = edited(source(number), edits)
    where = check(run(code)[name]).where
    line = code[: code.index(doubted)].count("\n") + 1
    assert where.endswith(f"` in line {line} already." if doubted else "`.")


@pytest.mark.parametrize(("number", "name", "diagnosis", "words", "edits"), KINDS)
def test_the_reason_is_said(number, name, diagnosis, words, edits):
    report = check(answer(number, name, *edits))
    assert not report
    assert report.diagnosis == diagnosis
    for word in words:
        assert word in report.message


NOT_THAT = [  # exercise, name, words of a reason that is false here, what is changed
    (13, "greedy_decode", "keepdims", [(PICKED, "logits.argmax(axis=1)")]),
    (11, "warmup_rate", "zeros_like", [("d_model**-0.5 *", "1 // d_model**0.5 *")]),
    (10, "LabelSmoothedCrossEntropy", "(q - q)",
     [("cache.real, p_minus_q, 0)", "cache.real, 0 * p_minus_q, 0)")]),
]
NOT_THERE = [  # the same, of what does not stand in the code
    (1, "Softmax", "condition", [("total = exp_scores.sum(", "total = exp_scores.max(")]),
    (6, "MultiHeadAttention", "fixed number", [
        ("split_heads(Q, self.h), split_heads(K, self.h), split_heads(V, self.h)", "Q, K, V"),
        ("forward(merge_heads(heads))", "forward(heads)")]),
    (8, "OutputProjection", "is that of the formula", [
        ("return x @ self.E.value.T", "return x @ self.E.value.T / self.E.value.shape[0]")]),
    (11, "warmup_rate", "`min`", [("step * warmup_steps**-1.5", "step / warmup_steps**-1.5")]),
    (1, "Softmax", "highest", [("highest = scores.max(axis=-1, keepdims=True)", "pass"), (
        "highest = np.where(highest == -math.inf, 0.0, highest)", "pass"),
        ("scores - highest", "scores")]),                              # of the formula
    (12, "EncoderLayer", "grad_fed", [("grad_x, grad_fed = self", "grad_x, g = self"), (
        "grad_x + self.feed_forward.backward(grad_fed,", "self.feed_forward.backward(0 + g,")]),
]


@pytest.mark.parametrize(("number", "name", "words", "edits"), NOT_THAT)
def test_a_false_reason_is_not_said(number, name, words, edits):
    report = check(answer(number, name, *edits))
    assert not report
    assert words not in report.message


@pytest.mark.parametrize(("number", "name", "words", "edits"), NOT_THERE)
def test_no_hint_speaks_of_what_does_not_stand_in_the_code(number, name, words, edits):
    report = check(answer(number, name, *edits))
    assert not report
    assert not [hint for hint in report.hints[:2] if words in hint]
