"""Write parity.npz: what PyTorch computes from the cases of parity.py, one seed for each.

    python tests/golden/make.py

The default suite compares the package with these arrays, so that it needs no PyTorch. The inputs
are not stored, they are drawn again; the norm of all that was drawn is stored beside the arrays, to
tell a package that is wrong from a generator of NumPy that has changed.
"""

import sys
from pathlib import Path

import numpy as np

FOLDER = Path(__file__).parent
PATH = FOLDER / "parity.npz"
DRAWN = "norm of all that was drawn"


def norm_drawn(case):
    """Of all that PyTorch gets of a case: parameters, inputs, gradients, rates."""
    from proof import arrays_in

    return np.sqrt(sum(np.sum(np.square(array, dtype=float)) for array in arrays_in(vars(case))))


def computed():
    """{case: {array: what PyTorch computes}}, with the norm of what each case drew."""
    import pytorch
    from parity import CASES, frozen_case

    cases = {name: frozen_case(name) for name in CASES}
    return {name: {DRAWN: norm_drawn(c)} | pytorch.arrays(c) for name, c in cases.items()}


if __name__ == "__main__":
    sys.path.append(str(FOLDER.parent / "helpers"))
    from golden_arrays import freeze

    freeze(PATH, computed())
