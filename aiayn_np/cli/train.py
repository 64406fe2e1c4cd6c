"""The command `train`: it begins a run, or goes on with one, and writes the results."""

import contextlib
import itertools
import shlex
import shutil
import signal
import time
from pathlib import Path

import numpy as np

from ..training.ranks import launched
from ..training.threads import blas_threads
from .common import UsageError, note
from .options import LATER, given_options, name_of, new_text_run, new_toy_run, new_words_run
from .progress import Reporter
from .writing import check_folder, make_writable

SAVE_EVERY = 120  # seconds between two checkpoints, at most


def train_command(args):
    """Train on a task or on text, then draw the pictures and measure the model."""
    ranks = launched()
    with run_folder(args) if ranks.rank == 0 else contextlib.nullcontext() as folder:
        return trained(shared_run(folder, args, ranks), args)


@contextlib.contextmanager
def run_folder(args):
    """The folder that the command line asks for. A new one is removed if nothing was saved in it.
    """
    if args.resume:
        folder = args.out or Path("runs") / args.task
        for part in folder.glob(".*.part"):                            # of a run that was killed
            part.unlink()
        yield folder
        return
    folder = free_folder(Path("runs") / args.task) if args.out is None else args.out
    if (folder / "model.npz").exists():
        raise UsageError(f"{folder} holds a run already: --resume to go on, another --out to begin")
    check_folder(folder, force=args.force)
    folder.mkdir(parents=True, exist_ok=True)
    new = not any(folder.iterdir())
    try:
        yield folder
    finally:
        if new and not (folder / "model.npz").exists():
            shutil.rmtree(folder, ignore_errors=True)


def free_folder(folder):
    """Make the first of folder, folder-2, folder-3, ... that is not there."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    for n in itertools.count(1):
        other = folder.with_name(f"{folder.name}-{n}") if n > 1 else folder
        with contextlib.suppress(FileExistsError):
            other.mkdir()
            return other
        if (other / "model.npz").exists() and not (other / "metrics.json").exists():
            note(f"{other} holds a training that did not end; to go on with it:"
                 f" aiayn-np train {folder.name} --out {shlex.quote(str(other))} --resume")


def trained(run, args):
    """Take the remaining steps, then draw and measure; return the exit code."""
    started, ranks = time.perf_counter(), run.ranks
    earlier = run.history[-1].seconds if run.history else 0.0
    if not take_steps(run, earlier, threads=args.threads):
        command = ["aiayn-np", "train", run.task.name, "--out", str(run.folder), "--resume"]
        if ranks.rank == 0:
            note(f"interrupted after step {run.optimizer.t}; go on with: {shlex.join(command)}")
        return 1
    seconds = round(earlier + time.perf_counter() - started, 2)
    with blas_threads(args.threads):
        paths, found = [] if ranks.rank else run.draw(), run.finish(seconds)
        lines = [] if ranks.rank else list(run.report(found, seconds))
    if ranks.rank == 0:
        print(*lines, sep="\n")
        print(f"\nIn {run.folder}:", ", ".join([*run.files, *(path.name for path in paths)]))
        print(f"To try it out in a browser: aiayn-np explore {shlex.quote(str(run.folder))}")
    return 0


def shared_run(folder, args, ranks):
    """The run, new or resumed. Rank 0 reads the files, and the other ranks get the run from it.

    So all ranks have the same run, and other machines need none of its files.
    """
    run = None
    if ranks.size > 1:
        note(str(ranks))
    if ranks.rank == 0:
        run, notes = resumed_run(folder, args) if args.resume else new_run(folder, args)
        for line in notes:
            note(line)
    run = ranks.first(run)
    run.ranks = ranks
    return run


def take_steps(run, earlier=0.0, *, threads=None):
    """Train, report and save; return False after an interruption.

    Ctrl-C lets the step end, then saves. Several ranks take the same steps; rank 0 reports, saves,
    and tells the others when to stop.
    """
    steps, leads = run.train(threads=threads), run.ranks.rank == 0
    if leads:
        make_writable(run.folder)
    if run.solved or run.optimizer.t >= run.steps:
        return True
    for line in run.announcement():
        if leads:
            note(line)
    if leads:
        run.metrics.unlink(missing_ok=True)                            # they are out of date
    saved = time.perf_counter()
    shown = Reporter(run) if leads else contextlib.nullcontext()
    with interruptible(run) as pressed, shown as reporter:
        if run.optimizer.t == 0:
            run.keep_state()
        for progress in steps:
            run.keep_state()
            progress.seconds += earlier
            run.history.append(progress)
            if reporter:
                reporter.report(progress)
            stop = run.ranks.first(bool(pressed))
            if progress.measured or stop or time.perf_counter() - saved > SAVE_EVERY:
                run.save()
                saved = time.perf_counter()
            if stop:
                return False
    return True


@contextlib.contextmanager
def interruptible(run):
    """A list that Ctrl-C adds to, so that the step can end first; a second Ctrl-C acts at once.

    All ranks get the signal, and all but rank 0 ignore it.
    A loss that is not finite ends the training; the message also says what is saved of the run.
    """
    pressed: list[str] = []

    def interrupt(*_):
        pressed.append("Ctrl-C")
        signal.signal(signal.SIGINT, signal.default_int_handler)

    handler = signal.signal(signal.SIGINT, signal.SIG_IGN if run.ranks.rank else interrupt)
    try:
        with np.errstate(all="ignore"):
            yield pressed
    except FloatingPointError as error:
        saved = "the last good checkpoint is kept" if run.checkpoint.exists() else "nothing saved"
        raise FloatingPointError(f"{error}; {saved}") from None
    finally:
        signal.signal(signal.SIGINT, handler)


def new_run(folder, args):
    """Return (a new run in a folder without one, notes on its data)."""
    make = {"text": new_text_run, "words": new_words_run}.get(args.task, new_toy_run)
    return make(folder, args, given_options(args))


def resumed_run(folder, args):
    """Return (the run in a folder, notes on its data).

    It goes on with its own options; only those of LATER may be given again.
    """
    from ..runs.open import open_run

    given = given_options(args)
    for flag in given:
        if flag not in LATER:
            raise UsageError(f"{flag} is fixed by the run in {folder}: not with --resume")
    run = open_run(folder)
    if run.task.name != args.task:
        raise UsageError(f"{folder} is a run of the task {run.task.name}, not {args.task}")
    run.load_history()
    run.config["train"] |= {name_of(flag): value for flag, value in given.items()}
    notes = run.prepare()
    if run.config.get("imported") and run.optimizer.t == 0:
        notes.append(f"{folder} was imported: its training begins with a new Adam, at step 1")
    done = run.solved or run.optimizer.t >= run.steps
    if run.optimizer.t > run.steps or (done and run.metrics.exists()):
        where = "solved" if run.solved else f"at step {run.optimizer.t} of {run.steps} already"
        raise UsageError(f"nothing to do: the run in {folder} is {where}")
    return run, notes
