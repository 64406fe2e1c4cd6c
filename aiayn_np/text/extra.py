"""Imports of packages that only an extra installs, made when they are needed."""

import importlib
from typing import Any


def extra(name: str, of: str = 'text') -> Any:
    """Import the module `name` of the extra `of`. An ImportError says how to install it."""
    package = name.split(".")[0]
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name not in (name, package):        # the package itself misses another one
            raise
        message = f"{package} is not installed; {of} needs it: pip install 'aiayn-np[{of}]'"
        raise ImportError(message, name=name) from None
