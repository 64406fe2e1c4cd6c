"""The parts of an exercise: its text, its cases and its right formulas."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .checking.edits import Formula

STAYS = "A length of 1 is a length like all others: its axis stays where it is."


@dataclass(frozen=True)
class Case:
    """One call of the student's object and of the right one.

    what : the special feature of the case, in a few words
    layer : a right layer. The student's layer gets its sizes, and both get new parameters. None for
        a function, and for a layer without sizes
    inputs : the arrays that get a gradient
    options : keyword arguments of forward
    sizes : names of numbers, {"d_k": 4}; a wrong result may be off by such a factor, or by its root
    special : whether the case runs only after all ordinary cases are right
    why : a teacher's sentence for an answer that is wrong in this case alone
    scale : of the parameters and of the gradient for backward; if there are no parameters, of the
        inputs
    zeros : 0.5 if half of each parameter is 0; 1 if vectors and gradients are those of a new layer,
        too
    """

    what: str
    layer: Any
    inputs: tuple
    options: dict = field(default_factory=dict)
    sizes: dict = field(default_factory=dict)
    special: bool = False
    why: str = ""
    scale: float = 1.0
    zeros: float = 0


def sized(*inputs, options=None, **sizes):
    """Return the Case of a function that is named by its sizes; a size of 1 makes it special."""
    what = ", ".join(f"{name} = {size}" for name, size in sizes.items())
    return Case(what, None, inputs, options or {}, sizes, 1 in sizes.values())


@dataclass
class Exercise:
    """One exercise.

    objects : the classes and functions that the student writes
    lesson : the notebook lesson that explains the exercise
    minutes : the time for the whole exercise
    """

    number: int
    name: str
    title: str
    section: str
    lesson: str
    minutes: int
    asks: str
    objects: list[str] = field(default_factory=list)

    @property
    def stem(self) -> str:
        """Return the name of its file without an ending, such as 02_layer_norm."""
        return f"{self.number:02}_{re.sub(r'[^a-z]+', '_', self.name)}"


class Subject:
    """One class or function that a student writes, with everything that its check needs.

    reference : the right class or function
    kind : "layer" or "function"
    cases : a function that returns the Cases, given an rng
    run : for a function, run(function, case) -> {name: array}, the results to compare
    formulas : {stage: Formula}, the right formulas. The check changes them piece by piece to
        explain an answer. "forward" is f(layer, *inputs, **options) -> y. "backward" is f(layer,
        grad_y, *inputs, **options) -> {tensor: gradient}, or f(layer, grad_y, *inputs, cache) with
        the reference's cache; it adds the gradients of parameters. "function" computes the same as
        the reference.
    methods : [(name, arguments, options)], direct calls of other methods
    made_like : made_like(cls, ours) makes a layer of class `cls` with the sizes of `ours`
    balanced : whether cases with large parameters get small inputs; otherwise a softmax would have
        only weights of 0 and 1
    """

    def __init__(self, exercise, reference, kind, hints, run=None):
        self.exercise, self.reference, self.kind, self.run = exercise, reference, kind, run
        self.name = reference.__name__
        self.formulas: dict[str, Formula] = {}
        self.methods: list[tuple] = []
        self.cases: Callable[[np.random.Generator], list[Case]] = lambda rng: []
        self.made_like: Callable[[Any, Any], Any] = lambda cls, ours: cls()
        self.balanced = False
        exercise.objects.append(self.name)
        self.hints = tuple(hints)
        SUBJECTS[self.name] = self

    def derivation(self, stage):
        """Return the texts that derive a stage; the first text says the task."""
        if stage == "function":
            return self.hints
        return self.hints[:1] if stage == "forward" else self.hints[1:]

    def tried_on(self, cases):
        """Register the function that returns the cases, given an rng (a decorator)."""
        self.cases = cases
        return cases

    def right(self, stage, *known):
        """Register the right formula of a stage and its `known` mistakes (a decorator)."""
        def register(formula):
            self.formulas[stage] = Formula(formula, known)
            return formula
        return register


EXERCISES: dict[str, Exercise] = {}  # by name, in order; the files in topics/ fill it
SUBJECTS: dict[str, Subject] = {}  # by the name of the class or function


def exercise(number, name, title, *, section, lesson, minutes, asks):
    """Register an exercise and return it."""
    EXERCISES[name] = Exercise(number, name, title, section, lesson, minutes, asks)
    return EXERCISES[name]


def layer(exercise, reference, *hints):
    """Register a class for the student to write, with forward and backward."""
    return Subject(exercise, reference, "layer", hints)


def function(exercise, reference, *hints, run):
    """Register a function for the student to write, or a class that is not a layer."""
    return Subject(exercise, reference, "function", hints, run)


def seeded():
    """Make a generator for the first parameters of a right layer."""
    return np.random.default_rng(0)
