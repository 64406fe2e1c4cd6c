"""The command `train`: it begins a run, or goes on with a run, and writes the results."""

import argparse
import contextlib
import itertools
import signal
import time
from pathlib import Path
from typing import Any

import numpy as np

from ..files import check_replaceable, made_folder, parts_in
from ..training.ranks import launched
from ..training.threads import blas_threads
from .common import UsageError, command_line, note, printable
from .options import LATER, flag_of, given_options
from .progress import Reporter
from .writing import check_folder, make_writable

NOTHING: contextlib.nullcontext = contextlib.nullcontext()  # the Reporter of other ranks than 0
SAVE_EVERY = 120  # seconds between two checkpoints, at most
PICTURES = ("loss.png", "attention_*.png")


def train_command(args: argparse.Namespace) -> int:
    """Train on a task or on text, then draw the pictures and measure the model."""
    return 0 if trained(args) else 1


def trained(args: argparse.Namespace, stays: bool = True) -> Any:
    """Train a new or a saved run, and print its results; return the run, None if interrupted.

    stays : whether the folder of the run will be there afterwards
    """
    ranks = launched()
    with interruptible(ranks) as stop:
        run = shared_run(args, ranks)
        started = time.perf_counter() - run.seconds
        if take_steps(run, stop, args.threads):
            tell(run, round(time.perf_counter() - started, 2), args.threads, stays)
            return run
    if stop.leads and stays:
        command = command_line("aiayn-np", "train", args.task, "--out", run.folder, "--resume")
        note(f"interrupted after step {run.optimizer.t}; go on with: {command}")
    return None


class Stop:
    """The handler of Ctrl-C. Only rank 0, which `leads`, acts on Ctrl-C.

    While `waits` is true, the first Ctrl-C only sets `asked`. Any other one ends the program.
    """

    def __init__(self, ranks):
        self.leads, self.waits, self.asked = ranks.rank == 0, False, False

    def __call__(self, *arguments):
        if self.leads and not self.waits:
            signal.default_int_handler(*arguments)
        self.waits, self.asked = False, True


@contextlib.contextmanager
def interruptible(ranks):
    """Handle SIGINT, SIGHUP and SIGTERM by a Stop, and yield the Stop.

    An ignored signal stays ignored. Under mpiexec only SIGINT is handled: mpiexec ends its ranks.
    """
    stop, others = Stop(ranks), ("SIGTERM", "SIGHUP") if ranks.size == 1 else ()
    there = [getattr(signal, name) for name in others if hasattr(signal, name)]
    with contextlib.ExitStack() as stack:
        for number in (signal.SIGINT, *(n for n in there if signal.getsignal(n) == signal.SIG_DFL)):
            stack.callback(signal.signal, number, signal.signal(number, stop))
        yield stop


def shared_run(args, ranks):
    """Return the run, new or resumed. Rank 0 reads the files, and sends the run to all ranks.

    So all ranks have the same run, and other machines need none of its files.
    """
    run = None
    if ranks.size > 1:
        note(str(ranks))
    if ranks.rank == 0:
        folder = args.out or Path("runs") / args.task
        run, notes = (resumed_run if args.resume else new_run)(folder, args)
        for line in notes:
            note(line)
        for part in parts_in(run.folder):                              # of a run that was killed
            part.unlink(missing_ok=True)
    run = ranks.first(run)
    run.training.ranks = ranks
    return run


def new_run(folder, args):
    """Return (a new run that is saved before its first step, notes on its data).

    Without --out the run takes the next free folder. If it cannot begin, it leaves no files.
    """
    from ..runs.open import saved_nothing

    free = args.out is None
    with contextlib.ExitStack() as stack:
        if free:
            stack.enter_context(made_folder(folder.parent))
            folder = free_folder(folder)
        if (folder / "model.npz").exists():
            raise UsageError(f"{folder} holds a run already: --resume to go on, another --out to"
                             " begin")
        if saved_nothing(folder):
            note(f"{folder} holds a training that ended before it saved a model: it begins again,"
                 " with the options given here")
        else:
            check_folder(folder, force=args.force)
        stack.enter_context(made_folder(folder, own=free))
        make_writable(folder)
        run, notes = args.start(folder, args, given_options(args))
        check_files(run)
        run.save()
    return run, notes


