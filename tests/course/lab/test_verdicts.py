"""The verdict on a claim follows the numbers: with others than those of figures/, it is another.

Claims that go through the gate are in test_planted_faults.py.
"""

import numpy as np
import pytest
from committed import committed

from aiayn_course.lab import AGREES, DISAGREES, EXPERIMENTS, IN_PART, NOT_SETTLED
from aiayn_course.lab.claims.saturation import AT_WIDE

OTHER = {IN_PART, DISAGREES, NOT_SETTLED}  # any that does not agree
WIDTH = "k.gradient[1, k.paper] *= {} / k.shares[1, k.paper]"
MEAN = "k.mean_gradient[1] = 0.9 * k.mean_gradient[0]"
AT_512 = f"k.gradient[1, k.wide] *= {1.1 * AT_WIDE} / k.shares[1, k.wide]"
CASES = [  # an experiment, what is done to its result `k`, and the verdict, or those that may be
    ("variance", "k.variance *= 1.05", OTHER),                         # a wrong scale
    ("variance", "k.mean += 0.05 * np.sqrt(k.d_k)", OTHER),
    ("variance", "k.scaled_variance += 0.05 * np.sqrt(k.d_k)", OTHER),
    ("saturation", WIDTH.format(0.9), IN_PART),                        # not in the mean
    ("saturation", f"{WIDTH.format(0.9)}; {MEAN}", AGREES),
    ("saturation", f"{WIDTH.format(1.1)}; {MEAN}", IN_PART),          # not at the paper's width
    ("saturation", AT_512, NOT_SETTLED),
    ("complexity", "k.time['d']['recurrent'] **= 0.5", OTHER),         # another power
    *(("rotation", f"k.{name} += 2e-12", DISAGREES) for name in ("error", "distance_error")),
    ("permutation", "k.random['positions'] = k.random['encoder']", OTHER),
    ("permutation", "k.random['causal'] = k.random['encoder']", OTHER),
    ("causality", "k.unmasked = k.masked", OTHER),                     # a measure that sees nothing
    ("embedding_scale", "k.scaled *= k.d_model**0.1", DISAGREES),
    ("embedding_scale", "k.unscaled *= k.d_model**0.1", DISAGREES),
    ("normalisation", "k.layer_rows, k.batch_rows = k.batch_rows, k.layer_rows", OTHER),
    ("normalisation", "k.layer_padding = k.batch_padding", OTHER),
    ("parameter_counts", "pass", IN_PART),
    ("parameter_counts", "k.printed = np.round(k.counted / 1e6)", AGREES),
    ("parameter_counts", "k.printed = np.round(k.counted / 1e6); k.printed[5] += 2", IN_PART),
    ("parameter_counts", "k.printed = np.round(k.counted / 1e6); k.printed[1:] += 2", DISAGREES),
]


@pytest.mark.parametrize(("name", "change", "verdicts"), CASES)
def test_another_number_another_verdict(name, change, verdicts):
    kept = committed(EXPERIMENTS[name])
    exec(change, dict(k=kept, np=np))
    assert kept.verdict in verdicts if isinstance(verdicts, set) else kept.verdict == verdicts
