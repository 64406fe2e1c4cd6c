"""Ranks of MPI, here as threads that exchange what MPI would send (test_mpi.py starts real ones):
the gradient is that of one process, all ranks hold the same, and a run repeats to the bit."""

import copy
from collections import deque
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from small_batches import CRITERION, batch, gradient_by, small
from thread_ranks import together

from aiayn_np import Adam, CopyTask, train
from aiayn_np.text.batches import Batches
from aiayn_np.text.measures import loss_on
from aiayn_np.training import ranks as module
from aiayn_np.training.loop import token_nats
from aiayn_np.training.ranks import ALONE, launched
from aiayn_np.training.shares import Shares
from aiayn_np.training.toys import share_exact, validate


def by_ranks(model, n, ids, seed=None, accumulate=1, cls=Shares):
    """[(mean nats, all gradients, generator) of every rank] of a batch."""
    def program(ranks):
        rng = None if seed is None else np.random.default_rng(seed)
        nats, grads = gradient_by(copy.deepcopy(model), ids, cls(0, ranks, accumulate), rng)
        return nats, grads, rng and rng.bit_generator.state

    return together(n, program)


def alone(model, ids):
    model = copy.deepcopy(model)
    optimizer = Adam(model)
    optimizer.zero_grad()
    src, tgt_in, tgt_out = ids
    logits, cache = model.forward(src, tgt_in)
    _, loss_cache = CRITERION.forward(logits, targets=tgt_out)
    model.backward(CRITERION.backward(1.0, loss_cache), cache)
    return token_nats(loss_cache), optimizer.gradients()


@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-12), (np.float32, 1e-6)])
@pytest.mark.parametrize(("n", "accumulate"), [
    *((n, accumulate) for n in (1, 2, 3, 4, 8) for accumulate in (1, 2)), (1, 3), (1, 9)])
@pytest.mark.parametrize("lengths", [
    [9, 2, 1, 7, 3, 1, 4, 8], [0, 0, 0, 0, 5, 3, 0, 1], [4]], ids=str)
def test_any_number_of_ranks_computes_what_one_process_does(rng, n, accumulate, lengths, dtype,
                                                            tolerance):
    """Rows of very different lengths, shares without a target, more shares than rows; without
    dropout the generators stay where they were."""
    model, ids = small(dtype=dtype), batch(rng, lengths)
    loss, grads = alone(model, ids)
    for got, their, state in by_ranks(model, n, ids, seed=3, accumulate=accumulate):
        assert abs(got - loss) < tolerance
        assert np.linalg.norm(their - grads) < tolerance * np.linalg.norm(grads)
        assert state == np.random.default_rng(3).bit_generator.state


def test_with_dropout_all_ranks_hold_the_same_and_a_batch_repeats_to_the_bit(rng):
    """One share has no target: its rank draws nothing, and goes on as the others do."""
    model, ids = small(P_drop=0.5), batch(rng, [4, 4, 0, 0, 3, 5])
    first, second = by_ranks(model, 3, ids, seed=3), by_ranks(model, 3, ids, seed=3)
    for loss, grads, state in first + second:
        assert loss == first[0][0]
        assert_array_equal(grads, first[0][1])
        assert state == first[0][2] != np.random.default_rng(3).bit_generator.state
    assert by_ranks(model, 3, ids, seed=4)[0][0] != first[0][0]


def test_a_gradient_that_was_assigned_is_summed_too(rng):
    model, ids = small(), batch(rng, [3, 4])
    _, grads = alone(model, ids)

    class Assigned(Shares):
        def joined(self, optimizer):
            E = optimizer.parameters[0]
            E.grad = E.grad.copy()
            return super().joined(optimizer)

    for _, got, _ in by_ranks(model, 2, ids, cls=Assigned):
        assert np.linalg.norm(got - grads) < 1e-12 * np.linalg.norm(grads)


def trained(n, accumulate=1):
    """[(losses, validations, values)] of a training on a task, one of each rank."""
    def program(ranks=ALONE):
        rng, recent = np.random.default_rng(1), deque(maxlen=5)
        model = small()
        done = list(train(model, CopyTask(symbols=4, max_length=5), steps=8, batch_size=7,
                          rng=rng, validation_size=20, validate_every=4, accumulate=accumulate,
                          ranks=ranks, recent=recent))
        return ([p.loss for p in done], [p.validation for p in done],
                np.concatenate([p.value.ravel() for p in model.parameters()]))

    return [program()] if n == 1 else together(n, program)


@pytest.mark.parametrize(("n", "accumulate"), [(2, 1), (3, 1), (1, 2), (1, 7), (1, 9)])
def test_training_on_ranks_or_in_shares_is_training_alone(n, accumulate):
    ((losses, validations, values),) = trained(1)
    for theirs in trained(n, accumulate):
        np.testing.assert_allclose(theirs[0], losses, rtol=1e-10)
        assert theirs[1] == validations
        np.testing.assert_allclose(theirs[2], values, atol=1e-9)


