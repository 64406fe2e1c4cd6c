"""Random command lines: each ends with an exit code and a line, and changes nothing elsewhere."""

import numpy as np
import pytest
from hostile import Place, problem
from marks import LINUX
from real_models import make_bert, make_gpt2
from sentences import sentences

pytestmark = [LINUX, pytest.mark.slow]
COUNT = 200  # command lines
TINY = {"--N": "1", "--d-model": "8", "--d-ff": "8", "--h": "2", "--batch-size": "2",
        "--steps": "2", "--symbols": "4", "--max-length": "4"}
TEXT = {"--preset": "tiny", "--vocabulary": "60", "--d-model": "8", "--N": "1", "--d-ff": "8",
        "--h": "2", "--tokens": "60", "--epochs": "0.1", "--warmup-steps": "20"}
NUMBERS = ["0", "1", "-1", "2", "3", "7", "1e308", "-1e308", "nan", "inf", "-inf", "1e-308",
           "9" * 400,
           "9" * 5000, "0.5", "1.0", "1e3", "x", "", " ", "None", "0x10", "1_0", "１", "²", "2.5",
           "9223372036854775807", "18446744073709551616", "1000000000000", "100000", "-0.0", "0.98"]
TEXTS = ["", " ", "1 2", "1 2 3", "a", "\0", "é", "𝔘", "\ud800", "1 " * 500, "-1", "--", "🐱", "9",
         "\n", "\t", "1\t2", "0 0 0 0", "eins zwei", "漢字", "/.", "x" * 4000]
FLAGS = ["--seed", "--steps", "--symbols", "--max-length", "--batch-size", "--N", "--d-model",
         "--d-ff",
         "--h", "--P-drop", "--eps-ls", "--warmup-steps", "--rate-scale", "--accumulate",
         "--attention", "--positions", "--norm", "--preset", "--vocabulary", "--tokens", "--epochs",
         "--bleu-every", "--bleu-tokenize", "--normalization", "--character-coverage", "--pairs",
         "--source", "--target", "--validation-pairs", "--resume", "--float64",
         "--keep-states", "--accumulate"]
ALONE = ("--resume", "--float64", "--keep-states")  # flags without a value
CHOSEN = ["threads", "processes", "dot", "general", "concat", "additive", "relative", "learned",
          "pre",
          "tiny", "numbers", "base", "13a", "zh", "char", "ja-mecab", "nfkc", "identity"]


def prepare(place):
    """Runs, damaged runs, files, folders and odd things in the current folder."""
    tiny = [word for pair in TINY.items() for word in pair]
    assert place.run("train", "copy", *tiny, "--out", "good")["code"] == 0
    pairs = "".join(f"{a}\t{b}\n" for a, b in sentences(100))
    place.write("pairs.tsv", pairs)
    place.write("lines", "eins\nzwei drei\n\n")
    place.write("two", "one\ntwo\n")
    place.write("latin", b"f\xfcnf\n")
    place.write("zipped.gz", b"\x1f\x8bnonsense")
    place.write("empty", b"")
    place.write("broken/model.npz", b"PK\x03\x04nothing")
    place.write("students/anna/01_softmax.py", "x = 1\n")
    place.write("students/ben/.hidden.py", "x = 1\n")
    make_gpt2(place.work / "gpt2", np.random.default_rng(0))
    make_bert(place.work / "bert")
    (place.work / "link").symlink_to("link")
    place.own()
    text = [word for pair in TEXT.items() for word in pair]
    done = place.run("train", "text", "--pairs", "pairs.tsv", *text, "--out", "text")
    assert done["code"] == 0, done["err"]
    for argv in (["good", "torch", "--to", "torch"], ["text", "marian", "--to", "marian"]):
        assert place.run("export", *argv)["code"] == 0
    for run, argv in {"gpt2": ["generate", "gpt2", "the cat", "--steps", "3"],
                      "bert": ["fill", "bert", "paris is [MASK]"],
                      "marian": ["translate", "marian", "lines"]}.items():
        assert place.run(*argv)["code"] == 0, run


PATHS = ["good", "text", "gpt2", "bert", "marian", "torch", "broken", "nowhere", "", ".", "..", "/",
         "/dev/null", "/dev/full", "good/model.npz",
         "pairs.tsv", "lines", "two", "latin", "zipped.gz", "empty", "link", "x" * 300, "y/" * 2000,
         "new/deep/er", "é漢", "\0", "students", "-", "/proc/self/mem", "/nowhere/else", " ",
         "a\nb"]
