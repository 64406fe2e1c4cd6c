"""Turn a Transformer into a torch.nn.Module, and back."""

from typing import Any

import numpy as np

from ..text.extra import extra
from ..transformer import Transformer
from .describe import build, describe
from .layout import to_ours, to_theirs


def to_torch(model: Transformer) -> Any:
    """Return a torch.nn.Module that computes the same logits, with copies of the model's values.

    The module has forward(src, tgt) with ids (B, T_src) and (B, T_tgt), and returns logits
    (B, T_tgt, vocab_size). It masks the id `pad`. Inside is a torch.nn.Transformer. If our model
    has no biases in attention, those of PyTorch are zero and are not trained.
    `.config` is a dict that describes the model; `from_torch` needs it.

    Raises ValueError with the reason if torch.nn.Transformer cannot compute the same (d_k is not
    d_model / h, another attention, ...), and ImportError without PyTorch.
    """
    config = describe(model)
    extra("torch", of="torch")
    from .torch_module import TorchTransformer

    return TorchTransformer(config, to_theirs(model.state_dict(), config))


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
    ours = to_ours(arrays, config)
    model = build(config).astype(ours["src_embedding.E"].dtype)
    model.load_state_dict(ours)
    return model


def numpy_of(name, value):
    """Turn a tensor into an array; raise TypeError unless it holds float32 or float64."""
    array = value.detach().cpu().numpy() if hasattr(value, "detach") else np.asarray(value)
    if array.dtype.char not in "fd":
        raise TypeError(f"{name} must be float32 or float64, got {array.dtype}")
    return array
