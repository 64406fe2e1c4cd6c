"""The command line: train, decode, attend, explore, trace, translate, check, grade, and more.

The commands `train`, `translate`, `figures`, `zoo` and `grade` are in files of their own.

Results go to stdout, progress to stderr. Exit code 0: done; 1: it went wrong on the way (a loss
that is not finite, a gradient that does not agree, an interruption); 2: the request was wrong.
"""

import argparse
import os
import re
import sys
from pathlib import Path

from . import __version__
from .checkpoint import CheckpointError
from .cli_figures import figures_command
from .cli_grade import add_grade_options, grade_command
from .cli_text import add_text_options, train_any_command
from .cli_train import TRAIN_OPTIONS, UsageError, make_writable, make_writable_file, note
from .cli_translate import add_translate_options, translate_command
from .cli_zoo import zoo_command
from .tasks import TASKS

EXAMPLES = """examples:
  aiayn-np train copy                    train until it copies perfectly, into runs/copy
  aiayn-np train sort --out runs/mine --steps 500
  aiayn-np train sort --out runs/mine --steps 5000 --resume
  aiayn-np decode runs/copy "3 1 4 1 5"  what the model makes of a sequence
  aiayn-np train text --source train.de --target train.en
  aiayn-np translate runs/text test.de --beam 4 --reference test.en
  aiayn-np attend runs/copy "3 1 4 1 5"  draw what attends to what
  aiayn-np explore runs/copy             a page to look at its attention with, in a browser
  aiayn-np trace runs/copy "3 1 4"       what every component does, forwards and backwards
  aiayn-np check                         prove every gradient of a whole model
  aiayn-np zoo                           plant 32 bugs, one by one, and see what catches them
  aiayn-np figures variance              measure a claim of the paper; without a name, all
  aiayn-np grade answers                 check a folder of students' answers to the exercises
"""


def main(argv=None):
    """Run the command line; return the exit code."""
    args = parser().parse_args(argv)
    try:
        return args.command(args)
    except BrokenPipeError:  # whoever read stdout has seen enough, as in `aiayn-np check | head`
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115, so that closing stdout says nothing
        return 0
    except (UsageError, CheckpointError, OSError, ValueError, TypeError, IndexError,
            ImportError) as error:
        return fail(error, 2)
    except FloatingPointError as error:
        return fail(error, 1)
    except MemoryError as error:
        return fail(f"not enough memory: {error}", 1)
    except KeyboardInterrupt:
        return fail("interrupted", 1)


def fail(error, code):
    """One line on stderr, and the exit code."""
    if isinstance(error, OSError) and error.filename:
        error = f"{error.filename}: {error.strerror}"
    print(f"aiayn-np: error: {' '.join(str(error).split())}", file=sys.stderr)
    return code


