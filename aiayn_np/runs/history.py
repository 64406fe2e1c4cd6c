"""The history of a run: a record of every step, as columns of the checkpoint and as a table."""

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import astuple, fields
from pathlib import Path
from typing import Any

import numpy as np

from ..files import CheckpointError


def columns_of(records: Sequence, kind: type) -> dict[str, np.ndarray]:
    """Return {name: array (n,)} of n records of the dataclass `kind`; None becomes nan."""
    return {f.name: np.array([getattr(record, f.name) for record in records],
                             dtype=int if f.type is int else float) for f in fields(kind)}


def records_of(columns: Mapping[str, np.ndarray], kind: Any) -> list:
    """Turn columns into records; raise ValueError for missing, unequal or not finite columns."""
    names, shapes = [f.name for f in fields(kind)], {c.shape for c in columns.values()}
    if {*names} != {*columns} or [len(shape) for shape in shapes] != [1] or not all(
            columns[f.name].dtype.kind in "if" and (f.default is None or
            np.isfinite(columns[f.name]).all()) for f in fields(kind)):
        raise ValueError("its history must have columns of finite numbers, of one length: "
                         + ", ".join(names))
    rows = zip(*(columns[name].tolist() for name in names))
    return [kind(*(None if value != value else value for value in row)) for row in rows]


def csv_of(records: Sequence, kind: type) -> bytes:
    """Return the bytes of history.csv, for people and other programs."""
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(f.name for f in fields(kind))
    writer.writerows(map(astuple, records))
    return text.getvalue().encode()


def records_in(path: Path, kind: type, last: int) -> list:
    """Return the records up to step `last` in history.csv, where an earlier version kept them.

    Without the file, there are no records. Raises CheckpointError if the file is damaged.
    """
    try:
        with open(path, newline="", encoding="utf-8") as file:
            rows = [row for row in csv.DictReader(file) if int(row["step"]) <= last]
        columns = {f.name: np.array([float(row[f.name] or "nan") for row in rows],
                                    dtype=int if f.type is int else float) for f in fields(kind)}
        records = records_of(columns, kind)
        check_steps(records, last)
        if last and not records:
            raise ValueError("it has no line")
    except FileNotFoundError:
        return []
    except (KeyError, TypeError, ValueError, OverflowError, csv.Error) as error:
        raise CheckpointError(f"{path} is not readable: it must have a number in each column, for"
                              f" every step up to {last}") from error
    return records


def check_steps(records: Sequence, last: int) -> None:
    """Raise ValueError unless the steps of records, if any, follow each other up to `last`."""
    steps = [record.step for record in records]
    if steps and (steps[-1] != last or steps != [*range(steps[0], steps[0] + len(steps))]):
        raise ValueError(f"its history must tell every step up to {last} once and in order")
