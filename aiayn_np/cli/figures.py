"""The command `figures`: run the experiments, draw them, and write the gallery."""

import sys
import time
from pathlib import Path

from ..files import replacing
from ..training.threads import blas_threads
from .common import UsageError, note
from .lessons import shipped
from .writing import add_out, check_folder, make_writable


def add_figures_options(parser):
    """Add the options of `figures`."""
    parser.add_argument("name", nargs="*", help="of the figure; none: all of them")
    add_out(parser, "--out", "folder (default: figures)", default=Path("figures"))
    parser.add_argument("--draw", action="store_true",
                        help="draw what was measured for the project's gallery, and measure"
                             " nothing")
    parser.add_argument("--threads", type=int, default=1, help="of BLAS (default: 1, which gives"
                        " the same numbers on every number of cores)")


def figures_command(args):
    """Make the chosen figures, or all if none is named, with one thread of BLAS unless asked.

    With more threads, sums would be added up in another order on every kind of machine, and times
    would depend more on the number of cores than on the layers.
    """
    with blas_threads(args.threads):
        return make_figures(args)


def make_figures(args):
    """Make the chosen figures here; with `draw` of results that came with the package."""
    from ..experiments import EXPERIMENTS
    from ..experiments.gallery import note_machine, page

    unknown = [name for name in args.name if name not in EXPERIMENTS]
    if unknown:
        raise UsageError(f"unknown figure {unknown[0]!r}: choose from {', '.join(EXPERIMENTS)}")
    check_folder(args.out, "about.json", *map("{}.json".format, EXPERIMENTS), force=args.force)
    make_writable(args.out)
    chosen = [EXPERIMENTS[name] for name in dict.fromkeys(args.name or EXPERIMENTS)]
    started = time.perf_counter()
    for i, experiment in enumerate(chosen, 1):
        before = time.perf_counter()
        show(f"[{i}/{len(chosen)}] {experiment.name} ...")
        result = experiment.load(shipped("figures")) if args.draw else experiment.run()
        path = experiment.save(result, args.out)
        show(f"[{i}/{len(chosen)}] {experiment.name}  {time.perf_counter() - before:.1f} s", "\n")
        print(f"{path}: {result.finding}", flush=True)
    if args.draw:
        about = (shipped("figures") / "about.json").read_bytes()
        with replacing(args.out / "about.json") as file:
            file.write(about)
    elif not args.name:
        note_machine(args.out, time.perf_counter() - started, len(chosen))
    if all((args.out / file).exists() for file in [*map("{}.json".format, EXPERIMENTS),
                                                   "about.json"]):
        check_results(EXPERIMENTS.values(), args.out)
        with replacing(args.out / "README.md") as file:
            file.write(page(EXPERIMENTS.values(), args.out).encode())
        print(args.out / "README.md")
    return 0


def check_results(experiments, folder):
    """Raise UsageError if a result in the folder is of another version, or is no result at all."""
    for experiment in experiments:
        try:
            experiment.load(folder)
        except (TypeError, ValueError) as error:
            raise UsageError(f"{folder / experiment.name}.json does not fit: make it again by"
                             f" `aiayn-np figures {experiment.name}`") from error


def show(text, end=""):
    """Write progress to stderr: one line that is overwritten on a terminal, whole lines elsewhere.
    """
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end=end, file=sys.stderr, flush=True)
    elif end:
        note(text)
