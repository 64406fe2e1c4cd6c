"""An animation of the encoder-decoder attention maps while a model learns a task."""

import io
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..files import replacing
from ..training.loop import train
from ..training.tasks import Task
from ..transformer import Transformer
from .figures import draw_grid
from .maps import attention_maps

LAST = 10  # times that the last picture is shown


@dataclass
class Recording:
    """Cross-attention maps on one example during a training.

    steps, accuracy : (frames,), the first before training
    maps : name -> (frames, h, T_q, T_k)
    source, target : tokens of the source, and the tokens that the decoder gets
    """

    task: str
    steps: np.ndarray
    accuracy: np.ndarray
    maps: dict
    source: list
    target: list


def record(model: Transformer, task: Task, *, steps: int = 500, frames: int = 50,
           rng: np.random.Generator, watch: Callable = iter, **options: Any) -> Recording:
    """Train a model, and keep its cross-attention maps on the first of the longest test sequences.

    Parameters
    ----------
    model : a Transformer whose attention keeps its map        task : a Task
    steps : at most; training ends when the task is solved      frames : at most, evenly spaced
    watch : is given the steps of the training and yields them, such as tqdm
    options : of `train`

    Returns a Recording.
    """
    src, tgt_in, _ = task.test(1000)
    longest = (src != task.pad).sum(axis=1).argmax()
    src, tgt_in = src[[longest]], tgt_in[[longest]]
    kept = [(0, np.nan, cross_maps(model, src, tgt_in))]
    every = max(1, steps // frames)
    for p in watch(train(model, task, steps=steps, rng=rng, **options)):
        if p.step % every == 0 or p.validation == 1:
            kept.append((p.step, p.accuracy, cross_maps(model, src, tgt_in)))
    numbers, accuracy, maps = zip(*kept)
    stacked = {name: np.stack([m[name] for m in maps]) for name in maps[0]}
    return Recording(task.name, np.array(numbers), np.array(accuracy), stacked,
                     task.tokens(src[0]), task.tokens(tgt_in[0]))


def cross_maps(model, src, tgt_in):
    """Return name -> (h, T_q, T_k) of every map of encoder-decoder attention on one example."""
    _, cache = model.forward(src, tgt_in)
    return {n: w[0] for n, w in attention_maps(cache).items() if "cross_attention" in n}


def animate(recording: Recording, path: str | Path, *, fps: int = 8, dpi: int = 90,
            watch: Callable = iter) -> None:
    """Write the maps of the last layer in a recording as an animated GIF, two heads in a row.

    A row of a map is labelled with two tokens: the one that the decoder has read, and the one that
    it writes next. `watch` is given the numbers of the pictures and yields them, such as tqdm.
    """
    from PIL import Image  # matplotlib brings it along

    heads = list(recording.maps.values())[-1]                          # (frames, h, T_q, T_k)
    titles = [f"head {i + 1}" for i in range(heads.shape[1])]
    columns = 1 + (len(titles) % 2 == 0)
    grid = [(heads[0, i : i + columns], None, titles[i : i + columns])
            for i in range(0, len(titles), columns)]
    rows = [f"{read} → {write}" for read, write in
            zip(recording.target, [*recording.target[1:], recording.source[-1]])]
    fig = draw_grid(grid, rows, recording.source, "Learning to\n ")
    fig.draw_without_rendering()
    fig.set_layout_engine("none")                                      # laid out once for all
    images = [image for ax in fig.axes for image in ax.images]
    pictures = []
    for i in watch(range(len(heads))):
        for image, weights in zip(images, heads[i]):
            image.set_data(weights)
        right = f"{recording.accuracy[i]:.0%} of tokens right" if i else "not trained"
        fig.suptitle(f"Learning to {recording.task}: step {recording.steps[i]}, {right}",
                     fontsize="medium")
        content = io.BytesIO()
        fig.savefig(content, format="png", dpi=dpi)
        pictures.append(Image.open(content).convert("RGB"))
    pictures += pictures[-1:] * LAST
    with replacing(Path(path)) as file:
        pictures[0].save(file, "GIF", save_all=True, append_images=pictures[1:],
                         duration=1000 // fps, loop=0)
