"""Beam search: every step keeps the `beam` most probable prefixes instead of one (Sec. 6.1)."""

from collections.abc import Sequence

import numpy as np

from ..checks import check_number, check_sizes
from ..reductions import log_softmax
from ..transformer import Transformer
from .greedy import check_decoding
from .kv_cache import start_decoding

MOST_ALPHA = 100  # a larger exponent would overflow for a long sequence


def length_penalty(length, alpha):
    """Return ((5 + length) / 6)^alpha, the divisor of a log-probability; Wu et al. (2016), Eq. 14.

    Every token makes a sequence less probable. Without the divisor (alpha = 0) short ones win.
    """
    return ((5 + length) / 6) ** alpha


def beam_search(model: Transformer, src: np.ndarray, *, bos: int, eos: int | Sequence[int],
                beam: int = 4, alpha: float = 0.6, max_len: int | None = None,
                keep: bool | None = None) -> np.ndarray:
    """Decode a batch of sources by beam search: return the best finished sequence of each source.

    The score of a sequence Y is ``log P(Y | source) / ((5 + |Y|) / 6)^alpha``; ``|Y|`` counts eos.
    At every step the search extends each of the `beam` live prefixes of a source by every token.
    Among the best `beam` continuations, those with eos are finished sequences. The best `beam`
    continuations without eos are the live prefixes of the next step.

    A source is done when no prefix can overtake its best finished sequence. A prefix does not
    become more probable when it grows, and the penalty is largest at max_len. So its score is at
    most log P / penalty(max_len), and the search stops when this bound is no better. At `max_len`
    the best `beam` continuations count as finished.

    Parameters
    ----------
    model, src, bos, eos, max_len, keep : as in greedy_decode
    beam : number of live prefixes of each source; 1 with alpha = 0 is greedy decoding
    alpha : exponent of the length penalty, in [0, 100); the paper has beam 4 and alpha 0.6

    Returns ids as greedy_decode does. Raises its errors, and ValueError for `beam` and `alpha`.
    """
    src, ends, max_len = check_decoding(model, src, bos, eos, max_len)
    check_sizes(beam=beam)
    check_number("alpha", alpha, 0, MOST_ALPHA)
    decoding = start_decoding(model, src, keep)
    search = Search(decoding, bos, ends, beam, alpha, max_len)
    while len(search.going) and search.length < max_len:
        search.step()
    return search.best[:, : search.best_length.max(initial=1)]


class Search:
    """The state of a search: n sources that are not done, each with `width` <= beam prefixes."""

    def __init__(self, decoding, bos, ends, beam, alpha, max_len):
        src, pad = decoding.src, decoding.model.pad
        self.ends, self.max_len, self.beam, self.alpha = ends, max_len, beam, alpha
        self.decoding, self.length = decoding, 0
        self.going = np.arange(len(src))                       # (n,)
        self.tokens = np.full((len(src), 1, 1), bos)           # (n, width, 1 + length)
        self.log_P = np.zeros((len(src), 1))                   # (n, width)
        self.best = np.full((len(src), max_len), pad)          # (B, max_len), the best finished
        self.best_score = np.full(len(src), -np.inf)           # (B,)
        self.best_length = np.zeros(len(src), dtype=int)       # (B,)

    def step(self):
        """Add one more token to every prefix."""
        n, width = self.log_P.shape
        log_p = log_softmax(self.decoding.next_logits(self.tokens[:, :, -1].ravel()))
        V = log_p.shape[-1]
        log_P = (self.log_P[..., None] + log_p.reshape(n, width, V)).reshape(n, width * V)
        # with one eos, at least beam of the best 2 beam continuations have none; so with several
        first = highest(log_P, (1 + len(self.ends)) * self.beam)       # (n, m), the best first
        log_P, parent, token = np.take_along_axis(log_P, first, axis=1), first // V, first % V
        self.length += 1
        ends = np.isin(token, self.ends) | (self.length == self.max_len)
        self.finish(np.where(ends, log_P, -np.inf)[:, : self.beam], parent, token)
        live = ends.argsort(axis=1, kind="stable")[:, : self.beam]
        log_P = np.where(ends, -np.inf, log_P)
        self.go_on(*(np.take_along_axis(x, live, axis=1) for x in (log_P, parent, token)))

    def finish(self, log_P, parent, token):
        """Store the best of these continuations (n, m) if it beats the best finished one so far."""
        best = log_P.argmax(axis=1)                                            # (n,)
        score = log_P.max(axis=1) / length_penalty(self.length, self.alpha)
        i = np.flatnonzero(score > self.best_score[self.going])
        at, best = self.going[i], best[i]
        self.best_score[at], self.best_length[at] = score[i], self.length
        self.best[at, : self.length - 1] = self.tokens[i, parent[i, best], 1:]
        self.best[at, self.length - 1] = token[i, best]

    def go_on(self, log_P, parent, token):
        """Make these continuations (n, width) the prefixes; drop the sources that are done."""
        at_most = log_P.max(axis=1) / length_penalty(self.max_len, self.alpha)
        done = self.best_score[self.going] >= at_most          # False for nan: the search goes on
        i = np.flatnonzero(~done)
        rows = (i[:, None] * self.log_P.shape[1] + parent[i]).ravel()
        self.decoding.select(rows)
        before = self.tokens[i[:, None], parent[i]]                            # (n, width, length)
        self.tokens = np.concatenate([before, token[i][..., None]], axis=2)
        self.going, self.log_P = self.going[i], log_P[i]


def highest(x, k):
    """Return the columns of the k highest numbers of each row, (n, m) -> (n, min(k, m)).

    The highest number comes first; of equal numbers, the one in the first column comes first.
    """
    x, rows, columns = np.maximum(x, np.finfo(x.dtype).min), np.arange(len(x)), []
    for _ in range(min(k, x.shape[1])):
        columns.append(x.argmax(axis=1))
        x[rows, columns[-1]] = -np.inf                         # lower than all others
    return np.stack(columns, axis=1)
