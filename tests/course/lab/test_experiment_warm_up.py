"""Claim 14."""

from dataclasses import replace

import numpy as np
import pytest
from committed import REPEATS, committed

from aiayn_course.lab.claims.warm_up import (
    POST_FLAT,
    WARM_UP,
    blind_loss,
    layer_gradients,
    schedule,
    warm_up,
)
from aiayn_course.lab.learning import losses, small_model
from aiayn_np.training.loss import LabelSmoothedCrossEntropy
from aiayn_np.training.optimizer import warmup_rate
from aiayn_np.training.tasks import CopyTask


@pytest.fixture(scope="module")
def kept():
    return committed(WARM_UP)


def test_the_high_rate_is_judged_at_that_rate_for_both(kept):
    moved = kept.curves.copy()
    moved[POST_FLAT, kept.high] += 9
    first, second = replace(kept, curves=moved).effects.values()
    assert (first.difference > 8).all()
    assert (second.difference < 8).all()


def test_the_gradient_of_the_last_output_is_that_which_comes_from_the_logits():
    """The last output is multiplied by E^T. Along its gradient a parameter raises the loss so."""
    task, model = CopyTask(max_length=3), small_model(CopyTask(max_length=3), 0, N=2)
    model.astype(np.float64)
    src, tgt_in, tgt_out = task.batch(64, np.random.default_rng([0, 1]))
    criterion = LabelSmoothedCrossEntropy(pad=task.pad)
    _, cache = criterion.forward(model(src, tgt_in), targets=tgt_out)
    last = criterion.backward(1.0, cache) @ model.src_embedding.E.value
    assert layer_gradients(model, task, 0)[2, 1] == pytest.approx(np.linalg.norm(last))
    W, b = (model.decoder.layers[0].feed_forward.linear_1.W, model.decoder.layers[1].feed_forward
            .linear_1.b)
    before = [criterion(model(src, tgt_in), targets=tgt_out)]
    for p in (W, b):
        direction = p.grad / np.linalg.norm(p.grad)
        p.value += 1e-6 * direction
        before.append(criterion(model(src, tgt_in), targets=tgt_out))
    lengths = layer_gradients(model, task, 0)
    assert np.diff(before) / 1e-6 == pytest.approx([lengths[0, 0], lengths[1, 1]], rel=1e-3)


def test_both_schedules_have_one_peak_and_one_decay():
    steps = range(1, 101)
    warm, level = (np.array([schedule(0.5, 20, w)(s) for s in steps]) for w in (True, False))
    eq_3 = np.array([warmup_rate(s, 32, 20) for s in steps])
    np.testing.assert_allclose(warm, 0.5 * eq_3 / eq_3.max())
    np.testing.assert_array_equal(level[19:], warm[19:])
    assert np.all(level[:20] == 0.5)


def test_the_blind_loss_is_that_of_guessing_lengths_and_symbols(rng):
    task = CopyTask(max_length=2)
    # lengths 1 and 2 with 1/4 and 3/4: 1.75 symbols and one end for each sequence
    nats = np.log(4) - 0.75 * np.log(3) + 1.75 * np.log(10)
    assert blind_loss(task) == pytest.approx(nats / 2.75)
    lengths = (CopyTask(max_length=5).batch(1000, rng)[2] > 2).sum(axis=1)
    assert np.bincount(lengths)[5] / 1000 == pytest.approx(9 / 25, abs=0.07)


def test_a_run_that_is_no_longer_finite_is_nan_from_there(seed):
    task = CopyTask(max_length=3)
    rates = lambda step: 0.01 if step < 3 else 1e30  # noqa: E731
    with np.errstate(all="ignore"):
        found = losses(small_model(task, 0), task, 0, steps=8, batch_size=2, schedule=rates)
    assert np.isfinite(found[:3]).all()
    assert np.isnan(found[-1])


@pytest.mark.slow
def test_the_committed_curves_are_those_of_these_models(kept):
    again = warm_up(tuple(kept.peak[:1]), high=kept.peak[0], steps=10, seeds=(0,))
    np.testing.assert_allclose(again.curves[:, 0, 0, 0], kept.curves[:, 0, 0, 0], rtol=REPEATS)
