"""Training: batch, forward, loss, backward, rate, step, and again (Sec. 5).

`training_steps` is the one loop. `train` runs it on a toy task, runs/text_run.py on sentence pairs.
"""

import copy
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from ..checks import check_number, check_rng, check_sizes
from ..decoding.greedy import exact_match
from ..module import Cache, Module, leaves
from ..transformer import Transformer
from .loss import LabelSmoothedCrossEntropy
from .memory import keep_freed_memory
from .optimizer import Adam, warmup_rate
from .ranks import ALONE, Alone, make_team, ranks_of
from .tasks import Task
from .threads import check_threads, on_threads
from .workers import Share, Workers

M = TypeVar("M", bound=Module)

AVERAGED, AVERAGED_EVERY = 5, 10  # states that are averaged for validation, steps between them
VALIDATED = 5000  # sequences that a toy task is validated on


@dataclass
class Step:
    """One step of `training_steps`.

    It has the batch (src, tgt_in, tgt_out), the `scores` that `measure` found in the loss's cache,
    the learning rate, and the seconds since the start.
    """

    step: int
    batch: tuple
    scores: Any
    rate: float
    seconds: float


@dataclass
class Progress:
    """One step: loss without smoothing, share of tokens right, rate, seconds since the start.

    `validation` is the share of validation sequences that were decoded exactly; None between
    validations. The longest come first, and validation stops at the first chunk with a mistake, so
    only a share of 1 is of all sequences.
    """

    step: int
    loss: float
    accuracy: float
    rate: float
    seconds: float
    validation: float | None = None

    @property
    def measured(self) -> bool:
        """Whether the model was validated after this step."""
        return self.validation is not None


def training_steps(model: Module, criterion: Any, batch_of: Callable[[int], tuple],
                   rate_of: Callable[[int], float], *, steps: int, rng: np.random.Generator,
                   optimizer: Adam, recent: deque, average_every: int,
                   measure: Callable[[Cache], Any], record: Callable[[Step], Any],
                   team: Workers | None = None, threads: int | None = None) -> Iterator:
    """The loop: a generator that takes a step and yields its record.

    Parameters
    ----------
    batch_of, rate_of : functions of the step: (src, tgt_in, tgt_out), and the learning rate
    steps : the last step; the first one is the optimizer's next
    rng : for dropout
    optimizer : only its parameters are updated, and only their gradients are cleared
    recent : a deque that takes the state of every `average_every`-th step (Sec. 6.1)
    measure : a function of the loss's cache that gives the scores of a Step
    record : a function of the Step that gives what is yielded; it may validate the model
    team : None, or Workers that share each batch (workers.py, ranks.py)
    threads : of BLAS, between two yields (see threads.py)

    Raises FloatingPointError, before the step is taken, when loss or a gradient is not finite.
    """
    def taken():
        started = time.perf_counter()
        for step in range(optimizer.t + 1, steps + 1):
            src, tgt_in, tgt_out = batch_of(step)                             # batch
            optimizer.zero_grad()
            if team is None:
                logits, cache = model.forward(src, tgt_in, rng=rng)           # forward
                loss, loss_cache = criterion.forward(logits, targets=tgt_out) # loss
                model.backward(criterion.backward(1.0, loss_cache), cache)    # backward
                shares = [Share(1.0, loss, measure(loss_cache), cache)]
                del logits, cache, loss_cache
            else:                                                             # each does the same
                shares = team.gradients(src, tgt_in, tgt_out, rng=rng)
            check_finite(step, shares, model, optimizer)
            rate = rate_of(step)                                              # rate
            optimizer.step(rate)                                              # step
            if step % average_every == 0:
                recent.append(model.state_dict())
            scores = np.sum([s.weight * np.asarray(s.scores) for s in shares], axis=0)
            del shares                          # the next step needs the memory of this one
            yield record(Step(step, (src, tgt_in, tgt_out), scores, rate,
                              time.perf_counter() - started))

    return on_threads(threads, taken())