def parser():
    """Build the argument parser."""
    main = argparse.ArgumentParser(
        prog="aiayn-np", epilog=EXAMPLES, formatter_class=argparse.RawDescriptionHelpFormatter,
        description='The Transformer of "Attention Is All You Need" in plain NumPy.',
    )
    main.add_argument("--version", action="version", version=f"aiayn-np {__version__}")
    names = "{train,decode,attend,explore,trace,translate,animate,check,zoo,figures,grade}"
    commands = main.add_subparsers(required=True, metavar=names, title="commands")

    def add(name, command, what):
        sub = commands.add_parser(
            name, help=what, description=what, epilog=EXAMPLES,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        sub.set_defaults(command=command)
        return sub

    p = add("train", train_any_command, "train a model on a task, or on sentence pairs")
    p.add_argument("task", choices=[*TASKS, "text"])
    p.add_argument("--out", type=Path, help="folder of the run (default: runs/TASK, or runs/TASK-2"
                   " where that is taken, and so on)")
    p.add_argument("--resume", action="store_true", help="go on with the run in --out")
    for flag, kind, default, what in TRAIN_OPTIONS:
        values = {"choices": kind} if isinstance(kind, list) else {"type": kind}
        p.add_argument(flag, **values, help=f"{what} (default: {default})")
    p.add_argument("--float64", action="store_true", help="double precision (default: float32)")
    add_text_options(p)

    p = add("decode", decode_command, "print what a trained model makes of sequences")
    p.add_argument("run", type=Path, help="folder that `train` wrote")
    p.add_argument("symbol", nargs="*", help='such as "3 1 4"; none: a sequence per line of stdin')
    p.add_argument("--beam", type=int, default=1, help="beginnings kept (default: 1, greedy)")
    p.add_argument("--alpha", type=float, default=0.6, help="penalty of a beam > 1 (default: 0.6)")

    add_translate_options(add("translate", translate_command, "translate lines of text"))

    p = add("attend", attend_command, "draw the attention of every layer and head for a sequence")
    p.add_argument("run", type=Path, help="folder that `train` wrote")
    p.add_argument("symbol", nargs="+", help='such as "3 1 4", or a sentence')
    p.add_argument("--out", type=Path, help="folder for the pictures (default: RUN/attend)")

    p = add("trace", trace_command, "tell what every component does with a sequence, as a table")
    p.add_argument("run", type=Path, help="folder that `train` wrote")
    p.add_argument("symbol", nargs="+", help='such as "3 1 4", or a sentence')
    p.add_argument("--of", metavar="PATH", help="only this component, such as decoder.layers.0")
    p.add_argument("--depth", type=int, default=2, help="layers inside layers (default: 2)")

    p = add("explore", explore_command, "write a page to look at a run's attention with")
    p.add_argument("run", type=Path, help="folder that `train` wrote")
    p.add_argument("sequence", nargs="*",
                   help='such as "3 1 4", or a sentence; none: some of the test set')
    p.add_argument("--out", type=Path, help="file of the page (default: RUN/explore.html)")

    p = add("check", check_command, "prove every gradient of a whole model, as a table")
    p.add_argument("--seed", type=int, default=0, help="of model, batch and directions")

    p = add("zoo", zoo_command, "plant real bugs one by one, and see which checks catch them")
    p.add_argument("number", nargs="*", type=int, help="of the bug, for the details; none: all")
    p.add_argument("--train", action="store_true", help="see instead what a model learns with them")
    p.add_argument("--out", type=Path, help="file for the table of --train")

    p = add("animate", animate_command, "show attention forming while a model learns, as a GIF")
    p.add_argument("task", choices=list(TASKS))
    p.add_argument("--out", type=Path, help="file (default: TASK.gif)")
    p.add_argument("--seed", type=int, default=0, help="of weights and batches")
    p.add_argument("--steps", type=int, default=500, help="at the latest (default: 500)")
    p.add_argument("--max-length", type=int, default=8, help="longest sequence (default: 8)")

    p = add("figures", figures_command, "measure the paper's claims and draw what was found")
    p.add_argument("name", nargs="*", help="of the figure; none: all of them")
    p.add_argument("--out", type=Path, default=Path("figures"), help="folder (default: figures)")

    add_grade_options(add("grade", grade_command, "check a folder of students' answers"))
    return main


def source_of(run, text):
    """Source ids of a text, refused when the model has no positions for it."""
    src = run.task.source(text)
    if src.shape[1] > run.model.max_len:
        raise UsageError(f"a sequence must have at most {run.model.max_len - 1} tokens for this"
                         f" run, got {src.shape[1] - 1}")
    if src.shape[1] - 1 > run.task.max_length:
        note(f"note: {src.shape[1] - 1} tokens, trained on at most {run.task.max_length}")
    return src


def decode_command(args):
    from .run import Run

    run = Run.load(args.run)
    if not args.symbol and sys.stdin.isatty():
        note("one sequence per line, Ctrl-D ends")
    for text in [" ".join(args.symbol)] if args.symbol else filter(str.strip, sys.stdin):
        out = run.decode(source_of(run, text), beam=args.beam, alpha=args.alpha)
        print(run.task.text(out[0]), flush=True)
    return 0


def attend_command(args):
    from .run import Run

    run = Run.load(args.run)
    src = source_of(run, " ".join(args.symbol))
    folder = args.out or args.run / "attend"
    make_writable(folder)
    prefix = re.sub(r"\W+", "_", f"{run.task.name} {run.task.text(src[0])}")[:60].strip("_") + "_"
    for path in run.draw_attention(src, folder, prefix):
        print(path)
    return 0


def trace_command(args):
    from .run import Run
    from .trace import trace

    run = Run.load(args.run)
    src = source_of(run, " ".join(args.symbol))
    _, tgt_in, tgt_out = run.example(src)
    table = trace(run.trained(), src, tgt_in, tgt_out)
    try:
        print((table[args.of] if args.of else table).table(args.depth))
    except KeyError as error:
        raise UsageError(error.args[0]) from None
    return 0


def explore_command(args):
    from .explorer import write_explorer
    from .run import Run

    run = Run.load(args.run)
    sources = [source_of(run, text) for text in args.sequence] or run.test_sources()
    path = args.out or args.run / "explore.html"
    make_writable_file("--out", path)
    title = f"Attention of a Transformer, task {run.task.name}"
    print(write_explorer(path, run.explorer_examples(sources), title=title))
    return 0


def animate_command(args):
    import numpy as np

    from .animation import animate, record
    from .checks import check_seed
    from .transformer import Transformer

    check_seed(args.seed)
    path = args.out or Path(f"{args.task}.gif")
    make_writable_file("--out", path)
    rng = np.random.default_rng(args.seed)
    task = TASKS[args.task](max_length=args.max_length)
    sizes = dict(N=2, d_model=64, d_ff=256, h=4, P_drop=0.0)
    model = Transformer(task.vocab_size, **sizes, rng=rng).astype(np.float32)
    note(f"training on the task {task.name}, {args.steps} steps at most")
    animate(record(model, task, steps=args.steps, rng=rng), path)
    print(path)
    return 0


def check_command(args):
    import numpy as np

    from .checks import check_seed
    from .gradient_check import check_gradients
    from .loss import LabelSmoothedCrossEntropy, ModelLoss
    from .tasks import CopyTask
    from .transformer import Transformer

    check_seed(args.seed)
    rng = np.random.default_rng(args.seed)
    task = CopyTask(symbols=8, max_length=5)
    model = Transformer(task.vocab_size, N=2, d_model=12, d_ff=20, h=3, P_drop=0.2, rng=rng)
    src, tgt_in, tgt_out = task.batch(3, rng)
    whole = ModelLoss(model, LabelSmoothedCrossEntropy(0.1, task.pad))
    report = check_gradients(whole, src, tgt_in, targets=tgt_out, rng=rng, seed=args.seed)
    print(report)
    return 0 if report else 1
