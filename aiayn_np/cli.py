"""The command line: train, decode, attend, check.

Results go to stdout, progress to stderr. Exit code 0: done; 1: it went wrong on the way (a loss
that is not finite, a gradient that does not agree, an interruption); 2: the request was wrong.
"""

import argparse
import os
import signal
import sys
import time
from pathlib import Path

from .checkpoint import CheckpointError

EXAMPLES = """examples:
  aiayn-np train copy                    train until it copies perfectly (about half a minute)
  aiayn-np train reverse --seed 7 --out runs/mine
  aiayn-np train copy --out runs/mine --resume --steps 5000
  aiayn-np decode runs/copy "3 1 4 1 5"  what the model makes of a sequence
  aiayn-np attend runs/copy "3 1 4 1 5"  draw what attends to what
  aiayn-np check                         prove every gradient of a whole model
"""


class UsageError(Exception):
    """A request that cannot be carried out; ends with exit code 2."""


def main(argv=None):
    """Run the command line; return the exit code."""
    args = parser().parse_args(argv)
    try:
        return args.command(args)
    except (UsageError, CheckpointError, OSError, ValueError, TypeError, IndexError) as error:
        return fail(error, 2)
    except FloatingPointError as error:
        return fail(f"{error}; the last good checkpoint is kept", 1)
    except MemoryError as error:
        return fail(f"not enough memory: {error}", 1)
    except KeyboardInterrupt:
        return fail("interrupted", 1)


def fail(error, code):
    """One line on stderr, and the exit code."""
    if isinstance(error, OSError) and error.filename:
        error = f"{error.filename}: {error.strerror}"
    print(f"aiayn-np: error: {' '.join(str(error).split())}", file=sys.stderr)
    return code


