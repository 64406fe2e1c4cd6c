"""Labels in any script: a font that has them is found, or one note says which to install."""

import warnings

import numpy as np
import pytest
from matplotlib import font_manager

from aiayn_np import plot_attention
from aiayn_np.plotting.fonts import downwards, picture_of

ELSEWHERE = "Ⓐ"  # in STIX, which comes with matplotlib, and not in its default font


def drawn(token):
    return picture_of(plot_attention(np.eye(2), ["a", "b"], ["a", token]), 50)


def test_a_label_gets_a_font_that_has_its_characters():
    assert drawn(ELSEWHERE) != drawn("Ⓑ")                              # two letters, not two boxes


@pytest.mark.skipif(not any("CJK" in f.name for f in font_manager.fontManager.ttflist),
                    reason="no font for Chinese is installed")
def test_chinese_labels_are_drawn():
    assert drawn("年") != drawn("月")


def test_where_no_font_has_them_one_warning_says_what_to_do(monkeypatch):
    monkeypatch.setattr("aiayn_np.plotting.fonts.FALL_BACKS", [])
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        drawn(ELSEWHERE + "年")
    (warning,) = found
    assert f"no font has {ELSEWHERE}年: " in str(warning.message)
    assert "fonts-noto-cjk" in str(warning.message)


def test_other_warnings_of_a_picture_are_passed_on(monkeypatch):
    fig = plot_attention(np.eye(2), ["a", "b"], ["a", "b"])
    monkeypatch.setattr(fig, "savefig", lambda *_, **__: warnings.warn("tight", stacklevel=1))
    with pytest.warns(UserWarning, match="^tight$"):
        picture_of(fig, 50)


def test_chinese_stands_downwards_below_a_column():
    assert downwards("年十一") == downwards("_年十一") == "年\n十\n一"
    assert downwards("_three") == "_three"
    assert downwards(np.int64(3)) == "3"
