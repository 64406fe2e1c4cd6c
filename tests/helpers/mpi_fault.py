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
from aiayn_np.training.gradient import SharedGradient

share, save = SharedGradient.share, Run.save
calls = {"share": 0, "save": 0}
ERRORS = {"raise": ValueError("planted"), "bug": ArithmeticError("planted")}


def faulty_share(self, *job):
    calls["share"] += 1
    if calls["share"] == 3 and fault == "nan":
        self.model.decoder.layers[0].feed_forward.linear_1.W.value[0, 0] = float("nan")
    if calls["share"] == 3 and self.ranks.rank == 1:
        if fault == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        if fault in ERRORS:
            raise ERRORS[fault]
    return share(self, *job)


def faulty_save(self):
    calls["save"] += 1
    if calls["save"] == 2 and fault == "disk" and self.ranks.rank == 0:
        import resource

        resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))
    save(self)


if __name__ == "__main__":
    fault = sys.argv[1]
    SharedGradient.share, Run.save = faulty_share, faulty_save
    raise SystemExit(main(sys.argv[2:]))
