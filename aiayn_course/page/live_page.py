"""Write the page of a run, on which its model computes in the browser."""

import copy
from pathlib import Path

import numpy as np

from aiayn_np.decoding.greedy import greedy_decode
from aiayn_np.module import leaves
from aiayn_np.multi_head import MultiHeadAttention
from aiayn_np.plotting.maps import attention_maps
from aiayn_np.runs.run import Run
from aiayn_np.runs.states import MOST
from aiayn_np.text.words import Characters, WordsTask
from aiayn_np.transformer import Transformer

from .cutting import rules_of
from .live import NotRunnable, check_runnable, write_live

WRITTEN = 12  # tokens that a language model writes for a page that cannot run it

def write_live_page(run: Run, path: str | Path, sources: list[np.ndarray], *,
                    title: str | dict = '', lessons: str = '', most_states: int = MOST,
                    answers: dict[str, str] | None = None) -> Path:
    """Write the page, and return its path. At first the page shows `sources`, arrays (1, T).

    title, lessons, answers : as in `live_page`
    most_states : how many of the kept states the page has; the first one is always there

    A model that was imported, or that has a layer which the page does not know, has a page of maps
    that are computed now. Raises NotRunnable for too many weights, and if the page cannot cut
    sentences into pieces.
    """
    examples = [run.task.text(src[0]) for src in sources]
    if not runs_in_a_page(run):
        task, recorded = recorded_of(run, sources, examples)
        return write_live(path, run.model, task, examples, title=title, recorded=recorded)
    states = run.states.states if run.states else {}
    steps = sorted(step for step in states if step < run.optimizer.t)  # the last one is the model
    most = min(most_states, len(steps))                                # most is learned early
    some = [steps[max(i, i * i * len(steps) // most**2)] for i in range(most)]
    states = {step: states[step] for step in some}
    telling = told_changes(run, sources[0])[1] if sources else []
    return write_live(path, run.trained(), task_of(run), examples, title=title, states=states,
                      lessons=lessons, metrics=run.measured(), telling=telling, answers=answers)


def runs_in_a_page(run: Run) -> bool:
    """Return whether the page has all layers of the run's model."""
    try:
        check_runnable(run.model)
    except NotRunnable:
        return False
    return not run.imported


def most_telling_first(run: Run, sources: list[np.ndarray]) -> list[np.ndarray]:
    """Return at most five sources, those first whose answer the most changes spoil.

    The changes are two of the page, no positions and no scale, and each head of the last layer
    muted; all heads count together as one. Of equal ones those come first that have no token twice,
    and then the shorter.
    """
    def order(src):
        others, heads = told_changes(run, src)
        return -len(others) - bool(heads), len(np.unique(src)) < src.size, src.size

    return sorted(sources, key=order)[:5]


def told_changes(run: Run, src: np.ndarray) -> tuple[list, list[int]]:
    """Return (the changes, the heads of the decoder's last layer) that an answer does not survive.

    Both are empty for a model that the page does not run, or that has no source.
    """
    model = run.trained()
    if not runs_in_a_page(run) or not isinstance(model, Transformer):
        return [], []
    right = greedy_decode(model, src, **run.ends)[0].tolist()

    def breaks(change, *arguments):
        other = copy.deepcopy(model)
        change(other, *arguments)
        return greedy_decode(other, src, **run.ends, keep=False)[0].tolist() != right

    heads = range(model.decoder.layers[-1].cross_attention.h)
    return ([change for change in (take_positions, take_scale) if breaks(change)],
            [head for head in heads if breaks(take_head, head)])


def take_positions(model):
    """Let a model add no positions."""
    model.positions.forward = lambda x, *, start=0: (x, None)


def take_scale(model):
    """Let the scores of a model be as large as if they were not divided by sqrt(d_k)."""
    for _, attention in leaves(model, MultiHeadAttention):
        for parameter in attention.linear_Q.parameters():
            parameter.value *= np.sqrt(attention.d_k)


def take_head(model, head):
    """Let a head of the decoder's last layer give zeros."""
    attention = model.decoder.layers[-1].cross_attention
    attention.linear_O.W.value.reshape(attention.h, -1, model.d_model)[head] = 0


def recorded_of(run, sources, texts):
    """Return (task, what the page shows of each text) for a model that does not run in a page."""
    labels: dict[str, int] = {}
    recorded = [record(run, src, text, labels) for src, text in zip(sources, texts)]
    ends = dict.fromkeys(("pad", "bos", "eos"))
    if not run.imported and run.command != "generate":
        ends |= {name: labels.get(run.task.tokens([getattr(run.task, name)])[0]) for name in ends}
    return dict(name=run.task.name, tokens=list(labels), max_length=run.task.max_length,
                **ends), recorded


def record(run, src, text, labels):
    """Return what `live_page` takes of one source (1, T); add new tokens to `labels`."""
    def numbered(tokens):
        return [labels.setdefault(token, len(labels)) for token in tokens]

    if run.command == "generate":
        tokens = run.written(src[0], steps=WRITTEN, temperature=0, rng=np.random.default_rng(0))
        whole = np.append(src[0], [int(token) for token in tokens])
        logits, cache = run.forward(whole[None, :-1])
        reads, writes = run.task.tokens(src[0]), run.task.tokens(whole[:-1])
        steps = run.task.tokens(whole[src.shape[1]:])
    elif run.command == "fill":
        logits, cache = run.forward(src)
        masked = src[0] == run.not_asked
        reads, writes = run.task.tokens(src[0]), []
        steps = run.task.tokens(run.example(src)[2][0][masked])
    elif run.imported:
        _, tgt, out = run.example(src)
        logits, cache = run.trained().forward(src, tgt)
        reads, writes, *_ = run.attention(src)
        steps = run.task.tokens(out[0])
    else:
        out = greedy_decode(run.trained(), src, **run.ends)[0]
        tgt = np.array([[run.task.bos, *out[:-1]]])
        logits, cache = run.trained().forward(src, tgt)
        reads, writes, steps = (run.task.tokens(ids) for ids in (src[0], tgt[0], out))
    five = []
    for row in logits[0]:
        shares = np.exp(row - row.max())
        ids = np.argsort(-row)[:5]
        five.append([[token, float(share)] for token, share in
                     zip(run.task.tokens(ids), shares[ids] / shares.sum())])
    maps = {name: weights[0] for name, weights in attention_maps(cache).items()}
    return dict(text=text, src=numbered(reads), tgt=numbered(writes), steps=numbered(steps),
                token=numbered(steps)[-1] if steps else None, five=five, maps=maps)


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
