"""Write interop.npz: models in PyTorch's layout, and what PyTorch computes with them.

    python tests/golden/make_interop.py

The default suite reads them without PyTorch. For every kind of same_model.py: state, batch, logits,
loss, gradients.
"""

import json
import sys
from pathlib import Path

import numpy as np

FOLDER = Path(__file__).parent
PATH = FOLDER / "interop.npz"


def computed():
    """{kind: {array name: array}}; "config" is JSON."""
    from same_model import KINDS, batch, model_of, theirs

    from aiayn_np.models import to_torch

    found = {}
    for i, kind in enumerate(KINDS):
        rng = np.random.default_rng([17, i])
        module, ids = to_torch(model_of(kind, rng, N=1)), batch(rng)
        state = {f"state {n}": x.detach().numpy() for n, x in module.state_dict().items()}
        found[kind] = state | dict(zip(("src", "tgt", "targets"), ids)) | theirs(module, *ids)
        found[kind]["config"] = np.array(json.dumps(module.config))
    return found


if __name__ == "__main__":
    sys.path.append(str(FOLDER.parent / "helpers"))
    from golden_arrays import freeze

    freeze(PATH, computed())
