"""Claim 3: additive attention costs more than the dot product."""

import pytest
from committed import timed_again

from aiayn_course.lab.claims import additive_cost as module
from aiayn_course.lab.claims.additive_cost import ADDITIVE_COST, additive_cost, cost_ratios
from aiayn_course.lab.experiment import AGREES
from aiayn_np.variants.scoring import dot_attention


def test_the_memory_of_additive_attention_grows_with_d_k(rng):
    memory = [cost_ratios(64, d_k, 1, rng)[1] for d_k in (4, 64, 256)]
    assert memory[0] > 2
    assert memory[-1] > 10 * memory[0]


def test_the_memory_of_additive_attention_grows_with_n(rng):
    memory = [cost_ratios(n, 64, 1, rng)[1] for n in (8, 32, 128)]
    assert memory[2] > 1.5 * memory[1] > 1.5**2 * memory[0]


@pytest.mark.timing
def test_the_dot_product_is_faster_and_smaller_here(tmp_path):
    measured = timed_again(ADDITIVE_COST, tmp_path)
    assert measured.verdict == AGREES, measured.finding


def test_two_that_cost_the_same_are_seen(monkeypatch):
    monkeypatch.setattr(module, "additive_attention", dot_attention)
    same = additive_cost(n=(16, 64), d_k=(16, 64), at=1, repeats=3)
    assert same.memory_n.max() < 1.5
    assert same.verdict != AGREES
