"""What decoding or tracing a large model will need of memory and time, before it begins.

How fast a machine is shows only when it works. So a short source or prompt is tried, and two
tokens after it. Memory is counted, time is taken, and both are scaled to what is to come.
"""

import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..decoding.generation import start_generation
from ..decoding.kv_cache import start_decoding
from ..text.translation import similar
from .estimates import LOGITS, clock, held, size

LARGE = 10e6  # bytes of weights from which on it is told what they need
POSITIONS = 61  # that are tried, at most; a prime, so that only a map has two axes of this length
ROWS = 8  # that are tried beside a single one


def translation_line(model: Any, sources: Sequence[np.ndarray], *, bos: int,
                     rows: int | None = None, beam: int = 1) -> str:
    """A line on what translating sources, ids (T,) each, needs; "" for a small model."""
    if weights_of(model) < LARGE:
        return ""
    what = "1 line" if len(sources) == 1 else f"{len(sources)} lines"
    return line(f"to translate {what}",
                *translation_needs(model, sources, bos=bos, rows=rows, beam=beam))


def generation_line(model: Any, ids: np.ndarray, steps: int) -> str:
    """A line on what writing so many tokens after a prompt (T,) needs; "" for a small model."""
    if weights_of(model) < LARGE:
        return ""
    return line(f"to write {steps} tokens", *generation_needs(model, ids, steps))


def perplexity_line(model: Any, ids: np.ndarray) -> str:
    """A line on what the perplexity of a text (T,) needs; "" for a small model."""
    if weights_of(model) < LARGE:
        return ""
    return line(f"to read {len(ids):,} tokens", *perplexity_needs(model, ids))


def trace_line(model: Any, *ids: np.ndarray) -> str:
    """A line on what a trace of these ids needs; "" for a small model."""
    if weights_of(model) < LARGE:
        return ""
    return line("forwards and backwards", *trace_needs(model, *ids))


def line(what, needed, seconds):
    """A line that says what is needed."""
    return f"{what}: about {size(needed)} more of memory, {clock(max(1, seconds))}"


def weights_of(model):
    """Bytes of a model's parameters."""
    return sum(p.value.nbytes for p in model.parameters())


def translation_needs(model, sources, *, bos, rows=None, beam=1):
    """(bytes besides the model, seconds) of translating sources, ids (T,) each.

    A translation is taken to be as long as its source.
    """
    groups, seconds, needed = list(similar(sources, rows)), 0.0, 0.0
    if not groups:
        return needed, seconds
    tried = sources[groups[0][0]][None, :POSITIONS]                    # (1, n)
    sizes = cache_sizes(model, model.encode(tried)[1], tried.shape[1])
    _, first = try_source(model, tried, bos)
    reading, step = try_source(model, tried.repeat(ROWS, axis=0), bos)
    row, reading = max(step - first, 0) / (ROWS - 1), reading / (ROWS * tried.shape[1])
    for group in groups:
        n, T = len(group), len(sources[group[0]])
        seconds += n * T * reading + T * (first + (n * beam - 1) * row)
        kept = beam * kept_bytes(model, len(model.decoder.layers), 2 * T)
        needed = max(needed, n * (scaled(sizes, tried.shape[1], T) + kept))
    return needed, seconds


def generation_needs(model, ids, steps):
    """(bytes besides the model, seconds) of writing so many tokens after a prompt (T,)."""
    T, stack = len(ids), model.stack
    tried = ids[None, : max(min(POSITIONS, model.max_len - 2), 1)]     # (1, n)
    decoder = start_generation(model)
    for given in (tried[:, :1], tried[:, :1]):                         # the first one warms up
        step, _ = seconds_of(decoder.next_logits, given)
    reading, (_, cache) = seconds_of(stack.forward, tried)
    needed = scaled(cache_sizes(model, cache, tried.shape[1]), tried.shape[1], T)
    needed += kept_bytes(stack, len(stack.encoder.layers), T + steps)
    return needed, reading * T / tried.shape[1] + steps * step


def perplexity_needs(model, ids):
    """(bytes besides the model, seconds) of the perplexity of a text (T,)."""
    tried, T = ids[None, : min(POSITIONS, model.max_len)], min(len(ids), model.max_len)
    n = tried.shape[1]
    reading, (logits, cache) = seconds_of(model.forward, tried)
    needed = scaled(cache_sizes(model, cache, n), n, T) + logits.nbytes * T / n
    return needed, reading * len(ids) / n


def trace_needs(model, *ids):
    """(bytes besides the model, seconds) of a forward and backward of a copy with its gradients."""
    reading, (logits, cache) = seconds_of(model.forward, *ids)
    largest = max(p.value.nbytes for p in model.parameters())          # a product to be added
    needed = sum(array.nbytes for array in held(model, cache)) + LOGITS * logits.nbytes
    return weights_of(model) + largest + needed, 4 * reading


def seconds_of(function, *arrays):
    """(seconds of a call, what it returns)"""
    started = time.perf_counter()
    found = function(*arrays)
    return time.perf_counter() - started, found


def try_source(model, src, bos):
    """(seconds of reading sources (B, T), seconds of a token more of each)"""
    reading, decoder = seconds_of(start_decoding, model, src)
    token = np.full(len(src), bos)
    decoder.next_logits(token)                                         # warms up
    return reading, seconds_of(decoder.next_logits, token)[0]


def cache_sizes(model, cache, T):
    """Bytes that a cache of T positions holds in (maps (..., T, T), all other arrays)."""
    sizes = [0, 0]
    for array in held(model, cache):
        sizes[array.shape[-2:] != (T, T)] += array.nbytes
    return sizes


def scaled(sizes, tried, T):
    """The same for T positions, together."""
    maps, others = sizes
    return maps * (T / tried) ** 2 + others * T / tried


def kept_bytes(model, N, T):
    """Bytes of the keys and values of T positions in N layers, and of one row of logits."""
    itemsize = next(model.parameters()).value.itemsize
    return (2 * N * T * model.d_model + LOGITS * model.vocab_size) * itemsize
