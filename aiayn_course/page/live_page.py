"""Write the page of a run; its model computes in the browser."""

import copy
from pathlib import Path

import numpy as np

from aiayn_np.decoding.greedy import greedy_decode
from aiayn_np.files import replacing
from aiayn_np.models.config import read_json
from aiayn_np.runs.loaded import Loaded
from aiayn_np.text.language import Characters, LanguageTask
from aiayn_np.transformer import Transformer

from .cutting import rules_of
from .live import live_page


def write_live_page(run: Loaded, path: str | Path, sources: list[np.ndarray], *,
                    title: str | dict = '', lessons: str = '',
                    answers: dict[str, str] | None = None) -> Path:
    """Write the page, and return its path. At first the page shows `sources`, arrays (1, T).

    title, lessons, answers : as in `live_page`

    Raises NotRunnable for a layer that the page does not know, for too many weights, and if the
    page cannot split sentences into pieces.
    """
    examples = [run.task.text(src[0]) for src in sources]
    telling = telling_heads(run, sources[0]) if sources else []
    metrics = read_json(run.metrics) if run.metrics and run.metrics.exists() else {}
    page = live_page(run.trained(), task_of(run), examples, title=title, lessons=lessons,
                     metrics=metrics, telling=telling, answers=answers)
    with replacing(path := Path(path)) as file:
        file.write(page.encode())
    return path


def most_telling_first(run: Loaded, sources: list[np.ndarray]) -> list[np.ndarray]:
    """Return at most five sources: first those with telling heads, of these those without repeated
    tokens, and of these the shorter ones.
    """
    def order(src):
        return not telling_heads(run, src), len(np.unique(src)) < src.size, src.size

    return sorted(sources, key=order)[:5]


def telling_heads(run: Loaded, src: np.ndarray) -> list[int]:
    """Return the heads of the decoder's last layer without which the answer changes.

    The list is empty for a model without a source.
    """
    model = run.trained()
    if not isinstance(model, Transformer):
        return []

    def answer(model):
        ids = greedy_decode(model, src, bos=run.task.bos, eos=run.task.eos, keep=False)
        return ids[0].tolist()

    def without(head):
        attention = (other := copy.deepcopy(model)).decoder.layers[-1].cross_attention
        attention.linear_O.W.value.reshape(attention.h, -1, model.d_model)[head] = 0
        return other

    right, heads = answer(model), range(model.decoder.layers[-1].cross_attention.h)
    return [head for head in heads if answer(without(head)) != right]


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
    return known | rules_of(task.vocabulary)
