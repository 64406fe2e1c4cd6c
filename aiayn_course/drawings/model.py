"""Figure 1 of the paper with some parts lit, and post-norm beside pre-norm."""

import itertools
from typing import TYPE_CHECKING

import numpy as np

from aiayn_np.module import leaves
from aiayn_np.plotting.maps import attention_maps
from aiayn_np.transformer import Transformer

from .pen import BLACK, GREY, LIT, NORMAL, PALE, SMALL, arrow, box, canvas, word

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BOXES = {  # name: (x, y, height, text); the name of an attribute in the library
    "src_embedding": (1.75, 0.85, 0.3, "Embedding"),
    "encoder.self_attention": (1.75, 2.0, 0.44, "Multi-Head\nAttention"),
    "encoder.add_norm_1": (1.75, 2.5, 0.28, "Add & Norm"),
    "encoder.feed_forward": (1.75, 3.12, 0.28, "Feed Forward"),
    "encoder.add_norm_2": (1.75, 3.5, 0.28, "Add & Norm"),
    "tgt_embedding": (4.45, 0.85, 0.3, "Embedding"),
    "decoder.self_attention": (4.45, 2.0, 0.44, "Masked Multi-\nHead Attention"),
    "decoder.add_norm_1": (4.45, 2.5, 0.28, "Add & Norm"),
    "decoder.cross_attention": (4.45, 3.24, 0.44, "Multi-Head\nAttention"),
    "decoder.add_norm_2": (4.45, 3.74, 0.28, "Add & Norm"),
    "decoder.feed_forward": (4.45, 4.34, 0.28, "Feed Forward"),
    "decoder.add_norm_3": (4.45, 4.72, 0.28, "Add & Norm"),
    "output_projection": (4.45, 5.3, 0.28, "Linear"),
    "softmax": (4.45, 5.68, 0.28, "Softmax"),
}
STACKS = {"encoder": (1.5, 3.82), "decoder": (1.5, 5.02)}     # bottom and top of the grey frames
SUMS = ("src_positions", "tgt_positions")            # where positions are added
MEMORY = (1.75, 3.64), (1.75, 4.1), (3.1, 4.1), (3.1, 3.24), (3.8, 3.24)      # the way of it
WIDTH = 1.3


def figure_1(*lit: str) -> "Figure":
    """Draw Figure 1 of the paper; the parts whose names contain one of `lit` are lit.

    lit : parts of names, such as "attention", "encoder" or "add_norm". "positions" are the two
        sums, "tgt_positions" is the target's sum, and "memory" is the arrow between the stacks

    Raises ValueError for a part that is in no name.
    """
    for name in lit:
        if not any(name in known for known in (*BOXES, *SUMS, "memory")):
            raise ValueError(f"lit must name parts of {', '.join((*BOXES, *SUMS))} or memory,"
                             f" got {name}")
    fig, ax = canvas(6.2, 6.35)
    draw_model(ax, lit)
    return fig


def draw_model(ax, lit):
    """Draw Figure 1 on axes measured in inches."""
    for stack, x in (("encoder", 1.75), ("decoder", 4.45)):
        bottom, top = STACKS[stack]
        middle = (bottom + top) / 2
        box(ax, x, middle, 1.9, top - bottom, fill="none", edge=GREY)
        word(ax, 0.6 if x < 3 else 5.62, middle, "N ×")
        draw_way_in(ax, x, stack, lit)
    draw_boxes(ax, lit)
    if "memory" in lit:
        ax.plot(*zip(*MEMORY), color=LIT, linewidth=9, zorder=0.5)
    draw_ways(ax)


def model_shapes(model: Transformer | None = None, src: np.ndarray | None = None,
                 tgt_in: np.ndarray | None = None) -> "Figure":
    """Draw Figure 1 with the shape of every output, the maps, and the bytes that backward needs.

    Parameters
    ----------
    model : Transformer; by default a small one
    src, tgt_in : ids (B, T_src) and (B, T_tgt) for its forward
    """
    if model is None or src is None or tgt_in is None:
        model = Transformer(11, N=2, d_model=16, d_ff=32, h=2, rng=np.random.default_rng(0))
        src, tgt_in = np.full((3, 5), 4), np.full((3, 4), 4)
    logits, cache = model.forward(src, tgt_in)
    arrays, maps = kept(cache), attention_maps(cache)
    fig, ax = canvas(9, 6.75)
    ax.set(xlim=(-1.4, 7.6), ylim=(-0.4, 6.35))
    draw_model(ax, ("attention",))
    for name, (x, y, *_) in BOXES.items():
        length = (src if x < 3 else tgt_in).shape[1]
        width = logits.shape[-1] if name in ("output_projection", "softmax") else model.d_model
        here = arrays.get(name, {})
        lines = [f"{(len(src), length, width)}" + f"   {kilobytes(here)}" * bool(here)]
        at = name.replace(".", ".layers.0.", 1) + ".attention.weights"
        lines += [f"map {maps[at].shape}"] if at in maps else []
        word(ax, 0.3 if x < 3 else 5.9, y, "\n".join(lines), size=SMALL, linespacing=1.1,
             align="right" if x < 3 else "left")
    every = {path: a for found in arrays.values() for path, a in found.items()}
    own = {path: p.value for path, p in model.named_parameters()}
    word(ax, 3.1, -0.2, f"kB: kept for backward by one layer. In all {kilobytes(every)},"
         f" of it maps {kilobytes(maps)}; parameters {kilobytes(own)}.", size=SMALL)
    return fig


