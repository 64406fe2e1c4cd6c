"""Two experiments: replace a token, or take an activation from another input."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..checks import check_ids, check_rng, check_sizes
from ..module import Cache, Module, leaves
from ..reductions import log_softmax
from ..softmax import Softmax
from .freezing import frozen
from .recording import Recording
from .sharing import inputs_of, position_of


@dataclass(frozen=True)
class Replaced:
    """The average fall of a token's log p when one token of the input is replaced.

    source, target : (T_src,) or None, and (T_tgt,): the whole effect of each token
    source_held, target_held : the same effect with the attention weights held fixed
    token, log_p : the token whose log p is measured, and its log p before a replacement
    """
    source: Any
    source_held: Any
    target: np.ndarray
    target_held: np.ndarray
    token: int
    log_p: float


def replaced(model: Module, src: Any, tgt: Any, *, token: int | None = None,
             position: int | None = None, k: int = 8, others: Any = None,
             rng: np.random.Generator) -> Replaced:
    """Replace each token of the input by k others; return the average fall of log p of `token`.

    model, src, tgt, token, position : as in `shares`
    others : the ids to draw from; None: all ids but padding
    """
    check_sizes(k=k)
    check_rng(rng)
    ids = inputs_of(model, src, tgt)
    position = position_of(model, ids[-1], position)
    recording = Recording(model, *ids)
    frozen(recording.cache)                                       # fails if an attention has no map
    row = recording.logits[0, position]                                # (V,)
    token = int(row.argmax() if token is None else check_ids("token", token, len(row), ndim=0))
    others = others_of(others, len(row), getattr(model, "pad", None))
    log_p = log_softmax(row)[token]
    found: list[Any] = [None] * (4 - 2 * len(ids))
    for side in range(len(ids)):
        rows = with_others(ids[side], k, others, rng)                  # (T k, T)
        held = {number: np.repeat(y, k, axis=0)
                for number, (layer, y, _) in enumerate(recording.calls)
                if isinstance(layer, Softmax)}
        for given in ({}, held):
            falls = []
            for n in range(0, len(rows), k):                           # one token after another
                batch = [rows[n : n + k] if i == side else np.repeat(x, k, axis=0)
                         for i, x in enumerate(ids)]
                logits = Recording(model, *batch, given=given).logits[:, position]
                falls.append((log_p - log_softmax(logits)[:, token]).mean())
            found.append(np.array(falls))
    source, source_held, target, target_held = found
    return Replaced(source, source_held, target, target_held, token, float(log_p))


def others_of(others, V, pad):
    """Return the ids to draw from as an array; None stands for all ids but padding."""
    others = [i for i in range(V) if i != pad] if others is None else others
    others = check_ids("others", others, V)
    if len(np.unique(others)) < 2:
        raise ValueError(f"others must be at least two ids, got {others.tolist()}")
    return others


def with_others(row, k, others, rng):
    """Return copies of ids (1, T), k for each token, with a random id in its place: (T k, T)."""
    changed = np.repeat(row, row.size * k, axis=0)
    for n in range(len(changed)):
        changed[n, n // k] = rng.choice(others[others != row[0, n // k]])
    return changed


def patch(model: Module, clean: tuple, other: tuple, where: str) -> np.ndarray:
    """Return the logits (B, T, V) of `clean`, with one activation taken from `other`.

    clean, other : the inputs of the model, (src, tgt) or (ids,), of the same shapes
    where : the activation. The path of a layer in the cache stands for its output, such as
        "encoder.layers.0.self_attention". It may also be the path of an array that a layer
        returned, such as "decoder.layers.1.cross_attention.attention.weights"
    """
    first, second = (Recording(model, *map(np.asarray, ids)) for ids in (clean, other))
    number = call_of(first, where)
    y, given = first.calls[number][1], second.calls[number][1]
    if given.shape != y.shape:
        raise ValueError(f"clean and other must give {where} one shape, got {y.shape} and"
                         f" {given.shape}")
    return Recording(model, *map(np.asarray, clean), given={number: given}).logits


def call_of(recording, where):
    """Return the number of the call whose result is at a path of the cache."""
    part = dict(leaves(recording.cache, (Cache, np.ndarray))).get(where)
    for number, (_, y, cache) in enumerate(recording.calls):
        if part is not None and (part is cache or part is y):
            return number
    raise ValueError("where must be the path in the cache of a layer, or of an array that a layer"
                     f" returned, got {where!r}")
