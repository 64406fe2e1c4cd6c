"""A run: a folder with the checkpoint of a training, its history and its measurements."""

import json
import time
from collections import deque
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ..checks import check_sizes
from ..files import ChangedError, CheckpointError, replacing
from ..plotting.figures import save_figure
from ..text.pairs import digest_of
from ..text.vocabulary import Vocabulary
from ..training import loop
from ..training.loss import LabelSmoothedCrossEntropy
from ..training.ranks import ALONE, Alone
from ..training.threads import blas_threads
from .checkpoint import fitting, load_checkpoint, read_header, save_checkpoint
from .history import columns_of, csv_of, records_of
from .language import LanguageTraining
from .loaded import Loaded
from .options import check_memory, check_options
from .pairs import PairTraining
from .symbols import Copy, Reverse, Sort

TASKS: dict[str, Any] = dict(copy=Copy, reverse=Reverse, sort=Sort, text=PairTraining,
                             words=LanguageTraining)
VOCABULARY = "vocabulary.model"
SAVE_EVERY = 120  # seconds between two checkpoints, at most


class Run:
    """The folder of a training: its checkpoint with the history, and the final measurements.

    options : as in options.py; the checkpoint holds them
    vocabulary : a vocabulary that a new run has learned; a saved run reads it in its folder

    `task` knows the data and what is said of them. `history` holds a record for each step.
    """

    saved: int | None = None  # the step of the checkpoint when it was last read or written
    saving = False  # whether it is being written
    ranks: Alone = ALONE  # the processes that share each batch; all hold the run

    def __init__(self, folder: str | Path, options: dict, vocabulary: Any = None) -> None:
        self.folder, self.options, self.learned = Path(folder), options, vocabulary
        self.checkpoint, self.metrics = self.folder / "model.npz", self.folder / "metrics.json"
        self.table = self.folder / "history.csv"
        self.task = TASKS[options["task"]](options, vocabulary or self.own_vocabulary())
        self.rng = np.random.default_rng(options["seed"])
        self.model = self.task.make_model(self.rng).astype(options["dtype"])
        self.optimizer = self.task.make_optimizer(self.model)
        self.recent: deque[dict] = deque(maxlen=loop.AVERAGED)         # states for the average
        self.history: list = []

    def own_vocabulary(self) -> Vocabulary | None:
        """Return the vocabulary in the folder; CheckpointError if another run has written it."""
        if "vocabulary" not in self.options:
            return None
        path = self.folder / VOCABULARY
        vocabulary = Vocabulary.load(path)
        if digest_of(vocabulary.model) != self.options["vocabulary"]:
            raise CheckpointError(f"{path} is not the vocabulary of this run")
        return vocabulary

    @property
    def note(self) -> str:
        """Return a line that warns the user of an unfinished training, or ""."""
        if self.optimizer.t == 0 or self.metrics.exists():
            return ""
        return (f"note: the training in {self.folder} did not end, it is at step"
                f" {self.optimizer.t}")

    @property
    def ended(self) -> bool:
        """Tell whether no step is left to take, or a toy task is solved."""
        solved = bool(self.history) and self.history[-1].solved
        return solved or self.optimizer.t >= self.task.steps

    @property
    def parameters(self) -> int:
        """The number of numbers in the parameters of the model."""
        return sum(p.value.size for p in self.model.parameters())

    def trained(self) -> Any:
        """Return a copy of the model with the average of its last states (Sec. 6.1)."""
        return loop.averaged(self.model, self.recent)

    def loaded(self) -> Loaded:
        """Return the trained model with its task, for use."""
        return self.task.loaded(self.trained(), self.task)

    def load(self) -> None:
        """Read the checkpoint; raise CheckpointError if it is damaged, or of another model."""
        columns: dict[str, np.ndarray] = {}
        load_checkpoint(self.checkpoint, self.model, optimizer=self.optimizer, rng=self.rng,
                        recent=self.recent, history=columns)
        self.saved = self.optimizer.t
        if columns:                                                    # not in an earlier one
            with fitting(self.checkpoint):
                self.history = records_of(columns, self.task.record, self.saved)

    def go_on(self, changed: dict) -> list[str]:
        """Make the data ready for a training that goes on; return notes on them.

        changed : options that replace those of the run

        Raises OSError, TypeError and ValueError for bad options or an ended training, and
        CheckpointError for data of another run.
        """
        check_options(self.options | changed)
        self.options |= changed
        with fitting(self.checkpoint):
            check_memory(self.options, self.task.vocab_size)
            notes, steps = self.task.data.notes, self.task.steps
        if self.optimizer.t > steps or (self.ended and self.metrics.exists()):
            raise ValueError(f"nothing to do: the run in {self.folder} is at step"
                             f" {self.optimizer.t} of {steps}")
        return notes

    def train(self, threads: int | None = None) -> Iterator:
        """Take all steps that are left, and save on the way; yield the record of each step.

        The run is saved after every validation, and after SAVE_EVERY seconds, before the record is
        yielded. Who ends a training earlier calls `save`. threads : of BLAS, as in `train`
        """
        check_sizes(threads=1 if threads is None else threads)
        task, o = self.task, self.options
        criterion = LabelSmoothedCrossEntropy(o["eps_ls"], pad=task.pad)
        taken = loop.training_steps(
            self.model, criterion, self.optimizer, lambda step: task.batch_of(step, self.rng),
            task.rate, steps=task.steps, rng=self.rng, threads=threads,
            measure=task.measure, ranks=self.ranks, accumulate=o["accumulate"])
        records = loop.validated(
            self.model, map(task.record_of, taken), self.recent, partial(task.validate, self),
            every=task.validate_every, last=task.steps, average_every=task.average_every,
            threads=threads)
        if not self.ended:
            if not self.ranks.rank:
                self.metrics.unlink(missing_ok=True)                   # it is out of date
            earlier = self.history[-1].seconds if self.history else 0.0
            saved = started = time.perf_counter()
            for record in records:
                record.seconds = earlier + time.perf_counter() - started
                self.history.append(record)
                if record.measured or time.perf_counter() - saved > SAVE_EVERY:
                    self.save()
                    saved = time.perf_counter()
                yield record

    def save(self) -> None:
        """Write a new vocabulary, the checkpoint and history.csv. Only rank 0 writes.

        Raises ChangedError if another program has written the checkpoint since it was read.
        """
        if self.ranks.rank:
            return
        self.saving = True
        self.folder.mkdir(parents=True, exist_ok=True)
        self.check_unchanged()
        if self.saved is None and self.learned is not None:
            self.learned.save(self.folder / VOCABULARY)
        save_checkpoint(self.checkpoint, self.model, optimizer=self.optimizer, rng=self.rng,
                        recent=self.recent, history=columns_of(self.history, self.task.record),
                        config=self.options)
        self.saved, earlier = self.optimizer.t, self.folder / "history-earlier.csv"
        if self.history and self.history[0].step > 1 and self.table.exists() > earlier.exists():
            self.table.rename(earlier)                                 # an earlier version's
        with replacing(self.table) as file:
            file.write(csv_of(self.history, self.task.record))
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
        leads = not self.ranks.rank
        with blas_threads(threads):
            if leads:
                self.draw()
            numbers, lines = self.task.finish(self)
            known = dict(task=self.task.name, steps=self.optimizer.t, parameters=self.parameters,
                         seed=self.options["seed"], **numbers,
                         seconds=round(self.history[-1].seconds, 2))
            if leads:
                with replacing(self.metrics) as file:
                    file.write((json.dumps(known, indent=2) + "\n").encode())
            return lines if leads else []

    def draw(self) -> None:
        """Save the pictures of the training."""
        save_figure(self.task.plot(self.history), self.folder / "loss.png", dpi=120)
        for example in self.task.examples(1):
            self.loaded().draw_attention(example, self.folder)
