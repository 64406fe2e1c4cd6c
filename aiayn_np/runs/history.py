"""The history of a run: a record of every step, in history.csv."""

import csv
import hashlib
import io
import math
from collections.abc import Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from ..files import CheckpointError


def csv_of(records: Sequence, kind: type) -> bytes:
    """Return the bytes of history.csv for records of one kind, which is a dataclass."""
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, [f.name for f in fields(kind)])
    writer.writeheader()
    writer.writerows(asdict(record) for record in records)
    return text.getvalue().encode()


def read_history(path: Path, kind: type, last: int, digest: str | None) -> list:
    """Return the records of history.csv up to the step `last`; [] if there is no file.

    digest : what `digest_of` gave for these records; None if it is not known

    Raises CheckpointError if the file is damaged, or of another run.
    """
    try:
        with open(path, newline="") as file:
            records = [record_of(row, kind) for row in csv.DictReader(file)]
    except FileNotFoundError:
        return []
    except (KeyError, TypeError, ValueError, OverflowError, csv.Error) as error:
        raise CheckpointError(f"{path} is not readable: {error}") from error
    records = [record for record in records if record.step <= last]
    check_history(path, records, last)
    if digest not in (None, digest_of(records)):
        raise CheckpointError(f"{path} must be of the run in {path.parent / 'model.npz'}, got that"
                              " of another, or one that was changed")
    return records


def record_of(row: dict, kind: Any) -> Any:
    """Return a row of history.csv as a record; columns that the record does not have are left out.
    """
    if None in row or None in row.values():
        raise ValueError("every line must have a value for each column")
    known = {f.name: f.type for f in fields(kind)}
    return kind(**{name: int(float(text)) if known[name] is int else float(text)
                   for name, text in row.items() if name in known and text})


def check_history(path: Path, records: Sequence, last: int) -> None:
    """Raise CheckpointError unless records tell every step up to `last`, that of the checkpoint."""
    steps = [record.step for record in records]
    if last and (not steps or steps != list(range(steps[0], last + 1))):
        raise CheckpointError(f"{path} must hold every step up to {last}, the checkpoint's,"
                              " once and in order")
    for record in records:
        if not math.isfinite(record.loss):
            raise CheckpointError(f"{path}: every loss must be finite, got {record.loss} at step"
                                  f" {record.step}")


def digest_of(records: Sequence) -> str:
    """Return the SHA-256 of the losses, by which a run recognises its history."""
    losses = [(record.step, record.loss) for record in records]
    return hashlib.sha256(repr(losses).encode()).hexdigest()
