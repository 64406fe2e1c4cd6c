"""Labels in any script: a font that has them is found, or one note says which to install."""

import warnings

import numpy as np
import pytest
from matplotlib import font_manager

from aiayn_np import plot_attention
from aiayn_np.plotting import fonts
from aiayn_np.plotting.figures import downwards, png_of

ELSEWHERE = "Ⓐ"  # in STIX, which comes with matplotlib, and not in its default font


@pytest.fixture(autouse=True)
def forgotten():
    fonts.families_with.cache_clear()
    yield
    fonts.families_with.cache_clear()


def drawn(token):
    fig = plot_attention(np.eye(2), ["a", "b"], ["a", token])
    png = png_of(fig, 50)
    label = fig.axes[0].get_xticklabels()[1]
    return png, label.get_fontfamily()


def test_a_label_gets_a_font_that_has_its_characters():
    assert drawn("b")[1] == ["sans-serif"]
    png, families = drawn(ELSEWHERE)
    assert families[0] == "sans-serif"
    assert len(families) == 2
    assert png != drawn("Ⓑ")[0]                                       # two letters, not two boxes


def test_where_no_font_has_them_one_warning_says_what_to_do(monkeypatch):
    monkeypatch.setattr(font_manager.fontManager, "ttflist", [])
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        drawn(ELSEWHERE)
    (warning,) = found
    assert f"no font of this system has {ELSEWHERE}" in str(warning.message)
    assert "fonts-noto-cjk" in str(warning.message)


def test_a_font_that_cannot_be_read_is_passed_over(monkeypatch, tmp_path):
    (tmp_path / "broken.ttf").write_bytes(b"no font")
    broken = font_manager.FontEntry(fname=str(tmp_path / "broken.ttf"), name="A Sans")
    monkeypatch.setattr(font_manager.fontManager, "ttflist",
                        [broken, *font_manager.fontManager.ttflist])
    assert "A Sans" not in drawn(ELSEWHERE)[1]


def test_chinese_stands_downwards_below_a_column():
    assert downwards("年十一") == "年\n十\n一"
    assert downwards("_three") == "_three"
    assert downwards(np.int64(3)) == "3"
