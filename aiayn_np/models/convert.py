"""Turn a Transformer into a torch.nn.Module, and back."""

from typing import Any

import numpy as np

from ..text.extra import extra
from ..transformer import Transformer
from .tables import BELOW, SAME, Table, check_room, linear, links, load, norm, state_of
from .twin import build, check_same, config_of


def to_torch(model: Transformer) -> Any:
    """Return a torch.nn.Module that computes the same logits, with copies of the model's values.

    The module has forward(src, tgt) with ids (B, T_src) and (B, T_tgt), and returns logits
    (B, T_tgt, vocab_size). It masks the id `pad`. Inside is a torch.nn.Transformer. If our model
    has no biases in attention, PyTorch's biases there are zero and are not trained.
    `.config` is a dict that describes the model; `from_torch` needs it.

    Raises ValueError with the reason if torch.nn.Transformer cannot compute the same logits (d_k is
    not d_model / h, another attention, ...), and ImportError without PyTorch.
    """
    if type(model) is not Transformer:
        raise TypeError(f"model must be a Transformer, got {type(model).__name__}")
    config = config_of(model)
    check_same(model, build(config), "torch.nn.Transformer")
    extra("torch", of="torch")
    from .torch_module import TorchTransformer

    state = state_of(links(model, table(config)))
    return TorchTransformer(config, {n: np.array(x, order="C") for n, x in state.items()})


def from_torch(module: Any, config: dict | None = None) -> Transformer:
    """Return a Transformer with copies of the values of a module that `to_torch` made.

    module : the module, or its state_dict; a state_dict needs the module's `.config` as `config`

    Raises KeyError, ValueError and TypeError for a state that does not fit the config.
    """
    if config is None:
        if not hasattr(module, "config"):
            raise TypeError("module must be one that to_torch made, or a state_dict with its"
                            f" config, got {type(module).__name__}")
        config = module.config
    state = module.state_dict() if hasattr(module, "state_dict") else module
    arrays = {name: numpy_of(name, value) for name, value in state.items()}
    if not config["bias"]:
        arrays = without_biases(arrays)
    shapes = {name: array.shape for name, array in arrays.items()}
    check_room(shapes, *(config[name] for name in ("N", "vocab_size", "d_model", "d_ff")))
    model, dtype = build(config), next(iter(arrays.values())).dtype
    load(model, table(config), shapes, lambda name: arrays[name].astype(dtype), dtype)
    return model


def table(config: dict) -> Table:
    """Return {name in the torch.nn.Module: (our path, form)}."""
    ours_norm = "norm_{}" if config["norm"] == "pre" else "add_norm_{}.layer_norm"
    entries: Table = {"E": ("src_embedding.E", SAME), "positions": ("positions.E", SAME)}
    for stack in ("encoder", "decoder"):
        theirs, ours = f"stacks.{stack}.layers.*", f"{stack}.layers.*"
        entries |= attention_table(f"{theirs}.self_attn", f"{ours}.self_attention")
        entries |= attention_table(f"{theirs}.multihead_attn", f"{ours}.cross_attention")
        entries |= linear(f"{theirs}.linear1", f"{ours}.feed_forward.linear_1")
        entries |= linear(f"{theirs}.linear2", f"{ours}.feed_forward.linear_2")
        for n in (1, 2, 3):
            entries |= norm(f"{theirs}.norm{n}", f"{ours}.{ours_norm.format(n)}")
        entries |= norm(f"stacks.{stack}.norm", f"{stack}.norm")
    return entries


def attention_table(theirs: str, ours: str) -> Table:
    """Return the table entries of one multi-head attention."""
    heads = [f"{ours}.linear_{name}" for name in "QKV"]
    return {f"{theirs}.in_proj_weight": (tuple(f"{head}.W" for head in heads), BELOW),
            f"{theirs}.in_proj_bias": (tuple(f"{head}.b" for head in heads), BELOW),
            **linear(f"{theirs}.out_proj", f"{ours}.linear_O")}


def without_biases(arrays):
    """Remove the biases in the projections of attention; raise ValueError if one is not zero."""
    biases = {name for name in arrays if name.endswith(("in_proj_bias", "out_proj.bias"))}
    for name in biases:
        if arrays[name].any():
            raise ValueError(f"{name} must be zero, because the config has no bias in attention")
    return {name: array for name, array in arrays.items() if name not in biases}


def numpy_of(name, value):
    """Turn a tensor into an array; raise TypeError unless it holds float32 or float64."""
    array = value.detach().cpu().numpy() if hasattr(value, "detach") else np.asarray(value)
    if array.dtype.char not in "fd":
        raise TypeError(f"{name} must be float32 or float64, got {array.dtype}")
    return array
