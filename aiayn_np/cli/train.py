"""The command `train`: it begins a run, or goes on with one, and writes the results."""

import argparse
import contextlib
import itertools
import shlex
import signal
import time
from pathlib import Path

import numpy as np

from ..files import made_folder, parts_in
from ..training.ranks import launched
from ..training.threads import blas_threads
from .common import UsageError, note
from .options import LATER, flag_of, given_options
from .progress import Reporter
from .writing import check_folder, make_writable

NOTHING: contextlib.nullcontext = contextlib.nullcontext()  # of the ranks that only compute
FIRST = "history.csv", "vocabulary.model"  # files that a save writes before the checkpoint
SAVE_EVERY = 120  # seconds between two checkpoints, at most


def train_command(args: argparse.Namespace) -> int:
    """Train on a task or on text, then draw the pictures and measure the model."""
    ranks = launched()
    with NOTHING if ranks.size > 1 else ended_by_signals():            # mpiexec ends them all
        return trained(shared_run(args, ranks), args)


@contextlib.contextmanager
def ended_by_signals():
    """Let what a closed terminal and a batch system send be a Ctrl-C, unless they are ignored."""
    with contextlib.ExitStack() as stack:
        for signum in (signal.SIGTERM, *([signal.SIGHUP] if hasattr(signal, "SIGHUP") else [])):
            if signal.getsignal(signum) == signal.SIG_DFL:
                stack.callback(signal.signal, signum, signal.SIG_DFL)
                signal.signal(signum, as_ctrl_c)
        yield


def as_ctrl_c(*arguments):
    """Do what Ctrl-C does now; where it is ignored, as in a background job, interrupt."""
    handler = signal.getsignal(signal.SIGINT)
    (handler if callable(handler) else signal.default_int_handler)(*arguments)


def shared_run(args, ranks):
    """The run, new or resumed. Rank 0 reads the files, and the other ranks get the run from it.

    So all ranks have the same run, and other machines need none of its files.
    """
    run = None
    if ranks.size > 1:
        note(str(ranks))
    if ranks.rank == 0:
        folder = args.out or Path("runs") / args.task
        begins = not args.resume or remains(folder)
        run, notes = new_run(folder, args) if begins else resumed_run(folder, args)
        for line in notes:
            note(line)
    run = ranks.first(run)
    run.training.ranks = ranks
    return run


def new_run(folder, args):
    """Return (a new run that is saved before its first step, notes on its data).

    Without --out the next free folder is taken. If the run cannot begin, nothing is left of it.
    """
    with contextlib.ExitStack() as stack:
        free = args.out is None and not args.resume
        if free:
            stack.enter_context(made_folder(folder.parent))
            folder = free_folder(folder)
        check_new(folder, args.force)
        stack.enter_context(made_folder(folder, own=free))
        make_writable(folder)
        run, notes = args.start(folder, args, given_options(args))
        run.save()
    return run, notes


def check_new(folder, force):
    """Raise UsageError if no run may begin in a folder; remove what a killed one left there."""
    if (folder / "model.npz").exists():
        raise UsageError(f"{folder} holds a run already: --resume to go on, another --out to begin")
    if left := remains(folder):
        note(f"{folder} holds a training that ended before it saved anything: it begins again, with"
             " the options given here")
        for path in left:
            path.unlink()
    check_folder(folder, force=force)


def remains(folder):
    """Return what a training left in a folder that was killed in its first save.

    The result is empty if there is nothing, or something else.
    """
    parts = set(parts_in(folder))
    found = {*folder.iterdir()} if parts else set()
    return found if found <= parts | {folder / name for name in FIRST} else set()


