"""Fill masked tokens with BERT."""

from typing import Any

import numpy as np

MASK = "[MASK]"


def fill(loaded: Any, text: str, top: int = 5) -> list[list[tuple[float, str, str]]]:
    """Return the `top` likeliest tokens for each [MASK] of a text: lists of (share, piece, text).

    loaded : a Bert with a vocabulary. Each returned text has one mask filled, and keeps the others.

    Raises ValueError for a text without a mask, or with more tokens than the model has positions.
    """
    vocabulary = loaded.vocabulary
    if vocabulary is None or vocabulary.id(MASK) is None:
        raise ValueError(f"this folder must have a tokenizer with {MASK} to fill masks")
    ids = vocabulary.encode(text)
    places = np.flatnonzero(ids == vocabulary.id(MASK))
    if not len(places):
        raise ValueError(f"a text must hold at least one {MASK}, got {text!r}")
    logits = loaded.logits(ids[None])[0].astype(float)
    found = []
    for place in places:
        share = np.exp(logits[place] - logits[place].max())
        share /= share.sum()
        best = np.argsort(-share, kind="stable")[:top]
        found.append([(float(share[i]), vocabulary.pieces([i])[0],
                       vocabulary.decode(np.where(np.arange(len(ids)) == place, i, ids)))
                      for i in best])
    return found
