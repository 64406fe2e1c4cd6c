"""Read and write `.safetensors` files with NumPy alone.

A file has 8 bytes, the length of the header as a little-endian integer; the header, a JSON object
{name: {"dtype": "F64", "shape": [2, 3], "data_offsets": [begin, end]}}; and the numbers of all
tensors, row by row, little-endian. The offsets count bytes from the end of the header.
"""

import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from ..files import replacing

KINDS = {"F64": "<f8", "F32": "<f4", "I64": "<i8", "I32": "<i4", "BOOL": "|b1"}


def kind_of(tensor: np.ndarray) -> str:
    """Return the dtype of a tensor as files name it."""
    return next(kind for kind, dtype in KINDS.items() if tensor.dtype == np.dtype(dtype))


def write_tensors(path: Path, tensors: Mapping[str, np.ndarray]) -> None:
    """Write {name: tensor} into a file. The widest numbers come first, so that all are aligned."""
    header, data = {}, b""
    for name, tensor in sorted(tensors.items(), key=lambda item: -item[1].itemsize):
        kind, begin = kind_of(tensor), len(data)
        data += tensor.astype(KINDS[kind]).tobytes()
        header[name] = {"dtype": kind, "shape": tensor.shape, "data_offsets": [begin, len(data)]}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with replacing(path) as file:
        file.write(len(text).to_bytes(8, "little") + text + data)


def read_tensors(path: Path) -> dict[str, np.ndarray]:
    """Return {name: tensor} of a file; ValueError, in one line, for any other file."""
    content = path.read_bytes()
    start = 8 + int.from_bytes(content[:8], "little")
    try:
        header = json.loads(content[8:start])
        header.pop("__metadata__", None)
        strange = [f"{name} of {x['dtype']}" for name, x in header.items()
                   if x["dtype"] not in KINDS]
        tensors = {name: np.frombuffer(content[start:][slice(*x["data_offsets"])],
                                       KINDS[x["dtype"]]).reshape(x["shape"])
                   for name, x in header.items() if not strange}
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError(f"{path} must be a whole safetensors file") from error
    if strange:
        raise ValueError(f"{path} must hold only {', '.join(KINDS)}, got {strange[0]}")
    return tensors
