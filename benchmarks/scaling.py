"""A training step on two processors, and the time of an Allreduce between two ranks.

It needs the extra `mpi`; PyTorch is measured where it is installed.
"""

import itertools
import time

import numpy as np
from common import CONFIGS
from compare import Contestant, contestants, installed, quartiles, ratio, rounds
from tables import number, table, times
from train_step import medians

TITLE = "Two processors"
BYTES = [2**i for i in (10, 14, 17, 20, 22, 24, 26)]
TEAM = {"ours": 1, "ours, ranks": 2, "ours, BLAS threads": 2, "PyTorch": 2}
SLOWEST = 1.5  # seconds, about, of a block of the slowest
NAMES = {"ours": "one rank", "ours, ranks": "two ranks",
         "ours, BLAS threads": "threads in the products", "PyTorch": "PyTorch, two threads"}
QUICK = {"configs": ("classroom",), "n": 3}


def measure(configs=tuple(CONFIGS), *, n=12):
    """{"two": step times on two processors for each config, "allreduce": seconds by bytes}."""
    return {"two": {config: two(config, n) for config in configs}, "allreduce": allreduce(n)}


def two(config, n):
    """{name: {"ms", "ratio"}}: quartiles; ratio is two ranks over it, in the same round."""
    team = {name: Contestant("steps", name, TEAM[name], config=config) for name in installed(TEAM)}
    try:
        (slowest,) = np.max([medians(b) for b in rounds(team, 1, 1, warm_up=1).values()], axis=0)
        said = rounds(team, n, max(1, round(SLOWEST / slowest)), warm_up=1)
        blocks = {name: medians(b) for name, b in said.items()}
    finally:
        for one in team.values():
            one.close()
    return {name: {"ms": quartiles(1e3 * np.array(blocks[name])),
                   "ratio": ratio(blocks["ours, ranks"], blocks[name])} for name in blocks}


def allreduce(n):
    """{bytes: least seconds of all rounds} between two ranks on this machine."""
    with contestants("scaling", ["Allreduce"], 2) as team:
        said = rounds(team, n, len(BYTES), warm_up=len(BYTES))["Allreduce"]
    seconds: dict[str, list] = {}
    for answer in itertools.chain(*said):
        seconds.setdefault(str(answer["bytes"]), []).append(answer["seconds"])
    return {size: min(values) for size, values in seconds.items()}


def work(what, threads):
    """On a rank: yield the processes, and then the time of an Allreduce for each size in turn."""
    from mpi4py import MPI
    from steps import others

    yield {"pids": others()}
    while True:
        for size in BYTES:
            array, repeats = np.ones(size // 4, np.float32), max(3, min(50, 2**22 // size))
            MPI.COMM_WORLD.Barrier()
            started = time.perf_counter()
            for _ in range(repeats):
                MPI.COMM_WORLD.Allreduce(MPI.IN_PLACE, array)
            yield {"bytes": size, "seconds": (time.perf_counter() - started) / repeats}


def section(figures):
    """The findings, as Markdown."""
    sizes = figures["allreduce"]
    head = ["Allreduce, kB", *(number(int(size) / 1e3) for size in sizes)]
    measured = ["µs", *(f"{1e6 * seconds:,.0f}" for seconds in sizes.values())]
    return "\n\n".join([INTRODUCTION, two_table(figures["two"]), table(head, [measured])])


def two_table(found):
    """Milliseconds of a step on two processors, and the time of two ranks over each."""
    names = [name for name in NAMES if name in next(iter(found.values()))]
    head = ["ms"] + [word for name in names for word in (
        [NAMES[name]] if name == "ours, ranks" else [NAMES[name], "ranks / it"])]
    rows = []
    for config, f in found.items():
        cells = [[number(f[name]["ms"][1])] + [times(f[name]["ratio"])] * (name != "ours, ranks")
                 for name in names]
        rows.append([config, *itertools.chain(*cells)])
    return table(head, rows)


INTRODUCTION = """These are the steps of the first section on two processors: two ranks of MPI with
half of the batch each (`mpiexec -n 2`), and two threads inside the matrix products (`--threads
2`); beside them PyTorch with two threads. Below 1, two ranks are faster. All of them need two free
processors. If another program takes one, those that wait for each other at every product lose most.
The last table has the least time of several rounds that two ranks need to add up an array. [The
page on scaling](../docs/scaling.md) says what this means for more machines."""
