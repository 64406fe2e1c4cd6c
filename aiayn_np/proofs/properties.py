"""Properties that every right Transformer has, as assertions for any model: ours or a student's.

A gradient check cannot see a wrong forward: a mask that leaks or a lost 1/sqrt(d_k) has gradients
too. But some numbers must *not* change, and one can check this without knowing the right numbers.
Earlier logits must not change when a later token changes. No output at a real position must change
when padding is added.

The model needs a `forward` that returns (y, cache), and the attributes that each function names.

If a property does not hold, an assertion raises AssertionError with the place, the size and the
change. It raises TypeError or ValueError for a model that it cannot check, such as a forward that
draws at random. It returns the largest change found, relative to the largest output: at most 1e-12
(float32: 1e-5). Only causality, which is exact, returns nothing.
"""

import copy
import math
from typing import Any

import numpy as np

from .probing import find, input_names, matrices, must_agree, output, steady_output, vocabulary

EXTRA = 3  # tokens of padding that are appended


def assert_causal(model: Any, *, length: int = 6, seed: int = 0) -> None:
    """Assert that no logit depends on a later target token, exactly to the last bit.

    Each target token is changed in turn, and the logits before it must stay the same.

    Parameters
    ----------
    model : its ``forward(src, tgt)`` or ``forward(ids)`` returns logits (B, T, vocab_size), cache;
        it has ``vocab_size``, and perhaps ``pad`` and ``max_len``
    length : target tokens T, at most the model's ``max_len``
    seed : for the tokens

    It also raises AssertionError if no token changes anything.
    """
    inputs = input_names(model, ("ids",), ("src", "tgt"))
    rng, (real, _, _) = np.random.default_rng(seed), vocabulary(model)
    T = min(length, find(model, "max_len", length))
    *src, tgt = rng.choice(real, (len(inputs), 2, T))
    before = steady_output(model, *src, tgt)
    changes = np.zeros((T, T))                               # [s, t]: change of logits t by token s
    for s in range(T):
        other = tgt.copy()
        other[:, s] = [rng.choice(real[real != token]) for token in tgt[:, s]]
        changes[s] = np.abs(output(model, *src, other) - before).max(axis=(0, 2))
    if not changes.any():
        raise AssertionError("no logit changes with any target token: targets are not read")
    leaks = np.tril(changes, -1)                                       # s > t
    if leaks.any():
        s, t = divmod(int(leaks.argmax()), T)
        raise AssertionError(f"logits at position {t} change when target token {s} changes: largest"
                             f" change {leaks[s, t]:.2g}; {np.count_nonzero(leaks)} of"
                             f" {T * (T - 1) // 2} pairs of a position and a later token leak")


def assert_padding_invariant(model: Any, *, length: int = 5, seed: int = 0) -> float:
    """Assert that padding and the other rows of a batch change nothing at real positions.

    There are three experiments. Padding is added behind source and target. Each row is computed
    alone and in a padded batch of different lengths. If the model has Parameters, the padding token
    gets another embedding, also with padding between real tokens. The last experiment finds a
    missing mask on the targets, because the causal mask would hide padding at the end.

    Parameters
    ----------
    model : its ``forward(src, tgt)`` or ``forward(ids)`` returns (B, T, ...) or (B, ...), cache; it
        has ``vocab_size`` >= 4, ``pad``, and perhaps ``max_len`` and ``named_parameters()``
    length : real tokens in the longest row      seed : for the tokens
    """
    inputs = input_names(model, ("ids",), ("src", "tgt"))
    rng, (real, pad, vocab_size) = np.random.default_rng(seed), vocabulary(model)
    T = min(length, find(model, "max_len", length + EXTRA) - EXTRA)
    if T < 3 or pad is None or len(real) < 3:
        raise ValueError(f"length must be at least 3, max_len {3 + EXTRA}, and pad one of at least"
                         f" 4 tokens, got length {T}, pad={pad}, vocab_size={vocab_size}")
    ids = list(rng.choice(real[:-1], (len(inputs), 3, T)))             # the last id stays unused
    want = steady_output(model, *ids)
    found = [*rows_alone(model, ids, pad)]
    for i, name in enumerate(inputs):
        more, holed = list(ids), list(ids)
        more[i] = np.pad(ids[i], ((0, 0), (0, EXTRA)), constant_values=pad)
        got = output(model, *more)
        got = got[:, :T] if got.ndim == 3 else got
        found.append(must_agree(got, want, f"changes when {EXTRA} tokens of padding follow {name}"))
        holed[i] = ids[i].copy()
        holed[i][np.arange(3), [1, T - 2, 1]] = pad                    # not the last position
        found += padding_embedded(model, holed, real[-1], name, rng)
    return max(found)


def rows_alone(model, ids, pad):
    """Yield the difference of each row between a batch of its own and a padded batch."""
    T = ids[0].shape[1]
    lengths = [[T, T - 1, 2], [2, T, T - 1]][: len(ids)]
    batch = [np.where(np.arange(T) < np.array(n)[:, None], x, pad) for x, n in zip(ids, lengths)]
    together = output(model, *batch)
    for b in range(len(together)):
        alone = output(model, *(x[b : b + 1, : n[b]] for x, n in zip(ids, lengths)))
        got = together[b : b + 1, : alone.shape[1]]
        yield must_agree(got, alone, "differs between a padded batch and alone", row=b)


