"""One folder, one training; and a checkpoint belongs to its vocabulary, its task and its model."""

import copy
import errno
import json
import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from same_run import TINY

from aiayn_course.cli.main import main
from aiayn_np import CheckpointError, Transformer, load_checkpoint, save_checkpoint
from aiayn_np.cli import train
from aiayn_np.cli.train import free_folder, take_steps
from aiayn_np.files import replacing
from aiayn_np.runs.history import columns_of, csv_of, records_of
from aiayn_np.runs.open import open_run
from aiayn_np.runs.run import Run
from aiayn_np.runs.start import start_run
from aiayn_np.structure import structure
from aiayn_np.text.measures import PairProgress
from aiayn_np.training import loop
from aiayn_np.training.loss import LabelSmoothedCrossEntropy
from aiayn_np.training.toys import Progress
from aiayn_np.variants.choices import CHOICES, keywords


@pytest.mark.slow
def test_the_next_free_name_is_taken(tmp_path):
    """Making a folder is atomic: of many at once each gets its own."""
    (tmp_path / "runs").mkdir()
    with ThreadPoolExecutor(8) as pool:
        taken = list(pool.map(free_folder, [tmp_path / "runs" / "copy"] * 8))
    assert sorted(path.name for path in taken) == ["copy", *(f"copy-{n}" for n in range(2, 9))]


@pytest.mark.parametrize("resume", [["--resume"], ["--resume", "--seed", "3"], []])
def test_what_is_not_the_programs_stays_whatever_is_refused(tmp_path, resume, capsys):
    mine = [".film.mkv.part", ".0123456789abcdef.part/x", "history.csv"]
    for name in mine:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b"precious")
    assert main(["train", "copy", *resume, "--out", str(tmp_path)]) == 2
    assert all((tmp_path / name).read_bytes() == b"precious" for name in mine)


@pytest.mark.skipif(os.name != "posix", reason="it needs a lock on a file")
def test_what_another_training_is_writing_stays(copied, capsys, no_pictures):
    """It is no leftover of a kill, whose files go."""
    (copied / ".0123456789abcdef.part").write_bytes(b"half")
    resume = ["train", "copy", "--resume", "--out", str(copied), "--steps", "3"]
    with replacing(copied / "other") as file:
        file.write(b"whole")
        assert main(resume) == 0
        assert [path.name for path in copied.glob(".*.part")] == [Path(file.name).name]
    assert (copied / "other").read_bytes() == b"whole"


@pytest.mark.slow
def test_what_an_interruption_left_undrawn_is_drawn_by_resume(copied, capsys, monkeypatch):
    def interrupted(self):
        raise KeyboardInterrupt

    resume = ["train", "copy", "--resume", "--out", str(copied), "--steps"]
    with monkeypatch.context() as patch:
        patch.setattr("aiayn_np.runs.run.Run.draw", interrupted)
        assert main([*resume, "3"]) == 1
    assert main(resume[:-1]) == 0
    assert (copied / "loss.png").is_file()
    assert main(resume[:-1]) == 2
    assert "nothing to do" in capsys.readouterr().err


def test_what_the_user_put_into_a_new_folder_stays_when_its_training_fails(
    tmp_path, monkeypatch, capsys
):
    def put(run, *_):
        (run.folder / "thesis.txt").write_bytes(b"work")
        raise KeyboardInterrupt

    out = tmp_path / "proj"
    monkeypatch.setattr(Run, "train", put)
    assert main(["train", "copy", *TINY, "--out", str(out)]) == 1
    assert sorted(os.listdir(out)) == ["history.csv", "model.npz", "thesis.txt"]
    (tmp_path / "empty").mkdir()
    assert main(["train", "text", "--pairs", "nowhere", "--out", str(tmp_path / "empty")]) == 2
    assert (tmp_path / "empty").is_dir()


@pytest.mark.slow
def test_a_kill_in_the_first_save_keeps_no_command_out(tmp_path, monkeypatch, no_pictures):
    """The process ends before the checkpoint takes its place. The next run finds a place."""
    monkeypatch.chdir(tmp_path)
    path = os.pathsep.join([str(tmp_path), str(Path(__file__).parents[2])])
    environment = os.environ | {"PYTHONPATH": path}
    (tmp_path / "sitecustomize.py").write_text(
        "import os, signal\nos.replace = lambda *_: os.kill(os.getpid(), signal.SIGKILL)\n")
    for out, again in (([], "runs/copy-2"), (["--out", "r"], "r")):
        command, folder = ["train", "copy", *TINY, *out], Path(out[-1] if out else "runs/copy")
        child = subprocess.run([sys.executable, "-m", "aiayn_course", *command], env=environment,
                               capture_output=True)
        assert child.returncode == -signal.SIGKILL
        assert [path.suffix for path in folder.iterdir()] == [".part"]
        assert main([*command, "--steps", "2"]) == 0
        assert Run.open(again).optimizer.t == 2
        assert not any(Path(again).glob(".*.part"))


