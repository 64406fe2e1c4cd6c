"""Start a run on text: read the files, train the vocabulary, make the model and the batches."""

import os
from pathlib import Path
from typing import Any

import numpy as np

from ..text.bleu import tokenizer_for
from ..text.corpus import Corpus
from ..text.pairs import digest_of
from ..text.presets import PRESETS
from ..text.vocabulary import Vocabulary
from ..training.loop import AVERAGED
from ..variants.choices import CHOICES
from .estimates import check_fits, training_bytes
from .text_run import VOCABULARY, TextRun, check_options

SIZES = ("N", "d_model", "d_ff", "h", "P_drop")  # of the model; other options are for training
LAST_PART = 14  # the states that are averaged lie in the last 1/14 of the training, as in Sec. 6.1
POSITIONS = 256  # at least; a text to translate may be longer than those in training


def start(folder: str | Path, files: dict, *, preset: str = 'small', seed: int = 0,
          dtype: str = 'float32', variants: dict[str, str] | None = None, keep_states: bool = False,
          **options: Any) -> tuple[TextRun, list[str]]:
    """Make a TextRun that is ready to train; return (run, notes on its pairs).

    Parameters
    ----------
    folder : the run's folder, into which the vocabulary is written
    files : dict of paths of the pairs, as in Corpus.read
    preset : a name in PRESETS     options : replace those of the preset
    seed : for held-out pairs, weights, batches and dropout
    variants : {option: name} as in `variants.choices`
    keep_states : whether to keep states of the model during training, see states.py

    Raises OSError and ValueError for bad files and options, and MemoryError if the parameters would
    need more memory than the machine has.
    """
    options = options_of(preset, options)
    sizes = {name: options.pop(name) for name in SIZES}
    size = options.pop("vocabulary")
    characters = {name: options[name] for name in ("normalization", "character_coverage")}
    itemsize = np.dtype(dtype).itemsize
    check_fits(training_bytes(size, 0, **sizes, itemsize=itemsize), "training")
    corpus = Corpus.read(files, seed)
    options["bleu_tokenize"] = options["bleu_tokenize"] or tokenizer_for(
        target for _, target in corpus.training)
    lines = [line for pair in corpus.training for line in pair]
    vocabulary = Vocabulary.train(lines, size, **characters)
    Path(folder).mkdir(parents=True, exist_ok=True)
    vocabulary.save(Path(folder) / VOCABULARY)
    config: dict[str, Any] = dict(
        task=TextRun.name, seed=seed, dtype=dtype,
        model=dict(sizes, max_len=max(POSITIONS, options["max_length"])),
        variants={option: next(iter(names)) for option, names in CHOICES.items()}, train=options,
        files={name: path and os.path.realpath(path) for name, path in files.items()},
        digest=corpus.digest, vocabulary=digest_of(vocabulary.model), keep_states=keep_states,
    )
    config["variants"] |= variants or {}
    run = TextRun(folder, config)
    notes = run.prepare(corpus)
    config["examples"] = [source for source, _ in run.validation[:5]]
    options["average_every"] = max(1, run.steps // (LAST_PART * AVERAGED))
    return run, notes


def options_of(preset, changed):
    """Return all options: those in `changed`, else those of the preset, else the defaults."""
    options = dict(max_length=100, eps_ls=0.1, accumulate=1, bleu_every=1,
                   bleu_tokenize=None, normalization="identity",
                   character_coverage=1.0) | PRESETS[preset]
    if unknown := set(changed) - set(options):
        raise ValueError(f"options must be some of {', '.join(options)}, got {', '.join(unknown)}")
    options |= changed
    check_options(options)
    return options
