"""Greedy decoding: from a trained model to output sequences, one token at a time."""

from collections.abc import Sequence

import numpy as np

from ..checks import check_ids, check_sizes
from ..transformer import Transformer
from .kv_cache import start_decoding


def greedy_decode(model: Transformer, src: np.ndarray, *, bos: int, eos: int | Sequence[int],
                  max_len: int | None = None, keep: bool | None = None) -> np.ndarray:
    """Decode a batch of sources by taking the most probable token at every step.

    In training the model gets all true tokens at once; each position sees only earlier tokens.
    Here the model writes one token at a time and sees its own output. Keys and values of earlier
    tokens are kept (see kv_cache.py), and a sequence that has ended leaves the batch.

    Parameters
    ----------
    model : Transformer
    src : ids (B, T_src); short sources are filled up with ``model.pad``
    bos, eos : the ids that begin and end a sequence; `eos` may be several ids
    max_len : the most tokens to produce; by default T_src + 50 as in Sec. 6.1, but at most the
        number of the model's positions
    keep : True keeps keys and values, False computes the whole prefix for every token. None keeps
        them if the layers allow it. A `forward` that was assigned on a layer is respected. After
        replacing a method of a class, pass False

    Returns
    -------
    ids (B, L), L <= max_len, without bos; ``model.pad`` after each sequence's eos

    Raises ValueError for a length without positions in the model, and for keep=True if it would be
    wrong. Raises TypeError and IndexError for bad ids.
    """
    src, ends, max_len = check_decoding(model, src, bos, eos, max_len)
    decoding = start_decoding(model, src, keep)
    out = np.full((len(src), max_len), model.pad)
    going, token = np.arange(len(src)), np.full(len(src), bos)         # rows without eos so far
    for t in range(max_len):
        token = decoding.next_logits(token).argmax(axis=-1)
        out[going, t] = token
        goes_on = ~np.isin(token, ends)
        if not goes_on.any():
            break
        if not goes_on.all():                                          # drop the finished ones
            going, token = going[goes_on], token[goes_on]
            decoding.select(np.flatnonzero(goes_on))
    return out[:, : t + 1]


def check_decoding(model, src, bos, eos, max_len):
    """Return sources as an array of ids, the ids that end a sequence, and the most tokens."""
    src = check_ids("src", src, model.vocab_size, ndim=2)
    ends = check_ids("bos and eos", [bos, *np.atleast_1d(eos)], model.vocab_size)[1:]
    max_len = min(src.shape[1] + 50, model.max_len) if max_len is None else max_len
    check_sizes(max_len=max_len)
    if max_len > model.max_len:
        raise ValueError(f"max_len must be at most {model.max_len}, got max_len={max_len}")
    return src, ends, max_len


def exact_match(model: Transformer, batch: Sequence[np.ndarray], *, bos: int, eos: int,
                chunk: int = 250, keep: bool | None = None) -> float:
    """Return the share of a batch whose greedy output equals the target, eos included.

    batch : (src, tgt_in, tgt_out)
    chunk : the number of sequences that are decoded at once
    keep : as in greedy_decode
    """
    src, _, tgt_out = batch
    check_sizes(chunk=chunk)
    right = 0
    for i in range(0, len(src), chunk):
        want = tgt_out[i : i + chunk]
        options = dict(bos=bos, eos=eos, max_len=want.shape[1], keep=keep)
        got = greedy_decode(model, src[i : i + chunk], **options)
        right += int((filled(got, want.shape[1], model.pad) == want).all(axis=1).sum())
    return right / max(len(src), 1)


def filled(ids: np.ndarray, length: int, pad: int) -> np.ndarray:
    """Return rows of ids with padding at their ends, up to a length."""
    return np.pad(ids, ((0, 0), (0, length - ids.shape[1])), constant_values=pad)
