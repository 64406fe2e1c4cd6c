"""A run: the folder of one training, with its checkpoint, its numbers and its pictures."""

import csv
import io
import json
from collections import deque
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import numpy as np

from .beam import beam_search
from .checkpoint import (
    CheckpointError,
    load_checkpoint,
    read_checkpoint,
    replacing,
    save_checkpoint,
)
from .checks import check_seed
from .decoding import exact_match, greedy_decode
from .explorer import Attention
from .maps import attention_maps, attention_masks
from .optimizer import Adam
from .plotting import plot_attention_grid, plot_loss
from .tasks import TASKS
from .training import AVERAGED, Progress, averaged
from .transformer import Transformer
from .variants.choices import keywords

KINDS = {  # file name -> the attentions it shows, and what they are called
    "encoder_self": ("encoder", "self_attention", "Encoder self-attention"),
    "decoder_self": ("decoder", "self_attention", "Decoder self-attention (masked)"),
    "cross": ("decoder", "cross_attention", "Encoder-decoder attention"),
}


class Run:
    """Model, task, optimizer and generator of a training, made from its `config` alone.

    config : dict with "task" (name), "task_options", "model" (options of Transformer), "variants"
        (names of `variants.choices`), "dtype", "seed", "train" (options of `train`)
    """

    record: Any = Progress  # what is noted of a step

    def __init__(self, folder, config):
        check_seed(config["seed"])
        self.folder, self.config = Path(folder), config
        self.task = self.make_task()
        self.rng = np.random.default_rng(config["seed"])
        options = config["model"] | keywords(config["variants"])
        model = Transformer(self.task.vocab_size, **options, rng=self.rng)
        self.model = model.astype(config["dtype"])
        self.optimizer = Adam(self.model.parameters())
        self.recent: deque[dict] = deque(maxlen=AVERAGED)
        self.history: list = []
        self.checkpoint, self.metrics = self.folder / "model.npz", self.folder / "metrics.json"

    @classmethod
    def load(cls, folder):
        """The run in a folder, ready to decode or to go on. FileNotFoundError, CheckpointError."""
        path = Path(folder) / "model.npz"
        config = read_checkpoint(path)[0]["config"]
        try:
            run = class_of(config["task"])(folder, config)
        except (KeyError, TypeError, ValueError) as error:
            raise CheckpointError(f"{path} has no usable config: {error}") from error
        load_checkpoint(path, run.model, **run.training_state)
        return run

    def make_task(self):
        """The task that the config names."""
        return TASKS[self.config["task"]](**self.config["task_options"])

    @property
    def training_state(self):
        """What training goes on with, besides the model."""
        return dict(optimizer=self.optimizer, rng=self.rng, recent=self.recent)

    @property
    def solved(self):
        """Whether the last validation was perfect."""
        return bool(self.history) and self.history[-1].validation == 1

    def trained(self):
        """The model to use: the average of the last states, the one that was validated."""
        return averaged(self.model, self.recent)

    def save(self):
        """Write history.csv and the checkpoint: the history may know more steps, never fewer."""
        text = io.StringIO(newline="")
        writer = csv.DictWriter(text, [f.name for f in fields(self.record)])
        writer.writeheader()
        writer.writerows(asdict(p) for p in self.history)
        with replacing(self.folder / "history.csv") as file:
            file.write(text.getvalue().encode())
        save_checkpoint(self.checkpoint, self.model, config=self.config, **self.training_state)

    def load_history(self):
        """Read history.csv up to the step of the checkpoint. CheckpointError if it is damaged."""
        path = self.folder / "history.csv"
        try:
            with open(path, newline="") as file:
                rows = list(csv.DictReader(file))
            records = [
                self.record(int(row.pop("step")), **{k: float(v) for k, v in row.items() if v})
                for row in rows
            ]
        except FileNotFoundError:
            records = []
        except (KeyError, TypeError, ValueError) as error:
            raise CheckpointError(f"{path} is not readable: {error}") from error
        self.history = [p for p in records if p.step <= self.optimizer.t]

    def example(self, src):
        """A batch of one source (1, T) without its end, and what should come out of it."""
        return self.task.examples_of([src[0, :-1]])

    @property
    def ends(self):
        """The ids that begin and end a sequence."""
        return dict(bos=self.task.bos, eos=self.task.eos)

    def test(self, n=2000):
        """(share decoded exactly, the test examples): nothing was selected on these."""
        examples = self.task.test(n)
        return exact_match(self.trained(), examples, **self.ends), examples

    def save_metrics(self, **measured):
        """Write metrics.json: what was measured, and what the run is."""
        parameters = sum(p.value.size for p in self.model.parameters())
        known = dict(task=self.task.name, steps=self.optimizer.t, parameters=parameters,
                     seed=self.config["seed"])
        with replacing(self.metrics) as file:
            file.write((json.dumps(known | measured, indent=2) + "\n").encode())

    def decode(self, src, max_len=None, *, beam=1, alpha=0.6):
        """Output ids for source ids: greedy for a beam of 1, else by a beam search."""
        if beam == 1:
            return greedy_decode(self.trained(), src, **self.ends, max_len=max_len)
        options = dict(beam=beam, alpha=alpha, max_len=max_len)
        return beam_search(self.trained(), src, **self.ends, **options)

    def attention(self, src):
        """(source tokens, target tokens, maps, masks) of one source (1, T) and its own output."""
        out = self.decode(src)
        tgt = np.concatenate([[[self.task.bos]], out[:, :-1]], axis=1)
        _, cache = self.trained().forward(src, tgt)
        maps = {name: weights[0] for name, weights in attention_maps(cache).items()}
        masks = {name: allowed[0] for name, allowed in attention_masks(cache).items()}
        return self.task.tokens(src[0]), self.task.tokens(tgt[0]), maps, masks

    def attention_by_kind(self, src):
        """For each of KINDS that keeps its maps: (kind, title, queries, keys, maps, masks)."""
        src_tokens, tgt_tokens, maps, masks = self.attention(src)
        for kind, (stack, attention, title) in KINDS.items():
            chosen = {n: w for n, w in maps.items() if n.startswith(stack) and attention in n}
            queries = src_tokens if stack == "encoder" else tgt_tokens
            keys = src_tokens if kind != "decoder_self" else tgt_tokens
            if chosen:
                yield kind, title, queries, keys, chosen, masks

    def draw_attention(self, src, folder, prefix=""):
        """Save a picture of every layer and head for each kind of attention; return the paths."""
        paths = []
        for kind, title, queries, keys, maps, masks in self.attention_by_kind(src):
            title = f"{title}, task {self.task.name}: row = reader, column = what it reads"
            fig = plot_attention_grid(maps, queries, keys, masks=masks, title=title)
            paths.append(Path(folder) / f"{prefix}attention_{kind}.png")
            fig.savefig(paths[-1], dpi=120)
        return paths

    def explorer_examples(self, sources):
        """(name, attentions) of each source (1, T), for `explorer`: what the model makes of it."""
        examples = []
        for src in sources:
            attentions = [
                Attention(title, queries, keys, maps.values(), [masks[n] for n in maps], kind)
                for kind, title, queries, keys, maps, masks in self.attention_by_kind(src)
            ]
            name = f"{self.task.text(src[0])} → {self.task.text(self.decode(src)[0])}"
            examples.append((name, attentions))
        return examples

    def test_sources(self, n=5):
        """n sources (1, T) of the test set: its longest, and the first others."""
        src = self.task.test(2000)[0]
        longest = self.task.longest(src)
        others = src[(src != longest).any(axis=1)][: n - 1]
        return [row[row != self.task.pad][None] for row in [*longest, *others]]

    def draw_loss(self):
        """Save the training curve; return its path."""
        path = self.folder / "loss.png"
        fig = plot_loss(self.history, title=f"Training on the task {self.task.name}")
        fig.savefig(path, dpi=120)
        return path


def class_of(task):
    """The kind of run that a task is trained in."""
    if task in TASKS:
        return Run
    from .text.run import TextRun

    return {TextRun.name: TextRun}[task]
