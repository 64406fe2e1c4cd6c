"""Requests that cannot be carried out are refused in one line; results reach whoever reads them."""

import contextlib
import io
import os
import resource
import shlex
import shutil
import signal
import subprocess
import sys

import pytest
from same_run import TINY
from sentences import options

from aiayn_course.cli.main import main, parsed
from aiayn_np import Progress, plot_loss
from aiayn_np.plotting.fonts import picture_of

pytestmark = pytest.mark.skipif(os.name != "posix", reason="pipes, limits and locales are POSIX")


@pytest.mark.parametrize(("argv", "message"), [
    (["decode", "RUN", "1 2", "--beam", "2", "--alpha", "1e308"], "--alpha must lie in [0, 100)"),
    (["decode", "RUN", "--alpha", "nan"], "--alpha must lie in [0, 100), got --alpha=nan"),
    (["train", "copy", "--d-model", "9" * 400, "--out", "OUT"], "--d-model must be at most"),
    (["train", "copy", "--d-model", "4" + "0" * 12, "--out", "OUT"], "not enough memory: "),
    (["train", "copy", "--warmup-steps", "0", "--out", "OUT"], "--warmup-steps must be at least 1"),
    (["train", "text", "--pairs", "PAIRS", "--eps-ls", "1", "--out", "OUT"],
     "--eps-ls must lie in [0, 1)"),                                     # before the pairs are read
    (["train", "copy", "--max-length", "9" * 15, "--out", "OUT"], "not enough memory: "),
    (["train", "copy", "--out", "x" * 4000], "File name too long"),
    (["train", "words", "--text", "/dev/zero", "--out", "OUT"], "must be a regular file, got /dev"),
    (["train", "text", "--pairs", "/dev/zero", "--out", "OUT"], "must be a regular file, got /dev"),
    (["explore", "RUN", "1", "--out", "x" * 4000 + ".html"], "File name too long"),
    *((argv, "the name of what to write must be a path, got '")
      for argv in (["train", "copy", "--out", ""], ["export", "RUN", " ", "--to", "marian"],
                   ["lessons", ""], ["exercises", " "])),
])
def test_it_is_refused_in_one_line(run, tmp_path, capsys, argv, message):
    argv = [word.replace("RUN", str(run)).replace("OUT", str(tmp_path / "out")) for word in argv]
    assert main(argv) in (1, 2)
    err = capsys.readouterr().err
    assert message in err
    assert err.count("\n") == 1
    assert os.listdir(tmp_path) == []


def test_a_pipe_is_no_text(copied, capsys):
    """To open a pipe to which nobody writes takes for ever."""
    pipe = copied.with_name("pipe")
    os.mkfifo(pipe)
    assert main(["train", "words", "--text", str(pipe), "--out", str(copied / "new")]) == 2
    assert f"a text must be a regular file, got {pipe}\n" in capsys.readouterr().err


@pytest.mark.parametrize("data", [b"1 2\r3 1\r", b"\xef\xbb\xbf1 2\n3 1", b"1 2\r\n3 1\r\n"])
def test_lines_of_standard_input_end_as_those_of_a_file(run, tmp_path, capsys, monkeypatch, data):
    (tmp_path / "file").write_bytes(data)
    assert main(["decode", str(run), "--file", str(tmp_path / "file")]) == 0
    want = capsys.readouterr().out
    assert len(want.splitlines()) == 2
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
    assert main(["decode", str(run)]) == 0
    assert capsys.readouterr().out == want
    kept, (read, write) = os.dup(0), os.pipe()
    os.write(write, data)
    os.close(write)
    os.dup2(read, 0)
    assert main(["decode", str(run), "--file", "-"]) == 0              # that is /dev/stdin
    os.dup2(kept, 0)
    assert capsys.readouterr().out == want


@pytest.mark.parametrize("argv", [["decode", "no\x1b[31m"], ["decode", "RUN", "--file", "\x9b"],
                                  ["decode", "RUN", "1 \x1b"], ["train", "copy", "--\x1b[2J"]])
def test_no_error_steers_the_terminal(run, capsys, argv):
    with contextlib.suppress(SystemExit):                              # of a wrong option
        assert main([word.replace("RUN", str(run)) for word in argv]) == 2
    err = capsys.readouterr().err
    assert err.rstrip("\n").isprintable()
    assert "\\x1b" in err or "\\x9b" in err


