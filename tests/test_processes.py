"""Workers that are processes: to the bit what threads compute, and nothing is left behind."""

import gc
import multiprocessing
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from test_workers import CRITERION, LINUX, batch, gradients, losses, small

from aiayn_np import CopyTask, Linear, train
from aiayn_np.processes import WORKERS, ProcessWorkers, make_team
from aiayn_np.workers import Workers

pytestmark = LINUX


def alive(pid):
    """Whether a process still runs; one that nobody has waited for does not."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def until_gone(pids, seconds=20):
    """The processes that are still there after some seconds."""
    end = time.monotonic() + seconds
    while (left := [pid for pid in pids if alive(pid)]) and time.monotonic() < end:
        time.sleep(0.02)
    return left


class Telling(ProcessWorkers):
    """Its shares' scores are the number of the process that made them."""

    def __init__(self, model, criterion, n=2):
        super().__init__(model, criterion, n, lambda loss_cache: os.getpid())

    def pids(self, ids):
        return [share.scores for share in self.gradients(*ids)]


@pytest.mark.parametrize("P_drop", [0.0, 0.4])
@pytest.mark.parametrize("n", [2, 3])
def test_processes_compute_to_the_bit_what_threads_do(rng, n, P_drop):
    model, ids = small(P_drop=P_drop, dtype=np.float32), batch(rng, [9, 2, 0, 7, 3, 1])
    loss, grad = gradients(model, n, ids, np.random.default_rng(2))
    loss_, grad_ = gradients(model, n, ids, np.random.default_rng(2), ProcessWorkers)
    assert loss == loss_
    assert_array_equal(grad, grad_)


def test_the_generator_goes_on_where_only_another_process_drew_from_its_own(rng):
    ids = batch(rng, [0, 0, 3, 4])
    states = []
    for cls in (Workers, ProcessWorkers):
        generator = np.random.default_rng(5)
        gradients(small(P_drop=0.5), 2, ids, generator, cls)
        states.append(generator.bit_generator.state)
    assert states[0] == states[1] != np.random.default_rng(5).bit_generator.state


def test_a_training_is_the_same_and_says_the_same():
    assert losses(2, workers_as="processes", P_drop=0.3) == losses(2, P_drop=0.3)


def test_each_share_is_made_in_a_process_of_its_own_and_the_processes_stay(rng):
    team, ids = Telling(small(), CRITERION, 3), batch(rng, [3, 4, 2])
    pids = team.pids(ids)
    assert pids[0] == os.getpid()
    assert len(set(pids)) == 3
    assert team.pids(ids) == pids


def test_they_end_with_the_team(rng):
    team, ids = Telling(small(), CRITERION, 3), batch(rng, [3, 4, 2])
    others = team.pids(ids)[1:]
    assert all(map(alive, others))
    del team
    gc.collect()
    assert not any(map(alive, others))


def test_after_an_error_the_next_batch_is_right(rng):
    """The error may be here, in the other process, or a Ctrl-C while its answer is on the way."""
    model, ids = small(), batch(rng, [3, 4])
    want = gradients(model, 2, ids)[1]
    model.zero_grad()
    team = ProcessWorkers(model, CRITERION, 2)
    for row, error in ((0, IndexError), (1, IndexError), (None, KeyboardInterrupt)):
        wrong = [x.copy() for x in ids]
        if row is None:
            team.share = interrupted
        else:
            wrong[0][row, 0] = 7
        with pytest.raises(error):
            team.gradients(*wrong)
        vars(team).pop("share", None)
        model.zero_grad()
        team.gradients(*ids)
        assert_array_equal(np.concatenate([p.grad.ravel() for p in model.parameters()]), want)


def interrupted(*job):
    raise KeyboardInterrupt


def test_an_error_tells_the_line_in_the_other_process(rng):
    ids = batch(rng, [3, 4])
    ids[0][1, 0] = 7
    with pytest.raises(IndexError, match="vocab_size=7") as caught:
        ProcessWorkers(small(), CRITERION, 2).gradients(*ids)
    assert "in the process of a worker:\nTraceback" in str(caught.value.__cause__)
    assert "in check_ids" in str(caught.value.__cause__)


class Unsendable(Exception):
    def __init__(self, a, b):
        super().__init__(f"{a} and {b}")


def test_an_error_that_cannot_be_sent_is_told(rng):
    class Failing(ProcessWorkers):
        def share(self, model, *job):
            if model is not self.models[0]:
                raise Unsendable("this", "that")
            return super().share(model, *job)

    with pytest.raises(RuntimeError, match=r"Unsendable\('this and that'\)"):
        Failing(small(), CRITERION, 2).gradients(*batch(rng, [3, 4]))


def test_a_process_that_is_killed_is_an_error_and_the_next_batch_begins_another(rng):
    team, ids = Telling(small(), CRITERION), batch(rng, [3, 4])
    for wait in (False, True):
        _, other = team.pids(ids)
        os.kill(other, signal.SIGKILL)
        if wait:
            assert until_gone([other]) == []
        with pytest.raises(RuntimeError, match="the process of a worker has ended"):
            team.pids(ids)
        here, another = team.pids(ids)
        assert here == os.getpid()
        assert another != other


