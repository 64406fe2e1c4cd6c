"""The command `vectors`: write test vectors, or compare a program's files with them."""

from argparse import Namespace
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from .common import UsageError, printable
from .writing import add_out, check_folder, make_writable


def add_vectors_options(parser):
    """Add the options of `vectors`."""
    add_out(parser, "folder", "to write, or that `vectors` wrote")
    parser.add_argument("--compare", type=Path, metavar="YOURS",
                        help="folder with files of the same names, from your program")


def vectors_command(args: Namespace, bugs: Iterable[Any] = ()) -> int:
    """Write test vectors, or print a comparison; the exit code is 1 if something is wrong."""
    from ..proofs.vectors import compare_vectors, write_vectors

    if args.compare is None:
        check_folder(args.folder, "manifest.json", force=args.force)
        make_writable(args.folder)
        write_vectors(args.folder)
        print(args.folder / "README.md")
        return 0
    for folder, name in ((args.folder, "manifest.json"), (args.compare, "*.safetensors")):
        if not any(folder.glob(name)):
            raise UsageError(f"{folder} must be a folder that holds {name}, got none")
    report = compare_vectors(args.folder, args.compare, bugs=bugs)
    print(printable(report))
    return 0 if report else 1