def test_a_full_disk_in_the_first_save_keeps_no_command_out(
    tmp_path, capsys, monkeypatch, no_pictures
):
    def full(path, *_, **__):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))

    out = tmp_path / "r"
    command = ["train", "copy", *TINY, "--steps", "1", "--out", str(out)]
    with monkeypatch.context() as patch:
        patch.setattr("aiayn_np.runs.run.save_checkpoint", full)
        assert main(command) == 1
    assert not out.exists()
    assert main(command) == 0


@pytest.fixture
def default_signals():
    """Signals end a program, whatever started the tests."""
    before = signal.signal(signal.SIGTERM, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGTERM, before)


def test_a_signal_before_the_first_step_leaves_nothing(
    tmp_path, monkeypatch, capsys, default_signals
):
    """A batch system sends one."""
    shared_run, out = train.shared_run, tmp_path / "r"

    def send(*arguments):
        signal.raise_signal(signal.SIGTERM)
        return shared_run(*arguments)

    monkeypatch.setattr(train, "shared_run", send)
    assert main(["train", "copy", *TINY, "--out", str(out)]) == 1
    assert capsys.readouterr().err == "aiayn-np: error: interrupted\n"
    assert not out.exists()


@pytest.mark.parametrize(("name", "moment", "kept"), [
    ("SIGTERM", "once", 4), ("SIGINT", "once", 4), ("SIGTERM", "step", 0), ("SIGINT", "step", 0),
    ("SIGINT", "save", 0)])
def test_a_signal_ends_a_training_after_its_step_and_a_second_one_at_once(
    tmp_path, monkeypatch, capsys, default_signals, name, moment, kept
):
    """A second one comes in the step or in its save. The last line names the step that is kept."""
    number, out = getattr(signal, name), tmp_path / "r"

    def check(step, *_):
        for _ in range((step == 4) + (step == 4 and moment == "step")):
            signal.raise_signal(number)

    def save(*arguments, optimizer, **options):
        if optimizer.t and moment == "save":
            signal.raise_signal(number)
        save_checkpoint(*arguments, optimizer=optimizer, **options)

    monkeypatch.setattr(loop, "check_finite", check)
    monkeypatch.setattr("aiayn_np.runs.run.save_checkpoint", save)
    assert main(["train", "copy", *TINY, "--steps", "9", "--out", str(out)]) == 1
    *_, last = capsys.readouterr().err.splitlines()
    assert last.endswith(f"interrupted; step {kept} is kept; go on with: aiayn-np train copy --out"
                         f" {out} --resume")
    assert not isinstance(signal.getsignal(number), train.Stop)
    assert Run.open(out).optimizer.t == kept


def test_of_two_trainings_in_one_folder_the_later_to_save_ends(copied, capsys, monkeypatch):
    """The checkpoint is that of the first, and so is the history."""
    resume = ["train", "copy", "--resume", "--out", str(copied), "--steps"]
    check, other = loop.check_finite, []

    def let_another_save(step, *rest):
        check(step, *rest)
        if not other:
            other.append(Run.open(copied))
            last = other[0].history[-1]
            other[0].history += [replace(last, step=n) for n in range(3, 8)]
            other[0].optimizer.t = 7
            other[0].save()

    monkeypatch.setattr(loop, "check_finite", let_another_save)
    assert main([*resume, "4"]) == 1
    err = capsys.readouterr().err.splitlines()[-1]
    assert "model.npz must be as this training left it, at step 2, but it is at step 7" in err
    assert Run.open(copied).optimizer.t == 7
    assert (copied / "history.csv").read_bytes() == csv_of(other[0].history, Progress)


def test_a_training_that_did_not_end_is_told_where_the_next_free_name_is_taken(copied, capsys):
    (copied / "metrics.json").unlink()
    assert free_folder(copied) == copied.with_name(f"{copied.name}-2")
    assert capsys.readouterr().err == (
        f"{copied} holds a training that did not end; to go on with it: aiayn-np train"
        f" {copied.name} --out {copied} --resume\n")


