"""The parser of the command line: every command with its options and examples."""

import argparse
import re
import sys
import textwrap
from itertools import chain
from pathlib import Path

from .. import __version__
from ..checks import one_line
from ..plotting.fonts import in_utf_8
from . import check, exchange, generate, look, options, train, vectors, why
from .common import nearest, printable
from .writing import new_path

END = ("Begin with `aiayn-np train copy`: a model learns to copy, into runs/copy."
       " `aiayn-np COMMAND --help` shows the options of a command, with examples.\n")
COURSE = "`python -m aiayn_course --help` lists the commands of the course as well.\n"
COMMANDS: tuple = (  # group, its commands: name, function, its options, what it does, examples
    ("train and try", (
        ("train", train.train_command, options.add_train_options,
         "train a model on a toy task, on sentence pairs, or on a text", """
  aiayn-np train copy                               # until it copies perfectly, into runs/copy
  aiayn-np train copy --steps 5000 --out runs/copy --resume
  aiayn-np train text --source train.de --target train.en
  aiayn-np train words --from runs/words --text my.txt"""),
        ("decode", look.decode_command, look.add_decode_options,
         "print what a trained model writes for sequences or sentences", """
  aiayn-np decode runs/copy "3 1 4 1 5"
  aiayn-np decode runs/copy "3 1 4 1 5" --beam 4    # by beam search
  aiayn-np decode runs/text                         # lines that you type
  aiayn-np decode runs/text --file test.de --beam 4 --reference test.en"""),
        ("generate", generate.generate_command, generate.add_generate_options,
         "let a language model go on with a text, or a BERT guess its masked words", """
  aiayn-np generate runs/words "Once upon a time"
  aiayn-np generate gpt2 "Once upon a time" --temperature 0.8 --top-k 40 --seed 1
  aiayn-np generate bert-base-uncased "Paris is the [MASK] of France" --top 3"""),
        ("perplexity", generate.perplexity_command, generate.add_perplexity_options,
         "how a text surprises a language model", """
  aiayn-np perplexity runs/words notes.txt
  aiayn-np perplexity gpt2 notes.txt"""),
    )),
    ("look inside", (
        ("attend", look.attend_command, look.add_attend_options,
         "draw the attention of every layer and head for a sequence", """
  aiayn-np attend runs/copy "3 1 4 1 5"
  aiayn-np attend runs/copy "3 1 4 1 5" "3 1 4"     # side by side
  aiayn-np attend runs/text "Ein kleiner Hund läuft." --out maps.pdf"""),
        ("why", why.why_command, why.add_why_options,
         "tell what each written word was made of, and draw it", """
  aiayn-np why runs/copy "3 1 4 1 5"
  aiayn-np why runs/copy "3 1 4 1 5" --word 2 --against 4
  aiayn-np why gpt2 "Once upon a time"              # each token that it goes on with"""),
        ("trace", look.trace_command, look.add_sequence,
         "tell what every component does with a sequence, as a table", """
  aiayn-np trace runs/copy "3 1 4\""""),
        ("check", check.check_command, check.add_check_options,
         "check every gradient of a whole model, as a table", """
  aiayn-np check
  aiayn-np check --seed 3                           # another model, batch and direction"""),
        ("vectors", vectors.vectors_command, vectors.add_vectors_options,
         "write right numbers for a program in another language, or compare its own", """
  aiayn-np vectors right                            # a file for each case, and README.md
  aiayn-np vectors right --compare mine             # which of your files agree"""),
    )),
    ("real models", (
        ("export", exchange.export_command, exchange.add_export_options,
         "write a model for Hugging Face transformers", """
  aiayn-np export runs/text folder --to marian
  aiayn-np export runs/gpt2 folder                  # that came from a folder of a GPT-2"""),
    )),
)


METAVARS = {int: "N", float: "N", Path: "FILE", new_path: "FILE", None: "TEXT"}  # of options
WRAPPED = {  # begin of a long line -> begin of the next ones, end of all but the last
    "usage": (" " * 7, ""), "# ": ("# ", ""), "  aiayn-np": (" " * 4, " \\"), "  ": (" " * 14, ""),
    "": ("", "")}


