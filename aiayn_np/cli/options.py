"""The options of `train`, task by task, and how they make a new run."""

import argparse
from pathlib import Path

from ..text.bleu import TOKENIZERS
from ..text.presets import LANGUAGE, PAIRS, PRESETS, SYMBOLS
from ..text.vocabulary import NORMALIZATIONS
from ..training.tasks import TASKS
from ..variants.choices import CHOICES
from .writing import add_out

TRAINING = {  # flag -> type or choices, help
    "--steps": (int, "the most steps to take"),
    "--batch-size": (int, "sequences in a batch"),
}
MODEL = {
    "--N": (int, "layers in each stack"),
    "--d-model": (int, "width of the model"),
    "--d-ff": (int, "inner width of the feed-forward network"),
    "--h": (int, "heads"),
    "--P-drop": (float, "dropout"),
}
RARE = {
    "--eps-ls": (float, "label smoothing"),
    "--warmup-steps": (int, "of Eq. (3)"),
    "--rate-scale": (float, "factor on the rate of Eq. (3)"),
    "--accumulate": (int, "shares of a batch, computed in turn: it takes less memory"),
}
PAIR_TRAINING = {
    "--preset": (list(PRESETS), "sizes that go together"),
    "--tokens": (int, "positions in the sources of a batch, and in its targets"),
    "--epochs": (float, "times that all pairs are seen"),
    "--max-length": (int, "most tokens of a sentence"),
    "--vocab-size": (int, "pieces of the vocabulary, at most"),
    "--normalization": (list(NORMALIZATIONS), "of characters"),
    "--character-coverage": (float, "share of the text whose characters are known, 0.98 to 1"),
    "--bleu-every": (int, "epochs between two measurements of BLEU"),
    "--tokenize": (list(TOKENIZERS), "how BLEU splits words; zh or char where the script has"
                        " no spaces between them"),
}
FILES = ("pairs", "source", "target", "validation_pairs", "validation_source", "validation_target")
LATER = ("steps", "epochs", "accumulate")  # may be given again with --resume


def add_train_options(parser: argparse.ArgumentParser) -> dict:
    """Add a parser for each task, with its options; return {task: parser}."""
    tasks = parser.add_subparsers(dest="task", required=True, metavar="TASK", title="tasks")
    for name, (what, add) in {
            **{task: (f"a toy task: {kind.__doc__}", add_symbol_options)
               for task, kind in TASKS.items()},
            "text": ("translate sentences, learned from pairs", add_pair_options),
            "words": ("go on with a text, as a language model", add_language_options),
            }.items():
        one = tasks.add_parser(name, help=what, description=what, usage="%(prog)s [options]")
        rare = add(one)
        one.set_defaults(of_run=[*vars(one.parse_args([]))])           # names of these options
        rare.add_argument("--threads", type=int, help="of BLAS; OPENBLAS_NUM_THREADS, where it is"
                          " set, is the limit (default: that limit, else 1); more pay on a quiet"
                          " machine")
        add_out(one, "--out", f"folder of the run (default: runs/{name}, or runs/{name}-2 where"
                " that is taken, and so on)")
        one.add_argument("--resume", action="store_true", help="go on with the run in --out")
        one.set_defaults(command=parser.get_default("command"))
    return tasks.choices


def add_symbol_options(parser):
    """Add the options of a toy task; return the group of rare ones."""
    task = {"--symbols": (int, "number of different symbols"),
            "--max-length": (int, "longest sequence")}
    add_group(parser, "the training", TRAINING, SYMBOLS)
    add_group(parser, "the task", task, SYMBOLS)
    add_group(parser, "the model", MODEL, SYMBOLS)
    add_variants(parser, CHOICES)
    return add_rare(parser, SYMBOLS)


def add_language_options(parser):
    """Add the options of the task words; return the group of rare ones."""
    data = parser.add_argument_group("the text")
    data.add_argument("--text", type=Path, action="append", metavar="FILE",
                      help="UTF-8 or .gz; of several --text one text is made (default: the help of"
                      " Python itself)")
    data.add_argument("--max-length", type=int,
                      help=f"tokens of a window (default: {LANGUAGE['max_length']})")
    data.add_argument("--vocab-size", type=int, help="learn a vocabulary of at most so many pieces"
                      " (default: the characters of the text)")
    add_group(parser, "the training", TRAINING, LANGUAGE)
    add_group(parser, "the model", MODEL, LANGUAGE)
    like = parser.add_argument_group("other layers")
    like.add_argument("--like", choices=["llama"], help="rotary positions, RMS norms, SwiGLU and"
                      " AdamW with a cosine (default: the layers and the training of the paper)")
    like.add_argument("--h-kv", type=int, help="with --like llama, heads of keys and values, which"
                      " the --h heads share (default: as many)")
    add_variants(parser, [name for name in CHOICES if name != "attention"])
    return add_rare(parser, LANGUAGE)


def add_pair_options(parser):
    """Add the options of the task text; return the group of rare ones."""
    data = parser.add_argument_group(
        "the pairs", "without files for validation some pairs are held out at random")
    for name in FILES:
        what = "file of lines, UTF-8 or .gz" + "; lines of source, tab, target" * ("pairs" in name)
        data.add_argument(flag_of(name), type=Path, metavar="FILE", help=what)
    add_group(parser, "the training", PAIR_TRAINING, {"preset": "small"} | PAIRS)
    add_group(parser, "the model", MODEL, {})
    add_variants(parser, CHOICES)
    return add_rare(parser, PAIRS)


def add_group(parser, title, options, defaults):
    """Add options as a group of the help; return the group.

    options : {flag: (type or choices, help)}     defaults : {name: value}, else the preset's
    """
    group = parser.add_argument_group(title)
    for flag, (kind, what) in options.items():
        name = flag[2:].replace("-", "_")
        known = defaults.get(name, "the preset's")
        group.add_argument(flag, help=f"{what} (default: {known})",
                           **({"choices": kind} if isinstance(kind, list) else {"type": kind}))
    return group


def add_variants(parser, names):
    """Add an option for each kind of variant."""
    group = parser.add_argument_group("a variant, or the paper's, which is the default")
    for name in names:
        group.add_argument(f"--{name}", choices=list(CHOICES[name]))


def add_rare(parser, defaults):
    """Add the options that are rarely needed; return their group."""
    rare = add_group(parser, "rarely needed", RARE, defaults)
    rare.add_argument("--seed", type=int, help="of weights, batches and dropout (default: 0)")
    rare.add_argument("--float64", action="store_const", const="float64",
                      help="double precision (default: float32)")
    return rare


def flag_of(name):
    """Return the flag of a name in Python."""
    return f"--{name.replace('_', '-')}"


def given_options(args):
    """Return {name: value} of the options of a run that stand on the command line."""
    return {name: value for name, value in vars(args).items()
            if value is not None and name in args.of_run}


def new_run_of(folder: Path, args: argparse.Namespace) -> tuple:
    """Return (a new run of the task with the given options, notes on its data)."""
    from ..runs import start

    given = given_options(args)
    given["dtype"] = given.pop("float64", "float32")
    if args.task == "text":
        files = {name: given.pop(name, None) for name in FILES}
        return start.start_pairs(folder, files, **given)
    if args.task == "words":
        return start.start_language(folder, given.pop("text", None), **given)
    return start.start_symbols(folder, args.task, **given)
