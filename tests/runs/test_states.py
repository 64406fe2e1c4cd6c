"""States that a run keeps on the way: which, how many, and that they are those of the steps."""

import numpy as np
import pytest

from aiayn_course.cli.main import main
from aiayn_np import CheckpointError
from aiayn_np.runs.open import open_run
from aiayn_np.runs.states import KeptStates

SMALL = ["--N", "1", "--d-model", "8", "--d-ff", "8", "--h", "2", "--batch-size", "4", "--symbols",
         "4", "--max-length", "5"]


class Model:
    """Something with a state: the step that it is at."""

    def __init__(self):
        self.step = 0

    def state_dict(self):
        return {"W": np.full(3, self.step / 7)}


def kept(steps):
    states, model = KeptStates("unused.npz"), Model()
    for model.step in range(steps + 1):
        states.keep(model.step, model)
    return states


@pytest.mark.parametrize(("steps", "every", "count"), [
    (0, 25, 1), (24, 25, 1), (25, 25, 2), (375, 25, 16), (399, 25, 16), (400, 50, 9),
    (799, 50, 16), (800, 100, 9), (4000, 400, 11),
])
def test_there_are_at_most_16_states_at_even_distances(steps, every, count):
    states = kept(steps)
    assert list(states.states) == list(range(0, steps + 1, every))
    assert len(states.states) == count
    assert states.every == every
    for step, state in states.states.items():
        assert state["W"].dtype == np.float16
        np.testing.assert_array_equal(state["W"], np.full(3, step / 7, np.float16))


def test_they_come_back_from_their_file_up_to_a_step(tmp_path):
    states = kept(400)
    states.path = tmp_path / "states.npz"
    states.save()
    again = KeptStates(states.path)
    again.load(last=250)
    assert (list(again.states), again.every) == ([0, 50, 100, 150, 200, 250], 50)
    np.testing.assert_array_equal(again.states[250]["W"], states.states[250]["W"])
    missing = KeptStates(tmp_path / "none.npz")
    missing.load(last=9)
    assert missing.states == {}
    states.path.write_bytes(b"no archive")
    with pytest.raises(CheckpointError, match=r"states\.npz is not readable"):
        again.load(last=250)


@pytest.mark.slow
def test_a_run_keeps_them_only_if_it_is_asked_to(tmp_path, capsys):
    argv = ["train", "copy", *SMALL, "--steps", "60", "--seed", "2"]
    assert main([*argv, "--out", str(tmp_path / "a"), "--keep-states"]) == 0
    assert "states.npz" in capsys.readouterr().out
    assert main([*argv, "--out", str(tmp_path / "b")]) == 0
    assert not (tmp_path / "b" / "states.npz").exists()
    a, b = open_run(tmp_path / "a"), open_run(tmp_path / "b")
    assert list(a.states.states) == [0, 25, 50]
    assert b.states is None
    for name, value in a.model.state_dict().items():                   # the training is the same
        np.testing.assert_array_equal(value, b.model.state_dict()[name])
    recent = a.recent[-2]["src_embedding.E"]                           # of step 50: every tenth
    np.testing.assert_array_equal(a.states.states[50]["src_embedding.E"], recent.astype(np.float16))
    assert main(["train", "copy", "--out", str(tmp_path / "a"), "--resume", "--keep-states"]) == 2
    assert "--keep-states is fixed by the run" in capsys.readouterr().err


def test_a_resumed_run_goes_on_keeping_them(tmp_path, no_pictures):
    argv = ["train", "copy", *SMALL, "--out", str(tmp_path / "a")]
    assert main([*argv, "--steps", "30", "--keep-states"]) == 0
    assert main([argv[0], argv[1], *argv[-2:], "--resume", "--steps", "80"]) == 0
    assert list(open_run(tmp_path / "a").states.states) == [0, 25, 50, 75]


@pytest.mark.slow
def test_what_was_written_before_a_kill_is_no_other_run(tmp_path, no_pictures):
    """Of a killed run, history and states may know more steps than the checkpoint."""
    out = tmp_path / "a"
    argv = ["train", "copy", *SMALL, "--out", str(out)]
    assert main([*argv, "--steps", "399", "--keep-states"]) == 0
    before = (out / "model.npz").read_bytes()
    resume = ["train", "copy", "--out", str(out), "--resume", "--steps", "450"]
    assert main(resume) == 0
    (out / "model.npz").write_bytes(before)                            # and fewer: each second one
    assert list(open_run(out).states.states) == [*range(0, 400, 50)]
    assert main(resume) == 0


def test_states_are_files_of_the_run_and_cannot_be_made_again(tmp_path, no_pictures, capsys):
    out = tmp_path / "a"
    assert main(["train", "copy", *SMALL, "--steps", "30", "--keep-states", "--out",
                 str(out)]) == 0
    (out / "states.npz").unlink()
    capsys.readouterr()
    resume = ["train", "copy", "--out", str(out), "--resume"]
    assert main(resume) == 2
    assert "nothing to do" in capsys.readouterr().err
    (out / "history.csv").unlink()
    assert main([*resume, "--steps", "60"]) == 0
    assert (out / "history.csv").read_bytes().splitlines()[1].startswith(b"31,")
    assert list(open_run(out).states.states) == [50]
