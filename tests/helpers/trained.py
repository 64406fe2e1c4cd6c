"""Small trained models, one per task and session, for the tests that need one."""

import copy
import functools

import numpy as np

from aiayn_course.lab.claims.head_jobs import cross_attention_heads, job_scores
from aiayn_np import CopyTask, ReverseTask, SortTask, Transformer, train

HALF = 110  # steps after which some answers are right and some wrong
TASKS = {"copy": CopyTask, "reverse": ReverseTask, "sort": SortTask}


@functools.cache
def training(name, seed):
    """(model, task, progress records, the model as it was after step HALF)"""
    rng = np.random.default_rng(seed)
    task = TASKS[name](symbols=6, max_length=6)
    model = Transformer(
        task.vocab_size, N=2, d_model=32, d_ff=64, h=2, P_drop=0.0, max_len=60, rng=rng
    ).astype(np.float32)
    records, half = [], None
    for record in train(model, task, steps=1500, rng=rng, validation_size=500):
        records.append(record)
        if record.step == HALF:
            half = copy.deepcopy(model)
    return model, task, records, half


def trained(name, seed=0):
    """(model, task, progress records) of a small task trained until its validation is perfect."""
    return training(name, seed)[:3]


def half_trained(name, seed=0):
    """(model, task) from the midst of the same training."""
    _, task, _, half = training(name, seed)
    return half, task


def alignment_scores(model, task, aligned, rng, n=200):
    """(best, shuffled): the most weight of a cross-attention head on the places in the source that
    `aligned(t, length)` names for the outputs t, and with the places of each source shuffled.
    """
    heads, lengths = cross_attention_heads(model, task.test(n))
    right, shuffled = job_scores(heads, lengths, aligned, rng)
    return right.max(), shuffled.max()
