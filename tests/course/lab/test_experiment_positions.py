"""Claim 6."""

import numpy as np
import pytest

from aiayn_course.lab.claims.positions import shift_is_rotation
from aiayn_course.lab.experiment import AGREES, DISAGREES
from aiayn_np import LearnedPositionalEncoding, SinusoidalPositionalEncoding


def test_learned_positions_would_not_agree():
    small = dict(k=(1, 3), d_model=16, T=512)
    assert shift_is_rotation(**small).verdict == AGREES
    planted = shift_is_rotation(**small, positions=LearnedPositionalEncoding)
    assert planted.error.min() > 1
    assert planted.verdict == DISAGREES


@pytest.mark.parametrize("base", [9999, 100])
def test_another_base_would_not_agree(base):
    class OtherBase(SinusoidalPositionalEncoding):
        def table(self, T, *, start=0):
            angle = np.arange(T)[:, None] / base ** (np.arange(0, self.d_model, 2) / self.d_model)
            return np.stack([np.sin(angle), np.cos(angle)], axis=-1).reshape(T, -1)

    planted = shift_is_rotation((1, 3), d_model=16, T=512, positions=OtherBase)
    assert planted.error.min() > 1e-6
    assert planted.verdict == DISAGREES
