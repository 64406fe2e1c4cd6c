"""The bug zoo: 38 real bugs of Transformers written by hand, and the checks that catch them.

    >>> from aiayn_course.lab.zoo import BUGS, hunt
    >>> print(BUGS[1].where, "-", BUGS[1].name)
    Softmax.backward - softmax backward without the sum
    >>> hunt(BUGS[1], ["gradient: softmax", "values: attention"])        # which of them fail?
    {'gradient: softmax': 'wrong: scores'}

`with BUGS[1].plant():` makes the package wrong in the block. To practise, plant a random bug and
find it. A model with a bug may learn to copy all the same: see
tests/course/zoo/zoo_training.md.

Public names, by the file that defines them:

    bug       planted
    learning  learn_to_copy
    runner    failures, hunt
"""

from . import bugs, checks  # noqa: F401, these fill BUGS and CHECKS
from .bug import BUGS, Bug
from .checks.registry import CHECKS
from .runner import failures, hunt

__all__ = ["BUGS", "CHECKS", "Bug", "failures", "hunt"]

BUGS.update({number: BUGS.pop(number) for number in sorted(BUGS)})
