"""Training on text and translating, used as a user does: in files, out files."""

import io
import itertools
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from same_run import assert_same_run, read_checkpoint, without_pictures
from sentences import options, sentences, write
from threadpoolctl import threadpool_limits
from threads import now

from aiayn_course.cli.main import main
from aiayn_np.runs.pairs import PairTraining
from aiayn_np.runs.run import Run
from aiayn_np.runs.start import start_run
from aiayn_np.text.vocabulary import Vocabulary
from aiayn_np.training.threads import VARIABLES

FILES = ["history.csv", "metrics.json", "model.npz"]
PICTURES = ["attention_cross.png", "loss.png"]
POSIX = pytest.mark.skipif(os.name != "posix", reason="these signals are POSIX")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A finished run of two epochs, without its pictures, which take most of the time."""
    folder = tmp_path_factory.mktemp("text")
    with pytest.MonkeyPatch.context() as patch:
        without_pictures(patch)
        assert main([*options(folder), "--epochs", "2", "--out", str(folder / "run")]) == 0
    return folder / "run"


@pytest.fixture
def plain(monkeypatch):
    """Only what training leaves: no pictures, and no measurements at its end."""
    without_pictures(monkeypatch)
    monkeypatch.setattr(PairTraining, "finish", lambda self, run: ({}, []))


def test_a_run_leaves_all_its_files_and_numbers(folder):
    assert sorted(path.name for path in folder.iterdir()) == FILES
    metrics = json.loads((folder / "metrics.json").read_text())
    run = Run.open(folder)
    assert isinstance(run.task, PairTraining)
    assert len(run.history) == metrics["steps"] == run.optimizer.t
    assert metrics["validation_pairs"] == len(run.task.data.lines)
    assert metrics["perplexity"] == pytest.approx(np.exp(run.history[-1].averaged_loss))
    assert metrics["bleu"]["average, greedy"] == round(run.history[-1].bleu, 2)
    assert metrics["signature"].startswith("nrefs:1|")


def test_the_steps_have_their_threads(plain, tmp_path, monkeypatch):
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    seen, batch = [], PairTraining.batch_of
    monkeypatch.setattr(PairTraining, "batch_of",
                        lambda self, *step: seen.append(now()) or batch(self, *step))
    with threadpool_limits(2, user_api="blas"):
        allowed = now()
        for name, more in (("one", []), ("two", ["--threads", "2"])):
            argv = [*options(tmp_path), "--epochs", "0.01", *more, "--out", str(tmp_path / name)]
            assert main(argv) == 0
        assert now() == allowed
    assert seen == [1, allowed]


def test_losses_are_those_of_the_states_they_are_named_after(folder):
    run = Run.open(folder)
    losses = []
    for model in (run.model, run.trained()):
        nats = count = 0
        for source, target in (map(run.task.source, pair) for pair in run.task.data.lines):
            logits = model(source, np.concatenate([[[run.task.bos]], target[:, :-1]], axis=1))
            log_p = logits - np.log(np.exp(logits).sum(axis=-1, keepdims=True))
            nats -= np.take_along_axis(log_p, target[..., None], axis=-1).sum()
            count += target.size
        losses.append(nats / count)
    last = run.history[-1]
    assert [last.validation_loss, last.averaged_loss] == pytest.approx(losses, rel=1e-4)
    assert losses[0] != losses[1]


def test_translate_keeps_lines_in_order_and_counts_bleu(folder, tmp_path, capsys, monkeypatch):
    source, target = write(tmp_path, [*sentences(5, seed=9), ("", ""), ("neun", "nine")])
    assert main(["decode", str(folder), "--file", str(source), "--reference", str(target)]) == 0
    out, err = capsys.readouterr()
    assert len(out.splitlines()) == 7
    assert out.splitlines()[5] == ""
    assert err.startswith("BLEU ")
    assert "nrefs:1" in err
    stdin = io.TextIOWrapper(io.BytesIO(source.read_bytes()))
    monkeypatch.setattr(sys, "stdin", stdin)
    assert main(["decode", str(folder)]) == 0
    assert capsys.readouterr().out == out
    assert main(["decode", str(folder), "--file", str(source), "--beam", "2"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 7


def test_bleu_is_that_of_the_translations_by_the_references(folder, tmp_path, capsys, monkeypatch):
    """The translation has every word right and is too short, so that BLEU is its penalty."""
    source, target = write(tmp_path, [("eins", "one two three four five")])
    monkeypatch.setattr("aiayn_np.runs.loaded.translate",
                        lambda *_, **__: ["one two three four"])
    assert main(["decode", str(folder), "--file", str(source), "--reference", str(target)]) == 0
    assert capsys.readouterr().err.startswith(f"BLEU {100 * np.exp(1 - 5 / 4):.2f} ")


def test_an_empty_file_gives_an_empty_file(folder, tmp_path, capsys):
    (tmp_path / "empty").touch()
    assert main(["decode", str(folder), "--file", str(tmp_path / "empty")]) == 0
    assert capsys.readouterr().out == ""


def test_translate_cuts_long_lines_and_names_them(folder, capsys, monkeypatch):
    stdin = io.TextIOWrapper(io.BytesIO(b"eins\n" + b"zwei " * 300))
    monkeypatch.setattr(sys, "stdin", stdin)
    assert main(["decode", str(folder)]) == 0
    assert "warning: line 2 is cut: the model takes 256 tokens" in capsys.readouterr().err


def test_a_line_of_a_file_without_any_piece_ends_nothing(folder, tmp_path, capsys, monkeypatch):
    """A normalization may take out all of a line; what is typed is refused then."""
    encode = Vocabulary.encode
    monkeypatch.setattr(Vocabulary, "encode", lambda self, lines: encode(
        self, [line.replace("\u00ad", "") for line in lines]))
    (tmp_path / "lines").write_text("eins\n\u00ad\nzwei\n", encoding="utf-8")
    assert main(["decode", str(folder), "--file", str(tmp_path / "lines")]) == 0
    assert capsys.readouterr().out.splitlines()[1] == ""
    assert main(["decode", str(folder), "\u00ad"]) == 2
    assert "a sentence must hold at least one word" in capsys.readouterr().err


def test_attention_is_that_of_the_last_layer_while_translating(folder):
    run = Run.open(folder)
    src = run.task.source("eins zwei")
    source, written, weights, allowed = run.loaded().translation_attention(src)
    out = run.loaded().decode(src)[0]
    assert written == run.task.tokens(out)
    assert source == run.task.tokens(src[0])
    tgt_in = np.concatenate([[run.task.bos], out[:-1]])[None]
    _, cache = run.trained().forward(src, tgt_in)
    last = cache.decoder.layers[1].cross_attention.attention.weights[0]
    np.testing.assert_array_equal(weights, last)
    assert weights.shape == (2, len(written), len(source))
    np.testing.assert_allclose(weights.sum(axis=-1), 1, rtol=1e-5)
    assert allowed.all()


@pytest.mark.slow
def test_the_other_commands_work_on_it_too(folder, tmp_path, capsys):
    run, page = str(folder), tmp_path / "page.html"
    assert main(["explore", run, "eins zwei", "--out", str(page)]) == 0
    assert "_eins" in page.read_text(encoding="utf-8") or "_e" in page.read_text(encoding="utf-8")
    assert main(["trace", run, "eins"]) == 0
    assert "encoder.layers.0" in capsys.readouterr().out
    assert main(["decode", run, "eins"]) == 0
    decoded = capsys.readouterr().out
    assert decoded == Run.open(folder).loaded().lines(["eins"])[0] + "\n"


@pytest.mark.parametrize(("argv", "message"), [
    (["train", "text"], "sentence pairs must be given by --pairs, or by --source and --target"),
    (["train", "text", "--resume"], "runs/text: No such folder"),
    (["train", "text", "--out", "RUN"], "RUN holds a run already"),
    (["train", "text", "--out", "RUN", "--resume"], "nothing to do"),
    (["train", "text", "--out", "RUN", "--resume", "--N", "3"], "--N is fixed by the run"),
    (["train", "text", "--out", "RUN", "--resume", "--pairs", "x"], "--pairs is fixed by the run"),
    (["train", "text", "--pairs", "NOWHERE/x", "--out", "NOWHERE/r"], "x: No such file"),
    (["decode", "NOWHERE"], "No such folder"),
    (["decode", "RUN", "--file", "NOWHERE"], "No such file"),
    (["decode", "RUN", "--file", "LATIN"], "latin, line 1: text must be UTF-8"),
    (["decode", "RUN", "--file", "RUN/history.csv", "--reference", "RUN/metrics.json"],
     "--reference must have as many lines as"),
    (["train", "text", "--pairs", "PAIRS", "--out", "NOWHERE", "--max-length", "1",
      "--vocab-size", "60"], "there must be pairs of at most 1 tokens for training, got 0"),
    (["train", "text", "--pairs", "PAIRS", "--out", "NOWHERE", "--vocab-size", "9"],
     "no vocabulary of 9 pieces"),
    (["decode", "RUN", " "], "a sentence must hold at least one word"),
    (["train", "text", "--pairs", "PAIRS", "--out", "NOWHERE", "--vocab-size", "60", "--tokens",
      "2"], "tokens must be at least those of the longest sentence"),
    (["train", "text", "--pairs", "NOWHERE", "--tokens", "0"], "--tokens must be"),
    (["train", "text", "--pairs", "NOWHERE", "--epochs", "nan"], "--epochs must lie in (0, "),
    (["train", "text", "--pairs", "NOWHERE", "--epochs", "0"], "--epochs must lie in (0, "),
    (["train", "text", "--out", "RUN", "--resume", "--epochs", "inf"], "--epochs must lie in (0, "),
    (["train", "text", "--out", "RUN", "--resume", "--epochs", "0.1"], "nothing to do"),
])
def test_bad_requests_end_with_2_and_one_line(folder, tmp_path, capsys, argv, message):
    table = tmp_path / "pairs.tsv"
    table.write_text("".join(f"{a}\t{b}\n" for a, b in sentences(60)), encoding="utf-8")
    latin = tmp_path / "latin"
    latin.write_bytes("fünf\n".encode("latin-1"))
    places = dict(RUN=folder, NOWHERE=tmp_path / "nowhere", PAIRS=table, LATIN=latin)
    for name, path in places.items():
        argv = [word.replace(name, str(path)) for word in argv]
    assert main(argv) == 2
    err = capsys.readouterr().err
    assert message in err.replace(str(folder), "RUN")
    assert err.count("\n") == 1


def test_changed_pairs_are_not_resumed_with(folder, tmp_path, capsys):
    path = Path(Run.open(folder).options["files"]["source"])
    content = path.read_text(encoding="utf-8")
    path.write_text(content.replace("eins", "EINS", 1), encoding="utf-8")
    assert main(["train", "text", "--out", str(folder), "--resume", "--epochs", "9"]) == 2
    assert "must be those that the run began with" in capsys.readouterr().err
    path.write_text(content, encoding="utf-8")


def test_states_are_kept_for_averaging_as_far_apart_as_the_run_says(tmp_path, monkeypatch):
    source, target = write(tmp_path, sentences(60))
    run, _ = start_run(tmp_path / "r", "text", dict(source=source, target=target), vocab_size=60,
                       d_model=8, d_ff=8, h=2, N=1, tokens=50, epochs=100)
    assert run.task.average_every == 100 * run.task.data.batches.per_epoch // 70
    monkeypatch.setattr(type(run.task), "average_every", 3)
    assert run.task.data.batches.per_epoch > 4
    assert [p.step for p in itertools.islice(run.train(), 4)] == [1, 2, 3, 4]
    assert len(run.recent) == 1


def test_unknown_options_are_refused(tmp_path):
    with pytest.raises(ValueError, match="got widht"):
        start_run(tmp_path, "text", {}, widht=3)


@POSIX
@pytest.mark.slow
def test_a_killed_training_resumes_to_the_same_run_five_times(tmp_path, rng, plain):
    argv = [*options(tmp_path, 400), "--epochs", "30"]
    assert main([*argv, "--out", str(tmp_path / "whole")]) == 0
    out, stopped = tmp_path / "killed", []
    for _ in range(5):
        more = ["train", "text", "--resume", "--out", str(out)] if stopped else [
            *argv, "--out", str(out)]
        child = subprocess.Popen([sys.executable, "-m", "aiayn_course", *more],
                                 env=os.environ | {"OPENBLAS_NUM_THREADS": "1"},
                                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        before = step_of(out)
        while child.poll() is None and step_of(out) == before:
            time.sleep(0.005)
        time.sleep(rng.uniform(0, 0.3))
        child.kill()
        assert child.wait() == -signal.SIGKILL
        stopped.append(step_of(out))
    assert stopped == sorted(set(stopped))
    assert main(["train", "text", "--resume", "--out", str(out)]) == 0
    assert_same_run(out, tmp_path / "whole")


def step_of(folder):
    path = folder / "model.npz"
    return read_checkpoint(path)[0]["step"] if path.exists() else 0


@pytest.mark.slow
def test_pictures_are_drawn_by_training_and_by_attend(tmp_path, capsys):
    assert main([*options(tmp_path), "--epochs", "1", "--out", str(tmp_path / "run")]) == 0
    assert sorted(path.name for path in (tmp_path / "run").iterdir()) == sorted(FILES + PICTURES)
    assert main(["attend", str(tmp_path / "run"), "eins zwei /."]) == 0
    (path,) = capsys.readouterr().out.splitlines()[-1:]
    assert path.endswith("attend/text_eins_zwei_attention_cross.png")
    assert Path(path).read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
def test_it_learns_to_translate_numbers(tmp_path):
    source, target = write(tmp_path, sentences(3000))
    files = dict(source=source, target=target)
    run, _ = start_run(tmp_path / "r", "text", files, preset="tiny", vocab_size=60, d_model=64,
                       d_ff=128, N=1, tokens=500, warmup_steps=100, rate_scale=0.5, epochs=12)
    list(run.train())
    assert run.history[-1].bleu > 90
