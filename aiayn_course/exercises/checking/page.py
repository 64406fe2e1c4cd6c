"""A report as a page for a notebook: what it asks, and the two arrays that differ as pictures."""

import html
import math

import numpy as np

from ..language import say, say_name
from .example import apart, short

TOLERANCE = 1e-9  # of the largest entry
CELL, MOST = 46, 10  # the width of a cell, and rows and columns that are shown
HALF = 18  # the height of a cell
BLUE, RED, WHITE, ORANGE = (33, 102, 172), (178, 24, 43), (247, 247, 247), (230, 97, 1)


def page(report):
    """Return a report as HTML that can be read on light and on dark paper."""
    rows = "".join(f"<tr>{''.join(f'<td>{html.escape(cell)}</td>' for cell in row)}</tr>"
                   for row in report.rows())
    folded = (f"<details><summary>{html.escape(say('All tensors'))}</summary><table>{rows}</table>"
              "</details>") if rows else ""
    return "".join([f"<p><b>{html.escape(report.headline)}</b></p>",
                    paragraph(report.where or ("" if report.question else report.message)),
                    pictures(report.example), paragraph(report.question), folded,
                    paragraph(report.hint)])


def paragraph(text):
    return f"<p style='white-space:pre-wrap'>{html.escape(text)}</p>" if text else ""


def pictures(example):
    """Return an Example as three pictures: yours, right, and where they differ."""
    if example is None:
        return ""
    got, want = (window(x, example.index) for x in (example.got, example.want))
    largest = max((float(np.abs(x[np.isfinite(x)]).max(initial=0)) for x in (got, want)), default=1)
    signed = any(bool((x < 0).any()) for x in (got, want)) or largest > 1
    numbers = got.dtype.kind in "fiub"
    shown = [(say("yours"), got, shade), (say("expected"), want, shade)]
    if got.shape == want.shape:
        wrong = apart(got, want) > TOLERANCE * max(largest, 1e-30)
        shown.append((say("where they differ"), wrong, mark))
    at = f"{say_name(example.name)}{list(example.index)}"
    name = say("{at} ({case}):", at=at, case=say(example.case))
    drawn = "".join(
        f"<figure style='margin:0 16px 0 0;display:inline-block'><figcaption>{html.escape(title)}"
        f"</figcaption>{picture(x, colour, signed, largest or 1, numbers)}</figure>"
        for title, x, colour in shown)
    return f"<div><code>{html.escape(name)}</code><br>{drawn}</div>"


def window(plane, index):
    """Return at most MOST rows and columns of a plane, around the worst entry."""
    row, column = ([0, 0, *index])[-2:]
    begins = [max(min(i - MOST // 2, n - MOST), 0) for i, n in zip((row, column), plane.shape)]
    return plane[begins[0] : begins[0] + MOST, begins[1] : begins[1] + MOST]


def picture(plane, colour, signed, largest, numbers):
    """Return a plane as an SVG, a cell for each entry, with its number in it."""
    rows, columns = plane.shape
    cells = []
    for i in range(rows):
        for j in range(columns):
            fill, ink = colour(plane[i, j], signed, largest)
            label = short(plane[i, j], 2) if numbers and colour is shade else ""
            cells.append(
                f"<rect x='{j * CELL}' y='{i * HALF}' width='{CELL}' height='{HALF}' fill='{fill}'"
                " stroke='#888' stroke-width='.5'/>"
                f"<text x='{(j + 0.5) * CELL}' y='{(i + 0.72) * HALF}' fill='{ink}' font-size='9'"
                f" text-anchor='middle'>{html.escape(label)}</text>")
    return (f"<svg width='{columns * CELL}' height='{rows * HALF}' role='img'"
            f" font-family='sans-serif'>{''.join(cells)}</svg>")


def shade(number, signed, largest):
    """Return (colour, ink) of a number: white to blue, or red, white, blue around 0."""
    if not math.isfinite(number):
        return "#888", "#fff"
    share = max(-1.0, min(1.0, float(number) / (largest if signed else 1)))
    end = BLUE if share >= 0 else RED
    mixed = [round(w + abs(share) * (e - w)) for w, e in zip(WHITE, end)]
    return f"rgb({','.join(map(str, mixed))})", "#fff" if abs(share) > 0.55 else "#111"


def mark(wrong, signed, largest):
    """Return (colour, ink) of an entry that is wrong, or of one that is right."""
    return f"rgb({','.join(map(str, ORANGE if wrong else WHITE))})", "#111"
