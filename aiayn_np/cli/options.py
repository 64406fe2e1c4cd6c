"""The options of `train`, task by task, and how they make a new run."""

import argparse
from pathlib import Path
from typing import Any

from ..runs.options import FILES, NAMES
from ..text.presets import DEFAULTS, PRESETS
from ..training.tasks import TASKS
from .writing import add_out

WHAT = {task: f"a toy task: {kind.__doc__}" for task, kind in TASKS.items()} | dict(
    text="translate sentences, learned from pairs", words="go on with a text, as a language model")
PAIRS = "file of lines, UTF-8 or .gz; lines of source, tab, target"
LINES = "file of lines, UTF-8 or .gz"
OPTIONS: dict[str, dict] = {  # title in the help -> option of a run -> its help
    "the files": dict(
        pairs=PAIRS, source=LINES, target=LINES, validation_pairs=PAIRS, validation_source=LINES,
        validation_target=LINES, text="UTF-8 or .gz; of several --text one text is made (default:"
        " the help of Python itself)",
        **{"from": "begin with the model in a folder: of a run, or of a Marian, a GPT-2 or a Llama;"
           " what is not given here is as in that run"}),
    "the task": dict(
        symbols="how many symbols there are",
        max_length="symbols of the longest sequence, tokens of a window, or most tokens of a"
        " sentence",
        vocab_size="pieces of the vocabulary, at most; a language model has characters without it",
        normalization="of characters",
        character_coverage="share of the text whose characters are known, 0.98 to 1",
        tokenize="how BLEU splits words; zh or char where the script has no spaces between them"),
    "the training": dict(
        preset="sizes that go together", steps="the most steps to take",
        epochs="times that all pairs are seen", batch_size="sequences in a batch",
        tokens="positions in the sources of a batch, and in its targets",
        only="train only the parameters whose names contain one of these words, such as norm"),
    "the model": dict(
        N="layers in each stack", d_model="width of the model",
        d_ff="inner width of the feed-forward network", h="heads", P_drop="dropout"),
    "a variant, or the paper's": dict(
        attention="scores of attention", positions="how positions are told",
        norm="where the norm stands", like="rotary positions, RMS norms, SwiGLU and AdamW with a"
        " cosine", h_kv="with --like llama, heads of keys and values, which the --h heads share"),
    "rarely needed": dict(
        eps_ls="label smoothing", warmup_steps="of Eq. (3)",
        rate_scale="factor on the rate of Eq. (3)",
        accumulate="shares of a batch, computed in turn: it takes less memory",
        seed="of weights, batches and dropout", dtype="precision"),
}
LATER = ("steps", "epochs", "accumulate")  # may be given again with --resume


def add_train_options(parser: argparse.ArgumentParser) -> dict:
    """Add a parser for each task, with its options; return {task: parser}."""
    tasks = parser.add_subparsers(dest="task", required=True, metavar="TASK", title="tasks")
    for task, what in WHAT.items():
        one = tasks.add_parser(task, help=what, description=what, usage="%(prog)s [options]")
        for title, options in OPTIONS.items():
            group = one.add_argument_group(title)
            for name, told in options.items():
                if name in DEFAULTS[task] or name in FILES.get(task, ()):
                    group.add_argument(flag_of(name), **argument_of(task, name, told))
        one.set_defaults(of_run=[*vars(one.parse_args([]))],           # names of these options
                         command=parser.get_default("command"))
        group.add_argument(                                            # of "rarely needed"
            "--threads", type=int, help="of BLAS; OPENBLAS_NUM_THREADS, where it is set, is the"
            " limit (default: that limit, else 1); more pay on a quiet machine")
        add_out(one, "--out", f"folder of the run (default: runs/{task}, or runs/{task}-2 where"
                " that is taken, and so on)", metavar="FOLDER")
        one.add_argument("--resume", action="store_true", help="go on with the run in --out")
    return tasks.choices


def argument_of(task: str, name: str, what: str) -> dict:
    """Return the keywords of `add_argument` for an option: its help, and its type or choices."""
    if name not in DEFAULTS[task]:
        many: dict[str, Any] = {"action": "append"} if name == "text" else {}
        return dict(help=what, type=Path, metavar="FOLDER" if name == "from" else None, **many)
    if name == "only":
        return dict(help=what, nargs="+", metavar="WORD")
    default = DEFAULTS[task][name]
    preset = DEFAULTS[task].get("preset", "") and name in PRESETS["small"]
    told = "the preset's" if preset else default
    number = int if default is None else type(default)
    if name in NAMES:
        what += ": %(choices)s"
    kind = {"choices": NAMES[name]} if name in NAMES else {"type": number}
    return dict(help=what if default is None else f"{what} (default: {told})", **kind)


def flag_of(name: str) -> str:
    """Return the flag of a name in Python."""
    return f"--{name.replace('_', '-')}"


def given_options(args: argparse.Namespace) -> dict:
    """Return {name: value} of the options of a run that stand on the command line."""
    return {name: value for name, value in vars(args).items()
            if value is not None and name in args.of_run}


def new_run_of(folder: Path, args: argparse.Namespace) -> tuple:
    """Return (a new run of the task with the given options, notes on its data)."""
    given = given_options(args)
    files = {name: given.pop(name, None) for name in FILES.get(args.task, ())}
    if start := files.pop("from", None):
        from ..runs.going_on import continued_run

        return continued_run(folder, args.task, start, files, **given)
    from ..runs.start import start_run

    return start_run(folder, args.task, files, **given)
