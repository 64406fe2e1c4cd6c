"""The bug zoo: 38 bugs, each planted, and each caught by the check that is named for it."""

import inspect
import re

import numpy as np
import pytest

from aiayn_course.lab.zoo import BUGS, CHECKS, failures, hunt

every_bug = pytest.mark.parametrize("bug", BUGS.values(), ids=[f"bug {n}" for n in BUGS])


def test_the_registry_is_complete():
    assert list(BUGS) == [bug.number for bug in BUGS.values()] == list(range(1, 39))
    assert len({bug.name for bug in BUGS.values()}) == 38
    for bug in BUGS.values():
        assert all([bug.name, bug.what, bug.formula, bug.seen, bug.methods])
        assert "must be" in bug.formula
        assert bug.caught_by in CHECKS
        assert bug.seen == "common" or re.fullmatch(r"[\w-]+/[\w-]+(, [\w-]+/[\w-]+)*", bug.seen)
        for name, wrong in bug.methods.items():
            right = vars(bug.layer)[name]
            assert inspect.isfunction(wrong)
            taken, called = (inspect.signature(f).parameters.keys() for f in (wrong, right))
            assert taken == called or "options" in taken, bug.number


def test_every_check_passes_without_a_bug():
    assert failures() == {}


@every_bug
def test_every_bug_is_caught_by_the_check_named_for_it(bug):
    found = hunt(bug, [bug.caught_by])
    assert list(found) == [bug.caught_by]
    assert failures([bug.caught_by]) == {}                             # and is gone again
    with bug.plant(), np.errstate(all="ignore"), pytest.raises(AssertionError):
        CHECKS[bug.caught_by]()                    # it computes something wrong, it does not crash
