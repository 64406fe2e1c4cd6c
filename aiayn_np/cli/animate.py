"""The command `animate`: attention forming while a model learns."""

import functools
from pathlib import Path

from ..training.tasks import TASKS
from .common import note
from .progress import shown
from .writing import add_out, check_file


def add_animate_options(parser):
    """Add the options of `animate`."""
    parser.add_argument("task", choices=list(TASKS))
    add_out(parser, "--out", "file (default: TASK.gif)")
    parser.add_argument("--steps", type=int, default=500, help="at most (default: 500)")


def animate_command(args):
    """Train a model, and write an animation of its attention."""
    import numpy as np

    from ..plotting.animation import animate, record
    from ..transformer import Transformer

    path = args.out or Path(f"{args.task}.gif")
    check_file("--out", path, ".gif", force=args.force)
    rng = np.random.default_rng(0)
    task = TASKS[args.task](max_length=8)
    sizes = dict(N=2, d_model=64, d_ff=256, h=4, P_drop=0.0)
    model = Transformer(task.vocab_size, **sizes, rng=rng).astype(np.float32)
    note(f"training on the task {task.name}, {args.steps} steps at most, then drawing")
    watch = functools.partial(shown, total=args.steps, what="training")
    recording = record(model, task, steps=args.steps, rng=rng, watch=watch)
    animate(recording, path, watch=functools.partial(shown, what="drawing"))
    print(path)
    return 0
