"""What the pages of a run are tested with: a run, and what a page's script reads."""

import json
import re

from aiayn_np.runs.run import Run


def data_of(page):
    """What a page holds: its data, and the numbers of its model as base64."""
    (text,) = re.findall(r'<script id="data" type="application/json">(.*?)</script>', page, re.S)
    (weights,) = re.findall(r'<script id="weights" type="text/plain">(.*?)</script>', page, re.S)
    return json.loads(text) | dict(weights=weights)


def untrained_run(folder, **variants):
    """A run of the default model, or of a variant, before training, saved."""
    config = dict(
        task="reverse", seed=3, dtype="float32", task_options=dict(symbols=10, max_length=10),
        model=dict(N=2, d_model=64, d_ff=256, h=4, max_len=62), variants=variants, train={},
    )
    run = Run(folder, config)
    run.folder.mkdir()
    run.save()
    return run
