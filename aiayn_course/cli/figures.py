"""The command `figures`: draw the measured experiments, or measure them, and write the gallery."""

from pathlib import Path

from aiayn_np.cli.common import UsageError, nearest, note
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
            metavar="FOLDER", default=Path("figures-here"))
    parser.add_argument("--measure", action="store_true",
                        help="measure anew, with one thread, in minutes for each figure that trains"
                             " models; without it the project's own results are drawn")


def figures_command(args):
    """Draw the chosen figures, or all if none is named; measure them first if that is asked for.

    Measuring takes one thread of BLAS. With more threads, each kind of machine would add sums in
    another order, and times would depend more on the number of cores than on the layers.
    """
    from ..lab import EXPERIMENTS
    from ..lab.gallery import minutes, note_machine, page

    unknown = [name for name in args.name if name not in EXPERIMENTS]
    if unknown:
        raise UsageError(f"unknown figure {unknown[0]!r}: choose from"
                         f" {', '.join(EXPERIMENTS)}{nearest(unknown[0], EXPERIMENTS)}")
    files = ["about.json", *map("{}.json".format, EXPERIMENTS)]
    check_folder(args.out, *files, force=args.force)
    make_writable(args.out)
    chosen = [EXPERIMENTS[name] for name in dict.fromkeys(args.name or EXPERIMENTS)]
    if args.measure:
        note(f"on the machine of the project's gallery this took"
             f" {minutes(shipped('figures'), [e.name for e in chosen])}")
    with blas_threads(1):
        for experiment in shown(chosen, "figures"):
            if args.measure:
                with note_machine(args.out, experiment.name):
                    result = experiment.run()
            else:
                result = experiment.load(shipped("figures"))
            print(f"{experiment.save(result, args.out)}: {result.finding}", flush=True)
    if not args.measure:
        about = (shipped("figures") / "about.json").read_bytes()
        with replacing(args.out / "about.json") as file:
            file.write(about)
    if all((args.out / file).exists() for file in files):
        with replacing(args.out / "README.md") as file:
            file.write(page(EXPERIMENTS.values(), args.out).encode())
        print(args.out / "README.md")
    return 0