OUTS = [*PATHS, "out.html", "out.gif", "out.pdf", "out.md", "out", "fresh"]


def command_line(rng):
    """One random command line."""
    def one(choices):
        return choices[rng.integers(len(choices))]

    def value():
        return one([*NUMBERS, *CHOSEN, *TEXTS]) if rng.random() < 0.5 else one(NUMBERS)

    def some(options):
        return [word for flag, choose in options for word in (flag, choose()) if rng.random() < 0.3]

    kind = one(["train", "train", "text", "decode", "attend", "trace", "explore", "translate",
                "animate", "check", "zoo", "figures", "grade", "export", "import", "generate",
                "perplexity", "fill", "odd"])
    path, out = (lambda: one(PATHS)), (lambda: one(OUTS))
    run = one(["good", "text", "marian", path()])
    words = [one(TEXTS) for _ in range(rng.integers(0, 4))]
    if kind in ("train", "text"):
        options = dict(TINY if kind == "train" else TEXT)
        if kind == "text":
            options["--pairs"] = one(["pairs.tsv", "pairs.tsv", path()])
        for _ in range(rng.integers(0, 4)):
            options[one(FLAGS)] = path() if rng.random() < 0.1 else value()
        flags = [word for flag, v in options.items()
                 for word in ([flag] if flag in ALONE else [flag, v])]
        task = "text" if kind == "text" else one(["copy", "reverse", "sort"])
        where = ["--out", out()] if rng.random() < 0.7 else []
        return ["train", task, *flags, *where]
    if kind == "decode":
        return ["decode", run, *words, *some([("--beam", value), ("--alpha", value)])]
    if kind in ("attend", "explore"):
        return [kind, run, *words, *some([("--out", out)])]
    if kind == "export":
        return [kind, run, out(), "--to", one(["torch", "marian", "gpt2", value()])]
    if kind == "import":
        return [kind, one(["torch", "marian", "gpt2", path()]), "--out", out(),
                *(["--convert"] if rng.random() < 0.2 else [])]
    if kind == "generate":
        return [kind, one(["gpt2", path()]), one(TEXTS), "--steps", one(["3", value()]),
                *some([("--temperature", value), ("--top-k", value), ("--seed", value)])]
    if kind == "perplexity":
        return [kind, one(["gpt2", path()]), path()]
    if kind == "fill":
        return [kind, one(["bert", path()]), one(["a [MASK] b", *TEXTS]), *some([("--top", value)])]
    if kind == "trace":
        return ["trace", run, *words, *some([("--of", lambda: one([*TEXTS, "decoder.layers.0"])),
                                             ("--depth", value)])]
    if kind == "translate":
        return ["translate", run, *([path()] if rng.random() < 0.8 else []),
                *some([("--beam", value), ("--alpha", value), ("--reference", path),
                       ("--bleu-tokenize", value)])]
    if kind == "animate":
        return ["animate", one(["copy", "sort"]), "--steps", one(["1", "2", value()]),
                *some([("--out", out), ("--seed", value), ("--max-length", value)])]
    if kind == "check":
        return ["check", "--seed", value()]
    if kind == "zoo":
        return ["zoo", one(["1", "2", "99", value()]), *some([("--out", out)]),
                *(["--train"] if rng.random() < 0.3 else [])]
    if kind == "figures":
        return ["figures", one(["variance", "no such", *words, "complexity"]), "--out", out()]
    if kind == "grade":
        return ["grade", one(["students", path()]), *some([("--csv", out), ("--timeout", value),
                                                           ("--memory", value), ("--exercise",
                                                           value)])]
    return [one([*TEXTS, "--version", "--help", "train", "export", "import"]), *words]


def hunt(place, rng):
    """Run random command lines; return a list of problems."""
    problems = []
    for _ in range(COUNT):
        argv = [word.replace("\0", "") for word in command_line(rng)]
        done = place.run(*argv, stdin=str(rng.choice(["", "1 2\n", "\n", "x\n"])))
        if what := problem(argv, done):
            problems.append(what)
    return problems


def test_every_command_line_ends_well(seed):
    with Place() as place:
        prepare(place)
        problems = hunt(place, np.random.default_rng(seed))
    assert not problems, "\n\n".join(problems[:20])
