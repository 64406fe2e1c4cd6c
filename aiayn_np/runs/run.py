"""A run: a folder with the checkpoint of a training, its history and its measurements."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from ..files import ChangedError, replacing
from ..plotting.figures import save_figure
from ..training.checks import check_seed
from ..training.tasks import TASKS
from .checkpoint import fitting, load_checkpoint, read_header, save_checkpoint
from .estimates import check_fits
from .history import check_steps, columns_of, csv_of, records_in, records_of
from .language import LanguageTraining
from .pairs import PairTraining
from .symbols import SymbolTraining
from .training import VOCABULARY, Training, check_options

TRAININGS: dict[str, type[Training]] = dict.fromkeys(TASKS, SymbolTraining) | {
    kind.name: kind for kind in (PairTraining, LanguageTraining)}


class Run:
    """The folder of a training: its checkpoint with the history, and the final measurements.

    config, vocabulary : as in Training; the checkpoint holds the config

    `training` holds the task, the model and the optimizer. `history` holds a record for each step.
    """

    saved: int | None = None  # the step of the checkpoint when it was last read or written

    def __init__(self, folder: str | Path, config: dict, vocabulary: Any = None) -> None:
        check_seed(config["seed"])
        self.folder, self.config = Path(folder), config
        self.training: Any = TRAININGS[config["task"]](self.folder, config, vocabulary)
        self.task, self.model = self.training.task, self.training.model
        self.optimizer, self.uses = self.training.optimizer, self.training.pipeline.uses
        self.history: list = []
        self.checkpoint, self.metrics = self.folder / "model.npz", self.folder / "metrics.json"

    @property
    def files(self) -> list[str]:
        """Names of the files in the folder, besides pictures."""
        return ["model.npz", "metrics.json", "history.csv", *self.training.files]

    @property
    def note(self) -> str:
        """Return a line that warns the user of an unfinished training, or ""."""
        if self.optimizer.t == 0 or self.metrics.exists():
            return ""
        return (f"note: the training in {self.folder} did not end, it is at step"
                f" {self.optimizer.t}")

    @property
    def seconds(self) -> float:
        """Return the seconds that the steps have taken."""
        return self.history[-1].seconds if self.history else 0.0

    @property
    def solved(self) -> bool:
        """Tell whether the last validation was perfect, so that training ends."""
        return bool(self.history) and self.history[-1].solved

    @property
    def ended(self) -> bool:
        """Tell whether no step is left to take."""
        return self.solved or self.optimizer.t >= self.training.steps

    def pipeline(self) -> Any:
        """Return the pipeline of the trained model, the average of its last states."""
        return self.training.pipeline(self.task, self.training.averaged())

    def trained(self) -> Any:
        """Return the trained model, the average of its last states."""
        return self.pipeline().model

    def load(self) -> None:
        """Read the checkpoint; raise CheckpointError if it is damaged, or of another model."""
        columns: dict[str, np.ndarray] = {}
        load_checkpoint(self.checkpoint, self.model, history=columns, **self.training.state)
        self.saved = self.optimizer.t
        if columns:                                                    # not in an earlier one
            with fitting(self.checkpoint):
                self.history = records_of(columns, self.training.record)
                check_steps(self.history, self.saved)

    def go_on(self, changed: dict) -> list[str]:
        """Make the data ready for a training that goes on; return notes on them.

        Sets `config` with the `changed` options of the training. Raises OSError, TypeError and
        ValueError for bad options, and CheckpointError for a history or data of another run.
        """
        options = self.training.options | changed
        check_options(options)
        self.config = self.training.config = self.config | dict(train=options)
        self.training.options = options
        if not self.history:
            self.history = records_in(self.folder / "history.csv", self.training.record,
                                      self.optimizer.t)
        with fitting(self.checkpoint):
            check_fits(self.config, self.task.vocab_size, self.task.max_length)
            notes = self.training.prepare()
        if self.optimizer.t and not self.history:
            notes += [f"note: {self.folder} has no history.csv: it begins at step"
                      f" {self.optimizer.t + 1}"]
        return notes

    def save(self) -> None:
        """Write a new vocabulary, the checkpoint and history.csv. Only rank 0 writes.

        Raises ChangedError if another program has written the checkpoint since it was read.
        """
        if self.training.ranks.rank:
            return
        self.check_unchanged()
        if self.saved is None and self.training.learned is not None:
            self.training.learned.save(self.folder / VOCABULARY)
        kind = self.training.record
        save_checkpoint(self.checkpoint, self.model, config=self.config,
                        history=columns_of(self.history, kind), **self.training.state)
        self.saved = self.optimizer.t
        with replacing(self.folder / "history.csv") as file:
            file.write(csv_of(self.history, kind))

    def check_unchanged(self) -> None:
        """Raise ChangedError unless the checkpoint is the one that was last read or written."""
        there = read_header(self.checkpoint)["step"] if self.checkpoint.exists() else None
        if there != self.saved:
            was = "missing" if self.saved is None else f"at step {self.saved}"
            now = "missing" if there is None else f"at step {there}"
            raise ChangedError(f"{self.checkpoint} must be as this training left it, {was}, but it"
                               f" is {now}: another program has changed it; this training ends"
                               " here and saves nothing more")

    def finish(self, seconds: float) -> Iterable[str]:
        """Measure the trained model, and write metrics.json on rank 0; return lines to print."""
        numbers, lines = self.training.finish(self.history, seconds)
        known = dict(task=self.task.name, steps=self.optimizer.t,
                     parameters=sum(p.value.size for p in self.model.parameters()),
                     seed=self.config["seed"], **numbers, seconds=seconds)
        if not self.training.ranks.rank:
            with replacing(self.metrics) as file:
                file.write((json.dumps(known, indent=2) + "\n").encode())
        return lines

    def draw(self) -> list[Path]:
        """Save the pictures of the training; return the paths."""
        paths = [self.folder / "loss.png"]
        save_figure(self.training.plot(self.history), paths[0], dpi=120)
        for example in self.training.examples(1):
            paths += self.pipeline().draw_attention(example, self.folder)
        return paths
