"""The command `train text`: from files of sentence pairs to a run and its results."""

import contextlib
import shlex
import sys
import time
from pathlib import Path

from .cli_train import (
    CHOICES,
    TRAIN_OPTIONS,
    UsageError,
    free_folder,
    interruptible,
    note,
    progress_bar,
    train_command,
    value_of,
)
from .text.presets import PRESETS
from .text.speed import Told, clock

FILES = ("pairs", "source", "target", "validation_pairs", "validation_source", "validation_target")
TEXT_OPTIONS = [  # flag, type, help; the defaults are those of the preset
    ("--preset", list(PRESETS), "sizes that go together (default: small)"),
    ("--vocabulary", int, "pieces of the vocabulary of both languages"),
    ("--tokens", int, "positions in the sources of a batch, and in its targets"),
    ("--epochs", float, "times that all pairs are seen"),
    ("--bleu-every", int, "epochs between two measurements of BLEU (default: 1)"),
]
TOY = ("--steps", "--symbols", "--batch-size")  # options of toy tasks alone
SHARED = [flag for flag, *_ in TRAIN_OPTIONS if flag not in TOY]
SAVE_EVERY = 120  # seconds


def add_text_options(parser):
    """The options that `train text` alone has."""
    group = parser.add_argument_group(
        "for the task text", "the sizes and rates of the other options then come from the preset;"
        " without files for validation some pairs are held out at random",
    )
    for name in FILES:
        what = "file of lines, UTF-8 or .gz" + "; lines of source, tab, target" * ("pairs" in name)
        group.add_argument(f"--{name.replace('_', '-')}", type=Path, metavar="FILE", help=what)
    for flag, kind, what in TEXT_OPTIONS:
        values = {"choices": kind} if isinstance(kind, list) else {"type": kind}
        group.add_argument(flag, **values, help=what)


def train_any_command(args):
    """`train text` if text is the task, else training on a toy task; with its own options only."""
    is_text = args.task == "text"
    files = [f"--{name.replace('_', '-')}" for name in FILES]
    for flag in TOY if is_text else [*files, *(flag for flag, *_ in TEXT_OPTIONS)]:
        if value_of(args, flag) is not None:
            raise UsageError(f"{flag} is no option of the task {args.task}")
    return train_text_command(args) if is_text else train_command(args)


def train_text_command(args):
    """Train on sentence pairs, then measure and draw what came out."""
    started = time.perf_counter()
    run, notes = resumed_run(args) if args.resume else new_run(args)
    for line in notes:
        note(line)
    earlier = run.history[-1].seconds if run.history else 0.0
    announce(run)
    if not take_steps(run, earlier):
        command = ["aiayn-np", "train", "text", "--out", str(run.folder), "--resume"]
        note(f"interrupted after step {run.optimizer.t}; go on with: {shlex.join(command)}")
        return 1
    found = run.finish(round(earlier + time.perf_counter() - started, 1))
    run.draw_loss()
    run.draw_attention(run.test_sources()[0], run.folder)
    print(*run.report(found), sep="\n")
    print(f"In {run.folder}: model.npz, vocabulary.model, metrics.json, history.csv, loss.png,"
          " attention_cross.png")
    return 0


def new_run(args):
    """A fresh run, in a folder that holds none."""
    from .text.start import start

    folder = args.out or free_folder(Path("runs") / "text")
    if (folder / "model.npz").exists():
        raise UsageError(f"{folder} holds a run already: --resume to go on, another --out to begin")
    given = {name_of(flag): value_of(args, flag) for flag in given_flags(args)}
    variants = {option: given.pop(option) for option in CHOICES if option in given}
    files = {name: getattr(args, name) for name in FILES}
    dtype = "float64" if args.float64 else "float32"
    return start(folder, files, dtype=dtype, variants=variants, **given)


def name_of(flag):
    """The name of a flag in Python."""
    return flag[2:].replace("-", "_")


def given_flags(args):
    """The options that the command line names, of those that make a run."""
    flags = [*SHARED, *(flag for flag, *_ in TEXT_OPTIONS)]
    return [flag for flag in flags if value_of(args, flag) is not None]


def resumed_run(args):
    """The run in --out, with --epochs and --workers-as if they are given; other options are the
    run's own."""
    from .run import Run
    from .text.run import TextRun
    from .text.start import check_options

    if args.out is None:
        raise UsageError("--resume needs --out, the folder of the run to go on with")
    files = [f"--{name.replace('_', '-')}" for name in FILES if getattr(args, name) is not None]
    for flag in files + given_flags(args) + ["--float64"] * args.float64:
        if flag not in ("--epochs", "--workers-as"):
            raise UsageError(f"{flag} is fixed by the run in {args.out}: not with --resume")
    run = Run.load(args.out)
    if not isinstance(run, TextRun):
        raise UsageError(f"{args.out} is a run of the task {run.task.name}, not text")
    run.load_history()
    if args.epochs is not None:
        run.config["train"]["epochs"] = args.epochs
    if args.workers_as is not None:                                    # the results are the same
        run.config["train"]["workers_as"] = args.workers_as
    check_options(run.config["train"])
    notes = run.prepare()
    left = run.steps - run.optimizer.t
    if left < 0 or (left == 0 and run.metrics.exists()):
        raise UsageError(f"nothing to do: the run in {args.out} is at step {run.optimizer.t} of"
                         f" {run.steps} already")
    return run, notes


def announce(run):
    """What will be trained on what, and what it is going to need."""
    from .text.estimates import memory_of, seconds_of_epoch, size

    batches, options = run.batches, run.config["train"]
    real, padded = batches.tokens()
    parameters = sum(p.value.size for p in run.model.parameters())
    note(f"{len(batches.pairs):,} pairs for training, {len(run.validation):,} for validation;"
         f" {run.task.vocab_size:,} pieces, {parameters:,} parameters")
    note(f"an epoch: {batches.per_epoch} batches of at most {batches.budget} positions a side,"
         f" {real:,} tokens, {1 - real / padded:.1%} of positions are padding")
    seconds = seconds_of_epoch(run.team, batches)
    left = options["epochs"] - run.optimizer.t / batches.per_epoch
    workers = options["workers"], options.get("workers_as", "threads")
    memory = memory_of(run.model, batches, *workers)
    note(f"estimated: {size(memory)} of memory, {clock(seconds)} for an epoch,"
         f" {clock(seconds * left)} for {left:.3g} epochs, without validation")


def take_steps(run, earlier):
    """Train, reporting and saving; false when interrupted. Ctrl-C lets the step end, then saves."""
    run.metrics.unlink(missing_ok=True)                                # they will be others
    saved = time.perf_counter()
    told = Told(run.steps, run.batches.per_epoch, run.optimizer.t)
    bar = progress_bar(run.steps, run.optimizer.t)
    with interruptible(run) as pressed, bar or contextlib.nullcontext():
        for progress in run.train():
            progress.seconds += earlier
            run.history.append(progress)
            tell(told.take(progress), bar)
            measured = progress.validation_loss is not None
            if measured or pressed or time.perf_counter() - saved > SAVE_EVERY:
                run.save()
                saved = time.perf_counter()
            if pressed:
                return False
    return True


def tell(line, bar):
    """A line, if there is one, on stderr, above the bar if there is one; and the bar moves."""
    if bar is not None:
        bar.update()
    if line is not None:
        note(line) if bar is None else bar.write(line, file=sys.stderr)
