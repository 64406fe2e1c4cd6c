"""The folder of a training belongs to one process at a time."""

import contextlib
import errno
import itertools
import os
import platform
from collections.abc import Iterator
from pathlib import Path

from ..files import lock, remove_parts

LOCK = ".lock"


@contextlib.contextmanager
def reserved(folder: Path) -> Iterator[Path]:
    """Make the folder and keep other trainings out of it; at the end, remove it if it is empty.

    The lock ends with the process, however the process ends. Raises BlockingIOError that says which
    process has the folder, and OSError if it cannot be written.
    """
    made = [path for path in (folder, *folder.parents) if not path.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        file = held(folder / LOCK)
        try:
            remove_parts(folder)                                       # of a run that was killed
            yield folder
        finally:
            release(file, folder / LOCK)
    finally:
        with contextlib.suppress(OSError):
            for path in made:
                path.rmdir()


def held(path):
    """Open and lock the lock file of a folder, and write the name of this process into it."""
    while True:
        file = open(path, "a+", encoding="utf-8")  # noqa: SIM115, it stays open
        try:
            lock(file)
        except BlockingIOError:
            file.seek(0)
            who = file.read().strip() or "another process"
            file.close()
            raise BlockingIOError(errno.EAGAIN, f"{who} is training into this folder",
                                  str(path.parent)) from None
        except OSError:                                                # a disk without locks
            break
        if path.exists() and os.path.samestat(os.fstat(file.fileno()), os.stat(path)):
            break                                                      # its owner did not remove it
        file.close()
    try:
        file.truncate(0)
        file.write(f"process {os.getpid()} on {platform.node()}")
        file.flush()
    except OSError as error:                                           # such as a full disk
        release(file, path)
        raise OSError(error.errno, error.strerror, str(path)) from error
    return file


def release(file, path):
    """Close the lock file, and remove it: while we still hold it, where the system allows that."""
    if os.name == "posix":
        path.unlink(missing_ok=True)
    with contextlib.suppress(OSError):                                 # it may be too full to write
        file.close()
    if os.name != "posix":
        path.unlink(missing_ok=True)


@contextlib.contextmanager
def free_folder(folder: Path) -> Iterator[Path]:
    """Reserve the folder, or the first of folder-2, folder-3, ... that holds no run and is free."""
    for n in itertools.count(1):
        other = folder.with_name(f"{folder.name}-{n}") if n > 1 else folder
        if (other / "model.npz").exists():
            continue
        with contextlib.ExitStack() as stack:
            stack.callback(remove_empty, other)                        # whichever process made it
            try:
                stack.enter_context(reserved(other))
            except BlockingIOError:
                continue
            if not (other / "model.npz").exists():                     # a run may just have ended
                yield other
                return


def remove_empty(folder):
    """Remove a folder if it is there and empty."""
    with contextlib.suppress(OSError):
        folder.rmdir()
