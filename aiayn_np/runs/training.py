"""The training of a task: the base class of the three kinds, symbols, sentence pairs and texts."""

from collections import deque
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ..pipelines.pipeline import Pipeline
from ..training.loop import AVERAGED, averaged
from ..training.optimizer import Adam, warmup_rate
from ..training.ranks import ALONE
from ..transformer import Transformer
from ..variants.choices import keywords
from .estimates import large, training_bytes


class Training:
    """A task with its data, the model that learns it, its optimizer and its generator.

    A kind of training also has these methods:

    prepare()                         make the data ready; returns notes on the data
    run(threads)                      train to the last step, and yield the record of each step
    announcement(folder)              lines about the training that begins
    finish(history)                   (what `report` tells, numbers for metrics.json)
    report(found, seconds, solved)    lines about the outcome, and some of the model's output
    examples(n)                       at most n sources (1, T) that were not trained on
    plot(history)                     a Figure of the training curve

    config : dict with "task" (name), "model" (options of Transformer), "variants" (names of
        `variants.choices`), "dtype", "seed", "train" (the options of training), and what a subclass
        adds
    vocabulary : that of a new run, if it learned one; a saved run reads that in its folder

    `recent` holds the model's last states, which are averaged.
    """

    name = ""  # of the task, in a config
    record: Any  # the class of the records of its steps
    pipeline: Any = Pipeline  # the class that uses the trained model
    files: tuple[str, ...] = ()  # names of files in the folder that only this kind of run has
    per_epoch: int | None = None  # steps of an epoch, for data that has an end
    ranks: Any = ALONE  # or the Ranks that train together: all hold the training, rank 0 writes

    def __init__(self, folder: Path, config: dict, vocabulary: Any = None) -> None:
        self.config, self.options, self.learned = config, config["train"], vocabulary
        self.task = self.make_task(folder)
        self.rng = np.random.default_rng(config["seed"])
        options = config["model"] | keywords(config["variants"])
        self.model = self.make_model(options).astype(config["dtype"])
        self.optimizer = self.make_optimizer()
        self.recent: deque[dict] = deque(maxlen=AVERAGED)

    def make_task(self, folder: Path) -> Any:
        """Return the task that the config describes; it may read the folder."""
        raise NotImplementedError

    def make_model(self, options: dict) -> Any:
        """Return a new model of these options, which include the variants."""
        return Transformer(self.task.vocab_size, **options, rng=self.rng)

    def make_optimizer(self) -> Adam:
        """Return a new optimizer of the model."""
        return Adam(self.model)

    @property
    def state(self) -> dict[str, Any]:
        """What training needs to go on, besides the model."""
        return dict(optimizer=self.optimizer, rng=self.rng, recent=self.recent)

    @property
    def steps(self) -> int:
        """The number of the last step."""
        return self.options["steps"]

    @property
    def rate_of(self) -> Callable[[int], float]:
        """The learning rate as a function of the step, Eq. (3)."""
        return partial(warmup_rate, d_model=self.model.d_model, scale=self.options["rate_scale"],
                       warmup_steps=self.options["warmup_steps"])

    def averaged(self) -> Any:
        """Return a copy of the model with the average of its last states (Sec. 6.1)."""
        return averaged(self.model, self.recent)

    def memory_line(self, positions: int) -> Iterator[str]:
        """Yield a line if training needs much memory.

        positions : on one side of a batch
        """
        share = positions // (self.ranks.size * self.options["accumulate"])
        itemsize = next(self.model.parameters()).value.itemsize
        needed = training_bytes(self.task.vocab_size, share, **self.config["model"],
                                itemsize=itemsize)
        if line := large(needed, "training"):
            yield line
