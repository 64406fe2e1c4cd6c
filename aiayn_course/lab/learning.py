"""Small models that are trained for a while, for claims about training."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from aiayn_np.training.loop import token_scores
from aiayn_np.training.loss import LabelSmoothedCrossEntropy
from aiayn_np.training.optimizer import warmup_rate
from aiayn_np.training.tasks import TASKS, Task
from aiayn_np.training.toys import Progress, train
from aiayn_np.transformer import Transformer

from .gate import LONGER

STEPS_PER_POINT = 10  # number of steps averaged in one point of a curve
RATES = (0.05, 0.1, 0.2, 0.4, 0.8)  # factors of Eq. (3); each model is judged at its best one
SMALL = dict(N=1, d_model=32, d_ff=64, h=4, P_drop=0.0, max_len=64)


def small_model(task: Task, seed: int, **options: Any) -> Transformer:
    """Return a float32 Transformer for a task; `options` replace the values of SMALL."""
    rng = np.random.default_rng(seed)
    return Transformer(task.vocab_size, **(SMALL | options), rng=rng).astype(np.float32)


def learn(model: Transformer, task: Task, seed: int, *, steps: int,
          **options: Any) -> Iterator[Progress]:
    """Yield the Progress of every step of `train`, without validation; options as in `train`."""
    rng = np.random.default_rng([seed, 1])
    return train(model, task, rng=rng, steps=steps, **(dict(validate_every=None) | options))


def each(*settings: Iterable, seeds: Sequence[int], measure: Callable) -> dict[str, np.ndarray]:
    """Measure every combination of settings with every seed, as all claims that train do.

    settings : one iterable for each axis       measure : (*setting, seed) -> dict of numbers
    Return name -> array (one axis for each of the settings, seeds, ...).
    """
    axes = [list(values) for values in (*settings, seeds)]
    measured = [measure(*combination) for combination in product(*axes)]
    shape = tuple(map(len, axes))
    columns = {name: np.array([m[name] for m in measured]) for name in measured[0]}
    return {name: a.reshape(shape + a.shape[1:]) for name, a in columns.items()}


def losses(model: Transformer, task: Task, seed: int, *, steps: int, **options: Any) -> np.ndarray:
    """Return the training loss of every step, without smoothing, in nats per token: (steps,).

    If a model's numbers stop being finite, the loss is nan from this step on.
    """
    found = np.full(steps, np.nan)
    try:
        for progress in learn(model, task, seed, steps=steps, **options):
            found[progress.step - 1] = progress.loss
    except FloatingPointError:
        pass
    return found


def ends(curves: np.ndarray) -> np.ndarray:
    """Return the points of curves after 1 x and after 3 x the steps: (..., 3 n) -> (..., 2)."""
    return curves[..., [curves.shape[-1] // LONGER - 1, -1]]


def held_out_ends(model: Transformer, task: Task, seed: int, examples: Sequence[np.ndarray], *,
                  steps: int, **options: Any) -> np.ndarray:
    """Train for three times the steps; return `scores` after 1 x and 3 x of them: (2, 2 times).

    If a model's numbers stop being finite, it scores as a uniform guess with no token right.
    """
    found, times = np.tile([[np.log(task.vocab_size)], [0.0]], 2), [steps, LONGER * steps]
    try:
        for progress in learn(model, task, seed, steps=times[-1], **options):
            if progress.step in times:
                found[:, times.index(progress.step)] = scores(model, examples)
    except FloatingPointError:
        pass
    return found


def held_out_losses(models: Sequence[Callable], tasks: Sequence[str], *, steps: int,
                    rate_scale: Sequence[float] = (0.1, 0.2, 0.4, 0.8, 1.6),
                    seeds: Sequence[int] = (0, 1, 2, 3, 4), batch_size: int = 16,
                    **sizes: int) -> dict[str, Any]:
    """Train models on toy tasks without smoothing, as `held_out_ends` does.

    models : functions of a task and a seed       tasks, sizes : names, and options of the tasks
    Return {tasks, rate_scale, steps, loss (tasks, models, rates, seeds, 2 times)}, in nats a token.
    """
    def measure(name, model_of, rate, seed):
        task = TASKS[name](**sizes)
        model = model_of(task, seed)
        return dict(loss=held_out_ends(
            model, task, seed, task.validation(500), steps=steps, batch_size=batch_size,
            eps_ls=0.0, schedule=at_scale(model, rate))[0])

    return dict(tasks=list(tasks), rate_scale=np.array(rate_scale), steps=steps,
                **each(tasks, models, rate_scale, seeds=seeds, measure=measure))


def at_scale(model: Transformer, scale: float) -> Callable[[int], float]:
    """Return the rate of `train` as a function of the step, with another factor of Eq. (3)."""
    return partial(warmup_rate, d_model=model.d_model, warmup_steps=100, scale=scale)


def scores(model: Transformer, examples: Sequence[np.ndarray]) -> tuple[float, float]:
    """Return (nats per token, share of right tokens) on (src, tgt_in, tgt_out), no dropout."""
    src, tgt_in, tgt_out = examples
    criterion = LabelSmoothedCrossEntropy(0.0, pad=model.pad)
    _, cache = criterion.forward(model(src, tgt_in), targets=tgt_out)
    return token_scores(cache)


def smooth(values: np.ndarray, width: int) -> np.ndarray:
    """Average over `width` neighbours along the last axis: (..., n) -> (..., n // width)."""
    n = values.shape[-1] // width * width
    return values[..., :n].reshape(*values.shape[:-1], -1, width).mean(axis=-1)
