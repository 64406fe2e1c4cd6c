"""The same model and the same training in PyTorch itself, in float64."""

import csv
import json
import re
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
import pytorch
from golden.make_interop import PATH, computed
from golden_arrays import frozen
from parity import assert_same
from same_model import KINDS, batch, model_of, ours, theirs
from sentences import options

from aiayn_np.cli.main import main
from aiayn_np.interop import from_torch, to_torch
from aiayn_np.interop.layout import to_theirs
from aiayn_np.runs.open import open_run

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore"),
              pytest.mark.usefixtures("no_pictures")]
every_kind = pytest.mark.parametrize("kind", KINDS)
TINY = ["--symbols", "6", "--max-length", "6", "--d-model", "16", "--d-ff", "24", "--h", "2",
        "--N", "1", "--batch-size", "9", "--float64"]


one_thread = pytest.fixture(autouse=True, scope="module")(pytorch.one_thread)


@every_kind
def test_logits_loss_and_every_gradient_are_the_same(kind, seed):
    """Padded rows and a source of padding alone included; 1e-12 of the norm."""
    for i in range(5):
        rng = np.random.default_rng([seed, i])
        model, ids = model_of(kind, rng), batch(rng)
        module = to_torch(model)
        found, want = ours(model, *ids), theirs(module, *ids)
        grads = {n.removeprefix("grad "): g for n, g in found.items() if n.startswith("grad ")}
        renamed = {f"grad {n}": g for n, g in to_theirs(grads, module.config).items()}
        trained = {n: renamed[n] for n in want if n.startswith("grad ")}
        assert sum(g.size for g in trained.values()) == sum(g.size for g in grads.values())
        assert_same({"logits": found["logits"], "loss": found["loss"]} | trained, want, kind)


@every_kind
def test_evaluation_without_gradients_gives_the_same_logits(kind, rng):
    torch = pytorch.pytorch()
    model, (src, tgt, _) = model_of(kind, rng, P_drop=0.3), batch(rng)
    with torch.inference_mode():
        logits = to_torch(model).eval()(torch.from_numpy(src), torch.from_numpy(tgt))
    np.testing.assert_allclose(logits.numpy(), model(src, tgt), rtol=0, atol=1e-12)


@every_kind
def test_there_and_back_is_the_same_to_the_bit_in_both_dtypes(kind, rng):
    for dtype in ("float32", "float64"):
        model = model_of(kind, rng).astype(dtype)
        module = to_torch(model)
        for back in (from_torch(module), from_torch(module.state_dict(), module.config)):
            for name, value in back.state_dict().items():
                np.testing.assert_array_equal(value, model.state_dict()[name])
                assert value.dtype == dtype


def test_dropout_is_where_ours_is(rng):
    """With our rates in the embedding, after each sub-layer and on the attention; nowhere else."""
    torch = pytorch.pytorch()
    model = model_of("the paper's", rng, P_drop=0.25)
    module = to_torch(model)
    rates = {n: m.p for n, m in module.named_modules() if isinstance(m, torch.nn.Dropout)}
    inner = {n for n in rates if n.endswith(".dropout")}
    assert {rates[n] for n in inner} == {0.0}
    assert {rates[n] for n in set(rates) - inner} == {0.25}
    attentions = [m for m in module.modules() if isinstance(m, torch.nn.MultiheadAttention)]
    assert [m.dropout for m in attentions] == [0.0] * 6


def test_nothing_is_drawn_from_the_global_generator(rng):
    torch = pytorch.pytorch()
    before = torch.get_rng_state()
    to_torch(model_of("the paper's", rng))
    assert torch.equal(torch.get_rng_state(), before)


def test_a_sequence_longer_than_the_positions_is_refused(rng):
    torch = pytorch.pytorch()
    module = to_torch(model_of("the paper's", rng))
    with pytest.raises(ValueError, match="length must be at most max_len=10, got length 11"):
        module(torch.ones(2, 11, dtype=torch.long), torch.ones(2, 3, dtype=torch.long))


