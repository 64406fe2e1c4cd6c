"""Packages of npm that tests of the page use; they are installed for the tests alone."""

import shutil
import subprocess


def installed(folder, *packages):
    """Install packages of npm in a folder; return the folder of the modules."""
    npm = shutil.which("npm")
    assert npm, "these tests need npm"
    command = [npm, "install", "--prefix", str(folder), "--no-audit", "--no-fund", "--silent"]
    subprocess.run([*command, *packages], check=True, timeout=300)
    return folder / "node_modules"
