"""The gallery: a page of Markdown with the figure, the claim and the finding of each experiment."""

import contextlib
import json
import platform
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from aiayn_np.files import replacing

from .experiment import Experiment, Result, plain_text
from .gate import SEEDS, Trained

PAPERS = 16  # number of claims of the paper; higher numbers are further claims

HEAD = """# The paper's claims, measured

This page has the claims of *Attention Is All You Need* that can be tested on a laptop, and what was
measured. `aiayn-np figures` draws the page and its figures again, in seconds, from the numbers
behind them (the `.json` beside each figure). The command under a figure measures its numbers anew,
with one thread. Claims 1 to 16 are about the paper; where a reason is not the paper's, they say so.
Those after them are further ones, about related models.

A claim whose last column is empty is judged by `verdict` in its file in `aiayn_course/lab/claims`,
with bounds of ours. The others went through a gate. A model of each setting and rate is trained
with at least {least} seeds, and measured after the steps and after three times as many. Each side
of a comparison is taken at the rate with its own lowest median, at each time, unless a rate is
named. (The same seeds choose the rate and are judged. A test repeats this with each seed's rate
chosen by the other seeds: no sign changes.) An effect is *seen* if the 95 % interval of the mean
paired difference lies beyond the smallest difference that counts, on the same side both times. It
is *absent* if both intervals lie within that difference; where two sides are said to be alike, this
is what is claimed. Otherwise it is undecided, as it is if a side is best at the edge of its rates
by more than that difference. (For an effect that is claimed of every model, the lowest and the
highest seed stand for the interval.)

A claim *agrees* if all its effects are seen as claimed. It *agrees in part* if one is, even with an
interval that is as much wider as the number of effects asks for (Bonferroni: one of many is soon
seen by chance). It *disagrees* if all effects are absent, or if none is seen as claimed and the
contrary of one is, in its wider interval. Otherwise it is *not settled*. A *control* separates
causes, and decides nothing. *Measured* gives medians of the seeds unless it says otherwise, the
differences are means.

{contents}
"""

ENTRY = """
## {number}. {title}

![{alt}]({name}.png)

| | |
|---|---|
| claim | {says} ({section}) |
| measured | {finding} |
{gate}| verdict | **{verdict}** |
| again | `aiayn-np figures {name} --measure`{notes} |
"""

TAIL = """
Two more pictures lie here. `reverse_3_1_4_1_5_9_2_6_attention_cross.png` belongs to the main
README, and `translation_attention_cross.png` to [the page on text](../aiayn_np/text/README.md).
The commands that made them stand there.
"""


def page(experiments: Iterable[Experiment], folder: str | Path) -> str:
    """Return the text of the gallery for the experiments whose results are in a folder."""
    contents, entries = ["| claim | verdict | settled |", "|---|---|---|"], []
    noted = about(folder)
    for e in experiments:
        result = e.load(folder)
        title = plain_text(result.title)
        contents.append(f"| {e.claim}. [{title}](#{anchor(f'{e.claim}. {title}')})"
                        f" | {result.verdict} | {settled(e, result)} |")
        notes = ", trains models" * e.trains + ", measures time: numbers vary" * e.timed
        notes += ("; {minutes:g} minutes on {machine}, NumPy {numpy}".format(**noted[e.name])
                  if e.name in noted else "")
        entries.append(ENTRY.format(
            number=e.claim, title=title, alt=e.alt, name=e.name, says=e.says.rstrip("."),
            section=f"Sec. {e.section}" if e.claim <= PAPERS else e.section,
            finding=result.finding, verdict=result.verdict, notes=notes,
            gate=gate_rows(e, result)))
    return HEAD.format(least=SEEDS, contents="\n".join(contents)) + "".join(entries) + TAIL


def settled(experiment: Experiment, result: Result) -> str:
    """Return how many effects of a trained claim are settled, for the list of claims."""
    if not isinstance(result, Trained):
        return ""
    signs = [effect.sign for effect in result.effects.values()]
    return f"{len(signs) - signs.count(None)} of {len(signs)} effects"


def gate_rows(experiment, result):
    """Return the rows of the table of a trained claim: settings, effects and controls."""
    rows = {"models": experiment.settings, "tried and dropped": experiment.dropped}
    if isinstance(result, Trained):
        rows["models"] = "; ".join(filter(None, (result.models, experiment.settings)))
        least = " or ".join(dict.fromkeys(f"{e.least:g} {e.unit}" for e in result.effects.values()))
        name = f"mean paired differences after 1 × and 3 × the steps; below {least} none counts"
        rows[name] = listed(result.effects)
        rows["controls"] = listed(result.controls)
    return "".join(f"| {name} | {text} |\n" for name, text in rows.items() if text)


def listed(effects):
    """Write effects as the text of a cell."""
    return "<br>".join(f"{name}: {plain_text(str(e))}" for name, e in effects.items())


def about(folder):
    """Return the notes of `note_machine` on each figure, {name: {machine, minutes, ...}}."""
    path = Path(folder) / "about.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def minutes(folder: str | Path, names: Iterable[str]) -> str:
    """Return how long some figures took to measure, as noted in a folder, in words."""
    noted = about(folder)
    total = sum(noted[name]["minutes"] for name in names if name in noted)
    return f"{total:.1f} minutes" if total >= 1 else "less than a minute"


@contextlib.contextmanager
def note_machine(folder: str | Path, name: str) -> Iterator[None]:
    """Note machine, versions and minutes of a measurement, the `with` block, in about.json."""
    started = time.process_time()
    yield
    noted = about(folder) | {name: dict(
        machine=processor(), python=platform.python_version(), numpy=np.__version__,
        minutes=max(round((time.process_time() - started) / 60, 1), 0.1))}
    with replacing(Path(folder) / "about.json") as file:
        file.write((json.dumps(noted, indent=1) + "\n").encode())


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
