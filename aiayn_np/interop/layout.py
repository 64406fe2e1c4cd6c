"""Convert our parameters to PyTorch's names and shapes, and back, with NumPy alone.

torch.nn.Linear holds W transposed. torch.nn.MultiheadAttention holds the transposed W of Q, K and V
in one array, one below another.

A state is {name: array}. `describe` makes the `config` of a model.
"""

import numpy as np


def links(config):
    """Yield (our name, PyTorch's name, part); part is 0, 1, 2 for Q, K, V in one array, or None."""
    yield "src_embedding.E", "E", None
    if config["positions"] == "learned":
        yield "positions.E", "positions", None
    for stack, norms in (("encoder", 2), ("decoder", 3)):
        for i in range(config["N"]):
            layer = f"{stack}.layers.{i}."
            yield from attention_links(layer + "self_attention.", f"stacks.{layer}self_attn.")
            if stack == "decoder":
                theirs = f"stacks.{layer}multihead_attn."
                yield from attention_links(layer + "cross_attention.", theirs)
            for n in range(1, norms + 1):
                ours = f"norm_{n}." if config["norm"] == "pre" else f"add_norm_{n}.layer_norm."
                yield from norm_links(layer + ours, f"stacks.{layer}norm{n}.")
            for n in (1, 2):
                ours, theirs = f"{layer}feed_forward.linear_{n}.", f"stacks.{layer}linear{n}."
                yield ours + "W", theirs + "weight", None
                yield ours + "b", theirs + "bias", None
        if config["norm"] == "pre":
            yield from norm_links(f"{stack}.norm.", f"stacks.{stack}.norm.")


def attention_links(ours, theirs):
    """Yield the links of one multi-head attention."""
    for part, letter in enumerate("QKV"):
        yield f"{ours}linear_{letter}.W", f"{theirs}in_proj_weight", part
        yield f"{ours}linear_{letter}.b", f"{theirs}in_proj_bias", part
    yield f"{ours}linear_O.W", f"{theirs}out_proj.weight", None
    yield f"{ours}linear_O.b", f"{theirs}out_proj.bias", None


def norm_links(ours, theirs):
    """Yield the links of one layer norm."""
    yield f"{ours}gamma", f"{theirs}weight", None
    yield f"{ours}beta", f"{theirs}bias", None


def is_projection_bias(name):
    """Tell whether a name of ours is that of an attention bias, which the paper does not have."""
    return "_attention." in name and name.endswith(".b")


def to_theirs(state, config):
    """Turn our state into PyTorch's; a projection bias that our model lacks is zero."""
    found: dict[str, list] = {}
    for ours, theirs, _ in links(config):
        if ours in state:
            value = state[ours].T if ours.endswith(".W") else state[ours]
        else:
            value = np.zeros(config["d_model"], state["src_embedding.E"].dtype)
        found.setdefault(theirs, []).append(value)
    return {name: np.ascontiguousarray(np.concatenate(parts)) for name, parts in found.items()}


def to_ours(state, config):
    """Turn PyTorch's state into ours; raise KeyError or ValueError if it is of another model.

    A projection bias that the config does not have must be zero.
    """
    check_shapes({name: value.shape for name, value in state.items()}, config)
    found = {}
    for ours, theirs, part in links(config):
        value = state[theirs] if part is None else np.split(state[theirs], 3)[part]
        if config["bias"] or not is_projection_bias(ours):
            found[ours] = (value.T if ours.endswith(".W") else value).copy()
        elif value.any():
            raise ValueError(f"{theirs} must be zero, because the config has no bias in attention")
    return found


def shapes(config):
    """Return {PyTorch's name: shape} for the whole state of a config."""
    d, d_ff = config["d_model"], config["d_ff"]
    known = {"in_proj_weight": (3 * d, d), "in_proj_bias": (3 * d,), "out_proj.weight": (d, d),
             "linear1.weight": (d_ff, d), "linear1.bias": (d_ff,), "linear2.weight": (d, d_ff),
             "E": (config["vocab_size"], d), "positions": (config["max_len"], d)}
    return {theirs: next((shape for end, shape in known.items() if theirs.endswith(end)), (d,))
            for _, theirs, _ in links(config)}


def check_shapes(found, config):
    """Raise KeyError or ValueError if {PyTorch's name: shape} does not fit the config."""
    if 2 * config["N"] > len(found):         # a huge N would make the lists below endless
        raise KeyError(f"there must be tensors for N={config['N']} layers in each stack, got"
                       f" {len(found)} tensors")
    wanted = shapes(config)
    if missing := [name for name in wanted if name not in found]:
        raise KeyError(f"every tensor must be there, missing {', '.join(missing)}")
    if unknown := [name for name in found if name not in wanted]:
        raise KeyError(f"there must be no other tensor, got unknown {', '.join(unknown)}")
    for name, shape in wanted.items():
        if tuple(found[name]) != shape:
            raise ValueError(f"{name} must have shape {shape}, got {tuple(found[name])}")
