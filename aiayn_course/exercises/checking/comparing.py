"""Compare two arrays, and describe their difference: a sign, a factor, some rows, an axis."""

import itertools
import math

import numpy as np

from ..language import say
from .report import Row, listed

TOLERANCE = 1e-10  # relative to the largest expected entry


def scale_of(want):
    """Return the largest absolute value of an array's finite entries, at least 1e-30."""
    finite = np.abs(want[np.isfinite(want)])
    return max(float(finite.max(initial=0)), 1e-30)


def errors(got, want, scale=None):
    """Return |got - want| / scale for every entry; equal entries, also inf and nan, have error 0.

    scale : None stands for `scale_of(want)`. Truth values have error 0 or 1.
    """
    got, want = np.asarray(got), np.asarray(want)
    if want.dtype == bool or got.dtype == bool:
        return (got != want).astype(float)
    scale = scale_of(want) if scale is None else scale
    difference = np.where(got == want, 0.0, np.abs(got - want) / scale)  # -inf equals -inf
    return np.where(np.isnan(got) & np.isnan(want), 0.0, np.nan_to_num(difference, nan=np.inf))


def is_numbers(thing):
    """Tell whether a thing is a real number or truth value, or an array of them."""
    if not isinstance(thing, (np.ndarray, np.generic, float, int)):
        return False
    return np.asarray(thing).dtype.kind in "fiub"


def same(got, want, tolerance=TOLERANCE):
    """Tell whether two arrays have the same shape and, within the tolerance, the same entries."""
    got, want = np.asarray(got), np.asarray(want)
    if got.shape != want.shape:
        return False
    if got.dtype.kind == want.dtype.kind == "f" and got.size:
        off = np.abs(got - want).max()
        if off == 0:
            return True
        largest = np.abs(want).max()
        if math.isfinite(largest) and math.isfinite(off):              # the usual case, in no time
            return bool(off <= tolerance * max(largest, 1e-30))
    return bool(np.all(errors(got, want) <= tolerance))


def row_of(tensor, compared):
    """Return the Row of one tensor from a list of (case, got, want), arrays of equal shapes.

    The Row shows the worst entry of the first wrong case, or of all cases if none is wrong.
    """
    row = Row(tensor, "ok", error=0.0)
    for case, got, want in compared:
        error = errors(got, want)
        if not error.size or not (row.ok and (not row.size or error.max() > row.error)):
            continue
        worst = np.unravel_index(np.argmax(error), error.shape)
        row.case, row.index, row.error = case.what, tuple(map(int, worst)), float(error[worst])
        row.yours, row.expected = float(np.asarray(got)[worst]), float(np.asarray(want)[worst])
        row.wrong, row.size = int((error > TOLERANCE).sum()), error.size
        row.verdict = "WRONG" if row.error > TOLERANCE else "ok"
    return row


def guess(telling, everything):
    """Describe a wrong tensor as (diagnosis, sentence), from lists of (case, got, want).

    telling : the cases that show the mistake      everything : all cases
    """
    return (nearly(telling) or other_axes(everything) or some_cases(everything)
            or some_slices(everything) or ("wrong", say(UNKNOWN)))


def look(compared):
    """Diagnose what is seen at once (nan, zeros, a sign, a factor, lost digits), or return None."""
    tests = not_finite, all_zero, factor, digits_lost
    return next((seen for test in tests if (seen := test(compared))), None)


NEARLY = "Mostly it comes from float32 on the way, or from a small number that is added."
UNKNOWN = "The difference fits none of the mistakes that are known here."


def not_finite(compared):
    for case, got, want in compared:
        if np.any(np.isnan(got) & ~np.isnan(want)):
            return "nan", say("It holds nan ({case}).", case=say(case.what))
        if np.any(np.isinf(got) & np.isfinite(want)):
            return "inf", say("It holds inf or -inf where a finite number is right ({case}).",
                              case=say(case.what))
    return None


def all_zero(compared):
    if all(not np.any(got) for _, got, _ in compared):
        return "zero", say("It is zero everywhere.")
    return None


def factor(compared):
    """Diagnose results that are a multiple of the right ones, with one factor for each case."""
    ratios = []
    for case, got, want in compared:
        if want.dtype == bool or not np.isfinite(want).all() or scale_of(want) < 1e-20:
            continue
        ratio = float((got * want).sum() / (want * want).sum())
        if not same(got, ratio * want) or ratio == 0:
            return None
        ratios.append((case, ratio))
    if all(abs(ratio - 1) < 1e-4 for _, ratio in ratios):
        return None
    if all(abs(ratio + 1) < TOLERANCE for _, ratio in ratios):
        return "sign", say("Every entry has the wrong sign.")
    one = len(ratios) > 1 and all(abs(r / ratios[0][1] - 1) < 1e-9 for _, r in ratios)
    numbers = any(want.size == 1 for _, _, want in compared)           # every number is a multiple
    sentence = named_factor(ratios) or ((one or not numbers) and unnamed_factor(ratios))
    return ("factor", sentence) if sentence else None


COUNTED = {"real": "the number of real targets", "rows": "the number of rows",
           "positions": "the number of positions", "sequences": "the number of sequences"}


