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
    parser.add_argument("--seed", type=int, default=0, help="of weights and batches")
    parser.add_argument("--steps", type=int, default=500, help="at most (default: 500)")
    parser.add_argument("--max-length", type=int, default=8,
                        help="longest sequence (default: 8)")


def animate_command(args):
    """Train a model, and write an animation of its attention."""
    import numpy as np

    from ..plotting.animation import animate, record
    from ..training.checks import check_seed
    from ..transformer import Transformer

    check_seed(args.seed)
    path = args.out or Path(f"{args.task}.gif")
    check_file("--out", path, ".gif", force=args.force)
    rng = np.random.default_rng(args.seed)
    task = TASKS[args.task](max_length=args.max_length)
    sizes = dict(N=2, d_model=64, d_ff=256, h=4, P_drop=0.0)
    model = Transformer(task.vocab_size, **sizes, rng=rng).astype(np.float32)
    note(f"training on the task {task.name}, {args.steps} steps at most, then drawing")
    watch = functools.partial(shown, total=args.steps, what="training")
    recording = record(model, task, steps=args.steps, rng=rng, watch=watch)
    animate(recording, path, watch=functools.partial(shown, what="drawing"))
    print(path)
    return 0
