"""Seeds: every test draws from its own generator, and a failing test prints how to repeat it.

The tests run with one thread of BLAS: their matrices are small, and with several threads a busy
machine takes ten times as long.
"""

import functools
import importlib.util
import os
import shutil
import zlib

for library in ("OPENBLAS_NUM", "OMP_NUM", "MKL_NUM", "VECLIB_MAXIMUM"):  # before NumPy is loaded
    os.environ.setdefault(f"{library}_THREADS", "1")
os.environ["AIAYN_LANG"] = "en"  # what the exercises say, whatever the locale is

import numpy as np  # noqa: E402
import pytest  # noqa: E402

collect_ignore_glob = ["helpers/*.py"]  # programs and helpers: loaded by the tests that use them


def pytest_addoption(parser):
    parser.addoption("--seed", type=int, default=0, help="base seed of all random tests")
    parser.addoption("--programs", type=int, default=10, help="that test vectors judge, of a kind")
    parser.addoption("--built", help="folder with a wheel that tests/install try; none: they build")


def pytest_configure(config):
    """Say what is missing, and that the search for tests has begun: it takes some seconds."""
    needed = "jupytext", "nbclient", "sentencepiece", "sacrebleu", "safetensors", "tokenizers"
    missing = [name for name in needed if importlib.util.find_spec(name) is None]
    if missing:
        raise pytest.UsageError(f"the tests need {', '.join(missing)}: pip install -e '.[test]'")
    if not hasattr(config, "workerinput"):
        print("looking for the tests", flush=True)


@pytest.fixture
def seed(request):
    """An integer that depends on --seed and on the test's name only, not on its folder."""
    base = request.config.getoption("--seed")
    return zlib.crc32(f"{base} {request.node.nodeid.rsplit('/')[-1]}".encode())


@pytest.fixture
def rng(seed):
    return np.random.default_rng(seed)


@pytest.fixture(autouse=True, scope="session")
def one_parser():
    """The parser of the whole command line is made once: each command of a test asks for it."""
    import aiayn_np.cli.parser

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(aiayn_np.cli.parser, "parser", functools.cache(aiayn_np.cli.parser.parser))
        yield


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """The folder of a finished run of two steps, without pictures."""
    from same_run import TINY, without_pictures

    from aiayn_course.cli.main import main

    out = tmp_path_factory.mktemp("run") / "r"
    with pytest.MonkeyPatch.context() as patch:
        without_pictures(patch)
        assert main(["train", "copy", *TINY, "--steps", "2", "--out", str(out)]) == 0
    return out


@pytest.fixture
def copied(run, tmp_path):
    """A copy of that folder, which a test may change."""
    return shutil.copytree(run, tmp_path / "r")


@pytest.fixture
def no_pictures(monkeypatch):
    from same_run import without_pictures

    without_pictures(monkeypatch)


@pytest.fixture
def blank_pictures(monkeypatch):
    from same_run import with_blank_pictures

    with_blank_pictures(monkeypatch)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    report = (yield).get_result()
    if report.failed and "seed" in getattr(item, "fixturenames", ()):
        base = item.config.getoption("--seed")
        report.sections.append(("seed", f"repeat with: pytest '{item.nodeid}' --seed {base}"))
