"""A text for language models in tests: sentences of a small grammar, every one of them once."""

import itertools

import numpy as np

PARTS = (
    ("the", "a", "every", "no", "this"),
    ("small", "old", "green", "quiet", "tall", "clever"),
    ("fox", "child", "robot", "teacher", "bird", "whale"),
    ("sees", "likes", "follows", "paints", "misses"),
    ("the river", "a song", "some bread", "my friend", "the moon", "two stones", "its shadow"),
)


def grammar(seed=0):
    """All 6 300 sentences of the grammar in random order."""
    sentences = [" ".join(words) + "." for words in itertools.product(*PARTS)]
    return [sentences[i] for i in np.random.default_rng(seed).permutation(len(sentences))]


def write_grammar(path, n=None):
    """Write the first n sentences as lines of a file; return its path."""
    path.write_text("".join(f"{sentence}\n" for sentence in grammar()[:n]), encoding="utf-8")
    return path
