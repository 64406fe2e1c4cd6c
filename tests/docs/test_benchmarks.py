"""The side-by-side measurements: same work for everyone, and a page that says what was measured."""

import inspect
import itertools
import re
import shlex
import sys
from pathlib import Path

import numpy as np
import pytest
from imports import circles, imports_of
from sentences import sentences, write

from aiayn_np import Adam, LabelSmoothedCrossEntropy, ScaledDotProductAttention
from aiayn_np.cli.main import parsed
from aiayn_np.cli.options import TRAIN_OPTIONS
from aiayn_np.cli.train import new_run, take_steps
from aiayn_np.embedding import OutputProjection
from aiayn_np.linear import Linear
from aiayn_np.module import Cache
from aiayn_np.training import loop

FOLDER = Path(__file__).parents[2] / "benchmarks"
sys.path.insert(0, str(FOLDER))

import common  # noqa: E402
import large_batch  # noqa: E402
import page  # noqa: E402
import run  # noqa: E402
import scaling  # noqa: E402
import scaling_page  # noqa: E402
import steps  # noqa: E402
from compare import contestants, rounds  # noqa: E402
from memory import TINY  # noqa: E402
from tables import compared, number  # noqa: E402

ODD = common.Config(vocab_size=7, d_model=6, h=2, d_ff=10, N=2, B=3, T=5)


def test_no_script_imports_itself_through_others():
    graph = imports_of(FOLDER)
    assert "common" in graph["steps"] & graph["in_torch"]
    assert circles(graph) == []


class Counted:
    """An array that only knows its shape, and counts the multiplications of its products."""

    total = 0

    def __init__(self, array):
        self.shape = array.shape

    @property
    def T(self):
        return Counted(np.broadcast_to(0, self.shape[::-1]))

    @property
    def mT(self):
        return Counted(np.broadcast_to(0, (*self.shape[:-2], *self.shape[:-3:-1])))

    def __matmul__(self, other):
        assert self.shape[-1] == other.shape[-2]
        Counted.total += np.prod(self.shape) * other.shape[-1]
        return Counted(np.broadcast_to(0, (*self.shape[:-1], other.shape[-1])))


