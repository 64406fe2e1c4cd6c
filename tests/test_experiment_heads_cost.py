"""Claim 4."""

import numpy as np
import pytest
from committed import committed, measured_again

from aiayn_np.experiments.experiment import AGREES
from aiayn_np.experiments.heads_cost import HEADS_COST, heads_cost, product_multiply_adds
from aiayn_np.multi_head import MultiHeadAttention


class Counting(np.ndarray):
    """An array that adds up the multiply-adds of the matrix products it takes part in."""

    total = 0

    def __array_ufunc__(self, ufunc, method, *inputs, **options):
        plain = [np.asarray(x) if isinstance(x, Counting) else x for x in inputs]
        result = getattr(ufunc, method)(*plain, **options)
        if ufunc is np.matmul:
            Counting.total += result.size * plain[0].shape[-1]
        return result.view(Counting) if isinstance(result, np.ndarray) else result


@pytest.mark.parametrize("h", [1, 2, 8])
def test_the_formula_counts_the_products_of_the_layer(rng, h):
    n, d_model = 5, 16
    layer = MultiHeadAttention(d_model, h, rng=rng)
    for parameter in layer.parameters():
        parameter.value = parameter.value.view(Counting)
    x = rng.standard_normal((1, n, d_model)).view(Counting)
    Counting.total = 0
    y, cache = layer.forward(x, x, x)
    assert Counting.total == product_multiply_adds(n, d_model, h)
    Counting.total = 0
    layer.backward(np.ones(y.shape).view(Counting), cache)
    assert Counting.total == 2 * product_multiply_adds(n, d_model, h)


def test_the_products_cost_the_same_for_every_h_and_the_scores_do_not():
    few = heads_cost(h=(1, 2, 8), n=(4, 8), d_model=16, repeats=1)
    assert few.product_growth == 1
    np.testing.assert_array_equal(few.scores[:, -1] / few.scores[:, 0], 8)
    assert few.ratio.shape == (3, 2, 3)


def test_eight_heads_take_about_as_long_as_one():
    kept = committed(HEADS_COST)
    assert np.all(kept.at_paper_h < 1.5)
    assert kept.verdict == AGREES


def test_heads_of_full_width_would_be_seen(rng):
    kept = committed(HEADS_COST)
    kept.ratio[:, :, kept.h == 8] *= 8
    assert kept.verdict != AGREES
    assert product_multiply_adds(64, 8 * 512, 8) > 8 * product_multiply_adds(64, 512, 8)


@pytest.mark.slow
def test_eight_heads_take_about_as_long_as_one_here(tmp_path):
    measured = measured_again(HEADS_COST, tmp_path)
    assert measured.verdict == AGREES, measured.finding
