"""A stand-in for a trained Transformer, whose answers are known: for the check of decoding."""

import functools

import numpy as np

from .calling import Stop

BOS, EOS, VOCAB_SIZE = 1, 2, 9


class ScriptedModel:
    """It has the parts of a Transformer that decoding uses, and does no arithmetic.

    A source of n real tokens is answered by n + 1 tokens, the last one eos, unless it is `endless`
    and the longest; each token depends on all real source tokens and on the prefix.
    """

    def __init__(self, pad=0, endless=False, max_len=64):
        self.pad, self.endless, self.max_len, self.vocab_size = pad, endless, max_len, VOCAB_SIZE

    def encode(self, src, *, rng=None):
        """The ids themselves as memory (B, T_src, 1)."""
        return src[..., None].astype(float), None

    def decode(self, tgt, memory, *, memory_allowed=None, rng=None):
        """Logits (B, T_tgt, V); position t depends on tgt[:, : t + 1] and the memory."""
        if tgt.shape[1] > self.max_len:
            raise Stop("longer than the model", f"The model has {self.max_len} positions, and is"
                       f" asked for {tgt.shape[1]}: max_len=None is min(T_src + 50,"
                       " model.max_len).")
        ids = memory[..., 0].astype(int)                               # (B, T_src)
        allowed = np.ones(ids.shape, dtype=bool)
        if memory_allowed is not None:
            allowed = np.broadcast_to(memory_allowed, (len(ids), 1, 1, ids.shape[1]))[:, 0, 0]
        sums = np.where(allowed, ids, 0).sum(axis=1).tolist()
        sizes = allowed.sum(axis=1).tolist()
        prefixes = np.cumsum(tgt * np.arange(1, tgt.shape[1] + 1), axis=1).tolist()
        rows = [[self.scores(total, size, prefix, t + 1) for t, prefix in enumerate(row)]
                for total, size, row in zip(sums, sizes, prefixes)]
        return np.array(rows), None

    def forward(self, src, tgt, *, rng=None):
        """Logits for both at once, with the mask of a Transformer."""
        memory, _ = self.encode(src)
        return self.decode(tgt, memory, memory_allowed=(src != self.pad)[:, None, None, :])

    def __call__(self, src, tgt, *, rng=None):
        return self.forward(src, tgt)[0]

    def scores(self, total, size, prefix, length):
        """Logits of the next token, from sum and number of the real source tokens and a prefix."""
        ends = length == size + 1 and not (self.endless and size == 5)
        return scores_of(total, prefix, length, ends)


@functools.cache
def scores_of(total, prefix, length, ends):
    """Logits that depend on the arguments only, and never speak for pad or bos by chance."""
    scores = np.random.default_rng([total, prefix, length]).uniform(-1, 1, VOCAB_SIZE)
    scores[[0, BOS, EOS, 3]] = -2
    if ends:
        scores[EOS] = 2
    return scores
