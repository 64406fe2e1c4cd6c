"""Build the notebooks from their sources: NN_name.py becomes NN_name.ipynb, executed.

    pip install -e '.[notebooks]'
    python notebooks/build.py              all of them
    python notebooks/build.py 01 03        some
    python notebooks/build.py find         exercises/find_the_bug, made in the same way

A source is a plain Python script in the "percent" format of jupytext. The notebook is made again
from nothing each time, by a fresh kernel, and written only if every cell ran, without a word on
stderr. Cell numbers and metadata are the same on every machine. The kernel computes with one
thread, so that what it prints does not depend on the number of cores.
"""

import argparse
import os
import sys
import time
from pathlib import Path

import jupytext
import nbformat
from nbclient import NotebookClient

from aiayn_np.cli_figures import ONE_THREAD

FOLDER = Path(__file__).parent
SOURCES = sorted(FOLDER.glob("[0-9][0-9]_*.py"))
OTHERS = [FOLDER.parent / "exercises" / "find_the_bug.py"]
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


def notebook_of(source):
    """The notebook of a source, not executed, with cells named by their number."""
    notebook = jupytext.read(source, fmt="py:percent")
    notebook.metadata = nbformat.from_dict(METADATA)
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    for i, cell in enumerate(notebook.cells):
        cell["id"], cell["metadata"] = f"cell-{i}", {}
    return notebook


def execute(notebook):
    """Run every cell in a fresh kernel; RuntimeError for a cell that writes on stderr."""
    environment = {k: v for k, v in os.environ.items() if k != "MPLBACKEND"} | ONE_THREAD
    NotebookClient(
        notebook, timeout=600, kernel_name="python3", record_timing=False, coalesce_streams=True,
        extra_arguments=["--log-level=ERROR"],
        resources={"metadata": {"path": str(FOLDER)}},
    ).execute(env=environment)
    notebook.metadata = nbformat.from_dict(METADATA)                   # not the kernel's version
    for cell in notebook.cells:
        for output in cell.get("outputs", ()):
            if output.get("name") == "stderr":
                raise RuntimeError(f"{cell['id']} writes on stderr: {output['text']}")
    return notebook


def main(chosen):
    sources = [s for s in SOURCES + OTHERS if not chosen or s.stem.split("_")[0] in chosen]
    for source in sources:
        started = time.perf_counter()
        notebook = execute(notebook_of(source))
        target = source.with_suffix(".ipynb")
        nbformat.write(notebook, target)
        print(f"{target.name}  {time.perf_counter() - started:.1f} s"
              f"  {target.stat().st_size / 1000:.0f} kB", flush=True)
    return 0 if sources else "no notebook of that name"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("number", nargs="*", help="such as 01, or find; none: all")
    sys.exit(main(parser.parse_args().number))
