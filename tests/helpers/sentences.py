"""A language to translate in tests: numbers, word for word, and the files of a run on them."""

import numpy as np

GERMAN = ["null", "eins", "zwei", "drei", "vier", "fünf", "sechs", "sieben", "acht", "neun"]
ENGLISH = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
SMALL = ["--preset", "tiny", "--vocab-size", "60", "--d-model", "16", "--N", "2", "--d-ff", "16",
         "--h", "2", "--tokens", "150", "--warmup-steps", "20"]


def sentences(n, seed=0, longest=5):
    """n pairs (German, English)."""
    rng = np.random.default_rng(seed)
    rows = [rng.integers(10, size=rng.integers(1, longest + 1)) for _ in range(n)]
    return [tuple(" ".join(words[i] for i in row) for words in (GERMAN, ENGLISH)) for row in rows]


def write(folder, pairs, name="train"):
    """Two files of lines; their paths."""
    paths = [folder / f"{name}.{language}" for language in ("de", "en")]
    for path, lines in zip(paths, zip(*pairs)):
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return paths


def options(folder, n=150):
    """The options of `train text` for n pairs in new files."""
    source, target = write(folder, sentences(n))
    return ["train", "text", "--source", str(source), "--target", str(target), *SMALL]
