"""Interruptions and damage, in numbers: no save that is killed loses a checkpoint, and no damaged
file is read as if it were whole.

    python -m pytest -n 0 -m slow tests/runs/test_kills.py -s
"""

import contextlib
import io
import json
import os
import pickle
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from same_run import read_checkpoint
from test_checkpoint import build, everything
from test_checkpoint import run as go_on

from aiayn_course.cli.main import main
from aiayn_np import CheckpointError, load_checkpoint, save_checkpoint
from aiayn_np.runs.run import Run

pytestmark = pytest.mark.slow
POSIX = pytest.mark.skipif(os.name != "posix", reason="kill -9 is a signal")

SAVER = """
import sys
import numpy as np
from aiayn_np import Adam, Transformer, save_checkpoint
rng = np.random.default_rng(int(sys.argv[2]))
model = Transformer(11, N=1, d_model=64, d_ff=256, h=2, rng=rng)
adam = Adam(model.parameters())
save_checkpoint(sys.argv[1], model, optimizer=adam, rng=rng)
print("saved", flush=True)
while True:
    adam.t += 1
    for p, m, v in zip(adam.parameters, adam.m, adam.v):
        p.value[...], m[...], v[...] = adam.t, adam.t, adam.t
    rng.random()
    save_checkpoint(sys.argv[1], model, optimizer=adam, rng=rng)
"""
TINY = ["--symbols", "4", "--max-length", "4", "--d-model", "8", "--d-ff", "12", "--h", "2",
        "--N", "1", "--batch-size", "4", "--P-drop", "0.1", "--seed", "5"]


def quietly(*argv):
    """A command that goes well, without what it prints."""
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        assert main(argv) == 0


def killed_after(command, ready, wait):
    """Start a program, wait for `ready()`, then `wait` seconds, then kill -9; its exit code."""
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "1"}
    child = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment
    )
    try:
        ready(child)
        time.sleep(wait)
    finally:
        child.kill()                                                   # SIGKILL: no handler runs
        child.communicate()
    return child.returncode


@POSIX
def test_a_hundred_kills_during_saving_leave_a_hundred_readable_checkpoints(tmp_path, rng):
    """Each is one save, whole: parameters, moments, step and generator belong together."""
    path, readable, steps, halves, kills = tmp_path / "a.npz", 0, set(), 0, 100

    def ready(child):
        assert child.stdout.readline() == b"saved\n"

    for i in range(kills):
        command = [sys.executable, "-c", SAVER, str(path), str(i)]
        assert killed_after(command, ready, rng.uniform(0, 0.03)) == -signal.SIGKILL
        header, arrays = read_checkpoint(path)
        if header["step"]:
            assert all((a == header["step"]).all() for a in arrays.values())
        steps.add(header["step"])
        readable += 1
        halves += len(list(tmp_path.glob(".*.part"))) > 0
        for part in tmp_path.glob(".*.part"):
            part.unlink()
    print(f"\n{readable} of {kills} readable; {halves} were killed in the middle of a file,"
          f" after {min(steps)} to {max(steps)} saves")
    assert readable == kills
    assert halves >= kills // 4                                        # the kills do hit saves


@POSIX
def test_a_save_in_place_would_not_survive_this(tmp_path, rng):
    """The same kills with np.savez straight to the path: what the test above is able to see."""
    path, lost = tmp_path / "a.npz", 0
    saver = SAVER.replace(
        "import sys", "import sys, contextlib, aiayn_np.runs.checkpoint as c\n"
        "c.replacing = lambda path: contextlib.closing(open(path, 'wb'))", 1
    )
    for i in range(10):
        command = [sys.executable, "-c", saver, str(path), str(i)]
        killed_after(command, lambda child: child.stdout.readline(), rng.uniform(0, 0.03))
        try:
            read_checkpoint(path)
        except CheckpointError:
            lost += 1
    print(f"\nin place: {lost} of 10 lost")
    assert lost


@POSIX
def test_a_training_that_is_killed_resumes_to_the_same_run_as_one_that_is_not(
    tmp_path, rng, monkeypatch
):
    monkeypatch.setattr(Run, "draw", lambda self: [])
    whole, out = tmp_path / "whole", tmp_path / "killed"
    steps = 500
    argv = ["train", "copy", *TINY, "--steps", str(steps)]
    quietly(*argv, "--out", str(whole))
    resume = ["train", "copy", "--resume", "--out", str(out)]
    stopped_at = []

    def step():
        path = out / "model.npz"
        return read_checkpoint(path)[0]["step"] if path.exists() else 0

    def has_a_new_checkpoint(child):
        seen = step()
        while child.poll() is None and step() == seen:
            time.sleep(0.002)

    for _ in range(10):
        command = [sys.executable, "-m", "aiayn_course", *(
            resume if stopped_at else [*argv, "--out", str(out)])]
        code = killed_after(command, has_a_new_checkpoint, rng.uniform(0, 0.1))
        if code != -signal.SIGKILL:                                    # it was faster
            break
        run = Run.open(out)                                            # readable after every kill
        assert [p.step for p in run.history] == [*range(1, run.optimizer.t + 1)]
        stopped_at.append(run.optimizer.t)
    print(f"\n{len(stopped_at)} of {len(stopped_at)} killed trainings readable, at steps"
          f" {stopped_at}")
    assert len(set(stopped_at)) > 2
    if Run.open(out).optimizer.t < steps:
        quietly(*resume)
    (header, arrays), (want_header, want) = (
        read_checkpoint(f / "model.npz") for f in (out, whole))
    assert header == want_header
    for name in want.keys() - {"history/seconds"}:
        np.testing.assert_array_equal(arrays[name], want[name])


