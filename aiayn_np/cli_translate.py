"""The command `translate`: lines of text through a trained model, and their BLEU."""

import sys
from pathlib import Path

from .cli_train import UsageError, note


def add_translate_options(parser):
    """The options of `translate`."""
    parser.add_argument("run", type=Path, help="folder that `train text` wrote")
    parser.add_argument("file", type=Path, nargs="?", help="of lines, UTF-8 or .gz; none: stdin")
    parser.add_argument("--beam", type=int, default=1, help="beginnings kept (default: 1, greedy)")
    parser.add_argument("--alpha", type=float, default=0.6,
                        help="penalty of a beam > 1 (default: 0.6)")
    parser.add_argument("--reference", type=Path, help="file of right translations, for BLEU")


def translate_command(args):
    """Print the translation of every line, and BLEU on stderr where there are references."""
    from .run import Run
    from .text.bleu import bleu
    from .text.pairs import read_lines
    from .text.run import TextRun
    from .text.translation import translate

    run = Run.load(args.run)
    if not isinstance(run, TextRun):
        raise UsageError(f"{args.run} is a run of the task {run.task.name}: use aiayn-np decode")
    model, out = run.trained(), list[str]()
    references = read_lines(args.reference) if args.reference else None
    groups = lines_of_stdin() if args.file is None else [read_lines(args.file)]
    if args.file and references is not None and len(references) != len(groups[0]):
        raise UsageError(f"--reference must have as many lines as {args.file}, {len(groups[0])},"
                         f" got {len(references)}")
    for lines in groups:
        lines = [fitting(model, run.task.vocabulary, line, len(out) + i)
                 for i, line in enumerate(lines, 1)]
        new = translate(model, run.task.vocabulary, lines, beam=args.beam, alpha=args.alpha)
        print(*(f"{line}\n" for line in new), sep="", end="", flush=True)
        out += new
    if references is not None:
        note(bleu(out, references))
    return 0


def lines_of_stdin():
    """Each line of standard input as a list of its own, as soon as it is there."""
    from .text.pairs import decoded

    if sys.stdin.isatty():
        note("one sentence per line, Ctrl-D ends")
    for number, line in enumerate(sys.stdin.buffer, 1):
        yield [decoded(line, "standard input", number)]


def fitting(model, vocabulary, line, number):
    """The line, or as much of it as the model has positions for, with a warning."""
    from .text.translation import cut

    line, was_cut = cut(model, vocabulary, line)
    if was_cut:
        note(f"warning: line {number} is cut: the model takes {model.max_len} tokens, the end"
             " included")
    return line
