"""The command `export`: it writes a run as a folder of Hugging Face."""

from ..files import new_folder
from .common import add_run, loaded_for, printable
from .writing import new_path


def add_export_options(parser):
    """Add the options of `export`."""
    add_run(parser)
    parser.add_argument("out", type=new_path, help="folder to write, new or empty")
    parser.add_argument("--to", choices=["marian"], required=True,
                        help="a folder of Hugging Face, which MarianMTModel.from_pretrained opens")


def export_command(args):
    """Write a run in another format."""
    from ..models.marian_export import export_marian

    loaded = loaded_for("export", args.run)
    with new_folder(args.out) as folder:
        lines = export_marian(loaded.model, loaded.task, folder)
    print(printable("\n".join([*lines, str(args.out)])))
    return 0
