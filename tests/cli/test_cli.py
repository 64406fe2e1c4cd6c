"""The command line and the run folder, used as a user does."""

import csv
import io
import json
import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from same_run import assert_same_run, with_blank_pictures

from aiayn_course.cli.main import main
from aiayn_np import LabelSmoothedCrossEntropy, Progress, attention_maps, beam_search, trace
from aiayn_np.cli.progress import Reporter, shown
from aiayn_np.runs.run import Run
from aiayn_np.runs.symbols import SymbolTraining

ROOT = Path(__file__).parents[2]
TINY = ["--symbols", "4", "--max-length", "4", "--d-model", "8", "--d-ff", "12", "--h", "2",
        "--N", "1", "--batch-size", "8", "--P-drop", "0.1"]
PICTURES = ["attention_cross.png", "attention_decoder_self.png", "attention_encoder_self.png"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A finished run of 12 steps, long enough for a state to be kept for averaging."""
    folder = tmp_path_factory.mktemp("runs") / "a"
    argv = ["train", "reverse", *TINY, "--steps", "12", "--seed", "5", "--out", str(folder)]
    with pytest.MonkeyPatch.context() as patch:
        with_blank_pictures(patch)
        assert main(argv) == 0
    return folder


def files(folder):
    """Name -> bytes of every file in a folder."""
    return {path.name: path.read_bytes() for path in Path(folder).iterdir() if path.is_file()}


def test_a_run_goes_on_with_other_shares(no_pictures, tmp_path):
    """The sums are taken in another order, so that it is the same run but for rounding."""
    argv = ["train", "copy", *TINY, "--dtype", "float64", "--P-drop", "0"]
    assert main([*argv, "--steps", "6", "--out", str(tmp_path / "one")]) == 0
    out = ["--out", str(tmp_path / "many")]
    assert main([*argv, "--steps", "3", "--accumulate", "2", *out]) == 0
    resume = ["train", "copy", "--resume", *out]
    assert main([*resume, "--steps", "5", "--accumulate", "3"]) == 0
    assert main([*resume, "--steps", "6"]) == 0
    one, many = (Run.open(tmp_path / name) for name in ("one", "many"))
    assert many.options["accumulate"] == 3
    for a, b in zip(one.model.parameters(), many.model.parameters(), strict=True):
        np.testing.assert_allclose(a.value, b.value, rtol=0, atol=1e-9)


def test_train_writes_its_folder(folder):
    assert sorted(files(folder)) == sorted(
        [*PICTURES, "history.csv", "loss.png", "metrics.json", "model.npz"]
    )
    metrics = json.loads((folder / "metrics.json").read_text())
    assert set(metrics) == {"task", "exact_match", "held_out", "steps", "seconds", "parameters",
                            "seed"}
    assert (metrics["task"], metrics["steps"], metrics["seed"]) == ("reverse", 12, 5)
    assert metrics["parameters"] == sum(p.value.size for p in Run.open(folder).model.parameters())
    with open(folder / "history.csv") as file:
        rows = list(csv.DictReader(file))
    assert [row["step"] for row in rows] == [str(i) for i in range(1, 13)]
    assert rows[-1]["validation"] != ""
    for name in [*PICTURES, "loss.png"]:
        assert (folder / name).read_bytes().startswith(b"\x89PNG")


def test_train_prints_results_on_stdout_and_progress_on_stderr(no_pictures, tmp_path, capsys):
    assert main(["train", "copy", *TINY, "--steps", "2", "--out", str(tmp_path / "r")]) == 0
    out, err = capsys.readouterr()
    assert "copy: not solved after 2 steps" in out
    *_, files, next_step = out.splitlines()
    assert files == f"In {tmp_path / 'r'}: history.csv, metrics.json, model.npz"
    assert next_step == f"To try it out in a browser: aiayn-np explore {tmp_path / 'r'}"
    assert out.count("wrong") + out.count("right") == 6
    assert "step 2 of 2: loss " in err
    assert "validation" not in out


def test_ctrl_c_ends_after_the_step_and_resuming_is_as_if_nothing_had_happened(
    folder, no_pictures, tmp_path, monkeypatch, capsys
):
    from aiayn_np.training import loop

    check = loop.check_finite
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job begins without it

    def press_ctrl_c(step, *rest):
        check(step, *rest)
        if step == 4:
            os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.chdir(tmp_path)
    out = str(Path("runs") / "reverse")
    argv = ["train", "reverse", *TINY, "--steps", "12", "--seed", "5"]
    with monkeypatch.context() as patched:
        patched.setattr(loop, "check_finite", press_ctrl_c)
        assert main(argv) == 1
    assert capsys.readouterr().err.endswith(
        f"interrupted; step 4 is kept; go on with: aiayn-np train reverse --out {out} --resume\n")
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert main(["decode", out, "3 1"]) == 0
    assert f"note: the training in {out} did not end, it is at step 4\n" in capsys.readouterr().err
    assert main([*argv[:-4], "--steps", "1"]) == 0                     # into reverse-2
    assert f"aiayn-np train reverse --out {out} --resume\n" in capsys.readouterr().err
    assert main(["train", "reverse", "--resume"]) == 0
    assert_same_run(folder, out)
    assert main(["decode", out, "3 1"]) == 0
    assert capsys.readouterr().err.count("did not end") == 0


def test_a_loss_that_is_not_finite_keeps_the_last_good_checkpoint(
    no_pictures, tmp_path, capsys
):
    out = tmp_path / "r"
    assert main(["train", "reverse", *TINY, "--steps", "2", "--out", str(out)]) == 0
    run = Run.open(out)
    run.model.src_embedding.E.value[:] = 3e38
    run.save()
    before = files(out)["model.npz"]
    assert main(["train", "reverse", "--resume", "--steps", "4", "--out", str(out)]) == 1
    assert "step 3: loss nan, first tensor that is not finite: cache" in (
        capsys.readouterr().err
    )
    assert files(out)["model.npz"] == before


def test_decode_prints_one_line_for_each_sequence(folder, capsys, monkeypatch):
    lines = []
    for argv in (["3 1"], ["3", "1"], ["0"], ["3 1", "0"]):            # with quotes and without
        assert main(["decode", str(folder), *argv]) == 0
        lines += capsys.readouterr().out.splitlines()
    assert len(lines) == 5
    assert lines[3:] == lines[1:3]
    lines = lines[:3]
    assert lines[0] == lines[1]
    run = Run.open(folder)
    assert lines[0] == run.task.text(run.loaded().decode(run.task.source("3 1"))[0])

    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"3 1\n\n0\n")))
    assert main(["decode", str(folder)]) == 0
    assert capsys.readouterr().out.splitlines() == [lines[1], "", lines[2]]


@pytest.mark.parametrize("locale", ["ascii", "latin-1", "utf-16"])
def test_decode_reads_utf_8_whatever_the_locale_is(folder, capsys, monkeypatch, locale):
    for line, code, message in (("\ufeff3 1\r\n".encode(), 0, ""),
                                ("3 é\n".encode(), 2, "got 'é'"),
                                (b"3\n\xe9\n", 2, "standard input, line 2: text must be UTF-8")):
        stdin = io.TextIOWrapper(io.BytesIO(line), encoding=locale)
        monkeypatch.setattr("sys.stdin", stdin)
        assert main(["decode", str(folder)]) == code
        assert message in capsys.readouterr().err


def test_decode_by_beam_search(folder, capsys):
    run = Run.open(folder)
    for beam, alpha in ((3, 0.0), (2, 5.0)):
        assert main(["decode", str(folder), "1 2 3", f"--beam={beam}", f"--alpha={alpha}"]) == 0
        out = beam_search(run.trained(), run.task.source("1 2 3"), bos=run.task.bos,
                          eos=run.task.eos, beam=beam, alpha=alpha)
        assert capsys.readouterr().out == run.task.text(out[0]) + "\n"
    assert main(["decode", str(folder), "1 2 3", "--beam", "0"]) != 0
    assert "--beam must be at least 1, got --beam=0" in capsys.readouterr().err


def test_decode_uses_the_average_that_was_validated(folder):
    run = Run.open(folder)
    (state,) = run.recent  # of step 10; the run ended at step 12
    for name, value in run.trained().state_dict().items():
        np.testing.assert_array_equal(value, state[name])
    assert not np.array_equal(run.model.src_embedding.E.value, state["src_embedding.E"])


@pytest.mark.slow
def test_attend_writes_three_pictures(folder, tmp_path, capsys):
    assert main(["attend", str(folder), "3 1 2", "--out", str(tmp_path)]) == 0
    paths = [Path(line) for line in capsys.readouterr().out.splitlines()]
    assert sorted(p.name for p in paths) == [f"reverse_3_1_2_{name}" for name in PICTURES]
    assert all(p.read_bytes().startswith(b"\x89PNG") for p in paths)


def test_attention_is_that_of_the_models_own_output(folder):
    run = Run.open(folder)
    src = run.task.source("3 1 2")
    drawn = dict(run.loaded().drawings(src))
    _, tgt_tokens, src_tokens = drawn["cross"].args
    out = run.loaded().decode(src)
    _, cache = run.trained().forward(src, np.concatenate([[[run.task.bos]], out[:, :-1]], axis=1))
    assert src_tokens == ["3", "1", "2", "<eos>"]
    assert tgt_tokens == ["<bos>", *run.task.tokens(out[0, :-1])]
    wanted = attention_maps(cache)
    for draw in drawn.values():
        for name, weights in draw.args[0].items():
            np.testing.assert_array_equal(weights, wanted.pop(name)[0])
            assert draw.keywords["masks"][name].shape == weights.shape
    assert not wanted


def test_trace_tells_what_every_component_does_with_the_right_answer(folder, capsys, monkeypatch):
    run = Run.open(folder)
    _, tgt_in, tgt_out = run.task.examples_of([run.task.source("3 1 2")[0, :-1]])
    want = trace(run.trained(), run.task.source("3 1 2"), tgt_in, tgt_out,
                 loss=LabelSmoothedCrossEntropy(0.0))
    for columns, told in (("400", ""), ("80", "note: rows are wider than the terminal; ")):
        monkeypatch.setenv("COLUMNS", columns)
        assert main(["trace", str(folder), "3 1 2"]) == 0
        out, err = capsys.readouterr()
        assert out == f"{want}\n"
        assert (err[:40], err.count("\n")) == (told, len(told) // 40)


def test_check_proves_a_whole_model(capsys):
    assert main(["check", "--seed", "3"]) == 0
    out = capsys.readouterr().out
    assert "62 of 62 agree" in out
    assert "model.decoder.layers.1.cross_attention.linear_K.W" in out


@pytest.mark.slow
def test_check_fails_on_a_wrong_gradient(capsys, monkeypatch):
    from aiayn_np import Softmax

    right = Softmax.backward
    monkeypatch.setattr(Softmax, "backward", lambda self, g, c: right(self, g, c) * (1 + 1e-6))
    assert main(["check"]) == 1
    assert "WRONG: worst entry" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["decode", "{run}", "3 9"], "every symbol must be one of 0 to 3, got '9'"),
        (["decode", "{run}", " "], "at least one symbol"),
        (["decode", "{run}", "1 " * 60], "at most 55 tokens for this run, got 60"),
        (["decode", "{tmp}/none", "1"], "none: No such folder; a run"),
        (["decode", "{run}/model.npz", "1"], "a run is a folder that `train` wrote, or one of"),
        (["generate", "{tmp}/none", "a"], "a run is a folder that `train` wrote, or one of"),
        (["generate", "{run}", "a"], "must hold a model for generate, got one of reverse"),
        (["decode", "{broken}", "1"], "broken/model.npz is not a readable checkpoint"),
        (["attend", "{run}", "x"], "every symbol must be one of 0 to 3, got 'x'"),
        (["attend", "{run}", "1", "--out", "{tmp}/file/x"], "a file stands where a folder must"),
        (["train", "copy", "--out", "{tmp}/file/x"], "a file stands where a folder must"),
        (["train", "copy", "--out", "{run}"], "holds a run already: --resume to go on"),
        (["train", "copy", "--resume", "--out", "{run}"], "is a run of the task reverse, not copy"),
        (["train", "reverse", "--resume"], "runs/reverse: No such folder"),
        (["train", "reverse", "--resume", "--out", "{run}", "--h", "3"], "--h is fixed by the run"),
        (["train", "reverse", "--resume", "--out", "{tmp}/none"], "none: No such folder"),
        (["train", "copy", "--out", "{tmp}/n", "--h", "7"],
         "--d-model must be divisible by h, got --d-model=64, --h=7\n"),
        (["train", "copy", "--out", "{tmp}/n", "--P-drop", "1"], "--P-drop must lie in [0, 1)"),
        (["train", "copy", "--out", "{tmp}/n", "--steps", "0"], "--steps must be at least 1"),
        (["train", "copy", "--out", "{tmp}/n", "--max-length", "2"], "to hold out"),
        (["train", "copy", "--out", "{tmp}/n", "--seed", "-1"],
         "--seed must be an integer of at least 0, got --seed=-1"),
        (["check", "--seed", "-1"], "--seed must be an integer of at least 0, got --seed=-1"),
    ],
)
def test_a_wrong_request_is_one_clear_line_and_changes_nothing(
    folder, tmp_path, capsys, argv, message
):
    (tmp_path / "file").write_text("")
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "model.npz").write_bytes(b"PK")
    before = files(folder)
    places = {"run": folder, "tmp": tmp_path, "broken": tmp_path / "broken"}
    assert main([a.format(**places) for a in argv]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert message.format(**places) in err
    assert err.count("\n") == 1
    assert err.startswith("aiayn-np: error: ")
    assert files(folder) == before
    assert not (tmp_path / "n" / "model.npz").exists()


def test_a_new_run_does_not_land_on_an_old_one(no_pictures, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for _ in range(2):
        assert main(["train", "copy", *TINY, "--steps", "1"]) == 0
    assert sorted(os.listdir("runs")) == ["copy", "copy-2"]


def test_resuming_a_run_that_is_finished_is_refused_and_changes_nothing(folder, capsys):
    before = files(folder)
    assert main(["train", "reverse", "--resume", "--out", str(folder)]) == 2
    assert f"nothing to do: the run in {folder} is at step 12 of 12" in capsys.readouterr().err
    assert main(["train", "reverse", "--resume", "--steps", "0", "--out", str(folder)]) == 2
    assert main(["train", "reverse", "--resume", "--dtype", "float64", "--out", str(folder)]) == 2
    assert "--dtype is fixed by the run" in capsys.readouterr().err
    assert files(folder) == before


def test_metrics_count_the_seconds_of_all_parts_of_a_run(no_pictures, tmp_path, monkeypatch):
    """Those of the last validation too: here only a validation takes time."""
    def validate(self, run, record):
        now[0], record.validation = now[0] + 50, 0.0

    out, now = str(tmp_path / "r"), [0.0]
    monkeypatch.setattr("time.perf_counter", lambda: now[0])
    monkeypatch.setattr(SymbolTraining, "validate", validate)
    assert main(["train", "reverse", *TINY, "--steps", "1", "--out", out]) == 0
    run = Run.open(out)
    run.history[-1].seconds = 1000.0
    run.save()
    assert main(["train", "reverse", "--resume", "--steps", "2", "--out", out]) == 0
    seconds = json.loads((tmp_path / "r" / "metrics.json").read_text())["seconds"]
    assert seconds == Run.open(out).history[-1].seconds == 1050 > 1000


def test_a_loss_that_is_not_finite_at_once_leaves_the_run_before_its_first_step(tmp_path, capsys):
    argv = ["train", "copy", *TINY, "--rate-scale", "1e30", "--out", str(tmp_path / "r")]
    assert main(argv) == 1
    err = capsys.readouterr().err
    assert "first tensor that is not finite" in err
    assert err.endswith("; the last good checkpoint is kept\n")
    assert Run.open(tmp_path / "r").optimizer.t == 0


def terminal(monkeypatch):
    """Make stderr a terminal; return what is written to it."""
    screen = io.StringIO()
    screen.isatty, screen.fileno = lambda: True, lambda: 2
    monkeypatch.setattr("sys.stderr", screen)
    monkeypatch.setattr(os, "get_terminal_size", lambda _: os.terminal_size((120, 40)))
    return screen


@pytest.mark.slow
def test_what_takes_long_has_a_bar(monkeypatch):
    """On a terminal: a bar for each training of `zoo --train`."""
    screen = terminal(monkeypatch)
    monkeypatch.setattr("aiayn_course.lab.zoo.learning.learn",
                        lambda *_, **options: iter(range(700)))
    assert main(["zoo", "3", "--train"]) == 0
    assert "no bug planted, seed 3: " in screen.getvalue()
    assert "/700" in screen.getvalue()


def test_without_a_terminal_it_is_a_line_now_and_then(monkeypatch, capsys):
    now = iter([0, 1, 16, 16, 17])
    monkeypatch.setattr("time.perf_counter", lambda: next(now))
    assert list(shown("abc", "work")) == ["a", "b", "c"]
    assert capsys.readouterr().err == "work: step 2 of 3\n"


def test_the_live_bar_has_the_validations_above_it_and_ends_full_when_solved(monkeypatch):
    screen = terminal(monkeypatch)
    run = SimpleNamespace(task=SimpleNamespace(steps=100), optimizer=SimpleNamespace(t=0))
    with Reporter(run) as reporter:
        reporter.report(Progress(1, 2.0, 0.5, 0.1, 1.0, validation=0.25))
        reporter.report(Progress(2, 1.0, 0.75, 0.1, 2.0))
        assert "step 1 of 100: loss 2.000, perplexity 7.4," in screen.getvalue()
        assert "at most" in screen.getvalue()                          # it ends when solved
        assert "; tokens right 50.0%, longest sequences right 25.0%" in screen.getvalue()
        assert "step 2" not in screen.getvalue()                       # the bar counts it
        reporter.report(Progress(3, 1.0, 0.75, 0.1, 2.0, validation=1.0))
        assert "/s, 0 s left; tokens right 75.0%, all sequences right 100.0%" in screen.getvalue()
        assert reporter.bar.total == reporter.bar.n == 3
    run.optimizer.t = 40
    with Reporter(run) as reporter:
        assert reporter.bar.n == 40                                    # of the steps taken earlier


def test_a_sequence_longer_than_those_of_the_training_gets_a_note(folder, capsys):
    assert main(["decode", str(folder), "1 2 3 1"]) == 0
    assert capsys.readouterr().err == ""
    assert main(["decode", str(folder), "1 2 3 1 2"]) == 0
    assert capsys.readouterr().err == "note: 5 tokens, trained on at most 4\n"


@pytest.mark.slow
def test_a_reader_that_has_seen_enough_is_no_error():
    command = f"{shlex.quote(sys.executable)} -m aiayn_np check | head -n 1"
    run = subprocess.run(command, shell=True, capture_output=True, text=True, check=True)
    assert run.stdout.startswith("analytic  what backward gives")
    assert run.stderr == ""


def test_python_m_and_import_are_light():
    """Importing loads NumPy and nothing else from outside."""
    code = """if True:
        import sys
        {}
        known = {{*sys.stdlib_module_names, "__main__"}}
        packages = {{name.split(".")[0] for name in sys.modules}}
        print(*(name for name in packages - known if not name.startswith("_")))
        print(sum(name.startswith("aiayn_np") for name in sys.modules))
    """
    found = {}
    for line in ("import aiayn_np, aiayn_np.plotting", "import aiayn_np.cli.main"):
        run = subprocess.run([sys.executable, "-c", code.format(line)], capture_output=True,
                             text=True, check=True)
        packages, count = run.stdout.splitlines()
        found[line] = set(packages.split()) - {"sitecustomize", "cython_runtime"}, int(count)
    assert all(packages == {"aiayn_np", "numpy"} for packages, _ in found.values()), found
    assert all(count < 100 for _, count in found.values()), found      # modules of the package
    run = subprocess.run([sys.executable, "-m", "aiayn_np", "--help"], capture_output=True,
                         text=True, check=True)
    assert "`python -m aiayn_course --help` lists the commands of the course as well" in run.stdout


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["not_there", "module://not_there.backend"])
def test_no_backend_and_no_settings_of_the_user_end_a_command(backend, folder, tmp_path):
    """A notebook hands its own backend on to the commands that are started in it.

    matplotlib also reads settings in the current folder, and LaTeX may be missing.
    """
    (tmp_path / "matplotlibrc").write_text("text.usetex: True\n")
    command = [sys.executable, "-m", "aiayn_np", "why", str(folder), "3 1", "--word", "1",
               "--out", "why.png"]
    run = subprocess.run(command, env=os.environ | {"MPLBACKEND": backend}, capture_output=True,
                         text=True, cwd=tmp_path)
    assert run.returncode == 0, run.stderr
    assert files(tmp_path).keys() == {"why.png", "matplotlibrc"}


@pytest.mark.slow
def test_outside_of_the_commands_the_backend_is_the_users(tmp_path):
    """In a notebook too, where a cell may call a command."""
    (tmp_path / "IPython.py").write_text("")
    code = ("import IPython\nfrom aiayn_np.cli.main import main\nmain(['check'])\n"
            "import matplotlib\nprint(matplotlib.rcParams['backend'])")
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=(
        os.environ | {"MPLBACKEND": "svg", "PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}"}))
    assert run.stderr == ""
    assert run.stdout.splitlines()[-1] == "svg"


@pytest.mark.slow
@pytest.mark.parametrize("task", ["copy", "reverse"])
def test_the_defaults_solve_the_task(tmp_path, task):
    """Exact on at least 999 of 1 000 test sequences."""
    assert main(["train", task, "--seed", "7", "--out", str(tmp_path / "r")]) == 0
    metrics = json.loads((tmp_path / "r" / "metrics.json").read_text())
    assert metrics["exact_match"] >= 0.999
    assert metrics["held_out"] == 2000
