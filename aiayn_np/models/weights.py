"""Read `model.safetensors`: the tensors that it must hold, and how they become Parameters.

The tensors of a large model may lie in several files, which `model.safetensors.index.json` names.

Names, shapes and kinds of all tensors are checked against the config before anything is allocated.
Then the model is built without drawing values, and each Parameter gets its tensor.
"""

import contextlib
import json
import math
import shlex
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..checks import memory_bytes
from ..files import CheckpointError
from ..text.extra import extra
from .config import fetched, read_json
from .forms import SAME, TRANSPOSED, Form

FILE = "model.safetensors"
INDEX = f"{FILE}.index.json"
KINDS = {"F64": np.float64, "F32": np.float32, "F16": np.float32, "BF16": np.float32}


@dataclass
class Tensor:
    """One tensor of a file.

    names : the tensor may have any of these; the first is the usual one
    paths : dotted names of the Parameters that the tensor becomes
    form : the conversion between the tensor and these Parameters
    """

    names: tuple[str, ...]
    shape: tuple[int, ...]
    paths: tuple[str, ...]
    form: Form = SAME


def linear_tensors(theirs: str, ours: str, d_in: int, d_out: int, *,
                   bias: bool = True) -> Iterator[Tensor]:
    """Yield weight and bias, if it has one, of PyTorch's Linear."""
    yield Tensor((f"{theirs}.weight",), (d_out, d_in), (f"{ours}.W",), TRANSPOSED)
    if bias:
        yield Tensor((f"{theirs}.bias",), (d_out,), (f"{ours}.b",))


def norm_tensors(theirs: str, ours: str, d: int) -> Iterator[Tensor]:
    """Yield gamma and beta of a layer norm. Newer files call them weight and bias."""
    yield Tensor((f"{theirs}.weight", f"{theirs}.gamma"), (d,), (f"{ours}.gamma",))
    yield Tensor((f"{theirs}.bias", f"{theirs}.beta"), (d,), (f"{ours}.beta",))


