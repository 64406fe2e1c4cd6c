"""Training on a toy task, until the model decodes every validation sequence exactly."""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from ..checks import check_rng, check_sizes
from ..decoding.greedy import exact_match
from ..transformer import Transformer
from .checks import check_optimizer
from .loop import AVERAGED, Step, averaged, training_steps, validated
from .loss import LabelSmoothedCrossEntropy
from .optimizer import Adam, warmup_rate
from .ranks import ALONE, Alone, check_ranks
from .shares import Shares
from .tasks import Task

VALIDATED = 5000  # sequences that a toy task is validated on


@dataclass
class Progress:
    """The record of a step: loss without smoothing, share of right tokens, rate, seconds so far.

    `validation` is the share of sequences that `validate` returned; None between validations.
    """

    step: int
    loss: float
    accuracy: float
    rate: float
    seconds: float
    validation: float | None = None

    @property
    def measured(self) -> bool:
        """Tell whether the model was validated after this step."""
        return self.validation is not None

    @property
    def solved(self) -> bool:
        """Tell whether every validation sequence was right; then training ends."""
        return self.validation == 1

    def told(self) -> str:
        """Return the accuracy and the validation share as the end of a progress line."""
        line, which = f"; tokens right {self.accuracy:.1%}", "all" if self.solved else "longest"
        return f"{line}, {which} sequences right {self.validation:.1%}" if self.measured else line


def train(model: Transformer, task: Task, *, steps: int, batch_size: int = 64,
          rng: np.random.Generator, optimizer: Adam | None = None, recent: deque | None = None,
          schedule: Callable[[int], float] | None = None, eps_ls: float = 0.1,
          validate_every: int | None = 25, validation_size: int = VALIDATED, ranks: Alone = ALONE,
          accumulate: int = 1, threads: int | None = None) -> Iterator[Progress]:
    """Train on batches of a task: yield the Progress of every step.

    The average of the model's last states is validated, as the paper averages checkpoints
    (Sec. 6.1). Training ends after `steps`, or as soon as the average decodes every validation
    sequence exactly. Then the model takes the values of the average. With `validate_every=None`
    nothing is validated, and every step is taken.

    `schedule` gives the rate of a step. By default the rate is Eq. (3) with numbers for a model of
    classroom size: 100 warm-up steps and a factor of 0.2, where the paper has 4000 and 1. `rng`
    draws the batches and the dropout masks. With the `optimizer` and the `recent` states (a deque
    that is filled here) of an earlier run, training goes on after that run's last step. Only the
    optimizer's parameters are updated, and only their gradients are cleared.

    The `ranks` share each batch, see ranks.py; all of them call `train` with the same model, task
    and generator. Each rank computes its part in `accumulate` shares, one after the other, so that
    only one share at a time needs memory. A step uses `threads` threads of BLAS, see threads.py.

    Raises ValueError and TypeError for bad options at once. Raises FloatingPointError when loss or
    a gradient is not finite, before the step is taken.
    """
    check_sizes(steps=steps, batch_size=batch_size, validation_size=validation_size,
                validate_every=1 if validate_every is None else validate_every,
                threads=1 if threads is None else threads, accumulate=accumulate)
    check_rng(rng)
    check_ranks(ranks)
    optimizer = Adam(model) if optimizer is None else optimizer
    recent = deque(maxlen=AVERAGED) if recent is None else recent
    check_optimizer(model, optimizer)
    criterion = LabelSmoothedCrossEntropy(eps_ls, pad=task.pad)
    rate_of = schedule or partial(warmup_rate, d_model=model.d_model, warmup_steps=100, scale=0.2)
    taken = training_steps(model, criterion, optimizer, lambda _: task.batch(batch_size, rng),
                           rate_of, steps=steps, rng=rng,
                           shares=Shares(task.pad, ranks, accumulate), threads=threads)
    records = map(progress_of, taken)
    if validate_every is None:
        return records
    write = partial(write_share, model, recent, task, task.validation(validation_size), ranks)
    return validated(model, records, recent, write, every=validate_every, last=steps,
                     threads=threads)


def progress_of(s: Step) -> Progress:
    """Return the record of a step on a toy task."""
    return Progress(s.step, float(s.scores[0]), float(s.scores[1]), s.rate, s.seconds)


def write_share(model: Transformer, recent: deque, task: Task, batch: Sequence[np.ndarray],
                ranks: Alone, progress: Progress) -> None:
    """Validate the average of the recent states, and write the share of right sequences.

    The share is written into the record `progress`. If it is 1, load the average into the model.
    """
    average = averaged(model, recent)
    progress.validation = validate(average, task, batch, ranks=ranks)
    if progress.solved:
        model.load_state_dict(average.state_dict())


def validate(model: Transformer, task: Task, batch: Sequence[np.ndarray], chunk: int = 500,
             ranks: Alone = ALONE) -> float:
    """Return the share of a batch that is decoded exactly, up to the first chunk with a mistake.

    The longest sources come first. They are the hardest, so a model that has not learned the task
    fails in the first chunk. Greedy decoding is exact if and only if the best token after every
    *true* prefix is the right one, and one teacher-forced pass tells that. A perfect score is
    confirmed by decoding. Each of the `ranks` validates its part of every chunk.
    """
    longest_first = np.argsort(-(batch[0] != task.pad).sum(axis=1), kind="stable")
    src, tgt_in, tgt_out = (ids[longest_first] for ids in batch)
    for i in range(0, len(src), chunk):
        end = min(i + chunk, len(src))
        mine, right = ranks.part(np.arange(i, end)), 0
        if len(mine):
            want, best = tgt_out[mine], model(src[mine], tgt_in[mine]).argmax(axis=-1)
            right = int(((best == want) | (want == task.pad)).all(axis=1).sum())
        right = ranks.total(right)
        if right < end - i:
            return (i + right) / end
    return share_exact(model, batch, ranks, bos=task.bos, eos=task.eos)


def share_exact(model: Transformer, batch: Sequence[np.ndarray], ranks: Alone = ALONE,
                **ends: Any) -> float:
    """Return the `exact_match` of a batch; each of the ranks decodes a part of it."""
    mine = [ranks.part(ids) for ids in batch]
    return ranks.total(round(exact_match(model, mine, **ends) * len(mine[0]))) / len(batch[0])
