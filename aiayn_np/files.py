"""Files that are never half written, and new folders.

A new file is written to a neighbouring `.part` file first. It takes the place of the old one when
it is whole and on disk, so that an interruption leaves the old file or the new one.
"""

import contextlib
import errno
import os
import re
import shutil
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows, on which no file that is open can be removed
    fcntl = None  # type: ignore[assignment]

NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)  # the request was not wrong
PLAINLY = {errno.EISDIR: "a folder stands where a file must be"} | dict.fromkeys(
    (errno.ENOTDIR, errno.EEXIST), "a file stands where a folder must be")


def reason_of(error):
    """Return an error of the system as "file: reason", and any other error as it is."""
    if isinstance(error, OSError) and error.errno and error.strerror:
        system = os.strerror(error.errno)
        reason = error.strerror.replace(system, PLAINLY.get(error.errno, system))
        return f"{error.filename or 'standard output'}: {reason}"
    return error


class CheckpointError(Exception):
    """A file that is not a whole checkpoint of this model; the message says what is wrong."""


class ChangedError(Exception):
    """Another program has written to a file that this one was about to replace."""


@contextlib.contextmanager
def replacing(path):
    """Open a file to write that takes the place of `path` when it is whole and on disk.

    A symbolic link stays, and the file behind it is replaced. An OSError names the path.
    """
    path = Path(os.path.realpath(path))
    check_replaceable(path)
    part = new_part(path.parent)
    try:
        with open(part, "xb") as file, held(file):
            keep_mode(file, path)
            yield file
            file.flush()
            os.fsync(file.fileno())
            if fcntl:
                os.replace(part, path)
        if not fcntl:                                                  # there it must be closed
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


def keep_mode(file, path):
    """Give an open file the permissions of the file that it will replace."""
    if path.exists() and hasattr(os, "fchmod"):                        # Windows has none
        os.fchmod(file.fileno(), path.stat().st_mode & 0o777)


@contextlib.contextmanager
def held(file):
    """Lock an open file, where the system can: then `parts_in` knows that it is being written."""
    if fcntl:
        with contextlib.suppress(OSError):                             # some networks have no locks
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    yield


def is_held(path):
    """Tell whether a program is writing a file now."""
    if not fcntl:
        return False
    try:
        with open(path, "rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:                                                    # it is gone, or has no locks
        return not path.exists()
    return False


def new_part(folder):
    """Return the hidden path of something unfinished in a folder; no other name is like it."""
    return folder / f".{os.urandom(8).hex()}.part"


def parts_in(folder):
    """Return the files that a killed program left unfinished in a folder."""
    return [path for path in folder.glob(".*.part") if path.is_file() and not path.is_symlink()
            and re.fullmatch(r"\.[0-9a-f]{16}\.part", path.name) and not is_held(path)]


def check_replaceable(path):
    """Raise PermissionError unless a path is free, or a file that may be written."""
    if path.exists() and not (path.is_file() and os.access(path, os.W_OK)):
        got = "a folder" if path.is_dir() else "one that is write-protected or a device"
        raise PermissionError(errno.EACCES, f"must be a file to write to, got {got}", str(path))


@contextlib.contextmanager
def new_folder(path):
    """Yield a hidden folder to fill; its files move to the folder `path` at the end.

    If the block fails, the hidden folder goes, and so do the folders that were made for it. What
    another program wrote into `path` meanwhile stays. Raises FileExistsError for a folder that is
    there and not empty, and for a name that is taken at the end.
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
    """Raise FileExistsError if some names in a folder are taken."""
    if taken:
        raise FileExistsError(errno.EEXIST, "is there already: choose another name", str(path))


@contextlib.contextmanager
def made_folder(path, own=False):
    """Make a folder with its parents. If the block fails, those that it made go, if empty.

    own : whether the folder was made just before, so that it goes as well
    """
    missing = [path] if own else [each for each in (path, *path.parents) if not each.exists()]
    try:
        path.mkdir(parents=True, exist_ok=True)
        yield path
    except BaseException:
        with contextlib.suppress(OSError):                             # one that is not empty
            for folder in missing:
                folder.rmdir()
        raise
