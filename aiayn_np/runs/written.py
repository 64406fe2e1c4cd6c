"""A model's output, with the shares of all tokens in each word."""

from typing import Any

import numpy as np

from ..plotting.figures import plot_signed
from ..reading import replaced, shares

OTHERS = 8  # number of tokens that replace a token, one by one


class Written:
    """A source, and a translator's output for it, word by word explained.

    source, target, words : tokens of the source, tokens that the decoder reads, and writes
    """

    def __init__(self, loaded: Any, src: np.ndarray) -> None:
        self.model, self.task = loaded.model, loaded.task
        (self.src,), (self.tgt,), (self.out,) = loaded.answered(src)
        self.source = loaded.source_tokens(src)
        self.target, self.words = self.task.tokens(self.tgt), self.task.tokens(self.out)
        self.rng = np.random.default_rng(0)

    def made_of(self, n: int, against: int | None) -> tuple:
        """Return (the shares of all tokens in word n, the losses by replacing each token).

        against : id of a word that was not written; None for the mean over all words
        """
        tgt, task = self.tgt[: n + 1], self.task
        made_of = shares(self.model, self.src, tgt, token=int(self.out[n]), against=against)
        known = min(self.model.src_embedding.vocab_size, task.vocab_size)
        others = [i for i in range(known) if i not in (task.bos, task.eos, task.pad)]
        return made_of, replaced(self.model, self.src, tgt, token=made_of.token, k=OTHERS,
                                 others=others, rng=self.rng)

    def figure(self, found: dict) -> Any:
        """Return a Figure of the shares in some words; found : {n: the shares in word n}."""
        rows = [[*each.source, *each.target, *np.full(len(self.tgt) - n - 1, np.nan), each.biases]
                for n, each in found.items()]
        return plot_signed(rows, [self.words[n] for n in found],
                           [*self.source, *self.target, "biases"], value="share",
                           rows="word that is written",
                           columns="tokens of the source, then what was written before",
                           title=f"What each word was made of: {self.task.text(self.src)}")
