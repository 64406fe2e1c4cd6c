"""Claim 5."""

from dataclasses import replace

import numpy as np
import pytest
from committed import committed, measured_again

from aiayn_course.lab.claims.complexity import (
    COMPLEXITY,
    LAYERS,
    SIZES,
    TABLE_1,
    TOLERANCE,
    counted_exponents,
    relative_costs,
)
from aiayn_course.lab.experiment import IN_PART
from aiayn_course.lab.measuring import exponent, peak_bytes

# What a layer keeps: self-attention n^2 scores, the others n rows; all of them rows of d numbers.
KEPT = {"n": {name: 2 if name == "self-attention" else 1 for name in LAYERS},
        "d": dict.fromkeys(LAYERS, 1)}


def memory_exponents(axis, sizes, rng):
    costs = relative_costs(sizes, lambda f: [peak_bytes(g) for g in f], rng)
    column = "nd".index(axis)
    return {name: exponent(np.array(sizes[name])[:, column], cost)
            for name, cost in costs.items()}


@pytest.mark.parametrize("axis", ["n", "d"])
def test_memory_grows_as_what_is_kept(rng, axis):
    sizes = {name: pairs[: -1 if axis == "d" else None]  # the widest take long to draw
             for name, pairs in SIZES[axis].items()}
    assert memory_exponents(axis, sizes, rng) == pytest.approx(KEPT[axis], abs=0.15)


def test_a_neighbourhood_that_grows_with_n_is_seen(rng, monkeypatch):
    monkeypatch.setitem(LAYERS, "restricted", LAYERS["self-attention"])
    sizes = {"restricted": SIZES["n"]["self-attention"]}
    assert memory_exponents("n", sizes, rng)["restricted"] > 1.8


def test_the_committed_times_grow_as_table_1_says():
    kept = committed(COMPLEXITY)
    for axis in TABLE_1:
        assert kept.exponents(axis) == pytest.approx(TABLE_1[axis], abs=TOLERANCE)


@pytest.mark.parametrize("name", LAYERS)
def test_the_products_are_counted_again(name, rng, monkeypatch):
    kept = committed(COMPLEXITY)
    np.testing.assert_allclose(counted_exponents(name, rng), kept.counted[name], atol=1e-9)
    monkeypatch.setitem(LAYERS, name, LAYERS[next(other for other in LAYERS if other != name)])
    wrong = kept.counted | {name: counted_exponents(name, rng)}
    assert replace(kept, counted=wrong).verdict == IN_PART


@pytest.mark.timing
def test_the_times_grow_as_table_1_says(tmp_path):
    """Another program disturbs now one exponent, now another: each has to agree in one of three
    measurements. One of another power agrees in none."""
    apart = {(axis, name): [] for axis in TABLE_1 for name in LAYERS}
    for _ in range(3):
        measured = measured_again(COMPLEXITY, tmp_path)
        for axis, name in apart:
            apart[axis, name].append(measured.exponents(axis)[name] - TABLE_1[axis][name])
        far = {what: found for what, found in apart.items() if min(map(abs, found)) > TOLERANCE}
        if not far:
            break
    assert not far, apart
