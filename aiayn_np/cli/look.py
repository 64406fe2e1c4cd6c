"""The commands that look at a trained model: `decode`, `attend` and `trace`."""

import functools
import os
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np

from ..checks import check_number, check_sizes
from ..decoding.beam import MOST_ALPHA
from ..text.pairs import read_lines
from .common import UsageError, add_run, lines_of_stdin, loaded_for, note, printable
from .progress import shown
from .writing import add_out, check_folder, make_writable


def add_decode_options(parser):
    """Add the options of `decode`."""
    add_run(parser)
    parser.add_argument("symbol", nargs="*", help='such as "3 1 4" or several such, or a sentence;'
                        " none: one per line of stdin")
    parser.add_argument("--file", type=Path, help="of lines to decode, UTF-8 or .gz")
    parser.add_argument("--reference", type=Path,
                        help="file of the right outputs of the same lines, for BLEU")
    parser.add_argument("--beam", type=int, default=1, help="beam width (default: 1, greedy)")
    parser.add_argument("--alpha", type=float, default=0.6,
                        help="penalty of a beam > 1 (default: 0.6)")


def add_attend_options(parser):
    """Add the options of `attend`."""
    add_sequence(parser)
    add_out(parser, "--out", "folder for the pictures (default: RUN/attend)")


def add_sequence(parser):
    """Add the run, and one sequence for it."""
    add_run(parser)
    parser.add_argument("symbol", nargs="+", help='such as "3 1 4", or a sentence')


def source_of(loaded: Any, text: str) -> np.ndarray:
    """Return the source ids of a text; write a note if it is longer than the training's longest."""
    src = loaded.source(text)
    note(loaded.remark(src))
    return src


def decode_command(args):
    """Print the model's output for each sequence; with references, write BLEU to stderr."""
    check_sizes(beam=args.beam)
    check_number("alpha", args.alpha, 0, MOST_ALPHA)
    if args.symbol and args.file:
        raise UsageError("sequences and --file must not both be given")
    loaded = loaded_for("decode", args.run)
    references = read_lines(args.reference) if args.reference else None
    options = dict(beam=args.beam, alpha=args.alpha)
    if args.file:
        options["watch"] = functools.partial(shown, what="decoding")
    out: list[str] = []
    for lines in parts(args, loaded, references):
        new = loaded.lines(lines, **options)
        print(*(f"{printable(line)}\n" for line in new), sep="", end="", flush=True)
        out += new
    if references is not None:
        note(loaded.score(out, references))
    return 0


def parts(args, loaded, references):
    """Yield the lines to decode in lists: all typed ones, all of --file, or each one of stdin.

    A typed sequence must fit the model. A translator cuts a longer line of --file or stdin.
    """
    if not (args.symbol or args.file):
        for number, line in enumerate(lines_of_stdin(), 1):
            yield [fitting(loaded, line, "standard input", number)]
        return
    whole = read_lines(args.file) if args.file else sequences(args.symbol)
    if references is not None and len(references) != len(whole):
        raise UsageError(f"--reference must have as many lines as there are sequences,"
                         f" {len(whole)}, got {len(references)}")
    if args.symbol:
        for text in whole:
            source_of(loaded, text)
        yield whole
    else:
        yield [fitting(loaded, line, args.file, number) for number, line in enumerate(whole, 1)]


def sequences(words: list[str]) -> list[str]:
    """Join words of the command line: `3 1 4` is one sequence, `"3 1 4" "5 9"` are two."""
    return words if any(" " in word.strip() for word in words) else [" ".join(words)]


def one_source(loaded: Any, words: list[str]) -> np.ndarray:
    """Return the source ids of words of the command line; raise UsageError for two sequences."""
    if len(found := sequences(words)) > 1:
        raise UsageError(f"one sequence must be given, got {len(found)}")
    return source_of(loaded, found[0])


def fitting(loaded, line, where, number):
    """Return a line, cut if the model cuts it; write the remark on a long line to stderr."""
    try:
        line, remark = loaded.fitting(line, number)
    except ValueError as error:
        raise ValueError(f"{where}, line {number}: {error}") from None
    note(remark)
    return line


def attend_command(args):
    """Draw the attention for a sequence, and print the paths of the pictures."""
    loaded = loaded_for("attend", args.run)
    src = one_source(loaded, args.symbol)
    folder = args.out or args.run / "attend"
    check_folder(folder, "metrics.json", "*attention_*.png", force=args.force)
    make_writable(folder, "" if args.out else "--out")
    name = f"{loaded.task.name} {loaded.task.text(src[0])}"
    prefix = os.fsdecode(re.sub(r"\W+", "_", name)[:60].strip("_").encode()) + "_"
    for path in loaded.draw_attention(src, folder, prefix):
        print(printable(path))
    return 0


def trace_command(args):
    """Print a table of all components at work on a sequence; tell how to read its long rows."""
    from ..plotting.tracing import trace

    loaded = loaded_for("trace", args.run)
    src, tgt_in, tgt_out = loaded.example(one_source(loaded, args.symbol))
    table = str(trace(loaded.model, src, tgt_in, tgt_out, loss=loaded.loss))
    if max(map(len, table.splitlines())) > shutil.get_terminal_size((999, 0)).columns:
        note("note: rows are wider than the terminal; end the command with | less -S")
    print(printable(table))
    return 0
