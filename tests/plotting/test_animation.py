"""The animation: maps are recorded while training, and the pictures show them."""

import re

import numpy as np
import pytest
from PIL import Image

from aiayn_course.cli.main import main
from aiayn_np import ReverseTask, Transformer, attention_maps
from aiayn_np.plotting import animation
from aiayn_np.plotting.animation import animate, record
from aiayn_np.plotting.figures import CMAP


@pytest.fixture
def recording(rng):
    task = ReverseTask(symbols=4, max_length=4)
    model = Transformer(task.vocab_size, N=2, d_model=8, d_ff=12, h=2, P_drop=0.0, rng=rng)
    return model, task, record(model, task, steps=9, frames=3, rng=rng, batch_size=4)


def test_it_keeps_the_cross_attention_of_every_step_that_is_shown(recording):
    model, task, kept = recording
    np.testing.assert_array_equal(kept.steps, [0, 3, 6, 9])
    path = "decoder.layers.{}.cross_attention.attention.weights"
    assert list(kept.maps) == [path.format(0), path.format(1)]
    src = task.source(" ".join(kept.source[:-1]))
    tgt = np.concatenate([[[task.bos]], src[:, -2::-1]], axis=1)
    assert kept.target == task.tokens(tgt[0])
    assert len(kept.source) == 5                                       # one of the longest
    _, cache = model.forward(src, tgt)                                 # the model as it ended
    for name, maps in kept.maps.items():
        assert maps.shape == (4, 2, 5, 5)
        np.testing.assert_array_equal(maps[-1], attention_maps(cache)[name][0])
        assert np.abs(maps[0] - maps[-1]).max() > 1e-3                 # it has moved


def test_recording_does_not_change_training(rng, seed, recording):
    again = np.random.default_rng(seed)
    task = ReverseTask(symbols=4, max_length=4)
    model = Transformer(task.vocab_size, N=2, d_model=8, d_ff=12, h=2, P_drop=0.0, rng=again)
    record(model, task, steps=9, frames=1, rng=again, batch_size=4)
    for a, b in zip(model.parameters(), recording[0].parameters()):
        np.testing.assert_array_equal(a.value, b.value)


@pytest.mark.slow
def test_the_gif_has_a_picture_for_each_and_shows_the_weights(recording, tmp_path, monkeypatch):
    monkeypatch.setattr(animation, "LAST", 2)
    from matplotlib import colormaps

    _, _, kept = recording
    last = list(kept.maps.values())[-1]
    last[0], last[1], last[2], last[3] = 0.0, 0.25, 0.5, 1.0
    animate(kept, tmp_path / "a.gif", dpi=30)
    assert [path.name for path in tmp_path.iterdir()] == ["a.gif"]
    with Image.open(tmp_path / "a.gif") as gif:
        total = 0
        for i, weight in enumerate([0.0, 0.25, 0.5, 1.0]):
            gif.seek(i)
            pixels = np.asarray(gif.convert("RGB")).reshape(-1, 3).astype(int)
            want = np.array(colormaps[CMAP](weight)[:3]) * 255
            total = (np.abs(pixels - want).max(axis=1) < 6).mean()
            assert total > 0.2, f"picture {i} does not show {weight}"
        assert gif.n_frames in (4, 6)                                  # equal ones may be merged
        assert gif.info["loop"] == 0


@pytest.mark.slow
def test_the_command_writes_a_small_file(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(animation, "LAST", 2)
    path = tmp_path / "new" / "a.gif"
    argv = ["animate", "copy", "--steps", "2", "--out", str(path)]
    assert main(argv) == 0
    out, err = capsys.readouterr()
    assert out == f"{path}\n"
    assert err.startswith("training on the task copy")
    assert path.read_bytes().startswith(b"GIF89a")
    assert path.stat().st_size < 300_000
    assert main([*argv[:-1], str(path / "x.gif")]) == 2
    assert re.search("File exists|Not a directory", capsys.readouterr().err)
    assert main(["animate", "copy", "--steps", "0", "--out", str(path)]) == 2
    assert "steps must be" in capsys.readouterr().err
    assert main([*argv[:-1], str(tmp_path)]) == 2
    assert f"--out must be a file, got the folder {tmp_path}" in capsys.readouterr().err
