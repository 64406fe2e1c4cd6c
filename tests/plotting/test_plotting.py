"""Pictures: the scale is fixed, masked cells are marked, labels are there, bad shapes refused."""

import io

import numpy as np
import pytest
from PIL import Image

from aiayn_np import Progress
from aiayn_np.plotting.figures import (
    CARD,
    plot_attention,
    plot_attention_grid,
    plot_loss,
    plot_signed,
)


def weights_of(rng, h=3, T_q=4, T_k=5):
    w = rng.random((h, T_q, T_k))
    return w / w.sum(axis=-1, keepdims=True)


def maps_of(fig):
    """The axes with a heat-map."""
    return [ax for ax in fig.axes if ax.images]


def drawn(fig):
    """Whether it can really be drawn, as PNG bytes."""
    buffer = io.BytesIO()
    fig.savefig(buffer, dpi=40)
    return buffer.getvalue().startswith(b"\x89PNG")


def test_heads_are_drawn_on_a_fixed_scale_with_tokens_on_both_axes(rng, capsys):
    weights = weights_of(rng) * 0.1
    fig = plot_attention(weights, list("abcd"), list("vwxyz"), title="T")
    assert drawn(fig)
    axes = maps_of(fig)
    assert len(axes) == 3
    for head, ax in enumerate(axes):
        image = ax.images[0]
        assert image.get_clim() == (0, 1)
        assert image.get_cmap().name == "cividis"
        np.testing.assert_array_equal(image.get_array().data, weights[head])
        assert ax.get_title() == f"head {head + 1}"
    assert [t.get_text() for t in axes[0].get_xticklabels()] == list("vwxyz")
    assert [t.get_text() for t in axes[0].get_yticklabels()] == list("abcd")
    assert fig.get_suptitle() == "T"
    assert capsys.readouterr() == ("", "")


def test_masked_cells_are_hatched_and_not_coloured(rng):
    allowed = np.tri(4, 5, k=1, dtype=bool)
    fig = plot_attention(weights_of(rng), list("abcd"), list("vwxyz"), allowed=allowed)
    assert drawn(fig)
    for ax in maps_of(fig):
        np.testing.assert_array_equal(ax.images[0].get_array().mask, ~allowed)
        assert ax.patch.get_hatch()
        assert ax.patch.get_facecolor() == (1, 1, 1, 1)
        assert ax.images[0].get_cmap()(np.ma.masked) == (0, 0, 0, 0)  # the ground shows through
    assert "hatched" in fig.get_suptitle()


def test_a_small_map_has_its_numbers_in_the_cells_that_may_be_looked_at(rng):
    weights, allowed = weights_of(rng, h=1, T_q=5), np.tri(5, dtype=bool)
    (ax,) = maps_of(plot_attention(weights, list("abcde"), list("vwxyz"), allowed=allowed))
    cells = {(round(t.get_position()[1]), round(t.get_position()[0])): t.get_text()
             for t in ax.texts}
    assert cells == {(i, j): f"{weights[0, i, j]:.2f}" for i, j in zip(*np.nonzero(allowed))}
    assert [len(maps_of(plot_attention(weights_of(rng, h=1, T_k=n), "abcd", range(n)))[0].texts)
            for n in (7, 8)] == [28, 0]                                # seven fit, eight do not
    fig = plot_signed([[-2.0, -0.001, -0.0001]], ["a"], list("xyz"), value="slope")
    assert [t.get_text() for t in fig.axes[0].texts] == ["-2.00", "-0.001", "0.00"]


def test_signed_cells_are_drawn_around_zero_on_one_scale_for_all_heads():
    """Numbers from outside: the largest shown, by size, ends the scale; a masked one does not."""
    shares = np.array([[[0.5, -3.0], [1.0, 0.0]], [[2.0, 0.25], [-0.5, 9.0]]])
    allowed = np.array([[[1, 1], [1, 1]], [[1, 1], [1, 0]]], dtype=bool)
    fig = plot_attention(shares, "ab", "yz", allowed=allowed, signed=True, quantity="share")
    assert drawn(fig)
    for head, ax in enumerate(maps_of(fig)[:2]):
        (image,) = ax.images
        assert image.get_clim() == (-3, 3)
        np.testing.assert_array_equal(image.get_array().data, shares[head])
        np.testing.assert_array_equal(image.get_array().mask, ~allowed[head])
        zero, purple, orange = (image.to_rgba(x)[:3] for x in (0.0, 3.0, -3.0))
        assert min(zero) > 0.95
        assert purple[2] > purple[0] > purple[1]
        assert orange[0] > orange[1] > orange[2]
    numbers = {t.get_text(): t.get_color() for t in maps_of(fig)[0].texts}
    assert numbers == {"0.50": "black", "-3.00": "white", "1.00": "black", "0.00": "black"}
    assert fig.axes[-1].get_ylabel() == "share"
    (image,) = maps_of(plot_attention(np.zeros((2, 2)), "ab", "yz", signed=True))[0].images
    assert image.get_clim() == (-1, 1)


