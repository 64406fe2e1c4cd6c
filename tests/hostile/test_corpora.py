"""Random corpora: whatever is in the lines, a training refuses them in one line or keeps every
character, and a translation has as many lines as its source."""

import gzip
import re

import numpy as np
import pytest
from hostile import Place, problem, until
from marks import LINUX
from scripts import SCRIPTS, pairs_of
from test_command_lines import TEXT

from aiayn_np.cli.options import FILES
from aiayn_np.text.bleu import chrf
from aiayn_np.text.corpus import Corpus
from aiayn_np.text.pairs import read_lines
from aiayn_np.text.vocabulary import Vocabulary

pytestmark = LINUX
COUNT = 60  # corpora, with -m hostile
ALPHABETS = [
    "ab", "é̀ñü", "漢字かなカナｱ", "אבג\u200f", "ابت\u200e\u061c", "कि्ष", "😀👍🏽🏴‍☠️\ufe0f", "𝔘𝕏𐍈",
    "。，？…½™ﬁ①", "\u00a0\u3000\u2009\u202f", "\u2028\u2029\x85\x0b\x0c",
    "\x00\x01\x1b\x7f", "\ufeff\ufffe\uffff", "\ue000\U0010ffff", "'\"\\<>&=+-@|;,\t",
    "0123456789", "\u0301\u0308"]


def line(rng):
    """A random line of a few words, each of the characters of one alphabet."""
    n = int(rng.choice([0, 1, 2, 5, 9, 400], p=[0.05, 0.3, 0.3, 0.2, 0.14, 0.01]))
    return " ".join("".join(rng.choice(list(one_of(rng, ALPHABETS)), size=rng.integers(1, 7)))
                    for _ in range(n))


def one_of(rng, choices):
    return choices[rng.integers(len(choices))]


def pairs(rng):
    """Pairs of lines: of two scripts, of anything, of one sentence only, or of both."""
    n = int(rng.choice([1, 2, 5, 20, 100], p=[0.05, 0.1, 0.2, 0.25, 0.4]))
    kind = int(rng.choice(4, p=[0.35, 0.3, 0.3, 0.05]))
    source, target = (one_of(rng, list(SCRIPTS)) for _ in range(2))
    orderly = pairs_of(source, target, n, seed=int(rng.integers(1000)))
    odd = [(line(rng), line(rng)) for _ in range(n)]
    return [orderly, odd, [*orderly, *odd], orderly[:1] * n][kind]


def as_bytes(lines, rng):
    """The lines of a file: with other line ends, a mark, no end, or bytes that are no text."""
    end = one_of(rng, ["\n", "\n", "\r\n"])
    data = end.join(lines).encode("utf-8", "surrogatepass")
    data += end.encode() if rng.random() < 0.8 else b""
    if rng.random() < 0.1:
        data = b"\xef\xbb\xbf" + data
    if rng.random() < 0.05:
        data = data[: len(data) // 2] + b"\xff\xfe" + data[len(data) // 2 :]
    return data


def write(place, rng):
    """Files of a corpus in the current folder of the commands; the options that name them."""
    corpus, ending = pairs(rng), one_of(rng, ["", "", ".gz"])
    lists = ([[f"{a}\t{b}" for a, b in corpus]] if rng.random() < 0.5
             else [list(side) for side in zip(*corpus)])
    flags = ["--pairs"] if len(lists) == 1 else ["--source", "--target"]
    argv = []
    for flag, lines in zip(flags, lists):
        data, name = as_bytes(lines, rng), flag[2:] + ending
        place.write(name, gzip.compress(data) if ending else data)
        argv += [flag, name]
    return argv


def options(rng):
    """Options of a small training."""
    sizes = TEXT | {"--vocabulary": one_of(rng, ["30", "300", "2000", "2000"]),
                    "--tokens": one_of(rng, ["60", "400"])}
    return [word for pair in sizes.items() for word in pair]


def of_vocabulary(text):
    """The line as a vocabulary has it: of several spaces one is kept, and its sign for a space is
    a space."""
    return re.sub(" +", " ", text.replace("▁", " ")).strip(" ")


def changed(place, argv):
    """What a trained run makes of its own corpus, if that is wrong; None if it is right."""
    vocabulary = Vocabulary.load(place.work / "run" / "vocabulary.model")
    files = {flag[2:]: place.work / name for flag, name in zip(argv[::2], argv[1::2])}
    training = Corpus.read(dict.fromkeys(FILES) | files, 0).training   # who is held out is unknown
    sides = [side for pair in training for side in pair]
    back = [vocabulary.decode(ids) for ids in vocabulary.encode(sides)]
    for a, b in zip(sides, back):
        if of_vocabulary(a) != of_vocabulary(b):
            return f"{a!r} comes back as {b!r}"
    if (score := chrf(sides, sides).score) < 99.9:
        return f"a right translation has chrF {score}"
    source = next(iter(files.values()))
    translated = place.run("translate", "run", source.name)
    if what := problem(["translate"], translated):
        return what
    count = translated["out"].count("\n")
    if translated["code"] == 0 and count != len(read_lines(source)):
        return f"{count} translations of {len(read_lines(source))} lines"
    return None


def hunt(place, rng, numbers):
    """(corpora, how many were refused, list of problems)"""
    problems, refused, n = [], 0, 0
    for n in numbers:
        out = ["--out", "run"]
        argv = write(place, rng)
        done = place.run("train", "text", *argv, *options(rng), *out, limit=60)
        what = problem(argv, done)
        refused += done["code"] == 2
        if done["code"] == 0:
            what = what or changed(place, argv)
        elif not what and done["code"] != 2:
            what = f"ends with {done['code']}: {done['err'][-500:]}"
        if what:
            problems.append(f"{n}: {argv}: {what}")
        for path in sorted(place.work.rglob("*"), reverse=True):
            path.rmdir() if path.is_dir() else path.unlink()
    return n + 1, refused, problems


@pytest.mark.parametrize("numbers", [
    pytest.param(lambda: until(30), marks=pytest.mark.slow, id="half a minute"),
    pytest.param(lambda: range(COUNT), marks=pytest.mark.hostile, id=str(COUNT))])
def test_a_corpus_is_refused_or_kept_to_the_character(seed, numbers):
    with Place() as place:
        n, refused, problems = hunt(place, np.random.default_rng(seed), numbers())
    print(f"\n{n} corpora: {refused} refused, {len(problems)} problems")
    assert not problems, "\n\n".join(problems[:20])
    assert refused < n * 0.8
