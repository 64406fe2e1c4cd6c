"""Compare two arrays, and describe their difference: a sign, a factor, some rows, an axis."""

import math

import numpy as np

from ..language import listed, say

TOLERANCE = 1e-10  # relative to the largest expected entry
NEARLY = "Mostly it comes from float32 on the way, or from a small number that is added."
UNKNOWN = "The difference fits none of the mistakes that are known here."
COUNTED = {"real": "the number of real targets", "rows": "the number of rows",
           "positions": "the number of positions", "sequences": "the number of sequences"}
FORMS = {"{}": lambda n: n, "1 / {}": lambda n: 1 / n, "√{}": math.sqrt,
         "1 / √{}": lambda n: 1 / math.sqrt(n), "-1 * {}": lambda n: -n}


def scale_of(want):
    """Return the largest absolute value of an array's finite entries, at least 1e-30."""
    finite = np.abs(want[np.isfinite(want)])
    return max(float(finite.max(initial=0)), 1e-30)


def errors(got, want):
    """Return |got - want| / scale for every entry; equal entries, also inf and nan, have error 0.

    The scale is that of `want`. Truth values have error 0 or 1.
    """
    got, want = np.asarray(got), np.asarray(want)
    if want.dtype == bool or got.dtype == bool:
        return (got != want).astype(float)
    with np.errstate(invalid="ignore"):                                # -inf is -inf
        difference = np.where(got == want, 0.0, np.abs(got - want) / scale_of(want))
    return np.where(np.isnan(got) & np.isnan(want), 0.0, np.nan_to_num(difference, nan=np.inf))


def is_numbers(thing):
    """Tell whether a thing is a real number or truth value, or an array of them."""
    if not isinstance(thing, (np.ndarray, np.generic, float, int)):
        return False
    return np.asarray(thing).dtype.kind in "fiub"


def same(got, want):
    """Tell whether two arrays have the same shape and, within TOLERANCE, the same entries."""
    got, want = np.asarray(got), np.asarray(want)
    if got.shape != want.shape:
        return False
    if got.dtype.kind == want.dtype.kind == "f" and got.size:
        off = np.abs(got - want).max()
        if off == 0:
            return True
        largest = np.abs(want).max()
        if math.isfinite(largest) and math.isfinite(off):              # the usual case, in no time
            return bool(off <= TOLERANCE * max(largest, 1e-30))
    return bool(np.all(errors(got, want) <= TOLERANCE))


def digest_of(thing):
    """Return the numbers and the shape of an array as bytes."""
    return np.asarray(thing).tobytes() + str(np.shape(thing)).encode()


def look(compared):
    """Diagnose what is seen at once (nan, zeros, a factor), or return None."""
    tests = not_finite, all_zero, factor
    return next((seen for test in tests if (seen := test(compared))), None)


def guess(telling, everything):
    """Describe a wrong tensor as (diagnosis, sentence), from lists of (case, got, want).

    telling : the cases that show the mistake      everything : all cases
    """
    return (nearly(telling) or some_cases(everything) or some_slices(everything)
            or ("wrong", say(UNKNOWN)))


def not_finite(compared):
    for case, got, want in compared:
        advice = f" {say(case.why)}" if case.special and case.why and case.scale == 1 else ""
        if np.any(np.isnan(got) & ~np.isnan(want)):
            return "nan", say("It holds nan ({case}).", case=say(case.what)) + advice
        if np.any(np.isinf(got) & np.isfinite(want)):
            return "inf", say("It holds inf or -inf where a finite number is right ({case}).",
                              case=say(case.what)) + advice
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
    if name := named_factor(ratios):
        return "factor", say("It is off everywhere by this factor: {factor}.", factor=name)
    if not one and any(want.size == 1 for _, _, want in compared):     # any number is a multiple
        return None
    values = list(dict.fromkeys(f"{ratio:.4g}" for _, ratio in ratios))
    return "factor", say("It is off everywhere by this factor: {factor}." if len(values) == 1 else
                         "It is off everywhere by a factor, another one in each case: {factor}.",
                         factor=listed(values, 5))