def test_the_plain_mean_of_the_shares_would_be_seen(rng):
    class Mean(Shares):
        def of(self, *batch):
            return [replace(one, weight=1 / self.ranks.size) for one in super().of(*batch)]

        def joined(self, optimizer):
            self.ranks.sum_in_place(optimizer.gradients())
            return 0.0, 0.0, ""

    model, ids = small(), batch(rng, [9, 8, 2, 1])
    _, grads = alone(model, ids)
    for _, their, _ in by_ranks(model, 2, ids, cls=Mean):
        assert np.linalg.norm(their - grads) > 1e-3 * np.linalg.norm(grads)


def test_shares_draw_apart(rng):
    """Two rows that are alike, each a share of its own, and dropout."""
    ids = tuple(np.repeat(x[:1], 2, axis=0) for x in batch(rng, [4, 4]))
    losses = []

    class Seen(Shares):
        def joined(self, optimizer):
            losses.extend(one.loss for one in self.mine)
            return super().joined(optimizer)

    by_ranks(small(P_drop=0.5), 1, ids, seed=3, accumulate=2, cls=Seen)
    assert losses[0] != losses[1]


def test_a_batch_without_a_target_is_refused_as_in_one_share(rng):
    for k in (1, 2):
        with pytest.raises(ValueError, match="at least one id that is not pad=0"):
            by_ranks(small(), 1, batch(rng, [0, 0]), accumulate=k)


def test_a_share_that_is_not_finite_is_looked_into():
    model = small()
    model.src_embedding.E.value[:] *= 1e200
    steps = train(model, CopyTask(symbols=4, max_length=5), steps=3, batch_size=4, accumulate=2,
                  rng=np.random.default_rng(0))
    message = "step 1: loss nan, first tensor that is not finite: cache.encoder"
    with np.errstate(all="ignore"), pytest.raises(FloatingPointError, match=message):
        next(steps)


def test_validation_is_shared_out():
    """Each rank decodes its part, more ranks than rows included, and all get the same share."""
    model, task = small(), CopyTask(symbols=4, max_length=5)
    seen: list[int] = []

    def right_for_even(src, tgt_in):
        """Logits that are right for rows whose first symbol is not 4."""
        seen.append(len(src))
        tgt_out = np.pad(tgt_in[:, 1:], ((0, 0), (0, 1)))
        ends = (tgt_in != 0).sum(axis=1) - 1
        tgt_out[np.arange(len(src)), ends] = task.eos
        return np.eye(7)[np.where(src[:, :1] == 4, 1, tgt_out)]

    right_for_even.pad = 0
    batch = task.validation(30)
    want = validate(right_for_even, task, batch, chunk=9)
    assert 0 < want < 1
    for n in (2, 16):
        seen.clear()
        assert together(n, lambda ranks: validate(right_for_even, task, batch, 9, ranks)) == [
            want] * n
        assert max(seen) <= -(-9 // n)
    exact = share_exact(model, batch, bos=task.bos, eos=task.eos)
    assert together(3, lambda ranks: share_exact(
        model, batch, ranks, bos=task.bos, eos=task.eos)) == [exact] * 3


def test_the_validation_loss_of_text_is_shared_out(rng):
    pairs = [tuple(rng.integers(4, 7, rng.integers(2, 6)) for _ in range(2)) for _ in range(9)]
    batches, model = Batches(pairs, 12, 0), small()
    want = loss_on(model, batches)
    assert batches.per_epoch > 2
    assert together(3, lambda ranks: loss_on(model, copy.deepcopy(batches), ranks)) == [
        pytest.approx(want, rel=1e-13)] * 3


def test_an_error_in_a_rank_comes_out(rng):
    ids = batch(rng, [3, 4])
    ids[0][1, 0] = 7
    with pytest.raises(IndexError, match="vocab_size=7"):
        by_ranks(small(), 2, ids)


@pytest.mark.parametrize("given", [2, 0, "2", 1.5, None, type("Comm", (), {"Allreduce": print})()])
def test_ranks_are_ranks_and_no_number_or_communicator(given):
    message = "ranks must be what launched.. returns, or Ranks.*, got ranks=.*mpiexec -n starts"
    with pytest.raises(TypeError, match=message):
        train(small(), CopyTask(symbols=4), steps=1, rng=np.random.default_rng(0), ranks=given)


@pytest.mark.parametrize("size", ["PMI_SIZE", "OMPI_COMM_WORLD_SIZE"])
def test_mpiexec_without_mpi4py_is_an_error(monkeypatch, size):
    monkeypatch.setitem(module.sys.modules, "mpi4py", None)            # as if it were not installed
    assert launched() is ALONE
    monkeypatch.setenv(size, "1")
    assert launched() is ALONE
    monkeypatch.setenv(size, "4")
    with pytest.raises(ImportError, match=r"mpiexec has started 4 .*pip install mpi4py mpich"):
        launched()
