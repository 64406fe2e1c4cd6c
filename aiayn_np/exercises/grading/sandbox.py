"""A student's file in a process of its own: limited time, memory, output and files.

What the process says counts only if it is written into a file that this one opened for it, with a
word drawn for this run. So neither an exit nor a printed "passed" passes.

This keeps mistakes from doing harm: an endless loop, a full memory, a flood of text. It is no wall
against malice: the process is the same user, may read what that user may read, and reaches the
network. Files from people you do not trust belong into a container or a virtual machine.
"""

import contextlib
import json
import os
import secrets
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from . import guard

MEMORY_IS_LIMITED = sys.platform.startswith("linux")  # elsewhere the system ignores the limit
OUTPUT = 10_000  # bytes of what it prints that are kept
ANSWER = 1_000_000  # bytes of the answer that are read
ROOTS = [str(Path(__file__).parents[3]), str(Path(np.__file__).parents[1])]
START = """import json, sys
job = json.loads(sys.stdin.buffer.read())
sys.path += [root for root in job["roots"] if root not in sys.path]
from aiayn_np.exercises.checking.answer import main
main(job)
"""


@dataclass
class Outcome:
    """How a process ended.

    answer : what it wrote with the right word, None if nothing
    code : its exit code, None if it was stopped at the limit of time
    output : the beginning of what it printed, at most OUTPUT bytes
    seconds : that it took
    """

    answer: dict | None
    code: int | None
    output: str
    seconds: float


def run_alone(job, *, timeout, memory):
    """Run `aiayn_np.exercises.checking.answer` on a job, and wait for it.

    Parameters
    ----------
    job : what JSON can hold
    timeout : seconds, start of the process included
    memory : MB of address space

    Returns
    -------
    Outcome. No process that was started is left, and no file, even where this one is killed.
    """
    word = secrets.token_hex(16)
    with guarded_folder() as (folder, watch):
        answer, home = folder / "answer", folder / "work"
        home.mkdir()
        job = job | dict(answer=str(answer), word=word, roots=ROOTS, timeout=timeout, memory=memory)
        began = time.monotonic()
        process = start(home)
        watch(process.pid)
        code, output = finish(process, json.dumps(job).encode(), timeout, folder)
        return Outcome(read_answer(answer, word), code, output, time.monotonic() - began)


@contextlib.contextmanager
def guarded_folder():
    """(a new temporary folder, a function to call with the id of the process to watch).

    If this process does not live to remove the folder, its guard does: see guard.py.
    """
    folder = Path(tempfile.gettempdir()) / f"aiayn-np-{secrets.token_hex(8)}"
    watching: Any = subprocess.Popen(
        [sys.executable, "-I", "-S", guard.__file__, str(folder)], bufsize=0,
        stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        start_new_session=True)

    pipe = watching.stdin
    assert pipe is not None

    def tell(line):
        with contextlib.suppress(BrokenPipeError):                     # somebody killed the guard
            pipe.write(line)

    try:
        folder.mkdir(0o700)
        yield folder, lambda pid: tell(b"%d\n" % pid)
        guard.remove(folder)
        tell(guard.DONE)
    finally:
        pipe.close()
        watching.wait()


def start(home):
    """Start the process, in an empty folder, with hardly any environment and its own group."""
    threads = {f"{name}_NUM_THREADS": "1" for name in ("OPENBLAS", "OMP", "MKL")}
    kept = {name: os.environ[name] for name in ("SYSTEMROOT",) if name in os.environ}
    return subprocess.Popen(
        [sys.executable, "-I", "-c", START], cwd=home, start_new_session=True,
        env={"PATH": os.defpath, "HOME": str(home), "TMPDIR": str(home), **threads, **kept},
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )


def finish(process, job, timeout, folder):
    """(exit code, output) of the process, given its job; None for what must be stopped."""
    kept = bytearray()
    reader = threading.Thread(target=drain, args=(process.stdout, kept), daemon=True)
    reader.start()
    try:
        with process.stdin as stdin:
            stdin.write(job)
        code = process.wait(timeout)
    except BrokenPipeError:
        code = process.wait()
    except subprocess.TimeoutExpired:
        code = None
    finally:
        guard.end_all(process.pid, folder)
        process.kill()
        process.wait()
        reader.join(timeout=5)
    return code, kept.decode(errors="replace")


def drain(stream, kept):
    """Read all that is printed, and keep the beginning."""
    with stream:
        while block := stream.read1(1 << 16):
            kept += block[: OUTPUT - len(kept)]


def read_answer(path, word):
    """What the process wrote, if it knew the word."""
    try:
        with open(path, "rb") as file:
            answer = json.loads(file.read(ANSWER))
    except (OSError, ValueError):
        return None
    return answer if isinstance(answer, dict) and answer.pop("word", None) == word else None
