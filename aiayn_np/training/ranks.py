"""Data-parallel training, the paper's eight GPUs (Sec. 5.2): the ranks of an MPI program.

`mpiexec -n 4 program` starts a program four times, on one machine or on several. The four processes
share no memory; MPI numbers them (rank 0 to 3) and carries messages between them. Every rank holds
the whole training state, made from the same seed: model, optimizer, generator. So every rank draws
the same batch. It computes the gradient of its own share of the rows. Then one message exchange,
`Allreduce`, replaces the gradients of each rank by their sum. All gradients lie in one array
(store.py), so one call is enough. MPI requires that all ranks get the same sum to the bit. So every
rank takes the same Adam step, and the models stay equal without ever being compared.

The ranks must find the gradient of the mean loss over all target tokens of the batch. A share with
n_i of the n tokens has the mean loss over its own tokens, loss_i, and

    loss = sum_i (n_i / n) loss_i,     so     grad = sum_i (n_i / n) grad_i.

The plain mean of the gradients would be wrong: shares have different numbers of tokens, and a share
may have none. Backward takes the gradient of the loss as its argument. So share i starts its
backward with n_i / n instead of 1, and the gradients only have to be summed.

A rank may also cut its rows into several shares, one computed after the other (`accumulate`). The
sum is the same, and only one share at a time needs memory, so that a large batch fits into a small
machine. Each share has its own generator for dropout, made from the given one anew for every batch.
docs/scaling.md says what a step costs and how many machines pay.

Every rank validates its part of the sequences. Only rank 0 writes files and prints.

If one rank stops, the others wait in `Allreduce` for ever. So an error that nobody catches ends all
ranks (`end_all_ranks`). The launcher does the same when a rank is killed.
"""

import os
import socket
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from ..checks import check_sizes
from ..module import Cache, Module
from .checks import first_not_finite
from .loss import ModelLoss
from .optimizer import Adam

SIZES = ("PMI_SIZE", "OMPI_COMM_WORLD_SIZE")  # what launchers tell each process that they start


class Alone:
    """One process that does all of the work, with the methods that `Ranks` has for several."""

    rank, size = 0, 1

    def part(self, items: Any) -> Any:
        """The items (a list, an array, a range) that are this rank's to work on."""
        return items[self.rank :: self.size]

    def all(self, mine: Any) -> list:
        """Return the list of what every rank has given; every rank gets the whole list."""
        return [mine]

    def first(self, value: Any) -> Any:
        """Return what rank 0 has given, on every rank."""
        return value

    def total(self, number: Any) -> Any:
        """Return the sum of what every rank has given, in the order of the ranks."""
        return sum(self.all(number))

    def sum_in_place(self, array: np.ndarray) -> None:
        """Replace an array on every rank by the sum of all of them, the same to the bit."""

    def __str__(self):
        return f"rank {self.rank} of {self.size} ({socket.gethostname()}, process {os.getpid()})"


ALONE = Alone()


class Ranks(Alone):
    """The processes of an MPI communicator. All of them must call every method but `part`.

    From here on, an error that nobody catches ends all ranks.
    """

    def __init__(self, comm: Any) -> None:
        from mpi4py.util import pkl5

        self.comm = comm
        self.objects: Any = pkl5.Intracomm(comm)        # it carries objects larger than 2 GiB
        self.rank, self.size = comm.rank, comm.size
        sys.excepthook = ending_all(sys.excepthook)

    def all(self, mine: Any) -> list:
        return self.comm.allgather(mine)

    def first(self, value: Any) -> Any:
        return self.objects.bcast(value, root=0)

    def sum_in_place(self, array: np.ndarray) -> None:
        from mpi4py import MPI

        self.comm.Allreduce(MPI.IN_PLACE, array)


class SharedGradient:
    """What computes the gradient of a batch in shares: `accumulate` of them on each of the ranks.

    It is called as `gradient_of` in loop.py, and all ranks get the same answer.
    """

    def __init__(self, model: Module, criterion: Any, measure: Callable[[Cache], Any],
                 optimizer: Adam, ranks: Alone = ALONE, accumulate: int = 1) -> None:
        self.whole, self.measure, self.optimizer = ModelLoss(model, criterion), measure, optimizer
        self.ranks, self.accumulate, self.pad = ranks, accumulate, criterion.pad

    def __call__(self, batch: tuple,
                 rng: np.random.Generator | None) -> tuple[float, np.ndarray, str]:
        n, first = self.ranks.size * self.accumulate, self.ranks.rank * self.accumulate
        rngs = Children(rng, n)
        mine = [self.share(weight, rows, rngs.own[i])
                for i, weight, rows in cut(batch, n, self.pad)
                if first <= i < first + self.accumulate]
        told = self.ranks.all((rngs.drawn(), mine))
        rngs.settle(any(drawn for drawn, _ in told))
        self.ranks.sum_in_place(self.optimizer.gradients())
        shares = [share for _, of_rank in told for share in of_rank]
        loss = sum(weight * loss for weight, loss, _, _ in shares)
        scores = np.sum([weight * np.asarray(s) for weight, _, s, _ in shares], axis=0)
        return loss, scores, next(filter(None, (name for *_, name in shares)), "")

    def share(self, weight: float, rows: tuple, rng: np.random.Generator | None) -> tuple:
        """Forward, loss and backward: (weight, loss, scores, first tensor that is not finite)."""
        *inputs, targets = rows
        loss, cache = self.whole.forward(*inputs, targets=targets, rng=rng)
        self.whole.backward(weight, cache)
        not_finite = first_not_finite(loss, self.whole.model, cache.model)
        return weight, loss, self.measure(cache.loss), not_finite


