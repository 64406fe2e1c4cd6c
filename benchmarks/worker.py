"""A process that does one kind of work when it is asked to, and waits otherwise; see compare.py.

    python benchmarks/worker.py KIND WHAT THREADS OPTIONS

KIND is a module here with a generator function `work(what, threads, **options)`. What it yields
first is said at once; for each number k on stdin k more are said, as one line of JSON.
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
        print(json.dumps(next(work)), file=answers, flush=True)
        for line in sys.stdin:
            said = list(itertools.islice(work, int(line)))
            print(json.dumps(said), file=answers, flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), json.loads(sys.argv[4]))
