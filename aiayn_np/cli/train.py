"""The command `train`: it begins a run, or goes on with a run, and prints the results."""

import argparse
import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..files import made_folder, parts_in
from ..training.ranks import ALONE, launched
from .common import UsageError, command_line, note, printable
from .options import LATER, flag_of, given_options, new_run_of
from .progress import Reporter
from .writing import check_folder, make_writable

if TYPE_CHECKING:
    from ..runs.run import Run


def train_command(args: argparse.Namespace) -> int:
    """Train on a task or on text, then draw the pictures and measure the model."""
    return 0 if trained(args) else 1


def trained(args: argparse.Namespace) -> Any:
    """Train a new or a saved run, and print its results; return the run, None if interrupted."""
    from ..runs.checkpoint import read_step

    ranks = launched()
    with interruptible(ranks) as stop:
        run = shared_run(args, ranks)
        stop.waits, leads = True, not ranks.rank
        try:
            if not take_steps(run, lambda: stop.asked, args.threads):
                raise KeyboardInterrupt
            stop.waits = False
            print_results(run, args.threads)
        except KeyboardInterrupt:
            if leads:
                command = command_line("aiayn-np", "train", args.task, "--out", run.folder,
                                       "--resume")
                step = read_step(run.checkpoint)
                note(f"interrupted; step {step} is kept; go on with: {command}")
            return None
        except FloatingPointError as error:
            raise FloatingPointError(f"{error}; the last good checkpoint is kept") from None
    if leads:
        files = sorted(path.name for path in run.folder.iterdir())
        print(printable(f"\nIn {run.folder}: {', '.join(files)}"))
    return run


def take_steps(run: "Run", stop: Callable[[], bool] = lambda: False,
               threads: int | None = None) -> bool:
    """Train a run, and report its steps on stderr; return False if `stop` ended the training."""
    leads = not run.ranks.rank
    if leads and not run.ended:
        note(f"training on the task {run.task.name}: {run.parameters:,} parameters,"
             f" {run.task.vocab_size:,} different tokens, into {run.folder}")
    with Reporter(run) if leads else nullcontext() as reporter, np.errstate(all="ignore"):
        for record in run.train(threads):
            ends = run.ranks.first(stop())
            if ends and run.saved != record.step:
                run.save()
            if reporter:
                reporter.report(record)
            if ends:
                return False
    return True


def print_results(run: "Run", threads: int | None = None) -> None:
    """Draw the pictures of a run that has ended, measure its model, and print the results."""
    if lines := run.finish(threads):
        print(printable("\n".join(lines)))


class Stop:
    """The handler of Ctrl-C and SIGTERM.

    While `waits` is true, the first signal only sets `asked`: the step ends and is saved. A second
    one ends the program at once. That is safe at any moment, for a save replaces whole files.
    """

    waits = asked = False

    def __call__(self, number, frame):
        if self.asked or not self.waits:
            raise KeyboardInterrupt
        self.asked = True


@contextmanager
def interruptible(ranks: Any = ALONE) -> Iterator[Stop]:
    """Handle SIGINT and SIGTERM by a Stop, and yield the Stop.

    Under mpiexec, which ends its ranks, only SIGINT is handled, by rank 0; the other ranks ignore
    it.
    """
    stop = Stop()
    numbers = [signal.SIGINT, *([signal.SIGTERM] if ranks.size == 1 else [])]
    before = [signal.signal(n, signal.SIG_IGN if ranks.rank else stop) for n in numbers]
    try:
        yield stop
    finally:
        for number, handler in zip(numbers, before):
            signal.signal(number, handler)


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
        note("\n".join(notes))
    run = ranks.first(run)
    run.ranks = ranks
    return run


def new_run(folder, args):
    """Return (a new run that is saved before its first step, notes on its data).

    Without --out the run takes the next free folder. If it cannot begin, it leaves no files.
    """
    free = args.out is None
    with ExitStack() as stack:
        if free:
            stack.enter_context(made_folder(folder.parent))
            folder = free_folder(folder)
        if (folder / "model.npz").exists():
            raise UsageError(f"{folder} holds a run already: --resume to go on, another --out to"
                             " begin")
        remove_parts(folder)
        check_folder(folder, force=args.force)
        stack.enter_context(made_folder(folder, own=free))
        make_writable(folder)
        run, notes = new_run_of(folder, args)
        run.save()
    return run, notes


def free_folder(folder):
    """Return the first of folder, folder-2, ... that can be made; tell of a training to resume."""
    for n in count(1):
        other = folder.with_name(f"{folder.name}-{n}") if n > 1 else folder
        with suppress(FileExistsError):
            other.mkdir()
            return other
        if (other / "model.npz").exists() and not (other / "metrics.json").exists():
            command = command_line("aiayn-np", "train", folder.name, "--out", other, "--resume")
            note(f"{other} holds a training that did not end; to go on with it: {command}")


def remove_parts(folder):
    """Remove the unfinished files that a killed training left in a folder."""
    for part in parts_in(folder):
        part.unlink(missing_ok=True)


def resumed_run(folder, args):
    """Return (the run in a folder, notes on its data).

    The run goes on with its own options; only the options in LATER may be given again.
    """
    from ..runs.run import Run

    given = given_options(args)
    if fixed := [*map(flag_of, given.keys() - LATER)]:
        raise UsageError(f"{min(fixed)} is fixed by the run in {folder}: not with --resume")
    run = Run.open(folder)
    if args.task != run.options["task"]:
        raise UsageError(f"{folder} is a run of the task {run.options['task']}, not {args.task}")
    notes = run.go_on(given)
    remove_parts(folder)
    return run, notes
