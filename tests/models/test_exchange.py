"""`export` and `import`: what goes out comes back to the bit, and wrong files leave nothing behind.

None of this needs PyTorch.
"""

import json
import shutil
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file
from same_run import without_pictures
from sentences import options

from aiayn_course.cli.main import main
from aiayn_np.interop import gpt2_format
from aiayn_np.interop.folder_format import named
from aiayn_np.runs.open import open_run
from aiayn_np.text.extra import install_command

pytestmark = pytest.mark.usefixtures("no_pictures")
TINY = ["--symbols", "4", "--max-length", "4", "--d-model", "8", "--d-ff", "12", "--h", "2",
        "--N", "1", "--batch-size", "8", "--P-drop", "0.1", "--norm", "pre", "--positions",
        "learned"]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run of 25 steps, which decodes with the average of two states."""
    folder = tmp_path_factory.mktemp("runs") / "a"
    with pytest.MonkeyPatch.context() as patch:
        without_pictures(patch)
        assert main(["train", "reverse", *TINY, "--steps", "25", "--out", str(folder)]) == 0
    return folder


@pytest.fixture(scope="module")
def exported(run):
    """The same for PyTorch."""
    folder = run.with_name("a.torch")
    assert main(["export", str(run), str(folder), "--to", "torch"]) == 0
    return folder


@pytest.fixture
def copied(exported, tmp_path):
    """A copy of it that a test may damage."""
    return Path(shutil.copytree(exported, tmp_path / "copied"))


def assert_same_weights(run, back):
    """What decodes in one run is in the other one, to the bit."""
    want = open_run(run).trained().state_dict()
    for state in (open_run(back).model.state_dict(), open_run(back).trained().state_dict()):
        assert list(state) == list(want)
        for name, value in state.items():
            np.testing.assert_array_equal(value, want[name])


def test_what_decodes_comes_back_to_the_bit(run, exported, tmp_path, capsys):
    """The file holds the average of the last states, which the commands use."""
    assert len(open_run(run).recent) == 2
    assert main(["import", str(exported), "--out", str(tmp_path / "deep" / "back")]) == 0
    assert capsys.readouterr().out.splitlines() == [str(tmp_path / "deep" / "back")]
    assert_same_weights(run, tmp_path / "deep" / "back")


def test_training_of_what_was_imported_begins_with_a_new_adam(exported, tmp_path, capsys):
    back = tmp_path / "back"
    assert main(["import", str(exported), "--out", str(back)]) == 0
    argv = ["train", "reverse", "--resume", "--out", str(back)]
    for steps, said in ((3, 1), (5, 0)):
        capsys.readouterr()
        assert main([*argv, "--steps", str(steps)]) == 0
        told = "was imported: its training begins with a new Adam, at step 1"
        assert capsys.readouterr().err.count(told) == said
    opened = open_run(back)
    opened.load_history()
    assert [p.step for p in opened.history] == [1, 2, 3, 4, 5]
    assert opened.optimizer.t == 5


@pytest.mark.slow
def test_every_command_works_on_what_was_imported(exported, tmp_path, capsys, blank_pictures):
    back = str(tmp_path / "back")
    assert main(["import", str(exported), "--out", back]) == 0
    for command in ("decode", "attend", "trace", "explore"):
        assert main([command, back, "3 1 2"]) == 0
    capsys.readouterr()
    assert main(["export", back, str(tmp_path / "again"), "--to", "torch"]) == 0
    first, *_, last = capsys.readouterr().out.splitlines()
    assert "parameters, as decoding uses them" in first
    assert last == str(tmp_path / "again")
    name = "model.safetensors"
    assert (exported / name).read_bytes() == (tmp_path / "again" / name).read_bytes()


@pytest.mark.slow
def test_a_run_on_text_takes_its_vocabulary_along(tmp_path, capsys):
    run, out, back = (str(tmp_path / name) for name in ("run", "out", "back"))
    assert main([*options(tmp_path), "--epochs", "1", "--out", run]) == 0
    assert main(["export", run, out, "--to", "torch"]) == 0
    assert main(["import", out, "--out", back]) == 0
    assert_same_weights(run, back)
    (tmp_path / "lines").write_text("eins zwei\ndrei\n")
    capsys.readouterr()
    found = []
    for folder in (run, back):
        assert main(["translate", folder, str(tmp_path / "lines")]) == 0
        found.append(capsys.readouterr().out)
    assert found[0] == found[1]
    assert main(["train", "text", "--resume", "--epochs", "1", "--out", back]) == 0


def test_safetensors_hold_what_pytorch_reads(run, exported):
    """The file's arrays are in order, W is transposed, Q, K and V are one below another."""
    state = load_file(exported / "model.safetensors")
    ours = open_run(run).trained().state_dict()
    layer = "encoder.layers.0"
    wanted = np.concatenate([ours[f"{layer}.self_attention.linear_{x}.W"].T for x in "QKV"])
    np.testing.assert_array_equal(state[f"stacks.{layer}.self_attn.in_proj_weight"], wanted)
    np.testing.assert_array_equal(state[f"stacks.{layer}.linear1.weight"],
                                  ours[f"{layer}.feed_forward.linear_1.W"].T)