def test_a_second_training_in_the_folder_of_one_that_has_just_begun_is_refused(
    tmp_path, capsys, monkeypatch, no_pictures
):
    """It is a run before its first step."""
    argv = ["train", "copy", *TINY, "--steps", "1", "--out", str(tmp_path / "r")]
    steps, codes = Run.train, []

    def begin_another(*arguments, **options):
        if not codes:
            codes.append(main(argv))
        return steps(*arguments, **options)

    monkeypatch.setattr(Run, "train", begin_another)
    assert main(argv) == 0
    assert codes == [2]
    assert "holds a run already: --resume to go on" in capsys.readouterr().err


def test_a_run_trains_and_saves_itself_until_it_is_stopped(tmp_path, no_pictures):
    """What is saved is there before it is reported."""
    sizes = dict(N=1, d_model=8, d_ff=8, h=2, batch_size=4)
    run, _ = start_run(tmp_path / "new" / "r", "copy", steps=5, **sizes)
    assert not take_steps(run, lambda: len(run.history) == 3)
    assert Run.open(run.folder).optimizer.t == 3
    assert "did not end, it is at step 3" in Run.open(run.folder).note
    steps = [Run.open(run.folder).optimizer.t for _ in run.train()]
    assert steps == [3, 5]
    told = run.finish()[0]
    assert told.startswith("copy: not solved after 5 steps")
    assert "jumped" not in told                                        # it was never below 0.15
    assert Run.open(run.folder).history == run.history
    assert [p.seconds for p in run.history] == sorted(p.seconds for p in run.history)
    assert list(run.train()) == []                                     # no step is left
    assert Run.open(run.folder).note == ""
    for record, loss in zip(run.history, (0.3, 0.1, 0.12, 0.4, 0.1)):
        record.loss = loss
    assert "The loss jumped at step 4. With beta_2 = 0.999" in run.finish()[0]


def test_a_real_model_is_no_training_to_go_on_with(tmp_path, capsys):
    (tmp_path / "config.json").write_text('{"model_type": "gpt2"}')
    assert main(["train", "words", "--resume", "--out", str(tmp_path)]) == 2
    assert "model.npz: No such file; a run is a folder that `train`" in capsys.readouterr().err


@pytest.mark.parametrize("task", ["words", "text"])
def test_a_run_that_cannot_begin_leaves_nothing(task, tmp_path, capsys, monkeypatch):
    """Not its vocabulary either, which is learned before all is known."""
    texts, out = tmp_path / "t", tmp_path / "r"
    texts.write_text("".join(f"ein kleiner hund {n}\ta small dog {n}\n" for n in range(400)))
    monkeypatch.setattr("aiayn_np.runs.run.Run.save", lambda self: 1 / 0)
    flag = "--text" if task == "words" else "--pairs"
    assert main(["train", task, flag, str(texts), "--vocab-size", "60", "--out", str(out)]) == 1
    assert "division by zero" in capsys.readouterr().err
    assert not out.exists()


@pytest.mark.parametrize("task", ["words", "text"])
def test_the_checkpoint_holds_the_vocabulary(task, tmp_path, no_pictures):
    texts, out = tmp_path / "t", tmp_path / "r"
    texts.write_text("".join(f"ein kleiner hund {n}\ta small dog {n}\n" for n in range(200)))
    flag = "--text" if task == "words" else "--pairs"
    run, _ = start_run(out, task, {flag[2:]: [texts] if task == "words" else texts}, vocab_size=60,
                       N=1, d_model=8, d_ff=8, h=2)
    run.save()
    assert sorted(os.listdir(out)) == ["history.csv", "model.npz"]
    again = open_run(out)
    assert again.source("ein hund").tolist() == run.loaded().source("ein hund").tolist()


def model(rng, **options):
    sizes = dict(N=1, d_model=12, d_ff=8, h=2, max_len=20)
    return Transformer(9, **(sizes | options), rng=rng)


@pytest.mark.slow
def test_another_number_of_heads_is_refused_and_other_dropout_is_not(tmp_path, rng):
    path = tmp_path / "a.npz"
    save_checkpoint(path, model(rng))
    other = model(rng, h=4)
    before = other.state_dict()
    with pytest.raises(CheckpointError, match=r"of another model: model is .*h=2.* in the file"):
        load_checkpoint(path, other)
    assert all((before[name] == value).all() for name, value in other.state_dict().items())
    load_checkpoint(path, model(rng, P_drop=0.3, max_len=99))


