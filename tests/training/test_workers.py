"""Several threads on one batch: the gradient is that of one, and a run repeats to the bit. Ranks of
MPI are workers too: the same is asked of them, here as threads that exchange what MPI would."""

import copy
import os
import signal
import threading
import time
import warnings
from concurrent.futures import wait

import numpy as np
import pytest
from marks import LINUX
from numpy.testing import assert_array_equal
from threadpoolctl import threadpool_info, threadpool_limits

from aiayn_np import CopyTask, LabelSmoothedCrossEntropy, ReLU, Transformer, train
from aiayn_np.module import Module, leaves
from aiayn_np.training.workers import Workers, replica

CRITERION = LabelSmoothedCrossEntropy(0.1)
each_kind = pytest.mark.parametrize("cls", [Workers])


def small(seed=0, P_drop=0.0, dtype=np.float64):
    model = Transformer(7, N=1, d_model=8, d_ff=12, h=2, P_drop=P_drop,
                        rng=np.random.default_rng(seed))
    return model.astype(dtype)


def batch(rng, lengths):
    """Targets of these lengths, the rest padding."""
    T = max(*lengths, 2)
    tgt = np.where(np.arange(T) < np.array(lengths)[:, None], rng.integers(1, 7, (len(lengths), T)),
                   0)
    return rng.integers(1, 7, (len(lengths), 5)), np.maximum(tgt, 1), tgt


def gradients(model, n, ids, rng=None, cls=Workers):
    """(loss, all gradients in one array) of a batch by n workers."""
    model.zero_grad()
    shares = cls(model, CRITERION, n).gradients(*ids, rng=rng)
    loss = sum(share.weight * share.loss for share in shares)
    return loss, np.concatenate([p.grad.ravel() for p in model.parameters()])


def distance(one, many):
    return max(abs(one[0] - many[0]), np.linalg.norm(one[1] - many[1]) / np.linalg.norm(one[1]))


@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-12), (np.float32, 1e-6)])
@pytest.mark.parametrize("lengths", [
    [9, 2, 1, 7, 3], [3, 4, 0, 0], [0, 0, 0, 5], [6, 1], [4],
], ids=str)
@each_kind
def test_several_workers_compute_what_one_does(rng, dtype, tolerance, lengths, cls):
    """Rows of very different lengths, shares without a target, more workers than rows."""
    model, ids = small(dtype=dtype), batch(rng, lengths)
    one = gradients(model, 1, ids)
    for n in (2, 3):
        assert distance(one, gradients(model, n, ids, cls=cls)) < tolerance


def test_the_plain_mean_of_the_workers_would_be_seen(rng):
    class Mean(Workers):
        def share(self, model, weight, ids, rng):
            return super().share(model, 1 / len(self.models), ids, rng)

    model, ids = small(), batch(rng, [9, 8, 2, 1])
    assert distance(gradients(model, 1, ids), gradients(model, 2, ids, cls=Mean)) > 1e-3


@each_kind
def test_gradients_are_added_to_what_is_there(rng, cls):
    model, ids = small(), batch(rng, [3, 2, 4])
    team = cls(model, CRITERION, 2)
    team.gradients(*ids)
    once = [p.grad.copy() for p in model.parameters()]
    team.gradients(*ids)
    for p, grad in zip(model.parameters(), once, strict=True):
        np.testing.assert_allclose(p.grad, 2 * grad, rtol=0, atol=1e-15)


@each_kind
def test_with_dropout_a_run_repeats_to_the_bit_and_workers_draw_apart(rng, cls):
    ids = batch(rng, [4, 4])
    ids = tuple(np.repeat(x[:1], 2, axis=0) for x in ids)              # two rows that are alike
    model = small(P_drop=0.5)
    first, second = (gradients(model, 2, ids, np.random.default_rng(3), cls) for _ in range(2))
    assert first[0] == second[0]
    assert_array_equal(first[1], second[1])
    shares = cls(model, CRITERION, 2).gradients(*ids, rng=np.random.default_rng(3))
    assert shares[0].loss != shares[1].loss
    generator = np.random.default_rng(3)
    assert gradients(model, 2, ids, generator, cls)[0] != gradients(
        model, 2, ids, generator, cls)[0]


