"""Seconds of one training step: this project, PyTorch and JAX."""

import numpy as np
from common import CONFIGS
from compare import contestants, quartiles, ratio, rounds
from tables import number, table, times

TITLE = "A training step"
PEERS = ["PyTorch", "PyTorch, kept memory", "JAX"]
NAMES = ["ours", *PEERS]
BLOCK = 0.4  # seconds, about, of the work that one is asked for at a time
QUICK = {"configs": ("classroom", "translation"), "n": 5}
COLUMNS = {"PyTorch": "PyTorch", "PyTorch, kept memory": "PyTorch, memory kept",
           "JAX": "`jax.jit`"}


def measure(configs=tuple(CONFIGS), *, n=20):
    """{config: {name: figures}}, of one thread; two processors are measured in scaling.py."""
    return {config: measure_one(config, n) for config in configs}


def measure_one(config, n):
    """{name: {"ms", "ratio", "parameters"}} of a config.

    ms and ratio are quartiles over the rounds of a round's median; ratio is ours over theirs.
    """
    with contestants("steps", NAMES, config=config) as team:
        counts = {one.about["parameters"] for one in team.values()}
        if len(counts) > 1:
            raise ValueError(f"models must have equal numbers of parameters, got {counts}")
        said = blocks_of(team, n)
    blocks = {name: medians(said[name]) for name in said}
    return {name: {"ms": quartiles(1e3 * np.array(blocks[name])),
                   "ratio": ratio(blocks["ours"], blocks[name]),
                   "parameters": team[name].about["parameters"]} for name in said}


def blocks_of(team, n):
    """name -> n blocks of answers to its steps; all blocks have equally many steps."""
    (first_block,) = rounds(team, 1, 3, warm_up=3)["ours"]
    k = max(1, round(BLOCK / min(s["seconds"] for s in first_block)))
    return rounds(team, n, k, warm_up=k // 2)


def medians(blocks):
    """The median seconds of the steps of each block."""
    return [np.median([s["seconds"] for s in block]) for block in blocks]


def section(figures):
    """The findings, as Markdown."""
    return "\n\n".join([INTRODUCTION, sizes(figures), "With one thread:", times_table(figures)])


def sizes(figures):
    """A table of the configs."""
    head = ["", "V", "d_model", "h", "d_ff", "N", "B", "T", "parameters"]
    rows = []
    for config, found in figures.items():
        c, ours = CONFIGS[config], found["ours"]
        numbers = (c.vocab_size, c.d_model, c.h, c.d_ff, c.N, c.B, c.T, ours["parameters"])
        rows.append([config, *map(str, numbers)])
    return table(head, rows)


def times_table(found):
    """A table of milliseconds of all contestants, and ours over theirs."""
    names = [name for name in COLUMNS if name in next(iter(found.values()))]
    head = ["ms", "ours"] + [word for name in names for word in (COLUMNS[name], "ours / it")]
    rows = [[config, number(f["ours"]["ms"][1])] + [
        word for name in names for word in (number(f[name]["ms"][1]), times(f[name]["ratio"]))]
        for config, f in found.items()]
    return table(head, rows)


INTRODUCTION = """One step is: gradients to zero, forward, loss, backward, Adam. Its batch of random
ids is the same for all contestants, and is drawn before the clock starts. The model and its initial
values are the same too: post-norm, one E, attention without biases, no dropout, float32. PyTorch is
`torch.nn.Transformer` as it is, with its fused Adam. JAX is one function, compiled as a whole.
*Memory kept* is PyTorch with two environment variables that let the C library keep freed memory;
[memory.py](../aiayn_np/training/memory.py) does this for us."""
