"""The verdict on a claim follows the numbers: with others than those of figures/, it is another.

Claims that go through the gate are in test_made_results.py.
"""

import numpy as np
import pytest
from committed import committed

from aiayn_course.lab import AGREES, DISAGREES, EXPERIMENTS, IN_PART, NOT_SETTLED
from aiayn_course.lab.claims.saturation import AT_WIDE

OTHER = {IN_PART, DISAGREES, NOT_SETTLED}  # any that does not agree
WIDTH = "k.gradient[1, k.paper] *= {} / k.shares[1, k.paper]"
MEAN = "k.mean_gradient[1] = 0.9 * k.mean_gradient[0]"
ONE = "k.others = k.others[:0]"  # number of keys
AT_512 = f"k.gradient[1, k.wide] *= {1.1 * AT_WIDE} / k.shares[1, k.wide]"
CASES = [  # an experiment, what is done to its result `k`, and the verdict, or those that may be
    ("variance", "k.variance *= 1.05", OTHER),                         # a wrong scale
    ("variance", "k.mean += 0.05 * np.sqrt(k.d_k)", OTHER),
    ("variance", "k.scaled_variance += 0.05 * np.sqrt(k.d_k)", OTHER),
    ("saturation", f"{WIDTH.format(0.9)}; {ONE}", IN_PART),            # not in the mean
    ("saturation", f"{WIDTH.format(0.9)}; {MEAN}; {ONE}", AGREES),
    ("saturation", f"{WIDTH.format(0.9)}; {MEAN}", IN_PART),           # with 32 keys alone
    ("saturation", f"{WIDTH.format(1.1)}; {MEAN}; {ONE}", IN_PART),    # not at the paper's width
    ("saturation", f"{AT_512}; {ONE}", NOT_SETTLED),
    ("saturation", AT_512, IN_PART),                                   # with 8 keys it is as before
    ("saturation", "k.jacobian[1] = k.jacobian[0]; k.gradient[1] = k.gradient[0]; k.others[:] = 1",
     DISAGREES),                                                       # nothing is smaller
    ("saturation", "k.jacobian[0, -1] /= 3", DISAGREES),               # it falls with the scale too
    *(("complexity", f"k.counted['recurrent'] = np.array({b})", IN_PART)
      for b in ([1, 1, 0], [2, 2, 0], [1, 2, 1])),                     # another power
    ("complexity", "k.counted = {name: b + 1 for name, b in k.counted.items()}", DISAGREES),
    ("complexity", "k.time['d']['recurrent'] **= 0.5", AGREES),        # operations, not time
    ("heads_cost", "k.ratio[1] = 1.4", AGREES),
    ("heads_cost", "k.ratio[1, 0] = 1.6; k.ratio[1, 1] = 1.4", IN_PART),
    ("heads_cost", "k.ratio[1] = 1.6", DISAGREES),
    *(("rotation", f"k.{name} += 2e-12", DISAGREES)
      for name in ("error", "fitted_error", "distance_error")),
    ("rotation", "k.random_error = k.fitted_error", DISAGREES),
    ("permutation", "pass", IN_PART),
    ("permutation", "k.random['positions'] = k.random['encoder']", DISAGREES),
    ("permutation", "k.random['causal'] = k.random['encoder']", AGREES),   # all hide the order
    ("permutation", "k.random['decoder'] = k.random['causal']", DISAGREES),
    ("causality", "k.unmasked = k.masked", OTHER),                     # a measure that sees nothing
    ("embedding_scale", "k.scaled *= k.d_model**0.1", DISAGREES),
    ("embedding_scale", "k.unscaled *= k.d_model**0.1", DISAGREES),
    ("embedding_scale", "k.unscaled *= 4", DISAGREES),                 # larger than positions
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
