"""Live parity with PyTorch in float64: forward and every gradient, norm-relative 1e-12."""

import numpy as np
import pytest
import pytorch
from golden.make import PATH, computed
from golden_arrays import frozen
from parity import CASES, assert_same, draw

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]
SEEDS = 5
LONG = ("adam", "curve")


one_thread = pytest.fixture(autouse=True, scope="module")(pytorch.one_thread)


@pytest.mark.parametrize("name", CASES)
def test_pytorch_computes_the_same(name, seed):
    for i in range(1 if name in LONG else SEEDS):
        case = draw(name, np.random.default_rng([seed, i]))
        assert_same(case.arrays(), pytorch.arrays(case), name)


def test_what_is_frozen_is_what_pytorch_computes_now():
    now, then = computed(), frozen(PATH)
    assert set(now) == set(then)
    for name, arrays in now.items():
        assert_same(arrays, then[name], name)
