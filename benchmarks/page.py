"""Reading and writing results.json, and writing the page from it."""

import importlib.metadata
import itertools
import json
import os
import platform
from pathlib import Path

import decoding
import memory
import numpy as np
import scaling
import train_step

FOLDER = Path(__file__).parent
SECTIONS = {"train-step": train_step, "scaling": scaling, "decoding": decoding, "memory": memory}
HEAD = """# Time and memory, side by side

This page compares the cost of a training step and of a decoded token here, in PyTorch and in JAX,
on a processor and at the sizes that this project is made for. This command writes the page and its
numbers ([results.json](results.json)):

```bash
python benchmarks/run.py
```

The command under a heading writes that section alone; `--quick` prints a first impression and
writes nothing. PyTorch and JAX are measured if they are installed. {machines}

Each contestant is a process, set up once, and they work in turn. Only one runs at a time. A signal
stops the others, so that no idle thread takes time. (With `OMP_WAIT_POLICY=passive` libraries would
wait quietly too, but it makes PyTorch slower with two threads.) The speed of a shared machine
changes by tens of percent. So a ratio is taken within a round, between neighbours in time. Trust
the median of the ratios; milliseconds are for orientation. Numbers in parentheses are the first and
third quartile over all rounds. *One thread* also means one processor.
"""


def load(folder=FOLDER):
    """The measurements: section -> {"machine", "figures"}."""
    return json.loads((Path(folder) / "results.json").read_text(encoding="utf-8"))


def save(name, measured, folder=FOLDER):
    """Replace a section of results.json, and write the page anew."""
    from aiayn_np.files import replacing

    path = Path(folder) / "results.json"
    results = load(folder) if path.exists() else {}
    results[name] = rounded(measured)
    results = {name: results[name] for name in SECTIONS if name in results}
    with replacing(path) as file:
        file.write((json.dumps(results, indent=1) + "\n").encode())
    write_page(results, folder)


def rounded(x):
    """Lists and dictionaries with their floats at five digits."""
    if isinstance(x, dict):
        return {key: rounded(value) for key, value in x.items()}
    if isinstance(x, list):
        return [rounded(value) for value in x]
    return float(f"{x:.5g}") if isinstance(x, float) else x


def write_page(results, folder=FOLDER):
    """Write README.md."""
    (Path(folder) / "README.md").write_text(page(results), encoding="utf-8", newline="\n")


def page(results):
    """The text of the page."""
    parts = [HEAD.format(machines=machines(results))]
    parts += [text_of(name, results[name]) + "\n" for name in results]
    return "\n".join(parts)


def text_of(name, measured):
    """A section of the page."""
    module = SECTIONS[name]
    return "\n\n".join([f"## {module.TITLE}", f"`python benchmarks/run.py {name}`",
                        module.section(measured["figures"])])


def machines(results):
    """Sentences that say where the sections were measured; one if all had the same machine."""
    found = [(words(results[name]["machine"]), name) for name in results]
    if len({machine for machine, _ in found}) == 1:
        return f"Measured on {found[0][0]}."
    groups = itertools.groupby(sorted(found), key=lambda pair: pair[0])
    return " ".join(f"Measured on {machine}: {', '.join(name for _, name in group)}."
                    for machine, group in groups)


def words(machine):
    """A machine and its versions as a clause."""
    versions = ", ".join(f"{name} {version}" for name, version in machine["versions"].items())
    return f"{machine['processors']} processors ({machine['processor']}) with {versions}"


def machine():
    """The processor, and the versions of the libraries that are measured."""
    from threadpoolctl import threadpool_info

    from aiayn_course.lab.gallery import processor

    versions = {"Python": platform.python_version(), "NumPy": np.__version__}
    versions |= {str(library["internal_api"]).replace("openblas", "OpenBLAS"): library["version"]
                 for library in threadpool_info() if library["user_api"] == "blas"}
    for name, package in (("PyTorch", "torch"), ("JAX", "jax")):
        try:
            versions[name] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return {"processor": processor(), "processors": os.cpu_count(), "versions": versions}
