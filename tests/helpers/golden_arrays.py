"""Arrays that a script beside them wrote, {case: {name: array}} in one file."""

from pathlib import Path

import numpy as np


def frozen(path):
    """What `freeze` wrote."""
    found: dict = {}
    with np.load(path, allow_pickle=False) as stored:
        for key in stored.files:
            case, name = key.split("/")
            found.setdefault(case, {})[name] = stored[key]
    return found


def freeze(path, found):
    """Write {case: {name: array}}, and say how large it became."""
    arrays = {f"{case}/{name}": a for case, named in found.items() for name, a in named.items()}
    np.savez_compressed(path, **arrays)
    print(f"{path}: {len(arrays)} arrays, {Path(path).stat().st_size / 1000:.0f} kB")
