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
from .writing import add_out, check_file, check_folder, files_of, make_writable


def add_decode_options(parser):
    """Add the options of `decode`."""
    add_run(parser)
    parser.add_argument("sequence", nargs="*", default=[], help='such as "3 1 4", or a sentence, or'
                        " several; none: one per line of stdin")
    parser.add_argument("--file", type=Path, help="of lines to decode, UTF-8 or .gz")
    parser.add_argument("--reference", type=Path,
                        help="file of the right outputs of the same lines, for BLEU")
    parser.add_argument("--beam", type=int, default=1, help="beam width (default: 1, greedy)")
    parser.add_argument("--alpha", type=float, default=0.6,
                        help="penalty of a beam > 1 (default: 0.6)")


def add_attend_options(parser):
    """Add the options of `attend`."""
    add_sequence(parser, "; two such are drawn side by side")
    add_out(parser, "--out", "folder for the pictures (default: RUN/attend), or a .png, .svg or"
            " .pdf; of several pictures each adds its name", metavar="PATH")


def add_sequence(parser, more=""):
    """Add the run, and a sequence for it; more : the end of the help."""
    add_run(parser)
    parser.add_argument("sequence", nargs="+", help=f'such as "3 1 4", or a sentence{more}')


def source_of(loaded: Any, text: str) -> np.ndarray:
    """Return the source ids of a text; write a note if it is longer than the training's longest."""
    src = loaded.source(text)
    note(loaded.remark(src))
    return src


def decode_command(args):
    """Print the model's output for each sequence; with references, write BLEU to stderr."""
    check_sizes(beam=args.beam)
    check_number("alpha", args.alpha, 0, MOST_ALPHA)
    if args.sequence and args.file:
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
    if not (args.sequence or args.file):
        for number, line in enumerate(lines_of_stdin(), 1):
            yield [fitting(loaded, line, "standard input", number)]
        return
    whole = read_lines(args.file) if args.file else sequences(args.sequence)
    if references is not None and len(references) != len(whole):
        raise UsageError(f"--reference must have as many lines as there are sequences,"
                         f" {len(whole)}, got {len(references)}")
    if args.sequence:
        for text in whole:
            source_of(loaded, text)
        yield whole
    else:
        yield [fitting(loaded, line, args.file, number) for number, line in enumerate(whole, 1)]


def sequences(words: list[str]) -> list[str]:
    """Join words of the command line: `3 1 4` is one sequence, `"3 1 4" "5 9"` are two."""
    return words if any(" " in word.strip() for word in words) else [" ".join(words)]


def sources_of(loaded: Any, words: list[str], most: int = 1) -> list[np.ndarray]:
    """Return the source ids of the sequences in a command line, or raise UsageError: too many."""
    if len(found := sequences(words)) > most:
        raise UsageError(f"{'one or two sequences' if most > 1 else 'one sequence'} must be given,"
                         f" got {len(found)}")
    return [source_of(loaded, text) for text in found]


def fitting(loaded, line, where, number):
    """Return a line, cut if the model cuts it; write the remark on a long line to stderr."""
    try:
        line, remark = loaded.fitting(line, number)
    except ValueError as error:
        raise ValueError(f"{where}, line {number}: {error}") from None
    note(remark)
    return line


def attend_command(args):
    """Draw the attention for a sequence, or for two, and print the paths of the pictures."""
    from ..plotting.figures import KINDS, save_figure

    loaded, out = loaded_for("attend", args.run), args.out or args.run / "attend"
    sources = sources_of(loaded, args.sequence, 2)
    is_file = out.suffix.lower() in KINDS or (out.suffix != "" and not out.is_dir())
    if not is_file:
        check_folder(out, "metrics.json", "*attention_*.png", force=args.force)
        make_writable(out, "" if args.out else "--out")
    what = " ".join([loaded.task.name, *(loaded.task.text(src[0]) for src in sources)])
    prefix = os.fsdecode(re.sub(r"\W+", "_", what)[:60].strip("_").encode())
    pictures = dict(loaded.pictures(*sources))
    paths = [out / f"{prefix}_attention_{name}.png" if not is_file else out if len(pictures) == 1
             else out.with_stem(f"{out.stem}_{name}") for name in pictures]
    for path in paths if is_file else ():
        check_file("--out", path, *KINDS, force=args.force, inputs=files_of(args.run))
    for path, figure in zip(paths, pictures.values()):
        save_figure(figure, path, dpi=120)
        print(printable(path))
    return 0


def trace_command(args):
    """Print a table of all components at work on a sequence; tell how to read its long rows."""
    from ..plotting.tracing import trace

    loaded = loaded_for("trace", args.run)
    src, tgt_in, tgt_out = loaded.example(*sources_of(loaded, args.sequence))
    table = str(trace(loaded.model, src, tgt_in, tgt_out, loss=loaded.loss))
    if max(map(len, table.splitlines())) > shutil.get_terminal_size((999, 0)).columns:
        note("note: rows are wider than the terminal; end the command with | less -S")
    print(printable(table))
    return 0
