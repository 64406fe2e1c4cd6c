"""What a training will need of memory and time, before it begins."""

import time

import numpy as np

from ..checks import memory_bytes
from ..loss import LabelSmoothedCrossEntropy
from ..module import leaves
from ..training import AVERAGED
from .batches import arrays

COPIES = 4 + AVERAGED + 3  # value, gradient, m, v; states for averaging; and their average
LOGITS = 3  # arrays of the logits' size that are in no cache: logits, gradient, one on the way
PROGRAM = 100e6  # bytes of Python, its packages, and a few ten thousand pairs
TIMED, LONG = 3, 10  # steps that are timed, and seconds after which no other one is


def parameter_count(vocab_size, *, N, d_model, d_ff, **_):
    """Numbers in a Transformer of this size, without those that variants add."""
    feed_forward = 2 * d_model * d_ff + d_ff + d_model
    return vocab_size * d_model + N * (12 * d_model**2 + 2 * feed_forward + 10 * d_model)


def check_fits(needed, what):
    """Raise MemoryError where a number of bytes is more than this machine has."""
    if needed > memory_bytes():
        raise MemoryError(f"{what} needs about {size(needed)}, this machine has"
                          f" {size(memory_bytes())}; a smaller --preset, --d-model, --N,"
                          " --vocabulary or --tokens needs less")


def size(count):
    """A number of bytes in GB or MB, to be read."""
    return f"{count / 1e9:.1f} GB" if count >= 1e9 else f"{max(count / 1e6, 1):.0f} MB"


def memory_of(model, batches, workers, workers_as="threads"):
    """Bytes that training takes, about: program, parameters, their copies, and what a step holds.

    What a step holds is counted: a forward of one pair of equal length is made, and the arrays of
    its cache are added up. A batch of n such pairs holds n times as much. It is taken for the
    longest pairs and for the batch with the most positions. With several workers it is there twice:
    threads keep the memory that they freed for themselves, and validation is done outside of them.
    Other processes have values of their own, too, and what Python needs.
    """
    itemsize = next(model.parameters()).value.itemsize
    numbers = sum(p.value.size for p in model.parameters())
    step = max(rows * bytes_of_pair(model, int(length)) for rows, length in extremes(batches))
    copies = numbers * itemsize * (COPIES + workers - 1)
    if workers_as == "processes":
        copies += (workers - 1) * (PROGRAM + numbers * itemsize)
    return PROGRAM + copies + step * min(workers, 2)


def extremes(batches):
    """(rows, length of the longest side) of the batch of the longest and of the fullest one."""
    longer = np.sort(batches.longer)
    shapes = [(len(group), group[-1]) for group in np.split(longer, batches.ends)]
    return {shapes[-1], max(shapes, key=lambda shape: shape[0] * shape[1])}


def bytes_of_pair(model, length):
    """Bytes that forward, loss and backward hold for one pair of so many tokens on each side."""
    ids = np.full(length, model.pad + 1)
    src, tgt_in, tgt_out = arrays([(ids, ids)])
    logits, cache = model.forward(src, tgt_in, rng=np.random.default_rng(0))
    criterion = LabelSmoothedCrossEntropy(pad=model.pad)
    _, loss_cache = criterion.forward(logits, targets=tgt_out)
    mine = {id(p.value) for p in model.parameters()}
    blocks = {}
    for _, array in leaves([cache, loss_cache], np.ndarray):
        while isinstance(array.base, np.ndarray):                      # a view holds all of it
            array = array.base
        blocks[id(array)] = array.nbytes * (id(array) not in mine)
    return sum(blocks.values()) + LOGITS * logits.nbytes


def seconds_of_epoch(team, batches):
    """Seconds that the steps of an epoch take, from timing a few; gradients are left non-zero.

    The first step warms up, and counts only if it takes so long that it has to be the last one.
    """
    rng, timed = np.random.default_rng(0), []
    for step in range(1, TIMED + 2):
        batch = batches.batch(step)
        started = time.perf_counter()
        team.gradients(*batch, rng=rng)
        timed.append((time.perf_counter() - started, batch[0].size + batch[2].size))
        if sum(seconds for seconds, _ in timed) > LONG:
            break
    seconds, positions = np.sum(timed[1:] or timed, axis=0)
    return float(seconds / positions) * batches.tokens()[1]
