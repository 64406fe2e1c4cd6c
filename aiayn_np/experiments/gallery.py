"""The gallery: a page of Markdown with the figure, the claim and the finding of each experiment."""

import json
import platform
from pathlib import Path

import numpy as np

from ..checkpoint import replacing

HEAD = """# The paper's claims, measured

Each claim of *Attention Is All You Need* that can be tested on a laptop, with what was measured.
This page, its figures and the numbers behind them (the `.json` beside each figure): all are written
by `aiayn-np figures`, each alone by the command under it, with one thread. {made}

{contents}
"""

ENTRY = """
## {number}. {title}

![{alt}]({name}.png)

| | |
|---|---|
| claim | {says} (Sec. {section}) |
| measured | {finding} |
| verdict | **{verdict}** |
| again | `aiayn-np figures {name}`{notes} |
"""

TAIL = """
`reverse.gif` and `reverse_3_1_4_1_5_9_2_6_attention_cross.png` are pictures of the main README,
made by the commands that stand under them there; so is `translation_attention_cross.png`, on the
[page on text](../aiayn_np/text/README.md).
"""


def page(experiments, folder):
    """The text of the gallery for the experiments whose results are in a folder."""
    contents, entries = ["| claim | verdict |", "|---|---|"], []
    for e in experiments:
        result = e.load(folder)
        title = plain_text(result.title)
        contents.append(f"| {e.claim}. [{title}](#{anchor(f'{e.claim}. {title}')})"
                        f" | {result.verdict} |")
        notes = ", trains models" * e.trains + ", measures time: numbers vary" * e.timed
        entries.append(ENTRY.format(
            number=e.claim, title=title, alt=e.alt, name=e.name, says=e.says.rstrip("."),
            section=e.section, finding=result.finding, verdict=result.verdict, notes=notes,
        ))
    return HEAD.format(made=made(folder), contents="\n".join(contents)) + "".join(entries) + TAIL


def made(folder):
    """Where and in what time the numbers were made, from the file that `note_machine` wrote."""
    about = json.loads((Path(folder) / "about.json").read_text(encoding="utf-8"))
    return (f"All last made together with Python {about['python']} and NumPy {about['numpy']} on"
            f" {about['machine']}, in {about['seconds'] / 60:.0f} minutes.")


def note_machine(folder, seconds):
    """Write about.json: versions, machine, and the seconds that all experiments took."""
    about = dict(python=platform.python_version(), numpy=np.__version__, machine=processor(),
                 seconds=round(seconds))
    with replacing(Path(folder) / "about.json") as file:
        file.write((json.dumps(about) + "\n").encode())


def processor():
    """The name of the processor where the system tells it, else its kind."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        return next(line.split(": ")[1] for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def plain_text(title):
    """A figure's title without the marks of mathematics."""
    return title.translate(str.maketrans("", "", "$\\{}")).replace("sqrt", "√")


def anchor(heading):
    """The address of a heading within its page, as GitHub makes it."""
    kept = [c for c in heading.lower() if c.isalnum() or c in " -_"]
    return "".join(kept).replace(" ", "-")
