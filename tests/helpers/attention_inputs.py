"""Random queries, keys and values."""

import numpy as np


def random_QKV(rng, leading=(2, 3), T_q=3, T_k=5, d_k=4, d_v=6, dtype=float):
    shapes = [(*leading, T_q, d_k), (*leading, T_k, d_k), (*leading, T_k, d_v)]
    return [rng.standard_normal(shape).astype(dtype) for shape in shapes]


def both_ways(layer, inputs, **options):
    """The output of a layer, and the gradients of its inputs."""
    y, cache = layer.forward(*inputs, **options)
    return [y, *layer.backward(np.cos(y), cache)]
