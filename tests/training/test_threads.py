"""The threads of BLAS: one around the steps of all training, the caller's number in between."""

import numpy as np
import pytest
from threadpoolctl import threadpool_limits
from threads import now

from aiayn_course.lab.learning import learn
from aiayn_np import CopyTask, Transformer, train
from aiayn_np.training.threads import VARIABLES, user_threads

SIZES = dict(N=1, d_model=8, d_ff=12, h=2)


class Watched(CopyTask):
    """A copy task that notes the threads of BLAS whenever a batch is drawn."""

    def __init__(self):
        super().__init__(symbols=4, max_length=4)
        self.seen = []

    def batch(self, n, rng):
        self.seen.append(now())
        return super().batch(n, rng)


@pytest.fixture
def two(monkeypatch):
    """A caller with two threads of BLAS, whose environment asks for nothing."""
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    with threadpool_limits(2, user_api="blas"):
        if now() != 2:
            pytest.skip("this BLAS cannot have two threads")
        yield


def steps(task, **options):
    rng = np.random.default_rng(0)
    model = Transformer(task.vocab_size, **SIZES, rng=rng)
    options = dict(steps=4, batch_size=3, rng=rng, validate_every=2, validation_size=4) | options
    return train(model, task, **options)


@pytest.mark.parametrize(("threads", "variable", "inside"), [
    (None, None, 1), (2, None, 2), (9, None, 2), (None, "2", 2), (1, "2", 1), (None, "no", 1),
    (None, "", 1), (None, "2,1", 2),
])
def test_steps_have_their_threads_and_the_caller_its_own(two, monkeypatch, threads, variable,
                                                         inside):
    """No more than the caller has: 9 are 2."""
    if variable is not None:
        monkeypatch.setenv("OMP_NUM_THREADS", variable)
    task = Watched()
    for _ in steps(task, threads=threads):
        assert now() == 2
    assert task.seen == [inside] * 4
    assert now() == 2


def test_validation_and_the_rate_are_inside_too(two, monkeypatch):
    seen = []
    monkeypatch.setattr("aiayn_np.training.toys.validate", lambda *_, **__: seen.append(now()))
    list(steps(Watched(), schedule=lambda step: seen.append(now()) or 0.0))
    assert seen == [1] * 6


def test_the_callers_number_holds_after_a_break_an_error_and_before_the_first_step(two):
    training = steps(Watched())
    assert now() == 2
    for _ in training:
        break
    assert now() == 2
    training.close()
    assert now() == 2
    with pytest.raises(ZeroDivisionError):
        list(steps(Watched(), schedule=lambda step: 1 / 0))
    assert now() == 2


def test_an_experiment_trains_on_one_thread(two):
    rng, task = np.random.default_rng(0), Watched()
    model = Transformer(task.vocab_size, **SIZES, rng=rng)
    list(learn(model, task, 0, steps=2, batch_size=2))
    assert task.seen == [1] * 2
    assert now() == 2


def test_the_first_variable_that_is_set_counts(monkeypatch):
    for n, name in enumerate(VARIABLES, 3):
        monkeypatch.setenv(name, str(n))
    assert user_threads() == 3
    monkeypatch.delenv("OPENBLAS_NUM_THREADS")
    assert user_threads() == 4


@pytest.mark.parametrize(("threads", "error", "message"), [
    (0, ValueError, "threads must be at least 1, got threads=0"),
    (1.5, TypeError, r"threads must be an integer, got threads=1\.5")])
def test_a_number_of_threads_is_checked_at_once(threads, error, message):
    with pytest.raises(error, match=message):
        steps(Watched(), threads=threads)
