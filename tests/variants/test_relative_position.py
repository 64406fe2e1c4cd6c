"""Relative positions and windows: the shifted mask, what is refused."""


import numpy as np
import pytest

from aiayn_np.variants.relative_position import (
    RelativePositionBias2D,
    relative_attention,
)


@pytest.mark.parametrize(("height", "width"), [(3, 2), (2, 4), (1, 5), (1, 1), (3, 3)])
def test_no_row_of_the_table_is_without_use(rng, height, width):
    layer, T = RelativePositionBias2D(3, height, width, rng=rng), height * width
    assert len(layer.b.value) == len(np.unique(layer.index(T, T)))


def test_the_factory_counts_distances_up_to_16(rng):
    bias = relative_attention(3, 4, 5, rng).score.bias
    assert (bias.max_distance, bias.b.value.shape) == (16, (33, 3))
