"""Draw rooms.png: the rooms of aiayn_np, and which room imports which, read from the imports.

    python docs/draw_rooms.py
"""

import sys
from pathlib import Path

from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch

FOLDER = Path(__file__).parent
ROOT = FOLDER.parent / "aiayn_np"
sys.path.append(str(FOLDER.parent / "tests" / "helpers"))

from imports import imports_of  # noqa: E402

NOTES = {
    "layers": "Section 3 and its protocol", "decoding": "Section 6.1", "training": "Section 5",
    "variants": "other layers and models", "proofs": "gradients, properties",
    "reading": "what a word was made of",
    "plotting": "maps, pictures", "text": "sentence pairs", "runs": "trainings, text in and out",
    "cli": "the commands", "models": "Hugging Face, PyTorch",
}
COLUMNS = {"variants": 0, "reading": 0, "models": 0, "proofs": 2}  # the others: 1
WIDTH, HEIGHT, PAD = 2.3, 0.62, 0.04


def rooms(root=ROOT):
    """Return {room: set of rooms that it imports}; files at the top of the package are "layers"."""
    folders = {path.name for path in root.iterdir() if (path / "__init__.py").exists()}
    graph: dict[str, set] = {}
    for module, imported in imports_of(root, "aiayn_np").items():
        if module in ("", "__main__", "variants.optimizers"):          # the last knows training
            continue
        names = {name.split(".")[0] for name in imported if name}
        room, *_ = module.split(".")
        room = room if room in folders else "layers"
        found = {name if name in folders else "layers" for name in names} - {room}
        graph.setdefault(room, set()).update(found)
    return graph


def heights(graph):
    """Return {room: the length of the longest path of imports from it}."""
    known: dict[str, int] = {}

    def height(room):
        if room not in known:
            known[room] = 1 + max(map(height, graph[room]), default=-1)
        return known[room]

    for room in graph:
        height(room)
    return known


def direct(graph):
    """Return the imports without those that other arrows imply: {room: set of rooms}."""
    def below(room):
        return set().union(*({name} | below(name) for name in graph[room]))

    return {room: {name for name in names
                   if not any(name in below(other) for other in names - {name})}
            for room, names in graph.items()}


def draw(graph, path):
    """Draw the rooms as boxes, with arrows down to the rooms that each one imports."""
    levels = heights(graph)
    place = {room: (COLUMNS.get(room, 1) * (WIDTH + 0.5), 1.3 * level)
             for room, level in levels.items()}
    fig = Figure(figsize=(8.4, 1.2 * (max(levels.values()) + 1)), layout="constrained")
    ax = fig.subplots()
    for room, names in direct(graph).items():
        x, y = place[room]
        for name in sorted(names):
            u, v = place[name]
            side = (u > x) - (u < x)                                   # it leaves and comes there
            ax.annotate("", (u + WIDTH * (0.5 - 0.35 * side), v + HEIGHT + PAD),
                        (x + WIDTH * (0.5 + 0.52 * side), y - PAD), zorder=1,
                        arrowprops=dict(arrowstyle="->", color="0.55", linewidth=1.2))
    for room, (x, y) in place.items():
        front = room == "layers"
        color = "#fde9b0" if front else "#e8eef7"
        ax.add_patch(FancyBboxPatch((x, y), WIDTH, HEIGHT, boxstyle=f"round,pad={PAD}",
                                    facecolor=color, edgecolor="0.3", zorder=2))
        ax.text(x + WIDTH / 2, y + 0.41, "aiayn_np/*.py" if front else f"{room}/", ha="center",
                va="center", fontsize=12, weight="bold", zorder=3)
        ax.text(x + WIDTH / 2, y + 0.17, NOTES.get(room, ""), ha="center", va="center",
                fontsize=9.5, zorder=3)
    top = max(y for _, y in place.values())
    ax.set(xlim=(-0.2, 3 * WIDTH + 1.2), ylim=(-0.2, top + 0.9))
    ax.axis("off")
    fig.savefig(path, dpi=110)


if __name__ == "__main__":
    draw(rooms(), FOLDER / "rooms.png")
    print(FOLDER / "rooms.png")
