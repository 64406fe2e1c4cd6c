"""Several programs in turn, so that they can be compared on a machine whose speed changes.

Every contestant is a process with its own threads and libraries, set up once. They are asked to run
one after the other, round after round. Only one of them runs at a time. A signal stops the others,
where the system has one, so that no idle thread of a library spins. (OMP_WAIT_POLICY=passive would
forbid spinning too, but would make PyTorch with two threads up to twice as slow.) The times of one
round are compared with each other.
"""

import contextlib
import importlib.util
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
from common import mpiexec

RANKS = ("ours, ranks", "Allreduce")
TORCH = ("PyTorch", "PyTorch, kept memory")
KEPT = {"MALLOC_TRIM_THRESHOLD_": str(2**31 - 1), "MALLOC_MMAP_THRESHOLD_": str(2**25)}
WORKER = Path(__file__).with_name("worker.py")
PACKAGES = {"JAX": "jax", **dict.fromkeys(TORCH, "torch"), **dict.fromkeys(RANKS, "mpi4py")}


class Contestant:
    """A worker process: `ask(k)` lets it run k blocks of work and returns an answer for each.

    kind, what, options : see worker.py     threads : processors and threads that it gets
    """

    def __init__(self, kind, what, threads=1, **options):
        self.name = what
        command = [*launcher(what, threads), sys.executable, str(WORKER), kind, what, str(threads),
                   json.dumps(options)]
        self.process: Any = subprocess.Popen(
            command, text=True, env=environment(what, threads), stdin=subprocess.PIPE,
            stdout=subprocess.PIPE)
        self.pids = [self.process.pid]
        self.about = self.answer()
        self.pids += self.about.get("pids", [])
        self.freeze(True)

    def answer(self):
        """Read its next answer; RuntimeError when the process has ended."""
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"the process of {self.name} ended with {self.process.wait()}")
        return json.loads(line)

    def ask(self, k=1):
        """Let it run k times; return k answers."""
        self.freeze(False)
        self.process.stdin.write(f"{k}\n")
        self.process.stdin.flush()
        said = self.answer()
        self.freeze(True)
        return said

    def freeze(self, on):
        """Stop the process and its children, or let them go on."""
        if hasattr(signal, "SIGSTOP"):
            for pid in self.pids:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGSTOP if on else signal.SIGCONT)

    def close(self):
        """Let the process end."""
        self.freeze(False)
        self.process.communicate()


def launcher(what, threads):
    """The command that starts several ranks of MPI; [] for other contestants."""
    return [mpiexec(), "-n", str(threads)] if what in RANKS else []


def environment(what, threads):
    """The environment of a worker. It fixes the threads of every library before it is loaded."""
    blas = 1 if what in RANKS else threads
    names = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
    kept = KEPT if what == "PyTorch, kept memory" else {}
    return os.environ | {name: str(blas) for name in names} | kept


def installed(names):
    """Those of the contestants whose library is installed."""
    return [n for n in names if n not in PACKAGES or importlib.util.find_spec(PACKAGES[n])]


@contextlib.contextmanager
def contestants(kind, names, threads=1, **options):
    """A context: the installed contestants, name -> Contestant; they end with it."""
    team = {}
    try:
        for name in installed(names):
            team[name] = Contestant(kind, name, threads, **options)
        yield team
    finally:
        for one in team.values():
            one.close()


def rounds(team, n, k, warm_up):
    """Ask each in turn, n rounds of k runs; name -> list of n lists of k answers."""
    for one in team.values():
        one.ask(warm_up)
    said: dict[str, list] = {name: [] for name in team}
    for _ in range(n):
        for name, one in team.items():
            said[name].append(one.ask(k))
    return said


def quartiles(values):
    """[first quartile, median, third quartile]."""
    return np.quantile(values, [0.25, 0.5, 0.75]).tolist()


def ratio(ours, theirs):
    """Quartiles of ours / theirs, round by round."""
    return quartiles(np.asarray(ours) / np.asarray(theirs))
