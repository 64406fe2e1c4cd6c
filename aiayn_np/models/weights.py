"""Read and write folders of Hugging Face: `config.json` and `model.safetensors`.

The tensors of a large model may lie in several files, `model-00001-of-00002.safetensors` and so on.
"""

import json
import math
from collections.abc import Callable
from pathlib import Path

import numpy as np

from ..files import CheckpointError
from ..text.extra import extra

FILE = "model.safetensors"
KINDS = ("F64", "F32", "F16", "BF16")


class File:
    """The tensors of a folder: of model.safetensors, or of all model-*.safetensors.

    Names, shapes and dtypes are read when the file is opened; `read` reads the values.
    shapes : {name: shape}, without the names that are ignored
    places : {name: (open file, its path, name in the file)} of all tensors
    dtype : float64 if all tensors that are not ignored are float64, else float32
    """

    def __init__(self, folder: str | Path, rename: Callable[[str], str] = str,
                 ignored: Callable[[str], bool] = lambda name: False) -> None:
        """Open the files. `rename` turns a name in a file into the name in the table."""
        self.path, self.rename, self.ignored = Path(folder) / FILE, rename, ignored
        self.shapes: dict[str, tuple] = {}
        self.kinds: dict[str, str] = {}
        self.places: dict[str, tuple] = {}
        several = sorted(Path(folder).glob("model-*.safetensors"))
        parts = [self.path] if self.path.is_file() else several
        if not parts:
            raise CheckpointError(f"{self.path} is missing")
        for part in parts:
            self.open(part)
        kinds = {self.kinds[name] for name in self.shapes}
        self.dtype = np.float64 if kinds == {"F64"} else np.float32

    def open(self, path: Path) -> None:
        """Open one of the files, and read the shapes and dtypes of its tensors."""
        library = extra("safetensors", of="pretrained")
        try:
            file = library.safe_open(str(path), framework="numpy")
            for there in list(file.keys()):
                name, tensor = self.rename(there), file.get_slice(there)
                self.kinds[name], self.places[name] = tensor.get_dtype(), (file, path, there)
                if not self.ignored(name):
                    self.shapes[name] = tuple(tensor.get_shape())
        except Exception as error:  # SafetensorError, or another class for damaged bytes
            raise CheckpointError(f"{path} is not a safetensors file: {error}") from error

    def read(self, name: str) -> np.ndarray:
        """Read a tensor into a writable float array; raise CheckpointError if it is not finite."""
        (file, path, there), kind = self.places[name], self.kinds[name]
        if kind not in KINDS:
            raise CheckpointError(f"{path}: {name} must be one of {', '.join(KINDS)}, got {kind}")
        array = self.bfloat16(name) if kind == "BF16" else file.get_tensor(there)
        array = array.astype(self.dtype, copy=False)
        if not math.isfinite(float(array.min()) + float(array.max())):
            raise CheckpointError(f"{path}: {name} must be finite, it holds nan or inf")
        return array

    def bfloat16(self, name: str) -> np.ndarray:
        """Read a bfloat16 tensor as float32. NumPy lacks bfloat16, the upper half of a float32."""
        _, path, there = self.places[name]
        with open(path, "rb") as file:
            length = int.from_bytes(file.read(8), "little")
            header = json.loads(file.read(length))[there]
            begin, end = header["data_offsets"]
            file.seek(8 + length + begin)
            halves = np.frombuffer(file.read(end - begin), "<u2")
        return (halves.astype(np.uint32) << 16).view(np.float32).reshape(header["shape"])


def write_folder(folder: str | Path, config: dict, state: dict[str, np.ndarray]) -> None:
    """Write a model into a folder: `config` as config.json, `state` as model.safetensors."""
    save = extra("safetensors.numpy", of="pretrained").save
    text = json.dumps(config, indent=2, ensure_ascii=False)
    (Path(folder) / "config.json").write_text(f"{text}\n", encoding="utf-8")
    state = {name: np.ascontiguousarray(array) for name, array in state.items()}
    (Path(folder) / FILE).write_bytes(save(state, metadata={"format": "pt"}))
