"""Lines on which tokenizers differ: accents, scripts, spaces, control characters, tokens."""

import numpy as np

PARTS = [
    "the cat", "The CAT", "naïve café", "Ünïcödé", "İstanbul ßtraße", "cafe\u0301",
    "北京 weather", "日本語", "한국어", "абв Где", "مرحبا", "हिन्दी", "👩\u200d👩\u200d👧 ok",
    "🙂", "don't", "can't've", "3.14", "1,000", "x=y+z", "...", "—", "“quoted”", "a\u00a0b",
    "a\u200bb", "tab\there", "two  spaces", " leading", "trailing ", "line\nbreak", "\r",
    "\x07bell", "�", "\u2028", "ﬁne", "Ａｂｃ", "²³", "[MASK]", "[mask]", "[CLS] x", "[SEP]",
    "[PAD]", "[UNK]", "<|endoftext|>", "<|endoftext|> x", "x<|endoftext|>", "</s>", "<pad>",
    "<unk>", "<s>", ">>de<< x", "<extra>", "a" * 120, "",
]


def odd_lines(n=300, seed=0):
    """n lines, each of one to four parts."""
    rng = np.random.default_rng(seed)
    mixed = ["".join(rng.choice(PARTS, rng.integers(2, 5))) if i % 2 else
             " ".join(rng.choice(PARTS, rng.integers(2, 5))) for i in range(n - len(PARTS))]
    return PARTS + mixed
