"""Start a run: read the data, make the vocabulary, the config and the training.

Options replace those in text/presets.py; `config_of` takes the options that all runs share. Wrong
files raise OSError or ValueError, and bad options TypeError or ValueError. A model whose parameters
need more memory than the machine has raises MemoryError. Nothing is written into the folder of a
run before the run is saved.
"""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ..text.bleu import check_tokenizer
from ..text.corpus import Corpus
from ..text.language import Characters, Pieces, read_text
from ..text.pairs import digest_of
from ..text.presets import LANGUAGE, PAIRS, PRESETS, SYMBOLS
from ..text.vocabulary import Vocabulary
from ..training.loop import AVERAGED
from ..variants.choices import CHOICES
from .estimates import check_fits
from .language import LanguageTraining
from .pairs import PairTraining, data_of, steps_of
from .run import Run
from .training import SIZES, check_options

LAST_PART = 14  # states for the average lie in the last 1/14 of the training, as in Sec. 6.1
POSITIONS = 256  # of a translator, at least; a text may be longer than the lines of the training
MORE = 52  # positions beyond the symbols of the longest sequence, for a longer output
CHARACTERS = ("normalization", "character_coverage")  # options of a vocabulary for pairs
VALIDATIONS = 10  # in a training on a text, at least


def start_symbols(folder: str | Path, task: str, **options: Any) -> tuple[Run, list[str]]:
    """Make a run on a toy task that is ready to train; return (run, [])."""
    config = config_of(task, SYMBOLS, **options)
    o = config["train"]
    check_fits(config, o["symbols"], o["max_length"])
    config["task_options"] = dict(symbols=o.pop("symbols"), max_length=o.pop("max_length"))
    config["model"]["max_len"] = config["task_options"]["max_length"] + MORE
    run = Run(folder, config)
    return run, run.training.prepare()


def start_language(folder: str | Path, files: list | None = None, *, vocab_size: int | None = None,
                   like: str | None = None, h_kv: int | None = None,
                   **options: Any) -> tuple[Run, list[str]]:
    """Make the run of a language model that is ready to train; return (run, notes on its text).

    files : paths of the text; None takes Python's help
    vocab_size : learn so many pieces at most; None takes the characters
    like : "llama" for a model like Llama and its training, with `h_kv` heads of keys and values
    """
    if like is None and h_kv is not None:
        raise ValueError(f"h_kv must not be given without like=llama, got h_kv={h_kv}")
    if like and (wrong := {"norm", "positions"} & {*options}):
        raise ValueError(f"{min(wrong)} must not be given with like={like}")
    config = config_of(LanguageTraining.name, LANGUAGE, **options)
    o, model = config["train"], config["model"]
    check_options(dict(vocab_size=1 if vocab_size is None else vocab_size))
    check_fits(config, vocab_size or 1, o["max_length"])
    model["max_len"] = o.pop("max_length")
    if like is not None:
        config["like"], model["h_kv"] = like, model["h"] if h_kv is None else h_kv
    text = read_text(files)
    if (different := len({*text} - {*" \t\n"})) < 2:
        raise ValueError("a text must hold at least two different characters besides blanks, got"
                         f" {different} in {' and '.join(map(str, files or ['the help']))}")
    o |= dict(average_every=average_every(o["steps"]),
              validate_every=max(1, o["steps"] // VALIDATIONS))
    paths = files and [absolute(path) for path in files]
    config |= dict(files=paths, digest=digest_of(text.encode()))
    vocabulary = None
    if vocab_size is None:
        config["characters"] = Characters(text).characters
    else:
        vocabulary = Pieces.train(text, vocab_size).vocabulary
        config["vocabulary"] = digest_of(vocabulary.model)
    run = Run(folder, config, vocabulary)
    return run, run.training.prepare(text) + pipes(paths or [])


def start_pairs(folder: str | Path, files: dict, *, preset: str = "small",
                **options: Any) -> tuple[Run, list[str]]:
    """Make the run of a translator that is ready to train; return (run, notes on its pairs).

    files : {name: path} of the pairs, as in Corpus.read     preset : a name in PRESETS
    """
    config = config_of(PairTraining.name, PAIRS | PRESETS[preset], **options)
    o = config["train"]
    check_tokenizer(o["tokenize"])
    size = o.pop("vocab_size")
    check_fits(config, size, 0)
    config["model"]["max_len"] = max(POSITIONS, o["max_length"])
    corpus = Corpus.read(files, config["seed"])
    lines = [line for pair in corpus.training for line in pair]
    vocabulary = Vocabulary.train(lines, size, **{name: o[name] for name in CHARACTERS})
    paths = {name: path and absolute(path) for name, path in files.items()}
    config |= dict(files=paths, digest=corpus.digest, vocabulary=digest_of(vocabulary.model))
    data = batches, _, held_out, _ = data_of(config, vocabulary, corpus)
    config["examples"] = [source for source, _ in held_out[:5]]
    o["average_every"] = average_every(steps_of(o, batches))
    run = Run(folder, config, vocabulary)
    return run, run.training.prepare(data) + pipes(filter(None, paths.values()))


def average_every(steps: int) -> int:
    """Return the steps between two states for the average, for the number of all steps."""
    return max(1, steps // (LAST_PART * AVERAGED))


def absolute(path: str | Path) -> str:
    """Return the path by which a run finds its data again; "-" is standard input."""
    return os.path.realpath("/dev/stdin" if str(path) == "-" else path)


def pipes(paths: Iterable[str]) -> list[str]:
    """Return a note if some of the paths are pipes."""
    if all(map(os.path.isfile, paths)):
        return []
    return ["note: the data come from a pipe, which ends: the training cannot be resumed, as one"
            " from a file can"]


def config_of(task: str, known: dict, *, seed: int = 0, dtype: str = "float32",
              **options: Any) -> dict[str, Any]:
    """Return the part of a config that all runs share.

    "model" holds the sizes, "variants" the names chosen from `variants.choices`, and "train" all
    other options.

    task : name of the task     known : {name: default} of the options
    seed : seed of held-out pairs, weights, batches and dropout
    """
    chosen = {option: options.pop(option, next(iter(names))) for option, names in CHOICES.items()}
    if unknown := set(options) - set(known):
        raise ValueError(f"options must be some of {', '.join([*known, *CHOICES])}, got"
                         f" {', '.join(unknown)}")
    o = known | options
    check_options(o)
    model = {name: o.pop(name) for name in SIZES}
    return dict(task=task, seed=seed, dtype=dtype, model=model, variants=chosen, train=o)
