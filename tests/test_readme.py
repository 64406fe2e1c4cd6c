"""The README keeps its word: its code runs, its commands parse, its links lead somewhere."""

import re
import shlex
from pathlib import Path

import numpy as np
import pytest

from aiayn_np import Transformer
from aiayn_np.cli import parser

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


def test_the_example_runs(capsys):
    (example,) = blocks("python")
    assert len([line for line in example.splitlines() if line.strip()]) <= 11
    names = {}
    exec(example, names)
    shape, *maps = capsys.readouterr().out.split("weights")[0].split(") ")
    T_q, T_k = names["tgt_in"].shape[1], names["src"].shape[1]
    assert shape == f"(32, 4, {T_q}, {T_k}"
    assert maps == ["encoder.layers.0.self_attention.attention."]
    assert any(np.any(p.grad) for p in names["model"].parameters())


def test_every_command_line_parses():
    lines = [line for block in blocks("bash") for line in block.splitlines()]
    lines += re.findall(r"`(aiayn-np [^`]*)`", README)
    commands = [line.split("aiayn-np ")[-1] for line in lines if "aiayn-np " in line]
    assert len(commands) >= 7
    for command in commands:
        argv = shlex.split(command, comments=True)
        if argv != ["--help"]:
            parser().parse_args(argv)


@pytest.mark.parametrize("link", re.findall(r"\]\(([^)]*)\)", README))
def test_every_link_leads_somewhere(link):
    assert link.startswith("https://arxiv.org/abs/1706.03762") or (ROOT / link).is_file()


def test_the_reading_table_names_every_file():
    layers = {path.name for path in (ROOT / "aiayn_np").glob("*.py")}
    layers -= {"__init__.py", "__main__.py"}
    assert layers == set(re.findall(r"\]\(aiayn_np/([^/)]*)\)", README))


def test_the_two_commands_are_one_line_each_and_ci_runs_the_second():
    first, second = (block.strip() for block in blocks("bash")[:2])
    assert "\n" not in first + second
    assert first.endswith("aiayn-np train copy")
    pattern = re.search(r"grep -E '(.*)' README.md", (ROOT / ".ci" / "run").read_text()).group(1)
    assert re.findall(pattern, README, re.MULTILINE) == [second]


def test_the_parameter_counts_follow_from_the_formula_it_gives():
    def count(V, N, d_model, d_ff):
        feed_forward = 2 * d_model * d_ff + d_ff + d_model
        encoder = 4 * d_model**2 + feed_forward + 4 * d_model
        decoder = 8 * d_model**2 + feed_forward + 6 * d_model
        return V * d_model + N * (encoder + decoder)

    small = Transformer(11, N=2, d_model=12, d_ff=20, h=3, rng=np.random.default_rng(0))
    assert sum(p.value.size for p in small.parameters()) == count(11, 2, 12, 20)
    for sizes in ((37000, 6, 512, 2048), (37000, 6, 1024, 4096)):
        assert f"{count(*sizes):,}".replace(",", " ") in README.replace("\n", " ")
