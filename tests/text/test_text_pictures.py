"""What the pictures of a training on text show, read off the figure."""

import numpy as np
import pytest

from aiayn_np.text.measures import PairProgress
from aiayn_np.text.pictures import plot_pair_training, plot_translation


def test_a_translation_shows_every_head_and_their_mean(rng):
    weights = rng.dirichlet(np.ones(3), (4, 2))                        # (h, T_tgt, T_src)
    allowed = np.array([True, True, False])
    fig = plot_translation(weights, ["one", "<eos>"], ["_e", "ins", "<eos>"],
                           allowed=np.broadcast_to(allowed, (4, 2, 3)))
    maps = [ax for ax in fig.axes if ax.images]
    assert [ax.get_title() for ax in maps] == [
        "head 1", "head 2", "head 3", "head 4", "mean of the heads"]
    shown = [ax.images[0].get_array() for ax in maps]
    for image, want in zip(shown, [*weights, weights.mean(axis=0)]):
        np.testing.assert_array_equal(image[:, :2], want[:, :2])
        assert image.mask[:, 2].all()
        assert not image.mask[:, :2].any()
    assert [label.get_text() for label in maps[0].get_yticklabels()] == ["one", "<eos>"]
    assert {(im.norm.vmin, im.norm.vmax) for im in (ax.images[0] for ax in maps)} == {(0, 1)}


def test_a_dollar_among_the_pieces_is_a_dollar():
    fig = plot_translation(np.ones((1, 2, 2)), ["$_$", "^$$"], ["_$$", "\\frac$"])
    fig.draw_without_rendering()


def test_a_training_shows_each_number_at_its_step():
    history = [PairProgress(1, 5.0, 10, 1e-3, 0.1), PairProgress(2, 4.0, 10, 1e-3, 0.2, 3.5, 3.4),
               PairProgress(3, 3.0, 10, 1e-3, 0.3, 2.5, 2.4, 11.0)]
    top, bottom = plot_pair_training(history).axes
    lines = {line.get_label(): line.get_xydata().tolist() for line in (*top.lines, *bottom.lines)}
    assert lines == {
        "training batch": [[1, 5], [2, 4], [3, 3]],
        "validation": [[2, 3.5], [3, 2.5]],
        "validation, last states averaged": [[2, 3.4], [3, 2.4]],
        "last states averaged, greedy": [[3, 11]],
    }
    with pytest.raises(ValueError, match="at least one record"):
        plot_pair_training([])
