"""Attention maps as plain tables of HTML, for readers of the live page without JavaScript."""

from collections.abc import Iterable, Iterator
from html import escape

import numpy as np


def tables(name: str, kinds: Iterable) -> Iterator[str]:
    """Yield lines of HTML: every map of one sequence in percent, with × where a key is masked.

    kinds : (kind, title, queries, keys, maps, masks) of each attention, as a run's
        `attention_by_kind` gives them; maps and masks are {dotted name: (h, T_q, T_k)}

    HTML allows rows and cells without end tags.
    """
    yield f"<h2>{escape(name)}</h2>"
    for _, title, queries, keys, maps, masks in kinds:
        yield f"<h3>{escape(title)}</h3>"
        top = "".join(f"<th>{seen(key)}" for key in keys)
        for i, (path, heads) in enumerate(maps.items(), 1):
            yield f"<table><caption>Layer {i}</caption>"
            for j, (weights, allowed) in enumerate(zip(heads, masks[path]), 1):
                yield f"<tbody><tr class=keys><th>head {j}{top}"
                cells = np.where(allowed, np.rint(100 * weights).astype(int).astype(str), "×")
                for query, row in zip(queries, cells):
                    yield f"<tr><th>{seen(query)}" + "".join(f"<td>{cell}" for cell in row)
            yield "</table>"


def seen(token):
    """A token as HTML; white space is shown as Python writes it."""
    return escape(token if token.strip() else repr(token))
