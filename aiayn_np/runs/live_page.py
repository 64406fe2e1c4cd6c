"""Write the page of a run, on which its model computes in the browser."""

import json
from pathlib import Path

import numpy as np

from ..plotting.live import NotRunnable, write_live
from ..text.cutting import rules_of
from ..text.words import Characters, WordsTask
from .run import Run


def write_live_page(run: Run, path: str | Path, sources: list[np.ndarray], *, title: str = '',
                    lessons: str = '') -> Path:
    """Write the page, and return its path. At first the page shows `sources`, arrays (1, T).

    title, lessons : as in `live_page`

    Raises NotRunnable if the page cannot run the model, or cannot cut sentences into pieces.
    """
    if run.imported:
        raise NotRunnable("it was imported from Hugging Face")
    states = run.states.states if run.states else {}
    examples = [run.task.text(src[0]) for src in sources]
    metrics = {}
    if run.metrics.is_file():
        metrics = json.loads(run.metrics.read_text(encoding="utf-8"))
    return write_live(path, run.trained(), task_of(run), examples, title=title, states=states,
                      lessons=lessons, metrics=metrics)


def rules_of_words(vocabulary):
    """Return what vocabulary.js needs of a vocabulary of characters, or of pieces, for a dict."""
    if isinstance(vocabulary, Characters):
        return dict(characters=vocabulary.characters)
    rules = rules_of(vocabulary.vocabulary)             # its ids are one more: 0 is for the unknown
    ends = dict.fromkeys(("unk", "pad", "eos"))
    return rules | dict(pieces=rules["pieces"][1:], scores=rules["scores"][1:]) | ends


def task_of(run):
    """Return a dict that tells the page how to read and write sequences of the run's task."""
    task = run.task
    ends = {name: getattr(task, name, None) for name in ("bos", "eos")}
    known = dict(name=task.name, tokens=task.tokens(range(task.vocab_size)), pad=task.pad,
                 max_length=task.max_length, **ends)
    if not hasattr(task, "vocabulary"):
        return known
    if isinstance(task, WordsTask):
        return known | rules_of_words(task.vocabulary)
    try:
        return known | rules_of(task.vocabulary)
    except ValueError as error:
        raise NotRunnable(str(error)) from None
