"""A model's output, with the shares of all tokens in each word."""

from typing import Any

import numpy as np

from ..plotting.figures import plot_signed
from ..reading import replaced, shares

OTHERS = 8  # number of tokens that replace a token, one by one


class Written:
    """What a model writes for one text (1, T), word by word explained.

    words : the tokens that it writes, at most `most` of a language model
    tokens, places : what it reads, such as "Hund" and "source 2", or "ein" and "written 1"
    """

    def __init__(self, loaded: Any, src: np.ndarray, most: int) -> None:
        self.model, self.task = loaded.model, loaded.task
        self.src, given, self.steps = loaded.explained(src, most)
        source = [] if self.src is None else loaded.source_tokens(src)
        read = self.task.tokens(self.steps[-1][0])
        self.words = self.task.tokens([token for _, _, token in self.steps])
        self.tokens = [*source, *read]
        self.places = [f"source {i}" for i, _ in enumerate(source, 1)]
        self.places += [f"written {i - given}" if i > given or source else f"text {i}"
                        for i, _ in enumerate(read, 1)]
        self.title = f"What each word was made of: {self.task.text(src[0])}"
        self.rng = np.random.default_rng(0)

    def made_of(self, n: int, against: int | None) -> tuple:
        """Return (the shares of all tokens in word n, the losses by replacing each token).

        against : id of a word that was not written; None for the mean over all words
        """
        read, position, token = self.steps[n]
        task, asked = self.task, dict(token=int(token), position=position)
        known = min(getattr(self.model, "src_embedding", task).vocab_size, task.vocab_size)
        special = {self.model.pad, task.pad, getattr(task, "bos", None), getattr(task, "eos", None)}
        others = [i for i in range(known) if i not in special]
        return (shares(self.model, self.src, read, against=against, **asked),
                replaced(self.model, self.src, read, k=OTHERS, others=others, rng=self.rng,
                         **asked))

    def rows(self, made_of: Any, lost: Any) -> list[tuple]:
        """Return (place, token, share, fall of log p without it, this fall with weights held)."""
        return [*zip(self.places, self.tokens, parts(made_of.source, made_of.target),
                     parts(lost.source, lost.target), parts(lost.source_held, lost.target_held))]

    def figure(self, found: dict) -> Any:
        """Return a Figure of the shares in some words; found : {n: the shares in word n}."""
        rows = [[*parts(each.source, each.target), each.biases] for each in found.values()]
        most = len(self.tokens) + 1
        rows = [[*row[:-1], *np.full(most - len(row), np.nan), row[-1]] for row in rows]
        return plot_signed(rows, [self.words[n] for n in found], [*self.tokens, "biases"],
                           value="share", rows="word that is written",
                           columns="tokens of the text, then what was written before",
                           title=self.title)


def parts(source: Any, target: np.ndarray) -> np.ndarray:
    """Return the numbers of the tokens of a source, or None, and of a target, one after another."""
    return target if source is None else np.concatenate([source, target])
