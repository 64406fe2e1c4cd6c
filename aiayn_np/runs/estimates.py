"""Estimates of the memory and the time that a training needs, made before it begins."""

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ..checks import check_sizes, memory_bytes
from ..module import leaves
from ..text.batches import Batches, arrays
from ..training.loop import AVERAGED, gradient_of
from ..training.loss import LabelSmoothedCrossEntropy
from ..training.ranks import ALONE, Alone
from ..transformer import Transformer

COPIES = 4 + AVERAGED + 3  # value, gradient, m, v; states for averaging; and their average
LOGITS = 3  # arrays of the logits' size that are in no cache: logits, gradient, a temporary one
PROGRAM = 100e6  # bytes of Python, its packages, and some ten thousand pairs
TIMED, LONG = 3, 10  # steps to time, and seconds after which no further step is timed


def parameter_count(vocab_size: int, *, N: int, d_model: int, d_ff: int, **_: object) -> int:
    """How many numbers the parameters of a Transformer hold, without those that variants add."""
    feed_forward = 2 * d_model * d_ff + d_ff + d_model
    return vocab_size * d_model + N * (12 * d_model**2 + 2 * feed_forward + 10 * d_model)


def check_fits(needed: float, what: str) -> None:
    """Raise MemoryError if `what` needs more bytes than this machine has."""
    if needed > memory_bytes():
        raise MemoryError(f"{what} needs about {size(min(needed, 10**300))}, this machine has"
                          f" {size(memory_bytes())}; a smaller --preset, --d-model, --N,"
                          " --vocabulary, --tokens or --batch-size needs less")


def check_beam(model: Transformer, rows: int, beam: int) -> None:
    """Raise ValueError for a beam wider than the vocabulary, or one that needs too much memory."""
    check_sizes(beam=beam)
    if beam > model.vocab_size:
        raise ValueError(f"beam must be at most vocab_size={model.vocab_size}, got beam={beam}")
    E = model.output_projection.E.value
    kept = 2 * len(model.decoder.layers) * model.max_len * model.d_model + 3 * model.vocab_size
    if (needed := rows * beam * kept * E.itemsize) > memory_bytes():
        raise ValueError(f"beam must fit into memory, got beam={beam}, which needs about"
                         f" {size(needed)} of {size(memory_bytes())}")


def size(count: float) -> str:
    """A number of bytes as text, in GB or MB."""
    return f"{count / 1e9:.1f} GB" if count >= 1e9 else f"{max(count / 1e6, 1):.0f} MB"


def clock(seconds: float) -> str:
    """Seconds as text, in s, min or h."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def memory_of(model: Transformer, batches: Batches, ranks: int = 1, accumulate: int = 1) -> float:
    """About how many bytes training takes in a process: program, parameters, copies, and a step.

    The arrays of a step are counted: one pair with two sides of one length runs forward, and the
    arrays of its cache are added up. A batch of n such pairs holds n times as much. The larger
    estimate counts, of the batch with the longest pairs and the batch with the most positions.
    Several ranks share a batch, and each rank computes its part in `accumulate` shares, one after
    the other.
    """
    itemsize = next(model.parameters()).value.itemsize
    numbers = sum(p.value.size for p in model.parameters())
    step = max(-(-rows // (ranks * accumulate)) * bytes_of_pair(model, int(length))
               for rows, length in extremes(batches))
    return PROGRAM + numbers * itemsize * COPIES + step


def extremes(batches):
    """(rows, longest side) of the batch with the longest pairs, and of that with most positions."""
    longer = np.sort(batches.longer)
    shapes = [(len(group), group[-1]) for group in np.split(longer, batches.ends)]
    return {shapes[-1], max(shapes, key=lambda shape: shape[0] * shape[1])}


def bytes_of_pair(model, length):
    """Bytes that forward, loss and backward hold for one pair with `length` tokens on each side."""
    ids = np.full(length, model.pad + 1)
    src, tgt_in, tgt_out = arrays([(ids, ids)])
    logits, cache = model.forward(src, tgt_in, rng=np.random.default_rng(0))
    criterion = LabelSmoothedCrossEntropy(pad=model.pad)
    _, loss_cache = criterion.forward(logits, targets=tgt_out)
    return sum(array.nbytes for array in held(model, cache, loss_cache)) + LOGITS * logits.nbytes


def held(model, *caches):
    """The arrays that caches hold besides the parameters of the model, each once."""
    mine = {id(p.value) for p in model.parameters()}
    blocks = {}
    for _, array in leaves(list(caches), np.ndarray):
        while isinstance(array.base, np.ndarray):                      # a view keeps its whole base
            array = array.base
        blocks[id(array)] = array
    return [array for key, array in blocks.items() if key not in mine]


def seconds_of_epoch(model: Transformer, criterion: Any, batches: Batches,
                     gradient: Callable | None = None, ranks: Alone = ALONE) -> float:
    """Estimate the seconds of an epoch's steps by timing a few; gradients are left non-zero.

    The first step warms up. It counts only if it takes so long that no other one is timed. All
    `ranks` take the same number of steps.
    """
    gradient = gradient or partial(gradient_of, model, criterion, lambda loss_cache: None)
    rng, timed = np.random.default_rng(0), []
    for step in range(1, TIMED + 2):
        batch = batches.batch(step)
        started = time.perf_counter()
        gradient(batch, rng)
        timed.append((time.perf_counter() - started, batch[0].size + batch[2].size))
        if ranks.first(sum(seconds for seconds, _ in timed)) > LONG:
            break
    seconds, positions = np.sum(timed[1:] or timed, axis=0)
    return float(seconds / positions) * batches.tokens()[1]
