"""What an exercise is made of: its text, the cases it is tried on, and the mistakes it knows."""

import functools
import itertools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Case:
    """One call that is tried on the student's object and on the right one.

    what      what is special about it, in a few words
    make      makes the layer from a class: ``lambda cls: cls(4, 3, rng=rng)``
    inputs    what we differentiate by
    options   keyword arguments of forward
    sizes     numbers by whose value, or root, a wrong result may be off: {"d_k": 4}
    special   whether it is looked at only after all others are right
    """

    what: str
    make: Callable[[Any], Any] | None
    inputs: tuple
    options: dict = field(default_factory=dict)
    sizes: dict = field(default_factory=dict)
    special: bool = False


@dataclass(frozen=True)
class Mistake:
    """A known wrong formula: whoever gets its numbers has most likely written it.

    key       a short name, which is the diagnosis
    why       what is wrong about it, in one or two sentences
    stage     "forward", "backward" or "function"
    wrong     computes what comes out: forward(layer, *inputs, **options) -> y;
              backward(layer, grad_y, *inputs, **options) -> {tensor: its wrong gradient};
              or, for a function or an optimizer, the wrong one itself
    count     how many things are wrong at once
    """

    key: str
    why: str
    stage: str
    wrong: Callable
    count: int = 1


@dataclass
class Exercise:
    """One exercise; `objects` are the classes and functions that the student writes.

    hints     {name of an object: its hints, the last of which is the derivation}
    lesson    the notebook lesson that explains it;  minutes   to expect, for all of it
    """

    number: int
    name: str
    title: str
    section: str
    lesson: str
    minutes: int
    asks: str
    objects: list[str] = field(default_factory=list)
    hints: dict[str, tuple[str, ...]] = field(default_factory=dict)


class Subject:
    """One class or function that a student writes, and all that is known about it.

    reference   the right one;   kind   "layer" or "function"
    cases       a function of an rng that gives the Cases
    run         for a function: run(it, case) -> {name: array}, what is compared
    oracle      computes what is right, if not the reference
    made_like   for a layer: made_like(cls, ours) makes one with the sizes of ours
    """

    def __init__(self, exercise, reference, kind, hints, run=None, oracle=None):
        self.exercise, self.reference, self.kind, self.run = exercise, reference, kind, run
        self.oracle = oracle or reference
        self.name = reference.__name__
        self.mistakes: list[Mistake] = []
        self.cases: Callable[[np.random.Generator], list[Case]] = lambda rng: []
        self.made_like: Callable[[Any, Any], Any] = lambda cls, ours: cls()
        exercise.objects.append(self.name)
        exercise.hints[self.name] = tuple(hints)
        SUBJECTS[self.name] = self

    def tried_on(self, cases):
        """Decorator: this function of an rng gives the cases."""
        self.cases = cases
        return cases

    def known(self, stage):
        """The mistakes of a stage, the single ones first."""
        found = [mistake for mistake in self.mistakes if mistake.stage == stage]
        return sorted(found, key=lambda mistake: mistake.count)

    def mistake(self, stage, key):
        """Decorator: this function computes what a known mistake gives, its docstring is why."""
        def register(wrong):
            why = " ".join(wrong.__doc__.split())
            self.mistakes.append(Mistake(key, why, stage, wrong))
            return wrong
        return register

    def family(self, stage, **parts):
        """Decorator: a formula with parts that can be wrong, one of them or two at once.

        parts: {keyword of the formula: [its right value, (key, why, wrong value), ...]}; every
        wrong choice becomes a Mistake, and so does every pair of them.
        """
        right = {name: choices[0] for name, choices in parts.items()}

        def register(formula):
            for count in (1, 2):
                for names in itertools.combinations(parts, count):
                    for chosen in itertools.product(*(parts[name][1:] for name in names)):
                        values = right | {n: value for n, (_, _, value) in zip(names, chosen)}
                        wrong = functools.partial(formula, **values)
                        why = " And then: ".join(why for _, why, _ in chosen)
                        self.mistakes.append(Mistake(chosen[0][0], why, stage, wrong, count))
            return formula
        return register


EXERCISES: dict[str, Exercise] = {}  # by name, in their order; the files in topics/ fill it
SUBJECTS: dict[str, Subject] = {}  # by the name of the class or function


def exercise(number, name, title, *, section, lesson, minutes, asks):
    """Register an exercise and return it."""
    EXERCISES[name] = Exercise(number, name, title, section, lesson, minutes, asks)
    return EXERCISES[name]


def layer(exercise, reference, *hints):
    """A class with forward and backward that the student writes."""
    return Subject(exercise, reference, "layer", hints)


def function(exercise, reference, *hints, run, oracle=None):
    """A function, or a class that is no layer, that the student writes."""
    return Subject(exercise, reference, "function", hints, run, oracle)


def plain(cls):
    """Make a layer that takes no arguments."""
    return cls()
