"""Numbers as Markdown: quartiles, ratios and tables."""


def table(head, rows):
    """A Markdown table; the first column is text, the others are numbers."""
    lines = [head, ["---"] + ["---:"] * (len(head) - 1), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def number(x):
    """Three significant digits, without an exponent."""
    digits = 2 if abs(x) < 10 else 1 if abs(x) < 100 else 0
    return f"{x:.{digits}f}"


def spread(quartiles):
    """median (first to third quartile)."""
    low, median, high = map(number, quartiles)
    return f"{median} ({low} to {high})"


def times(quartiles):
    """median (first to third quartile) of a ratio, with the median in bold."""
    low, median, high = quartiles
    return f"**{median:.2f}** ({low:.2f} to {high:.2f})"


def compared(quartiles):
    """A ratio of times, ours over theirs, in words; no clear difference if 1 is between quartiles.
    """
    low, median, high = quartiles
    if low <= 1 <= high:
        return f"no clear difference ({median:.2f})"
    return f"{1 / median:.2f} times faster" if median < 1 else f"{median:.2f} times slower"