@pytest.mark.filterwarnings("ignore:no font has")
def test_no_text_of_a_model_steers_the_terminal(run, capsys, monkeypatch, no_pictures):
    monkeypatch.setattr("aiayn_np.runs.loaded.SymbolTranslator.lines",
                        lambda *_, **__: ["é\x1b[31m\t\x07漢\x9b"])
    assert main(["decode", str(run), "1 2"]) == 0
    assert capsys.readouterr().out == "é\\x1b[31m\t\\x07漢\\x9b\n"
    monkeypatch.setattr("aiayn_np.training.tasks.Task.tokens", lambda _, ids: ["\x1b" for _ in ids])
    assert main(["why", str(run), "1 2", "--word", "1", "--force"]) == 0
    assert "\x1b" not in capsys.readouterr().out


def test_a_printed_command_takes_a_folder_whose_name_begins_with_a_dash(
    tmp_path, capsys, monkeypatch, no_pictures
):
    monkeypatch.chdir(tmp_path)
    assert main(["train", "copy", *TINY, "--steps", "1", "--out=-a b"]) == 0
    command = shlex.split(capsys.readouterr().out.splitlines()[-1].partition(": ")[2])
    assert command == ["aiayn-np", "explore", "./-a b"]
    assert parsed(command[1:]).run.is_dir()


def test_a_missing_package_is_found_before_the_first_step(tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "sacrebleu", None)
    assert main([*options(tmp_path), "--out", str(tmp_path / "run")]) == 2
    assert "sacrebleu is not installed" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def command(*argv, **how):
    environment = os.environ | how.pop("env", {})
    how = dict(stdout=subprocess.PIPE, stderr=subprocess.PIPE) | how
    return subprocess.Popen([sys.executable, "-m", "aiayn_course", *argv], env=environment, **how)


C = {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}


@pytest.mark.slow
@pytest.mark.parametrize("encoding", ["", "ascii", "utf-16"])
def test_results_are_utf_8_whatever_the_locale(run, tmp_path, encoding):
    out = tmp_path / "é漢.html"
    argv = ["explore", str(run), "1 2", "--out", str(out), "--title", "é漢"]
    child = command(*argv, env=C | {"PYTHONIOENCODING": encoding})
    printed, err = child.communicate()
    assert child.returncode == 0, err
    assert printed.decode("utf-8").strip().endswith("é漢.html")
    assert "é漢" in out.read_text(encoding="utf-8")


def test_a_text_of_the_command_line_is_utf_8_in_every_locale(tmp_path):
    """In the locale C, Python reads each byte beyond ASCII as half a character."""
    options = parsed(["decode", "r\udcc3\udca9", "f\udcc3\udcbcnf", "漢", "\udcfc"])
    assert options.sequence == ["fünf", "漢", "\udcfc"]
    assert str(options.run) == "r\udcc3\udca9"                         # a path stays as it is


@pytest.mark.slow
def test_the_names_of_pictures_are_utf_8_in_the_locale_c(no_pictures, tmp_path):
    out = str(tmp_path / "ü")
    assert main([*options(tmp_path), "--epochs", "1", "--out", out]) == 0
    for argv in (["attend", out, "fünf", "--out", tmp_path / "é"],
                 ["why", out, "fünf", "--word", "1", "--out", tmp_path / "漢.png"]):
        child = command(*map(str, argv), env=C)
        printed, err = child.communicate()
        assert child.returncode == 0, err.decode()
        assert os.path.exists(printed.decode().splitlines()[-1])
    assert os.listdir(tmp_path / "é") == ["text_fünf_attention_cross.png"]
    assert "error: 漢: No such" in command("decode", "漢", env=C).communicate()[1].decode()


@pytest.mark.filterwarnings("ignore:no font has")
@pytest.mark.parametrize("title", ["é漢", os.fsencode("é漢").decode("ascii", "surrogateescape"),
                                   "\ud800 \udcff"], ids=ascii)
def test_a_title_of_halves_of_characters_is_drawn(title):
    fig = plot_loss([Progress(1, 1.0, 0.5, 0.1, 1.0)], title=title)
    assert picture_of(fig, 20).startswith(b"\x89PNG")
    assert fig.axes[0].get_title() == ("\ufffd \ufffd" if " " in title else "é漢")


