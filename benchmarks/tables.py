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
