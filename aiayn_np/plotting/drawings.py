"""Twelve drawings of the Transformer: the boxes, the matrices, the gradients, in one style.

    python -m aiayn_np.plotting.drawings figures/drawings

This command writes all of them, as SVG and as PNG. In a notebook, a call such as
`figure_1("attention")` shows one. Their shapes and numbers come from the layers of this package.
"""

import sys
from pathlib import Path

from ..files import replacing
from .drawn.attention import attention_gradients, attention_shapes, figure_2
from .drawn.example import ASKING, SENTENCE, example
from .drawn.heads import heads_split, masks_combined
from .drawn.model import figure_1, model_shapes, norm_places
from .drawn.sums import clock_hands, dot_products, norm_axes
from .drawn.way_back import model_gradients
from .figures import DPI, load_matplotlib

__all__ = ["ASKING", "DRAWINGS", "SENTENCE", "example", "save_drawings"]

DRAWINGS = {drawing.__name__: drawing for drawing in (
    figure_1, figure_2, attention_shapes, attention_gradients, heads_split, masks_combined,
    dot_products, norm_axes, norm_places, clock_hands,
    model_gradients, model_shapes,
)}


def save_drawings(folder):
    """Write every drawing into a folder as SVG and as PNG; return the paths."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for name, drawing in DRAWINGS.items():
        figure = drawing()
        for kind, metadata in (("svg", {"Date": None}), ("png", {"Software": None})):
            paths.append(folder / f"{name}.{kind}")
            with load_matplotlib().rc_context({"svg.hashsalt": name}), replacing(paths[-1]) as file:
                figure.savefig(file, format=kind, dpi=DPI, metadata=metadata, facecolor="white")
    return paths


if __name__ == "__main__":
    for path in save_drawings(sys.argv[1] if sys.argv[1:] else "figures/drawings"):
        print(path)
