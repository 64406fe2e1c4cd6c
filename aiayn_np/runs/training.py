"""The training of a task: the base class of the three kinds, symbols, sentence pairs and texts."""

import math
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from ..checks import check_number, check_sizes
from ..files import CheckpointError
from ..pipelines.pipeline import Pipeline
from ..text.pairs import digest_of
from ..text.vocabulary import Vocabulary
from ..training import loop
from ..training.gradient import SharedGradient
from ..training.loss import LabelSmoothedCrossEntropy
from ..training.optimizer import Adam, warmup_rate
from ..training.ranks import ALONE, Alone
from ..transformer import Transformer
from ..variants.choices import CHOICES, keywords

VOCABULARY = "vocabulary.model"
SIZES = dict(N=int, d_model=int, d_ff=int, h=int, P_drop=float)  # of a model
COUNTS = {"steps", "batch_size", "tokens", "symbols", "max_length", "vocab_size", "warmup_steps",
          "accumulate", "bleu_every", "average_every", "validate_every", "N", "d_model", "d_ff"}


def check_options(options: dict) -> None:
    """Raise TypeError or ValueError for bad options of a training or bad sizes of its model."""
    check_sizes(**{name: value for name, value in options.items() if name in COUNTS})
    rows = options.get("batch_size", options.get("tokens"))
    if rows is not None and options.get("accumulate", 1) > rows:
        raise ValueError(f"accumulate must be at most the rows or tokens of a batch, {rows}, got"
                         f" accumulate={options['accumulate']}")
    for name, high in (("epochs", 1e6), ("rate_scale", math.inf), ("eps_ls", 1)):
        if name in options:
            check_number(name, options[name], 0, high, open_low=name == "epochs")


def speed(history: list) -> dict[str, int]:
    """Return the tokens of all steps, and the tokens of a second."""
    tokens = int(sum(record.tokens for record in history))
    return dict(tokens=tokens, tokens_per_second=round(tokens / max(history[-1].seconds, 1e-9)))


class Training(ABC):
    """A task with its data, a model that learns it, the optimizer and the generator.

    config : a dict of the shape `shape`, with "task" (name), "model" (options of the model),
        "variants" (names of `variants.choices`), "dtype", "seed", "train" (the options of
        training), and what a kind of training adds
    vocabulary : the vocabulary that a new run has learned; a saved run reads it in its folder
    """

    shape: ClassVar[dict] = dict(  # the shape of a config, as in shape.py
        task=str, seed=int, dtype={"float32", "float64"}, model=SIZES | dict(max_len=int),
        variants={option: set(names) for option, names in CHOICES.items()},
        train=dict(eps_ls=float, warmup_steps=int, rate_scale=float, accumulate=int))
    name: ClassVar[str]  # the task in a config; toy tasks have their own names
    record: ClassVar[type]  # the class of the records of steps
    pipeline: ClassVar[type[Pipeline]]  # the class that uses the trained model
    measure: Callable = staticmethod(loop.token_nats)  # loss cache -> the scores of a step
    batches: Any = None  # the data for training; `prepare` makes them
    held_out: Any = None  # the data for validation; `prepare` makes them
    ranks: Alone = ALONE  # the processes that share each batch; all hold the training

    def __init__(self, folder: Path, config: dict, vocabulary: Any = None) -> None:
        self.config, self.options, self.learned = config, config["train"], vocabulary
        self.task = self.make_task(folder)
        self.rng = np.random.default_rng(config["seed"])
        self.model = self.make_model().astype(config["dtype"])
        self.optimizer = self.make_optimizer()
        self.recent: deque[dict] = deque(maxlen=loop.AVERAGED)         # states for the average
        self.state: dict[str, Any] = dict(optimizer=self.optimizer, rng=self.rng,
                                          recent=self.recent)          # to go on, with the model

    def make_model(self) -> Any:
        """Make the model that the config describes."""
        return Transformer(self.task.vocab_size, **self.config["model"],
                           **keywords(self.config["variants"]), rng=self.rng)

    def make_optimizer(self) -> Adam:
        """Make the optimizer of the model."""
        return Adam(self.model)

    def rate(self, step: int) -> float:
        """Return the learning rate of a step, Eq. (3)."""
        return warmup_rate(step, d_model=self.model.d_model, scale=self.options["rate_scale"],
                           warmup_steps=self.options["warmup_steps"])

    @property
    def steps(self) -> int:
        """The number of the last step."""
        return self.options["steps"]

    @property
    def validate_every(self) -> int:
        """The number of steps between two validations."""
        return self.options["validate_every"]

    @abstractmethod
    def make_task(self, folder: Path) -> Any:
        """Return the task that the config describes; the folder may hold its vocabulary."""

    @abstractmethod
    def prepare(self, data: Any = None) -> list[str]:
        """Read or make the data; return notes on them.

        data : the data, if they were read before

        Raises OSError, and ValueError if the data are not those that the run began with.
        """

    @abstractmethod
    def batch(self, step: int) -> tuple[np.ndarray, ...]:
        """Return the batch (*inputs, targets) of a step; steps must come in their order."""

    @abstractmethod
    def record_of(self, s: loop.Step) -> Any:
        """Return the record of a step."""

    @abstractmethod
    def validate(self, record: Any) -> None:
        """Validate the model, and write the result into the record of the last step."""

    @abstractmethod
    def finish(self, history: list) -> tuple[dict, Iterable[str]]:
        """Measure the trained model; return (numbers for metrics.json, lines to print)."""

    @abstractmethod
    def examples(self, n: int = 5) -> list[np.ndarray]:
        """Return at most n sources (1, T) that were not trained on."""

    @abstractmethod
    def plot(self, history: list) -> Any:
        """Return a Figure of the training curve."""

    @property
    def parameters(self) -> int:
        """The number of numbers in the parameters of the model."""
        return sum(p.value.size for p in self.model.parameters())

    def run(self, *, threads: int | None = None) -> Iterator:
        """Train to the last step, or until a toy task is solved; yield the record of each step."""
        check_sizes(threads=1 if threads is None else threads)
        o = self.options
        criterion = LabelSmoothedCrossEntropy(o["eps_ls"], pad=self.task.pad)
        gradient = SharedGradient(self.model, criterion, self.measure, self.optimizer, self.ranks,
                                  o["accumulate"])
        taken = loop.training_steps(
            self.model, criterion, self.optimizer, self.batch, self.rate, steps=self.steps,
            rng=self.rng, gradient=gradient, threads=threads)
        return loop.validated(
            self.model, map(self.record_of, taken), self.recent, self.validate, last=self.steps,
            every=self.validate_every, threads=threads,
            average_every=o.get("average_every", loop.AVERAGED_EVERY))

    def vocabulary(self, folder: Path) -> Vocabulary:
        """Return the run's vocabulary; raise CheckpointError if its folder has another run's."""
        if self.learned is not None:
            return self.learned
        vocabulary = Vocabulary.load(folder / VOCABULARY)
        if digest_of(vocabulary.model) != self.config["vocabulary"]:
            raise CheckpointError(f"{folder / VOCABULARY} is not the vocabulary of this run")
        return vocabulary

    def averaged(self) -> Any:
        """Return a copy of the model with the average of its last states (Sec. 6.1)."""
        return loop.averaged(self.model, self.recent)
