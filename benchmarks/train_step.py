"""Seconds of one training step: this project, PyTorch, JAX, and the matrix products alone."""

import numpy as np
from compare import contestants, quartiles, ratio, rounds
from steps import CONFIGS
from tables import compared, number, table, times

TITLE = "A training step"
PEERS = ["PyTorch", "PyTorch, kept memory", "JAX"]
FLOORS = ["floor", "floor in PyTorch"]
NAMES = {1: ["ours", *PEERS, *FLOORS], 2: ["ours", *PEERS, "ours, threads", "ours, BLAS threads"]}
BLOCK = 0.4  # seconds, about, of the work that one is asked for at a time
QUICK = {"configs": ("classroom", "translation"), "n": 5}
COLUMNS = {"ours, threads": "ours, as threads", "PyTorch": "PyTorch",
           "ours, BLAS threads": "ours, threads in the products",
           "PyTorch, kept memory": "PyTorch, memory kept", "PyTorch, compiled": "`torch.compile`",
           "JAX": "`jax.jit`", "floor": "products alone",
           "floor in PyTorch": "products alone, by PyTorch"}


def measure(configs=tuple(CONFIGS), *, n=20, threads=(1, 2), compiled=False):
    """{config: {threads: {name: figures}}}."""
    return {config: {str(t): measure_one(config, t, n, compiled) for t in threads}
            for config in configs}


def measure_one(config, threads, n, compiled=False):
    """{name: {"ms", "ratio", "loss", "steps", "parameters"}} of a config.

    ms and ratio are quartiles over the rounds of a round's median; ratio is ours over theirs.
    """
    names = NAMES[threads] + ["PyTorch, compiled"] * compiled
    with contestants("steps", names, threads, config=config) as team:
        counts = {one.about["parameters"] for one in team.values()} - {None}
        if len(counts) > 1:
            raise ValueError(f"models must have equal numbers of parameters, got {counts}")
        (first,) = rounds(team, 1, 3, warm_up=3)["ours"]
        k = max(1, round(BLOCK / min(s["seconds"] for s in first)))
        said = rounds(team, n, k, warm_up=k // 2)
    blocks = {name: [np.median([s["seconds"] for s in block]) for block in said[name]]
              for name in said}
    last = {name: said[name][-1][-1] for name in said}
    return {name: {"ms": quartiles(1e3 * np.array(blocks[name])),
                   "ratio": ratio(blocks["ours"], blocks[name]),
                   "loss": last[name]["loss"], "steps": last[name]["step"],
                   "parameters": team[name].about["parameters"]} for name in said}


def section(figures):
    """What was found, as Markdown."""
    parts = [INTRODUCTION, sizes(figures)]
    for t, words in THREADS.items():
        found = {config: by_threads[t] for config, by_threads in figures.items() if t in by_threads}
        if found:
            parts += [words, times_table(found, set(first(found)) - {"ours", *FLOORS}),
                      "\n".join(comparison(found, name) for name in PEERS if name in first(found))]
    return "\n\n".join([*parts, *floor_words(figures), losses(figures)])


def first(found):
    return next(iter(found.values()))


def sizes(figures):
    """What the configs are."""
    head = ["", "V", "d_model", "h", "d_ff", "N", "B", "T", "parameters", "10⁶ multiplications"]
    rows = []
    for config, by_threads in figures.items():
        c, ours = CONFIGS[config], first(by_threads)["ours"]
        numbers = (c.vocab_size, c.d_model, c.h, c.d_ff, c.N, c.B, c.T, ours["parameters"])
        rows.append([config, *map(str, numbers), f"{c.multiplications() / 1e6:.0f}"])
    return table(head, rows)


def times_table(found, names):
    """Milliseconds of some of them, and ours over theirs."""
    names = [name for name in first(found) if name in names]
    head = ["ms", "ours"] + [word for name in names for word in (COLUMNS[name], "ours / it")]
    rows = [[config, number(f["ours"]["ms"][1])] + [
        word for name in names for word in (number(f[name]["ms"][1]), times(f[name]["ratio"]))]
        for config, f in found.items()]
    return table(head, rows)


def comparison(found, name):
    """Where ours is faster than another and where slower, in a sentence."""
    clauses = [f"{config} {compared(f[name]['ratio'])}" for config, f in found.items()]
    return f"- Ours beside {name}: {'; '.join(clauses)}."


def floor_words(figures):
    """How far we are from the products, and how far ours are from PyTorch's: paragraphs."""
    found = {config: f["1"] for config, f in figures.items() if "floor" in f.get("1", {})}
    if not found:
        return []
    shares = ", ".join(f"{100 / f['floor']['ratio'][1]:.0f} % at {c}" for c, f in found.items())
    parts = [f"Of our step with one thread the matrix products take {shares}. {WHY}"]
    if "floor in PyTorch" in first(found):
        parts.append("Over the time of the products by NumPy's library, that by PyTorch's is "
                     + ", ".join(f"{over(f):.2f} at {c}" for c, f in found.items()) + ".")
    return [times_table(found, FLOORS), " ".join(parts)]


def over(f):
    """Median time of the products in PyTorch over that in NumPy."""
    return f["floor in PyTorch"]["ms"][1] / f["floor"]["ms"][1]


def losses(figures):
    """The loss of everyone after the same number of steps."""
    names = [name for name in ("ours", "PyTorch", "JAX") if name in first(first(figures))]
    found = {config: first(by_threads) for config, by_threads in figures.items()}
    rows = [[config, str(f["ours"]["steps"]), *(f"{f[name]['loss']:.4f}" for name in names)]
            for config, f in found.items()]
    return "The losses after as many steps, as a check that it is the same work:\n\n" + table(
        ["", "steps", *names], rows)


INTRODUCTION = """One step is: gradients to zero, forward, loss, backward, Adam; on a batch of
random ids, the same for everyone, that is drawn before the clock starts. The model is the same
everywhere, with the same first values: post-norm, one E, attention without biases, no dropout,
float32. PyTorch is `torch.nn.Transformer` as it is, with its fused Adam; JAX is one function,
compiled as a whole. *Memory kept* is PyTorch with the C library told to keep freed memory, by two
environment variables: [memory.py](../aiayn_np/memory.py) tells it so for us. *Products alone* are
the matrix products of our step and nothing else: forward and two backward for every linear map, six
for every attention."""
THREADS = {
    "1": "One thread:",
    "2": "Two threads, which want two free processors: where another program takes one of them,"
         " libraries whose threads wait for one another at every product lose most. Ours are two"
         " workers with half of the batch each, which meet once a step: processes (`--workers 2"
         " --workers-as processes`), or *as threads* (`--workers 2`); or one with two threads"
         " inside its matrix products:",
}
WHY = """What is left is memory traffic: NumPy writes every intermediate result to an array and
reads it again, where a compiler or a fused kernel does several operations in one pass."""
