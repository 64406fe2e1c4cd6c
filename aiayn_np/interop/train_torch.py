"""Go on with a run in PyTorch, on a GPU where there is one:

    python -m aiayn_np.interop.train_torch runs/copy
    torchrun --nproc-per-node 2 -m aiayn_np.interop.train_torch runs/copy

The run is not changed. The result is a folder of the format `torch`, written every two minutes, at
the end, and after Ctrl-C or SIGTERM, which let the step end. `aiayn-np import` makes a run of it.
Given such a folder instead of a run, this program goes on with its training.
"""

import argparse
import contextlib
import os
import shlex
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path

from ..checks import one_line
from ..files import CheckpointError, new_folder, reason_of
from ..runs.open import open_run
from ..text.extra import extra
from . import torch_format

SAVE_EVERY, SAY_EVERY, PATIENCE = 120, 15, 3  # seconds


def main(argv=None):
    """Train; return the exit code, as the commands of `aiayn-np` do."""
    try:
        args = parser().parse_args(argv)
        with tempfile.TemporaryDirectory() as scratch, processes(args.device) as (device, *ranks):
            return go_on(args, Path(scratch), device, *ranks)
    except (CheckpointError, OSError, ValueError, TypeError, IndexError, ImportError) as error:
        return fail(error, 2)
    except (FloatingPointError, MemoryError) as error:
        return fail(error, 1)
    except KeyboardInterrupt:
        return fail("interrupted; steps since the last save are lost", 1)


def fail(error, code):
    """Write one line to stderr, and return the exit code.

    Of several processes on a machine the first one speaks. The others wait for torchrun to end
    them, as it does when one of them has ended. A process that is left speaks for itself.
    """
    if int(os.environ.get("LOCAL_RANK", 0)):
        time.sleep(PATIENCE)
    print(f"train_torch: error: {one_line(reason_of(error))}", file=sys.stderr, flush=True)
    return code


class Parser(argparse.ArgumentParser):
    """A parser that raises ValueError for wrong options, so that `fail` tells the reason."""

    def error(self, message):
        raise ValueError(f"{message}; --help lists the options")


def parser():
    """The options."""
    p = Parser(prog="python -m aiayn_np.interop.train_torch", epilog=__doc__,
               formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("run", type=Path, help="folder that `train`, `import` or this program wrote")
    p.add_argument("--out", type=Path, help="folder to write (default: RUN.torch)")
    p.add_argument("--steps", type=int, help="last step of a toy task (default: the run's)")
    p.add_argument("--epochs", type=float, help="last epoch of text (default: the run's)")
    p.add_argument("--device", help="such as cpu (default: a GPU where there is one)")
    return p


@contextlib.contextmanager
def processes(device):
    """A context: (device, rank, number of processes) of torchrun, or of a single process."""
    torch = extra("torch", of="torch")
    ranks, rank = int(os.environ.get("WORLD_SIZE", 1)), int(os.environ.get("RANK", 0))
    device = checked(device, torch)
    if device.type == "cuda":
        torch.cuda.set_device(device)
    if ranks > 1:
        torch.distributed.init_process_group("nccl" if device.type == "cuda" else "gloo")
    try:
        yield device, rank, ranks
    finally:
        if torch.distributed.is_initialized():
            torch.distributed.destroy_process_group()


def checked(device, torch):
    """The device of this name. For None it is a GPU of this process, or the processor."""
    gpus = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if device is None:
        device = f"cuda:{os.environ.get('LOCAL_RANK', 0)}" if gpus else "cpu"
    try:
        device = torch.device(device)
    except RuntimeError as error:
        raise ValueError(f"--device must be such as cpu or cuda:0, got {device!r}") from error
    if device.type == "cuda" and (device.index or 0) >= gpus:
        raise ValueError(f"--device must be one that is there, got {device} with {gpus} GPUs")
    return device


def go_on(args, scratch, device, rank, ranks):
    """Train the run of the command line."""
    run, out = opened(args, scratch)
    mine = out.exists()
    from .torch_training import TorchTraining

    training = TorchTraining(run, device, rank, ranks)
    say(rank, f"step {run.optimizer.t} of {run.steps}, on {device.type}, {ranks} process(es)")
    saved = said = time.monotonic()
    with interruptible(ranks) as pressed:
        for progress in training.steps():
            run.history.append(progress)
            if time.monotonic() - said > SAY_EVERY:
                said = time.monotonic()
                say(rank, f"step {progress.step}: loss {progress.loss:.3f}, rate"
                          f" {progress.rate:.2g}")
            stop = training.any_of(bool(pressed)) and progress.step < run.steps
            if rank == 0 and (stop or time.monotonic() - saved > SAVE_EVERY):
                save(training, out, replace=mine)
                mine, saved = True, time.monotonic()
            if stop:
                say(rank, f"interrupted after step {progress.step}; go on with"
                          f" {shlex.quote(str(out))} in place of the run")
                return 1
    if rank == 0:
        training.collect()
        run.measure(run.history[-1])
        save(training, out, replace=mine)
        print(f"step {run.optimizer.t}: loss {run.history[-1].loss:.4f}, in {out}; "
              f"aiayn-np import {shlex.quote(str(out))} --out RUN makes a run of it")
    return 0


@contextlib.contextmanager
def interruptible(ranks):
    """A list that Ctrl-C and SIGTERM add to, so that the step can end first.

    A second signal acts at once, but not on several processes: they may get one signal twice, from
    the terminal and from torchrun.
    """
    pressed: list[int] = []

    def interrupt(number, _):
        if pressed and ranks == 1:
            raise KeyboardInterrupt
        pressed.append(number)

    handlers = {number: signal.signal(number, interrupt)
                for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield pressed
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)


def opened(args, scratch):
    """(the run to go on with, prepared; the folder to write)."""
    again = torch_format.recognises(args.run)
    run = torch_format.read(args.run, scratch) if again else open_run(args.run)
    out = args.out or (args.run if again else args.run.with_name(f"{args.run.name}.torch"))
    if out.exists() and not (again and os.path.realpath(out) == os.path.realpath(args.run)):
        raise ValueError(f"{out} is there already: choose another --out, or go on with that one")
    if not run.config.get("training_state", True):
        raise ValueError(f"{args.run} has no state of its training, so training cannot go on")
    if not again:
        run.load_history()
    options = {"steps": args.steps, "epochs": args.epochs}
    for name, value in options.items():
        if value is not None and name not in run.config["train"]:
            raise ValueError(f"--{name} is no option of the task {run.task.name}")
    run.config["train"] |= {name: value for name, value in options.items() if value is not None}
    run.prepare()
    if run.solved or run.optimizer.t >= run.steps:
        raise ValueError(f"nothing to do: the run is at step {run.optimizer.t} of {run.steps}"
                         " already, or solved")
    return run, out


def save(training, out, *, replace):
    """Write the training so far, with `replace` in place of an earlier state."""
    training.collect()
    if replace and out.exists():
        shutil.rmtree(out)
    with new_folder(out) as folder:
        torch_format.write(training.run, folder)


def say(rank, line):
    """Write a line of progress to stderr; only the first process does."""
    if rank == 0:
        print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