def test_ctrl_c_is_for_the_first_process_alone(rng):
    team, ids = Telling(small(), CRITERION), batch(rng, [3, 4])
    pids = team.pids(ids)
    os.kill(pids[1], signal.SIGINT)
    assert team.pids(ids) == pids


def test_of_two_teams_the_older_can_end_first(rng):
    ids = batch(rng, [3, 4])
    a, b = Telling(small(), CRITERION), Telling(small(1), CRITERION)
    older, newer = a.pids(ids)[1], b.pids(ids)[1]
    for pipe in a.pipes.values():                   # the first thing that its end does
        pipe.close()
    assert until_gone([older]) == []
    assert b.pids(ids)[1] == newer


def test_a_layer_may_assign_its_gradient_instead_of_adding_to_it(rng):
    class Assigning(Linear):
        def backward(self, grad_y, cache):
            grad_x = super().backward(grad_y, cache)
            self.W.grad = self.W.grad + 0.0
            return grad_x

    model, ids = small(), batch(rng, [3, 4])
    model.encoder.layers[0].feed_forward.linear_1 = Assigning(8, 12, rng=rng)
    team = ProcessWorkers(model, CRITERION, 2)
    for _ in range(2):
        want = gradients(model, 2, ids)[1]
        model.zero_grad()
        team.gradients(*ids)
        assert_array_equal(np.concatenate([p.grad.ravel() for p in model.parameters()]), want)


def test_a_team_that_cannot_begin_leaves_no_process(rng, monkeypatch):
    team, ids = Telling(small(), CRITERION, 3), batch(rng, [3, 4, 2])
    started, fork = [], multiprocessing.context.ForkProcess.start

    def start(process):
        if started:
            raise BlockingIOError("no more processes")
        fork(process)
        started.append(process.pid)

    monkeypatch.setattr(multiprocessing.context.ForkProcess, "start", start)
    with pytest.raises(BlockingIOError):
        team.pids(ids)
    assert len(started) == 1
    assert not alive(started[0])
    monkeypatch.undo()
    assert len(set(team.pids(ids))) == 3


def test_what_is_not_finite_is_looked_for_in_the_right_worker():
    model = small()
    model.decoder.layers[0].feed_forward.linear_1.W.value[0, 0] = np.nan
    steps = train(model, CopyTask(symbols=4, max_length=5), steps=3, batch_size=4, workers=2,
                  workers_as="processes", rng=np.random.default_rng(0))
    with pytest.raises(FloatingPointError, match="first tensor that is not finite: decoder"):
        next(steps)
    team = ProcessWorkers(small(), CRITERION, 2)
    ids = batch(np.random.default_rng(0), [3, 4])
    assert [share.cache is None for share in team.gradients(*ids)] == [False, True]
    team.models[0].src_embedding.E.value[:] = np.nan
    assert [share.cache is None for share in team.gradients(*ids)] == [False, False]


def test_the_rules_for_warnings_are_those_of_the_moment(rng):
    model, ids = small(), batch(rng, [3, 4])
    team = ProcessWorkers(model, CRITERION, 2)
    team.gradients(*ids)
    model.src_embedding.E.value[:] = 1e200
    with np.errstate(all="ignore"):
        team.gradients(*ids)


def test_a_team_is_of_a_kind_that_there_is(monkeypatch):
    assert {k: type(make_team(small(), CRITERION, 1, k, None)) for k in WORKERS} == {
        "threads": Workers, "processes": ProcessWorkers}
    with pytest.raises(ValueError, match="workers_as must be one of threads, processes, got 'gpu'"):
        make_team(small(), CRITERION, 2, "gpu", None)
    monkeypatch.setattr("sys.platform", "darwin")
    assert ProcessWorkers(small(), CRITERION, 1)
    with pytest.raises(ValueError, match="'processes' needs Linux, this is darwin"):
        ProcessWorkers(small(), CRITERION, 2)


PROGRAM = """
import signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.path.insert(0, sys.argv[1])
import numpy as np
from test_processes import Telling, CRITERION, batch, small
team = Telling(small(), CRITERION, 3)
print(*team.pids(batch(np.random.default_rng(0), [3, 4, 2])), flush=True)
"""


@pytest.mark.parametrize("end", ["normal", "kill", "Ctrl-C"])
def test_none_is_left_when_the_program_ends(pytestconfig, end):
    """However it ends: by itself, by kill -9, or by Ctrl-C, which all processes get."""
    program = PROGRAM + {"normal": "", "kill": "time.sleep(60)", "Ctrl-C": "time.sleep(60)"}[end]
    run = subprocess.Popen([sys.executable, "-c", program, str(pytestconfig.rootpath / "tests")],
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                           start_new_session=True)
    pids = [int(pid) for pid in run.stdout.readline().split()]
    assert len(pids) == 3
    if end == "kill":
        run.kill()
    if end == "Ctrl-C":
        os.killpg(run.pid, signal.SIGINT)
    _, err = run.communicate(timeout=30)
    assert until_gone(pids) == []
    assert err.count("Traceback") == (end == "Ctrl-C"), err
