"""The columns that a text takes in a terminal."""

import unicodedata


def width(text: str) -> int:
    """Count the columns that a text takes: two for a Chinese character."""
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def flush_left(text: str, columns: int) -> str:
    """Fill a text up with spaces to a number of `columns`."""
    return text + " " * (columns - width(text))
