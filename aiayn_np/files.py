"""Files that are never half written, and folders that one process at a time writes into.

A new file takes the place of the old one when it is complete. It is written to a neighbouring
`.part` file first and moved into place when it is on disk, so that an interruption leaves the old
file or the new one. A `.part` file is locked while it is written. The lock ends with its process,
so that the next one finds what a killed process left, and removes it.
"""

import contextlib
import errno
import io
import os
import shutil
import stat
import sys
from pathlib import Path

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

SHOWN = 50  # characters of a file's name that are in the name of its .part file
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)  # the request was not wrong


def reason_of(error):
    """An error of the system as "file: reason"; any other error as it is."""
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename or 'standard output'}: {error.strerror}"
    return error


class CheckpointError(Exception):
    """A file that is not a whole checkpoint of this model; the message says what is wrong."""


@contextlib.contextmanager
def replacing(path):
    """Open a file to write that takes the place of `path` when it is whole and on disk.

    A symbolic link stays, and the file that it leads to is replaced. A device or a FIFO is never
    replaced: it is written into. Raises OSError that names the path.
    """
    special = os.path.exists(path) and not os.path.isfile(path)
    path = Path(path) if special else followed(path)
    try:
        yield from into(path) if special else instead_of(path)
    except OSError as error:
        if error.errno is None or not str(error.filename or ".part").endswith(".part"):
            raise
        kept = "; the file that was there is kept" * (error.errno in NO_ROOM and path.is_file())
        raise OSError(error.errno, os.strerror(error.errno) + kept, str(path)) from error


def followed(path):
    """The path that symbolic links lead to; OSError where they lead in a circle."""
    found = Path(os.path.realpath(path))
    if found.is_symlink():
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))
    return found


def remove_file(path):
    """Remove a regular file, if there is one. A symbolic link stays, and loses its file."""
    if path.is_file():
        followed(path).unlink()


def instead_of(path):
    """Yield a new file, then move it to `path`, in place of a regular file if there is one."""
    if path.exists() and not os.access(path, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
    remove_parts(path.parent, path.name)
    part = path.with_name(f".{path.name[:SHOWN]}.{os.urandom(4).hex()}.part")
    try:
        with open(part, "xb") as file:
            with contextlib.suppress(OSError):                         # some disks know no locks
                lock(file)
            if path.exists():
                part.chmod(stat.S_IMODE(path.stat().st_mode))
            yield file
            file.flush()
            os.fsync(file.fileno())
            if sys.platform != "win32":
                os.replace(part, path)                                 # still under its lock
        if sys.platform == "win32":                                    # it moves no open file
            os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)
    if os.name == "posix":  # make the new name durable too
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def into(path):
    """Yield a file in memory, then write it into a device or a FIFO.

    A FIFO that nobody reads from raises OSError.
    """
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    content = io.BytesIO()
    yield content
    handle = os.open(path, os.O_WRONLY | getattr(os, "O_NONBLOCK", 0))
    with open(handle, "wb") as file:
        os.set_blocking(handle, True)
        file.write(content.getbuffer())


def remove_parts(folder, name=""):
    """Remove the .part files and folders in a folder, of one name or of all, that no process fills
    any more."""
    for part in Path(folder).glob("*.part"):
        if part.name.startswith(f".{name[:SHOWN]}.") or (not name and part.name[0] == "."):
            with contextlib.suppress(OSError), locked(part):
                if part.is_dir():
                    shutil.rmtree(part)
                else:
                    part.unlink()


@contextlib.contextmanager
def locked(path):
    """Keep the lock of a file, or of a folder where the system has such locks."""
    handle = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        lock(handle)
        yield
    finally:
        os.close(handle)


def lock(file):
    """Lock an open file, or its number, until it is closed or its process ends; BlockingIOError if
    another has it."""
    if sys.platform == "win32":
        handle = file if isinstance(file, int) else file.fileno()
        os.lseek(handle, 0, os.SEEK_SET)
        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        except OSError as error:
            raise BlockingIOError(errno.EAGAIN, "locked by another process") from error
    else:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


@contextlib.contextmanager
def new_folder(path, *, replace=False):
    """A folder to fill that gets the name `path` when it is complete.

    What has that name by then is replaced if `replace` says so; otherwise FileExistsError is
    raised, unless it is an empty folder. An interruption leaves the old folder or the new one; for
    a moment the old one has another name. What a killed process left is removed. An OSError of a
    file in the new folder names `path`.
    """
    name, path = str(path), followed(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    remove_parts(path.parent, path.name)
    part, old = (path.with_name(f".{path.name[:SHOWN]}.{os.urandom(4).hex()}.{end}")
                 for end in ("part", "old"))
    try:
        part.mkdir()
        with contextlib.ExitStack() as stack:
            stack.callback(shutil.rmtree, part, ignore_errors=True)
            with contextlib.suppress(OSError):                         # some disks know no locks
                stack.enter_context(locked(part))
            yield part
            if replace and path.exists():
                os.replace(path, old)
            take_name(part, path)
            shutil.rmtree(old, ignore_errors=True)
    except OSError as error:
        if not str(error.filename or part).startswith(str(part)) or error.errno is None:
            raise
        raise OSError(error.errno, error.strerror, name) from error


def take_name(part, path):
    """Move a folder to `path` in one step. Raises FileExistsError unless it is free or empty."""
    try:
        if sys.platform == "win32" and path.exists():
            path.rmdir()                                               # only if it is empty
        os.rename(part, path)
    except OSError:
        if not os.path.lexists(path):
            raise
        raise FileExistsError(errno.EEXIST, "another command has made it meanwhile; it stays as it"
                              " is, and nothing is added", str(part)) from None
