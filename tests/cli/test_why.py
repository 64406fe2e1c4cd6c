"""`why`: the shares of what a run writes, with the experiment beside them, and a picture."""

import re

import numpy as np
import pytest
from same_run import TINY

from aiayn_np.cli.main import main
from aiayn_np.cli.why import sentence
from aiayn_np.reading import shares
from aiayn_np.runs.open import open_run


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "a"
    assert main(["train", "reverse", *TINY, "--steps", "12", "--out", str(folder)]) == 0
    return folder


def test_it_prints_the_shares_and_draws_them(folder, capsys):
    capsys.readouterr()
    assert main(["why", str(folder), "3 1 2"]) == 0
    out = capsys.readouterr().out
    assert out.splitlines()[-1] == str(folder / "why.png")
    assert (folder / "why.png").read_bytes().startswith(b"\x89PNG")
    run = open_run(folder)
    src = run.task.source("3 1 2")
    made_of = shares(run.trained(), src[0], [run.task.bos])
    line = next(line for line in out.splitlines() if line.startswith("  shares:"))
    found = [float(number) for number in re.findall(r"[+-]\d+\.\d\d", line)]
    want = [*made_of.source, *made_of.target, made_of.biases]
    np.testing.assert_allclose(found, want, rtol=0, atol=0.006)
    assert out.count("  held:") == len(run.decode(src)[0])


def test_one_word_against_another(folder, tmp_path, capsys):
    picture = tmp_path / "new.png"
    assert main(["why", str(folder), "3", "1", "--word", "1", "--against", "2", "--out",
                 str(picture)]) == 0
    out = capsys.readouterr().out
    assert out.count("  logit:") == 1
    assert "above 2\n" in out
    assert picture.is_file()


@pytest.mark.parametrize(("options", "message"), [
    (["--word", "0"], "--word must be 1 to"),
    (["--word", "99"], "--word must be 1 to"),
    (["--against", "x"], "--against must be one token of the vocabulary, got 'x'"),
    (["--out", "notes.txt"], "--out must be a .png, got notes.txt"),
])
def test_wrong_requests_are_one_line(folder, options, message, capsys):
    capsys.readouterr()
    assert main(["why", str(folder), "3 1", *options]) == 2
    err = capsys.readouterr().err
    assert message in err
    assert err.count("\n") == 1


def test_the_sentence_names_what_gave_most():
    words = ["vier", "hundert", "<eos>"]
    assert sentence("hundred", words, np.array([0.6, 4.1, -2])) == (
        "'hundred' was made of 'hundert' (+4.1) and 'vier' (+0.6).")
    assert sentence("four", words, np.array([3, 0.1, 0])) == "'four' was made of 'vier' (+3.0)."
    assert sentence("and", words, np.array([-1, 0, -2])) == "No source token speaks for 'and'."
