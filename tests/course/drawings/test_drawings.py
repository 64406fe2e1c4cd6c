"""The twelve drawings: what stands on them comes from the layers, and all of it can be read."""

import itertools
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from aiayn_course import drawings
from aiayn_course.drawings import model, pen, way_back
from aiayn_np import ScaledDotProductAttention, Transformer
from aiayn_np.module import leaves
from aiayn_np.plotting.figures import WIDEST

ROOT = Path(__file__).parents[3]
each = pytest.mark.parametrize("name", drawings.DRAWINGS)


def words(fig):
    """Every text that is shown, with the box that it takes in pixels."""
    import matplotlib.text

    fig.draw_without_rendering()
    shown = [t for t in fig.findobj(matplotlib.text.Text) if t.get_text() and t.get_visible()]
    return [(t, t.get_window_extent()) for t in shown]


@pytest.mark.slow
@each
def test_its_words_are_large_enough_inside_and_none_stands_on_another(name):
    fig = drawings.DRAWINGS[name]()
    assert fig.get_figwidth() <= WIDEST
    shown = words(fig)
    for text, place in shown:
        assert text.get_fontsize() >= 9, text.get_text()
        for corner in place.get_points():
            assert fig.bbox.contains(*corner), text.get_text()
    wide = [(text, place) for text, place in shown if place.width > 0]
    for (a, p), (b, q) in itertools.combinations(wide, 2):
        assert not p.overlaps(q), (a.get_text(), b.get_text())


@each
def test_both_files_are_in_the_folder_of_figures(name):
    for kind in ("svg", "png"):
        assert (ROOT / "figures" / "drawings" / f"{name}.{kind}").stat().st_size > 5000


@pytest.mark.slow
def test_the_script_writes_every_drawing_twice_the_same(tmp_path):
    command = [sys.executable, "-W", "error", "-m", "aiayn_course.drawings", tmp_path / "a"]
    subprocess.run(command, check=True, cwd=ROOT, capture_output=True)
    drawings.save_drawings(tmp_path / "b")
    for name, kind in itertools.product(drawings.DRAWINGS, ("svg", "png")):
        first, second = (tmp_path / f / f"{name}.{kind}" for f in "ab")
        assert first.read_bytes() == second.read_bytes(), first.name


def test_the_boxes_of_figure_1_are_attributes_of_the_model():
    built = Transformer(5, N=1, d_model=4, d_ff=4, h=1, rng=np.random.default_rng(0))
    for name in model.BOXES:
        stack, _, part = name.partition(".")
        if name != "softmax":
            assert hasattr(getattr(built, stack).layers[0] if part else built, part or stack)


def test_only_the_parts_that_are_named_are_lit():
    from matplotlib.colors import to_rgb

    def lit(*names):
        fig = drawings.figure_1(*names)
        return sum(p.get_facecolor()[:3] == to_rgb(pen.LIT) for p in fig.axes[0].patches)

    assert [lit(), lit("attention"), lit("encoder.self"), lit("add_norm", "feed")] == [0, 3, 1, 7]
    with pytest.raises(ValueError, match="got attentoin"):
        drawings.figure_1("attentoin")


def test_the_shapes_and_bytes_of_the_model_are_those_of_its_forward(rng):
    built = Transformer(7, N=1, d_model=6, d_ff=10, h=3, rng=rng)
    shown = texts(drawings.model_shapes(built, np.full((2, 4), 4), np.full((2, 5), 4)))
    _, cache = built.forward(np.full((2, 4), 4), np.full((2, 5), 4))
    arrays = {id(a): a.nbytes for _, a in leaves(cache, np.ndarray)}
    total = next(text for text in shown if text.startswith("kB"))
    assert f"In all {sum(arrays.values()) / 1000:.1f} kB, of it maps" in total
    assert [text.split("map ")[1] for text in shown if "map " in text] == [
        "(2, 3, 4, 4)", "(2, 3, 5, 5)", "(2, 3, 5, 4)"]
    assert sum(text.startswith("(2, 5, 6)") for text in shown) == 7
    assert sum(text.startswith("(2, 5, 7)") for text in shown) == 2


def test_the_weights_of_the_example_are_simple_fractions():
    out, cache = ScaledDotProductAttention().forward(*drawings.example())
    assert np.allclose(12 * cache.weights, [[1, 1, 9, 1], [2, 6, 2, 2], [2, 2, 6, 2]])
    assert len({*cache.Q.shape, len(cache.K), out.shape[-1]}) == 4     # T_q, d_k, T_k, d_v


def texts(fig):
    return [text.get_text() for text, _ in words(fig)]


def test_the_gradients_of_attention_show_the_shapes_that_they_are_given(rng):
    Q, K, V = (rng.standard_normal(shape) for shape in ((2, 3), (6, 3), (6, 1)))
    shown = texts(drawings.attention_gradients(Q, K, V, steps=0))
    assert {"Q (2, 3)", "K (6, 3)", "V (6, 1)", "$T_q$ = 2 queries, $T_k$ = 6 keys"} <= set(shown)


def test_a_drawing_of_more_steps_has_more_words():
    for drawing, counts in ((drawings.attention_shapes, range(1, 4)),
                            (drawings.attention_gradients, range(8))):
        sizes = [len(texts(drawing(steps=count))) for count in counts]
        assert sizes == sorted(set(sizes))
        assert sizes[-1] == len(texts(drawing()))
    assert len(texts(drawings.heads_split(merged=False))) < len(texts(drawings.heads_split()))


def test_the_wrong_split_gives_a_head_two_tokens():
    fig = drawings.heads_split(wrong=True)
    cells = [t for t in texts(fig) if re.fullmatch(r"\d\d", t)]
    assert cells[24:] == cells[:24]                                    # in the order of memory
    assert texts(fig).count("the") == 1 + 2


def test_the_way_back_names_each_parameter_of_a_box_and_brings_three_gradients_to_E():
    built = Transformer(5, N=1, d_model=4, d_ff=4, h=1, rng=np.random.default_rng(0))
    shown = texts(drawings.model_gradients())
    counts = {text: shown.count(text) for text in way_back.ADDS.values()}
    assert counts == dict(zip(counts, (3, 5, 2)))
    named = sum(count * len(text.split(",")) for text, count in counts.items())
    assert named + 1 == len(list(built.parameters()))                  # the one more is E
    assert {"E.grad", "as source", "as target", "as output"} <= set(shown)
