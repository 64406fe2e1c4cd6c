"""Run one student's file in a process of its own, with limited time, memory and output.

This keeps mistakes from doing harm: an endless loop, a full memory, a flood of text. It does not
stop an attack: the process has the user's rights, and may read the user's files. Files from people
whom you do not trust belong into a container or a virtual machine.
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

MEMORY_IS_LIMITED = sys.platform.startswith("linux")  # elsewhere the system ignores the limit
OUTPUT = 10_000  # bytes that are read, of the verdict and of the output
ROOTS = [str(Path(__file__).parents[3]), str(Path(np.__file__).parents[1])]
START = f"""import json, sys
sys.path += [root for root in {ROOTS} if root not in sys.path]
from aiayn_course.exercises.grading.running import main
main(json.loads(sys.stdin.buffer.read()))
"""


def run_alone(job, *, timeout, memory):
    """Run `aiayn_course.exercises.grading.running` on a job, and wait for it.

    `timeout` is in seconds, `memory` in MB of address space. Returns (verdict, output, code,
    seconds): the beginnings of verdict and output, the exit code or None after a timeout, and the
    duration. The process group has then ended.
    """
    job = json.dumps(job | dict(timeout=timeout, memory=memory)).encode()
    with tempfile.TemporaryFile() as verdict, tempfile.TemporaryFile() as output, \
            tempfile.TemporaryDirectory(prefix="aiayn-np-", ignore_cleanup_errors=True) as home:
        began = time.monotonic()
        process = start(home, verdict, output)
        try:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.communicate(job, timeout)
        finally:
            code = process.poll()
            end(process)
            process.wait()
        return beginning(verdict), beginning(output), code, time.monotonic() - began


def start(home, verdict, output):
    """Start the process in an empty folder, with a minimal environment and a group of its own."""
    threads = {f"{name}_NUM_THREADS": "1" for name in ("OPENBLAS", "OMP", "MKL")}
    kept = {name: os.environ[name] for name in ("SYSTEMROOT",) if name in os.environ}
    return subprocess.Popen(
        [sys.executable, "-I", "-B", "-X", "utf8", "-c", START], cwd=home, start_new_session=True,
        env={"PATH": os.defpath, "HOME": home, "TMPDIR": home, **threads, **kept},
        stdin=subprocess.PIPE, stdout=verdict, stderr=output)


def end(process):
    """End a process and its group."""
    if hasattr(os, "killpg"):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    process.kill()


def beginning(file):
    """Return the beginning of a file as text."""
    file.seek(0)
    return file.read(OUTPUT).decode(errors="replace")
