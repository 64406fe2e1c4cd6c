"""The same model and the same training in PyTorch itself, in float64."""

import json
import subprocess
import sys

import numpy as np
import pytest
import pytorch
from golden.make_interop import PATH, computed
from golden_arrays import frozen
from pages import ROOT, blocks
from parity import assert_same
from same_model import KINDS, batch, model_of, ours, theirs, to_theirs
from sentences import options

from aiayn_course.cli.main import main
from aiayn_np import DecoderLayer, EncoderLayer
from aiayn_np.models import from_torch, to_torch
from aiayn_np.runs.run import Run
from aiayn_np.training.loss import LabelSmoothedCrossEntropy
from aiayn_np.training.optimizer import Adam, warmup_rate
from aiayn_np.variants.activations import GELU, SiLU, TanhGELU
from aiayn_np.variants.layer_options import layer_factory

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore"),
              pytest.mark.usefixtures("no_pictures")]
every_kind = pytest.mark.parametrize("kind", KINDS)
TINY = ["--symbols", "6", "--max-length", "6", "--d-model", "16", "--d-ff", "24", "--h", "2",
        "--N", "1", "--batch-size", "9", "--dtype", "float64"]


one_thread = pytest.fixture(autouse=True, scope="module")(pytorch.one_thread)


def assert_all_same(model, ids, kind):
    """Logits, loss and every gradient, to 1e-12 of the norm; return the module."""
    module = to_torch(model)
    found, want = ours(model, *ids), theirs(module, *ids)
    grads = {n.removeprefix("grad "): g for n, g in found.items() if n.startswith("grad ")}
    renamed = {f"grad {n}": g for n, g in to_theirs(grads, module.config).items()}
    assert sum(g.size for g in renamed.values()) == sum(g.size for g in grads.values())
    assert_same({"logits": found["logits"], "loss": found["loss"]} | renamed, want, kind)
    return module


@every_kind
def test_logits_loss_and_every_gradient_are_the_same(kind, seed):
    """Padded rows and a source of padding alone included."""
    for i in range(5):
        rng = np.random.default_rng([seed, i])
        assert_all_same(model_of(kind, rng), batch(rng), kind)


@pytest.mark.parametrize("activation", [GELU, TanhGELU, SiLU])
def test_another_activation_goes_there_and_back(activation, rng):
    layers = {f"{kind.__name__[:7].lower()}_layer": layer_factory(kind, activation=activation)
              for kind in (EncoderLayer, DecoderLayer)}
    model, ids = model_of("the paper's", rng, **layers), batch(rng)
    back = from_torch(assert_all_same(model, ids, activation.__name__))
    np.testing.assert_array_equal(back(*ids[:2]), model(*ids[:2]))


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
    torch, module = pytorch.pytorch(), to_torch(model_of("the paper's", rng))
    with pytest.raises(ValueError, match="length must be at most max_len=10, got length 11"):
        module(torch.ones(2, 11, dtype=torch.long), torch.ones(2, 3, dtype=torch.long))


def test_what_is_frozen_is_what_pytorch_computes_now():
    now, then = computed(), frozen(PATH)
    assert set(now) == set(then)
    for kind, arrays in now.items():
        assert json.loads(str(arrays.pop("config"))) == json.loads(str(then[kind].pop("config")))
        assert_same(arrays, then[kind], kind)


def program(ranks):
    """The program of the page; for one process without the lines for several."""
    page = (ROOT / "docs" / "pytorch.md").read_text(encoding="utf-8")
    lines = blocks(page, "python")[1].splitlines()
    assert sum(line.endswith("# DDP") for line in lines) == 5
    return "\n".join(line for line in lines if ranks > 1 or not line.endswith("# DDP"))


def trained_there(folder, ranks):
    """The loss of every step that the program prints: of a batch it is the mean of the ranks'."""
    (folder / "there.py").write_text(program(ranks))
    start = ["-m", "torch.distributed.run", "--nproc-per-node", str(ranks), "--log-dir", "logs",
             "--redirects", "1"] if ranks > 1 else []                  # a file for each process
    run = subprocess.run([sys.executable, *start, "there.py"], cwd=folder, capture_output=True,
                         text=True, timeout=300)
    assert run.returncode == 0, run.stderr
    said = [path.read_text() for path in folder.glob("logs/**/stdout.log")] or [run.stdout]
    assert len(said) == ranks
    return np.mean([[float(line.split()[1]) for line in one.splitlines()] for one in said], axis=0)


def losses_here(folder, steps):
    """The same with NumPy, and the model after it."""
    run = Run.open(folder)
    train, adam = run.options, Adam(run.model)
    criterion = LabelSmoothedCrossEntropy(train["eps_ls"], pad=run.task.pad)
    losses = []
    for step in range(1, steps + 1):
        src, tgt_in, tgt_out = run.task.batch_of(step, run.rng)
        logits, cache = run.model.forward(src, tgt_in)
        loss, loss_cache = criterion.forward(logits, targets=tgt_out)
        run.model.zero_grad()
        run.model.backward(criterion.backward(1.0, loss_cache), cache)
        adam.step(warmup_rate(step, run.model.d_model, train["warmup_steps"], train["rate_scale"]))
        losses.append(loss)
    return losses, run.model


def assert_same_training(folder, ranks):
    """The program has NumPy's losses, and the weights that it writes are NumPy's."""
    found = trained_there(folder, ranks)
    want, model = losses_here("runs/copy", len(found))
    np.testing.assert_allclose(found, want, rtol=0, atol=1e-9)
    there = np.load("runs/there.npz")
    for name, value in model.state_dict().items():
        np.testing.assert_allclose(there[name], value, rtol=0, atol=1e-9)


@pytest.mark.parametrize("ranks", [1, 2])
@pytest.mark.parametrize("kind", [[], ["--norm", "pre", "--positions", "learned"]])
def test_the_program_of_the_page_has_the_losses_of_numpy(kind, ranks, tmp_path, monkeypatch):
    """Batches of 9, which two processes share as 5 and 4 rows."""
    monkeypatch.chdir(tmp_path)
    assert main(["train", "reverse", *TINY, *kind, "--steps", "40", "--out", "runs/copy"]) == 0
    assert_same_training(tmp_path, ranks)


def test_the_program_of_the_page_trains_on_text(tmp_path, monkeypatch):
    argv = [*options(tmp_path), "--tokens", "20", "--dtype", "float64", "--P-drop", "0",
            "--epochs", "0.2"]
    monkeypatch.chdir(tmp_path)
    assert main([*argv, "--out", "runs/copy"]) == 0
    assert_same_training(tmp_path, 1)


def test_the_first_lines_of_the_page(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["train", "copy", *TINY, "--steps", "3", "--out", "runs/copy"]) == 0
    names: dict = {}
    exec(blocks((ROOT / "docs" / "pytorch.md").read_text(encoding="utf-8"), "python")[0], names)
    want = Run.open("runs/copy").trained().state_dict()
    for name, value in names["model"].state_dict().items():
        np.testing.assert_array_equal(value, want[name])
