"""The commands `export` and `import`: a run to and from the files of other libraries.

A format is one entry of FORMATS. Its module, interop/NAME_format.py, is loaded when it is needed.
It has three functions:

    recognises(path)     tells whether a file or folder is of this format; it raises nothing
    read(path, folder)   returns a run made of it, as `open_run` does, with `folder` as its folder
    write(run, folder)   writes files for a run into an empty folder; returns lines to print

`read` may write what the run needs, such as its vocabulary, into `folder`; the command saves the
run. A folder gets its name only when it is complete, so that a failure leaves nothing behind.
"""

import importlib
from pathlib import Path

from ..files import new_folder
from .common import UsageError, add_run
from .writing import new_path

FORMATS = {  # name -> what it is
    "torch": "safetensors and JSON by the names of torch.nn.Transformer",
    "marian": "a folder of Hugging Face, which MarianMTModel.from_pretrained opens",
    "gpt2": "a folder of Hugging Face, for GPT2LMHeadModel",
}


def module_of(name):
    """Import the module of a format. An ImportError says which package to install."""
    return importlib.import_module(f"aiayn_np.interop.{name}_format")


def add_export_options(parser):
    """Add the options of `export`."""
    add_run(parser)
    parser.add_argument("out", type=new_path, help="folder to write; it must not exist yet")
    parser.add_argument("--to", choices=list(FORMATS), required=True,
                        help="; ".join(f"{name}: {what}" for name, what in FORMATS.items()))


def add_import_options(parser):
    """Add the options of `import`."""
    parser.add_argument("path", type=Path,
                        help="a folder of Hugging Face with an OPUS-MT, GPT-2, BERT or Llama, or"
                        " what `export --to torch` has written")
    parser.add_argument("--out", type=new_path, required=True,
                        help="folder of the run; it must not exist yet")
    parser.add_argument("--convert", action="store_true",
                        help="let PyTorch read pytorch_model.bin if there is no other file")


def export_command(args):
    """Write a run in another format."""
    from ..runs.open import open_run

    run = open_run(args.run)
    with new_folder(args.out) as folder:
        lines = module_of(args.to).write(run, folder)
    print(*lines, args.out, sep="\n")
    return 0


def import_command(args):
    """Make a run from a file or folder of another format."""
    from ..models.config import read_json

    if not args.path.exists():
        raise FileNotFoundError(2, "there is no such file or folder", str(args.path))
    for name in FORMATS:
        options = {"convert": True} if args.convert and name != "torch" else {}
        if module_of(name).recognises(args.path):
            with new_folder(args.out) as folder:
                module_of(name).read(args.path, folder, **options).save()
            print(args.out)
            return 0
    names = ("config.json", "model.safetensors", "pytorch_model.bin")
    if any((args.path / name).is_file() for name in names):
        read_json(args.path / names[0])      # one that is damaged or missing is told by its name
    known = "; ".join(f"{name} ({what})" for name, what in FORMATS.items())
    raise UsageError(f"{args.path} is of no known format; known are {known}")
