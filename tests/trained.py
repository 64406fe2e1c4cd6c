"""Small trained models, one per task and session, for the tests that need one."""

import functools

import numpy as np

from aiayn_np import CopyTask, ReverseTask, SortTask, Transformer, train
from aiayn_np.experiments.head_jobs import alignment_scores

__all__ = ["alignment_scores", "trained"]
TASKS = {"copy": CopyTask, "reverse": ReverseTask, "sort": SortTask}


@functools.cache
def trained(name, seed=0, steps=1500):
    """(model, task, progress records) of a small task trained until its validation is perfect."""
    rng = np.random.default_rng(seed)
    task = TASKS[name](symbols=6, max_length=6)
    model = Transformer(
        task.vocab_size, N=2, d_model=32, d_ff=64, h=2, P_drop=0.0, max_len=60, rng=rng
    ).astype(np.float32)
    return model, task, list(train(model, task, steps=steps, rng=rng, validation_size=500))
