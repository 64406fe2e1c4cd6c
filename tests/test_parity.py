"""Live parity with PyTorch in float64: forward and every gradient, norm-relative 1e-12."""

import importlib.util

import numpy as np
import pytest
import pytorch
from golden.make import computed, frozen
from parity import CASES, assert_same, draw

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]
SEEDS = 5
LONG = ("adam", "curve")


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    """Faster for so small a model."""
    if importlib.util.find_spec("torch") is None:
        pytest.skip("needs PyTorch")
    torch = pytorch.pytorch()
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.mark.parametrize("name", CASES)
def test_pytorch_computes_the_same(name, seed):
    for i in range(1 if name in LONG else SEEDS):
        case = draw(name, np.random.default_rng([seed, i]))
        assert_same(case.arrays(), pytorch.arrays(case), name)


def test_what_is_frozen_is_what_pytorch_computes_now():
    now, then = computed(), frozen()
    assert set(now) == set(then)
    for name, arrays in now.items():
        assert_same(arrays, then[name], name)
