"""What the runs of all models of a single text share, own ones and those of Hugging Face."""

from pathlib import Path

import numpy as np

from ..plotting.figures import plot_attention, save_figure
from .run import Run


class OneTextRun(Run):
    """A model of a single text, for the commands `attend` and `trace`."""

    def attention(self, src: np.ndarray) -> tuple[list, list, dict, dict]:
        """Return (tokens, tokens, maps, masks) of one text (1, T)."""
        return self.source_tokens(src), self.source_tokens(src), *self.maps(src)

    def draw_attention(self, src: np.ndarray, folder: str | Path, prefix: str = "") -> list[Path]:
        """Save a picture of every head for each layer; return the paths."""
        tokens, _, maps, masks = self.attention(src)
        paths = []
        for layer, (name, weights) in enumerate(maps.items(), 1):
            title = f"{self.task.name}, layer {layer}: row = reader, column = what it reads"
            fig = plot_attention(weights, tokens, tokens, allowed=masks[name], title=title)
            paths.append(Path(folder) / f"{prefix}attention_layer_{layer}.png")
            save_figure(fig, paths[-1], dpi=120)
        return paths

    def example(self, src: np.ndarray) -> tuple:
        """Return (inputs, None, targets) of one text (1, T): the targets are shifted by one."""
        if src.shape[1] < 2:
            raise ValueError("a text must hold at least two tokens: each is what should come out"
                             f" after those before it, got {src.shape[1]}")
        return src[:, :-1], None, src[:, 1:]

    def decode(self, src: np.ndarray, max_len: int | None = None, *, beam: int = 1,
               alpha: float = 0.6) -> np.ndarray:
        """Raise ValueError: a model of a single text has no source to decode."""
        raise ValueError(f"a model of one text has no source to decode: use aiayn-np"
                         f" {self.command}")