def free_folder(folder):
    """Make the first folder of folder, folder-2, folder-3, ... that does not exist yet."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    for n in itertools.count(1):
        other = folder.with_name(f"{folder.name}-{n}") if n > 1 else folder
        with contextlib.suppress(FileExistsError):
            other.mkdir()
            return other
        if (other / "model.npz").exists() and not (other / "metrics.json").exists():
            command = command_line("aiayn-np", "train", folder.name, "--out", other, "--resume")
            note(f"{other} holds a training that did not end; to go on with it: {command}")


def check_files(run):
    """Raise OSError if the folder of a run, or a file that a training replaces, is protected."""
    make_writable(run.folder)
    for name in [*run.files, *PICTURES]:
        for path in run.folder.glob(name):
            check_replaceable(path)


def take_steps(run, stop, threads=None):
    """Train, report and save; return False after an interruption.

    Ctrl-C lets the step end, then saves. Several ranks take the same steps; rank 0 reports, saves,
    and tells the others when to stop.
    """
    training, earlier, saved = run.training, run.seconds, time.perf_counter()
    steps = training.run(threads=threads)
    if run.ended:
        return True
    if stop.leads:
        note("\n".join(training.announcement(run.folder)))
        run.metrics.unlink(missing_ok=True)                            # it is out of date
    stop.waits = True
    with not_finite_is_told(), Reporter(training) if stop.leads else NOTHING as reporter:
        for progress in steps:
            progress.seconds += earlier
            run.history.append(progress)
            ends = training.ranks.first(stop.asked)
            if progress.measured or ends or time.perf_counter() - saved > SAVE_EVERY:
                run.save()                                             # first: a terminal may close
                saved = time.perf_counter()
            if reporter:
                reporter.report(progress)
            if ends:
                return False
    stop.waits = False
    return True


@contextlib.contextmanager
def not_finite_is_told():
    """Let the training itself find nan and inf, and add to its message that a checkpoint stays."""
    try:
        with np.errstate(all="ignore"):
            yield
    except FloatingPointError as error:
        raise FloatingPointError(f"{error}; the last good checkpoint is kept") from None


def tell(run, seconds, threads, stays=True):
    """Draw the pictures of an ended run, measure its model, and print the results.

    metrics.json is written last. So a run without it gets pictures and metrics by --resume.
    """
    leads = run.training.ranks.rank == 0
    with blas_threads(threads):
        paths = run.draw() if leads else []
        told = run.finish(seconds)                                     # metrics.json comes last
        lines = list(told) if leads else []
    if leads:
        print(printable("\n".join(lines)))
    if leads and stays:
        files = ", ".join([*run.files, *(path.name for path in paths)])
        print(printable(f"\nIn {run.folder}: {files}"))


def resumed_run(folder, args):
    """Return (the run in a folder, notes on its data).

    The run goes on with its own options; only the options in LATER may be given again.
    """
    from ..runs.open import open_run, saved_nothing

    if saved_nothing(folder):
        raise UsageError(f"{folder} holds a training that ended before it saved a model: begin it"
                         " again, with the same options and without --resume")
    given = given_options(args)
    for name in given:
        if name not in LATER:
            raise UsageError(f"{flag_of(name)} is fixed by the run in {folder}: not with --resume")
    run = open_run(folder)
    if args.task != run.config["task"]:
        raise UsageError(f"{folder} is a run of the task {run.config['task']}, not {args.task}")
    notes = run.go_on(given)
    t, last = run.optimizer.t, run.training.steps
    if t > last or (run.ended and (run.metrics.exists() or not run.history)):
        where = "solved" if run.solved else f"at step {t} of {last} already"
        raise UsageError(f"nothing to do: the run in {folder} is {where}")
    check_files(run)
    return run, notes
