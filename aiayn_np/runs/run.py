"""A run: a folder with the checkpoint of a training, its history and its measurements."""

import errno
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
from ..training import loop
from ..training.loss import LabelSmoothedCrossEntropy
from ..training.ranks import ALONE, Alone
from ..training.shares import Shares
from ..training.threads import blas_threads
from .checkpoint import fitting, read_checkpoint, read_step, restore, save_checkpoint
from .history import columns_of, csv_of, records_of
from .language import LanguageTraining
from .loaded import Loaded
from .options import check_options, flat
from .pairs import PairTraining
from .recipes import LanguageRecipe, LlamaRecipe, Recipe, trained_part
from .symbols import Copy, Reverse, Sort
from .task import told

TASKS: dict[str, Any] = dict(copy=Copy, reverse=Reverse, sort=Sort, text=PairTraining,
                             words=LanguageTraining)
SAVE_EVERY = 120  # seconds between two checkpoints, at most


def kind_of(options: dict) -> tuple[Any, Any]:
    """Return (the class of the task, the class of the recipe) of a run."""
    task = options["task"]
    if "family" in options:
        from .family import FAMILY_RECIPES, FAMILY_TASKS

        return FAMILY_TASKS[task], FAMILY_RECIPES[task]
    if task == "words":
        return TASKS[task], LlamaRecipe if options["like"] else LanguageRecipe
    return TASKS[task], Recipe


class Run:
    """The folder of a training: its checkpoint with the history, and the final measurements.

    options : as in options.py; the checkpoint holds them
    kept : {name: bytes}, the files of a vocabulary; the checkpoint holds them

    `task` knows the data and what is said of them. `history` holds a record for each step.
    """

    saved: int | None = None  # the step of the checkpoint when it was last read or written
    ranks: Alone = ALONE  # the processes that share each batch; all hold the run

    def __init__(self, folder: str | Path, options: dict,
                 kept: dict[str, bytes] | None = None) -> None:
        self.folder, self.options, self.kept = Path(folder), options, kept or {}
        self.checkpoint, self.metrics = self.folder / "model.npz", self.folder / "metrics.json"
        task, recipe = kind_of(options)
        self.task, self.recipe = task(options, self.kept), recipe(options)
        self.rng = np.random.default_rng(options["seed"])
        self.model = self.recipe.model(self.task.vocab_size, self.rng).astype(options["dtype"])
        self.optimizer = self.recipe.optimizer(self.model,
                                               trained_part(self.model, options.get("only")))
        self.recent: deque[dict] = deque(maxlen=loop.AVERAGED)         # states for the average
        self.history: list = []

    @classmethod
    def open(cls, folder: str | Path) -> "Run":
        """Open a run that `train` wrote, ready to decode or to go on with training.

        Raises FileNotFoundError, and CheckpointError with path and reason.
        """
        folder = Path(folder)
        path = folder / "model.npz"
        if not path.exists():
            lost, what = (path, "file") if folder.is_dir() else (folder, "folder")
            raise FileNotFoundError(errno.ENOENT, f"No such {what}; a run is a folder that `train`"
                                    " wrote, or one of Hugging Face, such as `hf download gpt2"
                                    " --local-dir gpt2` writes", str(lost))
        header, parts = read_checkpoint(path)
        with fitting(path):
            options = flat(header["config"])
            kept = {name: array.tobytes() for name, array in parts.get("vocabulary", {}).items()}
            if options.pop("vocabulary", None) and not kept:           # an earlier version's
                kept = {"model": (folder / "vocabulary.model").read_bytes()}
            run = cls(folder, options, kept)
            restore(header, parts, run.model, optimizer=run.optimizer, rng=run.rng,
                    recent=run.recent)
            if columns := parts.get("history"):                        # not in an earlier version
                run.history = records_of(columns, run.task.record)
        run.saved = run.optimizer.t
        return run

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
        loaded = self.task.loaded(self.trained(), self.task)
        loaded.note, loaded.metrics = self.note, self.metrics
        return loaded

    def go_on(self, changed: dict) -> list[str]:
        """Make the data ready for a training that goes on; return notes on them.

        changed : options that replace those of the run

        Raises OSError, TypeError and ValueError for bad options, for data of another run, and if
        the training has ended.
        """
        check_options(self.options | changed)
        self.options |= changed
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
        taken = loop.training_steps(
            self.model, LabelSmoothedCrossEntropy(o["eps_ls"], pad=task.pad), self.optimizer,
            lambda step: task.batch_of(step, self.rng),
            lambda step: self.recipe.rate(step, task.steps), steps=task.steps, rng=self.rng,
            measure=task.measure, shares=Shares(task.pad, self.ranks, o["accumulate"]),
            threads=threads)
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
        """Write the checkpoint and history.csv. Only rank 0 writes.

        Raises ChangedError if another program has written the checkpoint since it was read.
        """
        if self.ranks.rank:
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        self.check_unchanged()
        save_checkpoint(self.checkpoint, self.model, optimizer=self.optimizer, rng=self.rng,
                        recent=self.recent, history=columns_of(self.history, self.task.record),
                        vocabulary=self.kept, config=self.options)
        self.saved = self.optimizer.t
        with replacing(self.folder / "history.csv") as file:
            file.write(csv_of(self.history, self.task.record))

    def check_unchanged(self) -> None:
        """Raise ChangedError unless the checkpoint is the one that was last read or written."""
        there = read_step(self.checkpoint) if self.checkpoint.exists() else None
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
            if "before" in self.options:
                numbers |= dict(before=self.options["before"], after=self.measured())
                lines += [line for when in ("before", "after") for line in
                          told(when, numbers[when])]
            known = dict(task=self.task.name, steps=self.optimizer.t, parameters=self.parameters,
                         seed=self.options["seed"], **numbers,
                         seconds=round(self.history[-1].seconds, 2))
            if leads:
                with replacing(self.metrics) as file:
                    file.write((json.dumps(known, indent=2) + "\n").encode())
            return lines if leads else []

    def measured(self) -> dict[str, dict]:
        """Measure the trained model on the new data, and on the old data of a run that goes on.

        Returns {"new": {name: number}, "old": ...}; without "old" where its data are gone.
        """
        model, ranks = self.trained(), self.ranks
        old = ranks.first(None if ranks.rank else old_task(Path(self.options["from"])))
        return {which: task.measured(model, ranks)
                for which, task in (("new", self.task), ("old", old)) if task is not None}

    def draw(self) -> None:
        """Save the pictures of the training."""
        save_figure(self.task.plot(self.history), self.folder / "loss.png", dpi=120)
        for example in self.task.examples(1):
            for name, figure in self.loaded().pictures(example):
                save_figure(figure, self.folder / f"attention_{name}.png", dpi=120)


def old_task(start: Path) -> Any:
    """Return the task of the run that a model came from, with its data; None without them."""
    try:
        task = Run.open(start).task
        return task if task.data else None
    except (OSError, ValueError, CheckpointError):                     # gone, or never a run
        return None
