"""The command line: train, decode, attend, explore, trace, translate, check, grade, and more.

Short commands are at the end of this file. The others have files of their own: `train`,
`translate`, `export` and `import` (exchange.py), `generate`, `perplexity` and `fill` (generate.py),
`lessons`, `exercises` and `docs` (lessons.py), `figures`, `zoo` and `grade`.

Results go to stdout, progress to stderr. The exit code is 0 for success, 1 for a failure on the way
(a loss that is not finite, a gradient that does not agree, an interruption), and 2 for a wrong
request.
"""

import argparse
import contextlib
import errno
import os
import re
import sys
import time
import warnings
from pathlib import Path

from .. import __version__
from ..checks import one_line
from ..files import NO_ROOM, CheckpointError, reason_of
from ..training.ranks import end_all_ranks, may_speak, this_rank
from ..training.tasks import TASKS
from .common import (
    UsageError,
    integer,
    lines_of_stdin,
    make_writable,
    make_writable_file,
    new_path,
    note,
    opened,
    tell,
)
from .exchange import add_export_options, add_import_options, export_command, import_command
from .figures import figures_command
from .generate import (
    add_fill_options,
    add_generate_options,
    add_perplexity_options,
    fill_command,
    generate_command,
    perplexity_command,
)
from .grade import add_grade_options, grade_command
from .lessons import (
    add_docs_options,
    add_lessons_options,
    docs_command,
    exercises_command,
    lessons_command,
)
from .options import add_train_options
from .train import train_command
from .translate import add_translate_options, translate_command
from .zoo import zoo_command

LONGEST = 2000  # characters of a message
WRITERS = (train_command, grade_command, figures_command)  # they print before all is written

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
  aiayn-np export runs/copy copy.torch --to torch
  aiayn-np import copy.torch --out runs/back
  aiayn-np generate gpt2 "Once upon a time" --temperature 0.8 --top-k 40
  aiayn-np check                         prove every gradient of a whole model
  aiayn-np zoo                           plant 32 bugs, one by one, and see what catches them
  aiayn-np figures variance              measure a claim of the paper; without a name, all
  aiayn-np grade answers                 check a folder of students' answers to the exercises
  aiayn-np lessons here                  write the lessons out, ready to open with Jupyter
  aiayn-np exercises answers             the same with the exercises alone
  aiayn-np docs architecture             open a page of the documentation in the browser
"""


def main(argv: list[str] | None = None) -> int:
    """Run the command line; return the exit code."""
    try:
        open_what_is_closed()
    except OSError as error:
        return fail(error, 2)
    use_utf_8()
    with warnings.catch_warnings():
        warnings.showwarning = as_note
        return run(argv)


def as_note(message, *_):
    """A warning of the library in one line."""
    note(f"note: {message}")


def run(argv):
    """Parse the options and call the command; an error becomes one line and an exit code."""
    args = argparse.Namespace(command=None)
    try:
        args = parsed(argv)
        code = args.command(args)
        sys.stdout.flush()
        return code
    except BrokenPipeError:  # whoever read stdout has seen enough, as in `aiayn-np check | head`
        end_output()
        if args.command in WRITERS or getattr(args, "train", False):   # of `zoo`
            return fail("stopped: whoever read the output has left; what is written is whole", 1)
        return 0
    except OSError as error:
        end_output()
        return fail(error, 1 if error.errno in NO_ROOM else 2)
    except (UsageError, CheckpointError, ValueError, TypeError, IndexError, OverflowError,
            ImportError, RecursionError) as error:
        return fail(error, 2)
    except FloatingPointError as error:
        return fail(error, 1)
    except MemoryError as error:
        return fail(f"not enough memory: {error}", 1)
    except KeyboardInterrupt:
        return fail("interrupted", 1)


def parsed(argv):
    """The options. Of several ranks only the first prints what is wrong with them, or the help."""
    with contextlib.ExitStack() as stack:
        if not may_speak():
            nothing = stack.enter_context(open(os.devnull, "w", encoding="utf-8"))
            stack.enter_context(contextlib.redirect_stdout(nothing))
            stack.enter_context(contextlib.redirect_stderr(nothing))
        return parser().parse_args(argv)


def open_what_is_closed():
    """A closed stdin is empty, and a closed stderr takes nothing. A closed stdout is an OSError."""
    closed = [name for name in ("stdin", "stdout", "stderr") if getattr(sys, name) is None]
    for name in closed:                                                # else a file gets its number
        stream = open(os.devnull, "r" if name == "stdin" else "w", encoding="utf-8")  # noqa: SIM115
        setattr(sys, name, stream)
    if "stdout" in closed:
        raise OSError(errno.EBADF, "it is closed; redirect it, as with > results.txt")


def use_utf_8():
    """Write UTF-8 whatever the locale is, to terminals, pipes and files alike."""
    for stream, errors in ((sys.stdout, "surrogateescape"), (sys.stderr, "backslashreplace")):
        if hasattr(stream, "reconfigure"):                             # not in a notebook
            stream.reconfigure(encoding="utf-8", errors=errors)


def end_output():
    """Stop writing to a stream that cannot be written to, so that closing it does not try again."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            with open(os.devnull, "wb") as nothing:
                os.dup2(nothing.fileno(), stream.fileno())


