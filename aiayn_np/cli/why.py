"""The command `why`: what each word that a model writes was made of."""

import difflib

import numpy as np

from .common import UsageError, opened
from .look import add_sequence, source_of
from .writing import add_out, check_file

OTHERS = 8  # tokens by which each one is replaced


def add_why_options(parser):
    """Add the options of `why`."""
    add_sequence(parser)
    parser.add_argument("--word", type=int, metavar="N",
                        help="only this one of the written words, from 1 (default: all)")
    parser.add_argument("--against", metavar="WORD",
                        help="why not this word (default: the mean over all words)")
    add_out(parser, "--out", "file of the picture (default: RUN/why.png)")


def why_command(args):
    """Print the shares of each written word and what replacing tells, and draw the shares."""
    from ..plotting.figures import plot_signed, save_figure
    from ..reading import replaced, shares

    run = opened(args.run)
    src = source_of(run, " ".join(args.symbol))
    path = args.out or args.run / "why.png"
    check_file("--out", path, ".png", force=args.force)
    out, model, task = run.decode(src), run.trained(), run.task
    tgt = np.append(task.bos, out[0, :-1])
    source, target, *_ = run.attention(src)
    words = task.tokens(out[0])
    if args.word is not None and not 1 <= args.word <= len(words):
        raise UsageError(f"--word must be 1 to {len(words)} for what is written here, got"
                         f" {args.word}")
    against = None if args.against is None else id_of(task, args.against)
    chosen = range(len(words)) if args.word is None else [args.word - 1]
    special = {task.bos, task.eos, task.pad}
    known = min(model.src_embedding.vocab_size, task.vocab_size)
    others = [i for i in range(known) if i not in special]
    rows, rng = [], np.random.default_rng(0)
    for n in chosen:
        made_of = shares(model, src[0], tgt[: n + 1], token=int(out[0, n]), against=against)
        lost = replaced(model, src[0], tgt[: n + 1], token=made_of.token, k=OTHERS, others=others,
                        rng=rng)
        print(f"{n + 1}. {sentence(words[n], source, made_of.source)}")
        print(f"   Its logit is {made_of.value:.2f} above"
              f" {'the mean of all words' if against is None else args.against}:")
        of_source = zip(source, made_of.source, lost.source, lost.source_held)
        of_target = zip(target, made_of.target, lost.target, lost.target_held)
        print(table([*((f"source {i}", *row) for i, row in enumerate(of_source, 1)),
                     *((f"written {i}", *row) for i, row in enumerate(of_target))],
                    made_of.biases))                                   # bos stands before word 1
        earlier = np.append(made_of.target, np.zeros(len(tgt) - n - 1))
        rows.append([*made_of.source, *earlier, made_of.biases])
    print("The shares add up to the logit."
          "\nThey tell what was written, not who moved the attention."
          f"\nReplaced: how log p changes with another token there, the mean of {OTHERS}."
          "\nHeld: the same with the attention weights as they were.")
    fig = plot_signed(rows, [words[n] for n in chosen], [*source, *target, "biases"],
                      value="share", rows="word that is written",
                      columns="tokens of the source, then what was written before")
    save_figure(fig, path, dpi=120)
    print(path)
    return 0


def table(rows, biases):
    """Return the lines of a table, the largest share first, by size; the biases come last.

    rows : (place, word, share, loss of log p, loss with the weights held)
    """
    from ..exercises.language import flush_left, width

    columns = max(width(word) for word in ("word", *(word for _, word, *_ in rows)))
    lines = [f"   {'word':<{columns}}  {'place':<10}   share  replaced    held"]
    for place, word, share, lost, held in sorted(rows, key=lambda row: -abs(row[2])):
        lines.append(f"   {flush_left(word, columns)}  {place:<10}  {share:+6.2f}    {-lost:+6.2f}"
                     f"  {-held:+6.2f}")
    lines.append(f"   {'biases':<{columns + 12}}  {biases:+6.2f}")
    return "\n".join(lines)


def sentence(word, source, numbers):
    """Return the one or two source tokens that gave the most to a word, as a sentence."""
    most = [i for i in np.argsort(-numbers)[:2] if numbers[i] > 0.1 * max(numbers)]
    if not most or max(numbers) <= 0:
        return f"No source token speaks for {word!r}."
    return f"{word!r} was made of " + " and ".join(
        f"{source[i]!r} ({numbers[i]:+.1f})" for i in most) + "."


def id_of(task, word):
    """Return the id of a word of the vocabulary; UsageError with the nearest one."""
    names = [name.strip("▁") for name in task.tokens(np.arange(task.vocab_size))]
    if word in names:
        return names.index(word)
    close = difflib.get_close_matches(word, names, 1)
    hint = f"; did you mean {close[0]}?" if close else ""
    raise UsageError(f"--against must be one token of the vocabulary, got {word!r}{hint}")
