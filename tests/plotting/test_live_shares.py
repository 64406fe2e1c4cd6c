"""The page's shares in JavaScript beside those of `reading.shares`, in Node.js and in Chromium."""

import copy
import re

import numpy as np
import pytest
from browser import chromium, visit  # noqa: F401
from javascript import NAMES, SHARES, VARIANTS, node, packed, random_model
from test_live_browser import model_of, path, run  # noqa: F401
from test_live_forward import cases_of

from aiayn_np import CopyTask
from aiayn_np.reading import shares

pytestmark = pytest.mark.slow


def agree(model, cases, found):
    """Every share as Python finds it, to 1e-9; shares and biases add up to the value."""
    for case, got in zip(cases, found, strict=True):
        assert len(got) == len(case["tgt"])
        for t, ours in enumerate(got):
            want = shares(model, np.array(case["src"]), np.array(case["tgt"][: t + 1]))
            assert ours["token"] == want.token
            later = ours["target"][t + 1 :]
            assert later == [0] * len(later)
            ours["target"] = ours["target"][: t + 1]
            for name in ("source", "target", "biases", "value"):
                np.testing.assert_allclose(ours[name], getattr(want, name), rtol=0, atol=1e-9)


@pytest.mark.parametrize("variant", VARIANTS, ids=NAMES)
def test_every_share_is_that_of_python(variant, rng):
    task = CopyTask()
    model = random_model(variant, task.vocab_size, rng)
    cases = cases_of(task, 10, rng)
    agree(model, cases, node(SHARES, packed(model) | dict(cases=cases)))


def test_the_page_shows_the_shares_of_each_written_token(visit, path, run):  # noqa: F811
    page = visit(path, "#src=3+1+4+1+5&kind=cross&query=1")
    page.locator("#shares summary").click()
    page.locator("#shares-table table").wait_for()
    model, src = model_of(run), run.task.source("3 1 4 1 5")[0]
    tgt = [run.task.bos, *run.decode(src[None])[0].tolist()]
    rows = page.locator("#shares-table tbody tr")
    assert rows.count() == len(tgt) - 1
    for n in range(len(tgt) - 1):
        want = shares(model, src, np.array(tgt[: n + 1]), token=tgt[n + 1])
        cells = [cell.get_attribute("title") for cell in rows.nth(n).locator("td").all()]
        earlier = [*want.target, *[0.0] * (len(tgt) - 2 - n)]
        told = [f"{x:+.1f}".replace("-", "−") for x in (*want.source, *earlier, want.biases)]
        assert [c.lstrip("+−") for c in cells] == [c.lstrip("+−") for c in told]
        most = int(np.argmax(want.source))
        rows.nth(n).click()
        says = page.locator("#shares-says")
        from_token = run.task.tokens([src[most]])[0]
        assert f" got the most of its score from {from_token}" in said(says.inner_text())
        assert "A number says how much a token speaks for it" in says.inner_text()
        assert f"({want.source[most]:+.1f})" in says.inner_text()
        assert f"{want.value:+.1f} = " in page.locator("#shares-sum").inner_text()
    page.get_by_role("button", name="中文").click()
    assert "主要来自" in page.locator("#shares-says").inner_text()


def said(text):
    """A sentence of the page without the codes of start and end."""
    return re.sub(r"end (?=<eos>)|start (?=<bos>)", "", text)


def test_a_muted_head_gives_no_share(rng):
    """In Python, the rows of W^O that the head's output meets are zero: the same function."""
    task = CopyTask()
    model = random_model(VARIANTS[0], task.vocab_size, rng)
    cases = cases_of(task, 5, rng, dict(
        muted=[dict(path="decoder.layers.1.cross_attention", head=1),
               dict(path="encoder.layers.0.self_attention", head=2)]))
    found = node(SHARES, packed(model) | dict(cases=cases))
    other = copy.deepcopy(model)
    other.decoder.layers[1].cross_attention.linear_O.W.value[8:16] = 0
    other.encoder.layers[0].self_attention.linear_O.W.value[16:24] = 0
    agree(other, cases, found)
