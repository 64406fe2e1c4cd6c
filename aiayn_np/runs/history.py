"""The history of a run: a record of every step, as columns of the checkpoint and as a table."""

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import astuple, fields
from typing import Any

import numpy as np


def columns_of(records: Sequence, kind: type) -> dict[str, np.ndarray]:
    """Return {name: array (n,)} of n records of the dataclass `kind`; None becomes nan."""
    return {f.name: np.array([getattr(record, f.name) for record in records],
                             dtype=int if f.type is int else float) for f in fields(kind)}


def records_of(columns: Mapping[str, np.ndarray], kind: Any, last: int) -> list:
    """Turn columns into records of every step up to `last`.

    Raises ValueError for missing, unequal or not finite columns, and for a step that is missing.
    """
    names, shapes = [f.name for f in fields(kind)], {c.shape for c in columns.values()}
    if {*names} != {*columns} or [len(shape) for shape in shapes] != [1] or not all(
            columns[f.name].dtype.kind in "if" and (f.default is None or
            np.isfinite(columns[f.name]).all()) for f in fields(kind)):
        raise ValueError("its history must have columns of finite numbers, of one length: "
                         + ", ".join(names))
    steps = columns["step"].tolist()
    if steps != [*range(last + 1 - len(steps), last + 1)] or len(steps) < min(last, 1):
        raise ValueError(f"its history must tell every step up to {last} once and in order")
    rows = zip(*(columns[name].tolist() for name in names))
    return [kind(*(None if value != value else value for value in row)) for row in rows]


def csv_of(records: Sequence, kind: type) -> bytes:
    """Return the bytes of history.csv, for people and other programs."""
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(f.name for f in fields(kind))
    writer.writerows(map(astuple, records))
    return text.getvalue().encode()