@pytest.mark.slow
def test_another_scale_is_refused_and_a_replaced_method_is_not(tmp_path, rng):
    path, saved = tmp_path / "a.npz", model(rng)
    save_checkpoint(path, saved)
    hooked = model(rng)
    attention = hooked.encoder.layers[0].self_attention.attention
    attention.forward = attention.forward
    load_checkpoint(path, hooked)
    attention.scale = 0.5
    with pytest.raises(CheckpointError, match=r"attention is ScaledDot.*scale=0.5\) here"):
        load_checkpoint(path, hooked)


@pytest.mark.slow
def test_every_variant_loads_into_itself_only(tmp_path, rng):
    plain = {option: next(iter(names)) for option, names in CHOICES.items()}
    chosen = [plain | {option: name} for option, names in CHOICES.items() for name in names]
    models = [model(rng, **keywords(choice)) for choice in chosen]
    structures = [structure(m) for m in models]
    for i, saved in enumerate(models):
        save_checkpoint(tmp_path / "a.npz", saved)
        for j, other in enumerate(models):
            if structures[i] == structures[j]:
                assert chosen[i] == chosen[j]
                load_checkpoint(tmp_path / "a.npz", other)
            else:
                with pytest.raises(CheckpointError, match="of another model"):
                    load_checkpoint(tmp_path / "a.npz", other)


def changed(folder, change):
    """Write the checkpoint of a run again, after `change` of its header and its arrays."""
    with np.load(folder / "model.npz") as file:
        arrays = dict(file)
    header = json.loads(arrays.pop("header").tobytes())
    change(header, arrays)
    text = np.frombuffer(json.dumps(header).encode(), np.uint8)
    np.savez(folder / "model.npz", header=text, **arrays)


def update(**values):
    return lambda header, _: header["config"].update(values)


def spoil(value, prefix):
    def change(_, arrays):
        name = next(name for name in arrays if name.startswith(prefix))
        arrays[name].flat[0] = value

    return change


@pytest.mark.parametrize(("change", "code", "said"), [
    (spoil(np.nan, "model/"), 1, "src_embedding.E must be finite"),
    (spoil(np.inf, "model/"), 1, "src_embedding.E must be finite"),
    (update(d_model=20), 2, "is of another model"),
    (update(steps=None, N=[]), 2, "does not fit: "),
])
@pytest.mark.parametrize("argv", [
    ["decode", "RUN", "1 2"], *(pytest.param(other, marks=pytest.mark.slow) for other in (
        ["explore", "RUN", "1 2"], ["export", "RUN", "OUT", "--to", "marian"],
        ["train", "copy", "--resume", "--steps", "3", "--out", "RUN"]))])
def test_a_damaged_checkpoint_is_one_line_that_names_it(
    copied, tmp_path, capsys, argv, change, code, said
):
    changed(copied, change)
    words = {"RUN": str(copied), "OUT": str(tmp_path / "out")}
    assert main([words.get(word, word) for word in argv]) == code
    err = capsys.readouterr().err
    assert said in err
    assert str(copied / "model.npz") in err
    assert err.count("\n") == 1


def test_a_history_comes_back_as_it_was():
    """What is counted stays a whole number: a resumed run has the file of one that is not."""
    history = [
        PairProgress(1, 0.1, 123, 1e-4, 0.5), PairProgress(2, 1 / 3, 45, 2e-4, 1.5, 0.1, 0.2, 9.9)]
    written = csv_of(history, PairProgress)
    again = records_of(columns_of(history, PairProgress), PairProgress)
    assert again == history
    assert csv_of(again, PairProgress) == written


def test_the_losses_of_the_history_are_without_smoothing(tmp_path):
    sizes = dict(d_model=8, d_ff=8, h=2, N=1, P_drop=0.0, dtype="float64")
    run, _ = start_run(tmp_path, "copy", steps=1, **sizes)
    model, rng = copy.deepcopy((run.model, run.rng))
    list(run.train())
    *inputs, targets = run.task.batch_of(1, rng)
    plain, smoothed = (LabelSmoothedCrossEntropy(eps, pad=0)(model(*inputs), targets=targets)
                       for eps in (0.0, run.options["eps_ls"]))
    names, first = (tmp_path / "history.csv").read_text().splitlines()
    loss = float(first.split(",")[names.split(",").index("loss")])
    assert loss == pytest.approx(plain, rel=1e-12)
    assert loss != pytest.approx(smoothed, rel=1e-6)