def named_factor(ratios):
    """Return the name of a factor, such as 1 / √d_k, or ""."""
    known = set.intersection(*({*case.sizes, "2"} for case, _ in ratios))

    def fits(value):
        return all(abs(ratio / value(dict(case.sizes, **{"2": 2})) - 1) < 1e-9
                   for case, ratio in ratios)

    for form, value in FORMS.items():
        for name in sorted(known):
            if fits(lambda sizes, value=value, name=name: value(sizes[name])):
                return form.format(say(COUNTED.get(name, name)))
    return ""


def worst_of(compared):
    """Return the largest error in all cases, or inf if an expected array does not hold floats."""
    if any(want.dtype.kind != "f" for *_, want in compared):
        return math.inf
    return max(float(errors(got, want).max(initial=0)) for _, got, want in compared)


def nearly(compared):
    """Diagnose results that are right except for the last digits."""
    worst = worst_of(compared)
    if worst > 1e-3:
        return None
    why = next(case.why for case, got, want in compared if not same(got, want))
    return "nearly", say("It is nearly right: off by {error} of the largest entry. {why}",
                         error=f"{worst:.0e}", why=say(why or NEARLY))


def some_cases(compared):
    """Name the wrong cases, if there are fewer of them than right ones."""
    wrong = [case for case, got, want in compared if not same(got, want)]
    if 2 * len(wrong) >= len(compared):
        return None
    return "some cases", say(
        "It is wrong only here: {names}. {why}Everything else that was tried is right.",
        names=listed([say(case.what) for case in wrong]),
        why="".join(f"{say(case.why)} " for case in wrong if case.why))


def some_slices(compared):
    """Find an axis along which some slices are right and others wrong."""
    case, bad = next((case, bad) for case, got, want in compared
                     if (bad := errors(got, want) > TOLERANCE).any())
    for axis in range(bad.ndim):
        hit = np.flatnonzero(bad.any(axis=tuple(i for i in range(bad.ndim) if i != axis)))
        if len(hit) < bad.shape[axis]:
            which = ", ".join(map(str, hit[:5])) + (", …" if len(hit) > 5 else "")
            if len(hit) > 2 and hit[-1] - hit[0] == len(hit) - 1:
                which = say("{first} to {last}", first=hit[0], last=hit[-1])
            return "some entries", say(
                "Only some entries are wrong ({case}): on axis {axis} those with index {which} of"
                " 0 to {last}.", case=say(case.what), axis=axis, which=which,
                last=bad.shape[axis] - 1)
    return None


def measured(got, want):
    """Return a sentence on what the student's array has that the right one has not, or ""."""
    got, want = np.asarray(got), np.asarray(want)
    if got.shape != want.shape:
        return say("It has shape {got}, and must have {want}.", got=got.shape, want=want.shape)
    if not (want.ndim > 1 and want.shape[-1] > 1 and np.isfinite(got).all() and np.any(want)
            and want.dtype.kind == "f" and np.isfinite(want).all()):
        return ""
    for total in (1, 0):
        off = np.abs(got.sum(axis=-1) - total)
        if off.max() > 1e-9 and np.allclose(want.sum(axis=-1), total, rtol=0, atol=1e-9):
            added = float(got.sum(axis=-1).flat[np.argmax(off)])
            row = next(said for n in (3, 6, 9, 12, 17) if float(said := f"{added:.{n}g}") != total)
            column = next((axis for axis in range(got.ndim - 1) if np.allclose(
                got.sum(axis=axis), total, rtol=0, atol=1e-9)), None)
            return say("A row of yours adds up to {row}, not to {total}." if column is None else
                       "A row of yours adds up to {row}, and along axis {axis} to {total}.",
                       row=row, total=total, axis=column)
    return ""
