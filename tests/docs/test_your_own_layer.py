"""The page on your own layer keeps its word: its examples run and print what it says."""

import re
import warnings

import numpy as np
import pytest
from pages import ROOT
from pytorch import one_thread

PAGE = (ROOT / "docs" / "your-own-layer.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```python\n(.*?)```(?:\n\n```text\n(.*?)```)?", PAGE, re.DOTALL)
torch_alone = pytest.fixture(one_thread)


def run(examples, capsys):
    """Run examples in one namespace, and compare what each prints; return the namespace."""
    names = {}
    for code, printed in examples:
        exec(code, names)
        assert capsys.readouterr().out == printed
    return names


def test_the_examples_print_what_the_page_says(capsys):
    plain = [example for example in EXAMPLES if "torch" not in example[0]]
    assert len(plain) == 5
    names = run(plain, capsys)
    (mark,) = names["test_gradient"].pytestmark
    assert [names["test_gradient"](row) for row in mark.args[1]] == [None] * 3


@pytest.mark.slow
@pytest.mark.usefixtures("torch_alone")
def test_the_example_in_pytorch_prints_what_the_page_says(capsys):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import torch  # noqa: F401
    (example,) = [example for example in EXAMPLES if "torch" in example[0]]
    names = {"rng": np.random.default_rng(0)}
    exec("from aiayn_np import check_gradients", names)
    exec(example[0], names)
    assert capsys.readouterr().out == example[1]
