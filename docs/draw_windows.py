"""Draw windows.png: the windows of docs/window-attention.md, and the bias that is learned.

    python docs/draw_windows.py

The program on that page trains the layer.
"""

import re
from pathlib import Path

import numpy as np
from matplotlib.patches import Rectangle

from aiayn_np.plotting.figures import SIGNED_CMAP, new_figure, save_figure

FOLDER = Path(__file__).parent
COLORS = ("#9ecae1", "#fdd0a2", "#a1d99b", "#dadaeb")


def trained(page=FOLDER / "window-attention.md"):
    """Run the programs of the page, without their prints; return their names."""
    names = {"print": lambda *_: None}
    for code in re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL):
        exec(code, names)
    return names


def draw_image(ax, of_window, title):
    """Draw an image of 4 x 4 tokens; tokens of one colour see each other."""
    for token, window in enumerate(of_window):
        row, column = divmod(token, 4)
        ax.add_patch(Rectangle((column - 0.5, row - 0.5), 1, 1, facecolor=COLORS[window % 4],
                               edgecolor="white"))
        ax.text(column, row, token, ha="center", va="center", fontsize=13)
    ax.set(xlim=(-0.5, 3.5), ylim=(3.5, -0.5), aspect="equal", title=title, xticks=(), yticks=())


def main():
    names = trained()
    fig = new_figure(10.5, 3.9)
    plain, shifted, learned = fig.subplots(1, 3)
    rows, columns = np.divmod(np.arange(16), 4)
    draw_image(plain, rows // 2 * 2 + columns // 2, "windows, M = 2")
    groups = (rows + 1) // 2 * 3 + (columns + 1) // 2                  # 9 groups after the shift
    draw_image(shifted, groups // 3 * 2 + groups % 3, "shifted by 1: nine groups")
    table = names["bias"].b.value[:, 0].reshape(3, 3)
    image = learned.imshow(table, cmap=SIGNED_CMAP, vmin=-abs(table).max(), vmax=abs(table).max())
    for (row, column), number in np.ndenumerate(table):
        learned.text(column, row, f"{number:.1f}", ha="center", va="center", fontsize=13,
                     color="white" if abs(number) > 0.6 * abs(table).max() else "black")
    learned.set(title="learned table b", xlabel="$c_i - c_j$", ylabel="$r_i - r_j$",
                xticks=range(3), xticklabels=(-1, 0, 1), yticks=range(3), yticklabels=(-1, 0, 1))
    fig.colorbar(image, ax=learned).set_label("added to the score")
    save_figure(fig, FOLDER / "windows.png", dpi=110)


if __name__ == "__main__":
    main()
