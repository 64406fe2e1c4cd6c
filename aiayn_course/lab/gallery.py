"""The gallery: a page of Markdown with the figure, the claim and the finding of each experiment."""

import json
import platform
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from aiayn_np.files import replacing

from .experiment import Experiment, plain_text

PAPERS = 16  # number of claims of the paper; higher numbers are further claims

HEAD = """# The paper's claims, measured

This page has the claims of *Attention Is All You Need* that can be tested on a laptop, and what was
measured. `aiayn-np figures` writes the page, its figures, and the numbers behind them (the `.json`
beside each figure), with one thread. The command under a figure makes that figure alone. Claims 1
to 16 are the paper's; those after them are further ones, about the same models. {made}

{contents}
"""

ENTRY = """
## {number}. {title}

![{alt}]({name}.png)

| | |
|---|---|
| claim | {says} ({section}) |
| measured | {finding} |
| verdict | **{verdict}** |
| again | `aiayn-np figures {name}`{notes} |
"""

TAIL = """
Three more pictures lie here. `reverse_3_1_4_1_5_9_2_6_attention_cross.png` belongs to the main
README, `reverse.gif` to [the page on commands](../docs/commands.md), and
`translation_attention_cross.png` to [the page on text](../aiayn_np/text/README.md). The commands
that made them stand there.
"""


def page(experiments: Iterable[Experiment], folder: str | Path) -> str:
    """Return the text of the gallery for the experiments whose results are in a folder."""
    contents, entries = ["| claim | verdict |", "|---|---|"], []
    for e in experiments:
        result = e.load(folder)
        title = plain_text(result.title)
        contents.append(f"| {e.claim}. [{title}](#{anchor(f'{e.claim}. {title}')})"
                        f" | {result.verdict} |")
        notes = ", trains models" * e.trains + ", measures time: numbers vary" * e.timed
        entries.append(ENTRY.format(
            number=e.claim, title=title, alt=e.alt, name=e.name, says=e.says.rstrip("."),
            section=f"Sec. {e.section}" if e.claim <= PAPERS else e.section,
            finding=result.finding, verdict=result.verdict, notes=notes,
        ))
    return HEAD.format(made=made(folder), contents="\n".join(contents)) + "".join(entries) + TAIL


def made(folder):
    """Return a sentence on the machine and the time, as `note_machine` noted them."""
    about = json.loads((Path(folder) / "about.json").read_text(encoding="utf-8"))
    return (f"{about['figures']} of the figures were last made together in"
            f" {about['seconds'] / 60:.0f} minutes, with Python"
            f" {about['python']} and NumPy {about['numpy']} on {about['machine']}.")


def note_machine(folder: str | Path, seconds: float, figures: int) -> None:
    """Write about.json: versions, machine, number of figures and seconds."""
    about = dict(python=platform.python_version(), numpy=np.__version__, machine=processor(),
                 seconds=round(seconds), figures=figures)
    with replacing(Path(folder) / "about.json") as file:
        file.write((json.dumps(about) + "\n").encode())


def processor() -> str:
    """Return the name of the processor if the system tells it, else its kind."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        return next(line.split(": ")[1] for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def anchor(heading):
    """Return the address of a heading in its page, in GitHub's form."""
    kept = [c for c in heading.lower() if c.isalnum() or c in " -_"]
    return "".join(kept).replace(" ", "-")