def written(tensors: Iterable[Tensor], state: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return {name in the file: array} of a model's state; a bias that the model lacks is zero."""
    dtype = next(iter(state.values())).dtype
    return {t.names[0]: t.form.theirs([
        state[path] if path in state else np.zeros(t.shape[0] // len(t.paths), dtype)
        for path in t.paths]) for t in tensors}


class Undrawn(np.random.Generator):
    """A generator that draws nothing, for a model whose values are replaced before they are used.

    Its arrays are views of a single zero: they have a shape and take no memory.
    """

    def __init__(self, dtype: type) -> None:
        super().__init__(np.random.PCG64(0))
        self.zero: Any = np.zeros((), dtype)

    def normal(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
        return np.broadcast_to(self.zero, size)

    uniform: Any = normal


class File:
    """The tensors of a safetensors file, or of the files that its index names.

    Shapes and kinds are read at once, values by `read`.   parts : the names of the files
    """

    def __init__(self, path: str | Path, of: str = "pretrained") -> None:
        """Open a file; `of` is the extra that the error names if safetensors is missing."""
        self.path = Path(path)
        self.shapes: dict[str, tuple] = {}
        self.kinds: dict[str, str] = {}
        self.places: dict[str, tuple] = {}  # name of a tensor -> its file, open and as a path
        self.parts = [self.path.name] if self.path.is_file() else self.parts_of_index()
        for part in self.parts:
            self.open(fetched(self.path.with_name(part)), of)

    def parts_of_index(self) -> list[str]:
        """Return the names of the files that the index names; CheckpointError for none."""
        index = self.path.with_name(INDEX)
        if not index.is_file():
            raise CheckpointError(f"{self.path} is missing{self.instead()}")
        parts = sorted(set(read_json(index)["weight_map"].values()))
        for part in parts:
            if not self.path.with_name(part).is_file():
                raise CheckpointError(f"{index} names {part}, which is missing")
        return parts

    def open(self, path: Path, of: str) -> None:
        """Open one of the files, and read the shapes and kinds of its tensors."""
        try:
            library = extra("safetensors", of=of)
            file = library.safe_open(str(path), framework="numpy")
            names = file.keys()
            slices = {name: file.get_slice(name) for name in names}
            self.shapes |= {name: tuple(s.get_shape()) for name, s in slices.items()}
            self.kinds |= {name: s.get_dtype() for name, s in slices.items()}
            self.places |= dict.fromkeys(slices, (file, path))
        except ImportError:
            raise
        except Exception as error:  # SafetensorError, and anything for damaged bytes
            raise CheckpointError(f"{path} is not a safetensors file: {error}") from error

    def instead(self) -> str:
        """Return advice if the folder has a pickle instead of the file."""
        folder = self.path.parent
        return "" if not (folder / "pytorch_model.bin").is_file() else (
            "; pytorch_model.bin is a pickle, which is not opened: with PyTorch installed,"
            f" aiayn-np import {shlex.quote(str(folder))} --convert --out RUN writes {FILE}")

    def read(self, name: str) -> np.ndarray:
        """Read a tensor into a writable float array; raise CheckpointError if it is not finite."""
        kind, (file, path) = self.kinds[name], self.places[name]
        array = self.bfloat16(name) if kind == "BF16" else file.get_tensor(name)
        array = array.astype(KINDS[kind], copy=False)
        if not math.isfinite(float(array.min()) + float(array.max())):
            raise CheckpointError(f"{path}: {name} must be finite, it holds nan or inf")
        return array

    def bfloat16(self, name: str) -> np.ndarray:
        """Read a bfloat16 tensor as float32. NumPy lacks bfloat16, the upper half of a float32."""
        with open(self.places[name][1], "rb") as file:
            length = int.from_bytes(file.read(8), "little")
            begin, end = json.loads(file.read(length))[name]["data_offsets"]
            file.seek(8 + length + begin)
            halves = np.frombuffer(file.read(end - begin), "<u2")
        return (halves.astype(np.uint32) << 16).view(np.float32).reshape(self.shapes[name])


def match(file, wanted, ignored, why=""):
    """Return [(Tensor, its name in the file)] for all tensors that the config asks for.

    wanted : iterable of Tensor, read up to the first one that is missing
    ignored : function of a name: whether a tensor that is not wanted may be in the file
    why : the end of a message on a tensor that is missing or unknown

    Raises CheckpointError for a tensor that is missing, has another shape or kind, or is unknown.
    """
    found, known = [], set()
    for tensor in wanted:
        known |= set(tensor.names)
        name = next((name for name in tensor.names if name in file.shapes), None)
        if name is None:
            raise CheckpointError(f"{file.path} lacks the tensor {tensor.names[0]}{why}")
        if file.shapes[name] != tensor.shape:
            raise CheckpointError(f"{file.path}: {name} must have shape {tensor.shape}, as its"
                                  f" config.json says, got {file.shapes[name]}")
        if file.kinds[name] not in KINDS:
            raise CheckpointError(f"{file.path}: {name} must be one of {', '.join(KINDS)},"
                                  f" got {file.kinds[name]}")
        found.append((tensor, name))
    for name in file.shapes:
        if name not in known and not ignored(name):
            raise CheckpointError(f"{file.path} holds {name}, which these layers do not have{why}")
    return found


def dtype_of(file, found):
    """Return float64 if all tensors have this dtype, else float32.

    Raises CheckpointError if the model needs more memory than the machine has.
    """
    dtype = np.float64 if all(file.kinds[name] == "F64" for _, name in found) else np.float32
    needed = sum(math.prod(tensor.shape) for tensor, _ in found) * np.dtype(dtype).itemsize
    if needed > memory_bytes():
        raise CheckpointError(f"{file.path} needs {needed / 1e9:,.0f} GB of memory, this machine"
                              f" has {memory_bytes() / 1e9:,.0f} GB")
    return dtype


def fill(model, file, found, dtype):
    """Give every Parameter its values, the largest tensors first; gradients are zeros.

    If the model uses a matrix twice and the file holds it twice, both tensors must be equal.
    """
    parameters = dict(model.named_parameters())
    for tensor, name in sorted(found, key=lambda pair: -math.prod(pair[0].shape)):
        array = file.read(name).astype(dtype, copy=False)
        for other in tensor.names:
            if other != name and other in file.shapes and not same(file, other, array):
                raise CheckpointError(f"{file.path}: {other} and {name} must be equal, since the"
                                      " config ties them")
        for path, value in zip(tensor.paths, tensor.form.ours(array), strict=True):
            parameter = parameters.pop(path)
            parameter.value = value
            parameter.grad = np.zeros(value.shape, value.dtype)    # takes memory when written to
    assert not parameters, f"no tensor for {list(parameters)}"
    return model


def same(file, name, array):
    """Tell whether a tensor in a file has the values of an array."""
    return file.shapes[name] == array.shape and np.array_equal(
        file.read(name).astype(array.dtype, copy=False), array)


@contextlib.contextmanager
def as_checkpoint_error(path: str | Path) -> Iterator[None]:
    """Turn what a reader raises for wrong contents into a CheckpointError with the path."""
    try:
        yield
    except (ValueError, TypeError, LookupError, OverflowError, AttributeError,
            RecursionError) as error:
        reason = error.args[0] if isinstance(error, KeyError) else error
        raise CheckpointError(f"{path} is not usable: {reason}") from error
