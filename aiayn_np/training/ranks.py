"""Data-parallel training on many machines: the workers are the ranks of an MPI program.

`mpiexec -n 4 program` starts a program four times, on one machine or on several. The four processes
share no memory; MPI numbers them (rank 0 to 3) and carries messages between them. Every rank holds
the whole training state: model, optimizer, generator. So every rank draws the same batch. It
computes the gradient of its own shares of the batch, weighted by target tokens, as a thread of
workers.py does. Then one message exchange, `Allreduce`, replaces the gradients of each rank by
their sum. All gradients lie in one array (store.py), so one call is enough. MPI requires that all
ranks get the same sum to the bit. So every rank takes the same Adam step, and the models stay equal
without ever being compared. docs/scaling.md says what a step costs and how many machines pay.

Every rank validates its part of the sequences. Only rank 0 writes files and prints.

If one rank stops, the others wait in `Allreduce` for ever. So an error that nobody catches ends all
ranks (`end_all_ranks`). The launcher does the same when a rank is killed.
"""

import itertools
import os
import socket
import sys
import time
import zlib
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from ..module import Cache, Module
from .optimizer import Adam
from .workers import Children, Workers, blas, check_team, cut, threads_for

SIZES = ("PMI_SIZE", "OMPI_COMM_WORLD_SIZE")  # what launchers tell each process that they start
RANKS = ("PMI_RANK", "OMPI_COMM_WORLD_RANK")


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

    def __str__(self):
        return f"rank {self.rank} of {self.size} ({socket.gethostname()}, process {os.getpid()})"


ALONE = Alone()


class Ranks(Alone):
    """The processes of an MPI communicator. All of them must call every method but `part`.

    From here on, an error that nobody catches ends all ranks, and BLAS uses this rank's part of the
    processors of its machine, or fewer where it was told so.
    """

    def __init__(self, comm: Any) -> None:
        from mpi4py.util import pkl5

        self.comm = comm
        self.objects: Any = pkl5.Intracomm(comm)        # it carries objects larger than 2 GiB
        self.rank, self.size = comm.rank, comm.size
        sys.excepthook = ending_all(sys.excepthook)
        here = self.all(socket.gethostname()).count(socket.gethostname())
        controller = blas()
        controller.limit(limits=threads_for(here, controller), user_api="blas")

    def all(self, mine: Any) -> list:
        return self.comm.allgather(mine)

    def first(self, value: Any) -> Any:
        return self.objects.bcast(value, root=0)

    def sum_in_place(self, array: np.ndarray) -> None:
        """Replace an array on every rank by the sum of all of them, the same to the bit."""
        from mpi4py import MPI

        self.comm.Allreduce(MPI.IN_PLACE, array)

    def check_same(self, optimizer: Adam, *others: Any) -> None:
        """Raise ValueError on all ranks unless they have the same parameters, means, step and
        `others`: arrays, generators, and what can be compared by `==`."""
        optimizer.adopt()
        arrays = optimizer.store.values, optimizer.all_m, optimizer.all_v
        mine = [fingerprint(one) for one in (*arrays, optimizer.t, *others)]
        if any(other != mine for other in self.all(mine)):
            raise ValueError("all ranks must begin with the same model, optimizer, rng, task and"
                             " options, got different ones: make them from the same seed and the"
                             " same numbers on every rank")


def fingerprint(one):
    """A few bytes that tell an array or a generator from others; anything else as it is."""
    if isinstance(one, np.random.Generator):
        return str(one.bit_generator.state)
    return zlib.crc32(np.ascontiguousarray(one).data) if isinstance(one, np.ndarray) else one


class RankWorkers(Workers):
    """Ranks that compute the gradient of a batch together.

    optimizer : its gradients are summed over the ranks; they must be zero before a batch
    The other arguments are those of Workers.
    """

    def __init__(self, model, criterion, ranks, optimizer, measure=None, *, accumulate=1):
        super().__init__(model, criterion, 1, measure, accumulate=accumulate)
        self.ranks, self.optimizer = ranks, optimizer

    def gradients(self, src, tgt_in, tgt_out, *, rng=None):
        """As in Workers; all ranks get the same list. Only the shares of this rank have a cache."""
        n, first = self.ranks.size * self.accumulate, self.ranks.rank * self.accumulate
        rngs = Children(rng, n)
        shares = [self.share(self.models[0], weight, ids, rngs.own[i])
                  for i, weight, ids in cut((src, tgt_in, tgt_out), n, self.criterion.pad)
                  if first <= i < first + self.accumulate]
        told = self.ranks.all((rngs.drawn(), [replace(share, cache=None) for share in shares]))
        rngs.settle(any(drawn for drawn, _ in told))
        self.optimizer.adopt()                          # a layer may have assigned its gradient
        self.ranks.sum_in_place(self.optimizer.store.grads)
        theirs = [of_rank for _, of_rank in told]
        theirs[self.ranks.rank] = shares
        return list(itertools.chain(*theirs))


def ranks_of(workers):
    """The Ranks of an MPI communicator; Ranks as they are; ALONE for a number of threads."""
    if isinstance(workers, Alone):
        return workers
    return Ranks(workers) if hasattr(workers, "Allreduce") else ALONE


def make_team(model: Module, criterion: Any, ranks: Alone, optimizer: Adam,
              measure: Callable[[Cache], Any] | None, *, workers: int = 1,
              accumulate: int = 1) -> Workers | None:
    """The workers that share each batch: ranks if there are several, else threads.

    None where a batch is one share.
    """
    check_team(workers, accumulate)
    if ranks.size > 1:
        return RankWorkers(model, criterion, ranks, optimizer, measure, accumulate=accumulate)
    if workers * accumulate > 1:
        return Workers(model, criterion, workers, measure, accumulate=accumulate)
    return None


def launched() -> Alone:
    """The Ranks that mpiexec has started; ALONE without mpiexec.

    Raises ImportError without mpi4py, or where mpi4py uses another MPI than mpiexec: each process
    would then train alone, and overwrite the files of the others. Where the launcher tells the
    processes their ranks, only the first one raises, and the others end.
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
    if not may_speak():
        raise SystemExit(2)
    raise ImportError(f"mpiexec has started {size} processes, {problem}")


def may_speak() -> bool:
    """Whether no launcher has told this process that it is another rank than the first."""
    return all(os.environ.get(name, "0") == "0" for name in RANKS)


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
