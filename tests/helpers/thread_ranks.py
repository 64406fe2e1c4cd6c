"""Ranks without MPI: threads that exchange through a list what processes would send."""

import threading

from aiayn_np.training.ranks import Ranks


class ThreadRanks(Ranks):
    """One of n ranks, with the methods that need MPI made from a barrier and a list."""

    def __init__(self, rank, slots, barrier):
        self.rank, self.size, self.slots, self.barrier = rank, len(slots), slots, barrier

    def all(self, mine):
        self.slots[self.rank] = mine
        self.barrier.wait(60)
        told = list(self.slots)
        self.barrier.wait(60)
        return told

    def first(self, value):
        return self.all(value)[0]

    def sum_in_place(self, array):
        array[...] = sum(self.all(array.copy()))


def together(n, program):
    """What `program(ranks)` returns on each of n ranks; the first error that is not of a wait."""
    slots, barrier, results, errors = [None] * n, threading.Barrier(n), [None] * n, []

    def run(rank):
        try:
            results[rank] = program(ThreadRanks(rank, slots, barrier))
        except Exception as error:
            errors.append(error)
            barrier.abort()

    threads = [threading.Thread(target=run, args=(rank,)) for rank in range(n)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    errors.sort(key=lambda error: isinstance(error, threading.BrokenBarrierError))
    if errors:
        raise errors[0]
    return results
