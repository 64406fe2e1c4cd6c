"""What only text needs is imported here, when it is needed, with a word on how to install it."""

import importlib


def extra(name):
    """The module of a package of the extra `text`. ImportError says how to install it."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name:                       # it is there, and lacks something itself
            raise
        message = f"{name} is not installed; text needs it: pip install 'aiayn-np[text]'"
        raise ImportError(message, name=name) from None