def kilobytes(arrays):
    return f"{sum(a.nbytes for a in arrays.values()) / 1000:.1f} kB"


def kept(cache):
    """Return {box: {path: array}} of the arrays in a cache, each array once.

    A box stands for the first layer of its stack; the other layers have names of their own.
    """
    found: dict[str, dict[str, np.ndarray]] = {}
    seen = set()
    for path, array in leaves(cache, np.ndarray):
        if id(array) not in seen:
            seen.add(id(array))
            name = path.replace("layers.0.", "")
            box_ = next((box for box in BOXES if name.startswith(f"{box}.")), "others")
            found.setdefault(box_, {})[path] = array
    return found


def draw_way_in(ax, x, stack, lit):
    """Draw the words at the bottom, and the sum with the positions."""
    words = "source tokens" if stack == "encoder" else "target tokens\n(shifted right)"
    word(ax, x, 0.3, words, size=SMALL, linespacing=1.1)
    arrow(ax, (x, 0.5), (x, 0.7))
    arrow(ax, (x, 1.0), (x, 1.17))
    glow = LIT if any(name in SUMS[stack == "decoder"] for name in lit) else PALE
    ax.plot([x], [1.28], "o", markersize=15, color=glow, markeredgecolor=BLACK)
    word(ax, x, 1.28, "+")
    side = -1 if stack == "encoder" else 1
    word(ax, x + side * 1.12, 1.28, "positions", size=SMALL)
    arrow(ax, (x + side * 0.75, 1.28), (x + side * 0.13, 1.28))


def draw_boxes(ax, lit):
    for name, (x, y, height, text) in BOXES.items():
        fill = LIT if any(part in name for part in lit) else PALE
        box(ax, x, y, WIDTH, height, text, fill=fill, size=SMALL)
    word(ax, 4.45, 6.15, "probabilities of the next token", size=SMALL)


def draw_ways(ax):
    """Draw arrows between the boxes, around them, and from the encoder to the decoder."""
    for x, way in ((1.75, [1.39, 2.0, 2.5, 3.12, 3.5]),
                   (4.45, [1.39, 2.0, 2.5, 3.24, 3.74, 4.34, 4.72, 5.3, 5.68, 6.08])):
        for low, high in itertools.pairwise(way):
            heights = {y: height for _, y, height, _ in BOXES.values()}
            arrow(ax, (x, low + heights.get(low, 0) / 2), (x, high - heights.get(high, 0) / 2))
    for x, start, end in ((1.75, 1.6, 2.5), (1.75, 2.8, 3.5), (4.45, 1.6, 2.5),
                          (4.45, 2.83, 3.74), (4.45, 4.05, 4.72)):
        side = -0.8 if x < 3 else 0.8
        arrow(ax, (x, start), (x + side, start), (x + side, end),
              (x + (0.5 if x > 3 else -0.5) * WIDTH, end), line=1)
    arrow(ax, *MEMORY)
    word(ax, 2.42, 4.25, "memory", size=SMALL)
    for x, y, label, align in ((1.83, 1.6, "V, K, Q", "left"), (4.37, 1.6, "V, K, Q", "right"),
                               (3.3, 3.09, "V, K", "center"), (4.37, 2.83, "Q", "right")):
        word(ax, x, y, label, size=SMALL, align=align)                 # what comes in


def norm_places() -> "Figure":
    """Draw the places of the layer norm: post-norm, as in the paper, beside pre-norm."""
    fig, ax = canvas(6.6, 4.3)
    for x, title, formula in ((1.8, "post-norm (the paper)", "LayerNorm(x + Sublayer(x))"),
                              (4.9, "pre-norm", "x + Sublayer(LayerNorm(x))")):
        word(ax, x, 4.05, title, weight="bold")
        word(ax, x, 3.78, formula, size=SMALL)
        post = x < 3
        sum_y, norm_y, sub_y = (2.2, 2.9, 1.4) if post else (2.9, 1.25, 2.05)
        box(ax, x, sub_y, 1.5, 0.4, "Sublayer")
        box(ax, x, norm_y, 1.5, 0.4, "LayerNorm", fill=LIT)
        ax.plot([x], [sum_y], "o", markersize=17, color=PALE, markeredgecolor=BLACK)
        word(ax, x, sum_y, "+")
        word(ax, x, 0.2, "x", size=NORMAL)
        stops = sorted([(0.35, 0.0), (sub_y, 0.2), (norm_y, 0.2), (sum_y, 0.13), (3.55, 0.0)])
        for (low, a), (high, b) in itertools.pairwise(stops):
            arrow(ax, (x, low + a), (x, high - b))
        arrow(ax, (x, 0.65), (x - 1.1, 0.65), (x - 1.1, sum_y), (x - 0.13, sum_y))
    word(ax, 0.52, 1.4, "straight path", size=SMALL, rotation=90)
    word(ax, 2.72, 2.9, "the norm\nstands on\nthe straight\npath", size=SMALL, align="left")
    word(ax, 5.2, 2.9, "nothing stands\non the straight path", size=SMALL, align="left")
    return fig