def test_what_is_frozen_is_what_pytorch_computes_now():
    now, then = computed(), frozen(PATH)
    assert set(now) == set(then)
    for kind, arrays in now.items():
        assert json.loads(str(arrays.pop("config"))) == json.loads(str(then[kind].pop("config")))
        assert_same(arrays, then[kind], kind)


# training


def train_in_torch(*argv, processes=1):
    """Run `train_torch` as a user does; (exit code, stdout and stderr)."""
    program = ["-m", "aiayn_np.interop.train_torch", *map(str, argv)]
    if processes > 1:
        program = ["-m", "torch.distributed.run", "--nproc-per-node", str(processes), *program]
    run = subprocess.run([sys.executable, *program], capture_output=True, text=True, timeout=300)
    return run.returncode, run.stdout + run.stderr


def losses(folder):
    with open(folder / "history.csv", newline="") as file:
        return [float(row["loss"]) for row in csv.DictReader(file)]


def begin(folder, argv, last):
    """A run that is begun here, and the same after it has gone on here to its `last` step."""
    assert main([*argv, "--out", str(folder / "run")]) == 0
    assert main([*argv, *last, "--out", str(folder / "numpy")]) == 0
    return folder / "run"


@pytest.mark.parametrize("processes", [1, 2])
@pytest.mark.parametrize("options", [[], ["--norm", "pre", "--positions", "learned"],
                                     ["--accumulate", "3"]])
def test_fifty_steps_of_a_toy_task_have_the_losses_of_numpy(processes, options, tmp_path):
    """Batches of 9, which two processes share as 5 and 4 rows."""
    run = begin(tmp_path, ["train", "reverse", *TINY, *options, "--steps", "10"], ["--steps", "60"])
    out = tmp_path / "out"
    code, said = train_in_torch(run, "--steps", 60, "--out", out, processes=processes)
    assert code == 0, said
    np.testing.assert_allclose(losses(out), losses(tmp_path / "numpy"), rtol=0, atol=1e-9)
    assert len(losses(out)) == 60
    # what it trained comes back: values, means, states that are averaged, generator
    assert main(["import", str(out), "--out", str(tmp_path / "back")]) == 0
    assert main(["attend", str(tmp_path / "back"), "3 1 2"]) == 0
    back, here = open_run(tmp_path / "back"), open_run(tmp_path / "numpy")
    assert back.optimizer.t == here.optimizer.t == 60
    assert len(back.recent) == len(here.recent) == 5
    for a, b in zip([back.trained(), back.model], [here.trained(), here.model]):
        for name, value in a.state_dict().items():
            np.testing.assert_allclose(value, b.state_dict()[name], rtol=0, atol=1e-9)
    assert back.rng.bit_generator.state == here.rng.bit_generator.state


@pytest.mark.parametrize("processes", [1, 2])
def test_fifty_steps_on_text_have_the_losses_of_numpy(processes, tmp_path):
    """Batches of few rows, of different lengths; one of a single row leaves a process without."""
    argv = [*options(tmp_path), "--tokens", "20", "--float64", "--P-drop", "0"]
    run = begin(tmp_path, [*argv, "--epochs", "0.1"], ["--epochs", "0.9"])
    assert min(len(open_and_prepare(run).batches.batch(s)[0]) for s in range(1, 60)) == 1
    out = tmp_path / "out"
    code, said = train_in_torch(run, "--epochs", 0.9, "--out", out, processes=processes)
    assert code == 0, said
    np.testing.assert_allclose(losses(out), losses(tmp_path / "numpy"), rtol=0, atol=1e-9)
    assert len(losses(out)) >= len(losses(run)) + 50
    back = tmp_path / "back"
    assert main(["import", str(out), "--out", str(back)]) == 0
    assert main(["train", "text", "--resume", "--epochs", "1", "--out", str(back)]) == 0


def open_and_prepare(folder):
    """A run with its batches."""
    run = open_run(folder)
    run.prepare()
    return run


