"""The sdist and the wheel: nothing missing, nothing too much (slow)."""

import os
import re
import subprocess
import sys
import tarfile
import zipfile

import pytest
from pages import ROOT

pytestmark = pytest.mark.slow
MADE = ("PKG-INFO", "setup.cfg", "aiayn_np.egg-info/")  # in an sdist, by setuptools


@pytest.fixture(scope="module")
def sdist(dist):
    (path,) = dist.glob("*.tar.gz")
    return path


@pytest.fixture(scope="module")
def unpacked(sdist, tmp_path_factory):
    """The folder that the sdist holds."""
    folder = tmp_path_factory.mktemp("sdist")
    with tarfile.open(sdist) as archive:
        archive.extractall(folder, **({"filter": "data"} if sys.version_info >= (3, 12) else {}))
    (only,) = folder.iterdir()
    return only


def test_twine_and_check_wheel_contents_find_nothing(sdist, wheel):
    pytest.importorskip("twine")
    pytest.importorskip("check_wheel_contents")
    for package, *words in (["twine", "check", "--strict", sdist, wheel],
                            ["check_wheel_contents", wheel]):
        command = [sys.executable, "-m", package, *words]
        run = subprocess.run(command, cwd=sdist.parent, capture_output=True, text=True)
        assert run.returncode == 0, run.stdout + run.stderr


def test_the_wheel_is_light_and_carries_lessons_and_results(wheel):
    assert wheel.stat().st_size <= 12e6
    assert f"./{wheel.name}[notebooks]" in (ROOT / "notebooks" / "README.md").read_text("utf-8")
    print(f"{wheel.name}: {wheel.stat().st_size / 1e6:.1f} MB")
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    data = {name.removeprefix("aiayn_course/_data/") for name in names if "/_data/" in name}
    results = {f"figures/{path.name}" for path in ROOT.glob("figures/*.json")}
    lessons = {path.relative_to(ROOT).as_posix() for path in (ROOT / "notebooks").rglob("*.ipynb")}
    lessons |= {f"notebooks/zh/{path.name}" for path in ROOT.glob("notebooks/[0-9][0-9]_*.ipynb")}
    about = {"LICENSE", "docs/symbols.md",
             *(f"docs/zh/{name}.md" for name in ("symbols", "questions", "glossary"))}
    assert results | lessons | about <= data
    code = {path.relative_to(ROOT).as_posix() for path in ROOT.glob("aiayn_*/**/*.py")}
    assert code == {name for name in names if name.endswith(".py") and "/_data/" not in name}
    assert "aiayn_course/exercises/chinese.json" in names
    assert not [name for name in names if re.search("^(tests|notebooks|docs)/|pycache", name)]


def test_the_sdist_holds_what_git_holds(unpacked):
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if run.returncode:
        pytest.skip("this is no git repository")
    known = {name for name in run.stdout.split("\0") if name and (ROOT / name).exists()}
    held = {path.relative_to(unpacked).as_posix() for path in unpacked.rglob("*")
            if path.is_file()}
    assert {name for name in held if not name.startswith(MADE)} == known


def test_the_default_suite_of_the_sdist_passes_in_its_own_folder(unpacked):
    run = subprocess.run([sys.executable, "-m", "pytest", "-p", "no:cacheprovider"], cwd=unpacked,
                         env=os.environ | {"PYTHONPATH": str(unpacked)}, capture_output=True,
                         text=True)
    print(run.stdout[-300:])
    assert run.returncode == 0, run.stdout[-5000:]
