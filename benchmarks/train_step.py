"""Seconds of one training step: this project, PyTorch, JAX, and the matrix products alone."""

import numpy as np
from common import CONFIGS
from compare import contestants, quartiles, ratio, rounds
from tables import compared, number, table, times

TITLE = "A training step"
PEERS = ["PyTorch", "PyTorch, kept memory", "JAX"]
FLOORS = ["floor", "floor in PyTorch"]
NAMES = ["ours", *PEERS, *FLOORS]
BLOCK = 0.4  # seconds, about, of the work that one is asked for at a time
QUICK = {"configs": ("classroom", "translation"), "n": 5}
COLUMNS = {"PyTorch": "PyTorch",
           "PyTorch, kept memory": "PyTorch, memory kept", "PyTorch, compiled": "`torch.compile`",
           "JAX": "`jax.jit`", "floor": "products alone",
           "floor in PyTorch": "products alone, by PyTorch"}


def measure(configs=tuple(CONFIGS), *, n=20, compiled=False):
    """{config: {name: figures}}, of one thread; two processors are measured in scaling.py."""
    return {config: measure_one(config, n, compiled) for config in configs}


def measure_one(config, n, compiled=False):
    """{name: {"ms", "ratio", "parameters"}} of a config.

    ms and ratio are quartiles over the rounds of a round's median; ratio is ours over theirs.
    """
    names = NAMES + ["PyTorch, compiled"] * compiled
    with contestants("steps", names, config=config) as team:
        counts = {one.about["parameters"] for one in team.values()} - {None}
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
    parts = [INTRODUCTION, sizes(figures), "With one thread:",
             times_table(figures, set(first(figures)) - {"ours", *FLOORS}),
             "\n".join(comparison(figures, name) for name in PEERS if name in first(figures))]
    return "\n\n".join([*parts, *floor_words(figures)])


def first(found):
    return next(iter(found.values()))


def sizes(figures):
    """A table of the configs."""
    head = ["", "V", "d_model", "h", "d_ff", "N", "B", "T", "parameters", "10⁶ multiplications"]
    rows = []
    for config, found in figures.items():
        c, ours = CONFIGS[config], found["ours"]
        numbers = (c.vocab_size, c.d_model, c.h, c.d_ff, c.N, c.B, c.T, ours["parameters"])
        rows.append([config, *map(str, numbers), f"{c.multiplications() / 1e6:.0f}"])
    return table(head, rows)


def times_table(found, names):
    """A table of milliseconds of some contestants, and ours over theirs."""
    names = [name for name in first(found) if name in names]
    head = ["ms", "ours"] + [word for name in names for word in (COLUMNS[name], "ours / it")]
    rows = [[config, number(f["ours"]["ms"][1])] + [
        word for name in names for word in (number(f[name]["ms"][1]), times(f[name]["ratio"]))]
        for config, f in found.items()]
    return table(head, rows)


def comparison(found, name):
    """A line that says where ours is faster than another, and where slower."""
    clauses = [f"{config} {compared(f[name]['ratio'])}" for config, f in found.items()]
    return f"- Ours beside {name}: {'; '.join(clauses)}."


def floor_words(figures):
    """Paragraphs that compare our step with the products alone, and NumPy's with PyTorch's."""
    found = {config: f for config, f in figures.items() if "floor" in f}
    if not found:
        return []
    shares = ", ".join(f"{100 / f['floor']['ratio'][1]:.0f} % at {c}" for c, f in found.items())
    parts = [f"Of our step with one thread the matrix products take {shares}. {WHY}"]
    if "floor in PyTorch" in first(found):
        parts.append("PyTorch's library takes for the products, as a multiple of NumPy's, "
                     + ", ".join(f"{over(f):.2f} at {c}" for c, f in found.items()) + ".")
    return [times_table(found, FLOORS), " ".join(parts)]


def over(f):
    """Median time of the products in PyTorch over that in NumPy."""
    return f["floor in PyTorch"]["ms"][1] / f["floor"]["ms"][1]


INTRODUCTION = """One step is: gradients to zero, forward, loss, backward, Adam. Its batch of random
ids is the same for all contestants, and is drawn before the clock starts. The model and its initial
values are the same too: post-norm, one E, attention without biases, no dropout, float32. PyTorch is
`torch.nn.Transformer` as it is, with its fused Adam. JAX is one function, compiled as a whole.
*Memory kept* is PyTorch with two environment variables that let the C library keep freed memory;
[memory.py](../aiayn_np/training/memory.py) does this for us. *Products alone* are only the matrix
products of our step: three for every linear map, six for every attention."""
WHY = """The rest is memory traffic: NumPy writes every intermediate result to an array and reads it
again. A compiler or a fused kernel does several operations in one pass."""
