"""Folders with tokenizers as transformers writes them, and lines on which tokenizers differ.

`python tests/helpers/tokenizer_folders.py` freezes two of them, with the ids that transformers
gives, in tests/golden/tokenizers, so that the default suite compares without transformers.
"""

import json
import shutil
from pathlib import Path

import numpy as np
from real_models import WORDS

GOLDEN = Path(__file__).parents[1] / "golden" / "tokenizers"

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


LINES = odd_lines()
CHARACTERS = sorted({c for line in LINES for c in line if c.strip()})


def bert_folder(folder, words=(), **options):
    """A folder as BertTokenizer.save_pretrained writes it, and its vocabulary."""
    from transformers import BertTokenizer

    words = words or [
        "[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "cat", "##at", "The", "CAT", "naive",
        "cafe", "café", "日本", *CHARACTERS, *(f"##{c}" for c in CHARACTERS)]
    tokenizer = BertTokenizer(vocab={w: i for i, w in enumerate(dict.fromkeys(words))}, **options)
    return saved(tokenizer, folder, "bert")


def gpt2_folder(folder, **options):
    """A folder as GPT2Tokenizer.save_pretrained writes it."""
    from tokenizers import ByteLevelBPETokenizer
    from transformers import GPT2Tokenizer

    trained = ByteLevelBPETokenizer()
    trained.train_from_iterator(LINES, vocab_size=400, special_tokens=["<|endoftext|>"])
    trained.save_model(str(folder))
    tokenizer = GPT2Tokenizer.from_pretrained(folder, **options)
    return saved(tokenizer, folder, "gpt2")


def saved(tokenizer, folder, family):
    tokenizer.save_pretrained(folder)
    (folder / "config.json").write_text(json.dumps({"model_type": family}))
    return tokenizer


def freeze(family, make):
    """Write a folder after calls with truncation and padding, and the ids of 60 lines."""
    folder = GOLDEN / family
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    tokenizer = make(folder)
    lines = LINES[::5]
    ids = [tokenizer(line)["input_ids"] for line in lines]
    tokenizer(["a b", "c"], truncation=True, max_length=3)
    tokenizer(["a b", "c"], padding="max_length", truncation=True, max_length=3)
    saved(tokenizer, folder, family)
    for name in ("vocab.json", "merges.txt", "config.json"):
        (folder / name).unlink(missing_ok=True)
    (folder / "expected.json").write_text(json.dumps([lines, ids]))


if __name__ == "__main__":
    freeze("bert", lambda folder: bert_folder(folder, WORDS.split()))
    freeze("gpt2", lambda folder: gpt2_folder(folder, pad_token="<|endoftext|>"))
