"""The command `why`: it tells what each token gave to each written word."""

import textwrap

import numpy as np

from ..text.columns import flush_left, width
from .common import UsageError, loaded_for, nearest, note, printable
from .look import add_sequence, sources_of
from .writing import add_out, check_file, files_of

MOST = 10  # words in the answer, unless --word asks for one
WHERE = dict(source=" in the source", text=" in the text", written=", written before")
LEGEND = """share     what a token gave to the logit of the word; the shares add up to it
replaced  how log p changes with another token in its place, the mean of 8
held      the same, with the attention weights as they were
A share says what a token gave, and not why the attention looked there.
"""


def add_why_options(parser):
    """Add the options of `why`."""
    add_sequence(parser)
    parser.add_argument("--word", type=int, metavar="N",
                        help="only this one of the written words, from 1")
    parser.add_argument("--against", metavar="WORD",
                        help="why not this word (default: the mean over all words)")
    parser.add_argument("--all", action="store_true", help="the share of every token, as a table")
    add_out(parser, "--out", "file of the picture (default: RUN/why.png)")


def why_command(args):
    """Print a sentence on each written word, and with --all a table of shares; draw the shares."""
    from ..plotting.figures import save_figure
    from ..runs.written import Written

    loaded, path = loaded_for("why", args.run), args.out or args.run / "why.png"
    (src,) = sources_of(loaded, args.sequence)
    check_file("--out", path, ".png", force=args.force, own=args.out is None,
               inputs=files_of(args.run))
    written = Written(loaded, src, max(MOST, args.word or 0))
    count = len(written.words)
    if args.word is not None and not 1 <= args.word <= count:
        raise UsageError(f"--word must be 1 to {count} for what is written here, got {args.word}")
    against = None if args.against is None else id_of(loaded.task, args.against)
    if args.all:
        print(LEGEND)
    made_of = {}
    for n in range(min(count, MOST)) if args.word is None else [args.word - 1]:
        made_of[n], lost = written.made_of(n, against)
        print(printable(answer(written, n, made_of[n], lost, args.against, args.all)), flush=True)
    if args.word is None and count > MOST:
        note(f"note: of {count} words the first {MOST} are told; --word tells another one")
    save_figure(written.figure(made_of), path, dpi=120)
    print(printable(path))
    return 0


def answer(written, n, made_of, lost, against, whole):
    """Return a sentence on the shares in word n, not `against`; if `whole`, a table follows."""
    rows = written.rows(made_of, lost)
    names = [f"{word!r}{WHERE[place.split()[0]]}" for place, word, *_ in rows]
    spoke = [(f"{name}, place {row[0].split()[1]}" if names.count(name) > 1 else name, row[2])
             for name, row in zip(names, rows) if row[0] != "written 0"]    # bos: before word 1
    other = f", not {against!r}" if against else ""
    said = textwrap.fill(f"{n + 1}. {written.words[n]!r}{other}: {sentence(spoke)}", 80,
                         subsequent_indent="   ")
    if not whole:
        return said
    above = f"   Its logit is {made_of.value:.2f} above {against or 'the mean of all words'}:"
    return "\n".join([said, above, table(rows, made_of.biases)])


def table(rows, biases):
    """Return a table of the tokens by the size of their shares, with the biases at the end.

    rows : as Written.rows returns them
    """
    columns = max(width(word) for word in ("word", *(word for _, word, *_ in rows)))
    lines = [f"   {'word':<{columns}}  {'place':<10}   share  replaced    held"]
    for place, word, share, lost, held in sorted(rows, key=lambda row: -abs(row[2])):
        lines.append(f"   {flush_left(word, columns)}  {place:<10}  {share:+6.2f}    {-lost:+6.2f}"
                     f"  {-held:+6.2f}")
    lines.append(f"   {'biases':<{columns + 12}}  {biases:+6.2f}")
    return "\n".join(lines)


def sentence(spoke):
    """Return a sentence on the one or two tokens that gave the most to a word.

    spoke : (token with its place, share) for each token
    """
    (first, most), *others = sorted(spoke, key=lambda one: -one[1])[:2]
    if most <= 0:
        return "no token speaks for it."
    then = "".join(f", then from {name} ({share:+.1f})" for name, share in others
                   if share > 0.1 * most)
    return f"most came from {first} ({most:+.1f}){then}."


def id_of(task, word):
    """Return the id of a word; UsageError if there is none. Its first underscore may be missing."""
    names = task.tokens(np.arange(task.vocab_size))
    for name in (f"_{word}", word):
        if name in names:
            return names.index(name)
    raise UsageError("--against must be one token of the vocabulary, got"
                     f" {word!r}{nearest(word, names)}")
