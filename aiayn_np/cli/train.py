"""The command `train`: it begins a run, or goes on with a run, and prints the results."""

import argparse
import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..files import check_replaceable, made_folder, parts_in
from ..training.ranks import ALONE, launched
from .common import UsageError, command_line, note, printable
from .options import LATER, flag_of, given_options, new_run_of
from .progress import Reporter
from .writing import check_folder, files_of, make_writable

if TYPE_CHECKING:
    from ..runs.run import Run


def train_command(args: argparse.Namespace) -> int:
    """Train on a task or on text, then draw the pictures and measure the model."""
    return 0 if trained(args) else 1


def trained(args: argparse.Namespace) -> Any:
    """Train a new or a saved run, and print its results; return the run, None if interrupted."""
    ranks = launched()
    with interruptible(ranks) as stop:
        run = stop.run = shared_run(args, ranks)
        stop.waits = True
        ended = take_steps(run, lambda: stop.asked, args.threads)
        stop.waits = not ended
        if ended:
            print_results(run, args.threads)
            if not ranks.rank:
                files = sorted(path.name for path in run.folder.iterdir())
                print(printable(f"\nIn {run.folder}: {', '.join(files)}"))
            return run
        if not ranks.rank:
            note(stop.told)
    return None


def take_steps(run: "Run", stop: Callable[[], bool] = lambda: False,
               threads: int | None = None) -> bool:
    """Train a run, and report its steps on stderr; return False if `stop` ended the training."""
    leads = not run.ranks.rank
    if leads and not run.ended:
        note(f"training on the task {run.task.name}: {run.parameters:,} parameters,"
             f" {run.task.vocab_size:,} different tokens, into {run.folder}")
    with Reporter(run) if leads else nullcontext() as reporter, not_finite_is_told():
        for record in run.train(threads):
            ends = run.ranks.first(stop())
            if ends and run.saved != record.step:
                run.save()
            if reporter:
                reporter.report(record)
            if ends:
                return False
    return True


@contextmanager
def not_finite_is_told() -> Iterator[None]:
    """Let the training itself find nan and inf, and add to its message that a checkpoint stays."""
    try:
        with np.errstate(all="ignore"):
            yield
    except FloatingPointError as error:
        raise FloatingPointError(f"{error}; the last good checkpoint is kept") from None


def print_results(run: "Run", threads: int | None = None) -> None:
    """Draw the pictures of a run that has ended, measure its model, and print the results."""
    if lines := run.finish(threads):
        print(printable("\n".join(lines)))


class Stop:
    """The handler of Ctrl-C and of the other signals that end a program.

    While `waits` is true, a signal only sets `asked`: the step ends and is saved. A second Ctrl-C
    ends the program in a step, but not in a save.
    """

    run: Any = None
    waits = asked = False

    def __call__(self, number, frame):
        again = number == signal.SIGINT and self.asked
        if not self.waits or (again and not self.run.saving):
            raise KeyboardInterrupt(self.told if self.run else "")
        self.asked = True

    @property
    def told(self):
        """A line on the interruption. It names the step that is kept."""
        command = command_line("aiayn-np", "train", self.run.options["task"], "--out",
                               self.run.folder, "--resume")
        return f"interrupted; step {self.run.saved} is kept; go on with: {command}"


@contextmanager
def interruptible(ranks: Any = ALONE) -> Iterator[Stop]:
    """Handle SIGINT, SIGHUP and SIGTERM by a Stop, and yield the Stop.

    An ignored signal stays ignored. Under mpiexec, which ends its ranks, only SIGINT is handled, by
    rank 0; the other ranks ignore it.
    """
    stop, others = Stop(), ("SIGTERM", "SIGHUP") if ranks.size == 1 else ()
    there = [getattr(signal, name) for name in others if hasattr(signal, name)]
    with ExitStack() as stack:
        for number in (signal.SIGINT, *(n for n in there if signal.getsignal(n) == signal.SIG_DFL)):
            handler = signal.SIG_IGN if ranks.rank else stop
            stack.callback(signal.signal, number, signal.signal(number, handler))
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
        goes_on = args.resume and not saved_nothing(folder)
        run, notes = (resumed_run if goes_on else new_run)(folder, args)
        note("\n".join(notes))
        for part in parts_in(run.folder):                              # of a run that was killed
            part.unlink(missing_ok=True)
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
        if saved_nothing(folder):
            note(f"{folder} holds a training that ended before it saved a model: it begins again,"
                 " with the options given here")
        else:
            check_folder(folder, force=args.force)
        stack.enter_context(made_folder(folder, own=free))
        make_writable(folder)
        run, notes = new_run_of(folder, args)
        check_files(run)
        run.save()
    return run, notes


def free_folder(folder):
    """Return the first of folder, folder-2, ... that can be made, or that `saved_nothing`."""
    for n in count(1):
        other = folder.with_name(f"{folder.name}-{n}") if n > 1 else folder
        with suppress(FileExistsError):
            other.mkdir()
            return other
        if saved_nothing(other):
            return other
        if (other / "model.npz").exists() and not (other / "metrics.json").exists():
            command = command_line("aiayn-np", "train", folder.name, "--out", other, "--resume")
            note(f"{other} holds a training that did not end; to go on with it: {command}")


def saved_nothing(folder):
    """Tell whether the first save into a folder did not end, and nothing else is in the folder."""
    from ..runs.run import VOCABULARY

    mine = {*parts_in(folder), folder / VOCABULARY}
    return folder.is_dir() and set() < {*folder.iterdir()} <= mine


def check_files(run):
    """Raise OSError if the folder of a run, or a file that a training replaces, is protected."""
    make_writable(run.folder)
    for path in [*files_of(run.folder), *run.folder.glob("*.png")]:
        check_replaceable(path)


def resumed_run(folder, args):
    """Return (the run in a folder, notes on its data).

    The run goes on with its own options; only the options in LATER may be given again.
    """
    from ..runs.open import own_run

    given = given_options(args)
    if fixed := [*map(flag_of, given.keys() - LATER)]:
        raise UsageError(f"{min(fixed)} is fixed by the run in {folder}: not with --resume")
    run = own_run(folder)
    if args.task != run.options["task"]:
        raise UsageError(f"{folder} is a run of the task {run.options['task']}, not {args.task}")
    notes = run.go_on(given)
    check_files(run)
    return run, notes
