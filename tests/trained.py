"""Small trained models, one per task and session, for the tests that need one."""

import functools

import numpy as np

from aiayn_np import CopyTask, ReverseTask, SortTask, Transformer, train
from aiayn_np.maps import attention_maps

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


def alignment_scores(model, task, aligned, rng, n=200):
    """(best, baseline): weight of each cross-attention head on the source token that `aligned`
    names for every output position, averaged over n test sequences; and the same with the source
    positions of each sequence shuffled. The best head is meant in both.

    aligned(t, length) -> position in the source of output t of a sequence of `length` symbols
    """
    src, tgt_in, tgt_out = task.test(n)
    _, cache = model.forward(src, tgt_in)
    maps = {name: w for name, w in attention_maps(cache).items() if "cross_attention" in name}
    heads = np.concatenate(list(maps.values()), axis=1)  # (n, N h, T_q, T_k)
    right, shuffled = [], []
    for i, row in enumerate(tgt_out):
        length = int((row >= 3).sum())
        positions = [aligned(t, length) for t in range(length)]
        right.append(heads[i, :, np.arange(length), positions])
        shuffled.append(heads[i, :, np.arange(length), rng.permutation(positions)])
    return np.concatenate(right).mean(axis=0).max(), np.concatenate(shuffled).mean(axis=0).max()