def cut(batch, n, pad):
    """Yield (number, weight, rows) of each of the n shares of a batch that has a target."""
    count = int(np.count_nonzero(batch[-1] != pad))
    for i, rows in enumerate(zip(*(np.array_split(x, n) for x in batch))):
        own = int(np.count_nonzero(rows[-1] != pad))
        if own or not count:
            yield i, own / max(count, 1), rows


class Children:
    """Generators for n shares, made from `rng`; n times None if `rng` is None.

    If nothing was drawn from any of them, `rng` is set back. So a model without dropout sees the
    same batches later, whatever the number of shares.
    """

    def __init__(self, rng, n):
        self.rng, self.before = rng, rng and rng.bit_generator.state
        seeds = [] if rng is None else rng.integers(2**63, size=n)
        self.own: list = [np.random.default_rng(seed) for seed in seeds] or [None] * n
        self.fresh = self.states()

    def states(self):
        return [child.bit_generator.state for child in self.own if child]

    def drawn(self):
        """Whether a number was drawn from one of them."""
        return self.states() != self.fresh

    def settle(self, drawn):
        """Set `rng` back if nothing was drawn."""
        if self.rng is not None and not drawn:
            self.rng.bit_generator.state = self.before


def ranks_of(workers: Any) -> Alone:
    """The Ranks of an MPI communicator; Ranks as they are; ALONE for None or 1."""
    if workers is None or workers == 1:
        return ALONE
    if isinstance(workers, Alone):
        return workers
    if not hasattr(workers, "Allreduce"):
        raise ValueError(f"workers must be an MPI communicator, got workers={workers!r}: threads="
                         f"{workers!r} gives BLAS more threads, mpiexec -n starts processes")
    return Ranks(workers)


def shared_gradient(model: Module, criterion: Any, measure: Callable[[Cache], Any],
                    optimizer: Adam, ranks: Alone, accumulate: int) -> SharedGradient | None:
    """What computes the gradient of a batch in shares; None where a batch is one share."""
    check_sizes(accumulate=accumulate)
    if ranks.size * accumulate == 1:
        return None
    return SharedGradient(model, criterion, measure, optimizer, ranks, accumulate)


def launched() -> Alone:
    """The Ranks that mpiexec has started; ALONE without mpiexec.

    Raises ImportError without mpi4py, or where mpi4py uses another MPI than mpiexec: each process
    would then train alone, and overwrite the files of the others.
    """
    size = next((int(os.environ[name]) for name in SIZES if name in os.environ), 1)
    if size == 1:
        return ALONE
    try:
        from mpi4py import MPI
        if MPI.COMM_WORLD.size == size:
            return Ranks(MPI.COMM_WORLD)
        problem = (f"but mpi4py knows of {MPI.COMM_WORLD.size}: it uses another MPI,"
                   f" {MPI.Get_library_version().splitlines()[0]}, than this mpiexec")
    except ImportError as error:
        problem = f"which need mpi4py to train together: pip install mpi4py mpich ({error})"
    raise ImportError(f"mpiexec has started {size} processes, {problem}")


def this_rank() -> str:
    """This process among the ranks of its MPI program, "rank 1 of 4 (host, process 7)", or ""."""
    comm = world()
    if comm is None:
        return ""
    one = Alone()
    one.rank, one.size = comm.rank, comm.size
    return str(one)


def world() -> Any:
    """The communicator of an MPI program with several ranks; None where there is none."""
    module: Any = sys.modules.get("mpi4py.MPI")
    several = module and module.Is_initialized() and not module.Is_finalized()
    return module.COMM_WORLD if several and module.COMM_WORLD.size > 1 else None


def end_all_ranks(code: int) -> None:
    """End every rank of this MPI program with this exit code; nothing where there is none."""
    comm = world()
    if comm is not None:
        sys.stdout.flush()
        sys.stderr.flush()
        time.sleep(0.2)                                 # the launcher passes on what was printed
        comm.Abort(code)


def ending_all(hook):
    """An excepthook that calls `hook`, names the rank, and ends all ranks."""
    def end_after(kind, error, trace):
        hook(kind, error, trace)
        print(f"{this_rank()} has raised {kind.__name__}: {error}", file=sys.stderr)
        end_all_ranks(1)

    return end_after
