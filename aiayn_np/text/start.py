"""The beginning of a run on text: files, vocabulary, model, batches."""

from pathlib import Path

import numpy as np

from ..checks import check_number, check_sizes
from ..processes import check_kind
from ..training import AVERAGED
from ..variants.choices import CHOICES
from .corpus import Corpus
from .estimates import COPIES, check_fits, memory_of, parameter_count
from .presets import PRESETS
from .run import VOCABULARY, TextRun
from .vocabulary import Vocabulary

SIZES = ("N", "d_model", "d_ff", "h", "P_drop")  # the other options are those of the training
LAST_PART = 14  # the states that are averaged lie in the last 1/14 of the training, as in Sec. 6.1
POSITIONS = 256  # that the model has at least: what it is asked for may be longer than its training


def start(folder, files, *, preset="small", seed=0, dtype="float32", variants=None, **options):
    """A TextRun that is ready to train, and notes on its pairs: (run, notes).

    Parameters
    ----------
    folder : of the run; its vocabulary is written there
    files : paths of the pairs, a dict as Corpus.read wants it
    preset : a name of PRESETS     options : what to have otherwise than the preset
    seed : of held-out pairs, weights, batches and dropout
    variants : {option: name} as in `variants.choices`

    Raises OSError and ValueError for bad files and options, MemoryError where the parameters or a
    step would need more memory than the machine has.
    """
    options = options_of(preset, options)
    sizes = {name: options.pop(name) for name in SIZES}
    size = options.pop("vocabulary")
    floats = parameter_count(size, **sizes) * COPIES * np.dtype(dtype).itemsize
    check_fits(floats, f"training {parameter_count(size, **sizes):,} parameters")
    corpus = Corpus.read(files, seed)
    vocabulary = Vocabulary.train((line for pair in corpus.training for line in pair), size)
    Path(folder).mkdir(parents=True, exist_ok=True)
    vocabulary.save(Path(folder) / VOCABULARY)
    config = dict(
        task=TextRun.name, seed=seed, dtype=dtype,
        model=dict(sizes, max_len=max(POSITIONS, options["max_length"])),
        variants={option: next(iter(names)) for option, names in CHOICES.items()}, train=options,
        files={name: path and str(Path(path).resolve()) for name, path in files.items()},
        digest=corpus.digest,
    )
    config["variants"] |= variants or {}
    run = TextRun(folder, config)
    notes = run.prepare(corpus)
    config["examples"] = [source for source, _ in run.validation[:5]]
    options["average_every"] = max(1, run.steps // (LAST_PART * AVERAGED))
    workers = options["workers"], options["workers_as"]
    check_fits(memory_of(run.model, run.batches, *workers), "training")
    return run, notes


def options_of(preset, changed):
    """All options: those of a preset, the defaults, and what is changed."""
    if preset not in PRESETS:
        raise ValueError(f"preset must be one of {', '.join(PRESETS)}, got {preset!r}")
    options = dict(max_length=100, eps_ls=0.1, workers=1, workers_as="threads",
                   bleu_every=1) | PRESETS[preset]
    if unknown := set(changed) - set(options):
        raise ValueError(f"options must be some of {', '.join(options)}, got {', '.join(unknown)}")
    options |= changed
    check_options(options)
    return options


def check_options(options):
    """What can be refused before anything is read."""
    check_number("epochs", options["epochs"], 0, 1e6, open_low=True)
    names = ("vocabulary", "tokens", "max_length", "warmup_steps", "workers", "bleu_every")
    check_sizes(**{name: options[name] for name in names if name in options})
    check_kind(options.get("workers_as", "threads"), options["workers"])
