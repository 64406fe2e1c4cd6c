"""The commands that look at a trained model: `decode`, `attend` and `trace`."""

import re
import shutil
import sys
from typing import Any

import numpy as np

from .common import (
    UsageError,
    add_beam,
    add_run,
    in_the_run,
    lines_of_stdin,
    note,
    opened,
    sequences,
)
from .writing import add_out, check_folder, make_writable


def add_decode_options(parser):
    """Add the options of `decode`."""
    add_run(parser)
    parser.add_argument("symbol", nargs="*",
                        help='such as "3 1 4" or several such; none: one per line of stdin')
    add_beam(parser)


def add_attend_options(parser):
    """Add the options of `attend`."""
    add_sequence(parser)
    add_out(parser, "--out", "folder for the pictures (default: RUN/attend)")


def add_sequence(parser):
    """Add the run, and one sequence for it."""
    add_run(parser)
    parser.add_argument("symbol", nargs="+", help='such as "3 1 4", or a sentence')


def source_of(run: Any, text: str) -> np.ndarray:
    """Return the source ids of a text; UsageError if the model has too few positions for it."""
    src = run.task.source(text)
    if src.shape[1] > run.model.max_len:
        raise UsageError(f"a sequence must have at most {run.model.max_len - 1} tokens for this"
                         f" run, got {src.shape[1] - 1}")
    if src.shape[1] - 1 > run.task.max_length:
        note(f"note: {src.shape[1] - 1} tokens, trained on at most {run.task.max_length}")
    return src


def decode_command(args):
    """Print the output of the model for a sequence, or for each line of stdin."""
    run = opened(args.run)
    typed = sequences(args.symbol) if args.symbol else filter(str.strip, lines_of_stdin("sequence"))
    for text in typed:
        src = source_of(run, text)
        out = run.decode(src, beam=args.beam, alpha=args.alpha)
        print(run.task.text(out[0]), flush=True)
    return 0


def attend_command(args):
    """Draw the attention for a sequence, and print the paths of the pictures."""
    run = opened(args.run)
    src = source_of(run, " ".join(args.symbol))
    folder = args.out or args.run / "attend"
    check_folder(folder, "metrics.json", "*attention_*.png", force=args.force)
    with in_the_run(args.out):
        make_writable(folder)
    prefix = re.sub(r"\W+", "_", f"{run.task.name} {run.task.text(src[0])}")[:60].strip("_") + "_"
    for path in run.draw_attention(src, folder, prefix):
        print(path)
    return 0


def trace_command(args):
    """Print a table of what every component does with a sequence."""
    from ..plotting.tracing import trace

    run = opened(args.run)
    src = source_of(run, " ".join(args.symbol))
    src, tgt_in, tgt_out = run.example(src)
    found = trace(run.trained(), src, tgt_in, tgt_out, loss=run.trace_loss)
    print(found.table(width=shutil.get_terminal_size().columns if sys.stdout.isatty() else None))
    return 0