class Help(argparse.HelpFormatter):
    """The layout of a help, in which usage, lists and examples are wrapped as well."""

    def _format_usage(self, *parts):
        return folded(" ".join(super()._format_usage(*parts).split()), self._width) + "\n\n"

    def _fill_text(self, text, width, indent):
        lines = (reversed(re.split(" +(?=# )", line)) if len(line) > width else [line]
                 for line in text.splitlines())                        # a long remark comes first
        return "\n".join(folded(line, width) for line in chain.from_iterable(lines))


def folded(line, width):
    """Return a line in several that fit; a text in quotes or in brackets stays whole."""
    indent, end = next(how for start, how in WRAPPED.items() if line.startswith(start))
    whole = re.sub(r'"[^"]*"|\[[^][]*\]', lambda part: part[0].replace(" ", "\xa0"), line)
    lines = textwrap.wrap(whole, width - len(end), subsequent_indent=indent,
                          break_long_words=False, break_on_hyphens=False)
    return f"{end}\n".join(lines).replace("\xa0", " ")


class Parser(argparse.ArgumentParser):
    """A parser that knows no abbreviations, and writes one line about a wrong command line."""

    def __init__(self, **options):
        super().__init__(allow_abbrev=False, formatter_class=Help, **options)
        self.register("type", None, in_utf_8)                          # of texts, not of paths

    def error(self, message):
        """End the program with exit code 2; the message has the name that was probably meant."""
        words, known = [], []
        if choice := re.search(r"invalid choice: '(.*?)' \(choose from (.*)\)", message):
            words, known = [choice[1]], re.findall(r"[\w-]+", choice[2])
        elif message.startswith("unrecognized arguments"):
            words, known = message.split()[2:], list(self._option_string_actions)
        meant = next(filter(None, (nearest(word, known) for word in words)), "")
        self.exit(2, printable(f"{self.prog}: error: {one_line(message)}{meant}"
                               f" (see {self.prog} --help)\n"))


def parser(more: tuple = ()) -> tuple:
    """Return (the parser of the whole command line, {name: the parser of a command}).

    `train` has a parser for each task, with a name such as "train copy".

    more : commands of another package in the form of COMMANDS
    """
    groups = COMMANDS + more
    main = Parser(prog="aiayn-np", epilog=listing(groups) + END + ('' if more else COURSE),
                  usage="%(prog)s COMMAND ...",
                  description='The Transformer of "Attention Is All You Need" in plain NumPy.')
    main.add_argument("--version", action="version", version=f"aiayn-np {__version__}")
    commands = main.add_subparsers(required=True, metavar="COMMAND", help=argparse.SUPPRESS,
                                   prog="aiayn-np")
    parsers: dict = {}
    for name, function, add_options, what, examples in chain.from_iterable(g for _, g in groups):
        one = commands.add_parser(name, description=what, epilog=f"examples:{examples}\n")
        one.set_defaults(command=function, writes=False)
        tasks = add_options(one) or {}
        parsers |= {f"{name} {task}": each for task, each in tasks.items()} or {name: one}
    for action in chain.from_iterable(one._actions for one in parsers.values()):
        if action.metavar is None and action.nargs != 0:
            action.metavar = (action.dest.upper() if not action.option_strings else
                              "KIND" if action.choices else METAVARS[action.type])
    return main, parsers


def listing(groups):
    """Return the list of all commands in their groups, for the help."""
    lines = []
    for group, commands in groups:
        lines += [f"{group}:", *(f"  {name:<12}{what}" for name, _, _, what, _ in commands), ""]
    return "\n".join(lines) + "\n"


def parsed(argv: list[str] | None = None, more: tuple = ()) -> argparse.Namespace:
    """Return the options of a command line, with `more` commands, as in `parser`.

    Options and sequences may stand in any order.
    """
    words = (sys.argv[1:] if argv is None else argv) or ["--help"]
    main, parsers = parser(more)
    if one := parsers.get(words[0]):
        return one.parse_intermixed_args(words[1:])
    if one := parsers.get(" ".join(words[:2])):
        return one.parse_intermixed_args(words[2:], argparse.Namespace(task=words[1]))
    return main.parse_args(words)
