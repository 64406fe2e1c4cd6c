"""The commands for models of one text: `generate`, `perplexity` and `fill`."""

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
    add_run(parser, "a run of `train words`, or a folder of a GPT-2 or a Llama")
    parser.add_argument("text", help="the beginning of a text")
    parser.add_argument("--steps", type=int, default=40, help="tokens, at most (default: 40)")
    parser.add_argument("--temperature", type=float, default=1.0,
                        help="below 1 likely tokens come more often, at 0 always (default: 1)")
    parser.add_argument("--top-k", type=int, help="draw only from so many likeliest tokens")
    parser.add_argument("--seed", type=int, default=0, help="of what is drawn (default: 0)")


def add_perplexity_options(parser):
    """Add the options of `perplexity`."""
    add_run(parser, "a run of `train words`, or a folder of a GPT-2 or a Llama")
    parser.add_argument("file", type=Path, help="of text, UTF-8 or .gz")


def add_fill_options(parser):
    """Add the options of `fill`."""
    add_run(parser, "folder of a BERT, as Hugging Face gives it")
    parser.add_argument("text", help='such as "Paris is the [MASK] of France"')
    parser.add_argument("--top", type=int, default=5, help="guesses for each (default: 5)")


def generate_command(args):
    """Print a text and its continuation by a language model, token by token."""
    check_seed(args.seed)
    check_sizes(steps=args.steps)
    loaded = loaded_for("generate", args.run)
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


def fill_command(args):
    """Print the likeliest tokens for each masked token."""
    check_sizes(top=args.top)
    loaded = loaded_for("fill", args.run)
    for guesses in loaded.filled(args.text, args.top):
        for share, piece, text in guesses:
            print(printable(f"{share:6.1%}  {piece:<16} {text}"))
    return 0
