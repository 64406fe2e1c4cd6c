"""The attention explorer: one HTML file to look at attention maps with, in any browser.

It needs no network and no install: the page holds the maps, its colours and its script.

    page = explore(weights, ["le", "chat"], ["the", "cat"])        # weights (h, 2, 2)
    Path("explore.html").write_text(page, encoding="utf-8")

`aiayn-np explore RUN` makes the page of a trained model. In the page's address, as in
explore.html#sequence=1&kind=cross&layer=0&head=2&query=3, everything counts from 0.
"""

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..files import replacing

SCALE = 1000  # the page holds weights as whole thousandths: three digits
MASKED = -1  # stands in the page where a query may not look at a key
TOLERANCE = 1e-5  # of float32, where a weight must be 0 or at most 1


@dataclass
class Attention:
    """One kind of attention over one sequence, for every layer and head.

    Parameters
    ----------
    title : what it is called, such as "Encoder-decoder attention"
    query_tokens, key_tokens : T_q and T_k tokens, for the rows and the columns
    maps : for each layer the weights (h, T_q, T_k), from 0 to 1
    masks : for each layer a bool that broadcasts to the weights, True where a query may look at a
        key; None where nothing is masked
    kind : its short name in the page's address
    """

    title: str
    query_tokens: Any
    key_tokens: Any
    maps: Any
    masks: Any = None
    kind: str = "attention"


def explore(weights: ArrayLike, query_tokens: Sequence[str], key_tokens: Sequence[str], *,
            allowed: ArrayLike | None = None, title: str | None = None) -> str:
    """Return the page of a single attention.

    Parameters
    ----------
    weights : (h, T_q, T_k), or (T_q, T_k) for one head; from 0 to 1
    query_tokens, key_tokens : T_q and T_k tokens, for the rows and the columns
    allowed : bool, broadcast to the shape of weights; cells that are False are hatched
    title : of the page

    Returns the HTML text, to be written as UTF-8. Raises ValueError when tokens and weights differ
    in number, when a weight is not finite, not in [0, 1], or not 0 where it is masked.
    """
    weights = np.asarray(weights)
    weights = weights[None] if weights.ndim == 2 else weights
    masks = None if allowed is None else [allowed]
    attention = Attention("Attention", query_tokens, key_tokens, [weights], masks)
    return explorer([("", [attention])], title=title)


def explorer(examples: Iterable, *, title: str | None = None) -> str:
    """Return the page of several sequences, each with several kinds of attention.

    Parameters
    ----------
    examples : list of (name, list of Attention); the page lists the sequences by these names
    title : of the page

    Returns the HTML text. Raises ValueError as `explore` does, and where there is no map at all.
    """
    examples = [(str(name), list(attentions)) for name, attentions in examples]
    if not examples or not all(attentions for _, attentions in examples):
        raise ValueError(
            "examples must hold at least one attention map each, got"
            f" {[len(attentions) for _, attentions in examples] or 'none'}"
        )
    title = "Attention explorer" if title is None else str(title)
    data = dict(title=title, scale=SCALE, masked=MASKED, examples=[
        dict(name=name, attentions=[encoded(a) for a in attentions])
        for name, attentions in examples
    ])
    text = json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")
    parts = dict(title=escape(title), data=text, tables="\n".join(tables(data)))
    template = Path(__file__).with_name("explorer.html").read_text(encoding="utf-8")
    page = re.sub(r"\{\{(\w+)\}\}", lambda found: parts[found[1]], template)
    return page.encode("utf-8", "replace").decode()                    # half a surrogate pair: "?"


def write_explorer(path: str | Path, examples: Iterable, *, title: str | None = None) -> Path:
    """Write the page of `explorer` to a file, whole or not at all; return its path."""
    page, path = explorer(examples, title=title), Path(path)
    with replacing(path) as file:
        file.write(page.encode())
    return path


