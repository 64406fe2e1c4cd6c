"""Central differences of the gradient check, and the verdict on one direction."""

from dataclasses import dataclass

import numpy as np

from .report import FLOAT32_GRADIENT, NOT_ANALYTIC, NOT_COMPLEX, Row, Verdict

COMPLEX_STEP = 1e-20
COMPLEX_TOLERANCE = 1e-12  # relative to the value, or to 0.01 |u| |v|
CONFIRMED = 1e-5  # a central difference with a smaller error confirms the complex step;
ROUNDED_AWAY = 1e-2  # so does one with an error up to this, if rounding explains it
FLOAT32 = 1e-5  # tolerance of a gradient that is returned, or computed from a cache, in float32
MOST_ROUNDING = 1e-3  # the largest rounding error that excuses the best slope
UNIT = 1e-15  # the largest relative rounding error of a number, with some margin
STEPS = 1e-6, 1e-7, 1e-5  # several, because a step across the kink of a ReLU shows nothing
TOLERANCE = 1e-7  # of a central difference, relative to the largest of |value|, share, floor
SHARE, FLOOR = 0.01, 0.01  # of |gradient|, and of |u| |v|: an error is relative to them at least


@dataclass(frozen=True)
class Slope:
    """A central difference along a direction."""

    value: float
    noise: float  # the largest error that rounding may have caused
    doubt: float  # noise plus the difference between left and right slope
    step: float
    scale: float  # errors are relative to the values, or to this number if it is larger

    def error(self, other: float) -> float:
        """Return the relative difference to a number; inf if the value or the number is nan."""
        error = abs(self.value - other) / max(abs(self.value), abs(other), self.scale)
        return error if np.isfinite(error) else np.inf

    def rounding(self, other: float) -> float:
        """Return the part of the error that rounding may have caused."""
        return self.noise / max(abs(self.value), abs(other), self.scale)

    def supports(self, other: float, tolerance: float) -> bool:
        """Tell whether error and rounding both are within the tolerance."""
        return max(self.error(other), self.rounding(other)) <= tolerance

    def confirms(self, other: float, tolerance: float, most: float) -> bool:
        """Tell whether the error is within tolerance plus rounding, which counts up to `most`."""
        return self.error(other) <= tolerance + min(self.rounding(other), most)

    def refutes(self, other: float, tolerance: float) -> bool:
        """Tell whether the error is larger than tolerance and rounding explain."""
        return self.doubt < np.inf and self.error(other) > tolerance + self.rounding(other)


def decided(name: str, analytic: float, exact: float, slopes: list[Slope], rounded: float) -> Row:
    """Decide the row of one direction.

    exact : the complex step; nan if there is none
    rounded : tolerance of a gradient in float32; 0 for one in float64

    | a slope confirms the complex step, and none says that it is misled | the complex step |
    | a slope confirms the gradient                                      | ok               |
    | the best slope differs by more than rounding explains              | WRONG            |
    | anything else                                                      | undecided        |
    """
    best = min(slopes, key=lambda slope: slope.doubt)
    limit = max(TOLERANCE, rounded)
    confirmed = any(s.confirms(exact, CONFIRMED, ROUNDED_AWAY) for s in slopes)
    misled = any(s.supports(analytic, limit) for s in slopes) and not any(
        s.supports(exact, TOLERANCE) for s in slopes)
    if confirmed and not misled:
        error = abs(analytic - exact) / max(abs(analytic), abs(exact), best.scale)
        state = Verdict.OK if error <= max(COMPLEX_TOLERANCE, rounded) else Verdict.WRONG
        row = Row(name, analytic, exact, best.value, error, state)
    else:
        near = [s for s in slopes
                if s.confirms(analytic, limit, MOST_ROUNDING if s is best else limit)]
        slope = min(near, key=lambda s: s.error(analytic), default=best)
        refuted = Verdict.WRONG if best.refutes(analytic, limit) else Verdict.UNDECIDED
        why = NOT_COMPLEX if np.isnan(exact) else NOT_ANALYTIC
        row = Row(name, analytic, slope.value, best.value, slope.error(analytic),
                  Verdict.OK if near else refuted, (why,), slope.step)
    if rounded and row.ok and row.error > COMPLEX_TOLERANCE:
        row.why += (FLOAT32_GRADIENT,)
    return row