def train(model: Transformer, task: Task, *, steps: int, batch_size: int = 64,
          rng: np.random.Generator, optimizer: Adam | None = None, warmup_steps: int = 100,
          rate_scale: float = 0.2, schedule: Callable[[int], float] | None = None,
          eps_ls: float = 0.1, validate_every: int = 25, validation_size: int = VALIDATED,
          recent: deque | None = None, workers: Any = 1, accumulate: int = 1,
          keep_memory: bool = True, threads: int | None = None) -> Iterator[Progress]:
    """Train on batches of a task: a generator that takes a step and yields its Progress.

    The average of the model's last states is validated, as the paper averages checkpoints
    (Sec. 6.1), because single states of a small model jump about. Training ends after `steps`, or
    as soon as the average decodes every validation sequence exactly. Then the model takes the
    values of the average.

    The rate is `rate_scale` times Eq. (3). The defaults of `rate_scale` and `warmup_steps` are for
    models of classroom size; the paper's are 1 and 4000. A `schedule`, a function of the step,
    replaces Eq. (3), and `warmup_steps` and `rate_scale` are then ignored. `rng` draws the batches
    and the dropout masks. With the `optimizer` and the `recent` states (a deque that is filled
    here) of an earlier run, training goes on after that run's last step. Only the optimizer's
    parameters are updated, and only their gradients are cleared.

    `workers` share each batch: a number of threads, or the ranks of an MPI communicator, each of
    which calls `train` with the same model, task and generator. Each worker cuts its part into
    `accumulate` shares, of which only one at a time needs memory.
    With `keep_memory` the C library keeps freed memory for the next step. It then does so for the
    rest of the program (see memory.py).
    `threads` of BLAS take the steps: by default as many as the user's environment says, else one
    (see threads.py). Between two steps, and after the last one, the caller's number holds.

    Raises ValueError and TypeError for bad options at once, and FloatingPointError, before the step
    is taken, when loss or a gradient is not finite.
    """
    check_sizes(steps=steps, batch_size=batch_size, validate_every=validate_every)
    check_sizes(validation_size=validation_size, warmup_steps=warmup_steps)
    check_number("rate_scale", rate_scale, 0, float("inf"))
    check_rng(rng)
    check_threads(threads)
    if not (schedule is None or callable(schedule)):
        raise TypeError(f"schedule must be a function of the step, got {schedule!r}")
    criterion = LabelSmoothedCrossEntropy(eps_ls, pad=task.pad)
    optimizer = Adam(model) if optimizer is None else optimizer
    recent = deque(maxlen=AVERAGED) if recent is None else recent
    validation = task.validation(validation_size)
    ranks = ranks_of(workers)
    team = make_team(model, criterion, ranks, optimizer, token_scores, accumulate=accumulate,
                     workers=1 if ranks is not ALONE else workers)
    if keep_memory:
        keep_freed_memory()

    def batch_of(step):
        return task.batch(batch_size, rng)

    def eq_3(step):
        return rate_scale * warmup_rate(step, model.d_model, warmup_steps)

    rate_of = schedule or eq_3
    if ranks.size > 1:
        rates = [layer.P_drop for _, layer in leaves(model, Module) if hasattr(layer, "P_drop")]
        ranks.check_same(optimizer, rng, *validation, rates, steps, batch_size, validate_every,
                         eps_ls, accumulate, rate_of(1), rate_of(steps))

    def record(s):
        nats, accuracy = map(float, s.scores)
        progress = Progress(s.step, nats, accuracy, s.rate, s.seconds)
        if s.step % validate_every == 0 or s.step == steps:
            average = averaged(model, recent)
            progress.validation = validate(average, task, validation, ranks=ranks)
            if progress.validation == 1:
                model.load_state_dict(average.state_dict())
        return progress

    def until_solved():
        for progress in training_steps(
            model, criterion, batch_of, rate_of, steps=steps, rng=rng, recent=recent, record=record,
            optimizer=optimizer, average_every=AVERAGED_EVERY, measure=token_scores, team=team,
            threads=threads,
        ):
            yield progress
            if progress.validation == 1:
                return

    return until_solved()


def averaged(model: M, states: Sequence[dict]) -> M:
    """A copy of the model with the mean of some of its states; its own values if there are none."""
    average = copy.deepcopy(model)
    if states:
        average.load_state_dict({k: np.mean([s[k] for s in states], axis=0) for k in states[0]})
    return average


def token_scores(loss_cache: Cache) -> tuple[float, float]:
    """Cross-entropy without smoothing and share of right tokens, from what the loss computed."""
    right = loss_cache.log_p.argmax(axis=-1) == loss_cache.targets
    return token_nats(loss_cache), float(right[loss_cache.real].mean())


def token_nats(loss_cache: Cache) -> float:
    """Cross-entropy without smoothing, the mean over real targets."""
    log_p_target = np.take_along_axis(loss_cache.log_p, loss_cache.targets[..., None], axis=-1)
    return float(-log_p_target[..., 0][loss_cache.real].mean())


def validate(model: Transformer, task: Task, batch: Sequence[np.ndarray], chunk: int = 500,
             ranks: Alone = ALONE) -> float:
    """Share of a batch decoded exactly, in chunks; it stops after the first chunk with a mistake.

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
    """`exact_match` of a batch, of which each of the ranks decodes a part."""
    mine = [ranks.part(ids) for ids in batch]
    return ranks.total(round(exact_match(model, mine, **ends) * len(mine[0]))) / len(batch[0])


def check_finite(step: int, shares: list[Share], model: Module, optimizer: Adam) -> None:
    """Stop at the first step whose loss or gradient is not finite, and name the tensor."""
    loss = sum(share.weight * share.loss for share in shares)
    if np.isfinite(loss) and np.isfinite(optimizer.store.grads).all():
        return
    tensors = {name: p.value for name, p in model.named_parameters()}
    for i, share in enumerate(shares):
        cache = "cache" if len(shares) == 1 else f"worker {i}: cache"
        tensors |= {f"{cache}.{name}": array for name, array in leaves(share.cache, np.ndarray)}
    tensors |= {f"{name}.grad": p.grad for name, p in model.named_parameters()}
    bad = next((n for n, x in tensors.items() if not np.isfinite(x).all()), "loss")
    raise FloatingPointError(f"step {step}: loss {loss}, first tensor that is not finite: {bad}")
