"""The command `export`: it writes a run as a folder of Hugging Face."""

from ..files import new_folder
from .common import UsageError, add_run, loaded_for, printable
from .writing import new_path


def add_export_options(parser):
    """Add the options of `export`."""
    add_run(parser)
    parser.add_argument("out", type=new_path, metavar="FOLDER", help="to write, new or empty")
    parser.add_argument("--to", choices=["marian"],
                        help="a folder of Hugging Face, which MarianMTModel.from_pretrained opens;"
                        " without it, a model that came from such a folder goes back into its form")


def export_command(args):
    """Write a run in another format."""
    lines = []
    if args.to is None:
        from ..runs.family import write_family
        from ..runs.open import is_run
        from ..runs.run import Run

        run = Run.open(args.run) if is_run(args.run) else None
        if run is None or "family" not in run.options:
            raise UsageError(f"--to must be given for {args.run}, which holds no training that"
                             " began from a folder of Hugging Face")
        write_family(run, args.out)
    else:
        from ..models.marian_export import export_marian

        loaded = loaded_for("export", args.run)
        with new_folder(args.out) as folder:
            lines = export_marian(loaded.model, loaded.task, folder)
    print(printable("\n".join([*lines, str(args.out)])))
    return 0
