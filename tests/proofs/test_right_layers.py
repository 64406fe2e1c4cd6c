"""Layers as others write them: no right one is called wrong, and no wrong one right."""

import numpy as np
import pytest
from neighbours import NEIGHBOURS

from aiayn_np.proofs.gradient_check import check_gradients


@pytest.mark.parametrize("seed", range(2))
def test_a_layer_that_casts_its_input_is_judged_in_single_precision(seed):
    rng = np.random.default_rng(seed)

    class Casts:
        def __init__(self):
            self.W = rng.standard_normal((4, 3)).astype(np.float32)

        def forward(self, x):
            self.x = x.astype(np.float32)
            return self.x @ self.W

        def backward(self, dout):
            self.dW = self.x.T @ dout
            return dout @ self.W.T

    report = check_gradients(Casts(), 100 + rng.standard_normal((5, 4)), seed=seed)
    assert report, report
    assert "The forward computes in float32" in str(report)


@pytest.mark.parametrize("k", [1, pytest.param(1.1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", NEIGHBOURS)
def test_layers_as_students_write_them_are_judged_rightly(name, k, seed):
    layer, inputs = NEIGHBOURS[name](np.random.default_rng(seed), k)
    report = check_gradients(layer, *inputs, seed=seed)
    assert bool(report) is (k == 1), report


@pytest.mark.parametrize("n", [2, pytest.param(30, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", ["CastCache", "CastInside", "FloatInput"])
def test_right_layers_with_float32_inside_have_no_false_alarm(name, n):
    wrong = []
    for seed in range(n):
        layer, inputs = NEIGHBOURS[name](np.random.default_rng(seed), 1)
        report = check_gradients(layer, *inputs, seed=seed)
        if not report or "float32" not in str(report):
            wrong.append((seed, str(report)))
    assert wrong == []
