"""What a cell printed, as HTML for a slide: rows of numbers with bars, tables, or lines as they are."""

import itertools
import re
import textwrap
from html import escape

from predictions import two_digits

LINES, COLUMNS, PROSE = 16, 105, 72  # of a print on a slide, and of one line alone
BARS = 8  # numbers of a line that are drawn, at most
APART = 200  # times that the largest number of a table with bars is as large as the smallest
SHAPE = re.compile(r"\(\d+,[\d, ]*\)")  # a print with one describes arrays
SYMBOL = re.compile(r"\b([A-Za-z])([_^])(\w+)\b")  # of a title or table, such as d_k
ROW = re.compile(r"([^\[\]]*?)\s*\[+((?:\s*-?[\d.]+(?:e[-+]\d+)?)+)\s*\]+([^\[\]]*)$")
NUMBER = re.compile(r"((?<![\w.^])(?<!layer )(?<!head )[-+]?\d+(?:,\d{3})*(?:\.\d+)?(?:e[-+]?\d+)?%?(?![\w.]))")


def symbols(text):
    """A title, or the head of a table, with d_k and x^Q as they are written in print."""
    tags = {"_": "sub", "^": "sup"}
    return SYMBOL.sub(lambda m: f"<i>{m[1]}</i><{tags[m[2]]}>{m[3]}</{tags[m[2]]}>", text)


def drawn(text):
    """What a cell printed: rows of numbers with bars, tables, and other lines as they are."""
    lines = lines_of(text)
    if SHAPE.search(text):
        return plain(lines)
    rows = [ROW.match(line) for line in lines]
    numbers = [[float(x) for x in row[2].split()] if row else [] for row in rows]
    longest = max(map(len, numbers), default=0)
    whole = all(x == int(x) for row in numbers for x in row)           # they count or name: no bars
    if not 1 < longest <= BARS or 2 * len(lines) > LINES + 2:  # a bar is as high as a line
        return tables(lines)
    labels = [row[1] if row else line for row, line in zip(rows, lines)]
    kinds = list(itertools.accumulate(                                 # the word that names a row
        ("".join(label.split()[:1]) for label in labels), lambda above, word: word or above))
    largest = {kind: max((abs(x) for other, row in zip(kinds, numbers) if other == kind for x in row),
                         default=0) for kind in kinds}
    shares = [size for size in largest.values() if size <= 1]          # weights have one scale
    scale = {} if whole else largest if len(largest) == 1 else {
        kind: max(shares) for kind, size in largest.items() if size <= 1}
    made, with_bars = "", [x for kind, row in zip(kinds, numbers) if kind in scale for x in row]
    for row, label, kind, found in zip(rows, labels, kinds, numbers):
        cells = "".join(bar(x, two_digits(x, with_bars), abs(x) / (scale[kind] or 1)) if kind in scale
                        else f"<td>{two_digits(x, found)}</td>" for x in found)
        if not found and len(label.split()) == longest:                # the names of the columns
            cells, label = "".join(f"<td>{symbols(escape(name))}</td>" for name in label.split()), ""
        after = f"<th>{symbols(escape(row[3]))}</th>" if row and row[3].strip() else ""
        span = f" colspan={longest + 1}" * (not cells)                 # a line of words alone
        made += f"<tr><th{span}>{symbols(escape(label))}</th>{cells}{after}</tr>"
    return f'<table class="bars{" numbers" * whole}">{made}</table>'


def tables(lines):
    """Lines of which nearly all say the same of other numbers, as a table with the others around
    it; else all as they are."""
    def said(line):                       # what stands after the first number, and between the next
        return "  " in line, *(" ".join(part.split()) for part in NUMBER.split(line)[2::2])

    groups = [(words, [*group]) for words, group in itertools.groupby(lines, said)]
    most = max((group for _, group in groups), key=len, default=[])
    others = len(lines) - len(most)
    table = as_table(most) if len(most) > 1 and others <= min(2, len(most) - 1) else ""
    if not table:
        return plain(lines)
    return "\n\n".join(table if group is most else plain(group) for _, group in groups)


