"""A stand-in for a trained Transformer whose answers are known, for the check of decoding."""

import contextlib
import functools

import numpy as np

from ..checking.stop import Stop
from ..language import say

VOCAB_SIZE, CALLS = 9, 1000


class ScriptedModel:
    """A stand-in with the parts of a Transformer that decoding uses.

    A source of n real tokens is answered by n tokens and eos. With `endless`, the longest source
    never gets eos. With `odd`, the second token is pad and the third bos, where it is not eos. With
    `ties`, several logits are the largest. Each token depends on all real source tokens and on the
    prefix.
    """

    def __init__(self, pad=0, bos=1, eos=2, endless=False, odd=False, ties=False,
                 max_len=64):
        self.pad, self.bos, self.eos = pad, bos, eos
        self.endless, self.odd, self.ties = endless, odd, ties
        self.max_len, self.vocab_size = max_len, VOCAB_SIZE
        self.encoded = self.decoded = 0                                # rows of all sources; calls

    def encode(self, src, *, rng=None):
        """Return the ids themselves as memory (B, T_src, 1), and None as the cache."""
        self.encoded += len(src)
        return src[..., None].astype(float), None

    def decode(self, tgt, memory, *, memory_allowed=None, rng=None):
        """Return (logits, None); the logits at position t depend on tgt[:, : t + 1] and memory."""
        self.decoded += 1
        if self.decoded > CALLS:
            raise Stop("endless", say("The model has been asked {count} times: the loop never ends."
                                      " Does the target grow, and does the loop end after max_len"
                                      " tokens?", count=CALLS))
        if tgt.shape[1] > self.max_len:
            where = say("The model has {count} positions, and is asked for {number}.",
                        count=self.max_len, number=tgt.shape[1])
            cause = say("max_len=None is T_src + 50, or model.max_len if that is less.")
            raise Stop("longer than the model", where, cause,
                       question=say("How many tokens may come at most?"))
        ids = memory[..., 0].astype(int)                               # (B, T_src)
        shape = len(ids), 1, 1, ids.shape[1]
        memory_allowed = self.fitting(memory_allowed, shape)
        allowed = np.asarray(memory_allowed)[:, 0, 0]
        given = (np.where(allowed, ids, 0).sum(axis=1), allowed.sum(axis=1), tgt)
        return logits(self.pad, self.bos, self.eos, self.endless, self.odd, self.ties, *((
            x.shape, x.astype(float).tobytes()) for x in given)).copy(), None

    def fitting(self, mask, shape):
        """Return a mask of a shape; raise a Stop for one that has not its axes."""
        with contextlib.suppress(ValueError):
            return np.broadcast_to(mask is None or mask, shape)
        where = say("model.decode is given a mask of shape {got}. It needs {shape}: the axes of the"
                    " heads and of the queries have length 1.", got=np.shape(mask), shape=shape)
        cause = say("not_padding(src, pad) has these axes, and so has mask[:, None, None, :].")
        raise Stop("mask without axes", where, cause, question=say(
            "Which axes must the mask have, beside those of the scores?"))

    def forward(self, src, tgt, *, rng=None):
        """Return (logits, None), with padding in the source masked as in a Transformer."""
        memory = src[..., None].astype(float)
        return self.decode(tgt, memory, memory_allowed=(src != self.pad)[:, None, None, :])

    def __call__(self, src, tgt, *, rng=None):
        return self.forward(src, tgt)[0]


@functools.lru_cache(4096)                                             # changes ask it all again
def logits(pad, bos, eos, endless, odd, ties, *given):
    """Compute logits from the prefixes, and from the sums and counts of real source tokens."""
    sums, sizes, tgt = (np.frombuffer(data).reshape(shape) for shape, data in given)
    length = np.arange(1, tgt.shape[1] + 1)
    prefixes = np.cumsum(tgt * length, axis=1)                         # (B, T_tgt)
    known = 0.37 * sums[:, None] + 1.71 * prefixes + 2.3 * length      # all that a token depends on
    scores = np.sin(1e3 * known[..., None] * np.arange(1, VOCAB_SIZE + 1) ** 0.5)
    if ties:
        scores = np.round(scores)
    scores[..., [pad, bos, eos, 3]] -= 3                               # not by chance
    if odd:
        scores[:, 1:2, pad] = scores[:, 2:3, bos] = 1.5
    ends = (length == sizes[:, None] + 1) & ~(endless & (sizes[:, None] == 5))
    scores[..., eos] = np.where(ends, 2, -2)
    return scores
