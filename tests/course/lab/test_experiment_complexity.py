"""Claim 5."""

from dataclasses import replace

import numpy as np
import pytest
from committed import committed, measured_again

from aiayn_course.lab.claims.complexity import (
    COMPLEXITY,
    LAYERS,
    TABLE_1,
    TOLERANCE,
    counted_exponents,
)
from aiayn_course.lab.experiment import IN_PART


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
