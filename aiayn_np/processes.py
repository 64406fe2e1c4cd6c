"""Workers that are processes: two processors for a model so small that its threads mostly wait.

Python runs one thread at a time; another gets its turn while NumPy calculates. A step of a small
model is a thousand calculations of some ten microseconds, and to wake a thread takes as long. A
process has a Python of its own, and two of them meet once a step. In return they share nothing but
what they are told:

- a process begins as a copy of this one, with the model as it is then (the system call `fork`);
- values and gradients of its replica lie in memory that both keep seeing;
- its share of the batch goes to it through a pipe, and loss and generator come back.

All else is as with threads, and so is the order of the sums: the results are equal to the bit.
"""

import contextlib
import math
import mmap
import os
import pickle
import signal
import sys
import traceback
import warnings
import weakref

import numpy as np

from .workers import Workers

OPEN: weakref.WeakSet = weakref.WeakSet()  # our ends of all pipes: a new process closes its copies


class ProcessWorkers(Workers):
    """Workers of which the first works here and each other one in a process of its own.

    As with threads, they see values that are assigned or cast, but not that a layer of the model is
    exchanged. The cache of their shares comes here only where the loss is not finite. Raises
    ValueError for more than one on another system than Linux: Windows has no `fork`, and after one
    the matrix products of macOS may not work.
    """

    def __init__(self, model, criterion, n=1, measure=None):
        super().__init__(model, criterion, n, measure)
        check_kind("processes", n)
        self.pipes, self.end = {}, None             # to the others, from their first batch on

    def prepare(self):
        """Replicas have the values of now, in the common memory, and no gradient."""
        pairs = [(parameter, twin) for parameter, *twins in self.parameters for twin in twins]
        running = self.end is not None and self.end.alive
        if not running or any(p.value.dtype != twin.value.dtype for p, twin in pairs):
            self.start(pairs)
        for parameter, twin in pairs:
            twin.value[...] = parameter.value
            twin.zero_grad()

    def start(self, pairs):
        """Begin the processes, anew if there are some."""
        from multiprocessing import get_context  # it takes time that few need to wait

        self.stop()
        for parameter, twin in pairs:
            twin.value, twin.grad = common_like(parameter.value), common_like(parameter.value)
        context, self.pipes = get_context("fork"), {}
        processes: list = []
        self.end = weakref.finalize(self, end, self.pipes, processes)
        try:
            for model in self.models[1:]:
                self.pipes[id(model)], theirs = context.Pipe()
                OPEN.add(self.pipes[id(model)])
                job = model, theirs, list(OPEN)
                process = context.Process(target=self.serve, args=job, daemon=True)
                with warnings.catch_warnings():     # it says that other threads are not copied
                    warnings.simplefilter("ignore", DeprecationWarning)
                    process.start()
                processes.append(process)
                theirs.close()
        except BaseException:
            self.stop()
            raise

    def stop(self):
        """End the processes, if there are some. The next batch begins new ones."""
        if self.end is not None:
            self.end()

    def run(self, jobs):
        """The shares of some jobs: the others get theirs, then this process does its own."""
        try:
            for model, *job in jobs:
                if model is not self.models[0]:
                    with contextlib.suppress(OSError):              # `received` tells of it
                        self.pipes[id(model)].send((job, np.geterr()))
            return [self.share(model, *job) if model is self.models[0]
                    else received(self.pipes[id(model)], job[-1]) for model, *job in jobs]
        except BaseException:                       # answers may be on their way
            self.stop()
            raise

    def serve(self, model, pipe, others):
        """What another process does: take a job, send the share, until the pipe is closed."""
        signal.signal(signal.SIGINT, signal.SIG_IGN)                # Ctrl-C is for the first one
        for other in others:
            other.close()
        grads = [(parameter, parameter.grad) for parameter in model.parameters()]
        with (contextlib.suppress(EOFError, OSError),
              self.blas.limit(limits=self.blas_threads, user_api="blas")):
            while True:
                job, rules = pipe.recv()
                with np.errstate(**rules):
                    answer = self.answer(model, *job)
                for parameter, grad in grads:
                    if parameter.grad is not grad:                  # assigned, not added to
                        grad[...], parameter.grad = parameter.grad, grad
                pipe.send_bytes(answer)
        os._exit(0)                                                 # what else exits is not ours

    def answer(self, model, weight, batch, rng):
        """(share, state of the generator, None), or (None, an error, its traceback), as bytes."""
        try:
            share = self.share(model, weight, batch, rng)
            if math.isfinite(share.loss):
                share.cache = None                                  # large, and nobody will look
            return pickle.dumps((share, rng and rng.bit_generator.state, None))
        except Exception as error:
            told = traceback.format_exc()
            try:
                answer = pickle.dumps((None, error, told))
                pickle.loads(answer)
            except Exception:                                       # some errors cannot be sent
                answer = pickle.dumps((None, RuntimeError(repr(error)), told))
            return answer


def common_like(array):
    """Zeros like an array, in memory that processes which begin from now on share with this one."""
    memory = mmap.mmap(-1, max(array.nbytes, 1))
    return np.frombuffer(memory, array.dtype, array.size).reshape(array.shape)


def received(pipe, rng):
    """The share that another process sends; its generator goes on where that one stopped."""
    try:
        share, state, told = pickle.loads(pipe.recv_bytes())
    except (EOFError, OSError):
        raise RuntimeError("the process of a worker has ended; was there too little memory?"
                           ) from None
    if share is None:
        raise state from RuntimeError(f"in the process of a worker:\n{told}")
    if rng is not None:
        rng.bit_generator.state = state
    return share


def end(pipes, processes):
    """Close the pipes, whereupon the processes end."""
    for pipe in pipes.values():
        pipe.close()
    for process in processes:
        process.join(5)
        if process.is_alive():
            process.kill()
            process.join()


WORKERS = {"threads": Workers, "processes": ProcessWorkers}


def check_kind(workers_as, n):
    """There are `n` workers of this kind on this system."""
    if workers_as not in WORKERS:
        raise ValueError(f"workers_as must be one of {', '.join(WORKERS)}, got {workers_as!r}")
    if workers_as == "processes" and n > 1 and not sys.platform.startswith("linux"):
        raise ValueError(f"workers_as='processes' needs Linux, this is {sys.platform}")


def make_team(model, criterion, n, workers_as, measure=None):
    """`n` workers of a kind, "threads" or "processes"."""
    check_kind(workers_as, n)
    return WORKERS[workers_as](model, criterion, n, measure)