def test_errors_are_utf_8_too(monkeypatch):
    err = io.TextIOWrapper(io.BytesIO(), "ascii")
    monkeypatch.setattr(sys, "stderr", err)
    assert main(["decode", "漢"]) == 2
    assert "漢" in err.buffer.getvalue().decode("utf-8")


@pytest.mark.parametrize("name", ["stdout", pytest.param("stderr", marks=pytest.mark.slow)])
def test_a_closed_stream_loses_nothing(name, tmp_path, monkeypatch, blank_pictures):
    """As `2>&-` closes it in a shell, or a service before it begins."""
    monkeypatch.setattr(sys, name, None)
    out = tmp_path / "r"
    assert main(["train", "copy", *TINY, "--steps", "1", "--out", str(out)]) == 0
    assert {"metrics.json", "loss.png"} < {*os.listdir(out)}
    getattr(sys, name).close()


@pytest.mark.slow
def test_a_reader_of_results_alone_may_leave(tmp_path):
    child = command("train", "copy", *TINY, "--steps", "99999", "--out", str(tmp_path / "r"))
    child.stdout.close()
    for _ in range(2):                                                 # until it is training
        child.stderr.readline()
    child.send_signal(signal.SIGINT)
    with child.stderr:
        err = child.stderr.read().decode()
    assert child.wait() == 1
    assert "interrupted; step" in err
    assert "Traceback" not in err


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no full device")
def test_a_full_disk_behind_stdout_is_an_error(run):
    with open("/dev/full", "w") as full:
        child = subprocess.run([sys.executable, "-m", "aiayn_course", "decode", str(run), "1 2"],
                               stdout=full, stderr=subprocess.PIPE, text=True)
    assert child.returncode == 1
    assert child.stderr == "aiayn-np: error: standard output: No space left on device\n"


@pytest.mark.slow
def test_a_disk_without_any_room_is_named_and_nothing_is_left(run, tmp_path):
    """A limit of 0 bytes for a file does what a full disk does."""
    out = tmp_path / "full" / "out"
    resumed = tmp_path / "resumed"
    shutil.copytree(run, resumed)
    resume = ["train", "copy", "--resume", "--steps", "9", "--out", resumed]
    for argv, named in ((["train", "copy", *TINY, "--out", out], out), (resume, resumed),
                        (["lessons", out], out), (["exercises", out], out),
                        (["export", run, out, "--to", "marian"], out)):
        child = command(*map(str, argv), env={"PYTHONDONTWRITEBYTECODE": "1"},
                        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0)))
        err = child.communicate()[1].decode()
        assert err.splitlines()[-1].startswith(f"aiayn-np: error: {named}"), argv
        assert "File too large" in err
        assert child.returncode == 1
        assert not list(tmp_path.rglob(".*")), argv
        assert not out.exists()


@pytest.mark.parametrize(("error", "told"), [
    (KeyboardInterrupt, "interrupted"), (MemoryError, "not enough memory: none is left")])
def test_an_error_without_words_is_told(monkeypatch, capsys, error, told):
    def ended(argv):
        raise error

    monkeypatch.setattr("aiayn_course.cli.main.parsed", ended)
    assert main(["check"]) == 1
    assert capsys.readouterr().err == f"aiayn-np: error: {told}\n"


@pytest.mark.parametrize("kind", [KeyError, TypeError, IndexError, OverflowError, RecursionError,
                                  ValueError])
def test_a_fault_of_the_program_has_its_class_and_each_error_a_traceback(monkeypatch, capsys, kind):
    def faulty(argv):
        raise kind(5)

    monkeypatch.setattr("aiayn_course.cli.main.parsed", faulty)
    told = "5" if kind is ValueError else f"{kind.__name__}: 5; AIAYN_DEBUG=1 shows where"
    for debug in ("", "1"):
        monkeypatch.setenv("AIAYN_DEBUG", debug)
        assert main(["check"]) == (2 if kind is ValueError else 1)
        *trace, last = capsys.readouterr().err.splitlines()
        assert last == f"aiayn-np: error: {told}"
        assert trace[:1] == ["Traceback (most recent call last):"][:len(debug)]
