"""The side-by-side measurements: same work for everyone, and a page that says what was measured."""

import json
import re
import shlex
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest

from aiayn_np import Adam, LabelSmoothedCrossEntropy

FOLDER = Path(__file__).parents[2] / "benchmarks"
sys.path.insert(0, str(FOLDER))

import common  # noqa: E402
import page  # noqa: E402
import run  # noqa: E402
import steps  # noqa: E402
from compare import contestants, rounds  # noqa: E402

ODD = common.Config(vocab_size=7, d_model=6, h=2, d_ff=10, N=2, B=3, T=5)


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


def test_its_commands_parse():
    text = (FOLDER / "README.md").read_text(encoding="utf-8") + run.__doc__
    commands = re.findall(r"python benchmarks/run\.py([\w -]*)", text)
    assert len(commands) > len(page.SECTIONS)
    for command in commands:
        run.parser().parse_args(shlex.split(command.split("  ")[0]))


def test_saving_a_section_keeps_the_others_and_writes_the_page(tmp_path):
    old = page.load()
    for name in ("memory", "decoding"):
        page.save(name, old[name], tmp_path)
    both = {name: old[name] for name in ("decoding", "memory")}        # in the order of the page
    assert list(page.load(tmp_path).items()) == list(both.items())
    assert (tmp_path / "README.md").read_text(encoding="utf-8") == page.page(both)


@pytest.mark.slow
def test_ranks_take_the_steps_of_one():
    pytest.importorskip("mpi4py")
    if shutil.which(common.mpiexec()) is None:
        pytest.skip("there is no mpiexec")
    with (contestants("steps", ["ours"], config="classroom") as one,
          contestants("steps", ["ours, ranks"], 2, config="classroom") as two):
        losses = {name: [answer["loss"] for block in said for answer in block]
                  for name, said in (rounds(one, 1, 3, 1) | rounds(two, 1, 3, 1)).items()}
        assert len(two["ours, ranks"].pids) == 3                         # with mpiexec itself
    np.testing.assert_allclose(losses["ours, ranks"], losses["ours"], rtol=1e-5)


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


def test_the_page_on_commands_has_the_table_of_jumps_and_it_is_of_every_seed():
    docs = FOLDER.parent / "docs"
    sys.path.insert(0, str(docs))
    import measure_jumps as jumps

    rows = json.loads(jumps.RESULT.read_text(encoding="utf-8"))
    assert jumps.table(rows) in (docs / "commands.md").read_text(encoding="utf-8")
    seeds = {row["seed"] for row in rows}
    assert sorted(map(str, rows)) == sorted({str(row) for row in rows})
    assert {(row["task"], row["seed"], row["beta_2"]) for row in rows} == {
        (task, seed, beta_2) for task in jumps.TASKS for seed in seeds
        for beta_2 in (jumps.PAPER, jumps.LONGER)}
    assert jumps.jumps([1.0, 0.1, 0.3, 0.3, 0.1, 0.1, 0.15]) == (1, 0.2)