@pytest.mark.parametrize("file", [0, 1, 2])
def test_an_end_between_the_files_of_a_save_leaves_no_hole_in_what_a_run_keeps(
    file, tmp_path, monkeypatch
):
    """The second save ends before its first, second or third file takes its place."""
    out, moved, replace = tmp_path / "r", [], os.replace

    def end(*paths):
        moved.append(paths)
        if len(moved) == 4 + file:
            raise KeyboardInterrupt
        replace(*paths)

    monkeypatch.setattr(os, "replace", end)
    argv = ["train", "copy", *TINY, "--steps", "120", "--out", str(out)]
    with contextlib.redirect_stderr(io.StringIO()):
        assert main(argv) == 1
    run = Run.open(out)
    assert run.optimizer.t < 120
    assert [p.step for p in run.history] == [*range(1, run.optimizer.t + 1)]


def read_or_refuse(path, content, model, adam, rng):
    """True if the content is refused; if it is not, everything must be what was saved."""
    path.write_bytes(content)
    before, recent = everything(model, adam, rng), []
    try:
        load_checkpoint(path, model, optimizer=adam, rng=rng, recent=recent)
        reason = None
    except CheckpointError as error:
        reason = str(error)
    assert everything(model, adam, rng) == before, "silently wrong"
    if reason is None:
        (state,) = recent
        assert all((state[n] == p.value).all() for n, p in model.named_parameters())
    assert reason is None or reason.startswith(str(path))
    return reason is not None


@pytest.fixture
def saved(tmp_path, seed):
    """(path, bytes, model, optimizer, generator): the state is the one that was saved."""
    model, adam, rng, task = build(seed)
    go_on(model, adam, rng, task, 2)
    path = tmp_path / "a.npz"
    save_checkpoint(path, model, optimizer=adam, rng=rng, recent=[model.state_dict()])
    return path, path.read_bytes(), model, adam, rng


def test_of_two_thousand_flipped_bits_none_is_silently_wrong(saved, rng):
    path, good, *state = saved
    flips = [*range(0, 800), *rng.integers(0, 8 * len(good), 800),     # head, anywhere, directory
             *(8 * len(good) - 1 - rng.integers(0, 8 * 4000, 400))]
    refused = 0
    for bit in map(int, flips):
        bad = bytearray(good)
        bad[bit // 8] ^= 1 << bit % 8
        refused += read_or_refuse(path, bytes(bad), *state)
    print(f"\n{len(flips)} flipped bits: {refused} refused, {len(flips) - refused} in bytes that"
          " do not matter, 0 silently wrong")
    assert refused > len(flips) / 2


def test_of_sixty_truncated_files_each_is_refused(saved, rng):
    path, good, *state = saved
    lengths = [0, 1, len(good) - 1, len(good) - 22, *rng.integers(2, len(good) - 1, 56)]
    refused = sum(read_or_refuse(path, good[:n], *state) for n in lengths)
    print(f"\n{refused} of {len(lengths)} truncated files refused")
    assert refused == len(lengths) == 60


class Payload:
    """What pickle would make of it: a new file."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return (open, (self.path, "w"))


def test_a_pickle_never_runs(saved, tmp_path):
    path, _, *state = saved
    trap = tmp_path / "it_ran"
    payload = np.array([Payload(str(trap))], dtype=object)
    header, arrays = read_checkpoint(path)
    text = np.frombuffer(json.dumps(header).encode(), np.uint8)

    def array_file(path):
        with open(path, "wb") as file:
            np.save(file, payload)

    attempts = {"a pickle": lambda p: p.write_bytes(pickle.dumps(Payload(str(trap))))}
    attempts["an array that is a pickle"] = array_file
    attempts["as header"] = lambda p: np.savez(p, header=payload, **arrays)
    for name in arrays:
        changed = arrays | {name: payload}
        attempts[name] = lambda p, c=changed: np.savez(p, header=text, **c)
    for attempt in attempts.values():
        attempt(path)
        assert not trap.exists()
        assert read_or_refuse(path, path.read_bytes(), *state)
        assert not trap.exists()
    pickle.loads(pickle.dumps(Payload(str(trap)))).close()             # the trap does work
    assert trap.exists()
    print(f"\n{len(attempts)} of {len(attempts)} pickles refused, none ran")
