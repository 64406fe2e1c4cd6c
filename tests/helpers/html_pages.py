"""What the pages of a run are tested with: a run, and what a page's script reads."""

import json
import re

from aiayn_np.runs.start import start_run


def data_of(page):
    """What a page holds: its data, and the numbers of its model as base64."""
    (text,) = re.findall(r'<script id="data" type="application/json">(.*?)</script>', page, re.S)
    (weights,) = re.findall(r'<script id="weights" type="text/plain">(.*?)</script>', page, re.S)
    return json.loads(text) | dict(weights=weights)


def untrained_run(folder, **variants):
    """A run of the default model, or of a variant, before training, saved."""
    run, _ = start_run(folder, "reverse", seed=3, **variants)
    run.folder.mkdir()
    run.save()
    return run
