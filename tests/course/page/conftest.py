"""A small trained run on reversing, and its page."""

import pytest
from trained import trained

from aiayn_course.cli.main import main
from aiayn_np.runs.start import start_run
from aiayn_np.training.toys import Progress


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    sizes = dict(symbols=6, max_length=6, N=2, d_model=32, d_ff=64, h=2)
    run, _ = start_run(tmp_path_factory.mktemp("runs") / "reverse", "reverse", **sizes)
    run.folder.mkdir()
    run.optimizer.t = 200
    run.model.load_state_dict(trained("reverse")[0].state_dict())
    run.history.append(Progress(step=200, loss=0.2, accuracy=1.0, rate=0.001, seconds=2.0))
    run.save()
    return run


@pytest.fixture(scope="module")
def path(run):
    path = run.folder / "explore.html"
    assert main(["explore", str(run.folder), "3 1 4 1 5", "0 1 2", "--out", str(path)]) == 0
    return path


@pytest.fixture
def page(visit, path):
    """The page, open at its numbers."""
    from browser import settled, unfold

    page = visit(path, "#mode=look")
    settled(page)
    unfold(page)
    return page
