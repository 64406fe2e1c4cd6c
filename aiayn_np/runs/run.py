"""A run: the folder of one training run, with its checkpoint, measurements and pictures."""

import csv
import hashlib
import io
import json
import math
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import asdict, fields
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ..decoding.beam import beam_search
from ..decoding.greedy import greedy_decode
from ..files import ChangedError, CheckpointError, replacing
from ..module import Cache
from ..plotting.figures import plot_attention_grid, plot_loss, save_figure
from ..plotting.maps import attention_maps, attention_masks
from ..training.checks import check_seed
from ..training.loop import AVERAGED, Progress, averaged, share_exact, train
from ..training.optimizer import Adam, warmup_rate
from ..training.ranks import ALONE
from ..training.tasks import TASKS
from ..transformer import Transformer
from ..variants.choices import keywords
from .checkpoint import read_header, save_checkpoint
from .estimates import large, training_bytes
from .states import STATES, KeptStates

KINDS = {  # file name -> the attentions it shows, and what they are called
    "encoder_self": ("encoder", "self_attention", "Encoder self-attention"),
    "decoder_self": ("decoder", "self_attention", "Decoder self-attention (masked)"),
    "cross": ("decoder", "cross_attention", "Encoder-decoder attention"),
}


class Run:
    """Model, task, optimizer and generator of a training run, made from its `config` alone.

    config : dict with "task" (name), "task_options", "model" (options of Transformer), "variants"
        (names of `variants.choices`), "dtype", "seed", "train" (the options of training);
        "keep_states", true if the run keeps states of the model while it trains
    """

    record: Any = Progress  # the class of the records in `history`
    trace_loss: Any = None  # the loss that `trace` uses; None is the loss of the training
    FILES: tuple[str, ...] = ("model.npz", "metrics.json", "history.csv")  # besides pictures
    note: str = ""  # what a user of the run must know beforehand
    command: str = "decode"  # of aiayn-np, which gives the model's output
    imported = False  # whether the model came from Hugging Face
    saved: int | None = None  # the step of the checkpoint when it was last read or written
    ranks: Any = ALONE  # or the Ranks that train it together: all hold the run, rank 0 writes

    def __init__(self, folder: str | Path, config: dict) -> None:
        check_seed(config["seed"])
        self.folder, self.config = Path(folder), config
        self.task = self.make_task()
        self.rng = np.random.default_rng(config["seed"])
        options = config["model"] | keywords(config["variants"])
        self.model = self.make_model(options).astype(config["dtype"])
        self.optimizer = self.make_optimizer()
        self.recent: deque[dict] = deque(maxlen=AVERAGED)
        self.history: list = []
        self.checkpoint, self.metrics = self.folder / "model.npz", self.folder / "metrics.json"
        keep = config.get("keep_states", False)
        self.states = KeptStates(self.folder / STATES) if keep else None

    def make_task(self) -> Any:
        """Return the task that the config names."""
        return TASKS[self.config["task"]](**self.config["task_options"])

    def make_model(self, options: dict) -> Any:
        """Return a new model of these options, which include the variants."""
        return Transformer(self.task.vocab_size, **options, rng=self.rng)

    def make_optimizer(self) -> Adam:
        """Return a new optimizer of the model."""
        return Adam(self.model)

    def prepare(self) -> list[str]:
        """Prepare the training data, and return notes on the data. A toy task needs nothing."""
        return []

    @property
    def steps(self) -> int:
        """The number of the last step."""
        return self.config["train"]["steps"]

    @property
    def stopped(self) -> bool:
        """Whether the training did not come to its end."""
        return self.optimizer.t > 0 and not self.metrics.exists()

    @property
    def rate_of(self) -> Callable[[int], float]:
        """The learning rate as a function of the step."""
        o = self.config["train"]
        return partial(warmup_rate, d_model=self.model.d_model, warmup_steps=o["warmup_steps"],
                       scale=o["rate_scale"])

    def train(self, *, threads: int | None = None) -> Iterator:
        """Go on with training after the last step, and yield a record of each step."""
        o = self.config["train"]
        return train(self.model, self.task, steps=o["steps"], batch_size=o["batch_size"],
                     eps_ls=o["eps_ls"], accumulate=o["accumulate"], schedule=self.rate_of,
                     workers=self.ranks, threads=threads, **self.training_state)

    def batch(self, step: int) -> tuple[np.ndarray, ...]:
        """Return the batch (src, tgt_in, tgt_out) of a step; steps must be taken in order."""
        return self.task.batch(self.config["train"]["batch_size"], self.rng)

    @property
    def files(self) -> list[str]:
        """Names of the files in the folder, besides pictures."""
        return [*self.FILES, self.states.path.name] if self.states else list(self.FILES)

    def keep_state(self) -> None:
        """Keep the model's state after this step, if the config asks for kept states."""
        if self.states:
            self.states.keep(self.optimizer.t, self.model)

    def announcement(self) -> Iterator[str]:
        """Yield lines about the training run that begins."""
        yield f"training on the task {self.task.name}, into {self.folder}"
        o = self.config["train"]
        yield from self.memory_line(o["batch_size"] * self.task.max_length)

    def memory_line(self, positions: int) -> Iterator[str]:
        """Yield a line if training needs much memory.

        positions : on one side of a batch
        """
        share = positions // (self.ranks.size * self.config["train"]["accumulate"])
        itemsize = next(self.model.parameters()).value.itemsize
        needed = training_bytes(self.task.vocab_size, share, **self.config["model"],
                                itemsize=itemsize)
        if line := large(needed, "training"):
            yield line

    @property
    def training_state(self) -> dict[str, Any]:
        """What training needs to go on, besides the model."""
        return dict(optimizer=self.optimizer, rng=self.rng, recent=self.recent)

    @property
    def solved(self) -> bool:
        """Whether the last validation was perfect."""
        return bool(self.history) and self.history[-1].validation == 1

    def trained(self) -> Any:
        """Return the model to use: the average of the last states, which was validated."""
        return averaged(self.model, self.recent)

    def save(self) -> None:
        """Write history.csv, the kept states and the checkpoint. Only rank 0 writes.

        The checkpoint is written last, so the other files may hold more steps, never fewer. Raises
        ChangedError if another program has written the checkpoint since it was read.
        """
        if self.ranks.rank:
            return
        self.check_unchanged()
        self.config["history"] = self.history_digest()
        with replacing(self.folder / "history.csv") as file:
            file.write(self.history_csv())
        if self.states:
            self.states.save()
        save_checkpoint(self.checkpoint, self.model, config=self.config,
                        **self.training_state)
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

    def history_csv(self) -> bytes:
        """Return the bytes of history.csv."""
        text = io.StringIO(newline="")
        writer = csv.DictWriter(text, [f.name for f in fields(self.record)])
        writer.writeheader()
        writer.writerows(asdict(p) for p in self.history)
        return text.getvalue().encode()

    def load_history(self) -> None:
        """Read history.csv up to the step of the checkpoint.

        Raises CheckpointError if the file is damaged, or of another run.
        """
        path = self.folder / "history.csv"
        last = self.optimizer.t
        self.history = []
        try:
            with open(path, newline="") as file:
                rows = list(csv.DictReader(file))
            counts = {f.name for f in fields(self.record) if f.type is int}
            records = [
                self.record(int(row.pop("step")), **{
                    k: int(float(v)) if k in counts else float(v) for k, v in row.items() if v})
                for row in rows
            ]
        except FileNotFoundError:
            return
        except (KeyError, TypeError, ValueError, OverflowError, csv.Error) as error:
            raise CheckpointError(f"{path} is not readable: {error}") from error
        self.history = [p for p in records if p.step <= last]
        self.check_history(path, last)

    def check_history(self, path: Path, last: int) -> None:
        """Raise CheckpointError unless the history is that of the checkpoint, which is at `last`.
        """
        steps = [p.step for p in self.history]
        if last and (not steps or steps != list(range(steps[0], last + 1))):
            raise CheckpointError(f"{path} must hold every step up to {last}, the checkpoint's,"
                                  " once and in order")
        for p in self.history:
            if not math.isfinite(p.loss):
                raise CheckpointError(f"{path}: every loss must be finite, got {p.loss} at step"
                                      f" {p.step}")
        if self.config.get("history", self.history_digest()) != self.history_digest():
            raise CheckpointError(f"{path} must be of the run in {self.checkpoint}, got that of"
                                  " another, or one that was changed")

    def history_digest(self) -> str:
        """Return the SHA-256 of the losses, by which a run recognises its history."""
        losses = [(p.step, p.loss) for p in self.history]
        return hashlib.sha256(repr(losses).encode()).hexdigest()

    def example(self, src: np.ndarray) -> tuple:
        """Return a batch of one source (1, T) and its right target."""
        return self.task.examples_of([src[0, :-1]])

    @property
    def ends(self) -> dict[str, Any]:
        """The ids that begin and end a sequence."""
        return dict(bos=self.task.bos, eos=self.task.eos)

    def test(self, n: int = 2000) -> tuple[float, tuple[np.ndarray, ...]]:
        """Return (share of the test examples that are decoded exactly, the examples).

        Training and validation never use these examples.

        n : how many test examples; fewer if the task has fewer
        """
        examples = self.task.test(n)
        return share_exact(self.trained(), examples, self.ranks, **self.ends), examples

    def finish(self, seconds: float) -> Any:
        """Measure the trained model on the test set, and write metrics.json.

        Returns (share of the test sequences that are decoded exactly, the test sequences).

        seconds : how long the training took, for metrics.json
        """
        share, examples = self.test()
        self.save_metrics(exact_match=share, held_out=len(examples[0]), seconds=seconds)
        return share, examples

    def report(self, found: Any, seconds: float) -> Iterator[str]:
        """Yield lines about the outcome, and a few test sequences with the model's output."""
        share, (src, _, tgt_out) = found
        outcome = "solved" if self.solved else "not solved"
        yield (f"{self.task.name}: {outcome} after {self.optimizer.t} steps, "
               f"{share:.2%} of {len(src)} test sequences exact, {seconds:.1f} s\n")
        src, tgt_out = src[:6], tgt_out[:6]
        text, out = self.task.text, self.decode(src, max_len=tgt_out.shape[1])
        rows = [(text(s), text(o), text(t)) for s, o, t in zip(src, out, tgt_out)]
        width = max(len("source"), *(len(cell) for row in rows for cell in row))
        yield f"{'source':<{width}}   {'output':<{width}}"
        for source, output, want in rows:
            right = "right" if output == want else "wrong"
            yield f"{source:<{width}}   {output:<{width}}   {right}"

    def save_metrics(self, **measured: Any) -> None:
        """Write metrics.json, the last file, on rank 0: measurements, and a summary of the run."""
        if self.ranks.rank:
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

    def decode(self, src: np.ndarray, max_len: int | None = None, *, beam: int = 1,
               alpha: float = 0.6) -> np.ndarray:
        """Return output ids for source ids: greedy if `beam` is 1, else by beam search."""
        if beam == 1:
            return greedy_decode(self.trained(), src, **self.ends, max_len=max_len)
        return beam_search(self.trained(), src, **self.ends, beam=beam, alpha=alpha,
                           max_len=max_len)

    def attention(self, src: np.ndarray) -> tuple[list, list, dict, dict]:
        """Return (source tokens, target tokens, maps, masks) of one source (1, T).

        The target is the model's own output.
        """
        _, tgt, _ = self.answered(src)
        return self.source_tokens(src), self.task.tokens(tgt[0]), *self.maps(src, tgt)

    def answered(self, src: np.ndarray) -> tuple[np.ndarray, ...]:
        """Return a batch of one source (1, T), with the model's own output as its target."""
        out = self.decode(src)
        return src, np.concatenate([[[self.task.bos]], out[:, :-1]], axis=1), out

    def source_tokens(self, src: np.ndarray) -> list:
        """Return a label for each id of one source (1, T)."""
        return self.task.tokens(src[0])

    def forward(self, *ids: np.ndarray) -> tuple[np.ndarray, Cache]:
        """Return (logits, cache) of the model to use."""
        return self.trained().forward(*ids)

    def maps(self, *ids: np.ndarray) -> tuple[dict, dict]:
        """Return (maps, masks) of one row of ids, {name of the attention: array} each."""
        _, cache = self.forward(*ids)
        return ({name: weights[0] for name, weights in attention_maps(cache).items()},
                {name: allowed[0] for name, allowed in attention_masks(cache).items()})

    def draw_attention(self, src: np.ndarray, folder: str | Path, prefix: str = '') -> list[Path]:
        """Save a picture of every layer and head for each kind of attention; return the paths."""
        src_tokens, tgt_tokens, maps, masks = self.attention(src)
        paths = []
        for kind, (stack, attention, title) in KINDS.items():
            chosen = {n: w for n, w in maps.items() if n.startswith(stack) and attention in n}
            if chosen:                                                 # it keeps its maps
                queries = src_tokens if stack == "encoder" else tgt_tokens
                keys = src_tokens if kind != "decoder_self" else tgt_tokens
                title = f"{title}, task {self.task.name}: row = reader, column = what it reads"
                fig = plot_attention_grid(chosen, queries, keys, masks=masks, title=title)
                paths.append(Path(folder) / f"{prefix}attention_{kind}.png")
                save_figure(fig, paths[-1], dpi=120)
        return paths

    def test_sources(self, n: int = 5) -> list[np.ndarray]:
        """Return n sources (1, T) of the test set: the longest, and then the first others."""
        src = self.task.test(2000)[0]
        longest = self.task.longest(src)
        others = src[(src != longest).any(axis=1)][: n - 1]
        return [row[row != self.task.pad][None] for row in [*longest, *others]]

    def draw(self) -> list[Path]:
        """Save all pictures of the training; return the paths."""
        path = self.folder / "loss.png"
        save_figure(self.plot_history(), path, dpi=120)
        return [path, *self.draw_attention(self.test_sources()[0], self.folder)]

    def plot_history(self) -> Any:
        """Return a Figure of the training curve."""
        return plot_loss(self.history, title=f"Training on the task {self.task.name}")