@each_kind
def test_the_generator_is_left_alone_without_dropout(rng, cls):
    generator = np.random.default_rng(5)
    before = copy.deepcopy(generator.bit_generator.state)
    gradients(small(), 2, batch(rng, [3, 4]), generator, cls)
    assert generator.bit_generator.state == before


def test_a_replica_shares_values_and_nothing_else(rng):
    model = small()
    twin = replica(model)
    names = dict(model.named_parameters())
    for name, parameter in twin.named_parameters():
        assert parameter is not names[name]
        assert parameter.value is names[name].value
        assert not np.shares_memory(parameter.grad, names[name].grad)
    assert twin.tgt_embedding.E is twin.src_embedding.E


@each_kind
def test_replicas_follow_a_value_that_was_assigned_or_cast(rng, cls):
    model, ids = small(), batch(rng, [3, 1, 5])
    team = cls(model, CRITERION, 2)
    team.gradients(*ids)
    for change in (lambda p: setattr(p, "value", p.value * 0.9), lambda p: None):
        for p in model.parameters():
            change(p)
        model.astype(np.float32)
        model.zero_grad()
        team.gradients(*ids)
        got = np.concatenate([p.grad.ravel() for p in model.parameters()])
        assert {p.grad.dtype for pair in team.parameters for p in pair} == {np.dtype("float32")}
        expected = gradients(model, 1, ids)[1]
        assert np.linalg.norm(got - expected) < 1e-6 * np.linalg.norm(expected)


def losses(workers, steps=6, P_drop=0.0, **options):
    rng = np.random.default_rng(1)
    model = small(P_drop=P_drop)
    task = CopyTask(symbols=4, max_length=5)
    done = train(model, task, steps=steps, batch_size=7, rng=rng, validation_size=20,
                 workers=workers, **options)
    return [p.loss for p in done]


def test_training_with_two_workers_is_training_with_one():
    np.testing.assert_allclose(losses(2), losses(1), rtol=1e-10)
    assert losses(2, P_drop=0.3) == losses(2, P_drop=0.3)


@each_kind
def test_an_error_in_a_worker_comes_out(rng, cls):
    src, tgt_in, tgt_out = batch(rng, [3, 4])
    src[1, 0] = 7
    with pytest.raises(IndexError, match="vocab_size=7"):
        cls(small(), CRITERION, 2).gradients(src, tgt_in, tgt_out)


@each_kind
def test_a_batch_without_a_target_is_refused_as_by_one_worker(rng, cls):
    for n in (1, 2):
        with pytest.raises(ValueError, match="at least one id that is not pad=0"):
            cls(small(), CRITERION, n).gradients(*batch(rng, [0, 0]))


@pytest.mark.parametrize(("n", "error"), [(0, ValueError), (1.5, TypeError), ("2", TypeError)])
@each_kind
def test_a_wrong_number_of_workers_is_refused(n, error, cls):
    with pytest.raises(error, match="workers"):
        cls(small(), CRITERION, n)


def test_workers_take_no_more_threads_of_blas_than_the_user_allows():
    with threadpool_limits(1, user_api="blas"):
        assert Workers(small(), CRITERION, 2).blas_threads == 1


def blas_threads(loss_cache=None):
    return {lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == "blas"}


@each_kind
def test_each_worker_has_its_part_of_the_processors(rng, monkeypatch, cls):
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    with threadpool_limits(2, user_api="blas"):
        if blas_threads() != {2}:
            pytest.skip("this BLAS cannot have two threads")
        shares = cls(small(), CRITERION, 2, blas_threads).gradients(*batch(rng, [3, 4]))
        assert [share.scores for share in shares] == [{1}, {1}]
        assert blas_threads() == {2}


@each_kind
def test_workers_run_under_the_callers_rules_for_warnings(rng, cls):
    ids = batch(rng, [3, 4])
    model = small()
    model.src_embedding.E.value[:] = 1e200
    with np.errstate(all="ignore"):
        cls(model, CRITERION, 2).gradients(*ids)
    with pytest.raises((RuntimeWarning, FloatingPointError)), np.errstate(all="raise"):
        cls(model, CRITERION, 2).gradients(*ids)


