"""The command `train`: a run from its first step, or from where it was left, to its results."""

import contextlib
import os
import shlex
import signal
import sys
import time
from pathlib import Path

import numpy as np

from .variants.choices import CHOICES

TRAIN_OPTIONS = [  # flag, type, default, help; None on the command line means the default
    ("--seed", int, 0, "of weights, batches and dropout"),
    ("--steps", int, 4000, "stop after this many steps at the latest"),
    ("--symbols", int, 10, "number of different symbols"),
    ("--max-length", int, 10, "longest sequence; text: 100 tokens"),
    ("--batch-size", int, 64, "sequences in a batch"),
    ("--N", int, 2, "layers in each stack"),
    ("--d-model", int, 64, "width of the model"),
    ("--d-ff", int, 256, "inner width of the feed-forward network"),
    ("--h", int, 4, "heads"),
    ("--P-drop", float, 0.0, "dropout"),
    ("--eps-ls", float, 0.1, "label smoothing"),
    ("--warmup-steps", int, 100, "of Eq. (3)"),
    ("--rate-scale", float, 0.2, "factor on the rate of Eq. (3)"),
    ("--workers", int, 1, "threads or processes that share each batch"),
    ("--workers-as", ["threads", "processes"], "threads",
     "what several workers are; processes are faster for small models, on Linux"),
    *(
        (f"--{option}", list(names), next(iter(names)), "a variant, or the paper's")
        for option, names in CHOICES.items()
    ),
]


class UsageError(Exception):
    """A request that cannot be carried out; ends with exit code 2."""


def train_command(args):
    """Train, then test and draw what came out."""
    started = time.perf_counter()
    run = resumed_run(args) if args.resume else new_run(args)
    earlier = run.history[-1].seconds if run.history else 0.0
    if not take_steps(run):
        command = ["aiayn-np", "train", run.task.name, "--out", str(run.folder), "--resume"]
        note(f"interrupted after step {run.optimizer.t}; go on with: {shlex.join(command)}")
        return 1
    share, test = run.test()
    seconds = round(earlier + time.perf_counter() - started, 2)
    run.save_metrics(exact_match=share, held_out=len(test[0]), seconds=seconds)
    print_result(run, share, test, seconds)
    run.draw_loss()
    run.draw_attention(run.task.longest(test[0]), run.folder)
    print(f"\nIn {run.folder}: model.npz, metrics.json, history.csv, loss.png, attention_*.png")
    return 0


def take_steps(run):
    """Train, reporting and saving; false when interrupted. Ctrl-C lets the step end, then saves."""
    from .training import train

    options = run.config["train"]
    steps = train(run.model, run.task, **options, **run.training_state)
    make_writable(run.folder)
    if run.solved or run.optimizer.t >= options["steps"]:
        return True
    note(f"training on the task {run.task.name}, into {run.folder}")
    run.metrics.unlink(missing_ok=True)                                # they will be others
    earlier = run.history[-1].seconds if run.history else 0.0
    with interruptible(run) as pressed, Reporter(options["steps"], run.optimizer.t) as reporter:
        for progress in steps:
            progress.seconds += earlier
            run.history.append(progress)
            reporter.report(progress)
            if progress.validation is not None or pressed:
                run.save()
            if pressed:
                return False
    return True


@contextlib.contextmanager
def interruptible(run):
    """A list that Ctrl-C fills, so that the step can end first; a second Ctrl-C is at once.

    A loss that is not finite ends the training with a word on what is saved of the run.
    """
    pressed: list[str] = []

    def interrupt(*_):
        pressed.append("Ctrl-C")
        signal.signal(signal.SIGINT, signal.default_int_handler)

    handler = signal.signal(signal.SIGINT, interrupt)
    try:
        with np.errstate(all="ignore"):
            yield pressed
    except FloatingPointError as error:
        saved = "the last good checkpoint is kept" if run.checkpoint.exists() else "nothing saved"
        raise FloatingPointError(f"{error}; {saved}") from None
    finally:
        signal.signal(signal.SIGINT, handler)


def new_run(args):
    """A fresh run, in a folder that holds none."""
    from .run import Run

    o: dict = {flag: default for flag, _, default, _ in TRAIN_OPTIONS}
    o |= {flag: value_of(args, flag) for flag in o if value_of(args, flag) is not None}
    config = dict(
        task=args.task, seed=o["--seed"], dtype="float64" if args.float64 else "float32",
        task_options=dict(symbols=o["--symbols"], max_length=o["--max-length"]),
        model=dict(N=o["--N"], d_model=o["--d-model"], d_ff=o["--d-ff"], h=o["--h"],
                   P_drop=o["--P-drop"], max_len=o["--max-length"] + 52),
        variants={option: o[f"--{option}"] for option in CHOICES},
        train=dict(steps=o["--steps"], batch_size=o["--batch-size"], eps_ls=o["--eps-ls"],
                   warmup_steps=o["--warmup-steps"], rate_scale=o["--rate-scale"],
                   workers=o["--workers"], workers_as=o["--workers-as"]),
    )
    folder = args.out or free_folder(Path("runs") / args.task)
    if (folder / "model.npz").exists():
        raise UsageError(f"{folder} holds a run already: --resume to go on, another --out to begin")
    return Run(folder, config)


