"""Files that are never half written, and new folders.

A new file takes the place of the old one when it is complete. It is written to a neighbouring
`.part` file first and moved into place when it is on disk, so that an interruption leaves the old
file or the new one.
"""

import contextlib
import errno
import os
import shutil
from pathlib import Path

NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)  # the request was not wrong


def reason_of(error):
    """Return an error of the system as "file: reason", and any other error as it is."""
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename or 'standard output'}: {error.strerror}"
    return error


class CheckpointError(Exception):
    """A file that is not a whole checkpoint of this model; the message says what is wrong."""


@contextlib.contextmanager
def replacing(path):
    """Open a file to write that takes the place of `path` when it is whole and on disk.

    A symbolic link stays, and the file that it leads to is replaced. Raises OSError that names the
    path, also for a folder or a device.
    """
    path = Path(os.path.realpath(path))
    check_replaceable(path)
    part = path.with_name(f".{os.urandom(8).hex()}.part")
    try:
        with open(part, "xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
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


def check_replaceable(path):
    """Raise PermissionError unless a path is free, or a file that may be written."""
    if path.exists() and not (path.is_file() and os.access(path, os.W_OK)):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))


@contextlib.contextmanager
def new_folder(path):
    """Make a folder to fill. What the block wrote is removed again if it fails.

    Raises FileExistsError for a folder that is there and not empty.
    """
    path = Path(path)
    path.mkdir(parents=True, exist_ok=True)
    if any(path.iterdir()):
        raise FileExistsError(errno.EEXIST, "is there already: choose another name", str(path))
    try:
        yield path
    except BaseException as error:
        shutil.rmtree(path, ignore_errors=True)
        if isinstance(error, OSError) and error.errno and error.filename is None:
            error.filename = str(path)
        raise
