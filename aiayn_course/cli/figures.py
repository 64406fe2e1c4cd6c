"""The command `figures`: run the experiments, draw them, and write the gallery."""

import time
from pathlib import Path

from aiayn_np.cli.common import UsageError, nearest
from aiayn_np.cli.progress import shown
from aiayn_np.cli.writing import add_out, check_folder, make_writable
from aiayn_np.files import replacing
from aiayn_np.training.threads import blas_threads

from .lessons import shipped


class Names:
    """The names of all figures, as text. The experiments are loaded only if --help prints them."""

    def __str__(self):
        from ..lab import EXPERIMENTS

        return ", ".join(EXPERIMENTS)


def add_figures_options(parser):
    """Add the options of `figures`."""
    name = parser.add_argument("name", nargs="*", help="of the figure; none: all of these:"
                               " %(names)s")
    name.names = Names()
    add_out(parser, "--out", "folder (default: figures-here; the project's own are in figures)",
            default=Path("figures-here"))
    parser.add_argument("--draw", action="store_true",
                        help="draw what was measured for the project's gallery, and measure"
                             " nothing")


def figures_command(args):
    """Make the chosen figures, or all if none is named, with one thread of BLAS.

    With more threads, each kind of machine would add sums in another order, and times would depend
    more on the number of cores than on the layers.
    """
    from ..lab import EXPERIMENTS
    from ..lab.gallery import note_machine, page

    unknown = [name for name in args.name if name not in EXPERIMENTS]
    if unknown:
        raise UsageError(f"unknown figure {unknown[0]!r}: choose from"
                         f" {', '.join(EXPERIMENTS)}{nearest(unknown[0], EXPERIMENTS)}")
    files = ["about.json", *map("{}.json".format, EXPERIMENTS)]
    check_folder(args.out, *files, force=args.force)
    make_writable(args.out)
    chosen = [EXPERIMENTS[name] for name in dict.fromkeys(args.name or EXPERIMENTS)]
    started = time.perf_counter()
    with blas_threads(1):
        for experiment in shown(chosen, "figures"):
            result = experiment.load(shipped("figures")) if args.draw else experiment.run()
            print(f"{experiment.save(result, args.out)}: {result.finding}", flush=True)
    if args.draw:
        about = (shipped("figures") / "about.json").read_bytes()
        with replacing(args.out / "about.json") as file:
            file.write(about)
    elif not args.name:
        note_machine(args.out, time.perf_counter() - started, len(chosen))
    if all((args.out / file).exists() for file in files):
        with replacing(args.out / "README.md") as file:
            file.write(page(EXPERIMENTS.values(), args.out).encode())
        print(args.out / "README.md")
    return 0
