"""From the start of the process to a solved copy task: `aiayn-np train copy` and PyTorch."""

import os
import re
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

from compare import environment, installed, quartiles, ratio
from tables import number, table, times

TITLE = "From the start to a solved task"
QUICK = {"pairs": 1}
NAMES = ["ours", "PyTorch"]
SCRIPT = Path(__file__).with_name("torch_copy.py")


def measure(*, pairs=3):
    """{name: {"seconds": [...], "first": [...], "steps": [...]}, ...}, one entry for each seed.

    seconds : until the validation is perfect       first : until the first is reported
    """
    found: dict[str, dict[str, list]] = {
        name: {"seconds": [], "first": [], "steps": []} for name in installed(NAMES)
    }
    for seed in range(pairs):
        for name in list(found)[:: -1 if seed % 2 else 1]:                # each first in turn
            for key, value in run(name, seed).items():
                found[name][key].append(value)
    return found


def run(name, seed):
    """Train once, on one processor; RuntimeError where the task is not solved."""
    with tempfile.TemporaryDirectory() as folder:
        ours = ["-m", "aiayn_np", "train", "copy", "--out", folder]
        command = [sys.executable, *(ours if name == "ours" else [SCRIPT]), "--seed", str(seed)]
        pin = partial(os.sched_setaffinity, 0, {max(os.sched_getaffinity(0))}) if hasattr(
            os, "sched_setaffinity") else None
        started = time.perf_counter()
        with subprocess.Popen(command, env=environment(name, 1), text=True, preexec_fn=pin,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
            said = [(time.perf_counter() - started, line) for line in process.stdout or ()]
    outcome = "".join(line for _, line in said)
    reports = [moment for moment, line in said if line.startswith("step ")]  # at each validation
    solved = re.search(r"copy: solved after (\d+) steps", outcome)
    if not solved:
        raise RuntimeError(f"{name} did not solve the task with seed {seed}: \n{outcome}")
    return {"seconds": reports[-1], "first": reports[0], "steps": int(solved[1])}


def section(figures):
    """The findings, as Markdown."""
    ours = figures["ours"]
    head = ["", "seconds to solved", "of these to step 25", "steps", "seconds of a later step"]
    rows = []
    for name, f in figures.items():
        later = [1e3 * (s - first) / (n - 25)
                 for s, first, n in zip(f["seconds"], f["first"], f["steps"])]
        rows.append([name, ", ".join(map(number, f["seconds"])),
                     ", ".join(map(number, f["first"])), ", ".join(map(str, f["steps"])),
                     number(quartiles(later)[1]) + " ms"])
    parts = [
        "`aiayn-np train copy` and [the same in PyTorch](torch_copy.py) run until validation (5 000"
        " sequences, every 25 steps) is perfect, each in a process pinned to one processor, with"
        f" seeds 0 to {len(ours['steps']) - 1}. Both start from the same values and see the same"
        " batches. After some steps rounding makes them differ, so they may need different numbers"
        " of steps. The time of a later step includes its share of validation. The last validation"
        " decodes every sequence token by token: ours keeps keys and values, PyTorch computes the"
        " whole prefix.",
        table(head, rows)]
    if "PyTorch" in figures:
        r = ratio(ours["seconds"], figures["PyTorch"]["seconds"])
        parts.append(f"Ours over PyTorch, seed by seed: {times(r)}.")
    return "\n\n".join(parts)
