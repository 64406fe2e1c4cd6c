"""The page on the variants names every file, and its example builds what it says."""

import re
from pathlib import Path

import numpy as np

from aiayn_np import ScaledDotProductAttention

FOLDER = Path(__file__).parents[2] / "aiayn_np" / "variants"
PAGE = (FOLDER / "README.md").read_text(encoding="utf-8")


def test_every_file_is_named_and_every_name_is_a_file():
    files = {path.name for path in FOLDER.glob("*.py")} - {"__init__.py"}
    assert set(re.findall(r"\]\(([^)]*)\)", PAGE)) == files


def test_the_example_builds_what_it_says():
    (example,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    names = {}
    exec(example, names)
    model = names["model"]
    src, tgt = np.array([[3, 4, 5, 6, 2]]), np.array([[1, 3]])
    logits, cache = model.forward(src, tgt)
    model.backward(np.ones_like(logits), cache)
    assert cache.encoder.layers[1].self_attention.attention.band.shape == (1, 4, 5, 7)
    assert isinstance(model.decoder.layers[0].cross_attention.attention, ScaledDotProductAttention)
