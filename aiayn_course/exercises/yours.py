"""Judge the number that a reader of a lesson predicts and then measures himself.

    >>> from aiayn_course.exercises import judge
    >>> judge(5, predicted=3, measured=None)
    You predict 3. Now write your lines: the last one sets `measured`.
    >>> judge(5, predicted=3, measured=5)
    Right: 5. You predicted 3: which step of your reasoning has to go?

Each lesson has one such cell, in its part *Yours*. It changes one cause and keeps all else. A slow
test runs the lines of the teacher edition with other seeds.
"""

import math
from dataclasses import dataclass
from numbers import Real
from typing import Any

from .language import say
from .verdict import Verdict


@dataclass(frozen=True)
class Control:
    """The numbers that a control may give, and a hint for a reader who has measured another one."""

    low: float
    high: float
    hint: str

    def __contains__(self, number: float) -> bool:
        return self.low <= number <= self.high


CONTROLS = {  # by lesson
    1: Control(0, 0.02, "Only parameters with linear_Q or linear_K in their names go to Adam."),
    2: Control(0.9, 1, "Copy learn_by_adam, and change nothing but Adam([s], eps=1e-16)."),
    3: Control(0.1, 0.35, "All 32 tokens are the same one. Take the variance of each row of scores"
               " in layer 1, after the scale, and then the mean over rows and heads."),
    4: Control(0, 0.15, "Only grad_Q changes its sign. Count the draws in which the last loss is"
               " below a tenth of the first."),
    5: Control(5, 5, "Let each row of allowed also contain the key one place to its right, and"
               " keep N = 2 layers. Then count the positions whose logits change at all."),
    6: Control(0.7, 0.8, "Keep four heads with d_k = 4 and make d_v = 1."),
    7: Control(2, 8, "Divide the length in the lowest layer by that in the top layer."),
    8: Control(0.85, 1, "Sort each row of the outputs and of the right answers, padding and end"
               " marks included, and compare whole rows."),
    9: Control(0.5, 1, "Change d_model and d_ff, and keep one E. Take the median of the eight."),
    10: Control(2.4, 2.55, "Multiply the numbers of E by 0.1 before the first forward, take all 30"
                " steps, and the loss without smoothing."),
    11: Control(0.25, 0.55, "Shuffle the prefixes of the reversing model, take its best head with"
                " the right prefix, and its weight on the due place with the wrong one."),
    12: Control(1.5, 7, "Make d_k = 256 in both, and let only W^Q and W^K of the dot product"
                " without the scale start smaller. Take medians of three seeds."),
    13: Control(1, 1, "No step reads what another step has computed: states[t] is there from the"
                " start."),
    14: Control(0, 0.7, "Mute the three other heads one after the other, with without, and count"
                " the test numbers that are exact."),
    15: Control(-0.2, 0.2, "Both 3 become the same symbol, in one row. Take log p of the 1 before"
                " and after, and the median over the symbols."),
}


def judge(lesson: int, predicted: Any, measured: Any) -> Verdict:
    """Judge the number that a reader has measured in the part *Yours* of a lesson.

    lesson : its number, 1 to 15
    predicted, measured : numbers; None for one that is not there yet

    Raises
    ------
    ValueError for another lesson
    """
    if lesson not in CONTROLS:
        raise ValueError(say("lesson must be one of 1 to {last}, got {lesson}",
                             last=len(CONTROLS), lesson=repr(lesson)))
    control = CONTROLS[lesson]
    if not is_number(predicted):
        return Verdict(False, say("First type the number that you predict into `predicted`."))
    if measured is None:
        return Verdict(False, say("You predict {predicted}. Now write your lines: the last one"
                                    " sets `measured`.", predicted=f"{predicted:.3g}"))
    if not is_number(measured):
        return Verdict(False, say("`measured` must be one number, got {measured}.",
                                    measured=type(measured).__name__))
    if measured not in control:
        return Verdict(False, say("{measured} is not what this control gives. {hint}",
                                    measured=f"{measured:.3g}", hint=say(control.hint)))
    if predicted in control:
        return Verdict(True, say("Right: {measured}, as you predicted.",
                                   measured=f"{measured:.3g}"))
    return Verdict(True, say("Right: {measured}. You predicted {predicted}: which step of your"
                               " reasoning has to go?", measured=f"{measured:.3g}",
                               predicted=f"{predicted:.3g}"))


def is_number(x: Any) -> bool:
    """Tell whether x is one finite real number; numbers of NumPy are."""
    return isinstance(x, Real) and not isinstance(x, bool) and math.isfinite(x)
