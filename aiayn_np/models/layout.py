"""Convert our parameters to PyTorch's names and shapes, and back, with NumPy alone.

A state is {name: array}. `describe` makes the `config` of a model.
"""

import numpy as np

from .forms import BELOW
from .weights import Tensor, linear_tensors, norm_tensors, written


def tensors_of(config):
    """Yield the Tensors of the torch.nn.Module that a config describes."""
    d, d_ff, pre = config["d_model"], config["d_ff"], config["norm"] == "pre"
    yield Tensor(("E",), (config["vocab_size"], d), ("src_embedding.E",))
    if config["positions"] == "learned":
        yield Tensor(("positions",), (config["max_len"], d), ("positions.E",))
    for stack, attentions in (("encoder", {"self_attn": "self_attention"}),
                              ("decoder", {"self_attn": "self_attention",
                                           "multihead_attn": "cross_attention"})):
        for i in range(config["N"]):
            ours = f"{stack}.layers.{i}"
            theirs = f"stacks.{ours}"
            for name, attention in attentions.items():
                yield from attention_tensors(f"{theirs}.{name}", f"{ours}.{attention}", d)
            for n in range(1, len(attentions) + 2):
                norm = f"norm_{n}" if pre else f"add_norm_{n}.layer_norm"
                yield from norm_tensors(f"{theirs}.norm{n}", f"{ours}.{norm}", d)
            for n, (d_in, d_out) in enumerate(((d, d_ff), (d_ff, d)), 1):
                yield from linear_tensors(f"{theirs}.linear{n}", f"{ours}.feed_forward.linear_{n}",
                                          d_in, d_out)
        if pre:
            yield from norm_tensors(f"stacks.{stack}.norm", f"{stack}.norm", d)


def attention_tensors(theirs, ours, d):
    """Yield the Tensors of one multi-head attention."""
    heads = [f"{ours}.linear_{name}" for name in "QKV"]
    for kind, shape, attribute in (("weight", (3 * d, d), "W"), ("bias", (3 * d,), "b")):
        yield Tensor((f"{theirs}.in_proj_{kind}",), shape,
                     tuple(f"{name}.{attribute}" for name in heads), BELOW)
    yield from linear_tensors(f"{theirs}.out_proj", f"{ours}.linear_O", d, d)


def to_theirs(state: dict, config: dict) -> dict:
    """Turn our state into PyTorch's; a projection bias that our model lacks is zero."""
    found = written(tensors_of(config), state)
    return {name: np.ascontiguousarray(array) for name, array in found.items()}


def to_ours(state: dict, config: dict) -> dict:
    """Turn PyTorch's state into ours; raise KeyError or ValueError if it is of another model.

    A projection bias that the config does not have must be zero.
    """
    check_shapes({name: value.shape for name, value in state.items()}, config)
    found = {}
    for t in tensors_of(config):
        for path, value in zip(t.paths, t.form.ours(state[t.names[0]])):
            if config["bias"] or not ("_attention." in path and path.endswith(".b")):
                found[path] = value.copy()
            elif value.any():
                raise ValueError(f"{t.names[0]} must be zero, because the config has no bias in"
                                 " attention")
    return found


def check_shapes(found: dict, config: dict) -> None:
    """Raise KeyError or ValueError if {PyTorch's name: shape} does not fit the config."""
    known = set()
    for t in tensors_of(config):                       # until the first one that is missing
        name = t.names[0]
        known.add(name)
        if name not in found:
            raise KeyError(f"every tensor must be there, missing {name}")
        if tuple(found[name]) != t.shape:
            raise ValueError(f"{name} must have shape {t.shape}, got {tuple(found[name])}")
    if unknown := [name for name in found if name not in known]:
        raise KeyError(f"there must be no other tensor, got unknown {', '.join(unknown)}")