def fail(error, code):
    """Write one line to stderr, and return the exit code; in an MPI program, end all ranks."""
    rank, kind = this_rank(), "" if isinstance(error, str) else f"{type(error).__name__}: "
    text = one_line(reason_of(error))
    if len(text) > LONGEST:
        text = f"{text[: LONGEST // 2]} ... {text[-LONGEST // 2 :]}"
    who = f"{rank}: {kind}" if rank else ""
    if rank and not may_speak():
        time.sleep(1)              # if the first rank has found the same, it tells, and ends all
    with contextlib.suppress(OSError):
        print(f"aiayn-np: error: {who}{text}", file=sys.stderr, flush=True)
    end_all_ranks(code)
    return code


def parser():
    """Build the argument parser."""
    main = argparse.ArgumentParser(
        prog="aiayn-np", epilog=EXAMPLES, formatter_class=argparse.RawDescriptionHelpFormatter,
        description='The Transformer of "Attention Is All You Need" in plain NumPy.',
    )
    main.add_argument("--version", action="version", version=f"aiayn-np {__version__}")
    names = ("{train,decode,attend,explore,trace,translate,export,import,generate,perplexity,fill,"
             "animate,check,zoo,figures,grade,lessons,exercises,docs}")
    commands = main.add_subparsers(required=True, metavar=names, title="commands")

    def add(name, command, what):
        sub = commands.add_parser(
            name, help=what, description=what, epilog=EXAMPLES,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        sub.set_defaults(command=command)
        return sub

    add_train_options(add("train", train_command, "train a model on a task, or on sentence pairs"))

    p = add("decode", decode_command, "print what a trained model makes of sequences")
    p.add_argument("run", type=Path, help="folder that `train` wrote")
    p.add_argument("symbol", nargs="*", help='such as "3 1 4"; none: a sequence per line of stdin')
    p.add_argument("--beam", type=integer, default=1, help="beam width (default: 1, greedy)")
    p.add_argument("--alpha", type=float, default=0.6, help="penalty of a beam > 1 (default: 0.6)")

    add_translate_options(add("translate", translate_command, "translate lines of text"))

    add_export_options(add("export", export_command, "write a run in another library's format"))
    add_import_options(add("import", import_command, "make a run of another library's files"))

    add_generate_options(add("generate", generate_command, "let a GPT-2 go on with a text"))
    add_perplexity_options(add("perplexity", perplexity_command, "how a text surprises a GPT-2"))
    add_fill_options(add("fill", fill_command, "let a BERT guess the masked words of a text"))

    p = add("attend", attend_command, "draw the attention of every layer and head for a sequence")
    p.add_argument("run", type=Path, help="folder that `train` wrote")
    p.add_argument("symbol", nargs="+", help='such as "3 1 4", or a sentence')
    p.add_argument("--out", type=new_path, help="folder for the pictures (default: RUN/attend)")

    p = add("trace", trace_command, "tell what every component does with a sequence, as a table")
    p.add_argument("run", type=Path, help="folder that `train` wrote")
    p.add_argument("symbol", nargs="+", help='such as "3 1 4", or a sentence')
    p.add_argument("--of", metavar="PATH", help="only this component, such as decoder.layers.0")
    p.add_argument("--depth", type=integer, default=2, help="layers inside layers (default: 2)")

    p = add("explore", explore_command, "write a page that runs a trained model, to try it out")
    p.add_argument("run", type=Path, help="folder that `train` wrote")
    p.add_argument("sequence", nargs="*",
                   help='such as "3 1 4", or a sentence; none: some of the test set')
    p.add_argument("--out", type=new_path, help="file of the page (default: RUN/explore.html)")
    p.add_argument("--static", action="store_true", help="only maps of these sequences")
    p.add_argument("--lessons", default="", metavar="ADDRESS",
                   help="address of the lessons' pages, for links; its folder zh has the Chinese"
                        " ones (default: no links)")

    p = add("check", check_command, "prove every gradient of a whole model, as a table")
    p.add_argument("--seed", type=integer, default=0, help="of model, batch and directions")

    p = add("zoo", zoo_command, "plant real bugs one by one, and see which checks catch them")
    p.add_argument("number", nargs="*", type=integer, help="of the bug, for the details; none: all")
    p.add_argument("--train", action="store_true", help="instead, train a model with each of them")
    p.add_argument("--out", type=new_path, help="file for the table of --train")

    p = add("animate", animate_command, "show attention forming while a model learns, as a GIF")
    p.add_argument("task", choices=list(TASKS))
    p.add_argument("--out", type=new_path, help="file (default: TASK.gif)")
    p.add_argument("--seed", type=integer, default=0, help="of weights and batches")
    p.add_argument("--steps", type=integer, default=500, help="at most (default: 500)")
    p.add_argument("--max-length", type=integer, default=8, help="longest sequence (default: 8)")

    p = add("figures", figures_command, "measure the paper's claims and draw what was found")
    p.add_argument("name", nargs="*", help="of the figure; none: all of them")
    p.add_argument("--out", type=new_path, default=Path("figures"),
                   help="folder (default: figures)")

    p.add_argument("--draw", action="store_true",
                   help="draw what was measured for the project's gallery, and measure nothing")

    add_grade_options(add("grade", grade_command, "check a folder of students' answers"))

    add_lessons_options(add("lessons", lessons_command, "write the lessons into a new folder"))
    add_lessons_options(add("exercises", exercises_command, "write exercises into a new folder"))
    add_docs_options(add("docs", docs_command, "open the documentation in a browser"))
    return main


def source_of(run, text):
    """Source ids of a text; UsageError if the model has too few positions for it."""
    src = run.task.source(text)
    if src.shape[1] > run.model.max_len:
        raise UsageError(f"a sequence must have at most {run.model.max_len - 1} tokens for this"
                         f" run, got {src.shape[1] - 1}")
    if src.shape[1] - 1 > run.task.max_length:
        note(f"note: {src.shape[1] - 1} tokens, trained on at most {run.task.max_length}")
    return src


def decode_command(args):
    from ..runs.decoding_estimates import translation_line

    run = opened(args.run)
    typed = [" ".join(args.symbol)] if args.symbol else None
    for text in typed or filter(str.strip, lines_of_stdin("sequence")):
        src = source_of(run, text)
        if args.symbol and hasattr(run.model, "decoder"):
            tell(translation_line(run.model, list(src), bos=run.task.bos, beam=args.beam))
        out = run.decode(src, beam=args.beam, alpha=args.alpha)
        print(run.task.text(out[0]), flush=True)
    return 0


def attend_command(args):
    """Draw the attention for a sequence, and print the paths of the pictures."""
    run = opened(args.run)
    src = source_of(run, " ".join(args.symbol))
    folder = args.out or args.run / "attend"
    make_writable(folder)
    prefix = re.sub(r"\W+", "_", f"{run.task.name} {run.task.text(src[0])}")[:60].strip("_") + "_"
    for path in run.draw_attention(src, folder, prefix):
        print(path)
    return 0


def trace_command(args):
    """Print a table of what every component does with a sequence."""
    from ..plotting.tracing import trace
    from ..runs.decoding_estimates import trace_line

    run = opened(args.run)
    src = source_of(run, " ".join(args.symbol))
    src, tgt_in, tgt_out = run.example(src)
    tell(trace_line(run.model, *(ids for ids in (src, tgt_in) if ids is not None)))
    table = trace(run.trained(), src, tgt_in, tgt_out, loss=run.trace_loss)
    try:
        print((table[args.of] if args.of else table).table(args.depth))
    except KeyError as error:
        raise UsageError(error.args[0]) from None
    return 0


def explore_command(args):
    """Write the page that runs the model, or shows its maps, and print its path."""
    from ..plotting.explorer import write_explorer
    from ..plotting.live import NotRunnable
    from ..runs.live_page import write_live_page

    run = opened(args.run)
    sources = [source_of(run, text) for text in args.sequence] or run.test_sources()
    path = args.out or args.run / "explore.html"
    make_writable_file("--out", path)
    try:
        if not args.static:
            print(write_live_page(run, path, sources, lessons=args.lessons))
            return 0
    except NotRunnable as error:
        note(f"note: the page shows maps only, and does not run the model: {error}")
    title = f"Attention of a Transformer, task {run.task.name}"
    print(write_explorer(path, run.explorer_examples(sources), title=title))
    return 0


def animate_command(args):
    """Train a model, and write an animation of its attention."""
    import numpy as np

    from ..plotting.animation import animate, record
    from ..training.checks import check_seed
    from ..transformer import Transformer

    check_seed(args.seed)
    path = args.out or Path(f"{args.task}.gif")
    if path.suffix.lower() != ".gif" and not os.path.exists(path):
        raise UsageError(f"--out must be a .gif, got {path}")
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
    """Print the gradient proof of a whole model; the exit code is 1 if a gradient is wrong."""
    import numpy as np

    from ..proofs.gradient_check import check_gradients
    from ..training.checks import check_seed
    from ..training.loss import LabelSmoothedCrossEntropy, ModelLoss
    from ..training.tasks import CopyTask
    from ..transformer import Transformer

    check_seed(args.seed)
    rng = np.random.default_rng(args.seed)
    task = CopyTask(symbols=8, max_length=5)
    model = Transformer(task.vocab_size, N=2, d_model=12, d_ff=20, h=3, P_drop=0.2, rng=rng)
    src, tgt_in, tgt_out = task.batch(3, rng)
    whole = ModelLoss(model, LabelSmoothedCrossEntropy(0.1, task.pad))
    report = check_gradients(whole, src, tgt_in, targets=tgt_out, rng=rng, seed=args.seed)
    print(report)
    return 0 if report else 1
