"""A few of the student's numbers beside the right ones."""

from dataclasses import dataclass

import numpy as np

from aiayn_np.text.columns import flush_left, width

from ..language import say, say_name


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
        """Make the Example of two arrays."""
        got, want = np.asarray(got), np.asarray(want)
        off = apart(got, want)
        index = tuple(map(int, np.unravel_index(np.argmax(off), off.shape))) if off.size else ()
        if got.shape != want.shape:                                    # show a row of each
            got, want = (x.reshape(-1, x.shape[-1]) if x.ndim else x for x in (got, want))
            index = index[:2] if len(got) == len(want) else (0, 0)
        planes = [np.atleast_2d(x[index[:-2]] if x.ndim > 2 else x) for x in (got, want)]
        return cls(name, case, index, *planes)

    def lines(self):
        """Return three lines: where it is, a row of the student's numbers, and the right ones."""
        row, last = self.index[-2] if len(self.index) > 1 else 0, max(self.index[-1:], default=0)
        most = SHOWN * (2 if self.want.dtype.kind in "ib" else 1)
        begin = max(last - most + 1, 0)
        both = [some[row, begin : begin + most] for some in (self.got, self.want)]
        for digits in (3, 6, 9, 12):                                   # until they differ
            rows = [[short(x, digits) for x in some] for some in both]
            if rows[0] != rows[1]:
                break
        wide = max(len(cell) for cells in rows for cell in cells)
        names = [say("yours"), say("expected")]
        columns = max(map(width, names))
        lines = [f"  {flush_left(name, columns)}  {' '.join(cell.rjust(wide) for cell in cells)}"
                 for name, cells in zip(names, rows)]
        end = begin + most if begin + most < max(self.got.shape[1], self.want.shape[1]) else ""
        place = ", ".join([*map(str, self.index[:-1]), f"{begin or ''}:{end}"])
        at = say_name(self.name) + (f"[{place}]" if self.index else "")
        return [say("{at} ({case}):", at=at, case=say(self.case)), *lines]


def apart(got, want):
    """Return how far each entry is off; for arrays of two shapes, which rows differ."""
    if got.shape != want.shape:
        if got.ndim != 2 or want.ndim != 2 or len(got) != len(want):
            return np.zeros(1)
        return np.array([[not np.array_equal(a, b)] for a, b in zip(got, want)])
    with np.errstate(all="ignore"):
        off = np.abs(got.astype(float) - want.astype(float))
    same = (got == want) | (np.isnan(got.astype(float)) & np.isnan(want.astype(float)))
    return np.where(same, 0, np.nan_to_num(off, nan=np.inf))


SHOWN = 4  # numbers of a row


def short(number, digits=3):
    """Write a number with some digits, a truth value as a word."""
    return str(bool(number)) if isinstance(number, np.bool_) else f"{number + 0:.{digits}g}"