def test_a_grid_has_a_row_for_each_layer(rng):
    maps = {"layer a": weights_of(rng, h=2), "layer b": weights_of(rng, h=2)}
    masks = {name: np.ones((2, 4, 5), dtype=bool) for name in maps}
    fig = plot_attention_grid(maps, list("abcd"), list("vwxyz"), masks=masks)
    assert drawn(fig)
    titles = [ax.get_title() for ax in maps_of(fig)]
    assert titles == [f"layer {i}, head {j}" for i in (1, 2) for j in (1, 2)]


def test_training_curves_show_what_was_measured():
    history = [Progress(i, 1 / i, i / 9, 0.1, i, 0.5 if i % 4 == 0 else None) for i in range(1, 9)]
    fig = plot_loss(history, title="T")
    assert drawn(fig)
    top, bottom = fig.axes
    np.testing.assert_array_equal(top.lines[0].get_ydata(), [p.loss for p in history])
    assert [list(line.get_xdata()) for line in bottom.lines] == [list(range(1, 9)), [4, 8]]
    assert top.get_ylabel()
    assert bottom.get_xlabel() == "step"


@pytest.mark.parametrize(("draw", "message"), [
    (lambda: plot_attention(np.ones((2, 3, 4)), "abc", "abc"), r"shape \(h, 3, 3\)"),
    (lambda: plot_attention(np.ones(3), "abc", "abc"), r"shape \(h, 3, 3\)"),
    (lambda: plot_attention(np.ones((3, 4, 5)), [], []), "weights must have shape"),
    (lambda: plot_attention(np.ones((3, 4, 5)), "abcd", "vwxyz", titles=["only one"]),
     "every row must have 3 heads and titles, got 3 and 1"),
    (lambda: plot_attention_grid({}, [], []), "at least one attention map"),
    (lambda: plot_loss([]), "at least one record"),
    (lambda: plot_signed(np.ones((2, 3)), list("xyz"), list("ab"), value="slope"),
     r"matrix must have shape \(3, 2\) .* got \(2, 3\)"),
])
def test_bad_input_is_refused(draw, message):
    with pytest.raises(ValueError, match=message):
        draw()


def test_signed_numbers_are_drawn_around_zero(rng):
    matrix = rng.standard_normal((2, 3))
    fig = plot_signed(matrix, list("ab"), list("xyz"), value="slope", title="T")
    assert drawn(fig)
    (image,) = maps_of(fig)[0].images
    low, high = image.get_clim()
    assert high == -low == np.abs(matrix).max()
    np.testing.assert_array_equal(image.get_array(), matrix)
    assert [t.get_text() for t in fig.axes[0].get_yticklabels()] == list("ab")


@pytest.mark.slow
def test_a_notebook_shows_a_figure_whatever_the_backend(rng, monkeypatch):
    monkeypatch.setenv("MPLBACKEND", "Agg")
    fig = plot_attention(weights_of(rng), list("abcd"), list("vwxyz"))
    data, shown = fig._repr_png_()
    whole = io.BytesIO()
    fig.savefig(whole, format="png", dpi=150, **CARD)
    assert len(data) < 0.6 * len(whole.getvalue())                     # 256 colours, and light
    few, many = (np.asarray(Image.open(io.BytesIO(d)).convert("RGB"), float)
                 for d in (data, whole.getvalue()))
    assert np.abs(few - many).mean() < 1                               # of 255: not to be seen
    assert data.startswith(b"\x89PNG")
    assert shown == {"width": round(96 * fig.get_figwidth()),
                     "height": round(96 * fig.get_figheight())}
