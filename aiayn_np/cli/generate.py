"""The commands for models of one text: `generate` and `perplexity`."""

import functools
import itertools
from pathlib import Path

import numpy as np

from ..checks import check_sizes
from ..training.checks import check_seed
from .common import add_run, loaded_for, printable
from .progress import shown


def add_generate_options(parser):
    """Add the options of `generate`."""
    add_run(parser, "a run of `train words`, or a folder of a GPT-2, a Llama or a BERT")
    parser.add_argument("text", help="the beginning of a text; for a BERT one with [MASK]")
    parser.add_argument("--steps", type=int, default=40, help="tokens, at most (default: 40)")
    parser.add_argument("--temperature", type=float, default=1.0,
                        help="below 1 likely tokens come more often, at 0 always (default: 1)")
    parser.add_argument("--top-k", type=int, help="draw only from so many likeliest tokens")
    parser.add_argument("--seed", type=int, default=0, help="of what is drawn (default: 0)")
    parser.add_argument("--top", type=int, default=5, help="guesses of a BERT (default: 5)")


def add_perplexity_options(parser):
    """Add the options of `perplexity`."""
    add_run(parser, "a run of `train words`, or a folder of a GPT-2 or a Llama")
    parser.add_argument("file", type=Path, help="of text, UTF-8 or .gz")


def generate_command(args):
    """Print a text and its continuation, token by token; a BERT guesses the masked tokens."""
    check_seed(args.seed)
    check_sizes(steps=args.steps, top=args.top)
    loaded = loaded_for("generate", args.run)
    if hasattr(loaded, "filled"):
        return print_guesses(loaded.filled(args.text, args.top))
    task = loaded.task
    ids = task.source(args.text)[0]
    written, before = list(ids), printable(task.text(ids))
    tokens = loaded.written(ids, steps=args.steps, temperature=args.temperature,
                              top_k=args.top_k, rng=np.random.default_rng(args.seed))
    first = next(tokens)                               # a wrong option is refused before any output
    print(before, end="", flush=True)
    for token in itertools.chain([first], tokens):
        written.append(token)
        now = printable(task.text(written))
        if not now.endswith("\ufffd"):                 # a character may need several tokens
            print(now[len(before):], end="", flush=True)
            before = now
    print()
    return 0


def perplexity_command(args):
    """Print the perplexity of a language model on a file."""
    from ..text.pairs import read_lines

    loaded = loaded_for("perplexity", args.run)
    text = "\n".join(read_lines(args.file))
    print(loaded.surprise(text, watch=functools.partial(shown, what="reading")))
    return 0


def print_guesses(masked):
    """Print the likeliest tokens for each masked token."""
    for guesses in masked:
        for share, piece, text in guesses:
            print(printable(f"{share:6.1%}  {piece:<16} {text}"))
    return 0
