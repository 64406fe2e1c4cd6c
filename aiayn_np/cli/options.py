"""The options of `train`, and the new run that they describe."""

import argparse
from pathlib import Path

from ..checks import check_number, check_sizes
from ..text.bleu import TOKENIZERS
from ..text.presets import PRESETS
from ..text.vocabulary import NORMALIZATIONS
from ..training.tasks import TASKS
from ..variants.choices import CHOICES
from .common import UsageError
from .writing import add_out

GROUPS: dict[str, list] = {  # title in the help -> [(flag, type, default, help)]
    "the training": [
        ("--steps", int, 4000, "the most steps to take"),
        ("--seed", int, 0, "of weights, batches and dropout"),
        ("--batch-size", int, 64, "sequences in a batch"),
    ],
    "the task": [
        ("--symbols", int, 10, "number of different symbols"),
        ("--max-length", int, 10, "longest sequence; text: 100 tokens; words: windows of 64"),
    ],
    "the model": [
        ("--N", int, 2, "layers in each stack"),
        ("--d-model", int, 64, "width of the model"),
        ("--d-ff", int, 256, "inner width of the feed-forward network"),
        ("--h", int, 4, "heads"),
        ("--P-drop", float, 0.0, "dropout"),
        *((f"--{option}", list(names), next(iter(names)), "a variant, or the paper's")
          for option, names in CHOICES.items()),
    ],
}
RARE = [
    ("--eps-ls", float, 0.1, "label smoothing"),
    ("--warmup-steps", int, 100, "of Eq. (3)"),
    ("--rate-scale", float, 0.2, "factor on the rate of Eq. (3)"),
    ("--accumulate", int, 1, "shares of a batch, computed in turn: it takes less memory"),
]
TRAIN_OPTIONS = [*(option for options in GROUPS.values() for option in options), *RARE]
TEXT_OPTIONS = [  # flag, type, help; the defaults are those of the preset
    ("--preset", list(PRESETS), "sizes that go together (default: small)"),
    ("--tokens", int, "positions in the sources of a batch, and in its targets"),
    ("--epochs", float, "times that all pairs are seen"),
    ("--bleu-every", int, "epochs between two measurements of BLEU (default: 1)"),
    ("--bleu-tokenize", list(TOKENIZERS),
     "how BLEU splits words (default: by the script of the targets)"),
    ("--normalization", list(NORMALIZATIONS), "of characters (default: identity, as they are)"),
    ("--character-coverage", float,
     "share of the text whose characters are known, 0.98 to 1 (default: 1)"),
]
FILES = ("pairs", "source", "target", "validation_pairs", "validation_source", "validation_target")
FILE_FLAGS = [f"--{name.replace('_', '-')}" for name in FILES]
ONLY_TEXT = (*FILE_FLAGS, *(flag for flag, *_ in TEXT_OPTIONS))
ONLY_WORDS = ("--text", "--like", "--h-kv")
WORDS = {  # the defaults of the task words, where they differ from those of the toy tasks
    "--steps": 2000, "--batch-size": 16, "--max-length": 64, "--d-model": 128, "--d-ff": 512,
    "--eps-ls": 0.0, "--rate-scale": 0.5, "--warmup-steps": 200,
}
NOT_FOR: dict[str, tuple] = {  # task -> options that it does not have
    "text": ("--steps", "--symbols", "--batch-size", *ONLY_WORDS),
    "words": ("--symbols", "--attention", *ONLY_TEXT),
} | dict.fromkeys(TASKS, (*ONLY_TEXT, *ONLY_WORDS, "--vocab-size"))
INSTEAD: dict[str, dict] = {  # task -> {option that it does not have: the one that it has for it}
    "text": {"--steps": "--epochs", "--batch-size": "--tokens", "--text": "--pairs"},
    "words": {"--epochs": "--steps", "--tokens": "--batch-size", "--pairs": "--text"},
} | {task: {"--epochs": "--steps", "--tokens": "--batch-size"} for task in TASKS}
LATER = ("--steps", "--epochs", "--accumulate")  # may be given again with --resume


def add_train_options(parser: argparse.ArgumentParser) -> None:
    """All arguments of `train`, those that are rarely needed last."""
    parser.usage = "%(prog)s {copy,reverse,sort,text,words} [options]"
    parser.add_argument("task", choices=[*TASKS, "text", "words"])
    add_out(parser, "--out", "folder of the run (default: runs/TASK, or runs/TASK-2 where that is"
            " taken, and so on)")
    parser.add_argument("--resume", action="store_true", help="go on with the run in --out")
    for title, options in GROUPS.items():
        add_group(parser, title, options)
    add_text_options(parser)
    parser.add_argument("--vocab-size", type=int,
                        help="learn a vocabulary of at most so many pieces (default for text: as"
                             " the preset says, for words: the characters of the text)")
    words = parser.add_argument_group(
        "for the task words", "a language model learns to go on with a text, by default with"
        f" {', '.join(f'{flag} {value}' for flag, value in WORDS.items())}")
    words.add_argument("--text", type=Path, action="append", metavar="FILE",
                       help="UTF-8 or .gz; of several --text one text is made (default: the help of"
                            " Python itself)")
    words.add_argument("--like", choices=["llama"], help="rotary positions, RMS norms, SwiGLU and"
                       " AdamW with a cosine (default: the layers and the training of the paper)")
    words.add_argument("--h-kv", type=int, help="with --like llama, heads of keys and values, which"
                       " the --h heads share (default: as many)")
    rare = add_group(parser, "rarely needed", RARE)
    rare.add_argument("--float64", action="store_const", const="float64",
                      help="double precision (default: float32)")
    rare.add_argument("--keep-states", action="store_const", const=True,
                      help="keep at most 16 states of the model during training, for `explore`")
    rare.add_argument("--threads", type=int, help="of BLAS; OPENBLAS_NUM_THREADS, where it is set,"
                      " is the limit (default: that limit, else 1); more pay on a quiet machine")