def encoded(attention):
    """An Attention as plain lists: layers x heads x queries x keys of whole numbers."""
    queries, keys = ([str(token) for token in tokens]
                     for tokens in (attention.query_tokens, attention.key_tokens))
    maps = list(attention.maps)
    masks = [None] * len(maps) if attention.masks is None else list(attention.masks)
    if not maps:
        raise ValueError("maps must hold at least one layer, got none")
    if len(masks) != len(maps):
        raise ValueError(f"masks must be one for each of {len(maps)} layers, got {len(masks)}")
    layers = [whole_numbers(weights, allowed, len(queries), len(keys)).tolist()
              for weights, allowed in zip(maps, masks)]
    return dict(kind=attention.kind, title=attention.title, queries=queries, keys=keys,
                layers=layers)


def whole_numbers(weights, allowed, T_q, T_k):
    """Weights (h, T_q, T_k) as integers 0 to SCALE, and MASKED where nothing is allowed."""
    weights = check_weights(weights, T_q, T_k)
    numbers = np.rint(weights.clip(0, 1) * SCALE).astype(int)
    if allowed is None:
        return numbers
    allowed = np.asarray(allowed)
    if allowed.dtype != bool:
        raise TypeError(f"allowed must be a boolean array, True = may attend, got {allowed.dtype}")
    try:
        allowed = np.broadcast_to(allowed, weights.shape)
    except ValueError:
        raise ValueError(
            f"allowed must broadcast to the weights' shape {weights.shape}, got {allowed.shape}"
        ) from None
    hidden = np.where(allowed, 0, weights)
    if (hidden > TOLERANCE).any():
        raise ValueError(f"weights must be 0 where allowed is False, got {hidden.max():.6g}")
    return np.where(allowed, numbers, MASKED)


def check_weights(weights, T_q, T_k):
    """Return attention weights as float64 (h, T_q, T_k), each finite and from 0 to 1."""
    weights = np.asarray(weights)
    if weights.dtype.kind not in "fiu":
        raise TypeError(f"weights must be real numbers, got {weights.dtype}")
    if weights.ndim != 3 or 0 in weights.shape:
        raise ValueError(
            f"weights must have shape (h, T_q, T_k), each at least 1, got {weights.shape}"
        )
    if weights.shape[1:] != (T_q, T_k):
        raise ValueError(
            f"weights must have shape (h, {T_q}, {T_k}) for {T_q} query tokens and {T_k} key"
            f" tokens, got {weights.shape}"
        )
    if not np.isfinite(weights).all():
        at = tuple(int(i) for i in np.argwhere(~np.isfinite(weights))[0])
        raise ValueError(f"weights must be finite, got {weights[at]} at {at}")
    weights = weights.astype(float)
    if weights.min() < -TOLERANCE or weights.max() > 1 + TOLERANCE:
        raise ValueError(
            f"weights must lie in [0, 1], got {weights.min():.6g} to {weights.max():.6g}"
        )
    return weights


def tables(data):
    """Yield lines of HTML: every map as a plain table in percent, for readers without JavaScript.

    HTML allows rows and cells without end tags.
    """
    for example in data["examples"]:
        yield f"<h2>{escape(example['name'])}</h2>" if example["name"] else ""
        for attention in example["attentions"]:
            yield f"<h3>{escape(attention['title'])}</h3>"
            keys = "".join(f"<th>{seen(key)}" for key in attention["keys"])
            for i, layer in enumerate(attention["layers"], 1):
                yield f"<table><caption>Layer {i}</caption>"
                for j, weights in enumerate(layer, 1):
                    yield f"<tbody><tr class=keys><th>head {j}{keys}"
                    yield from rows(weights, attention["queries"])
                yield "</table>"


def rows(weights, queries):
    """Yield the rows of one head: the query, a cell for each weight, one cell for masked keys."""
    for query, numbers in zip(queries, weights):
        cells = [f"<tr><th>{seen(query)}"]
        for masked, group in groupby(numbers, MASKED.__eq__):
            same = list(group)
            if masked:
                cells.append(f"<td colspan={len(same)}>×")
            else:
                cells += [f"<td>{round(100 * number / SCALE)}" for number in same]
        yield "".join(cells)


def seen(token):
    """A token as HTML; white space is shown as Python writes it."""
    return escape(token if token.strip() else repr(token))
