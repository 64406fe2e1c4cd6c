"""A few of the student's numbers beside the right ones."""

from dataclasses import dataclass

import numpy as np

from aiayn_np.text.columns import flush_left, width

from ..language import say, say_name
from .comparing import errors

SHOWN = 4  # numbers of a row


@dataclass
class Example:
    """Numbers of the student beside the right ones: the two last axes around the worst entry.

    name : of the student's variable, or of the tensor
    index : of the worst entry
    got, want : (rows, columns)
    """

    name: str
    case: str
    index: tuple
    got: np.ndarray
    want: np.ndarray

    @classmethod
    def of(cls, name, case, got, want):
        """Make the Example of two arrays of a shape, or of rows of ids of two lengths."""
        got, want = np.asarray(got), np.asarray(want)
        off = errors(got, want) if got.shape == want.shape else np.array(
            [[not np.array_equal(a, b)] for a, b in zip(got, want)])
        index = tuple(map(int, np.unravel_index(np.argmax(off), off.shape))) if off.size else ()
        planes = [np.atleast_2d(x[index[:-2]] if x.ndim > 2 else x) for x in (got, want)]
        return cls(name, case, index, *planes)

    def lines(self):
        """Return three lines: where it is, a row of the student's numbers, and the right ones."""
        row, last = self.index[-2] if len(self.index) > 1 else 0, max(self.index[-1:], default=0)
        most = SHOWN * (2 if self.want.dtype.kind in "ib" else 1)
        begin = max(last - most + 1, 0)
        both = [some[row, begin : begin + most] for some in (self.got, self.want)]
        rows = [[short(x, digits_of(*both)) for x in some] for some in both]
        wide = max(len(cell) for cells in rows for cell in cells)
        names = [say("yours"), say("expected")]
        columns = max(map(width, names))
        lines = [f"  {flush_left(name, columns)}  {' '.join(cell.rjust(wide) for cell in cells)}"
                 for name, cells in zip(names, rows)]
        end = begin + most if begin + most < max(self.got.shape[1], self.want.shape[1]) else ""
        place = ", ".join([*map(str, self.index[:-1]), f"{begin or ''}:{end}"])
        return [self.title(f"[{place}]" if self.index else ""), *lines]

    def title(self, place):
        """Return a line that names the array, a place in it, and the case."""
        return say("{at} ({case}):", at=f"{say_name(self.name)}{place}", case=say(self.case))


def digits_of(got, want):
    """Return how many digits show that some numbers differ, at most 12."""
    return next((digits for digits in (3, 6, 9) if [short(x, digits) for x in np.ravel(got)] != [
        short(x, digits) for x in np.ravel(want)]), 12)


def short(number, digits=3):
    """Write a number with some digits, a truth value as a word."""
    return str(bool(number)) if isinstance(number, np.bool_) else f"{number + 0:.{digits}g}"