def add_group(parser, title, options):
    """Add options with their defaults as a group of the help; return the group."""
    group = parser.add_argument_group(title)
    for flag, kind, default, what in options:
        add_option(group, flag, kind, f"{what} (default: {default}{lacking(flag)})")
    return group


def lacking(flag):
    """Return the part of the help of an option that names the tasks without it, or ""."""
    without = [task for task, flags in NOT_FOR.items() if flag in flags]
    having = [task for task in without if flag in INSTEAD[task]]
    rest = [task for task in without if task not in having]
    instead = [f"; {task} has {INSTEAD[task][flag]}" for task in having]
    return "".join(instead) + (f"; not for {' and '.join(rest)}" if rest else "")


def add_text_options(parser):
    """Add the options of `train text` alone."""
    group = parser.add_argument_group(
        "for the task text", "the preset then gives the sizes and rates of the other options;"
        " without files for validation some pairs are held out at random",
    )
    for flag in FILE_FLAGS:
        what = "file of lines, UTF-8 or .gz" + "; lines of source, tab, target" * ("pairs" in flag)
        group.add_argument(flag, type=Path, metavar="FILE", help=what)
    for flag, kind, what in TEXT_OPTIONS:
        add_option(group, flag, kind, what)


def add_option(parser, flag, kind, what):
    """Add an option; `kind` is its type, or a list of choices."""
    parser.add_argument(flag, help=what,
                        **({"choices": kind} if isinstance(kind, list) else {"type": kind}))


def given_options(args):
    """Return {flag: value} of the options that the command line names."""
    flags = [*(flag for flag, *_ in TRAIN_OPTIONS), *ONLY_TEXT, *ONLY_WORDS, "--vocab-size",
             "--float64", "--keep-states"]
    values = {flag: getattr(args, name_of(flag)) for flag in flags}
    given = {flag: value for flag, value in values.items() if value is not None}
    for flag in given:
        if flag in NOT_FOR[args.task]:
            raise UsageError(f"{flag} is no option of the task {args.task};"
                             f" {other(flag, args.task)}")
    return given


def other(flag, task):
    """Return what a task has instead of an option, or else which tasks have that option."""
    if flag in INSTEAD[task]:
        return f"it has {INSTEAD[task][flag]}"
    having = [name for name, flags in NOT_FOR.items() if flag not in flags]
    return f"it is for {', '.join(having)}"


def name_of(flag):
    """Return the name of a flag in Python."""
    return flag[2:].replace("-", "_")


def new_config(args, o, size):
    """Return what the configs of runs on a toy task and on a text share.

    o : {flag: value} of all options          size : of the vocabulary
    """
    from ..runs.estimates import check_fits, training_bytes

    sizes = {name_of(flag): o[flag] for flag in ("--N", "--d-model", "--d-ff")}
    training = {name_of(flag): o[flag] for flag in (
        "--steps", "--batch-size", "--eps-ls", "--warmup-steps", "--rate-scale", "--accumulate")}
    names = ("batch_size", "accumulate", "warmup_steps")
    check_sizes(**sizes, max_length=o["--max-length"], **{name: training[name] for name in names})
    check_number("rate_scale", o["--rate-scale"], 0, float("inf"))
    positions = o["--batch-size"] * o["--max-length"] // o["--accumulate"]
    check_fits(training_bytes(size, positions, **sizes), "training")
    return dict(task=args.task, seed=o["--seed"], dtype=args.float64 or "float32",
                model=sizes | dict(h=o["--h"], P_drop=o["--P-drop"]),
                variants={option: o[f"--{option}"] for option in CHOICES},
                train=training, keep_states=bool(args.keep_states))


def new_toy_run(folder, args, given):
    """Return (a new run on a toy task, [])."""
    from ..runs.run import Run

    o: dict = {flag: default for flag, _, default, _ in TRAIN_OPTIONS} | given
    check_sizes(symbols=o["--symbols"])
    config = new_config(args, o, o["--symbols"])
    config["task_options"] = dict(symbols=o["--symbols"], max_length=o["--max-length"])
    config["model"]["max_len"] = o["--max-length"] + 52
    return Run(folder, config), []


def new_text_run(folder, args, given):
    """Return (a new run on sentence pairs, notes on the pairs)."""
    from ..runs.text_start import start

    options = {name_of(flag): value for flag, value in given.items() if flag not in FILE_FLAGS}
    dtype = options.pop("float64", "float32")
    variants = {option: options.pop(option) for option in CHOICES if option in options}
    if "vocab_size" in options:
        options["vocabulary"] = options.pop("vocab_size")
    files = {name: getattr(args, name) for name in FILES}
    return start(folder, files, dtype=dtype, variants=variants, **options)


def new_words_run(folder, args, given):
    """Return (a new run of a language model, notes on its text)."""
    from ..runs.words_run import start_words

    o: dict = {flag: default for flag, _, default, _ in TRAIN_OPTIONS} | WORDS | given
    config = new_config(args, o, args.vocab_size or 1)
    config["model"]["max_len"] = o["--max-length"]
    if args.like:
        config |= dict(like=args.like)
        config["model"]["h_kv"] = given.get("--h-kv", o["--h"])
    wrong = ("--norm", "--positions") if args.like else ("--h-kv",)
    if found := [flag for flag in wrong if flag in given]:
        raise UsageError(f"{found[0]} is no option with{'' if args.like else 'out'} --like llama")
    return start_words(folder, args.text, config, args.vocab_size)
