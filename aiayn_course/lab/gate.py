"""The gate of every verdict on models that were trained: an effect, and when it is settled."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .experiment import AGREES, DISAGREES, IN_PART, NOT_SETTLED, Result

NAMED = {1: "as claimed", 0: "undecided", -1: "the contrary"}  # signs
SEEDS, LONGER = 5, 3  # the least number of seeds; how much longer the second training is
CONFIDENCE = 0.95


@dataclass(frozen=True)
class Effect:
    """What a claim says of two sides, measured for each seed after 1 x and after 3 x the steps.

    difference : (seeds, 2), above 0 where the claim holds; both sides of a pair have the same seed
    least : the smallest difference that counts, in the same unit
    edge : names of the sides that are best at the lowest or the highest rate that was tried, and
        there by more than `least` better than at all other rates
    unit : of the difference
    alike : whether the claim is that the two sides do not differ
    every : whether the claim is about every model: then the lowest and the highest seed decide, not
        the interval of the mean
    among : the number of effects of which this one is to be seen by more than chance: the more,
        the wider the interval (Bonferroni)
    """

    difference: np.ndarray
    least: float
    edge: tuple = ()
    unit: str = "nats"
    alike: bool = False
    every: bool = False
    among: int = 1

    @property
    def interval(self) -> np.ndarray:
        """Return the intervals of the mean paired difference: (2 times, low and high)."""
        n = len(self.difference)
        half = np.full(self.difference.shape[1], np.inf)
        if n > 1:
            t = student((1 - CONFIDENCE) / 2 / self.among, n - 1)
            half = t * self.difference.std(axis=0, ddof=1) / np.sqrt(n)
        return self.difference.mean(axis=0)[:, None] + np.outer(half, (-1, 1))

    @property
    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """Return (low, high), each (2 times,): of the interval, or of the seeds if `every`."""
        if self.every:
            return self.difference.min(axis=0), self.difference.max(axis=0)
        low, high = self.interval.T
        return low, high

    @property
    def signs(self) -> np.ndarray:
        """Return +1, -1 or 0 for each time: both bounds above `least`, below it, or neither.

        Where the sides are claimed to be alike, +1 are bounds within `least`, and -1 are bounds
        beyond it on one side.
        """
        low, high = self.bounds
        above, below = (low > self.least) * 1, (high < -self.least) * 1
        if self.alike:
            return (low >= -self.least) * (high <= self.least) * 1 - above - below
        return above - below

    @property
    def doubts(self) -> list[str]:
        """Return the reasons why the effect is not settled."""
        few = [f"{len(self.difference)} seeds"] * (len(self.difference) < SEEDS)
        edge = [f"best rate at the edge: {', '.join(self.edge)}"] * bool(self.edge)
        early, late = self.signs
        turns = [f"{NAMED[early]} at first, {NAMED[late]} later"] * bool(early != late)
        wide = bool(early == late == 0 and (np.abs(self.bounds) > self.least).any())
        return few + edge + turns or ["undecided"] * wide

    @property
    def sign(self) -> int | None:
        """Return +1 if the claim holds, -1 for the contrary, 0 for no effect, None for doubts."""
        return None if self.doubts else int(self.signs[0])

    def __str__(self):
        """Return the mean differences with their intervals, and the doubts."""
        means = self.difference.mean(axis=0)
        parts = [f"{mean:+.2f} ({low:+.2f} to {high:+.2f})"
                 for mean, (low, high) in zip(means, self.interval)]
        return "; ".join([", then ".join(parts), *self.doubts])


def effect(worse: np.ndarray, better: np.ndarray, names: tuple[str, str], least: float,
           **options: Any) -> Effect:
    """Compare the losses of two sides, (rates, seeds, 2 times), each side at its own best rate.

    names : of the side that the claim calls worse, and of the other one. With a single rate, both
        sides have this rate, and no side can be at the edge.
    options : of Effect, unit and alike
    """
    best, edge = [], []
    for losses, name in zip((worse, better), names):
        at, at_edge = best_rates(losses, least)
        best.append(np.take_along_axis(losses, at[None, None], axis=0)[0])
        edge += [name] * at_edge
    return Effect(best[0] - best[1], least, tuple(edge), **options)


def best_rates(losses: np.ndarray, least: float) -> tuple[np.ndarray, bool]:
    """Return (index of the rate with the lowest median, for each time; whether it is at the edge).

    losses : (rates, seeds, 2 times)
    least : by more than this the lowest or the highest rate must be better than all others
    """
    median = np.median(losses, axis=1)                                 # (rates, 2 times)
    inside = median[1:-1].min(axis=0, initial=np.inf)
    at_edge = len(losses) > 1 and (median.min(axis=0) < inside - least).any()
    return median.argmin(axis=0), bool(at_edge)


def verdict_of(effects: Mapping[str, Effect]) -> str:
    """Return the verdict on a claim from the effects of all its settings.

    AGREES if all hold. IN_PART if one holds that is seen among so many. DISAGREES if all are
    absent, or if none holds and the contrary of one is seen among so many. NOT_SETTLED otherwise.
    """
    signs, among_all = ({replace(effect, among=n).sign for effect in effects.values()}
                        for n in (1, len(effects)))
    if signs == {1}:
        return AGREES
    if 1 in among_all:
        return IN_PART
    contrary = -1 in among_all and 1 not in signs
    return DISAGREES if contrary or signs == {0} else NOT_SETTLED


def student(tail: float, df: int) -> float:
    """Return the number that Student's t, with df degrees of freedom, exceeds with chance `tail`.

    For t = √df tan(angle) the density of the angle is proportional to cos(angle)^(df - 1).
    """
    angle = np.linspace(0, np.pi / 2, 10_001)
    density = np.cos(angle) ** (df - 1)
    inside = np.append(0, np.cumsum(density[1:] + density[:-1]))       # between 0 and each angle
    return float(np.sqrt(df) * np.tan(np.interp(1 - 2 * tail, inside / inside[-1], angle)))


def models_of(effects: Mapping[str, Effect], rates: np.ndarray, steps: int, unit: str) -> str:
    """Return the seeds, rates and steps of the models behind some effects, as text."""
    seeds = min(len(effect.difference) for effect in effects.values())
    some = (f"{len(rates)} rates, {rates[0]:g} to {rates[-1]:g}{unit}, the best one for each model"
            if len(rates) > 1 else f"one rate, {rates[0]:g}{unit}")
    return f"{seeds} seeds; {some}; {steps} and {LONGER * steps} steps"


class Trained(Result):
    """Base of results of training, whose verdict is that of the gate on their effects."""

    @property
    def effects(self) -> dict[str, Effect]:
        """Return the effects that the claim is about, by the name of their setting."""
        raise NotImplementedError

    @property
    def models(self) -> str:
        """Return the seeds, rates and steps of the models, as text."""
        result: Any = self                                  # a dataclass with these fields
        steps = np.atleast_1d(result.steps)                 # the shorter training, or all points
        return models_of(self.effects, result.rate_scale, steps[len(steps) // LONGER - 1],
                         " times Eq. (3)")

    @property
    def controls(self) -> dict[str, Effect]:
        """Return effects that separate causes; the verdict leaves them out."""
        return {}

    @property
    def verdict(self) -> str:
        """Return the verdict of the gate."""
        return verdict_of(self.effects)