def as_table(lines):
    """A table of lines whose words are the same, but for the first ones: a column for each number
    that is not the same in all; nothing if one has no name. Numbers that are measured get bars, of
    one scale if all are shares."""
    apart = [NUMBER.split(line) for line in lines]                    # two spaces part two columns
    split = [[part.strip() for part in row] for row in apart]
    begin = [re.split(r"  +", row[0]) for row in split]
    if all(len(parts) == 2 for parts in begin):
        names = [[label, *rest.split()] for label, rest in begin]
    else:
        names = [row[0].split() for row in split]
    shared = len([*itertools.takewhile(lambda words: len(set(words)) == 1, zip(*map(reversed, names)))])
    labels = [" ".join(words[: len(words) - shared]) for words in names]
    head, columns = " ".join(names[0][len(names[0]) - shared:]), []
    for j in range(1, len(split[0]), 2):
        column, after = [row[j] for row in split], split[0][j + 1]
        new = apart[0][j + 1].startswith("  ") or "," not in after
        end, comma, after = ("", "", after) if new else after.partition(",")
        if j + 2 == len(split[0]):
            end, after = f"{end}{comma} {after}".strip(), ""
        if len(set(column)) == 1 and "." not in column[0]:
            head = f"{head} {column[0]} {end}{comma} {after}".strip()
            continue
        columns.append((f"{head} {end}".strip(" ,:="), column))
        head = after
    made = "".join(f"<th>{symbols(escape(title))}</th>" for title, _ in columns)
    made = f"<tr>{'<th></th>' * any(labels)}{made}</tr>"
    measured = [any("." in x or "e" in x or "%" in x for x in column) for _, column in columns]
    short = all(len(x) < 8 for drawn, (_, column) in zip(measured, columns) if drawn for x in column)
    values = [[float(x.strip("%").replace(",", "")) / (100 if "%" in x else 1) for x in column]
              for _, column in columns]
    together = [x for drawn, row in zip(measured, values) if drawn for x in row]
    shares = all(0 <= x <= 1 for x in together)                        # they have one scale
    scales = [short and drawn and scale_of(together if shares else row)
              for drawn, row in zip(measured, values)]
    for i, label in enumerate(labels):
        cells = "".join(
            bar(row[i], column[i], abs(row[i]) / scale) if scale else f"<td>{column[i]}</td>"
            for scale, row, (_, column) in zip(scales, values, columns))
        made += "<tr>" + f"<th>{symbols(escape(label))}</th>" * any(labels) + cells + "</tr>"
    if not columns or not all(re.search(r"[^\W\d]", title) for title, _ in columns):
        return ""
    return f'<table class="bars table">{made}</table>'


def scale_of(numbers):
    """What a whole bar stands for: 1 for shares, else the largest number; 0 if bars would not help."""
    sizes = [abs(x) for x in numbers if x]
    largest = max(sizes, default=0)
    if 0.1 < largest <= 1 and min(numbers) >= 0:
        return 1
    least = max(min(sizes, default=0), 1e-12)
    return largest if least < largest <= APART * least else 0


def lines_of(text):
    """The lines of a print that a slide has room for; a long one goes on in the next."""
    lines = [part for line in text.rstrip().splitlines()
             for part in textwrap.wrap(line, COLUMNS, replace_whitespace=False,
                                       drop_whitespace=len(line) > COLUMNS) or [""]]
    return lines if len(lines) <= LINES else [*lines[: LINES - 1], "…"]


def plain(lines):
    """Lines of as many parts, set apart by two spaces or else by a colon, as a table, of which a
    line that begins with spaces names the columns; a line alone in large type; others as they are."""
    apart = "  +" if any(re.search("  (?! *:)", line.strip()) for line in lines) else " *: +"
    rows = [[""] * line.startswith("  ") + re.split(apart, line.strip()) for line in lines]
    made = f'<p class="lone">{symbols(escape("".join(lines)))}</p>' * (len(lines) == 1)
    if len(lines) > 1 and {len(row) for row in rows} == {max(map(len, rows))} != {1}:
        cells = ("".join(f"<td>{symbols(escape(cell))}</td>" for cell in row) for row in rows)
        made = f'<table class="bars">{"".join(f"<tr>{row}</tr>" for row in cells)}</table>'
    return f"```{{=html}}\n{made}\n```" if made else as_printed(lines)


def as_printed(lines):
    return "\n".join(["```", *lines, "```"]) * bool(lines)


def bar(x, text, share):
    kind, width = ("minus" if x < 0 else "plus"), f"{100 * share:.0f}%"
    left = f";margin-left:-{width}" * (x < 0)                          # of the zero line
    return f'<td class="bar"><span class="{kind}" style="width:{width}{left}"></span>{text}</td>'


def table(rows):
    """A number, a text, a vector or a matrix as HTML."""
    if rows == [rows[0][:1]]:
        return rows[0][0]
    rows = ["".join(f"<span>{escape(x)}</span>" for x in row) for row in rows]
    return f'<span class="matrix">{"".join(f"<span>{row}</span>" for row in rows)}</span>'
