"""Imports of packages that only an extra installs, made when they are needed."""

import importlib
import json
from importlib import metadata
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]  # of a copy of the project; in a wheel, where packages lie


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
    """Return the command that installs an extra from where this package came from.

    That is a copy of the project, a wheel or an address. Where nothing says so, it installs the
    packages of the extra: the name aiayn-np stands in no index.
    """
    if (ROOT / "pyproject.toml").is_file():
        place = "." if Path.cwd() == ROOT else ROOT
        return f"pip install -e '{place}[{of}]'"
    package = metadata.distribution("aiayn-np")
    source = json.loads(package.read_text("direct_url.json") or "{}")
    if not source:
        mark = f'extra == "{of}"'
        needs = [need.partition(";") for need in package.requires or ()]
        named = [repr(name) for name, _, when in needs if mark in when.replace("'", '"')]
        return f"pip install {' '.join(named)}"
    kind = f"{source['vcs_info']['vcs']}+" if "vcs_info" in source else ""
    return f"pip install 'aiayn-np[{of}] @ {kind}{source['url']}'"
