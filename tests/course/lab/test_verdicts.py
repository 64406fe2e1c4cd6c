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
    ("additive", "k.loss['dot'] = k.loss['scaled']", OTHER),           # losses that do not part
    ("additive", "a = k.loss['additive'] = np.sort(k.loss['additive'], axis=0); "
                 "k.loss['dot'] = a + np.linspace(-0.01, 0.02, 5)[:, None]", NOT_SETTLED),
    ("complexity", "k.time['d']['recurrent'] **= 0.5", OTHER),         # another power
    *(("rotation", f"k.{name} += 2e-12", DISAGREES) for name in (
        "error", "fitted_error", "matrix_error", "orthogonality", "composition", "distance_error")),
    ("permutation", "k.random['positions'] = k.random['encoder']", OTHER),
    ("permutation", "k.random['causal'] = k.random['encoder']", OTHER),
    ("causality", "k.unmasked = k.masked", OTHER),                     # a measure that sees nothing
    ("head_jobs", "k.score[0, 0, :, 0] = k.baseline[0, 0, :, 0]", DISAGREES),
    ("head_jobs", "k.score[:, :, 0, -1] = 1", AGREES),                 # another job in each model
    ("dropout", "for x in (k.training, k.validation, k.accuracy): x[:2] = x[1::-1]", OTHER),
    ("dropout", "k.validation[1, 2, -1] = k.validation[0, 2, -1] + 0.1", NOT_SETTLED),    # one seed
    ("dropout", "k.validation[1:] *= 9; k.accuracy[1:] *= 0.5", DISAGREES),
    ("embedding_scale", "k.scaled *= k.d_model**0.1", DISAGREES),
    ("embedding_scale", "k.unscaled *= k.d_model**0.1", DISAGREES),
    ("normalisation", "k.layer_rows, k.batch_rows = k.batch_rows, k.layer_rows", OTHER),
    ("normalisation", "k.layer_padding = k.batch_padding", OTHER),
    ("parameter_counts", "pass", IN_PART),
    ("parameter_counts", "k.printed = np.round(k.counted / 1e6)", AGREES),
    ("parameter_counts", "k.printed = np.round(k.counted / 1e6); k.printed[5] += 2", IN_PART),
    ("parameter_counts", "k.printed = np.round(k.counted / 1e6); k.printed[1:] += 2", DISAGREES),
    *(("induction", f"k.copied = np.array({copied})", verdict) for copied, verdict in (
        ([[0.3, 0.95], [1, 1]], DISAGREES), ([[0.3, 0.3], [1, 0.8]], NOT_SETTLED),
        ([[0.3, 0.5], [1, 1]], NOT_SETTLED), ([[0.3, 0.3], [1, 1]], AGREES))),
    ("induction", "k.prefix /= 2", IN_PART),                           # without such a head
    ("made_of", "k.carried *= 0.9", IN_PART), ("made_of", "k.shuffled *= 9", IN_PART),
    ("made_of", "k.held *= 9", IN_PART),
    ("made_of", "k.known = np.minimum(k.known * 0.9, 0.5)", IN_PART),
    ("made_of", "k.known[..., 0] = 0", DISAGREES),
]


@pytest.mark.parametrize(("name", "change", "verdicts"), CASES)
def test_another_number_another_verdict(name, change, verdicts):
    kept = committed(EXPERIMENTS[name])
    exec(change, dict(k=kept, np=np))
    assert kept.verdict in verdicts if isinstance(verdicts, set) else kept.verdict == verdicts
