"""Command lines run in a place of their own: HOME, TMPDIR and the current folder are in a temporary
one, and root becomes nobody.

`Place.run` sends command lines to one process (`hostile_server.py`) that has everything imported
and forks for each, so that one takes a hundredth of a second instead of one second.
"""

import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
NOBODY = 65534
SERVER = Path(__file__).with_name("hostile_server.py")


def as_nobody():
    """What begins a command line so that root runs it as nobody, who may read everything: Python
    may lie where nobody could not look. Empty for any other user."""
    if os.getuid() != 0 or shutil.which("setpriv") is None:
        return []
    ids = [f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
    may = [f"--{kind}-caps=-all,+dac_read_search" for kind in ("inh", "ambient")]
    return ["setpriv", *ids, *may]


class Place:
    """A temporary folder in which commands work, and the server that runs them."""

    def __enter__(self):
        self.folder = Path(tempfile.mkdtemp(prefix="aiayn-np-hostile-", dir="/var/tmp"))
        self.before = outside()
        for name in ("home", "tmp", "work"):
            (self.folder / name).mkdir()
        for path in [self.folder, *self.folder.iterdir()]:
            if as_nobody():
                os.chown(path, NOBODY, NOBODY)
        self.work = self.folder / "work"
        self.environment = {
            "HOME": str(self.folder / "home"), "TMPDIR": str(self.folder / "tmp"),
            "PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "OPENBLAS_NUM_THREADS": "1",
            "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "VECLIB_MAXIMUM_THREADS": "1",
            "PYTHONDONTWRITEBYTECODE": "1"}
        self.server = subprocess.Popen(
            [*as_nobody(), sys.executable, str(SERVER)], cwd=self.work, env=self.environment,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True)
        return self

    def run(self, *argv, stdin=""):
        """dict(code, out, err, late) of a command. It gets Ctrl-C after a while, since some train
        for hours; late: it did not end then either. Pictures are the smallest there are."""
        self.server.stdin.write(json.dumps(dict(argv=list(argv), stdin=stdin)) + "\n")
        self.server.stdin.flush()
        answer = self.server.stdout.readline()
        assert answer, "the server has ended"
        return json.loads(answer)

    def write(self, name, content):
        """A file in the current folder of the commands, which they may write."""
        path = self.work / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        self.own()
        return path

    def own(self):
        """Everything in the current folder belongs to who runs the commands."""
        if as_nobody():
            for path in [self.work, *self.work.rglob("*")]:
                with contextlib.suppress(OSError):
                    os.chown(path, NOBODY, NOBODY, follow_symlinks=False)

    def __exit__(self, kind, *_):
        self.server.stdin.close()
        self.server.stdout.close()
        self.server.wait()
        left = sorted(path.name for path in (self.folder / "tmp").iterdir())
        shutil.rmtree(self.folder, ignore_errors=True)
        if kind is None:
            assert outside() == self.before, "something outside of the folder has changed"
            assert [name for name in left if "matplotlib" not in name] == []


def outside():
    """Names and sizes in the checkout, and the system's temporary files that nobody has."""
    ignored = {".git", "__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache"}
    checkout = sorted((str(path), path.stat().st_size) for path in ROOT.rglob("*")
                      if not ignored & set(path.parts) and path.is_file())
    system = sorted(str(path) for path in Path(tempfile.gettempdir()).iterdir()
                    if as_nobody() and path.lstat().st_uid == NOBODY)
    return checkout, system, sorted(os.listdir("/dev"))


# Python itself drops a Ctrl-C that comes in the callback of a weak reference, and goes on.
SWALLOWED = re.compile(r"Exception ignored in:(?:(?!Exception ignored).)*?\nKeyboardInterrupt: ?\n",
                       re.DOTALL)


def problem(argv, done):
    """What is wrong with how a command ended; None if it ended as it should."""
    err = SWALLOWED.sub("", done["err"])
    if done["late"]:
        return f"hangs: {argv}"
    if "Traceback" in err or "Exception ignored" in err or done["code"] not in (0, 1, 2):
        return f"crashes with {done['code']}: {argv}\n{err[-2000:]}"
    harmless = "encountered in matmul"  # some OpenBLAS, see pyproject.toml
    if any("Warning" in line and harmless not in line for line in err.splitlines()):
        return f"warns: {argv}\n{err[-2000:]}"
    if done["code"] == 2 and "error: " not in err:
        return f"says nothing: {argv}\n{err[-500:]}"
    said = [line for line in err.splitlines() if re.match(r"aiayn-np( \w+)?: error: ", line)]
    if done["code"] == 2 and len(said) != 1:
        return f"not one line: {argv}\n{err[-500:]}"
    return None
