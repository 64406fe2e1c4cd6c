"""Import packages of an extra at their first use."""

import importlib
import shlex
from importlib import metadata
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).parents[2]


def extra(name: str, of: str = 'text') -> Any:
    """Import the module `name` of the extra `of`. An ImportError says how to install it."""
    package = name.split(".")[0]
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name not in (name, package):        # the package itself lacks another one
            raise
        message = f"{package} is not installed; {of} needs it: {install_command(of)}"
        raise ImportError(message, name=name) from None


def install_command(of: str) -> str:
    """Return the command that installs the packages of an extra; no index has aiayn-np.

    A copy of the repository that is not installed has no list of packages: pip installs it too.
    """
    mark = f'extra == "{of}"'
    try:
        needs = [need.partition(";") for need in metadata.requires("aiayn-np") or ()]
    except metadata.PackageNotFoundError:
        return shlex.join(["pip", "install", "-e", f"{REPOSITORY}[{of}]"])
    named = [repr(name) for name, _, when in needs if mark in when.replace("'", '"')]
    return f"pip install {' '.join(named)}"
