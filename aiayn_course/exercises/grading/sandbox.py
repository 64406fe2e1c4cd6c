"""Run a student's file in a process of its own, with limited time, memory and output.

The process gives its verdict through a pipe of its own, so neither an exit nor a printed "passed"
passes. It may start no other process where the system can forbid that, and its process group ends
with it.

This keeps mistakes from doing harm: an endless loop, a full memory, a flood of text. A class trusts
its students: the process is the same user, may read what that user may read, and reaches the
network. Files from people you do not trust belong into a container or a virtual machine.
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

MEMORY_IS_LIMITED = sys.platform.startswith("linux")  # elsewhere the system ignores the limit
OUTPUT = 10_000  # bytes of what it prints that are kept
ANSWER = 1_000_000  # bytes of the verdict that are read
ROOTS = [str(Path(__file__).parents[3]), str(Path(np.__file__).parents[1])]
START = """import json, sys
job = json.loads(sys.stdin.buffer.read())
sys.path += [root for root in job["roots"] if root not in sys.path]
from aiayn_course.exercises.checking.answer import main
main(job)
"""
RUNNING: set[subprocess.Popen] = set()


@dataclass
class Outcome:
    """How a process ended.

    answer : its verdict, None if it gave none
    code : its exit code, None if it was stopped at the time limit
    output : the beginning of what it printed, at most OUTPUT bytes
    seconds : the time that it took
    """

    answer: dict | None
    code: int | None
    output: str
    seconds: float


def run_alone(job, *, timeout, memory):
    """Run `aiayn_course.exercises.checking.answer` on a job, and wait for it.

    Parameters
    ----------
    job : a dict that JSON can hold
    timeout : seconds, start of the process included
    memory : MB of address space

    Returns
    -------
    Outcome. The process group has ended, and its working folder is gone.
    """
    job = json.dumps(job | dict(roots=ROOTS, timeout=timeout, memory=memory)).encode()
    with tempfile.TemporaryDirectory(prefix="aiayn-np-", ignore_cleanup_errors=True) as home:
        began = time.monotonic()
        process = start(home)
        RUNNING.add(process)
        answer, output = bytearray(), bytearray()
        readers = [threading.Thread(target=drain, args=each, daemon=True) for each in (
            (process.stdout, answer, ANSWER), (process.stderr, output, OUTPUT))]
        for reader in readers:
            reader.start()
        code = ended(process, job, timeout)
        for reader in readers:                                         # others may hold its pipes
            reader.join(timeout=5)
        return Outcome(verdict_in(answer), code, output.decode(errors="replace"),
                       time.monotonic() - began)


def start(home):
    """Start the process, in an empty folder, with hardly any environment and its own group."""
    threads = {f"{name}_NUM_THREADS": "1" for name in ("OPENBLAS", "OMP", "MKL")}
    kept = {name: os.environ[name] for name in ("SYSTEMROOT",) if name in os.environ}
    return subprocess.Popen(
        [sys.executable, "-I", "-X", "utf8", "-c", START], cwd=home, start_new_session=True,
        env={"PATH": os.defpath, "HOME": home, "TMPDIR": home, **threads, **kept},
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )


def ended(process, job, timeout):
    """Give the process its job, wait, end its group and return its exit code; None if too slow."""
    try:
        with contextlib.suppress(BrokenPipeError), process.stdin as stdin:
            stdin.write(job)
        return process.wait(timeout)
    except subprocess.TimeoutExpired:
        return None
    finally:
        RUNNING.discard(process)
        end(process)
        process.wait()


def end(process):
    """End a process and its group."""
    if hasattr(os, "killpg"):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    process.kill()


def end_all():
    """End all processes that run now, whichever thread waits for them."""
    for process in [*RUNNING]:
        end(process)


def drain(stream, kept, most):
    """Read a stream to its end, and keep its first `most` bytes in `kept`."""
    with stream:
        while block := stream.read1(1 << 16):
            kept += block[: most - len(kept)]


def verdict_in(answer):
    """Return the verdict in the bytes from the pipe, or None if they hold none."""
    try:
        verdict = json.loads(bytes(answer))
    except ValueError:
        return None
    return verdict if isinstance(verdict, dict) else None
