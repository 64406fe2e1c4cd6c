"""Twelve drawings of the Transformer: the boxes, the matrices, the gradients, in one style.

    python -m aiayn_course.drawings figures/drawings           # writes all, as SVG and as PNG

In a notebook, `figure_1("attention")` shows one. The layers compute all shapes and numbers.

Public names, by the file that defines them:

    attention  attention_gradients, attention_shapes, figure_2
    heads      heads_split, masks_combined
    model      figure_1, model_shapes, norm_places
    sums       clock_hands, dot_products, norm_axes
    way_back   model_gradients
"""

from pathlib import Path

from aiayn_np.files import replacing
from aiayn_np.plotting.figures import DPI, load_matplotlib

from .attention import attention_gradients, attention_shapes, figure_2
from .example import ASKING, SENTENCE, example
from .heads import heads_split, masks_combined
from .model import figure_1, model_shapes, norm_places
from .sums import clock_hands, dot_products, norm_axes
from .way_back import model_gradients

__all__ = ["ASKING", "DRAWINGS", "SENTENCE", "example", "save_drawings"]

DRAWINGS = {drawing.__name__: drawing for drawing in (
    figure_1, figure_2, attention_shapes, attention_gradients, heads_split, masks_combined,
    dot_products, norm_axes, norm_places, clock_hands, model_gradients, model_shapes,
)}


def save_drawings(folder):
    """Write every drawing into a folder as SVG and as PNG; return the paths."""
    Path(folder).mkdir(parents=True, exist_ok=True)
    paths = []
    for name, drawing in DRAWINGS.items():
        figure = drawing()
        for kind, metadata in (("svg", {"Date": None}), ("png", {"Software": None})):
            paths.append(Path(folder) / f"{name}.{kind}")
            with load_matplotlib().rc_context({"svg.hashsalt": name}), replacing(paths[-1]) as file:
                figure.savefig(file, format=kind, dpi=DPI, metadata=metadata, facecolor="white")
    return paths