def test_training_goes_on_in_its_own_folder_and_with_dropout(tmp_path):
    run, out = tmp_path / "run", tmp_path / "run.torch"
    argv = ["train", "copy", *TINY, "--P-drop", "0.1", "--steps", "5"]
    assert main([*argv, "--out", str(run)]) == 0
    before = (run / "model.npz").read_bytes()
    for target in (run, out):
        assert train_in_torch(target, "--steps", len(losses(target)) + 15)[0] == 0
    assert len(losses(out)) == 35
    assert losses(out)[:5] == losses(run)
    assert (run / "model.npz").read_bytes() == before
    code, said = train_in_torch(run)
    assert code == 2
    assert "run.torch is there already" in said
    code, said = train_in_torch(out)
    assert code == 2
    assert "nothing to do: the run is at step 35 of 35 already" in said
    assert "Traceback" not in said


def test_wrong_requests_are_one_line(tmp_path, capsys):
    from aiayn_np.interop.train_torch import main as train_torch

    argv = ["train", "copy", *TINY, "--steps", "3", "--out", str(tmp_path / "run")]
    assert main(argv) == 0
    capsys.readouterr()
    out = ["--out", str(tmp_path / "out")]
    for request, reason in [
        ([str(tmp_path / "nowhere")], "nowhere/model.npz: No such file or directory"),
        ([str(tmp_path / "run"), "--stpes", "9"], "unrecognized arguments: --stpes 9; --help"),
        ([str(tmp_path / "run"), "--epochs", "3"], "--epochs is no option of the task copy"),
        ([str(tmp_path / "run")], "nothing to do: the run is at step 3 of 3 already"),
        ([str(tmp_path / "run"), "--device", "no_such"], "must be such as cpu or cuda:0, got 'no"),
        ([str(tmp_path / "run"), "--device", "cuda:99"], "--device must be one that is there"),
    ]:
        code = train_torch([*request, *out])
        err = capsys.readouterr().err
        assert (code, err.count("\n")) == (2, 1), err
        assert reason in err
    assert not (tmp_path / "out").exists()
    # torchrun itself writes a report of every exit code but 0; the program writes one line
    code, said = train_in_torch(tmp_path / "nowhere", processes=2)
    assert code != 0
    assert said.count("train_torch: error:") == said.count("No such file") == 1


def alone_speaks_at_last(monkeypatch, capsys):
    """What a process besides the first one of its machine says of a wrong request."""
    from aiayn_np.interop import train_torch

    monkeypatch.setenv("LOCAL_RANK", "1")
    waited: list[float] = []
    monkeypatch.setattr(train_torch.time, "sleep", waited.append)
    assert train_torch.fail(ValueError("one\ntwo"), 2) == 2
    return waited, capsys.readouterr().err


def test_a_process_that_torchrun_does_not_end_says_its_own_reason(monkeypatch, capsys):
    assert alone_speaks_at_last(monkeypatch, capsys) == ([3], "train_torch: error: one two\n")


@pytest.mark.parametrize(("processes", "number"), [
    (1, signal.SIGINT), (1, signal.SIGTERM), (2, signal.SIGINT), (2, signal.SIGTERM)])
def test_what_was_trained_before_an_interruption_is_saved(processes, number, tmp_path):
    """Long before the first save. The same training goes on from there."""
    argv = ["train", "reverse", *TINY]
    run = begin(tmp_path, [*argv, "--steps", "5"], [])
    command = [sys.executable, "-m"]
    if processes > 1:
        command += ["torch.distributed.run", "--nproc-per-node", str(processes), "-m"]
    command += ["aiayn_np.interop.train_torch", str(run), "--steps", "100000"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as training:
        for line in training.stderr:
            if line.startswith("step 5 of 100000"):
                break
        time.sleep(1)
        training.send_signal(number)
        said = training.stderr.read()
        assert training.wait(60) == 1
    (step,) = map(int, re.findall(r"interrupted after step (\d+); go on with .*run.torch", said))
    out = tmp_path / "run.torch"
    assert len(losses(out)) == step
    assert train_in_torch(out, "--steps", step + 10)[0] == 0
    assert main([*argv, "--steps", str(step + 10), "--out", str(tmp_path / "here")]) == 0
    np.testing.assert_allclose(losses(out), losses(tmp_path / "here"), rtol=0, atol=1e-9)
