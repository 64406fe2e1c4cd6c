"""Start a run: read the data, make the vocabulary and the options."""

from pathlib import Path
from typing import Any

from .options import new_options
from .run import TASKS, Run


def start_run(folder: str | Path, task: str, files: dict | None = None,
              **given: Any) -> tuple[Run, list[str]]:
    """Make a run that is ready to train; return (run, notes on its data).

    task : copy, reverse, sort, text or words
    files : of "text", {name: path} of the sentence pairs, as in Corpus.read; of "words",
        {"text": list of paths}, or None for Python's help
    given : options that replace those of text/presets.py

    Wrong files raise OSError or ValueError, and bad options TypeError or ValueError. Nothing is
    written into the folder before the run is saved.
    """
    options = new_options(task, given)
    kind = TASKS[task]
    content = kind.gather(options, files or {})
    run = Run(folder, options, kind.learn(options, content))
    run.task.data = run.task.read(content)
    return run, run.task.data.notes
