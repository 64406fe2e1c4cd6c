"""Numbers in words, a small language to translate.

    vier hundert sieben und zwanzig      four hundred and twenty-seven

German says the unit before the tens, English after them. So the word order differs, and the
attention of a model has to cross over. German writes such a number as one word. Here a space
stands between its parts. So each part is a token, and a map can be read. Joined without spaces,
the parts are the German spelling again.

    python -m aiayn_course.data.number_words FOLDER     writes the pairs as files to train on
"""

import hashlib
import sys
from pathlib import Path
from typing import NamedTuple

from aiayn_np.files import replacing
from aiayn_np.text.pairs import read_lines

DATA = Path(__file__).with_name("number_words.tsv.gz")
HELD_OUT = 500  # pairs for the test, and the same number for validation


class NumberWords(NamedTuple):
    """Pairs (source, target), in three lists that share no pair."""

    training: list
    validation: list
    test: list


def number_words() -> NumberWords:
    """Return numbers below a million in German and English words.

    They are all numbers below 1000, and numbers of 4, 5 and 6 digits. Each set of places with a
    zero has equally many numbers, so that round numbers are not rare. All numbers below 100 are in
    training, so that training has each word. The lists are always the same:
    `docs/make_number_words.py` drew them.

    >>> [len(pairs) for pairs in number_words()]
    [7149, 500, 500]
    >>> number_words().test[0]
    ('zwei hundert drei und fünfzig', 'two hundred and fifty-three')
    """
    pairs = [tuple(line.split("\t")[:2]) for line in read_lines(DATA)]
    test, validation = pairs[:HELD_OUT], pairs[HELD_OUT : 2 * HELD_OUT]
    return NumberWords(pairs[2 * HELD_OUT :], validation, test)


def small_number_words() -> dict[str, str]:
    """Return {German: English} for all numbers below 1000."""
    return {german: english for pairs in number_words() for german, english in pairs
            if "tausend" not in german}


def write_number_words(folder: str | Path) -> list[Path]:
    """Write the pairs as files of lines for `aiayn-np train text` and `translate`.

    folder : made if missing. It gets training.tsv and validation.tsv with German, tab, English on
        each line, and test.de and test.en with a number on each line.

    Returns the paths. Raises OSError.
    """
    return write_lists(number_words(), ("de", "en"), folder)


def digest(text: object) -> bytes:
    """Return bytes that look random but depend only on the text or the number."""
    return hashlib.sha256(str(text).encode()).digest()


def write_lists(words: NumberWords, languages: tuple[str, str], folder: str | Path) -> list[Path]:
    """Write the three lists as write_number_words does; `languages` name the test files."""
    folder = Path(folder)
    tables = {f"{name}.tsv": ["\t".join(pair) for pair in getattr(words, name)]
              for name in ("training", "validation")}
    sides = {f"test.{language}": side for language, side in zip(languages, zip(*words.test))}
    folder.mkdir(parents=True, exist_ok=True)
    for name, lines in (tables | sides).items():
        text = "".join(f"{line}\n" for line in lines)
        with replacing(folder / name) as file:
            file.write(text.encode())
    return [folder / name for name in tables | sides]


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python -m aiayn_course.data.number_words FOLDER")
    print(*write_number_words(sys.argv[1]), sep="\n")
