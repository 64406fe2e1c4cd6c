"""Training on text: the loop of Sec. 5, with a batch that its step alone decides."""

import time
from dataclasses import dataclass

import numpy as np

from ..checks import check_number, check_rng, check_sizes
from ..loss import LabelSmoothedCrossEntropy
from ..optimizer import warmup_rate
from ..training import check_finite


@dataclass
class TextProgress:
    """One step. `loss` is without smoothing, in nats per target token, so that exp(loss) is the
    perplexity; `tokens` are those of source and target in the batch, `seconds` count from the start
    of the training.

    Where it was measured: `validation_loss` of the model as it is, `averaged_loss` and `bleu` of
    the average of its last states.
    """

    step: int
    loss: float
    tokens: int
    rate: float
    seconds: float
    validation_loss: float | None = None
    averaged_loss: float | None = None
    bleu: float | None = None


def train_text(
    team, batches, *, steps, rng, optimizer, recent, average_every, warmup_steps, rate_scale=1.0
):
    """Train the model of a team: a generator that takes a step and yields TextProgress.

    team : Workers whose `measure` is token_nats

    It goes on after the optimizer's last step, up to the step `steps`. The batch is that of
    `batches` for the step, the rate `rate_scale` times Eq. (3), and `rng` draws dropout. The state
    of every `average_every`-th step is put to the `recent` ones, a deque, for averaging (Sec. 6.1).

    Raises ValueError and TypeError for bad options at once, and FloatingPointError, before the step
    is taken, when loss or a gradient is not finite.
    """
    check_sizes(steps=steps, average_every=average_every, warmup_steps=warmup_steps)
    check_number("rate_scale", rate_scale, 0, float("inf"))
    check_rng(rng)
    model = team.models[0]

    def steps_one_by_one():
        started = time.perf_counter()
        for step in range(optimizer.t + 1, steps + 1):
            src, tgt_in, tgt_out = batches.batch(step)
            optimizer.zero_grad()
            shares = team.gradients(src, tgt_in, tgt_out, rng=rng)
            check_finite(step, shares, model, optimizer)
            optimizer.step(rate := rate_scale * warmup_rate(step, model.d_model, warmup_steps))
            if step % average_every == 0:
                recent.append(model.state_dict())
            loss = sum(share.weight * share.scores for share in shares)
            del shares                               # the next step needs the memory of this one
            tokens = sum(int(np.count_nonzero(ids != model.pad)) for ids in (src, tgt_in))
            yield TextProgress(step, loss, tokens, rate, time.perf_counter() - started)

    return steps_one_by_one()


def loss_on(model, batches):
    """Cross-entropy without smoothing per target token, over all batches of an epoch."""
    criterion, nats, count = LabelSmoothedCrossEntropy(0.0, pad=model.pad), 0.0, 0
    for step in range(1, batches.per_epoch + 1):
        src, tgt_in, tgt_out = batches.batch(step)
        loss, cache = criterion.forward(model(src, tgt_in), targets=tgt_out)
        nats, count = nats + float(loss) * cache.count, count + cache.count
    return nats / count
