"""Folders of Hugging Face, as formats of the commands `export` and `import`."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np

from ..attention import ScaledDotProductAttention
from ..checks import one_line
from ..dropout import Dropout
from ..embedding import OutputProjection
from ..encoder import Encoder
from ..feed_forward import PositionwiseFeedForward, ReLU
from ..files import CheckpointError
from ..layer_norm import LayerNorm
from ..linear import Linear
from ..masking import Mask
from ..module import Module, Parameter, leaves
from ..multi_head import MultiHeadAttention
from ..pretrained.config import read_json
from ..pretrained.weights import FILE
from ..runs.pretrained_run import FOLDER_FILES, KINDS, open_pretrained
from ..softmax import Softmax
from ..text.extra import extra
from ..variants.activations import GELU, FeedForward, SiLU, TanhGELU

PICKLE = "pytorch_model.bin"
ACTIVATIONS = {ReLU: "relu", GELU: "gelu", TanhGELU: "gelu_new", SiLU: "silu"}
PLACES: dict[str, set] = {  # the name of a part, without number or letter -> its classes
    "encoder": {Encoder}, "self_attention": {MultiHeadAttention},
    "cross_attention": {MultiHeadAttention}, "attention": {ScaledDotProductAttention},
    "mask": {Mask}, "softmax": {Softmax}, "dropout": {Dropout}, "linear": {Linear},
    "norm": {LayerNorm}, "layer_norm": {LayerNorm}, "activation": set(ACTIVATIONS), "relu": {ReLU},
    "feed_forward": {PositionwiseFeedForward, FeedForward}, "output_projection": {OutputProjection},
}


def recognises(path):
    """Whether the path is a folder whose config.json names one of the three families."""
    try:
        return read_json(Path(path) / "config.json").get("model_type") in KINDS
    except (OSError, CheckpointError, TypeError):
        return False


def read(path, folder, *, convert=False):
    """The run in a folder of Hugging Face, copied into `folder`.

    convert : whether PyTorch may read a pickle, with weights_only=True, if there is no other file
    """
    path, convert = Path(path), convert and not (Path(path) / FILE).is_file()
    if not convert:
        run = open_pretrained(path)                  # before anything is copied
    for name in FOLDER_FILES:
        copy_if_there(path / name, folder / name)
    if convert:
        convert_pickle(path / PICKLE, folder / FILE)
        try:
            run = open_pretrained(folder)
        except CheckpointError as error:  # by the name that the user knows, not by the copy's
            raise CheckpointError(str(error).replace(str(folder), str(path))) from error
    run.folder = folder
    return run


def copy_if_there(path, target):
    """Copy a file, if there is one."""
    if path.is_file():
        with open(path, "rb") as file, open(target, "wb") as copy:
            shutil.copyfileobj(file, copy)                             # its error names no file


def convert_pickle(path, target):
    """Write the tensors of a pytorch_model.bin as safetensors. No code in the file is run."""
    torch, safetensors = extra("torch", of="torch"), extra("safetensors.torch", of="pretrained")
    try:
        state = torch.load(path, map_location="cpu", weights_only=True)
        tensors = {name: tensor.detach().clone().contiguous()
                   for name, tensor in without_copies(state)}
    except FileNotFoundError:
        raise
    except Exception as error:  # UnpicklingError, and anything for damaged bytes
        reason = one_line(error)[:200] or type(error).__name__
        raise CheckpointError(f"{path} is not readable: {reason}") from error
    Path(target).write_bytes(safetensors.save(tensors))


def without_copies(state):
    """Yield (name, tensor), but of a tied matrix under its first name only."""
    seen = set()
    for name, tensor in state.items():
        place = tensor.data_ptr(), tensor.shape
        if tensor.ndim < 2 or place not in seen:
            yield name, tensor
        seen.add(place)


def write_folder(folder: Path, config: dict, state: dict[str, np.ndarray],
                 of: str = "pretrained") -> None:
    """Write config.json and model.safetensors; arrays are made contiguous.

    of : the extra of the package to name where safetensors is missing
    """
    save = extra("safetensors.numpy", of=of).save
    text = json.dumps(config, indent=2, ensure_ascii=False)
    (folder / "config.json").write_text(f"{text}\n", encoding="utf-8")
    state = {name: np.ascontiguousarray(array) for name, array in state.items()}
    (folder / FILE).write_bytes(save(state, metadata={"format": "pt"}))


def check_exportable(model, family, places):
    """Refuse, with the reason, a model that a family's layers cannot be: ValueError.

    places : what this family has besides PLACES
    """
    places = PLACES | places
    for path, layer in leaves(model, Module):
        place = re.sub(r"[._](\d+|[QKVO])$", "", path).rpartition(".")[2]
        if type(layer) not in places.get(place, ()):
            raise ValueError(f"a {family} has no {type(layer).__name__}, which is at"
                             f" {path or 'the top'}")
        if "forward" in vars(layer):
            raise ValueError(f"a {family} has the methods of the layers' classes only, got another"
                             f" {path}.forward")
    heads = {(a.h, a.d_k, a.d_v, a.d_model) for _, a in leaves(model, MultiHeadAttention)}
    if len(heads) > 1 or any(h * d_k != d_model or d_v != d_k for h, d_k, d_v, d_model in heads):
        raise ValueError(f"a {family} must have d_k = d_v = d_model / h in all layers")
    if len({norm.eps for _, norm in leaves(model, LayerNorm)}) > 1:
        raise ValueError(f"a {family} must have one eps in all layer norms")
    first: dict = {}
    for path, parameter in leaves(model, Parameter):
        place = first.setdefault(id(parameter), path)
        if place != path and not path.endswith(("embedding.E", "output_projection.E")):
            raise ValueError(f"a {family} must have a Parameter of its own at {path}, got the one"
                             f" at {place}")


def feed_forward_of(layers):
    """(d_ff, the name of the activation) of the layers of a stack; ValueError where they differ."""
    found = {(fed.linear_1.d_out, type(fed.relu if isinstance(fed, PositionwiseFeedForward)
                                       else fed.activation))
             for fed in (layer.feed_forward for layer in layers)}
    if len(found) > 1:
        raise ValueError("all layers of a stack must have one d_ff and one activation")
    [(d_ff, activation)] = found
    return d_ff, ACTIVATIONS[activation]


def copied(run: Any, folder: Path) -> list[str]:
    """Write a run that came from such a folder into another one: its files, the current weights."""
    for name in FOLDER_FILES:
        copy_if_there(run.folder / name, folder / name)
    write_folder(folder, run.loaded.config, run.loaded.state())
    return [f"{len(run.loaded.tensors)} tensors of a {run.loaded.family}"]
