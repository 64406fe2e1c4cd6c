"""A model's output, with the shares of all tokens in each word."""

from typing import Any

import numpy as np

from ..plotting.figures import plot_signed
from ..reading import replaced, shares

OTHERS = 8  # number of tokens that replace a token, one by one


class Written:
    """A source, and a model's output for it, word by word explained.

    src, tgt, out : ids of the source, ids that the decoder reads, ids that it writes
    source, target, words : the tokens of src, tgt and out
    """

    def __init__(self, pipeline: Any, src: np.ndarray) -> None:
        self.model, self.task = pipeline.model, pipeline.task
        (self.src,), (self.tgt,), (self.out,) = pipeline.answered(src)
        self.source = pipeline.source_tokens(src)
        self.target, self.words = self.task.tokens(self.tgt), self.task.tokens(self.out)
        known = min(self.model.src_embedding.vocab_size, self.task.vocab_size)
        special = {self.task.bos, self.task.eos, self.task.pad}
        self.others = [i for i in range(known) if i not in special]
        self.rng = np.random.default_rng(0)

    def made_of(self, n: int, against: int | None) -> tuple:
        """Return (the shares of all tokens in word n, the losses by replacing each token).

        against : id of a word that was not written; None for the mean over all words
        """
        tgt = self.tgt[: n + 1]
        made_of = shares(self.model, self.src, tgt, token=int(self.out[n]), against=against)
        return made_of, replaced(self.model, self.src, tgt, token=made_of.token, k=OTHERS,
                                 others=self.others, rng=self.rng)

    def figure(self, found: dict) -> Any:
        """Return a Figure of the shares in some words; found : {n: the shares in word n}."""
        rows = [[*each.source, *each.target, *np.full(len(self.tgt) - n - 1, np.nan), each.biases]
                for n, each in found.items()]
        return plot_signed(rows, [self.words[n] for n in found],
                           [*self.source, *self.target, "biases"], value="share",
                           rows="word that is written",
                           columns="tokens of the source, then what was written before",
                           title=f"What each word was made of: {self.task.text(self.src)}")
