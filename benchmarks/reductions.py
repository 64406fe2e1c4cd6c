"""Sums and maxima of aiayn_np/reductions.py against those of NumPy, at the sizes of a step."""

from functools import partial

import numpy as np
from common import CONFIGS
from compare import contestants, quartiles
from tables import number, table, times

TITLE = "Sums as products"
QUICK = {"repeats": 50}
SIZES = ("classroom", "lesson")


def measure(configs=SIZES, *, repeats=200):
    """{config: list of {"name", "shape", "us": ours, "numpy_us", "ratio": NumPy / ours}}."""
    found = {}
    for config in configs:
        with contestants("reductions", ["ours"], config=config, repeats=repeats) as team:
            (found[config],) = team["ours"].ask()
    return found


def cases(c):
    """Yield (name, shape, our function, NumPy's), each of no argument."""
    from aiayn_np import reductions

    rng = np.random.default_rng(0)
    features, hidden, scores, logits = (rng.standard_normal(shape, dtype=np.float32) for shape in (
        (c.B, c.T, c.d_model), (c.B, c.T, c.d_ff), (c.B, c.h, c.T, c.T),
        (c.B, c.T - 1, c.vocab_size)))
    rows = {"axis": -1, "keepdims": True}
    for name, arrays in (("sum", (features, scores, logits)), ("mean", (features,)),
                         ("max", (scores, logits))):
        for x in arrays:
            ours, numpys = getattr(reductions, f"row_{name}"), getattr(x, name)
            yield f"row_{name}", x.shape, partial(ours, x), partial(numpys, **rows)
    for x in (features, hidden):
        numpys = partial(x.sum, axis=(0, 1))
        yield "column_sum", x.shape, partial(reductions.column_sum, x), numpys
    ids, flat = rng.integers(0, c.vocab_size, c.B * c.T), features.reshape(-1, c.d_model)
    args = np.zeros((c.vocab_size, c.d_model), np.float32), ids, flat
    yield "add_at", args[0].shape, partial(reductions.add_at, *args), partial(np.add.at, *args)


def work(what, threads, config, repeats):
    """Yield {}, and then what `measure` reports of a config; the two take turns."""
    from aiayn_np.experiments.measuring import seconds

    yield {}
    found = []
    for name, shape, ours, numpys in cases(CONFIGS[config]):
        us = 1e6 * seconds([ours, numpys], repeats)
        found.append({"name": name, "shape": list(shape), "us": float(np.median(us[0])),
                      "numpy_us": float(np.median(us[1])), "ratio": quartiles(us[1] / us[0])})
    yield found


def section(figures):
    """The findings, as Markdown."""
    head = ["config", "shape", "function", "ours, µs", "NumPy, µs", "NumPy / ours"]
    rows = [[config, str(tuple(f["shape"])), f"`{f['name']}`", number(f["us"]),
             number(f["numpy_us"]), times(f["ratio"])]
            for config, found in figures.items() for f in found]
    slower = [f"`{f['name']}` of {tuple(f['shape'])}" for found in figures.values()
              for f in found if f["ratio"][1] < 1]
    words = f"NumPy's own are faster for {', '.join(slower)}." if slower else (
        "Ours are faster at each of these shapes.")
    return "\n\n".join([
        "[reductions.py](../aiayn_np/reductions.py) computes sums as matrix products, and maxima of"
        " short rows down the columns of a copy. `add_at` adds a row of gradients for each token to"
        " the rows of E. All with one thread in float32.",
        table(head, rows), words])
