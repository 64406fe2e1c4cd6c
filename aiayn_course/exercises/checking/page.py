"""A report as a page for a notebook: what it asks, and the two arrays that differ as tables."""

import html
import re

import numpy as np

from ..language import say
from .comparing import TOLERANCE, errors
from .example import digits_of, short

MOST = 10  # rows and columns that are shown
BLUE, RED, WHITE, ORANGE = (33, 102, 172), (178, 24, 43), (247, 247, 247), (230, 97, 1)
CELL = "<td style='background:rgb({});color:{};text-align:center;min-width:3em'>{}</td>"


def page(report):
    """Return a report as HTML that can be read on light and on dark paper."""
    rows = "".join(row_of(f"<td>{html.escape(cell)}</td>" for cell in row) for row in report.rows())
    folded = (f"<details><summary>{html.escape(say('All tensors'))}</summary><table>{rows}</table>"
              "</details>") if rows else ""
    return "".join([f"<p><b>{html.escape(report.headline)}</b></p>",
                    paragraph(report.where or ("" if report.question else report.message)),
                    tables(report.example), paragraph(report.question), folded,
                    paragraph(report.hint)])


def paragraph(text):
    """Return a text as a paragraph, with its code as code."""
    marked = re.sub(r"`([^`]*)`", r"<code>\1</code>", html.escape(text))
    return f"<p style='white-space:pre-wrap'>{marked}</p>" if text else ""


def tables(example):
    """Return an Example as three tables side by side: yours, right, and where they differ."""
    if example is None:
        return ""
    got, want = (window(x, example.index) for x in (example.got, example.want))
    digits, largest = digits_of(got, want), max(largest_of(got), largest_of(want)) or 1
    shown = [(say(title), [[cell(number, largest, short(number, digits)) for number in row]
                           for row in x]) for title, x in (("yours", got), ("expected", want))]
    if got.shape == want.shape:
        wrong = errors(got, want) > TOLERANCE
        shown.append((say("where they differ"), [[CELL.format(
            ",".join(map(str, ORANGE if bad else WHITE)), "#111", "&nbsp;") for bad in row]
            for row in wrong]))
    drawn = "".join(
        f"<figure style='margin:0 16px 0 0'><figcaption>{html.escape(title)}</figcaption><table>"
        f"{''.join(map(row_of, rows))}</table></figure>" for title, rows in shown)
    return (f"<div><code>{html.escape(example.title(list(example.index)))}</code>"
            f"<div style='display:flex;overflow-x:auto'>{drawn}</div></div>")


def row_of(cells):
    return f"<tr>{''.join(cells)}</tr>"


def window(plane, index):
    """Return at most MOST rows and columns of a plane, around the worst entry."""
    row, column = ([0, 0, *index])[-2:]
    begins = [max(min(i - MOST // 2, n - MOST), 0) for i, n in zip((row, column), plane.shape)]
    return plane[begins[0] : begins[0] + MOST, begins[1] : begins[1] + MOST]


def largest_of(plane):
    return float(np.abs(plane[np.isfinite(plane)]).max(initial=0))


def cell(number, largest, label):
    """Return a cell with a number: red, white or blue, from -largest over 0 to largest."""
    if not np.isfinite(number):
        return CELL.format("136,136,136", "#fff", label)
    share = float(number) / largest
    end = BLUE if share >= 0 else RED
    mixed = [round(w + abs(share) * (e - w)) for w, e in zip(WHITE, end)]
    return CELL.format(",".join(map(str, mixed)), "#fff" if abs(share) > 0.55 else "#111", label)
