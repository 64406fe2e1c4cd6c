"""A run on text, and the same as a translator of Hugging Face."""

import pytest
from real_models import LINES
from same_run import without_pictures

from aiayn_course.cli.main import main


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """The folder of a run on text of two steps."""
    folder = tmp_path_factory.mktemp("text")
    pairs = folder / "pairs.tsv"
    pairs.write_text("".join(f"{line}\t{line.upper()}\n" for line in LINES * 5), encoding="utf-8")
    run = folder / "run"
    with pytest.MonkeyPatch.context() as patch:
        without_pictures(patch)
        assert main(["train", "text", "--pairs", str(pairs), "--validation-pairs", str(pairs),
                     "--out", str(run), "--preset", "numbers", "--vocab-size", "40", "--epochs",
                     "2", "--d-model", "12", "--h", "3", "--N", "2"]) == 0
    return run


@pytest.fixture(scope="module")
def exported(trained):
    out = trained.parent / "hf"
    assert main(["export", str(trained), str(out), "--to", "marian"]) == 0
    return out