def multiplications(layer, cache):
    """Those in the products of a forward and a backward, from the caches of all layers."""
    if isinstance(layer, Linear):
        return 3 * cache.x.size * layer.d_out
    if isinstance(layer, OutputProjection):
        return 3 * cache.x.size * len(layer.E.value)
    if isinstance(layer, ScaledDotProductAttention):
        return 3 * (cache.Q.size + cache.kept.size // cache.V.shape[-2] * cache.V.shape[-1]) \
            * cache.K.shape[-2]
    pairs = zip(layer, cache) if isinstance(layer, list) else (
        (getattr(layer, name, None), value) for name, value in vars(cache).items()
        if isinstance(value, (Cache, list)))
    return sum(multiplications(*pair) for pair in pairs)


@pytest.mark.parametrize("c", [TINY, ODD])
def test_the_floor_has_as_many_multiplications_as_a_step_of_the_model(c):
    model, ids = common.our_model(c), next(common.batches(c))
    _, cache = model.forward(ids, ids[:, :-1])
    Counted.total = 0
    _, step = steps.floor(c, Counted)
    step(ids, 0)
    assert Counted.total == multiplications(model, cache) == c.multiplications()


def test_our_step_is_forward_loss_backward_adam():
    count, step = steps.ours(ODD)
    model, criterion = common.our_model(ODD), LabelSmoothedCrossEntropy(0.0)
    adam = Adam(model.parameters())
    assert count == sum(p.value.size for p in model.parameters())
    for i, ids in zip(range(3), common.batches(ODD)):
        adam.zero_grad()
        logits, cache = model.forward(ids, ids[:, :-1])
        loss, loss_cache = criterion.forward(logits, targets=ids[:, 1:])
        model.backward(criterion.backward(1.0, loss_cache), cache)
        adam.step(1e-3 * (i + 1) / 50)
        assert step(ids, i) == loss


def test_the_page_is_made_from_the_results():
    assert page.page(page.load()) == (FOLDER / "README.md").read_text(encoding="utf-8")
    assert set(page.load()) == set(page.SECTIONS)


def test_its_commands_parse_and_its_links_lead_somewhere():
    text = (FOLDER / "README.md").read_text(encoding="utf-8") + run.__doc__
    commands = re.findall(r"python benchmarks/run\.py([\w -]*)", text)
    assert len(commands) > len(page.SECTIONS)
    for command in commands:
        run.parser().parse_args(shlex.split(command.split("  ")[0]))
    for link in re.findall(r"\]\(([^)]*)\)", text):
        assert (FOLDER / link).is_file(), link


def test_saving_a_section_keeps_the_others_and_writes_the_page(tmp_path):
    old = page.load()
    for name in ("start", "decoding"):
        page.save(name, old[name], tmp_path)
    both = {name: old[name] for name in ("decoding", "start")}        # in the order of the page
    assert list(page.load(tmp_path).items()) == list(both.items())
    assert (tmp_path / "README.md").read_text(encoding="utf-8") == page.page(both)


def test_words_follow_the_ratio():
    assert compared([0.4, 0.5, 0.6]) == "2.00 times faster"
    assert compared([1.9, 2.0, 2.1]) == "2.00 times slower"
    assert compared([0.9, 0.95, 1.1]) == "no clear difference (0.95)"
    assert [number(x) for x in (1.234, 12.34, 1234.4)] == ["1.23", "12.3", "1234"]


def test_the_page_on_scaling_is_made_from_the_results():
    text = (FOLDER.parent / "docs" / "scaling.md").read_text(encoding="utf-8")
    assert scaling_page.page(page.load()) == text
    assert (FOLDER.parent / "docs" / "scaling.png").is_file()
    for link in re.findall(r"\]\(([^)]*)\)", text):
        assert (FOLDER.parent / "docs" / link).is_file(), link


def test_costs_are_those_of_the_lines_through_the_measurements():
    figures = {"rows": {"classroom": {str(b): 0.002 + 0.0005 * b for b in (1, 8, 64)}},
               "allreduce": {str(s): 2e-5 + s * 1e-9 for s in (2**10, 2**20, 2**24)}}
    costs = scaling.Costs(figures, "classroom")
    found = (costs.fixed, costs.row, costs.latency, costs.per_byte)
    np.testing.assert_allclose(found, (0.002, 0.0005, 1e-5, 1e-9), rtol=1e-6)
    assert costs.bytes == 4 * sum(
        p.value.size for p in common.our_model(scaling.NETS["classroom"]).parameters())
    assert costs.efficiency(1) == pytest.approx(1)
    assert costs.step(2) == pytest.approx(0.002 + 0.0005 * 32 + 2e-5 + costs.bytes * 1e-9)
    assert costs.crowded(2) == costs.step(2) < costs.crowded(8)
    slow = costs.over(1, 50e-6)
    assert (slow.latency, slow.per_byte) == (50e-6, 8e-9)
    assert slow.efficiency(8) < costs.efficiency(8)
    assert costs.over(100, 0).per_byte == costs.per_byte                 # memory is slower
    rows = costs.enough()
    assert 0.0005 * rows == pytest.approx(0.002 + 2 * costs.bytes * 1e-9)
    assert scaling.line([1, 2, 4], [1, 2.2, 5])[0] == 0                  # never below zero


def test_a_large_batch_is_measured_and_estimated():
    sizes = dict(vocab_size=30, N=1, d_model=8, d_ff=8, h=2)
    found = large_batch.measure(tokens=400, accumulate=4, **sizes)
    assert found["parameters"] > 240
    assert found["peak"] > 1e6
    assert found["estimated"] > 1e6
    assert found["seconds"] > 0


@pytest.mark.slow
def test_ranks_and_distributed_processes_take_the_steps_of_one():
    for package in ("mpi4py", "torch"):
        pytest.importorskip(package)
    with (contestants("steps", ["ours"], config="classroom") as one,
          contestants("steps", ["ours, ranks", "PyTorch, DDP"], 2, config="classroom") as two):
        losses = {name: [answer["loss"] for block in said for answer in block]
                  for name, said in (rounds(one, 1, 3, 1) | rounds(two, 1, 3, 1)).items()}
        assert len(two["PyTorch, DDP"].pids) == 2
        assert len(two["ours, ranks"].pids) == 3                         # with mpiexec itself
    np.testing.assert_allclose(losses["ours, ranks"], losses["ours"], rtol=1e-5)
    assert abs(losses["PyTorch, DDP"][-1] - losses["ours"][-1]) < 0.1    # it tells its own share's


@pytest.mark.slow
def test_everyone_takes_the_same_steps_and_is_stopped_in_between():
    with contestants("steps", ["ours", "PyTorch", "JAX"], config="classroom") as team:
        if len(team) < 3:
            pytest.skip("PyTorch and JAX are not installed")
        said = rounds(team, 2, 2, warm_up=1)
        status = Path(f"/proc/{team['ours'].process.pid}/status")
        assert not status.exists() or "T (stopped)" in status.read_text()
        assert len({one.about["parameters"] for one in team.values()}) == 1
    losses = {name: [answer["loss"] for block in said[name] for answer in block] for name in said}
    assert [answer["step"] for block in said["ours"] for answer in block] == [2, 3, 4, 5]
    for name in ("PyTorch", "JAX"):
        np.testing.assert_allclose(losses[name], losses["ours"], rtol=1e-5)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::UserWarning:torch")
def test_copy_in_pytorch_takes_the_steps_of_the_command_line(tmp_path, monkeypatch):
    pytest.importorskip("torch")
    import torch_copy
    from in_torch import renamed

    words = ["train", "copy", "--steps", "3", "--seed", "4"]
    ours, _ = new_run(tmp_path, parsed(words))
    assert take_steps(ours)
    model, rng = torch_copy.start(4)
    monkeypatch.setattr(torch_copy, "start", lambda seed: (model, rng))
    monkeypatch.setattr(torch_copy, "VALIDATE_EVERY", 1000)
    assert [step for step, _, _ in itertools.islice(torch_copy.train(4), 3)] == [1, 2, 3]
    for name, value in renamed(ours.model.state_dict()).items():
        np.testing.assert_allclose(model.state_dict()[name].numpy(), value, atol=2e-5)


@pytest.mark.slow
def test_training_on_text_has_the_same_losses_in_pytorch(tmp_path):
    pytest.importorskip("torch")
    import on_text

    files = dict(zip(("source", "target"), map(str, write(tmp_path, sentences(2000)))))
    said, parameters = on_text.measure(20, 1, files=files, preset="tiny", P_drop=0.0)
    losses = {name: [s["loss"] for block in said[name] for s in block] for name in said}
    assert parameters["ours"] == parameters["PyTorch"]
    assert losses["ours"][-1] < losses["ours"][0] - 1
    np.testing.assert_allclose(losses["ours"], losses["PyTorch"], rtol=2e-4)


@pytest.mark.slow
def test_copy_in_pytorch_has_the_options_of_the_command_line():
    pytest.importorskip("torch")
    import torch_copy

    options = {flag: default for flag, _, default, _ in TRAIN_OPTIONS}
    assert options["--steps"] == torch_copy.STEPS
    rule = {name: p.default for name, p in inspect.signature(loop.train).parameters.items()}
    for name in ("validate_every", "validation_size", "eps_ls"):
        assert getattr(torch_copy, name.upper()) == rule[name]
    for name in ("AVERAGED", "AVERAGED_EVERY"):
        assert getattr(torch_copy, name) == getattr(loop, name)
