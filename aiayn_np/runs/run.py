"""A run: a folder with the checkpoint of a training, its history and its measurements."""

import contextlib
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ..files import ChangedError, replacing
from ..pipelines.pipeline import Pipeline
from ..plotting.figures import save_figure
from ..training.checks import check_seed
from ..training.tasks import TASKS
from ..training.threads import blas_threads
from .checkpoint import fitting, load_checkpoint, read_header, save_checkpoint
from .estimates import check_fits
from .history import columns_in, columns_of, csv_of, records_of
from .language import LanguageTraining
from .pairs import PairTraining
from .symbols import SymbolTraining
from .training import VOCABULARY, Training, check_options

TRAININGS: dict[str, type[Training]] = dict.fromkeys(TASKS, SymbolTraining) | {
    kind.name: kind for kind in (PairTraining, LanguageTraining)}
SAVE_EVERY = 120  # seconds between two checkpoints, at most


class Run:
    """The folder of a training: its checkpoint with the history, and the final measurements.

    config, vocabulary : as in Training; the checkpoint holds the config

    `training` holds the task, the model and the optimizer. `history` holds a record for each step.
    """

    saved: int | None = None  # the step of the checkpoint when it was last read or written
    saving = False  # whether it is being written
    pictures = ("loss.png", "attention_*.png")  # patterns of the names of its pictures

    def __init__(self, folder: str | Path, config: dict, vocabulary: Any = None) -> None:
        check_seed(config["seed"])
        self.folder, self.config = Path(folder), config
        self.training = TRAININGS[config["task"]](self.folder, config, vocabulary)
        self.task, self.model = self.training.task, self.training.model
        self.optimizer, self.uses = self.training.optimizer, self.training.pipeline.uses
        self.history: list = []
        self.checkpoint, self.metrics = self.folder / "model.npz", self.folder / "metrics.json"
        self.table = self.folder / "history.csv"

    @property
    def files(self) -> list[str]:
        """Names of the files in the folder, besides pictures."""
        more = [VOCABULARY] if "vocabulary" in self.config else []
        return ["model.npz", "metrics.json", "history.csv", *more]

    @property
    def note(self) -> str:
        """Return a line that warns the user of an unfinished training, or ""."""
        if self.optimizer.t == 0 or self.metrics.exists():
            return ""
        return (f"note: the training in {self.folder} did not end, it is at step"
                f" {self.optimizer.t}")

    @property
    def solved(self) -> bool:
        """Tell whether the last validation was perfect, so that training ends."""
        return bool(self.history) and self.history[-1].solved

    @property
    def ended(self) -> bool:
        """Tell whether no step is left to take."""
        return self.solved or self.optimizer.t >= self.training.steps

    def pipeline(self) -> Pipeline:
        """Return the pipeline of the trained model, the average of its last states."""
        return self.training.pipeline(self.task, self.trained())

    def trained(self) -> Any:
        """Return the trained model, the average of its last states."""
        return self.training.averaged()

    def load(self) -> None:
        """Read the checkpoint; raise CheckpointError if it is damaged, or of another model."""
        columns: dict[str, np.ndarray] = {}
        load_checkpoint(self.checkpoint, self.model, history=columns, **self.training.state)
        self.saved = self.optimizer.t
        if columns:                                                    # not in an earlier one
            with fitting(self.checkpoint):
                self.history = records_of(columns, self.training.record, self.saved)

    def go_on(self, changed: dict) -> list[str]:
        """Make the data ready for a training that goes on; return notes on them.

        Sets `config` with the `changed` options of the training. Raises OSError, TypeError and
        ValueError for bad options or an ended training, and CheckpointError for a history or data
        of another run.
        """
        options = self.training.options | changed
        check_options(options)
        self.config = self.training.config = self.config | dict(train=options)
        self.training.options = options
        kind, t = self.training.record, self.optimizer.t
        if t and not self.history:
            with fitting(self.table):
                self.history = records_of(columns_in(self.table, kind, t), kind, t)
        with fitting(self.checkpoint):
            check_fits(self.config, self.task.vocab_size, self.task.max_length)
            notes = self.training.prepare()
        if t > self.training.steps or (self.ended and self.metrics.exists()):
            where = "solved" if self.solved else f"at step {t} of {self.training.steps} already"
            raise ValueError(f"nothing to do: the run in {self.folder} is {where}")
        return notes

    def train(self, report: Callable[[Any], None] | None = None,
              stop: Callable[[], bool] = lambda: False, threads: int | None = None) -> bool:
        """Take all steps that are left, and save on the way; return False if `stop` ended it.

        report : gets the record of a step, after it was saved
        stop : tells after a step whether the training ends there; rank 0 decides for all ranks
        threads : of BLAS, as in `train`

        The run is saved after every validation, and after SAVE_EVERY seconds.
        """
        records, ranks = self.training.run(threads=threads), self.training.ranks
        earlier = self.history[-1].seconds if self.history else 0.0
        if self.ended:
            return True
        if not ranks.rank:
            self.metrics.unlink(missing_ok=True)                       # it is out of date
        saved = started = time.perf_counter()
        with not_finite_is_told():
            for record in records:
                record.seconds = earlier + time.perf_counter() - started
                self.history.append(record)
                ends = ranks.first(stop())
                if record.measured or ends or time.perf_counter() - saved > SAVE_EVERY:
                    self.save()                                        # first: a terminal may close
                    saved = time.perf_counter()
                if report:
                    report(record)
                if ends:
                    return False
        return True

    def save(self) -> None:
        """Write a new vocabulary, the checkpoint and history.csv. Only rank 0 writes.

        Raises ChangedError if another program has written the checkpoint since it was read.
        """
        if self.training.ranks.rank:
            return
        self.saving = True
        self.folder.mkdir(parents=True, exist_ok=True)
        self.check_unchanged()
        if self.saved is None and self.training.learned is not None:
            self.training.learned.save(self.folder / VOCABULARY)
        kind = self.training.record
        save_checkpoint(self.checkpoint, self.model, config=self.config,
                        history=columns_of(self.history, kind), **self.training.state)
        self.saved = self.optimizer.t
        with replacing(self.table) as file:
            file.write(csv_of(self.history, kind))
        self.saving = False

    def check_unchanged(self) -> None:
        """Raise ChangedError unless the checkpoint is the one that was last read or written."""
        there = read_header(self.checkpoint)["step"] if self.checkpoint.exists() else None
        if there != self.saved:
            was = "missing" if self.saved is None else f"at step {self.saved}"
            now = "missing" if there is None else f"at step {there}"
            raise ChangedError(f"{self.checkpoint} must be as this training left it, {was}, but it"
                               f" is {now}: another program has changed it; this training ends"
                               " here and saves nothing more")

    def finish(self, threads: int | None = None) -> list[str]:
        """Draw the pictures and measure the trained model; return lines to print.

        All ranks measure, and rank 0 writes. metrics.json is written last: a run without it gets
        its pictures and metrics when it goes on.
        """
        leads = not self.training.ranks.rank
        with blas_threads(threads):
            if leads:
                self.draw()
            numbers, lines = self.training.finish(self.history)
            known = dict(task=self.task.name, steps=self.optimizer.t,
                         parameters=self.training.parameters, seed=self.config["seed"], **numbers,
                         seconds=round(self.history[-1].seconds, 2))
            if leads:
                with replacing(self.metrics) as file:
                    file.write((json.dumps(known, indent=2) + "\n").encode())
            return list(lines) if leads else []

    def draw(self) -> None:
        """Save the pictures of the training."""
        save_figure(self.training.plot(self.history), self.folder / "loss.png", dpi=120)
        for example in self.training.examples(1):
            self.pipeline().draw_attention(example, self.folder)


@contextlib.contextmanager
def not_finite_is_told() -> Iterator[None]:
    """Let the training itself find nan and inf, and add to its message that a checkpoint stays."""
    try:
        with np.errstate(all="ignore"):
            yield
    except FloatingPointError as error:
        raise FloatingPointError(f"{error}; the last good checkpoint is kept") from None
