"""Translating lines: in batches of similar length, back in the order in which they came."""

import numpy as np

from ..beam import beam_search
from ..decoding import greedy_decode
from .batches import padded
from .vocabulary import BOS, EOS

POSITIONS, ROWS = 4000, 100  # of a batch, at most
MORE = 50  # tokens that a translation may have more than its source (Sec. 6.1)


def translate(model, vocabulary, lines, *, beam=1, alpha=0.6):
    """The translations of lines, in their order; an empty line gives an empty one.

    Parameters
    ----------
    model : Transformer whose ids are those of the vocabulary
    vocabulary : Vocabulary
    lines : list of text; one that the model has not enough positions for must be cut before
    beam, alpha : greedy decoding for a beam of 1, else `beam_search` with both

    Raises ValueError, TypeError and IndexError as `beam_search`.
    """
    sources = vocabulary.encode(lines)
    out = [""] * len(lines)
    for rows in similar(sources):
        for row, ids in zip(rows, decode(model, [sources[i] for i in rows], beam, alpha)):
            out[row] = vocabulary.decode(ids[: len(sources[row]) + MORE])
    return out


def decode(model, sources, beam, alpha):
    """Output ids (B, L) of sources, arrays of ids."""
    ends = dict(bos=BOS, eos=EOS)
    if beam == 1:
        return greedy_decode(model, padded(sources), **ends)
    return beam_search(model, padded(sources), **ends, beam=beam, alpha=alpha)


def similar(sources):
    """Yield lists of the numbers of sources of similar length; an empty one is in none.

    The longest come first: should memory not do, it is known at once.
    """
    lengths = np.array([len(source) for source in sources])
    order = np.argsort(-lengths, kind="stable")
    order = order[lengths[order] > 1].tolist()                         # 1: nothing but EOS
    while order:
        n = max(1, min(ROWS, POSITIONS // lengths[order[0]]))
        yield order[:n]
        order = order[n:]


def cut(model, vocabulary, line):
    """(line, whether it was cut): of a line that is too long, what the model has positions for."""
    short = line
    while (length := len(vocabulary.encode([short])[0])) > model.max_len:
        short = short[: min(len(short) * model.max_len // length, len(short) - 1)]
    return short, short != line