def resumed_run(args):
    """The run in --out, with --steps and --workers-as if they are given; other options are the
    run's own."""
    from .run import Run

    if args.out is None:
        raise UsageError("--resume needs --out, the folder of the run to go on with")
    given = [flag for flag, *_ in TRAIN_OPTIONS if value_of(args, flag) is not None]
    for flag in given + ["--float64"] * args.float64:
        if flag not in ("--steps", "--workers-as"):
            raise UsageError(f"{flag} is fixed by the run in {args.out}: not with --resume")
    run = Run.load(args.out)
    run.load_history()
    if run.task.name != args.task:
        raise UsageError(f"{args.out} is a run of the task {run.task.name}, not {args.task}")
    if args.steps is not None:
        run.config["train"]["steps"] = args.steps
    if args.workers_as is not None:                                    # the results are the same
        run.config["train"]["workers_as"] = args.workers_as
    steps = run.config["train"]["steps"]
    if run.metrics.exists() and (run.solved or run.optimizer.t >= steps):
        done = "solved" if run.solved else f"at step {run.optimizer.t} of {steps} already"
        raise UsageError(f"nothing to do: the run in {args.out} is {done}")
    return run


def value_of(args, flag):
    """What the command line gave for a flag, None where it gave nothing."""
    return getattr(args, flag[2:].replace("-", "_"))


def free_folder(folder):
    """The folder, or the first of folder-2, folder-3, ... that holds no run."""
    name, n = folder.name, 1
    while (folder / "model.npz").exists():
        n += 1
        folder = folder.with_name(f"{name}-{n}")
    return folder


def make_writable(folder):
    """Make the folder and try to write in it; OSError names it where that fails."""
    folder.mkdir(parents=True, exist_ok=True)
    probe = folder / f".write-test-{os.getpid()}"
    probe.touch()
    probe.unlink()


def make_writable_file(flag, path):
    """The same for the folder of a file; UsageError names the flag where it is a folder itself."""
    if path.is_dir():
        raise UsageError(f"{flag} must be a file, got the folder {path}")
    make_writable(path.parent)


class Reporter:
    """Progress on stderr: a live bar on a terminal, a line per validation elsewhere."""

    def __init__(self, steps, done):
        self.bar, self.validation = progress_bar(steps, done), ""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.bar is not None:
            self.bar.close()

    def report(self, p):
        """Show one Progress."""
        if p.validation is not None:
            self.validation = f"  validation {p.validation:.1%}"
        text = f"loss {p.loss:.3f}  tokens right {p.accuracy:.1%}{self.validation}"
        if self.bar is None:
            if p.validation is not None:
                note(f"step {p.step:5d}  {p.seconds:6.1f} s  {text}")
            return
        if p.validation == 1:
            self.bar.total = p.step                                    # it need not go on
        self.bar.set_postfix_str(text, refresh=False)
        self.bar.update()


def progress_bar(steps, done):
    """A live bar on a terminal, None elsewhere."""
    if not (sys.stderr.isatty() and os.get_terminal_size(sys.stderr.fileno()).columns):
        return None
    from tqdm import tqdm

    return tqdm(total=steps, initial=done, unit="step", file=sys.stderr)


def note(text):
    """A line of progress, on stderr."""
    print(text, file=sys.stderr, flush=True)


def print_result(run, share, test, seconds):
    """The outcome, and a few test sequences with what the model made of them."""
    src, _, tgt_out = test
    src, tgt_out = src[:6], tgt_out[:6]
    outcome = "solved" if run.solved else "not solved"
    print(f"{run.task.name}: {outcome} after {run.optimizer.t} steps, "
          f"{share:.2%} of {len(test[0])} test sequences exact, {seconds:.1f} s\n")
    text, out = run.task.text, run.decode(src, max_len=tgt_out.shape[1])
    rows = [(text(s), text(o), text(t)) for s, o, t in zip(src, out, tgt_out)]
    wide = max(len("source"), *(len(cell) for row in rows for cell in row))
    print(f"{'source':<{wide}}   {'output':<{wide}}")
    for source, output, want in rows:
        print(f"{source:<{wide}}   {output:<{wide}}   {'right' if output == want else 'wrong'}")
