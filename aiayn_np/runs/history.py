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


def records_of(columns: Mapping[str, np.ndarray], kind: Any) -> list:
    """Turn columns into records of the dataclass `kind`; nan becomes None."""
    rows = zip(*(columns[f.name].tolist() for f in fields(kind)), strict=True)
    return [kind(*(None if value != value else value for value in row)) for row in rows]


def csv_of(records: Sequence, kind: type) -> bytes:
    """Return the bytes of history.csv, for people and other programs."""
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(f.name for f in fields(kind))
    writer.writerows(map(astuple, records))
    return text.getvalue().encode()
