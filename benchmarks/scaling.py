"""A training step on two processors, the time of an Allreduce, and what follows for more machines.

    python benchmarks/run.py scaling        measure, and write docs/scaling.md, too

It needs the extra `mpi`; PyTorch is measured where it is installed.
"""

import copy
import itertools
import json
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
from common import CONFIGS, PAPER
from compare import Contestant, contestants, installed, quartiles, ratio, rounds
from tables import number, table, times
from train_step import medians

TITLE = "Two processors, and more machines"
NETS = {"classroom": CONFIGS["classroom"], "translation": CONFIGS["translation"], "base": PAPER}
ROWS = {"classroom": (1, 4, 16, 32, 64), "translation": (1, 4, 16, 32, 64), "base": (2, 4, 8, 16)}
BYTES = [2**i for i in (10, 14, 17, 20, 22, 24, 26)]
TEAM = {"ours": 1, "ours, ranks": 2, "ours, BLAS threads": 2, "PyTorch": 2,
        "PyTorch, DDP": 2}
SLOWEST = 1.5  # seconds, about, of a block of the slowest
CROWDED = (4, 8)  # ranks on two processors
NAMES = {"ours": "one rank", "ours, ranks": "two ranks",
         "ours, BLAS threads": "threads in the products", "PyTorch": "PyTorch, two threads",
         "PyTorch, DDP": "PyTorch, DDP (gloo), two processes"}
QUICK = {"configs": ("classroom",), "n": 3, "nets": ("classroom",), "all_of_it": False}


def measure(configs=tuple(CONFIGS), *, n=12, nets=tuple(NETS), all_of_it=True):
    """{"two": step times on two processors, "rows": by rows, "allreduce", "crowded"}.

    With `all_of_it` also "large batch" (large_batch.py).
    """
    found = {"two": {config: two(config, n) for config in configs},
             "rows": {net: by_rows(net, max(2, n // (4 if net == "base" else 1))) for net in nets},
             "allreduce": allreduce(n),
             "crowded": {net: crowded(net, n) for net in nets if net != "base"}}
    if all_of_it:
        script = Path(__file__).with_name("large_batch.py")    # its peak is that of its process
        said = subprocess.run([sys.executable, script], stdout=subprocess.PIPE, check=True).stdout
        found["large batch"] = json.loads(said)
    return found


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


def by_rows(net, n):
    """{rows: median seconds of a step of one rank with this many rows of the batch}.

    Seconds are of the processor for this rank: other programs do not count.
    """
    team = {rows: Contestant("steps", "ours", 1, config=net, rows=rows) for rows in ROWS[net]}
    try:
        said = rounds(team, n, 1 if net == "base" else 5, warm_up=1)
    finally:
        for one in team.values():
            one.close()
    return {str(rows): float(np.median([s["processor"] for s in itertools.chain(*said[rows])]))
            for rows in said}


def crowded(net, n):
    """{ranks: median seconds of a step of this many ranks, which share two processors}."""
    found = {}
    for ranks in CROWDED:
        with contestants("steps", ["ours, ranks"], ranks, config=net) as team:
            said = rounds(team, n, 5, warm_up=2)["ours, ranks"]
        found[str(ranks)] = float(np.median(medians(said)))
    return found


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


def line(x, y):
    """(a, b) of the line y = a + b x with the smallest relative errors; both are at least 0."""
    x, y = np.asarray(x, float), np.asarray(y, float)
    a, b = np.linalg.lstsq(np.stack([1 / y, x / y], axis=1), np.ones(len(y)), rcond=None)[0]
    if a < 0:
        a, b = 0.0, float((x / y).sum() / (x / y * x / y).sum())
    return float(a), float(b)


def parameters(net):
    """Numbers in the model of a net."""
    from aiayn_np.runs.estimates import parameter_count

    c = NETS[net]
    return parameter_count(c.vocab_size, N=c.N, d_model=c.d_model, d_ff=c.d_ff)


class Costs:
    """The costs of the steps of a net, fitted to the measurements.

    fixed, row : seconds of a step with b rows are fixed + row * b
    latency, per_byte : seconds of a message with s bytes are latency + per_byte * s
    """

    def __init__(self, figures, net):
        rows, sizes = figures["rows"][net], figures["allreduce"]
        self.fixed, self.row = line([*map(int, rows)], [*rows.values()])
        two_latencies, self.per_byte = line([*map(int, sizes)], [*sizes.values()])
        self.latency = two_latencies / 2
        self.B, self.bytes = NETS[net].B, 4 * parameters(net)

    def over(self, gigabits, latency):
        """The same costs with a network between the ranks, no faster than the measured memory."""
        other = copy.copy(self)
        other.latency = max(latency, self.latency)
        other.per_byte = max(8 / (gigabits * 1e9), self.per_byte)
        return other

    def exchange(self, n):
        """Seconds of an Allreduce of all gradients among n ranks."""
        return 2 * np.ceil(np.log2(n)) * self.latency + 2 * (n - 1) / n * self.bytes * self.per_byte

    def step(self, n):
        """Seconds of a step of n ranks, each on processors of its own."""
        return self.fixed + self.row * self.B / n + self.exchange(n)

    def crowded(self, n, processors=2):
        """Seconds of a step of n ranks that share some processors."""
        turns = max(1, n / processors)
        return turns * (self.fixed + self.row * self.B / n) + self.exchange(n)

    def efficiency(self, n):
        """The efficiency of n machines: 1 if they are n times as fast as one."""
        return (self.fixed + self.row * self.B) / (n * self.step(n))

    def enough(self):
        """Rows per rank for which gradients take as long as everything else, on many machines."""
        return (self.fixed + 2 * self.bytes * self.per_byte) / self.row


def section(figures):
    """The findings, as Markdown."""
    return INTRODUCTION + "\n\n" + two_table(figures["two"])


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
2`); beside them PyTorch with two threads, and its `DistributedDataParallel` on two processes.
Below 1, two ranks are faster. All of them need two free processors. If another program takes one,
those that wait for each other at every product lose most. [The page on
scaling](../docs/scaling.md) says what this means for more machines, and how long the ranks need to
exchange their gradients."""
