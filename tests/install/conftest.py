"""Two builds of the repository, shared by the tests of this folder."""

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
        "tests/helpers/__pycache__/y.pyc", "docs/pages/z.md", "docs/live/copy.html")


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
def builds(tmp_path_factory):
    """The folders with sdist and wheel of two builds of the same files: the second elsewhere, at
    another time, by someone with another umask, and with caches lying about."""
    installed("build")
    folders = [copy_of_the_repository(tmp_path_factory.mktemp(name) / name)
               for name in ("one", "and another")]
    for junk in JUNK:
        (folders[1] / junk).parent.mkdir(parents=True, exist_ok=True)
        (folders[1] / junk).write_text("# not source")
    for path in folders[1].rglob("*.*"):
        os.utime(path, (1_700_000_000, 1_700_000_000))
    environment = {k: v for k, v in os.environ.items()
                   if k not in ("PYTHONPATH", "SOURCE_DATE_EPOCH")}
    umasks = (0o022, 0o077) if os.name == "posix" else (-1, -1)
    programs = [subprocess.Popen([sys.executable, "-m", "build", folder], cwd=folder.parent,
                                 env=environment, umask=umask, text=True, stdout=subprocess.PIPE,
                                 stderr=subprocess.STDOUT)
                for folder, umask in zip(folders, umasks)]
    outputs = [program.communicate()[0] for program in programs]
    for program, output in zip(programs, outputs):
        assert program.returncode == 0, output[-3000:]
    return [folder / "dist" for folder in folders]


@pytest.fixture(scope="session")
def wheel(request):
    """The wheel of --built, or that of the first build."""
    dist = request.config.getoption("--built") or request.getfixturevalue("builds")[0]
    (path,) = Path(dist).resolve().glob("*.whl")
    return path
