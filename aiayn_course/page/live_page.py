"""Write the page of a run; its model computes in the browser."""

import copy
from pathlib import Path

import numpy as np

from aiayn_np.decoding.greedy import greedy_decode
from aiayn_np.files import replacing
from aiayn_np.models.config import read_json
from aiayn_np.module import leaves
from aiayn_np.multi_head import MultiHeadAttention
from aiayn_np.runs.loaded import Loaded
from aiayn_np.text.language import Characters, LanguageTask
from aiayn_np.transformer import Transformer

from .cutting import rules_of
from .live import NotRunnable, live_page


def write_live_page(run: Loaded, path: str | Path, sources: list[np.ndarray], *,
                    title: str | dict = '', lessons: str = '',
                    answers: dict[str, str] | None = None) -> Path:
    """Write the page, and return its path. At first the page shows `sources`, arrays (1, T).

    title, lessons, answers : as in `live_page`

    Raises NotRunnable for a layer that the page does not know, for too many weights, and if the
    page cannot split sentences into pieces.
    """
    examples = [run.task.text(src[0]) for src in sources]
    telling = told_changes(run, sources[0])[1] if sources else []
    metrics = read_json(run.metrics) if run.metrics and run.metrics.exists() else {}
    page = live_page(run.trained(), task_of(run), examples, title=title, lessons=lessons,
                     metrics=metrics, telling=telling, answers=answers)
    with replacing(path := Path(path)) as file:
        file.write(page.encode())
    return path


def most_telling_first(run: Loaded, sources: list[np.ndarray]) -> list[np.ndarray]:
    """Return at most five sources, ordered by the number of changes that alter their answer.

    A change is: no positions, no scale, or a muted head of the last layer; all heads count as one
    change. At equal numbers, sources without repeated tokens come first, and then shorter ones.
    """
    def order(src):
        others, heads = told_changes(run, src)
        return -len(others) - bool(heads), len(np.unique(src)) < src.size, src.size

    return sorted(sources, key=order)[:5]


def told_changes(run: Loaded, src: np.ndarray) -> tuple[list, list[int]]:
    """Return (changes, heads of the decoder's last layer) that change the answer.

    Both are empty for a model without a source.
    """
    model = run.trained()
    if not isinstance(model, Transformer):
        return [], []
    ends = dict(bos=run.task.bos, eos=run.task.eos)
    right = greedy_decode(model, src, **ends)[0].tolist()

    def breaks(change, *arguments):
        other = copy.deepcopy(model)
        change(other, *arguments)
        return greedy_decode(other, src, **ends, keep=False)[0].tolist() != right

    heads = range(model.decoder.layers[-1].cross_attention.h)
    return ([change for change in (take_positions, take_scale) if breaks(change)],
            [head for head in heads if breaks(take_head, head)])


def take_positions(model):
    """Make a model add no positions."""
    model.positions.forward = lambda x, *, start=0: (x, None)


def take_scale(model):
    """Scale the scores of a model up, as if they were not divided by sqrt(d_k)."""
    for _, attention in leaves(model, MultiHeadAttention):
        for parameter in attention.linear_Q.parameters():
            parameter.value *= np.sqrt(attention.d_k)


def take_head(model, head):
    """Make a head of the decoder's last layer return zeros."""
    attention = model.decoder.layers[-1].cross_attention
    attention.linear_O.W.value.reshape(attention.h, -1, model.d_model)[head] = 0


def rules_of_words(vocabulary):
    """Return the dict that vocabulary.js needs for a vocabulary of characters or pieces."""
    if isinstance(vocabulary, Characters):
        return dict(characters=vocabulary.characters)
    rules = rules_of(vocabulary.vocabulary)             # id 0 is for unknown pieces
    ends = dict.fromkeys(("unk", "pad", "eos"))
    return rules | dict(pieces=rules["pieces"][1:], scores=rules["scores"][1:]) | ends


def task_of(run: Loaded) -> dict:
    """Return a dict that tells the page how to read and write sequences of the run's task."""
    task = run.task
    ends = {name: getattr(task, name, None) for name in ("bos", "eos")}
    known = dict(name=task.name, tokens=task.tokens(range(task.vocab_size)), pad=task.pad,
                 max_length=task.max_length, **ends)
    if not hasattr(task, "vocabulary"):
        return known
    if isinstance(task, LanguageTask):
        return known | rules_of_words(task.vocabulary)
    try:
        return known | rules_of(task.vocabulary)
    except ValueError as error:
        raise NotRunnable(str(error)) from None
