"""Imports of packages that only an extra installs, made when they are needed."""

import importlib
from importlib import metadata
from typing import Any


def extra(name: str, of: str = 'text') -> Any:
    """Import the module `name` of the extra `of`. An ImportError says how to install it."""
    package = name.split(".")[0]
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name not in (name, package):        # the package itself misses another one
            raise
        message = f"{package} is not installed; {of} needs it: {install_command(of)}"
        raise ImportError(message, name=name) from None


def install_command(of: str) -> str:
    """Return the command that installs the packages of an extra: aiayn-np stands in no index."""
    mark = f'extra == "{of}"'
    needs = [need.partition(";") for need in metadata.requires("aiayn-np") or ()]
    named = [repr(name) for name, _, when in needs if mark in when.replace("'", '"')]
    return f"pip install {' '.join(named)}"
