"""Training: forward, loss, backward, rate, step, and again (Sec. 5)."""

import copy
import time
from collections import deque
from dataclasses import dataclass

import numpy as np

from .checks import check_number, check_rng, check_sizes
from .decoding import exact_match
from .loss import LabelSmoothedCrossEntropy
from .module import leaves
from .optimizer import Adam, warmup_rate
from .processes import make_team

AVERAGED, AVERAGED_EVERY = 5, 10  # states that are averaged for validation, steps between them


@dataclass
class Progress:
    """One step: loss without smoothing, share of tokens right, rate, seconds since the start.

    `validation` is the share decoded exactly of the validation sequences that were looked at, the
    longest first, all of them if it is 1; None between validations.
    """

    step: int
    loss: float
    accuracy: float
    rate: float
    seconds: float
    validation: float | None = None


def train(
    model, task, *, steps, batch_size=64, rng, optimizer=None, warmup_steps=100, rate_scale=0.2,
    schedule=None, eps_ls=0.1, validate_every=25, validation_size=5000, recent=None, workers=1,
    workers_as="threads",
):
    """Train on batches of a task: a generator that takes a step and yields its Progress.

    What is validated is the average of the model's last states, as the paper averages checkpoints
    (Sec. 6.1): single states of a small model jump about. Training ends after `steps`, or as soon
    as that average decodes every validation sequence exactly; then the model takes its values.

    The rate is `rate_scale` times Eq. (3); both defaults are for models of classroom size (the
    paper's are 1 and 4000). A `schedule`, a function of the step, takes its place, and
    `warmup_steps` and `rate_scale` are then ignored. `rng` draws the batches and the dropout masks.
    With the `optimizer` and the `recent` states (a deque that is filled here) of an earlier run it
    goes on after that run's last step. What moves, and what has its gradient cleared, are the
    parameters of the optimizer. `workers` share each batch: threads, or `workers_as` "processes".

    Raises ValueError and TypeError for bad options at once, and FloatingPointError, before the step
    is taken, when loss or a gradient is not finite.
    """
    check_sizes(steps=steps, batch_size=batch_size, validate_every=validate_every)
    check_sizes(validation_size=validation_size, warmup_steps=warmup_steps)
    check_number("rate_scale", rate_scale, 0, float("inf"))
    check_rng(rng)
    if not (schedule is None or callable(schedule)):
        raise TypeError(f"schedule must be a function of the step, got {schedule!r}")
    criterion = LabelSmoothedCrossEntropy(eps_ls, pad=task.pad)
    optimizer = Adam(model.parameters()) if optimizer is None else optimizer
    recent = deque(maxlen=AVERAGED) if recent is None else recent
    validation = task.validation(validation_size)
    team = make_team(model, criterion, workers, workers_as, token_scores)

    def eq_3(step):
        return rate_scale * warmup_rate(step, model.d_model, warmup_steps)

    def steps_one_by_one():
        started = time.perf_counter()
        for step in range(optimizer.t + 1, steps + 1):
            src, tgt_in, tgt_out = task.batch(batch_size, rng)
            optimizer.zero_grad()
            shares = team.gradients(src, tgt_in, tgt_out, rng=rng)
            check_finite(step, shares, model, optimizer)
            rate = schedule(step) if schedule else eq_3(step)
            optimizer.step(rate)
            if step % AVERAGED_EVERY == 0:
                recent.append(model.state_dict())

            scores = [np.multiply(s.weight, s.scores) for s in shares]
            nats, accuracy = map(float, sum(scores))
            del shares                          # the next step needs the memory of this one
            progress = Progress(step, nats, accuracy, rate, time.perf_counter() - started)
            if step % validate_every == 0 or step == steps:
                average = averaged(model, recent)
                progress.validation = validate(average, task, validation)
                if progress.validation == 1:
                    model.load_state_dict(average.state_dict())
            yield progress
            if progress.validation == 1:
                return

    return steps_one_by_one()


def averaged(model, states):
    """A copy of the model with the mean of some of its states; its own values if there are none."""
    average = copy.deepcopy(model)
    if states:
        average.load_state_dict({k: np.mean([s[k] for s in states], axis=0) for k in states[0]})
    return average


def token_scores(loss_cache):
    """Cross-entropy without smoothing and share of right tokens, from what the loss computed."""
    right = loss_cache.log_p.argmax(axis=-1) == loss_cache.targets
    return token_nats(loss_cache), float(right[loss_cache.real].mean())


def token_nats(loss_cache):
    """Cross-entropy without smoothing, the mean over real targets."""
    log_p_target = np.take_along_axis(loss_cache.log_p, loss_cache.targets[..., None], axis=-1)
    return float(-log_p_target[..., 0][loss_cache.real].mean())


def validate(model, task, batch, chunk=500):
    """Share of a batch decoded exactly, in chunks; it stops after the first chunk with a mistake.

    The longest sources come first: they are the hardest, and turn a model that is not there yet
    away after one chunk. Greedy decoding is exact if and only if the best token after every *true*
    prefix is the right one, which one teacher-forced pass tells. A perfect score is confirmed by
    decoding.
    """
    longest_first = np.argsort(-(batch[0] != task.pad).sum(axis=1), kind="stable")
    src, tgt_in, tgt_out = (ids[longest_first] for ids in batch)
    for i in range(0, len(src), chunk):
        want = tgt_out[i : i + chunk]
        best = model(src[i : i + chunk], tgt_in[i : i + chunk]).argmax(axis=-1)
        right = ((best == want) | (want == task.pad)).all(axis=1)
        if not right.all():
            return float((i + right.sum()) / (i + len(right)))
    return exact_match(model, batch, bos=task.bos, eos=task.eos)


def check_finite(step, shares, model, optimizer):
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