def padding_embedded(model, ids, unused, name, rng):
    """Yield the change of real outputs when the padding inside `ids` gets another embedding.

    A matrix (vocab_size, ...) is an embedding if its row of an unused token changes no other logit.
    """
    if not hasattr(model, "named_parameters"):
        return
    model, pad, vocab_size = copy.deepcopy(model), model.pad, find(model, "vocab_size")

    def without(token, y):
        y = y.copy()
        if y.ndim == 3:
            y[ids[-1] == pad] = 0                                      # padded positions
        if y.shape[-1] == vocab_size:
            y[..., token] = 0                                          # the token's own logit
        return y

    want = output(model, *ids)
    for path, parameter in model.named_parameters():
        E = parameter.value
        if E.ndim == 2 and len(E) == vocab_size:
            got = {}
            for token in (unused, pad):
                parameter.value = E.copy()
                parameter.value[token] = rng.standard_normal(E.shape[1])
                got[token] = output(model, *ids)
            parameter.value = E
            if (without(unused, got[unused]) == without(unused, want)).all():
                what = f"changes with {path}[{pad}], the embedding of the padding in {name}"
                yield must_agree(without(pad, got[pad]), without(pad, want), what)


def assert_permutation_equivariant(encoder: Any, *, d_model: int | None = None, length: int = 5,
                                   seed: int = 0) -> float:
    """Assert that an encoder without positions permutes its output as its input is permuted.

    Parameters
    ----------
    encoder : its ``forward(x)`` returns y, cache; x and y are arrays (B, T, d_model)
    d_model : width of x, by default the attribute ``d_model`` of the encoder or of a layer in it
    length : positions T      seed : for x and the permutations

    The assertion fails, as it must, for relative positions, restricted attention or a causal mask.
    """
    input_names(encoder, ("x",))
    rng = np.random.default_rng(seed)
    d_model = find(encoder, "d_model") if d_model is None else d_model
    parameters = encoder.named_parameters() if hasattr(encoder, "named_parameters") else ()
    dtype = next((p.value.dtype for _, p in parameters), np.dtype(float))
    x = rng.standard_normal((2, length, d_model)).astype(dtype)
    want = steady_output(encoder, x)
    orders = np.arange(length)[::-1], np.roll(np.arange(length), 1)
    return max(must_agree(output(encoder, x[:, order]), want[:, order],
                          f"differs when x has the order {order.tolist()}") for order in orders)


def assert_heads_equal_loop(mha: Any, *, seed: int = 0) -> float:
    """Assert that multi-head attention equals Eq. (1) for one head after another.

    It is tested without a mask, with a mask (T_q, T_k), and with a mask of keys (B, 1, 1, T_k).

    Parameters
    ----------
    mha : its ``forward(x_Q, x_K, x_V, *, allowed)`` returns y, cache; it has ``h``, and
        ``linear_Q``, ``linear_K``, ``linear_V``, ``linear_O`` with ``W`` (d_in, d_out) and ``b`` or
        None. Head i has the i-th of h equal groups of columns of W (of rows, for ``linear_O``)
    seed : for the inputs and masks
    """
    input_names(mha, ("x_Q", "x_K", "x_V"))
    rng, (W, *_) = np.random.default_rng(seed), matrices(mha)
    d_model = len(W["Q"])
    x_Q = rng.standard_normal((2, 3, d_model)).astype(W["Q"].dtype)
    x_K, x_V = rng.standard_normal((2, 2, 5, d_model)).astype(W["Q"].dtype)
    keys = np.array([[1, 1, 0, 1, 0], [0, 1, 1, 0, 1]], dtype=bool)[:, None, None]
    some = np.array([[1, 0, 0, 1, 1], [0, 1, 0, 0, 0], [1, 1, 1, 0, 1]], dtype=bool)
    found = []
    steady_output(mha, x_Q, x_K, x_V)
    for mask, allowed in {"no mask": None, "(T_q, T_k)": some, "(B, 1, 1, T_k)": keys}.items():
        got = output(mha, x_Q, x_K, x_V, **({} if allowed is None else {"allowed": allowed}))
        want = heads_by_loop(mha, x_Q, x_K, x_V, allowed)
        found.append(must_agree(got, want, f"with {mask} is not that of a loop over the heads"))
    return max(found)


def heads_by_loop(mha, x_Q, x_K, x_V, allowed):
    """Return sum_i softmax(Q_i K_i^T / sqrt(d_k)) V_i W_i^O, with the rows W_i^O of W^O."""
    W, b, h = matrices(mha)
    y = b["O"]
    for i in range(h):
        Q, K, V = (x @ np.split(W[n], h, axis=1)[i] + np.split(b[n], h)[i]
                   for n, x in zip("QKV", (x_Q, x_K, x_V)))
        scores = Q @ K.mT / math.sqrt(Q.shape[-1])                     # (B, T_q, T_k)
        if allowed is not None:
            scores = np.where(allowed[:, 0] if allowed.ndim == 4 else allowed, scores, -np.inf)
        e = np.exp(scores - scores.max(axis=-1, keepdims=True))
        y = y + e / e.sum(axis=-1, keepdims=True) @ V @ np.split(W["O"], h)[i]
    return y
