"""Make aiayn_np/text/number_words.tsv.gz: numbers in words, spelled by num2words.

    pip install num2words                           needed only to make the file again
    python docs/make_number_words.py FILE

num2words (LGPL) is not part of this project. The words that it spells are nobody's property.
"""

import argparse
import gzip
import importlib
import re
from collections import Counter

from aiayn_course.data.number_words import DATA, digest
from aiayn_np.files import replacing

PER_SHAPE = 150  # numbers of 4 to 6 digits that have their zeros in the same places
PARTS = [
    "null", "eins", "ein", "zwei", "drei", "vier", "fünf", "sechs", "sieben", "acht", "neun",
    "zehn", "elf", "zwölf", "dreizehn", "vierzehn", "fünfzehn", "sechzehn", "siebzehn", "achtzehn",
    "neunzehn", "zwanzig", "dreißig", "vierzig", "fünfzig", "sechzig", "siebzig", "achtzig",
    "neunzig", "und", "hundert", "tausend",
]
PART = re.compile("|".join(sorted(PARTS, key=len, reverse=True)))


def spelled(number):
    """Return a number as (German with its parts written apart, English).

    num2words 0.5 spells 101 000 with "einstausend". Right German is "eintausend".
    """
    try:
        spell = importlib.import_module("num2words").num2words
    except ModuleNotFoundError:
        raise ImportError("num2words is not installed; spelling numbers anew needs it:"
                          " pip install num2words") from None
    german = spell(number, lang="de").replace("einstausend", "eintausend")
    return apart(german), spell(number, lang="en")


def apart(word):
    """Put spaces between the parts of a German number: siebenundzwanzig, sieben und zwanzig.

    >>> apart("einhundertsiebenundzwanzig")
    'ein hundert sieben und zwanzig'
    """
    parts = PART.findall(word)
    if "".join(parts) != word:
        raise ValueError(f"word must be made of parts of German numbers, got {word!r}")
    return " ".join(parts)


def chosen():
    """Return the numbers of the file, which a digest draws, the same on every machine.

    All numbers below 1000 are there. Of the others there are, for each set of places with a zero,
    PER_SHAPE numbers, or all if there are fewer. If they were drawn evenly, only one in a hundred
    numbers of six digits would be like 200 428, too few to learn from. Numbers below 100 come last,
    among the training pairs, because training must see each word.
    """
    taken, numbers = Counter[str](), list(range(1000))
    for number in sorted(range(1000, 10**6), key=digest):
        shape = re.sub("[1-9]", "1", str(number))
        taken[shape] += 1
        if taken[shape] <= PER_SHAPE:
            numbers.append(number)
    return sorted(numbers, key=lambda n: (n < 100, digest(f"place of {n}")))


def content():
    """Return the text of the file: German, tab, English, tab, digits."""
    return "".join("\t".join((*spelled(n), str(n))) + "\n" for n in chosen())


def main(argv=None):
    """Write the file, once all is spelled."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", nargs="?", default=DATA, metavar="FILE",
                        help="default: the one of the package")
    args = parser.parse_args(argv)
    try:
        text = content()
    except ImportError as error:
        parser.error(str(error))
    with replacing(args.file) as file:
        file.write(gzip.compress(text.encode(), mtime=0))


if __name__ == "__main__":
    main()
