"""What the scripts of this folder need beyond the package: one line says how to install it."""

import importlib
import sys


def needed(name, of="notebooks"):
    """The module `name`, of a package of the extra `of`; the program ends where it is missing."""
    try:
        return importlib.import_module(name)
    except ImportError:
        from aiayn_np.text.extra import extra

        try:
            return extra(name, of)
        except ImportError as error:
            sys.exit(f"error: {error}")
