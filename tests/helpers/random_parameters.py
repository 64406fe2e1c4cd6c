"""A model whose every parameter is random, so that norms and biases count too."""

import numpy as np


def all_random(model, rng):
    """Draw all parameters of a model anew, in their order; return the model."""
    for p in model.parameters():
        p.value[...] = rng.normal(size=p.value.shape) / np.sqrt(len(p.value))
    return model