@pytest.mark.parametrize("interruption", [KeyboardInterrupt, SystemExit, TimeoutError])
def test_an_interrupted_step_leaves_no_thread_that_writes(rng, monkeypatch, interruption):
    """Ctrl-C, or what else a signal handler raises, comes twice, in the middle of a forward."""
    model, ids = small(), batch(rng, [5, 4, 3, 2])
    team, started = Workers(model, CRITERION, 2), threading.Barrier(3)
    ended, share, presses = [], Workers.share, []

    def slowly(self, *job):
        started.wait()
        time.sleep(0.2)
        ended.append(share(self, *job))
        return ended[-1]

    def interrupted(futures):
        if not presses:
            started.wait()
        if len(presses) < 2:
            presses.append("Ctrl-C")
            raise interruption
        return wait(futures)

    monkeypatch.setattr(Workers, "share", slowly)
    monkeypatch.setattr("aiayn_np.training.workers.wait", interrupted)
    with pytest.raises(interruption):
        team.gradients(*ids, rng=np.random.default_rng(1))
    assert len(ended) == 2


def test_an_interruption_before_all_threads_have_work_starts_none(rng, monkeypatch):
    model, ids = small(), batch(rng, [5, 4, 3, 2])
    team, worked = Workers(model, CRITERION, 2), []
    monkeypatch.setattr(Workers, "share", lambda self, *job: worked.append(job))
    submit, calls = team.threads.submit, []

    def interrupted(*job):
        calls.append(submit(*job))
        raise KeyboardInterrupt

    monkeypatch.setattr(team.threads, "submit", interrupted)
    with pytest.raises(KeyboardInterrupt):
        team.gradients(*ids)
    assert calls[0].result(timeout=5) == []
    assert worked == []


def new_eps(model):
    model.encoder.layers[0].add_norm_1.layer_norm.eps = 0.5


def new_forward(model):
    layer = model.decoder.layers[0].feed_forward
    forward = layer.forward
    layer.forward = lambda x, **options: forward(2 * x, **options)


def new_layer(model):
    model.encoder.layers[0].self_attention.attention.softmax = ReLU()


@pytest.mark.parametrize("change", [new_eps, new_forward, new_layer])
def test_what_is_replaced_in_the_model_is_replaced_in_a_running_team(rng, change):
    model, ids = small(), batch(rng, [5, 4, 3, 2])
    team = Workers(model, CRITERION, 2)
    team.gradients(*ids)
    change(model)
    alone = gradients(copy.deepcopy(model), 1, ids)
    model.zero_grad()
    shares = team.gradients(*ids)
    loss = sum(share.weight * share.loss for share in shares)
    together = np.concatenate([p.grad.ravel() for p in model.parameters()])
    assert distance(alone, (loss, together)) < 1e-12


def test_a_backward_that_was_replaced_on_an_object_is_refused():
    model = small()
    team, layer = Workers(model, CRITERION, 2), model.encoder.layers[0].feed_forward
    layer.backward = layer.backward
    with pytest.raises(ValueError, match=r"feed_forward\.backward was replaced on the object"):
        Workers(model, CRITERION, 2)
    with pytest.raises(ValueError, match="replace it on the class"):
        team.prepare()


@each_kind
def test_a_changed_rate_of_dropout_is_honoured_by_a_running_team(rng, cls):
    found, ids = [], batch(rng, [5, 4, 3, 2])
    for late in (False, True):
        model = small(P_drop=0.0 if late else 0.5)
        team = cls(model, CRITERION, 2)
        if late:
            team.gradients(*ids, rng=np.random.default_rng(1))
            model.zero_grad()
            for (_, layer), (_, other) in zip(leaves(model, Module),
                                              leaves(small(P_drop=0.5), Module)):
                layer.__dict__ |= {k: v for k, v in vars(other).items() if k == "P_drop"}
        team.gradients(*ids, rng=np.random.default_rng(1))
        found.append([p.grad.copy() for p in model.parameters()])
    for a, b in zip(*found):
        np.testing.assert_array_equal(a, b)


@LINUX
@each_kind
def test_a_team_in_a_forked_child_is_an_error_and_no_hang(rng, cls):
    model, ids = small(), batch(rng, [5, 4, 3, 2])
    team = cls(model, CRITERION, 2)
    team.gradients(*ids)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if not child:
        try:
            team.gradients(*ids)
        except RuntimeError as error:
            os._exit(7 if "in the process that made them" in str(error) else 1)
        os._exit(0)
    for _ in range(500):
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            break
        time.sleep(0.02)
    else:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 7
