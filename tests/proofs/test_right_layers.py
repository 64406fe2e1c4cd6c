"""Layers in many styles: no right one is called wrong, and no wrong one right."""

import numpy as np
import pytest
from neighbours import NEIGHBOURS
from neighbours import REFUSED as REFUSED_NEIGHBOURS
from strangers import NUMBERS, REFUSED, ROUNDED, STRANGERS, HalfInput

from aiayn_np.proofs.gradient_check import check_gradients


def misjudged(make, seeds, *factors):
    """The seeds and factors of the gradient with which a layer is judged wrongly."""
    return [(seed, k) for seed in seeds for k in factors
            for layer, inputs in [make(np.random.default_rng(seed), k)]
            if bool(check_gradients(layer, *inputs, seed=seed)) is not (k == 1)]


once_and_for_20_seeds = pytest.mark.parametrize("n", [1, pytest.param(20, marks=pytest.mark.slow)])


@pytest.mark.parametrize("name", NEIGHBOURS)
def test_layers_as_students_write_them_are_judged_rightly(name, seed):
    assert misjudged(NEIGHBOURS[name], [seed], 1, 1.1) == []


@pytest.mark.parametrize("n", [2, pytest.param(30, marks=pytest.mark.slow)])
def test_a_right_layer_with_a_cache_in_float32_has_no_false_alarm(n):
    wrong = []
    for seed in range(n):
        layer, inputs = NEIGHBOURS["CastCache"](np.random.default_rng(seed), 1)
        report = check_gradients(layer, *inputs, seed=seed)
        if not report or "float32" not in str(report):
            wrong.append((seed, str(report)))
    assert wrong == []


@once_and_for_20_seeds
@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_of_every_size_kinks_and_narrow_types_are_judged_rightly(name, n, seed):
    assert misjudged(NUMBERS[name], [seed] if n == 1 else range(n), 1, 1.01, 1.1, -1) == []


@pytest.mark.parametrize("k", [1, 1.1])
@pytest.mark.parametrize("name", ROUNDED)
def test_a_layer_that_rounds_to_float32_or_less_is_refused_and_not_judged(name, k, seed):
    layer, inputs = ROUNDED[name](np.random.default_rng(seed), k)
    with pytest.raises(TypeError, match="must compute in float64: it rounds to float32"):
        check_gradients(layer, *inputs, seed=seed)


@pytest.mark.slow
@pytest.mark.parametrize("k", [1, 1.1])
def test_an_input_rounded_to_float16_is_refused_or_judged_rightly(k, seed):
    refused = 0
    for i in range(10):
        layer, inputs = HalfInput(np.random.default_rng([seed, i]), k), (normal([seed, i]),)
        try:
            report = check_gradients(layer, *inputs, seed=seed)
        except TypeError:
            refused += 1
        else:
            assert bool(report) is (k == 1), report
    assert refused > 4


def normal(seed):
    return np.random.default_rng(seed).standard_normal((5, 4))


@once_and_for_20_seeds
@pytest.mark.parametrize("name", STRANGERS)
def test_layers_in_foreign_styles_are_judged_rightly(name, n, seed):
    assert misjudged(STRANGERS[name], [seed] if n == 1 else range(n), 1, 1.01, 1.1, -1) == []


@pytest.mark.parametrize("k", [1, 1.1])
@pytest.mark.parametrize("name", REFUSED | REFUSED_NEIGHBOURS)
def test_a_layer_in_no_known_style_is_refused_with_what_to_write(name, k, seed):
    layer, inputs = (REFUSED | REFUSED_NEIGHBOURS)[name](np.random.default_rng(seed), k)
    with pytest.raises(TypeError, match="two functions around it are checked, f"):
        check_gradients(layer, *inputs, seed=seed)
