"""The command `translate`: lines of text through a trained model, and their BLEU."""

import functools
from pathlib import Path

from ..text.bleu import TOKENIZERS, bleu, check_tokenizer, chrf
from .common import UsageError, add_beam, add_run, lines_of_stdin, note, opened_as
from .progress import shown


def add_translate_options(parser):
    """Add the options of `translate`."""
    add_run(parser, "folder that `train text` wrote")
    parser.add_argument("file", type=Path, nargs="?", help="of lines, UTF-8 or .gz; none: stdin")
    add_beam(parser)
    parser.add_argument("--reference", type=Path,
                        help="file of right translations, for BLEU and chrF")
    parser.add_argument("--bleu-tokenize", choices=TOKENIZERS,
                        help="how BLEU splits words (default: as in the run's training)")


def translate_command(args):
    """Print the translation of every line; with references, BLEU and chrF on stderr."""
    from ..text.pairs import read_lines
    from ..text.translation import translate

    run = opened_as(args.run, "translate", "a translator")
    if run.task.vocabulary is None:
        raise UsageError(f"{args.run} has no tokenizer: use aiayn-np decode, with ids")
    model, out = run.trained(), list[str]()
    references = read_lines(args.reference) if args.reference else None
    tokenize = args.bleu_tokenize or run.bleu_tokenize
    if references is not None:
        check_tokenizer(tokenize)
    whole = None if args.file is None else read_lines(args.file)
    if whole is not None and references is not None and len(references) != len(whole):
        raise UsageError(f"--reference must have as many lines as {args.file}, {len(whole)},"
                         f" got {len(references)}")
    watch = iter if whole is None else functools.partial(shown, what="translating")
    for lines in ([line] for line in lines_of_stdin("sentence")) if whole is None else [whole]:
        lines = [fitting(model, run.task.vocabulary, line, len(out) + i)
                 for i, line in enumerate(lines, 1)]
        new = translate(model, run.task.vocabulary, lines, beam=args.beam, alpha=args.alpha,
                        watch=watch)
        print(*(f"{line}\n" for line in new), sep="", end="", flush=True)
        out += new
    if references is not None:
        note(bleu(out, references, tokenize=tokenize))
        note(chrf(out, references))
    return 0


def fitting(model, vocabulary, line, number):
    """Cut a line that is too long for the model's positions, and warn."""
    from ..text.translation import cut

    line, was_cut = cut(model, vocabulary, line)
    if was_cut:
        note(f"warning: line {number} is cut: the model takes {model.max_len} tokens with the end"
             " mark")
    return line
