"""A training step on one thread, two threads and two ranks, beside 0, 1 and 2 busy programs.

    python benchmarks/busy.py              the table of docs/scaling.md; ten minutes, nothing else
    python benchmarks/busy.py classroom --loops 0 1 --copy       a part; and how long copy takes

A busy program is a loop that never ends. The times are medians of milliseconds.
"""

import argparse
import contextlib
import os
import subprocess
import sys
import tempfile
import time

import numpy as np
from common import CONFIGS, batches, mpiexec
from tables import number, table

WAYS = {"one thread": 1, "two threads": 2, "two ranks": 1}  # threads of BLAS in a process
SECONDS = 5  # of steps that are measured


@contextlib.contextmanager
def busy(loops):
    """A context in which so many programs keep a processor busy."""
    programs = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(loops)]
    try:
        yield
    finally:
        for program in programs:
            program.kill()
            program.wait()


def milliseconds(way, config):
    """The median time of a step in a program of its own."""
    ranks = [mpiexec(), "-n", "2"] if way == "two ranks" else []
    variables = {"OPENBLAS_NUM_THREADS": str(WAYS[way]), "OMP_NUM_THREADS": str(WAYS[way])}
    done = subprocess.run([*ranks, sys.executable, __file__, "--steps", config], check=True,
                          env=os.environ | variables, stdout=subprocess.PIPE, text=True)
    return float(done.stdout)


def steps(config):
    """Take steps for a while, and print the median time of one."""
    from steps import ours

    from aiayn_np.training.ranks import launched

    ranks, seconds = launched(), []
    _, step = ours(CONFIGS[config], ranks)
    for i, ids in enumerate(batches(CONFIGS[config])):
        started = time.perf_counter()
        step(ids, i)
        seconds.append(time.perf_counter() - started)
        if ranks.first(sum(seconds[2:]) > SECONDS):
            break
    if ranks.rank == 0:
        print(1e3 * np.median(seconds[2:]))


def copy():
    """Seconds of `aiayn-np train copy`, with what the user's environment does not set."""
    free = {name: value for name, value in os.environ.items() if not name.endswith("_NUM_THREADS")}
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "aiayn_np", "train", "copy", "--out", f"{folder}/run"]
        started = time.perf_counter()
        subprocess.run(command, check=True, env=free, capture_output=True)
        return time.perf_counter() - started


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    p.add_argument("configs", nargs="*", default=list(CONFIGS), help=", ".join(CONFIGS))
    p.add_argument("--loops", nargs="+", type=int, default=[0, 1, 2])
    p.add_argument("--copy", action="store_true", help="also `aiayn-np train copy`, in seconds")
    p.add_argument("--steps", metavar="CONFIG", help=argparse.SUPPRESS)
    args = p.parse_args()
    if args.steps:
        return steps(args.steps)
    rows = []
    for config in args.configs:
        for loops in args.loops:
            with busy(loops):
                rows.append([f"{config}, {loops} busy",
                             *(number(milliseconds(way, config)) for way in WAYS)])
    print(table(["ms of a step", *WAYS], rows))
    for loops in args.loops if args.copy else ():
        with busy(loops):
            print(f"copy beside {loops} busy: {copy():.1f} s", flush=True)


if __name__ == "__main__":
    main()
