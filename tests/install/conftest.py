"""A build of the repository, shared by the tests of this folder."""

import importlib.metadata
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NOT_SOURCE = {".git", ".venv", "build", "dist", "site", "runs", ".mypy_cache", ".ruff_cache",
              ".pytest_cache"}
JUNK = ("aiayn_np/__pycache__/x.cpython-311.pyc", "notebooks/.ipynb_checkpoints/01_x.py",
        "tests/helpers/__pycache__/y.pyc", "docs/pages/z.md", "docs/live/copy.html",
        "notebooks/zh/01_made_here.ipynb")


def installed(package):
    """Skip what needs a package that is not installed; to import it would find our build.py."""
    try:
        importlib.metadata.distribution(package)
    except importlib.metadata.PackageNotFoundError:
        pytest.skip(f"{package} is not installed")


def copy_of_the_repository(folder):
    """Copy what is source into a new folder; return it."""
    def left_out(where, names):
        top = NOT_SOURCE if Path(where) == ROOT else ()
        return [name for name in names if name in top or name == "__pycache__"
                or name.endswith(".egg-info")]

    return Path(shutil.copytree(ROOT, folder, ignore=left_out))


@pytest.fixture(scope="session")
def dist(tmp_path_factory):
    """The folder with sdist and wheel of a copy in which caches lie about."""
    installed("build")
    folder = copy_of_the_repository(tmp_path_factory.mktemp("copy") / "copy")
    for junk in JUNK:
        (folder / junk).parent.mkdir(parents=True, exist_ok=True)
        (folder / junk).write_text("# not source")
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    run = subprocess.run([sys.executable, "-m", "build", folder], cwd=folder.parent,
                         env=environment, text=True, capture_output=True)
    assert run.returncode == 0, run.stdout[-3000:] + run.stderr[-3000:]
    return folder / "dist"


@pytest.fixture(scope="session")
def wheel(request):
    """The wheel of --built, or the one that is built here."""
    dist = request.config.getoption("--built") or request.getfixturevalue("dist")
    (path,) = Path(dist).resolve().glob("*.whl")
    return path
