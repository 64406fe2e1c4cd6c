"""A small finished run for the tests of what commands refuse and where they write."""

import pytest
from same_run import TINY, without_pictures

from aiayn_np.cli.main import main


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """The folder of a finished run, without pictures."""
    out = tmp_path_factory.mktemp("run") / "r"
    with pytest.MonkeyPatch.context() as patch:
        without_pictures(patch)
        assert main(["train", "copy", *TINY, "--steps", "2", "--out", str(out)]) == 0
    return out
