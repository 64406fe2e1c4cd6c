"""Memory of a training step: the peak while a model is built and takes three steps."""

import ctypes
import re
from pathlib import Path

from common import CONFIGS, Config, batches
from compare import contestants
from steps import make
from tables import number, table

TITLE = "Memory of a training step"
QUICK = {"configs": ("classroom", "translation"), "n": 1}
NAMES = ["ours", "PyTorch", "JAX"]
TINY = Config(11, 8, 2, 16, 1, 2, 3)
STEPS = 3
STATUS, CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def measure(configs=tuple(CONFIGS), *, n=3):
    """{config: {name: {"peak": [MB of each fresh process], "parameters": their MB}}}."""
    if not CLEAR.exists():
        raise OSError("memory is measured with /proc/self/clear_refs, which only Linux has")
    return {config: measure_one(config, n) for config in configs}


def measure_one(config, n):
    found: dict[str, dict[str, list]] = {}
    for _ in range(n):
        with contestants("memory", NAMES, config=config) as team:
            for name, one in team.items():
                (said,) = one.ask()
                for key, value in said.items():
                    found.setdefault(name, {}).setdefault(key, []).append(value)
    return found


def work(what, threads, config):
    """Yield {}, and then megabytes: the peak above the memory that the process had before.

    A tiny model trains first, so that memory that a library needs once is not counted. JAX also
    compiles its step before.
    """
    train(what, TINY, threads)
    if what == "JAX":
        from in_jax import compiled

        compiled(CONFIGS[config])
    give_back()
    before = resident("VmRSS")
    CLEAR.write_text("5")                                      # the peak starts anew
    yield {}
    count = train(what, CONFIGS[config], threads)
    said = {"peak": resident("VmHWM") - before, "parameters": 4 * count / 1e6}
    if what == "ours":
        from aiayn_course.lab.measuring import peak_bytes

        said["arrays"] = peak_bytes(lambda: train(what, CONFIGS[config], threads)) / 1e6
    yield said


def train(what, c, threads):
    """Build a model and take a few steps; return its number of parameters."""
    count, step = make(what, c, threads)
    for i, ids in zip(range(STEPS), batches(c)):
        step(ids, i)
    return count


def give_back():
    """Let the C library return freed memory to the system, so that the model cannot reuse it."""
    ctypes.CDLL(None).malloc_trim(0)


def resident(which):
    """Megabytes of this process: VmRSS is now, VmHWM is the peak."""
    (kilobytes,) = re.findall(rf"{which}:\s+(\d+) kB", STATUS.read_text())
    return int(kilobytes) * 1024 / 1e6


def section(figures):
    """The findings, as Markdown."""
    head = ["megabytes", *NAMES, "ours: arrays alone", "parameters"]
    rows = []
    for config, found in figures.items():
        ours = found["ours"]
        peaks = [number(median(found[name]["peak"])) if name in found else "" for name in NAMES]
        rows.append([config, *peaks, number(median(ours["arrays"])), number(ours["parameters"][0])])
    return "\n\n".join([
        "A fresh process builds the model and takes three training steps. The table has the peak of"
        " its resident memory, above the memory that it had before (libraries loaded, a tiny model"
        " trained, JAX's step compiled), the median of three processes. For ours it also has the"
        " peak of the arrays (`tracemalloc`). Parameters, gradients and Adam's two means are four"
        " times the last column. The rest is what forward keeps for backward, and working space.",
        table(head, rows), "Ours keeps every array of the forward pass until the step ends, so that"
        " one can look at the cache. We did not examine what the others keep."])


def median(values):
    return sorted(values)[len(values) // 2]