def named_factor(ratios):
    """Return a sentence that names the factor, such as 1 / √d_k, or None."""
    known = set.intersection(*({*case.sizes, "2"} for case, _ in ratios))
    forms = {"{}": lambda n: n, "1 / {}": lambda n: 1 / n, "√{}": math.sqrt,
             "1 / √{}": lambda n: 1 / math.sqrt(n), "-1 * {}": lambda n: -n}
    for form, value in forms.items():
        for name in sorted(known):
            if all(abs(ratio / value(case.sizes.get(name, 2)) - 1) < 1e-9
                   for case, ratio in ratios):
                return say("It is off everywhere by this factor: {factor}.",
                           factor=form.format(say(COUNTED.get(name, name))))
    for one, other in itertools.permutations(sorted(known - {"2"} - COUNTED.keys()), 2):
        for form, power in (("{} / {}", 1), ("√({} / {})", 0.5)):
            if len(ratios) > 1 and all(abs(ratio / (case.sizes[one] / case.sizes[other]) ** power
                                           - 1) < 1e-9 for case, ratio in ratios):
                return say("It is off everywhere by this factor: {factor}.",
                           factor=form.format(one, other))
    return None


def unnamed_factor(ratios):
    """Return a sentence that gives the factors as numbers."""
    values = list(dict.fromkeys(f"{ratio:.4g}" for _, ratio in ratios))
    return say("It is off everywhere by this factor: {factor}." if len(values) == 1 else
               "It is off everywhere by a factor, another one in each case: {factor}.",
               factor=listed(values, 5))


def worst_of(compared):
    """Return the largest error in all cases, or inf if an expected array does not hold floats."""
    if any(want.dtype.kind != "f" for *_, want in compared):
        return math.inf
    return max(float(errors(got, want).max(initial=0)) for _, got, want in compared)


def digits_lost(compared):
    """Diagnose results that were rounded, to float32 or to a few digits."""
    if worst_of(compared) > 1e-3:
        return None
    if all(np.array_equal(got, got.astype(np.float32), equal_nan=True) for _, got, _ in compared):
        return "float32", say("The numbers are rounded to float32, and the input is float64."
                              " Every result must have the type of x: look for astype and dtype.")
    for digits in range(2, 9):
        if all(np.array_equal(got, np.round(got, digits)) for _, got, _ in compared):
            return "rounded", say("The numbers are rounded to {digits} digits. They must not be.",
                                  digits=digits)
    return None


def nearly(compared):
    """Diagnose results that are right except for the last digits, for another reason."""
    worst = worst_of(compared)
    if worst > 1e-3:
        return None
    why = next(case.why for case, got, want in compared if not same(got, want))
    return "nearly", say("It is nearly right: off by {error} of the largest entry. {why}",
                         error=f"{worst:.0e}", why=say(why or NEARLY))


def apart(compared):
    """Return (wrong, right), two lists of (case, the student's result)."""
    wrong = [(case, got) for case, got, want in compared if not same(got, want)]
    return wrong, [(case, got) for case, got, want in compared if same(got, want)]


def other_axes(compared):
    """Say so if the number of axes decides which cases are wrong; else return None."""
    wrong, right = apart(compared)
    if not right or not all(case.inputs for case, _ in (*wrong, *right)):
        return None
    axes = [{max(np.ndim(i) for i in case.inputs) for case, _ in some} for some in (wrong, right)]
    if axes[0] & axes[1]:
        return None
    counts = [say(" or ").join(map(str, sorted(some))) for some in axes]
    return "number of axes", say(
        "It is wrong where the number of axes is {some} ({names}), and right where it is {others}."
        " Any number of axes may stand in front: count from the end, -1, -2, and treat all numbers"
        " alike.", some=counts[0],
        names=listed([say(case.what) for case, _ in wrong]), others=counts[1])


def some_cases(compared):
    """Name the wrong cases, if there are fewer of them than right ones."""
    wrong, right = apart(compared)
    if len(wrong) >= len(right):
        return None
    return "some cases", say(
        "It is wrong only here: {names}. {why}Everything else that was tried is right.",
        names=listed([say(case.what) for case, _ in wrong]),
        why="".join(f"{say(case.why)} " for case, _ in wrong if case.why))


def some_slices(compared):
    """Find an axis along which some slices are right and others wrong."""
    case, bad = next((case, bad) for case, got, want in compared
                     if (bad := errors(got, want) > TOLERANCE).any())
    for axis in range(bad.ndim):
        others = tuple(i for i in range(bad.ndim) if i != axis)
        hit = np.flatnonzero(bad.any(axis=others))
        if len(hit) < bad.shape[axis]:
            which = ", ".join(map(str, hit[:5])) + (", …" if len(hit) > 5 else "")
            if len(hit) > 2 and hit[-1] - hit[0] == len(hit) - 1:
                which = say("{first} to {last}", first=hit[0], last=hit[-1])
            return "some entries", say(
                "Only some entries are wrong ({case}): on axis {axis} those with index {which} of"
                " 0 to {last}.", case=say(case.what), axis=axis, which=which,
                last=bad.shape[axis] - 1)
    return None