# what is refused: one line, and nothing is written


def refused(copied, capsys, reason):
    """The import of a damaged folder ends with one line that holds the reason."""
    capsys.readouterr()
    before = set(copied.parent.iterdir())
    assert main(["import", str(copied), "--out", str(copied.parent / "new" / "run")]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert reason in err
    assert str(copied.name) in err
    left = set(copied.parent.iterdir()) - before
    assert left <= {copied.parent / "new"}
    assert not any(folder.iterdir() for folder in left if any(folder.iterdir()))


def with_tensors(path, **changes):
    """Rewrite a safetensors file with other arrays; None takes one out."""
    state = load_file(path) | changes
    save_file({name: x for name, x in state.items() if x is not None}, path)


DAMAGE = {
    "another shape": (lambda p: with_tensors(p, E=np.zeros((7, 9), np.float32)),
                      "E must have shape (7, 8), got (7, 9)"),
    "a missing name": (lambda p: with_tensors(p, E=None), "every tensor must be there, missing E"),
    "an unknown name": (lambda p: with_tensors(p, extra=np.zeros(2, np.float32)),
                        "there must be no other tensor, got unknown extra"),
    "another dtype": (lambda p: with_tensors(p, E=np.zeros((7, 8))),
                      "tensors must be float32, got F64"),
    "not a number": (lambda p: with_tensors(p, E=np.full((7, 8), np.nan, np.float32)),
                     "E must be finite"),
    "a bias": (lambda p: with_tensors(p, **{
        "stacks.encoder.layers.0.self_attn.out_proj.bias": np.ones(8, np.float32)}),
        "out_proj.bias must be zero, because the config has no bias"),
    "truncated": (lambda p: p.write_bytes(p.read_bytes()[:-5]), "is not a safetensors file"),
    "no file": (lambda p: p.unlink(), "model.safetensors"),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_damaged_weights_are_refused(damage, copied, capsys):
    spoil, reason = DAMAGE[damage]
    spoil(copied / "model.safetensors")
    refused(copied, capsys, reason)


def changed(*path, value):
    """A change of the header: the entry at a path gets a value."""
    def change(header):
        for name in path[:-1]:
            header = header[name]
        header[path[-1]] = value
    return change


@pytest.mark.parametrize(("change", "reason"), [
    (changed("version", value=9), "it has version 9, this program reads 1"),
    (changed("model", "d_model", value=16), "E must have shape (7, 16), got (7, 8)"),
    (changed("model", "d_model", value=-8), "E must have shape (7, -8)"),
    (changed("model", "more", value=1), "run and model must have one config, got"),
    (changed("run", "task", value="no_such"), "no_such"),
    (changed("run", "task", value="text"), "vocabulary.model"),
    (changed("run", "variants", "norm", value="post"), "run and model must have one config, got"),
    (changed("run", "dtype", value="float16"), "tensors must be float16, got F32"),
    (changed("run", value=3), "config.json is not usable"),
    (changed("model", "eps", value=1e-5), "run and model must have one config, got"),
])
def test_a_wrong_config_is_refused(change, reason, copied, capsys):
    header = json.loads((copied / "config.json").read_text())
    change(header)
    (copied / "config.json").write_text(json.dumps(header))
    refused(copied, capsys, reason)


@pytest.mark.parametrize(("name", "content", "reason"), [
    ("notes.txt", "", "is of no known format; known are torch ("),
    ("config.json", '{"model_type": "unheard of"}', "is of no known format; known are torch ("),
    ("pytorch_model.bin", "", "config.json: No such file"),
    ("model.safetensors", "", "config.json: No such file"),
    ("config.json", '{"format": "aiayn_n', "config.json is not JSON: Unterminated string"),
    ("config.json", '{"format": "aiayn_np torch"', "config.json is not usable"),
    ("config.json", "[1]", "config.json must hold a JSON object, got list"),
    ("config.json", "\udcff", "config.json is not JSON: 'utf-8' codec can't decode"),
])
def test_a_folder_of_no_known_format_is_refused(name, content, reason, tmp_path, capsys):
    (tmp_path / "copied").mkdir()
    (tmp_path / "copied" / name).write_bytes(content.encode(errors="surrogateescape"))
    refused(tmp_path / "copied", capsys, reason)


def test_what_is_there_is_not_overwritten(run, exported, copied, capsys):
    before = (run / "model.npz").read_bytes()
    assert main(["import", str(exported), "--out", str(run)]) == 2
    assert main(["export", str(run), str(copied), "--to", "torch"]) == 2
    assert capsys.readouterr().err.count("is there already: choose another name") == 2
    assert (run / "model.npz").read_bytes() == before
    assert main(["import", str(exported / "nowhere"), "--out", str(run / "x")]) == 2
    assert "there is no such file or folder" in capsys.readouterr().err


def test_a_run_that_pytorch_cannot_have_is_not_exported(tmp_path, capsys):
    run, out = tmp_path / "run", tmp_path / "out"
    argv = ["train", "copy", "--attention", "additive", "--steps", "1", "--out", str(run)]
    assert main([*argv, *TINY[:-4]]) == 0
    capsys.readouterr()
    assert main(["export", str(run), str(out), "--to", "torch"]) == 2
    assert "torch.nn.Transformer has ScaledDotProductAttention() at" in capsys.readouterr().err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run"]


def test_a_missing_package_is_one_line_with_the_command_that_brings_it(
    run, copied, capsys, monkeypatch
):
    for name in ("safetensors", "safetensors.numpy"):
        monkeypatch.setitem(sys.modules, name, None)
    line = f"safetensors is not installed; torch needs it: {install_command('torch')}"
    assert main(["export", str(run), str(copied.parent / "out"), "--to", "torch"]) == 2
    assert line in capsys.readouterr().err
    assert main(["import", str(copied), "--out", str(copied.parent / "back")]) == 2
    assert line in capsys.readouterr().err
    assert [path.name for path in copied.parent.iterdir()] == ["copied"]


def test_a_message_about_a_copy_names_the_folder_that_the_user_knows():
    copy, original = Path("a/model.safetensors"), Path("marian/pytorch_model.bin")
    assert named("a/model.safetensors: a must a", copy, original) == (
        "marian/pytorch_model.bin: a must a")
    assert named("a/config.json: a must a", copy, original) == "marian/config.json: a must a"
    assert named("another a", copy, original) == "another a"


def test_what_is_said_of_a_run_that_does_not_go_out_is_true_of_it(run, tmp_path, capsys):
    with pytest.raises(ValueError, match=r"must be a GPT-2, .* got a run of the task llama$"):
        gpt2_format.write(SimpleNamespace(task=SimpleNamespace(name="llama")), tmp_path)
    assert main(["export", str(run), str(tmp_path / "out"), "--to", "marian"]) == 2
    assert "must be post-norm, got a pre-norm one (--norm pre)" in capsys.readouterr().err
