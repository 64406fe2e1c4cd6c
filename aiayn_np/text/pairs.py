"""Read sentence pairs: two files with a sentence on each line, or one file with tabs."""

import gzip
import hashlib
import zlib
from pathlib import Path

import numpy as np

from ..checks import memory_bytes

MARK = b"\xef\xbb\xbf"  # the byte order mark that some editors write
STREAMS = ("/dev/stdin", "/dev/fd/", "/proc/self/fd/")  # they are open; pipes, mostly
PART = 2**24  # bytes that are read at once
HELD_OUT, SHARE = 1000, 0.02  # the most pairs to hold out, and the largest share of all pairs


def read_lines(path: str | Path) -> list[str]:
    """Read the lines of a file of UTF-8 text, plain or .gz, without their ends.

    Only a line feed ends a line; in a file without line feeds, a carriage return does. Text may
    contain other line separators of Unicode and stray carriage returns. If these ended a line, two
    files would no longer match line by line.

    Raises OSError, and ValueError with file and line for text that is not UTF-8.
    """
    return [decoded(line, path, number) for number, line in enumerate(split(read_bytes(path)), 1)]


def split(data: bytes | bytearray) -> list:
    """Return the lines in the bytes of a file, or of its beginning up to a line feed."""
    data = data.removeprefix(MARK)
    lines = data.split(b"\n" if b"\n" in data else b"\r")
    return lines if lines[-1] else lines[:-1]                          # no line after the last end


def decoded(line: bytes, path: str | Path, number: int) -> str:
    """Return the bytes of a line as text, without its end. ValueError names file and line."""
    try:
        return line.decode().rstrip("\r\n")
    except UnicodeDecodeError as error:
        raise ValueError(f"{path}, line {number}: text must be UTF-8, got the byte"
                         f" 0x{line[error.start]:02x} at {error.start + 1}") from None


def read_bytes(path):
    """Read all bytes of a file, unpacked for .gz; refuse a device, which may have no end."""
    path = Path("/dev/stdin" if str(path) == "-" else path)
    if path.exists() and not (path.is_file() or path.is_dir() or str(path).startswith(STREAMS)):
        raise ValueError(f"a text must be a regular file, got {path}")
    opened, data = gzip.open if path.suffix.lower() == ".gz" else open, bytearray()
    try:
        with opened(path, "rb") as file:
            while part := file.read(PART):
                data += part
                if len(data) > memory_bytes() / 4:
                    raise MemoryError(f"{path} holds more text than a quarter of it can")
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise ValueError(f"{path} is not a whole .gz file: {error}") from error
    return data


def read_two_files(source, target):
    """Read pairs of lines (source, target) from two files with equal numbers of lines."""
    sources, targets = read_lines(source), read_lines(target)
    if len(sources) != len(targets):
        raise ValueError("source and target must have as many lines, got"
                         f" {len(sources)} in {source} and {len(targets)} in {target}")
    return with_both_sides(list(zip(sources, targets)), f"{source} and {target}")


def read_table(path):
    """Read pairs from lines "source, tab, target"; text after a second tab is ignored."""
    rows = [line.split("\t") for line in read_lines(path)]
    for number, row in enumerate(rows, 1):
        if len(row) == 1 and row[0].strip():
            raise ValueError(f"{path}, line {number}: a line must hold source, tab, target; got no"
                             f" tab in {row[0][:40]!r}")
    return with_both_sides([(*row, "")[:2] for row in rows], path)


def with_both_sides(pairs, where):
    """Return (pairs with text on both sides, number of others); ValueError if no pair is left."""
    pairs = [(source.strip(), target.strip()) for source, target in pairs]
    whole = [pair for pair in pairs if all(pair)]
    if not whole:
        raise ValueError(f"{where}: there must be a sentence pair, got {len(pairs)} lines, none"
                         " with text on both sides")
    return whole, len(pairs) - len(whole)


def hold_out(pairs, seed):
    """Split pairs at random into (training pairs, validation pairs, number of pairs left out).

    For validation HELD_OUT pairs are drawn, or SHARE of all pairs if that is less. Other pairs with
    a held-out source sentence are left out of training, because the model would know the sentence.
    """
    n = max(1, min(HELD_OUT, int(SHARE * len(pairs))))
    order = np.random.default_rng(seed).permutation(len(pairs))
    held = [pairs[i] for i in sorted(order[:n])]
    known = {source for source, _ in held}
    rest = [pairs[i] for i in sorted(order[n:])]
    others = [pair for pair in rest if pair[0] not in known]
    if not others:
        raise ValueError("there must be pairs left to train on besides those held out for"
                         f" validation, got {len(pairs)} pairs in all")
    return others, held, len(rest) - len(others)


def digest_of(data: bytes) -> str:
    """Return the SHA-256 of a text; a run recognises its data by it."""
    return hashlib.sha256(data).hexdigest()
