"""Run the default suite on the oldest and the newest versions.

    python tests/helpers/compatibility.py

Each combination gets a virtual environment of its own. "floors" is exactly the lowest version of
every dependency that pyproject.toml allows, "newest" what pip finds. Interpreters are looked for as
pythonX.Y on the path and in ~/.pyenv/versions; one that is not found is said so, and not counted as
passed. Others than the two ends: `python tests/helpers/compatibility.py 3.11:floors 3.12:newest`.

Why the floors are where they are: NumPy 2.0 is the first with `matrix_transpose`, `.mT` and
`np.exceptions` as they are used here, matplotlib 3.9 the first that is built for NumPy 2.
"""

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
PYTHONS = ("3.10", "3.11", "3.12", "3.13", "3.14")  # oldest supported first
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MPLBACKEND": "Agg"}


def interpreter(version):
    """The path of pythonX.Y, or None where there is none."""
    found = shutil.which(f"python{version}")
    homes = (Path.home() / ".pyenv" / "versions").glob(f"{version}.*/bin/python")
    return next((str(path) for path in [found, *sorted(homes)] if path and runs(path)), None)


def runs(path):
    """Whether it is a Python that can make a virtual environment."""
    command = [path, "-c", "import venv, ensurepip"]
    return subprocess.run(command, capture_output=True).returncode == 0


def floors():
    """["numpy==2.0", ...]: what the package and its tests need, each at its lowest version."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    lists = re.findall(r"^(?:dependencies|test) = \[(.*?)\]", text, re.MULTILINE | re.DOTALL)
    found = re.findall(r'"([\w-]+)>=([\d.]+)"', " ".join(lists))
    if len(lists) != 2 or not found:
        raise ValueError("pyproject.toml must hold the lists dependencies and test")
    return [f"{name}=={version}" for name, version in found]


def ends():
    """The oldest Python with the floors, and the newest that is found with the newest."""
    newest = next((v for v in reversed(PYTHONS) if interpreter(v)), PYTHONS[-1])
    return [f"{PYTHONS[0]}:floors", f"{newest}:newest"]


def try_one(combination, folder, pytest_options):
    """Make the environment, run the suite; say what was run and whether it passed."""
    version, which = combination.split(":")
    if (python := interpreter(version)) is None:
        return "NOT RUN: no such interpreter was found"
    environment = folder / combination.replace(":", "-")
    subprocess.run([python, "-m", "venv", "--clear", str(environment)], check=True)
    scripts = environment / ("Scripts" if os.name == "nt" else "bin")
    pinned = floors() if which == "floors" else []
    install = ["pip", "install", "-qq", "--disable-pip-version-check", "-e", ".[test]", *pinned]
    subprocess.run([str(scripts / "python"), "-m", *install], cwd=ROOT, check=True)
    listed = [str(scripts / "python"), "-m", "pip", "freeze", "--exclude-editable"]
    packages = subprocess.run(listed, capture_output=True, text=True, check=True).stdout.split()
    named = {p.split("==")[0] for p in floors()}
    versions = ", ".join(p for p in packages if p.split("==")[0].lower() in named)
    print(f"{combination}: {python}, {versions}", flush=True)
    suite = [str(scripts / "python"), "-m", "pytest", "-p", "no:cacheprovider", *pytest_options]
    code = subprocess.run(suite, cwd=ROOT, env=os.environ | ONE_THREAD).returncode
    return f"passed with {versions}" if code == 0 else f"FAILED with {versions}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("combinations", nargs="*", metavar="X.Y:floors | X.Y:newest")
    parser.add_argument("--pytest", default="", help="options for pytest, such as --pytest=-x")
    arguments = parser.parse_args()
    results = {}
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job ignores Ctrl-C
    with tempfile.TemporaryDirectory() as folder:
        for combination in arguments.combinations or ends():
            results[combination] = try_one(combination, Path(folder), arguments.pytest.split())
    absent = [v for v in PYTHONS if interpreter(v) is None]
    print(*(f"{name:<13} {result}" for name, result in results.items()), sep="\n")
    print("not found here:", *(absent or ["none"]))
    return any(not result.startswith("passed") for result in results.values())


if __name__ == "__main__":
    sys.exit(main())
