"""Data-parallel training, the paper's eight GPUs (Sec. 5.2): the ranks of an MPI program.

`mpiexec -n 4 program` starts a program four times, on one machine or on several. The four processes
share no memory; MPI numbers them (rank 0 to 3) and carries messages between them. Every rank holds
the whole training state, made from the same seed: model, optimizer, generator. So every rank draws
the same batch. Each rank computes the gradient of its own share of the rows (shares.py). Then one
message exchange, `Allreduce`, replaces the gradients of each rank by their sum. All gradients lie
in one array (store.py), so one call is enough. MPI requires that all ranks get the same sum to the
bit. So every rank takes the same Adam step, and the models stay equal without ever being compared.
Every rank validates its part of the sequences. Only rank 0 writes files and prints.
docs/scaling.md shows the measured cost of a step on several machines.

If one rank stops, the others wait in `Allreduce` for ever. So an error that nobody catches ends all
ranks (`end_all_ranks`). The launcher does the same when a rank is killed.
"""

import os
import socket
import sys
import time
from typing import Any

import numpy as np

SIZES = ("PMI_SIZE", "OMPI_COMM_WORLD_SIZE")  # environment variables with the number of processes


class Alone:
    """One process that does all of the work. It has the methods of `Ranks`."""

    rank, size = 0, 1

    def part(self, items: Any) -> Any:
        """Return this rank's part of the items (a list, an array, a range)."""
        return items[self.rank :: self.size]

    def all(self, mine: Any) -> list:
        """Return the list of the values of all ranks; every rank gets the whole list."""
        return [mine]

    def first(self, value: Any) -> Any:
        """Return the value of rank 0, on every rank."""
        return value

    def total(self, number: Any) -> Any:
        """Return the sum of the numbers of all ranks, in the order of the ranks."""
        return sum(self.all(number))

    def sum_in_place(self, array: np.ndarray) -> None:
        """Replace an array on every rank by the sum over all ranks, equal to the last bit."""

    def __str__(self):
        return named(self.rank, self.size)


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


def named(rank, size):
    """Return the name of this process, such as "rank 1 of 4 (host, process 7)"."""
    return f"rank {rank} of {size} ({socket.gethostname()}, process {os.getpid()})"


def check_ranks(ranks):
    """Refuse a value that is no Alone or Ranks, such as a number of processes or of threads."""
    if not isinstance(ranks, Alone):
        raise TypeError("ranks must be what launched() returns, or Ranks(communicator of MPI), got"
                        f" ranks={ranks!r}: threads={ranks!r} gives BLAS more threads, mpiexec -n"
                        " starts processes")


def launched() -> Alone:
    """Return the Ranks that mpiexec has started; ALONE without mpiexec.

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
    """Return the name of this process among the ranks of its MPI program; "" if it is alone."""
    comm = world()
    return named(comm.rank, comm.size) if comm else ""


def world() -> Any:
    """Return the communicator of an MPI program with several ranks; None for a single process."""
    module: Any = sys.modules.get("mpi4py.MPI")
    several = module and module.Is_initialized() and not module.Is_finalized()
    return module.COMM_WORLD if several and module.COMM_WORLD.size > 1 else None


def end_all_ranks(code: int) -> None:
    """End every rank of this MPI program with this exit code; without MPI do nothing."""
    comm = world()
    if comm is not None:
        sys.stdout.flush()
        sys.stderr.flush()
        time.sleep(0.2)                                # time for the launcher to pass on the output
        comm.Abort(code)


def ending_all(hook):
    """Return an excepthook that calls `hook`, names the rank, and ends all ranks."""
    def end_after(kind, error, trace):
        hook(kind, error, trace)
        print(f"{this_rank()} has raised {kind.__name__}: {error}", file=sys.stderr)
        end_all_ranks(1)

    return end_after