def free_folder(folder):
    """Make the first of folder, folder-2, folder-3, ... that is not there."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    for n in itertools.count(1):
        other = folder.with_name(f"{folder.name}-{n}") if n > 1 else folder
        with contextlib.suppress(FileExistsError):
            other.mkdir()
            return other
        if (other / "model.npz").exists() and not (other / "metrics.json").exists():
            note(f"{other} holds a training that did not end; to go on with it: aiayn-np train"
                 f" {folder.name} --out {shlex.quote(str(other))} --resume")


def trained(run, args):
    """Take the remaining steps, then draw and measure; return the exit code."""
    started, ranks = time.perf_counter(), run.training.ranks
    earlier = run.history[-1].seconds if run.history else 0.0
    if not take_steps(run, earlier, threads=args.threads):
        command = ["aiayn-np", "train", run.task.name, "--out", str(run.folder), "--resume"]
        if ranks.rank == 0:
            note(f"interrupted after step {run.optimizer.t}; go on with: {shlex.join(command)}")
        return 1
    seconds = round(earlier + time.perf_counter() - started, 2)
    with blas_threads(args.threads):
        told = run.finish(seconds)
        lines = [] if ranks.rank else list(told)
        paths = [] if ranks.rank else run.draw()
    if ranks.rank == 0:
        print(*lines, sep="\n")
        print(f"\nIn {run.folder}:", ", ".join([*run.files, *(path.name for path in paths)]))
        print(args.next_step(run), end="")
    return 0


def take_steps(run, earlier=0.0, *, threads=None):
    """Train, report and save; return False after an interruption.

    Ctrl-C lets the step end, then saves. Several ranks take the same steps; rank 0 reports, saves,
    and tells the others when to stop.
    """
    training, leads = run.training, run.training.ranks.rank == 0
    steps = training.run(threads=threads)
    if leads:
        make_writable(run.folder)
    if run.ended:
        return True
    if leads:
        for line in training.announcement(run.folder):
            note(line)
        run.metrics.unlink(missing_ok=True)                            # they are out of date
    saved = time.perf_counter()
    with interruptible(run) as pressed, Reporter(training) if leads else NOTHING as reporter:
        for progress in steps:
            progress.seconds += earlier
            run.history.append(progress)
            stop = training.ranks.first(bool(pressed))
            if progress.measured or stop or time.perf_counter() - saved > SAVE_EVERY:
                run.save()                                             # first: a terminal may close
                saved = time.perf_counter()
            if reporter:
                reporter.report(progress)
            if stop:
                return False
    return True


@contextlib.contextmanager
def interruptible(run):
    """A list that Ctrl-C adds to, so that the step can end first; a second Ctrl-C acts at once.

    SIGTERM and SIGHUP do the same, see `ended_by_signals`. All ranks but rank 0 ignore Ctrl-C. A
    loss that is not finite ends the training.
    """
    pressed: list[str] = []

    def interrupt(*_):
        pressed.append("Ctrl-C")
        signal.signal(signal.SIGINT, signal.default_int_handler)

    handler = signal.signal(signal.SIGINT, signal.SIG_IGN if run.training.ranks.rank else interrupt)
    try:
        with np.errstate(all="ignore"):
            yield pressed
    except FloatingPointError as error:
        raise FloatingPointError(f"{error}; the last good checkpoint is kept") from None
    finally:
        signal.signal(signal.SIGINT, handler)


def resumed_run(folder, args):
    """Return (the run in a folder, notes on its data).

    It goes on with its own options; only those of LATER may be given again.
    """
    from ..runs.open import open_run

    given = given_options(args)
    for name in given:
        if name not in LATER:
            raise UsageError(f"{flag_of(name)} is fixed by the run in {folder}: not with --resume")
    run = open_run(folder)
    if run.task.name != args.task:
        raise UsageError(f"{folder} is a run of the task {run.task.name}, not {args.task}")
    notes = [*run.go_on(given), *notes_on(run)]
    if run.optimizer.t > run.training.steps or (run.ended and run.metrics.exists()):
        where = ("solved" if run.solved else
                 f"at step {run.optimizer.t} of {run.training.steps} already")
        raise UsageError(f"nothing to do: the run in {folder} is {where}")
    for part in parts_in(folder):                                      # of a run that was killed
        part.unlink(missing_ok=True)
    return run, notes


def notes_on(run):
    """Yield what the user of a folder must know before its training goes on."""
    if run.optimizer.t and not run.history:
        yield (f"note: {run.folder} has no history.csv: it begins at step"
               f" {run.optimizer.t + 1}")
    if run.config.get("imported") and run.optimizer.t == 0:
        yield f"{run.folder} was imported: its training begins with a new Adam, at step 1"
    if (run.folder / "states.npz").exists():
        yield f"note: {run.folder / 'states.npz'} is of an earlier version, and of no use any more"
