"""Parity with PyTorch without PyTorch: what it computed once is in golden/parity.npz."""

import numpy as np
import pytest
from golden.make import DRAWN, PATH, norm_drawn
from golden_arrays import frozen
from parity import CASES, assert_same, frozen_case

every_case = pytest.mark.parametrize("name", CASES)
FROZEN = frozen(PATH)


def arrays(name):
    """What PyTorch computed, without the norm of what was drawn."""
    return {key: array for key, array in FROZEN[name].items() if key != DRAWN}


def test_every_case_is_frozen_in_a_small_file():
    assert set(FROZEN) == set(CASES)
    assert PATH.stat().st_size < 200_000


@every_case
def test_it_computes_what_pytorch_computed(name):
    case = frozen_case(name)
    np.testing.assert_allclose(
        norm_drawn(case), FROZEN[name][DRAWN], rtol=1e-12, err_msg=(
            "NumPy draws other numbers than when parity.npz was made: python tests/golden/make.py"
        ),
    )
    assert_same(case.arrays(), arrays(name), name)


@every_case
def test_every_frozen_array_is_compared(name):
    """Each is made wrong in one entry, by a hundred times what is allowed, and must be named."""
    want = arrays(name)
    for key, array in want.items():
        wrong = array.copy()
        wrong.flat[-1] += np.linalg.norm(array) * (1e-7 if name == "curve" else 1e-10)
        with pytest.raises(AssertionError):
            assert_same(want | {key: wrong}, want, name)


def test_the_frozen_curve_learns():
    losses = FROZEN["curve"]["losses"]
    assert len(losses) == 50
    assert losses[-5:].mean() < losses[:5].mean() - 0.1
