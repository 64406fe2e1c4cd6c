"""Training on real MPI ranks: started by mpiexec, ended by every kind of fault."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from grammar import write_grammar
from same_run import read_checkpoint
from sentences import options
from test_kills import quietly

from aiayn_np.runs.run import Run

pytestmark = pytest.mark.slow
HELPERS = Path(__file__).parents[1] / "helpers"
TINY = ["--symbols", "4", "--max-length", "4", "--d-model", "8", "--d-ff", "12", "--h", "2",
        "--N", "1", "--batch-size", "9", "--seed", "5", "--dtype", "float64"]
MPIEXEC = (shutil.which("mpiexec", path=os.path.dirname(sys.executable))     # where pip puts it
           or shutil.which("mpiexec"))
SECONDS = 60  # after which a program hangs; the machine may be busy


@pytest.fixture(autouse=True)
def mpi():
    pytest.importorskip("mpi4py")
    if MPIEXEC is None:
        pytest.skip("there is no mpiexec")


def started(n, *command):
    """A program on n ranks, whose output can be read."""
    paths = [str(HELPERS), os.environ.get("PYTHONPATH", "")]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(paths), "MPLBACKEND": "agg"}
    command = [MPIEXEC, "-n", str(n), sys.executable, *map(str, command)]
    return subprocess.Popen(command, env=environment, text=True, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE)


def ended(program):
    """(exit code, stdout, stderr) of a program that ends in time, and no rank of it is left."""
    try:
        out, err = program.communicate(timeout=SECONDS)
    finally:
        program.kill()
    for pid in re.findall(r"rank \d of \d \(\S+ process (\d+)\)", err):
        assert gone(pid)
    return program.returncode, out, err


def gone(pid, seconds=SECONDS):
    """Whether a process has ended, or does so within some seconds; a zombie has."""
    stat, end = Path(f"/proc/{pid}/stat"), time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            if stat.read_text().rsplit(")", 1)[1].split()[0] == "Z":
                return True
        except OSError:
            return True
        time.sleep(0.05)
    return False


def on_ranks(n, *words, fault="none"):
    """The command line on n ranks, with a fault; (exit code, stdout, stderr)."""
    return ended(started(n, HELPERS / "mpi_fault.py", fault, *words))


def assert_close(folder, other, tolerance):
    """Two runs with the same steps, losses, parameters and means, up to rounding."""
    (header, arrays), (other_header, others) = (read_checkpoint(f / "model.npz")
                                                for f in (folder, other))
    assert header["rng"] == other_header["rng"]
    assert header["step"] == other_header["step"]
    for name in others.keys() - {"history/seconds"}:
        np.testing.assert_allclose(arrays[name], others[name], rtol=0, atol=tolerance)
    runs = [Run.open(f) for f in (folder, other)]
    a, b = ([p.loss for p in run.history] for run in runs)
    np.testing.assert_allclose(a, b, rtol=0, atol=tolerance)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 8])
def test_any_number_of_ranks_computes_what_one_process_does(n):
    assert ended(started(n, HELPERS / "mpi_gradients.py"))[:2] == (0, f"{n} ranks agree\n")


def test_the_same_ranks_train_the_same_model_to_the_bit_with_dropout(tmp_path):
    argv = ["train", "copy", *TINY, "--P-drop", "0.3", "--steps", "7"]
    for name in "ab":
        code, out, err = on_ranks(3, *argv, "--out", tmp_path / name)
        assert code == 0
        assert out.count("copy: not solved after 7 steps") == 1        # rank 0 alone speaks
        assert sorted(re.findall(r"rank (\d) of 3 \(\S+, process \d+\)", err)) == ["0", "1", "2"]
        assert err.count("training on the task copy") == 1
    assert_close(tmp_path / "a", tmp_path / "b", 0)


@pytest.mark.parametrize("kind", ["copy", "text", "from"])
@pytest.mark.parametrize("numbers", [(4, 1), (1, 4)])
def test_a_run_begun_on_some_ranks_goes_on_on_others(tmp_path, no_pictures, kind, numbers):
    """Losses, validation, BLEU and all files are those of the run of one process."""
    argv, more = ["train", "copy", *TINY, "--steps"], ["3", "6"]
    if kind == "from":
        text = write_grammar(tmp_path / "text", 200)
        quietly("train", "words", "--text", str(text), *TINY[4:], "--max-length", "9", "--steps",
                "2", "--P-drop", "0", "--out", str(tmp_path / "old"))
        argv = ["train", "words", "--from", str(tmp_path / "old"), "--text",
                str(write_grammar(tmp_path / "new", 150)), "--only", "norm", "E", "--steps"]
    if kind == "text":
        argv = [*options(tmp_path), "--dtype", "float64", "--P-drop", "0", "--seed", "1",
                "--epochs"]
        more = ["1", "2"]
    again = ["train", argv[1], "--resume", argv[-1], more[1]]
    quietly(*argv, more[0], "--out", str(tmp_path / "one"))
    quietly(*again, "--out", str(tmp_path / "one"))
    for n, words in zip(numbers, ([*argv, more[0]], again)):
        words = [*words, "--out", str(tmp_path / "many")]
        assert on_ranks(n, *words)[0] == 0 if n > 1 else quietly(*words) is None
    assert_close(tmp_path / "many", tmp_path / "one", 1e-9)
    one, many = (Run.open(tmp_path / name) for name in ("one", "many"))
    if kind == "from":
        one, many = (json.loads((tmp_path / name / "metrics.json").read_text())
                     for name in ("one", "many"))
        for when in ("before", "after"):
            assert [*many[when]] == ["new", "old"]
            for which in many[when]:
                assert many[when][which] == pytest.approx(one[when][which], rel=1e-9)
    if kind == "text":
        assert [p.bleu for p in many.history] == [p.bleu for p in one.history]


@pytest.mark.parametrize(("fault", "code", "message"), [
    ("raise", 2, r"aiayn-np: error: rank 1 of 2 \(\S+, process \d+\): ValueError: planted"),
    ("bug", 1, r"error: rank 1 of 2 \(\S+, process \d+\): ArithmeticError: planted; AIAYN_DEBUG"),
    ("nan", 1, r"rank \d of 2 .*: FloatingPointError: step 5: loss nan, first tensor"),
    ("kill", 9, r"rank 1 of 2"),
    ("disk", 1, r"error: rank 0 of 2 \(\S+, process \d+\): OSError: .*File too large"),
])
def test_a_fault_ends_all_ranks_and_the_run_goes_on(tmp_path, no_pictures, fault, code, message):
    """The last checkpoint is whole, and a rank that raises is named with the cause."""
    out = ["--out", str(tmp_path / "run")]
    argv = ["train", "copy", *TINY, "--steps"]
    quietly(*argv, "2", *out)
    resume = ["train", "copy", "--resume", *out, "--steps"]
    got, _, err = on_ranks(2, *resume, "600", fault=fault)
    assert got == code
    assert re.search(message, err)
    assert read_checkpoint(tmp_path / "run" / "model.npz")[0]["step"] >= 2
    assert on_ranks(2, *resume, "700" if fault == "disk" else "5")[0] == 0


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 1), (signal.SIGTERM, 15)])
def test_a_signal_to_mpiexec_ends_all_ranks_and_the_run_goes_on(tmp_path, number, code):
    """Ctrl-C lets the step end and saves it; SIGTERM leaves the last checkpoint."""
    out = tmp_path / "run"
    argv = ["train", "copy", *TINY, "--out", out, "--steps"]
    program = started(3, "-m", "aiayn_course", *argv, "100000")
    begun = wait_for(out / "model.npz", program)                       # before the first step
    wait_for(out / "model.npz", program, begun)
    program.send_signal(number)
    got, _, err = ended(program)
    step = read_checkpoint(out / "model.npz")[0]["step"]
    assert got == code
    assert (f"interrupted; step {step} is kept; go on with" in err) == (number == signal.SIGINT)
    resume = ["train", "copy", "--resume", "--out", out, "--steps", step + 2]
    assert on_ranks(2, *resume)[0] == 0


def wait_for(path, program, seen=None):
    """Until there is another file than the one last seen; its time of change."""
    end = time.monotonic() + SECONDS
    while (not path.exists() or path.stat().st_mtime_ns == seen) and program.poll() is None:
        assert time.monotonic() < end
        time.sleep(0.005)
    return path.stat().st_mtime_ns


def test_ten_kills_at_random_moments_leave_whole_checkpoints_and_no_rank(tmp_path, rng):
    """Any rank, at any moment from the start of the program on; the run goes on with --resume."""
    out, steps = tmp_path / "run", []
    path = out / "model.npz"
    for i in range(10):
        begin = ["--resume"] if path.exists() else TINY
        program = started(3, "-m", "aiayn_course", "train", "copy", *begin, "--steps", "100000",
                          "--out", out)
        ranks = {}
        while len(ranks) < 3 and (line := program.stderr.readline()):
            if found := re.match(r"rank (\d) of 3 \(\S+ process (\d+)\)", line):
                ranks[int(found[1])] = int(found[2])
        assert len(ranks) == 3, ended(program)
        if i % 3:                                                      # the others in the start
            wait_for(path, program, path.stat().st_mtime_ns if path.exists() else None)
        time.sleep(rng.uniform(0, 1))
        os.kill(ranks[rng.integers(3)], signal.SIGKILL)
        assert ended(program)[0] == 9
        assert all(map(gone, ranks.values()))                          # so the folder is free
        if path.exists():
            steps.append(read_checkpoint(path)[0]["step"])
    assert len(steps) >= 6
    assert steps == sorted(steps)
    assert on_ranks(2, "train", "copy", "--resume", "--out", out, "--steps", steps[-1] + 1)[0] == 0
    print(f"\n10 kills of 10 survived, at steps {steps}")


def test_bad_requests_under_mpiexec_end_with_2_and_one_line(tmp_path):
    argv = ["train", "copy", *TINY, "--out", tmp_path / "run", "--steps", "2"]
    assert on_ranks(3, *argv, "--nix")[0] == 2
    assert on_ranks(2, *argv)[0] == 0
    code, _, err = on_ranks(2, *argv)
    assert code == 2
    assert err.count("holds a run already") == 1


def test_without_mpi4py_nothing_is_trained(tmp_path):
    (tmp_path / "mpi4py.py").write_text("raise ImportError('No module named mpi4py')")
    argv = ["train", "copy", *TINY, "--out", tmp_path / "run", "--steps", "2"]
    program = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); sys.argv[1:1] = []; " \
              "from aiayn_course.cli.main import main; raise SystemExit(main(sys.argv[1:]))"
    code, _, err = ended(started(3, "-c", program, *argv))
    assert code == 2
    assert "aiayn-np: error: mpiexec has started 3 processes" in err
    assert "pip install mpi4py mpich" in err
    assert not (tmp_path / "run").exists()


def test_ranks_of_another_mpi_are_refused(tmp_path):
    """As where mpiexec is that of Open MPI, and mpi4py uses MPICH: each rank would train alone."""
    environment = os.environ | {"OMPI_COMM_WORLD_SIZE": "4", "OMPI_COMM_WORLD_RANK": "0"}
    command = [sys.executable, "-m", "aiayn_course", "train", "copy",
               "--out", str(tmp_path / "run")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "mpiexec has started 4 processes, but mpi4py knows of 1: it uses another" in done.stderr
    assert not (tmp_path / "run").exists()
