"""A process that does one kind of work when it is asked to, and waits otherwise; see compare.py.

    python benchmarks/worker.py KIND WHAT THREADS OPTIONS

KIND is a module here with a generator function `work(what, threads, **options)`. The worker prints
its first value at once. For each number k on stdin it prints k more values as one line of JSON. If
several processes work together (ranks), only the first prints, and the others work until it ends.
"""

import contextlib
import importlib
import itertools
import json
import os
import sys


def main(kind, what, threads, options):
    if hasattr(os, "sched_setaffinity"):       # JAX takes every processor that it sees
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-threads:])
    answers = sys.stdout
    with contextlib.redirect_stdout(sys.stderr):
        work = importlib.import_module(kind).work(what, threads, **options)
        if any(os.environ.get(name, "0") != "0" for name in ("PMI_RANK", "RANK")):
            sys.exit(all(work))
        print(json.dumps(next(work)), file=answers, flush=True)
        for line in sys.stdin:
            said = list(itertools.islice(work, int(line)))
            print(json.dumps(said), file=answers, flush=True)
    if "PMI_RANK" in os.environ:
        from aiayn_np.training.ranks import end_all_ranks

        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)           # MPI would call it an error
        end_all_ranks(0)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), json.loads(sys.argv[4]))
