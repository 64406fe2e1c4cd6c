"""Start a run: read the data, make the vocabulary, the config and the training."""

import os
from pathlib import Path
from typing import Any

import numpy as np

from ..checks import check_number, check_sizes
from ..text.bleu import check_tokenizer
from ..text.corpus import Corpus
from ..text.pairs import digest_of
from ..text.presets import PAIRS, PRESETS, SYMBOLS, WORDS
from ..text.vocabulary import Vocabulary
from ..text.words import Characters, Pieces, read_words
from ..training.loop import AVERAGED
from ..variants.choices import CHOICES
from .estimates import check_fits, training_bytes
from .pairs import PairTraining, check_options
from .run import Run
from .words import WordTraining

SIZES = ("N", "d_model", "d_ff", "h", "P_drop")  # of the model; other options are for training
LAST_PART = 14  # the states that are averaged lie in the last 1/14 of the training, as in Sec. 6.1
POSITIONS = 256  # at least; a text to translate may be longer than those in training
MORE = 52  # positions more than symbols of the longest sequence: an output may be longer
VALIDATIONS = 10  # in a training on a text, at least


def start_symbols(folder: str | Path, task: str, *, seed: int = 0, dtype: str = "float32",
                  variants: dict[str, str] | None = None, **options: Any) -> tuple[Run, list[str]]:
    """Make a run on a toy task; return (run, []).

    options : replace those of SYMBOLS     variants : {option: name} as in `variants.choices`

    Raises TypeError and ValueError for bad options, and MemoryError as `start_pairs`.
    """
    o = SYMBOLS | options
    check_sizes(symbols=o["symbols"])
    config = config_of(task, o, o["symbols"], seed, dtype, variants)
    config["task_options"] = {name: o[name] for name in ("symbols", "max_length")}
    config["model"]["max_len"] = o["max_length"] + MORE
    run = Run(folder, config)
    return run, run.training.prepare()


def start_words(folder: str | Path, files: list | None = None, *, seed: int = 0,
                dtype: str = "float32", variants: dict[str, str] | None = None,
                vocab_size: int | None = None, like: str | None = None, h_kv: int | None = None,
                **options: Any) -> tuple[Run, list[str]]:
    """Make the run of a language model that is ready to train; return (run, notes on its text).

    files : paths of the text; None takes Python's help
    vocab_size : learn so many pieces at most; None takes the characters
    like : "llama" for a model like Llama and its training, with `h_kv` heads of keys and values
    options : replace those of WORDS     variants : {option: name} as in `variants.choices`

    Raises OSError, ValueError for a bad text or bad options, and MemoryError as `start_pairs`.
    """
    o = WORDS | options
    config = config_of(WordTraining.name, o, vocab_size or 1, seed, dtype, variants)
    config["model"]["max_len"] = o["max_length"]
    if like is not None:
        config["like"], config["model"]["h_kv"] = like, o["h"] if h_kv is None else h_kv
    text = read_words(files)
    if (different := len({*text} - {*" \t\n"})) < 2:
        raise ValueError("a text must hold at least two different characters besides blanks, got"
                         f" {different} in {' and '.join(map(str, files or ['the help']))}")
    config["train"] |= dict(average_every=max(1, o["steps"] // (LAST_PART * AVERAGED)),
                            validate_every=max(1, o["steps"] // VALIDATIONS))
    config |= dict(files=files and [os.path.realpath(path) for path in files],
                   digest=digest_of(text.encode()))
    vocabulary = None
    if vocab_size is None:
        config["characters"] = Characters(text).characters
    else:
        vocabulary = Pieces.train(text, vocab_size).vocabulary
        config["vocabulary"] = digest_of(vocabulary.model)
    run = Run(folder, config, vocabulary)
    return run, run.training.prepare(text)


def start_pairs(folder: str | Path, files: dict, *, preset: str = "small", seed: int = 0,
                dtype: str = "float32", variants: dict[str, str] | None = None,
                **options: Any) -> tuple[Run, list[str]]:
    """Make the run of a translator that is ready to train; return (run, notes on its pairs).

    Parameters
    ----------
    folder : the run's folder, into which nothing is written before the run is saved
    files : dict of paths of the pairs, as in Corpus.read
    preset : a name in PRESETS     options : replace those of the preset
    seed : for held-out pairs, weights, batches and dropout
    variants : {option: name} as in `variants.choices`

    Raises OSError and ValueError for bad files and options, and MemoryError if the parameters would
    need more memory than the machine has.
    """
    o = options_of(preset, options)
    sizes = {name: o.pop(name) for name in SIZES}
    size = o.pop("vocabulary")
    characters = {name: o[name] for name in ("normalization", "character_coverage")}
    check_fits(training_bytes(size, 0, **sizes, itemsize=np.dtype(dtype).itemsize), "training")
    corpus = Corpus.read(files, seed)
    lines = [line for pair in corpus.training for line in pair]
    vocabulary = Vocabulary.train(lines, size, **characters)
    config: dict[str, Any] = dict(
        task=PairTraining.name, seed=seed, dtype=dtype, variants=names_of(variants), train=o,
        model=dict(sizes, max_len=max(POSITIONS, o["max_length"])),
        files={name: path and os.path.realpath(path) for name, path in files.items()},
        digest=corpus.digest, vocabulary=digest_of(vocabulary.model))
    run = Run(folder, config, vocabulary)
    notes = run.training.prepare(corpus)
    config["examples"] = [source for source, _ in run.training.validation[:5]]
    o["average_every"] = max(1, run.training.steps // (LAST_PART * AVERAGED))
    return run, notes


def config_of(task, o, size, seed, dtype, variants):
    """Return what the configs of runs on symbols and on a text share.

    o : {name: value} of all options          size : of the vocabulary
    """
    if unknown := set(o) - set(SYMBOLS):
        raise ValueError(f"options must be some of {', '.join(SYMBOLS)}, got {', '.join(unknown)}")
    names = ("steps", "batch_size", "eps_ls", "warmup_steps", "rate_scale", "accumulate")
    training = {name: o[name] for name in names}
    sizes = {name: o[name] for name in ("N", "d_model", "d_ff")}
    counts = ("steps", "batch_size", "accumulate", "warmup_steps")
    check_sizes(**sizes, max_length=o["max_length"], **{name: o[name] for name in counts})
    check_number("rate_scale", o["rate_scale"], 0, float("inf"))
    check_number("eps_ls", o["eps_ls"], 0, 1)
    check_fits(training_bytes(size, o["batch_size"] * o["max_length"] // o["accumulate"], **sizes),
               "training")
    return dict(task=task, seed=seed, dtype=dtype, model=sizes | dict(h=o["h"], P_drop=o["P_drop"]),
                variants=names_of(variants), train=training)


def names_of(variants):
    """Return the name of every option in `variants.choices`: a given one, else the paper's."""
    return {option: next(iter(names)) for option, names in CHOICES.items()} | (variants or {})


def options_of(preset, changed):
    """Return all options: those in `changed`, else those of the preset, else the defaults."""
    options = PAIRS | PRESETS[preset]
    if unknown := set(changed) - set(options):
        raise ValueError(f"options must be some of {', '.join(options)}, got {', '.join(unknown)}")
    options |= changed
    check_options(options)
    check_tokenizer(options["tokenize"])
    return options
