"""The base class of the tasks that a run trains on: symbols, sentence pairs and texts."""

import os
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

from ..training.loop import AVERAGED, token_nats

LAST_PART = 14  # states for the average lie in the last 1/14 of the training, as in Sec. 6.1


def absolute(path: str | Path) -> str:
    """Return the path by which a run finds its data again; "-" is standard input."""
    return os.path.realpath("/dev/stdin" if str(path) == "-" else path)


def left_out(n: int, what: str) -> list[str]:
    """Return a note on what is left out since the vocabulary does not know it, if n > 0."""
    return [f"{n:,} {what} are left out, which the vocabulary does not know"] if n else []


def told(when: str, found: dict[str, dict]) -> list[str]:
    """Return a line on the measurements of the new data, and one on those of the old."""
    return [f"{which} data, {when}: " + ", ".join(f"{name} {value:.3f}" for name, value in
                                                   numbers.items())
            for which, numbers in found.items()]


class RunTask:
    """A task with its data, as a run trains on it.

    options : the options of the run, the same dict
    kept : {name: bytes}, the files of its vocabulary

    A subclass also turns text into ids, and defines

        gather(options, files)  reads the data of a new run, completes its options, and returns the
                                data for `learn` and `read`
        learn(options, content) learns a vocabulary, and returns its files
        read(content=None)      the data for training and validation, with notes on them
        batch_of(step, rng)     the batch (*inputs, targets) of a step; steps come in their order
        record_of(step)         the record of a `loop.Step`
        validate(run, record)   validates the model of the run, and writes the result into a record
        measured(model, ranks)  {name: number}, the quality of a model on the data for validation
        finish(run)             measures the model; returns (numbers for metrics.json, lines)
        examples(n)             at most n sources (1, T) that were not trained on
        plot(history)           a Figure of the training curve
        validate_every          the steps between two validations
    """

    record: ClassVar[type]  # the class of the records of steps
    loaded: Callable  # (trained model, task) -> the Loaded that uses them
    measure: Callable = staticmethod(token_nats)  # loss cache -> the scores of a step
    options: dict
    read: Any

    @cached_property
    def data(self) -> Any:
        """The data for training and validation, with notes on them, read where first needed.

        Raises OSError, and ValueError if the data are not those that the run began with.
        """
        return self.read()

    @property
    def steps(self) -> int:
        """The number of the last step."""
        return self.options["steps"]

    @property
    def average_every(self) -> int:
        """The steps between two states for the average."""
        return max(1, self.steps // (LAST_PART * AVERAGED))
