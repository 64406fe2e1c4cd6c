"""Translate lines in batches of similar length; the results have the order of the lines."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ..decoding.beam import beam_search
from ..decoding.greedy import greedy_decode
from ..training.ranks import ALONE, Alone
from ..training.tasks import padded
from ..transformer import Transformer

POSITIONS, ROWS = 4000, 100  # the most positions and rows of a batch
MORE = 50  # the most tokens of a translation beyond those of its source (Sec. 6.1)


def translate(model: Transformer, vocabulary: Any, lines: Sequence[str], *, beam: int = 1,
              alpha: float = 0.6, ranks: Alone = ALONE, watch: Callable = iter) -> list[str]:
    """Return the translations of lines, in the same order; an empty line stays empty.

    Parameters
    ----------
    model : Transformer whose ids are those of the vocabulary
    vocabulary : Vocabulary
    lines : list of text; lines longer than the model's positions must be cut before
    beam, alpha : a beam of 1 decodes greedily; a wider beam uses `beam_search` with this alpha
    ranks : each rank translates some of the lines, and every rank gets all translations
    watch : a function that takes the batches and yields them, such as tqdm

    Raises ValueError, TypeError and IndexError as `beam_search` does.
    """
    sources = vocabulary.encode(lines)
    out = [""] * len(lines)
    for group in watch(ranks.part(list(similar(sources, ROWS)))):
        some = padded([sources[i] for i in group], vocabulary.pad)
        for row, ids in zip(group, decode(model, some, vocabulary, beam, alpha)):
            out[row] = vocabulary.decode(ids[: len(sources[row]) + MORE])
    return ["".join(line) for line in zip(*ranks.all(out))]            # one rank has each line


def decode(model: Transformer, src: np.ndarray, marks: Any, beam: int = 1, alpha: float = 0.6,
           max_len: int | None = None) -> np.ndarray:
    """Return output ids (B, L) of sources (B, T): greedy for a beam of 1, else by beam search.

    marks : a vocabulary or a task, for its bos and eos, or for several `ends`
    """
    ends = dict(bos=marks.bos, eos=getattr(marks, "ends", marks.eos), max_len=max_len)
    if beam == 1:
        return greedy_decode(model, src, **ends)
    return beam_search(model, src, **ends, beam=beam, alpha=alpha)


def similar(sources: Sequence, most: int = ROWS) -> Iterator[list[int]]:
    """Yield lists of the indices of sources with similar lengths, without the empty sources.

    The longest sources come first, so that decoding fails at once if memory is too small.
    """
    lengths = np.array([len(source) for source in sources])
    order = np.argsort(-lengths, kind="stable")
    order = order[lengths[order] > 1].tolist()                         # 1: nothing but EOS
    while order:
        n = max(1, min(most, POSITIONS // lengths[order[0]]))
        yield order[:n]
        order = order[n:]


def cut(model: Transformer, vocabulary: Any, line: str) -> tuple[str, bool]:
    """Return (line, whether it was cut). A longer line is cut to the model's positions."""
    short = line
    while (length := len(vocabulary.encode([short])[0])) > model.max_len:
        short = short[: min(len(short) * model.max_len // length, len(short) - 1)]
    return short, short != line
