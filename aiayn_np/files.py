"""Files that are never half written, and new folders.

A new file is first written as a `.part` file beside the old one. The `.part` file replaces the old
one when it is whole and on disk. So an interruption leaves either the old file or the new one.
"""

import contextlib
import errno
import os
import re
import shutil
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows, where an open file cannot be removed
    fcntl = None  # type: ignore[assignment]

NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)  # no fault of the user
PLAINLY = {errno.EISDIR: "a folder stands where a file must be"} | dict.fromkeys(
    (errno.ENOTDIR, errno.EEXIST), "a file stands where a folder must be")


def reason_of(error):
    """Return the text "file: reason" for an error of the system, and any other error unchanged."""
    if isinstance(error, OSError) and error.errno and error.strerror:
        system = os.strerror(error.errno)
        reason = error.strerror.replace(system, PLAINLY.get(error.errno, system))
        return f"{error.filename or 'standard output'}: {reason}"
    return error


class CheckpointError(Exception):
    """The error for a file that is not a whole checkpoint of this model; the message says why."""


class ChangedError(Exception):
    """The error when another program has written to a file that this one was about to replace."""


@contextlib.contextmanager
def replacing(path):
    """Open a file for writing; it replaces the file `path` when it is whole and on disk.

    A symbolic link stays: the file behind it is replaced. An OSError names `path`.
    """
    path = Path(os.path.realpath(path))
    check_replaceable(path)
    part = new_part(path.parent)
    try:
        with open(part, "xb") as file:
            lock(file)                                                 # parts_in leaves it alone
            if path.exists() and hasattr(os, "fchmod"):                # Windows has none
                os.fchmod(file.fileno(), path.stat().st_mode & 0o777)
            yield file
            file.flush()
            os.fsync(file.fileno())
            if fcntl:
                os.replace(part, path)
        if not fcntl:                                                  # on Windows only when closed
            os.replace(part, path)
    except OSError as error:
        if error.errno is None or error.filename not in (None, str(part)):
            raise
        kept = "; the file that was there is kept" if path.exists() else ""
        raise OSError(error.errno, os.strerror(error.errno) + kept, str(path)) from error
    finally:
        part.unlink(missing_ok=True)
    if os.name == "posix":                                             # the new name is durable too
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def lock(file):
    """Lock an open file, if the system can; return False if another program has locked it."""
    with contextlib.suppress(OSError):                                 # some networks have no locks
        try:
            if fcntl:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
    return True


def new_part(folder):
    """Return a new hidden path for an unfinished file or folder; its name is random."""
    return folder / f".{os.urandom(8).hex()}.part"


def parts_in(folder):
    """Return the files that a killed program left unfinished in a folder."""
    found = []
    for path in folder.glob(".*.part"):
        named = re.fullmatch(r"\.[0-9a-f]{16}\.part", path.name)
        if named and path.is_file() and not path.is_symlink():
            with contextlib.suppress(OSError), open(path, "rb") as file:
                if lock(file):
                    found.append(path)
    return found


def check_replaceable(path):
    """Raise PermissionError unless `path` is free or is a file that may be written."""
    if path.exists() and not (path.is_file() and os.access(path, os.W_OK)):
        got = "a folder" if path.is_dir() else "one that is write-protected or a device"
        raise PermissionError(errno.EACCES, f"must be a file to write to, got {got}", str(path))


@contextlib.contextmanager
def new_folder(path):
    """Yield a hidden folder to fill; its files move to the folder `path` at the end.

    If the block fails, the hidden folder and the parents made for it are removed. Files that
    another program wrote into `path` meanwhile stay. Raises FileExistsError if `path` is not empty,
    or if at the end another program has taken one of the names.
    """
    path = Path(path)
    with made_folder(path):
        check_free(path, os.listdir(path))
        inner = new_part(path)
        try:
            inner.mkdir()
            yield inner
            check_free(path, {*os.listdir(path)} & {*os.listdir(inner)})
            for found in inner.iterdir():
                found.rename(path / found.name)
            inner.rmdir()
        except OSError as error:
            if error.errno:                                            # by the name the user knows
                error.filename = str(error.filename or path).replace(str(inner), str(path))
            raise
        finally:
            shutil.rmtree(inner, ignore_errors=True)


def check_free(path, taken):
    """Raise FileExistsError for a folder if some names in it are `taken`."""
    if taken:
        raise FileExistsError(errno.EEXIST, "is there already: choose another name", str(path))


@contextlib.contextmanager
def made_folder(path, own=False):
    """Make a folder with its parents. If the block fails, remove the new folders that are empty.

    own : whether the caller has just made the folder, so that it is removed as well
    """
    missing = [path] if own else [each for each in (path, *path.parents) if not each.exists()]
    try:
        path.mkdir(parents=True, exist_ok=True)
        yield path
    except BaseException:
        with contextlib.suppress(OSError):                             # a folder that is not empty
            for folder in missing:
                folder.rmdir()
        raise
