"""A program for mpiexec: the command line of the package, with a fault on one rank.

    mpiexec -n 2 python mpi_fault.py FAULT train copy …

none     nothing goes wrong
raise    rank 1 raises a ValueError in its third share
bug      rank 1 raises an error that the command line does not expect
nan      a value of every rank is not a number, from the third share on
kill     rank 1 is killed by -9 in its third share
disk     the disk of rank 0 is full from its second checkpoint on
"""

import os
import signal
import sys

from aiayn_course.cli.main import main
from aiayn_np.runs.run import Run
from aiayn_np.training.shares import Shares
from aiayn_np.transformer import Transformer

forward, of, save = Transformer.forward, Shares.of, Run.save
calls = {"share": 0, "save": 0}
ERRORS = {"raise": ValueError("planted"), "bug": ArithmeticError("planted")}


def faulty_shares(self, *batch):
    calls["share"] += 1
    if calls["share"] == 3 and self.ranks.rank == 1:
        if fault == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        if fault in ERRORS:
            raise ERRORS[fault]
    return of(self, *batch)


def faulty_forward(self, *ids, **options):
    if calls["share"] == 3 and fault == "nan":
        self.decoder.layers[0].feed_forward.linear_1.W.value[0, 0] = float("nan")
    return forward(self, *ids, **options)


def faulty_save(self):
    calls["save"] += 1
    if calls["save"] == 2 and fault == "disk" and self.ranks.rank == 0:
        import resource

        resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))
    save(self)


if __name__ == "__main__":
    fault = sys.argv[1]
    Transformer.forward, Shares.of, Run.save = faulty_forward, faulty_shares, faulty_save
    raise SystemExit(main(sys.argv[2:]))
