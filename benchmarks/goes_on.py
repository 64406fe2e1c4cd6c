"""One checkpoint trains further with threads, with ranks of MPI, and in PyTorch; losses compared.

    python benchmarks/goes_on.py            the table of docs/scaling.md; run.py scaling writes it
    python benchmarks/goes_on.py --quick    five steps instead of 50

One process begins a run on number words, in float64 and without dropout. Then every way in WAYS
gets a copy of the folder and trains further. A way is a function of the folder and of the last
step. It leaves a run with that many steps in the folder. The ways in PyTorch need PyTorch.
"""

import argparse
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path

import numpy as np
from common import mpiexec
from tables import table

PAIRS = Path(__file__).parents[1] / "aiayn_np" / "text" / "number_words.tsv.gz"
BEGIN = ["train", "text", "--preset", "numbers", "--pairs", str(PAIRS), "--float64", "--P-drop",
         "0", "--bleu-every", "1000"]
BEGUN, STEPS, PER_EPOCH = 10, 50, 70
AFTER = (1, 10, 50)


def run(*words, launcher=()):
    """Run a module of Python, with one thread in its products, and discard its output."""
    subprocess.run([*launcher, sys.executable, "-m", *map(str, words)], check=True,
                   capture_output=True,
                   env=os.environ | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"})


def here(folder, steps, *words, ranks=1):
    """Go on with `aiayn-np train`."""
    launcher = [mpiexec(), "-n", str(ranks)] if ranks > 1 else []
    run("aiayn_np", "train", "text", "--resume", "--epochs", steps / PER_EPOCH, "--out", folder,
        *words, launcher=launcher)


def in_torch(folder, steps, processes=1):
    """Go on in PyTorch, and take the run back."""
    out = folder.with_name(f"{folder.name}.torch")
    launcher = ["torch.distributed.run", "--nproc-per-node", processes, "-m"] * (processes > 1)
    run(*launcher, "aiayn_np.interop.train_torch", folder, "--epochs", steps / PER_EPOCH, "--out",
        out)
    shutil.rmtree(folder)
    run("aiayn_np", "import", out, "--out", folder)


WAYS = {
    "one process": here,
    "2 threads (`--workers 2`)": lambda *run: here(*run, "--workers", "2"),
    "3 shares (`--accumulate 3`)": lambda *run: here(*run, "--accumulate", "3"),
    "2 MPI ranks": partial(here, ranks=2),
    "4 MPI ranks": partial(here, ranks=4),
    "8 MPI ranks": partial(here, ranks=8),
    "PyTorch, one process": in_torch,
    "PyTorch, 2 processes (DDP, gloo)": partial(in_torch, processes=2),
}


def ways():
    """WAYS, without those in PyTorch if it is not installed."""
    here_too = importlib.util.find_spec("torch") is not None
    return {name: way for name, way in WAYS.items() if here_too or "PyTorch" not in name}


def measure(steps=STEPS):
    """{"steps": AFTER the common checkpoint, "losses": {way: those of these steps, as text}}."""
    from aiayn_np.runs.open import open_run

    losses, shown_steps = {}, [step for step in AFTER if step <= steps]
    with tempfile.TemporaryDirectory() as temporary:
        begun = Path(temporary) / "begun"
        run("aiayn_np", *BEGIN, "--epochs", BEGUN / PER_EPOCH, "--out", begun)
        for i, (name, go_on) in enumerate(ways().items()):
            folder = Path(temporary) / str(i)
            shutil.copytree(begun, folder)
            go_on(folder, BEGUN + steps)
            opened = open_run(folder)
            opened.load_history()
            losses[name] = [f"{opened.history[BEGUN + step - 1].loss:.15f}" for step in shown_steps]
            print(name, *losses[name], flush=True)
    return {"steps": shown_steps, "losses": losses}


def shown(found):
    """The losses as Markdown."""
    head = ["goes on with", *(f"loss at step {step}" for step in found["steps"]),
            "largest difference"]
    first = np.array(next(iter(found["losses"].values())), float)
    rows = []
    for name, losses in found["losses"].items():
        distance = np.abs(np.array(losses, float) - first).max()
        rows.append([name, *losses, f"{distance:.0e}" if distance else "0"])
    return table(head, rows)


if __name__ == "__main__":
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    p.add_argument("--quick", action="store_true", help="five steps")
    print(f"\n{shown(measure(5 if p.parse_args().quick else STEPS))}")
