"""A run: a folder with the checkpoint of a training and its history."""

import json
from pathlib import Path
from typing import Any

from ..files import ChangedError, CheckpointError, replacing
from ..plotting.figures import save_figure
from ..training.checks import check_seed
from ..training.tasks import TASKS
from . import history
from .checkpoint import load_checkpoint, read_header, save_checkpoint
from .pairs import VOCABULARY, PairTraining
from .symbols import SymbolTraining
from .words import WordTraining

TRAININGS: dict[str, Any] = dict.fromkeys(TASKS, SymbolTraining) | {
    kind.name: kind for kind in (PairTraining, WordTraining)}


class Run:
    """The folder of a training: its checkpoint, its history, and what was measured at the end.

    config : the dict from which the training is made, see Training; the checkpoint holds it
    vocabulary : that of a new run, if it learned one, see Training

    `training` has the task, the model, and what trains it.
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
        """Return what a user of the run must know beforehand, as one line, or ""."""
        if self.optimizer.t == 0 or self.metrics.exists():
            return ""
        return (f"note: the training in {self.folder} did not end, it is at step"
                f" {self.optimizer.t}")

    @property
    def solved(self) -> bool:
        """Whether the last validation was perfect, so that training ends."""
        return bool(self.history) and self.history[-1].solved

    @property
    def ended(self) -> bool:
        """Whether no step is left to take."""
        return self.solved or self.optimizer.t >= self.training.steps

    def trained(self) -> Any:
        """Return the model to use: the average of the last states, which was validated."""
        return self.training.averaged()

    def pipeline(self) -> Any:
        """Return the trained model with its task, ready to use."""
        return self.training.pipeline(self.task, self.trained())

    def load(self) -> None:
        """Read the checkpoint; raise CheckpointError if it is damaged, or of another model."""
        load_checkpoint(self.checkpoint, self.model, **self.training.state)
        self.saved = self.optimizer.t

    def load_history(self) -> None:
        """Read history.csv up to the step of the checkpoint.

        Raises CheckpointError if the file is damaged, or of another run.
        """
        self.history = history.read_history(self.folder / "history.csv", self.training.record,
                                            self.optimizer.t, self.config.get("history"))

    def save(self) -> None:
        """Write history.csv, the checkpoint and a new vocabulary. Only rank 0 writes.

        The checkpoint is written last, so history.csv may hold more steps, never fewer. Raises
        ChangedError if another program has written the checkpoint since it was read.
        """
        if self.training.ranks.rank:
            return
        self.check_unchanged()
        if self.saved is None and self.training.learned is not None:
            self.training.learned.save(self.folder / VOCABULARY)
        self.config["history"] = history.digest_of(self.history)
        with replacing(self.folder / "history.csv") as file:
            file.write(history.csv_of(self.history, self.training.record))
        save_checkpoint(self.checkpoint, self.model, config=self.config, **self.training.state)
        self.saved = self.optimizer.t

    def check_unchanged(self) -> None:
        """Raise ChangedError unless the checkpoint is the one that was last read or written."""
        there = read_header(self.checkpoint)["step"] if self.checkpoint.exists() else None
        if there != self.saved:
            was = "missing" if self.saved is None else f"at step {self.saved}"
            now = "missing" if there is None else f"at step {there}"
            raise ChangedError(f"{self.checkpoint} must be as this training left it, {was}, but it"
                               f" is {now}: another program has changed it; this training ends"
                               " here and saves nothing more")

    def finish(self, seconds: float) -> Any:
        """Measure the trained model, and write metrics.json; return what the report tells.

        seconds : how long the training took, for metrics.json
        """
        found, measured = self.training.finish(self.history)
        self.save_metrics(**measured, seconds=seconds)
        return found

    def save_metrics(self, **measured: Any) -> None:
        """Write metrics.json, the last file, on rank 0: measurements, and a summary of the run."""
        if self.training.ranks.rank:
            return
        parameters = sum(p.value.size for p in self.model.parameters())
        known = dict(task=self.task.name, steps=self.optimizer.t, parameters=parameters,
                     seed=self.config["seed"])
        with replacing(self.metrics) as file:
            file.write((json.dumps(known | measured, indent=2) + "\n").encode())

    def measured(self) -> dict:
        """Return what metrics.json holds, {} if there is none; CheckpointError if it is damaged."""
        try:
            found = json.loads(self.metrics.read_bytes())
            if not isinstance(found, dict):
                raise ValueError(f"it must hold a dict, got {type(found).__name__}")
        except FileNotFoundError:
            return {}
        except (ValueError, RecursionError) as error:
            raise CheckpointError(f"{self.metrics} is not readable: {error}") from error
        return found

    def draw(self) -> list[Path]:
        """Save all pictures of the training; return the paths."""
        path = self.folder / "loss.png"
        save_figure(self.training.plot(self.history), path, dpi=120)
        example = self.training.examples(1)[0]
        return [path, *self.pipeline().draw_attention(example, self.folder)]
