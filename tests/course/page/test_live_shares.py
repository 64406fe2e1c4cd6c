"""The page's shares in JavaScript beside those of `reading.shares`, in Node.js and in Chromium."""

import copy

import numpy as np
import pytest
from browser import api, settled
from javascript import NAMES, SHARES, VARIANTS, node, packed, random_model
from test_live import page_of
from test_live_browser import model_of
from test_live_forward import cases_of

from aiayn_np import CopyTask
from aiayn_np.reading import shares

pytestmark = pytest.mark.slow
PLACES = """() => [0, 1, 2, 3].flatMap((n) => thoughts.flatMap((thought) => {
  [view.layer, view.head] = [n >> 1, n % 2];
  return written_ids(thought).map((_, place) => {
    const { source, target } = shares_at(thought, place);
    const [row, all] = [[...attended(thought).cache.weights[view.head].row(place)],
                        [...source, ...target]];
    const looks = row.indexOf(Math.max(...row));
    const [first, second] = [...all].sort((a, b) => b - a);
    return [said_one_head(thought, place).length > 0, all[looks], first, second,
            looks === source.indexOf(Math.max(...source))];
  });
}))"""  # for each place of each head: what its sentence says, and what it should


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


def test_the_page_shows_the_shares_of_each_written_token(visit, path, run):
    page = visit(path, "#src=3+1+4+1+5&kind=cross&query=1")
    page.locator("#shares summary").click()
    page.locator("#shares-table table").wait_for()
    model, src = model_of(run), run.task.source("3 1 4 1 5")[0]
    tgt = [run.task.bos, *run.loaded().decode(src[None])[0].tolist()]
    rows = page.locator("#shares-table tbody tr")
    assert rows.count() == len(tgt) - 1
    for n in range(len(tgt) - 1):
        want = shares(model, src, np.array(tgt[: n + 1]), token=tgt[n + 1])
        cells = [cell.get_attribute("title") for cell in rows.nth(n).locator("td").all()]
        earlier = [*want.target, *[0.0] * (len(tgt) - 2 - n)]
        told = [f"{x:+.1f}".replace("-", "−") for x in (*want.source, *earlier, want.biases)]
        assert [c.lstrip("+−") for c in cells] == [c.lstrip("+−") for c in told]
        rows.nth(n).click()
        read = [(x, f"“{plain(run.task, src[i])}” (token {i + 1} of the source)")
                for i, x in enumerate(want.source)]
        read += [(x, f"“{plain(run.task, tgt[i])}” (token {i} of the answer)" if i else
                  "the sign “start”") for i, x in enumerate(want.target)]
        share, first = max(read)
        api.expect(page.locator("#because")).to_contain_text(
            f"Why “{plain(run.task, tgt[n + 1])}”? {part_of(share, want.value)} of its logit comes"
            f" from {first}")
    page.get_by_role("button", name="中文").click()
    api.expect(page.locator("#because")).to_contain_text("它的 logit")


def part_of(share, value):
    """A part is most of a score only where it is more than a half, and not more than the whole."""
    return "Most" if value / 2 < share <= value else "The largest part"


def plain(task, token):
    """The name of a token in a sentence of the page."""
    return {task.bos: "start", task.eos: "end"}.get(token) or task.tokens([token])[0]


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


def test_a_lit_curve_that_leads_elsewhere_than_the_sentence_is_told(visit, tmp_path, rng):
    """Also where the sentence names a token that was written; few models have such a place."""
    found = []
    for n in range(6):
        file = tmp_path / f"page-{n}.html"
        file.write_text(page_of(random_model(VARIANTS[0], 13, rng), title=""), encoding="utf-8")
        page = visit(file, "#src=3+1+4+1+5")
        settled(page)
        found += page.evaluate(PLACES)
    assert all(says == (share < max(most / 2, second)) for says, share, most, second, _ in found)
    assert any(says and looks_most for says, *_, looks_most in found)