def parser():
    """Build the argument parser."""
    main = argparse.ArgumentParser(
        prog="aiayn-np", epilog=EXAMPLES, formatter_class=argparse.RawDescriptionHelpFormatter,
        description='The Transformer of "Attention Is All You Need" in plain NumPy.',
    )
    commands = main.add_subparsers(required=True, metavar="COMMAND")

    def add(name, command, what):
        sub = commands.add_parser(
            name, help=what, description=what, epilog=EXAMPLES,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        sub.set_defaults(command=command)
        return sub

    p = add("train", train_command, "train a model on a task until its validation set is perfect")
    p.add_argument("task", choices=["copy", "reverse", "sort"])
    p.add_argument("--out", type=Path, help="folder of the run (default: runs/TASK, or runs/TASK-2"
                   " where that is taken, and so on)")
    p.add_argument("--resume", action="store_true", help="go on with the run in --out")
    for flag, kind, default, what in TRAIN_OPTIONS:
        p.add_argument(flag, type=kind, help=f"{what} (default: {default})")
    p.add_argument("--float64", action="store_true", help="double precision (default: float32)")

    p = add("decode", decode_command, "print what a trained model makes of sequences")
    p.add_argument("run", type=Path, help="folder that `train` wrote")
    p.add_argument("sequence", nargs="*", help='such as "3 1 4"; none: one per line of stdin')

    p = add("attend", attend_command, "draw the attention of every layer and head for a sequence")
    p.add_argument("run", type=Path, help="folder that `train` wrote")
    p.add_argument("sequence", help='such as "3 1 4"')
    p.add_argument("--out", type=Path, help="folder for the pictures (default: RUN/attend)")

    p = add("check", check_command, "prove every gradient of a whole model, as a table")
    p.add_argument("--seed", type=int, default=0)
    return main


TRAIN_OPTIONS = [  # flag, type, default, help; None on the command line means the default
    ("--seed", int, 0, "of weights, batches and dropout"),
    ("--steps", int, 4000, "stop after this many steps at the latest"),
    ("--symbols", int, 10, "number of different symbols"),
    ("--max-length", int, 10, "longest sequence"),
    ("--batch-size", int, 64, "sequences in a batch"),
    ("--N", int, 2, "layers in each stack"),
    ("--d-model", int, 64, "width of the model"),
    ("--d-ff", int, 256, "inner width of the feed-forward network"),
    ("--h", int, 4, "heads"),
    ("--P-drop", float, 0.0, "dropout"),
    ("--eps-ls", float, 0.1, "label smoothing"),
    ("--warmup-steps", int, 100, "of Eq. (3)"),
    ("--rate-scale", float, 0.2, "factor on the rate of Eq. (3)"),
]


def train_command(args):
    from .decoding import exact_match

    started = time.perf_counter()
    run = resumed_run(args) if args.resume else new_run(args)
    task, test = run.task, run.task.test(2000)
    parameters = sum(p.value.size for p in run.model.parameters())
    if not run.solved and not take_steps(run):
        note(f"interrupted after step {run.optimizer.t}; go on with: "
             f"aiayn-np train {task.name} --out {run.folder} --resume")
        return 1
    share = exact_match(run.model, test, bos=task.bos, eos=task.eos)
    seconds = round(time.perf_counter() - started, 2)
    run.save_metrics(task=task.name, exact_match=share, held_out=len(test[0]), seconds=seconds,
                     steps=run.optimizer.t, parameters=parameters, seed=run.config["seed"])
    print_result(run, share, test, seconds)
    run.draw_loss()
    run.draw_attention(longest(test[0]), run.folder)
    print(f"\nIn {run.folder}: model.npz, metrics.json, history.csv, loss.png, attention_*.png")
    return 0


def take_steps(run):
    """Train, reporting and saving; false when interrupted. Ctrl-C lets the step end, then saves."""
    from .training import train

    options = run.config["train"]
    steps = train(run.model, run.task, **options, **run.training_state)
    note(f"training on the task {run.task.name}, into {run.folder}")
    earlier = run.history[-1].seconds if run.history else 0.0
    interrupted = False

    def interrupt(*_):
        nonlocal interrupted
        interrupted = True
        signal.signal(signal.SIGINT, signal.default_int_handler)       # the second one is at once

    handler = signal.signal(signal.SIGINT, interrupt)
    try:
        with reporter(options["steps"], run.optimizer.t) as report:
            for progress in steps:
                progress.seconds += earlier
                run.history.append(progress)
                report(progress)
                if progress.validation is not None or interrupted:
                    run.save()
                if interrupted:
                    return False
    finally:
        signal.signal(signal.SIGINT, handler)
    return True


def new_run(args):
    """A fresh run, its folder made: one that cannot be written is known before training."""
    from .run import Run

    o = {flag: default for flag, _, default, _ in TRAIN_OPTIONS}
    given = {flag: getattr(args, flag[2:].replace("-", "_")) for flag in o}
    o |= {flag: value for flag, value in given.items() if value is not None}
    config = dict(
        task=args.task, seed=o["--seed"], dtype="float64" if args.float64 else "float32",
        task_options=dict(symbols=o["--symbols"], max_length=o["--max-length"]),
        model=dict(N=o["--N"], d_model=o["--d-model"], d_ff=o["--d-ff"], h=o["--h"],
                   P_drop=o["--P-drop"], max_len=o["--max-length"] + 52),
        train=dict(steps=o["--steps"], batch_size=o["--batch-size"], eps_ls=o["--eps-ls"],
                   warmup_steps=o["--warmup-steps"], rate_scale=o["--rate-scale"]),
    )
    folder = args.out or free_folder(Path("runs") / args.task)
    if (folder / "model.npz").exists():
        raise UsageError(f"{folder} holds a run already: --resume to go on, another --out to begin")
    run = Run(folder, config)
    make_writable(folder)
    return run


def resumed_run(args):
    """The run in --out, with --steps if that is given; other options are the run's own."""
    from .run import Run

    if args.out is None:
        raise UsageError("--resume needs --out, the folder of the run to go on with")
    for flag, *_ in TRAIN_OPTIONS:
        if flag != "--steps" and getattr(args, flag[2:].replace("-", "_")) is not None:
            raise UsageError(f"{flag} is fixed by the run in {args.out}: not with --resume")
    run = Run.load(args.out)
    if run.task.name != args.task:
        raise UsageError(f"{args.out} is a run of the task {run.task.name}, not {args.task}")
    run.config["train"]["steps"] = args.steps or run.config["train"]["steps"]
    make_writable(args.out)
    return run


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


class reporter:
    """Progress on stderr: a live bar on a terminal, a line per validation elsewhere."""

    def __init__(self, steps, done):
        self.bar = None
        if sys.stderr.isatty():
            from tqdm import tqdm

            self.bar = tqdm(total=steps, initial=done, unit="step", file=sys.stderr)

    def __enter__(self):
        return self.report

    def __exit__(self, *_):
        if self.bar is not None:
            self.bar.close()

    def report(self, p):
        validated = "" if p.validation is None else f"  validation {p.validation:.1%}"
        text = f"loss {p.loss:.3f}  tokens right {p.accuracy:.1%}"
        if self.bar is not None:
            self.bar.set_postfix_str(text, refresh=False)
            self.bar.update()
        elif validated:
            note(f"step {p.step:5d}  {p.seconds:6.1f} s  {text}{validated}")


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


def longest(src):
    """The first of the longest sources, (1, T)."""
    lengths = (src != 0).sum(axis=1)
    return src[[lengths.argmax()]]


def source_of(run, text):
    """Source ids of a text, refused when the model has no positions for it."""
    src = run.task.source(text)
    if src.shape[1] > run.model.max_len:
        raise UsageError(f"a sequence must have at most {run.model.max_len - 1} symbols for this"
                         f" run, got {src.shape[1] - 1}")
    if src.shape[1] - 1 > run.task.max_length:
        note(f"note: {src.shape[1] - 1} symbols, trained on at most {run.task.max_length}")
    return src


def decode_command(args):
    from .run import Run

    run = Run.load(args.run)
    for text in args.sequence or (line for line in sys.stdin if line.strip()):
        print(run.task.text(run.decode(source_of(run, text))[0]), flush=True)
    return 0


def attend_command(args):
    from .run import Run

    run = Run.load(args.run)
    src = source_of(run, args.sequence)
    folder = args.out or args.run / "attend"
    make_writable(folder)
    prefix = "_".join([run.task.name, *args.sequence.split()])[:60] + "_"
    for path in run.draw_attention(src, folder, prefix):
        print(path)
    return 0


def check_command(args):
    import numpy as np

    from .gradient_check import check_gradients
    from .loss import LabelSmoothedCrossEntropy, ModelLoss
    from .tasks import CopyTask
    from .transformer import Transformer

    rng = np.random.default_rng(args.seed)
    task = CopyTask(symbols=8, max_length=5)
    model = Transformer(task.vocab_size, N=2, d_model=12, d_ff=20, h=3, P_drop=0.2, rng=rng)
    src, tgt_in, tgt_out = task.batch(3, rng)
    whole = ModelLoss(model, LabelSmoothedCrossEntropy(0.1, task.pad))
    report = check_gradients(whole, src, tgt_in, targets=tgt_out, rng=rng, seed=args.seed)
    print(report)
    return 0 if report else 1
