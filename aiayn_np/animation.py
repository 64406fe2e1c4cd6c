"""An animation of the encoder-decoder attention maps while a model learns a task."""

from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from .checkpoint import replacing
from .maps import attention_maps
from .plotting import plot_attention
from .training import train

LAST = 10  # times that the last picture is shown


@dataclass
class Recording:
    """Cross-attention maps on one example, as training went on.

    steps, accuracy : (frames,), the first before training
    maps : name -> (frames, h, T_q, T_k)
    source, target : the tokens that are read and those that the decoder has before it
    """

    task: str
    steps: np.ndarray
    accuracy: np.ndarray
    maps: dict
    source: list
    target: list


def record(model, task, *, steps=500, frames=50, rng, **options):
    """Train a model, and keep its cross-attention maps on the first of the longest test sequences.

    Parameters
    ----------
    model : a Transformer whose attention keeps its map        task : a Task
    steps : at the latest; it ends when the task is solved      frames : at most, evenly spaced
    options : of `train`

    Returns a Recording.
    """
    src, tgt_in, _ = task.test(1000)
    longest = (src != task.pad).sum(axis=1).argmax()
    src, tgt_in = src[[longest]], tgt_in[[longest]]
    kept = [(0, np.nan, cross_maps(model, src, tgt_in))]
    every = max(1, steps // frames)
    for p in train(model, task, steps=steps, rng=rng, **options):
        if p.step % every == 0 or p.validation == 1:
            kept.append((p.step, p.accuracy, cross_maps(model, src, tgt_in)))
    numbers, accuracy, maps = zip(*kept)
    stacked = {name: np.stack([m[name] for m in maps]) for name in maps[0]}
    return Recording(task.name, np.array(numbers), np.array(accuracy), stacked,
                     task.tokens(src[0]), task.tokens(tgt_in[0]))


def cross_maps(model, src, tgt_in):
    """Name -> (h, T_q, T_k) of every map of encoder-decoder attention on one example."""
    _, cache = model.forward(src, tgt_in)
    return {n: w[0] for n, w in attention_maps(cache).items() if "cross_attention" in n}


def animate(recording, path, *, fps=8, dpi=64):
    """Write the maps of the last layer in a recording as an animated GIF, heads side by side."""
    from matplotlib.animation import PillowWriter

    heads = list(recording.maps.values())[-1]                          # (frames, h, T_q, T_k)
    fig = plot_attention(heads[0], recording.target, recording.source, title=" ")
    fig.draw_without_rendering()
    fig.set_layout_engine("none")                                      # laid out once for all
    images = [image for ax in fig.axes for image in ax.images]
    with TemporaryDirectory() as folder:
        writer = PillowWriter(fps=fps)
        writer.setup(fig, Path(folder) / "a.gif", dpi=dpi)
        for i in [*range(len(heads)), *[-1] * LAST]:
            for image, weights in zip(images, heads[i]):
                image.set_data(weights)
            right = f"{recording.accuracy[i]:.0%} of tokens right" if i else "not trained"
            fig.suptitle(f"Learning to {recording.task}: step {recording.steps[i]}, {right}",
                         fontsize="medium")
            writer.grab_frame()
        writer.finish()
        with replacing(Path(path)) as file:
            file.write((Path(folder) / "a.gif").read_bytes())
