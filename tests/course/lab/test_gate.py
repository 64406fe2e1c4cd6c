"""The gate: every verdict can be reached, and every condition can say no."""

from dataclasses import replace

import numpy as np
import pytest

from aiayn_course.lab.experiment import AGREES, DISAGREES, IN_PART, NOT_SETTLED
from aiayn_course.lab.gate import Effect, best_rates, effect, student, verdict_of

NOISE = 0.002 * np.array([-2, -1, 0, 1, 2])[:, None]                   # five seeds
ABOVE, NONE, BELOW = (Effect(mean + NOISE + np.zeros(2), 0.01) for mean in (0.3, 0.0, -0.3))
EARLY = Effect(np.array([0.3, 0.0]) + NOISE, 0.01)
WIDE = Effect(10 * NOISE + np.zeros(2), 0.01)
AT_EDGE = replace(ABOVE, edge=("one side",))
FEW = replace(ABOVE, difference=ABOVE.difference[1:])


WEAK = Effect(np.array([1.0, 2, 3, 4, 5])[:, None] * [1, 1], 0.5)      # interval 1.04 to 4.96
ALIKE, UNLIKE, PERHAPS = (replace(e, alike=True) for e in (NONE, ABOVE, WIDE))
VERDICTS = [
    ([ABOVE], AGREES), ([ABOVE, ABOVE], AGREES),
    ([ABOVE, NONE], IN_PART), ([ABOVE, BELOW], IN_PART), ([ABOVE, EARLY], IN_PART),
    ([BELOW], DISAGREES), ([BELOW, NONE], DISAGREES), ([BELOW, EARLY], DISAGREES),
    ([NONE], DISAGREES), ([NONE, NONE], DISAGREES), ([NONE, EARLY], NOT_SETTLED),
    ([EARLY], NOT_SETTLED), ([AT_EDGE], NOT_SETTLED), ([FEW], NOT_SETTLED), ([WIDE], NOT_SETTLED),
    ([WEAK] * 6, AGREES), ([WEAK, NONE], IN_PART), ([WEAK, *[NONE] * 5], NOT_SETTLED),
    ([replace(WEAK, difference=-WEAK.difference), NONE], DISAGREES),
    ([replace(WEAK, difference=-WEAK.difference), *[NONE] * 5], NOT_SETTLED),
    ([WEAK, BELOW, *[NONE] * 5], NOT_SETTLED),
    ([ALIKE], AGREES), ([UNLIKE], DISAGREES), ([replace(BELOW, alike=True)], DISAGREES),
    ([PERHAPS], NOT_SETTLED),
]


@pytest.mark.parametrize(("effects", "verdict"), VERDICTS)
def test_there_are_data_for_each_verdict(effects, verdict):
    assert verdict_of(dict(enumerate(effects))) == verdict


@pytest.mark.parametrize(("doubtful", "reason"), [
    (FEW, "4 seeds"), (AT_EDGE, "best rate at the edge: one side"),
    (EARLY, "as claimed at first, undecided later"), (WIDE, "undecided"),
    (Effect(np.array([0.3, -0.3]) + NOISE, 0.01), "as claimed at first, the contrary later"),
])
def test_a_doubt_says_its_reason(doubtful, reason):
    assert doubtful.doubts == [reason]
    assert doubtful.sign is None
    assert str(doubtful).endswith(f"; {reason}")


def test_the_interval_is_that_of_students_t_on_pairs():
    rng = np.random.default_rng(0)
    draws = rng.normal(1.0, 1.0, (20_000, 5, 1)) * np.ones(2)
    inside = [low <= 1.0 <= high for low, high in (Effect(d, 0).interval[0] for d in draws[:4000])]
    assert np.mean(inside) == pytest.approx(0.95, abs=0.01)
    table = {(0.025, 4): 2.776, (0.005, 4): 4.604, (0.025, 7): 2.365, (0.025, 30): 2.042}
    for (tail, df), t in table.items():
        assert student(tail, df) == pytest.approx(t, abs=0.001)


def test_effects_of_nothing_seldom_agree_even_in_part():
    rng, verdicts = np.random.default_rng(1), []
    for draws in rng.normal(0, 1, (1000, 6, 5, 1)):
        verdicts.append(verdict_of({i: Effect(d * np.ones(2), 0) for i, d in enumerate(draws)}))
    assert 0.005 < np.mean([v in (AGREES, IN_PART) for v in verdicts]) < 0.04


def test_a_difference_below_the_least_one_does_not_count():
    assert Effect(0.3 + NOISE + np.zeros(2), 0.4).sign == 0
    assert Effect(0.3 + NOISE + np.zeros(2), 0.3).sign is None
    assert ABOVE.sign == 1


def test_what_is_claimed_of_every_model_needs_every_seed():
    most = 0.3 + 10 * NOISE + np.zeros(2)
    assert Effect(most, 0.2, every=True).sign == Effect(most, 0.2).sign == 1
    most[1, 1] = 0.19                                      # one seed, later
    assert Effect(most, 0.2).sign == 1
    assert Effect(most, 0.2, every=True).doubts == ["as claimed at first, undecided later"]
    assert Effect(-most, 0.2, every=True).sign is None
    assert Effect(NOISE + np.zeros(2), 0.1, every=True).sign == 0
    assert Effect(NOISE + np.zeros(2), 0.003, every=True).doubts == ["undecided"]


def test_each_side_is_taken_at_its_own_best_rate_inside_the_grid():
    base = np.ones((3, 5, 2)) + NOISE
    worse, better = base.copy(), base.copy()
    worse[1] -= 0.2
    better[1] -= 0.5
    found = effect(worse, better, ("w", "b"), 0.01)
    np.testing.assert_allclose(found.difference, 0.3)
    assert (found.sign, found.edge) == (1, ())
    better[2, :, 1] -= 0.505                               # hardly better at the last rate
    assert effect(worse, better, ("w", "b"), 0.01).edge == ()
    better[2, :, 1] -= 0.4
    assert effect(worse, better, ("w", "b"), 0.01).edge == ("b",)
    assert effect(worse[1:2], better[1:2], ("w", "b"), 0.01).edge == ()        # a single rate


def test_each_time_has_its_own_best_rate_and_one_lucky_seed_does_not_choose_it():
    losses = np.ones((3, 5, 2)) + NOISE
    losses[0, :, 0] -= 0.2
    losses[1, :, 1] -= 0.2
    losses[2, 0] -= 9                                      # here mean and minimum are lowest
    assert best_rates(losses, 0.01)[0].tolist() == [0, 1]
    found = effect(losses + 1, losses, ("w", "b"), 0.01)
    np.testing.assert_allclose(found.difference, 1)
