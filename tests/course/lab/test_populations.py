"""The populations of the lessons: what is committed, and how a lesson draws it."""

import numpy as np
import pytest
from committed import FIGURES

from aiayn_course.lab.populations import draw_population, population
from aiayn_np.plotting.figures import new_figure


def test_every_array_has_eight_seeds_and_finite_numbers():
    assert (FIGURES / "populations.json").stat().st_size < 1_000_000
    for lesson in (1, 8, 10, 11, 12, 14, 15):
        for name, array in population(lesson).items():
            assert len(array) == 8, name
            assert np.isfinite(array).all(), name
    with pytest.raises(KeyError):
        population(2)


def test_a_thin_line_for_each_seed():
    ax = new_figure(3, 2).subplots()
    draw_population(ax, 10, "loss", color="red")
    lines = ax.get_lines()
    np.testing.assert_array_equal([line.get_ydata() for line in lines], population(10)["loss"])
    assert {line.get_color() for line in lines} == {"red"}
    np.testing.assert_array_equal(lines[0].get_xdata(), range(10, 401, 10))
