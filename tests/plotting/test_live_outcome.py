"""What the page says of a change: the guess, what was measured, and a list on which it fails."""

import re
from itertools import product

import pytest
from browser import api, chromium, visit  # noqa: F401
from javascript import changed
from test_live_browser import flip, lines, model_of, path, run, settled, typed  # noqa: F401

from aiayn_np import greedy_decode

pytestmark = pytest.mark.slow


@pytest.fixture
def page(visit, path):  # noqa: F811
    page = visit(path)
    settled(page)
    return page


def test_a_right_answer_without_positions_is_luck_and_a_list_shows_it(page, run):  # noqa: F811
    task, trained = run.task, model_of(run)
    other = changed(model_of(run), dict(positions=False))

    def answer(model, text):
        return task.text(greedy_decode(model, task.source(text), **run.ends, keep=False)[0])

    texts = (" ".join(digits) for n in (3, 2, 4) for digits in product("012345", repeat=n))
    lucky = next(text for text in texts if text != text[::-1]
                 and answer(other, text) == answer(trained, text) != answer(trained, text[::-1]))
    typed(page, lucky)
    flip(page, "No positions")
    out = page.locator("#outcome")
    api.expect(out).to_contain_text("The answer is the same here by luck. Without positions")
    said = re.search(r"cannot tell (.+) from (.+): both get the answer ([\d ]+)\.",
                     out.inner_text())
    assert said[1] == lucky
    assert answer(other, said[2]) == said[3] == answer(other, lucky)
    assert answer(trained, said[2]) != said[3]
    page.get_by_role("button", name=f"Try {said[2]}").click()
    settled(page)
    assert page.locator("#source").input_value() == said[2]
    assert lines(page) == [answer(trained, said[2]), said[3]]
    api.expect(out).to_contain_text("Places that changed: ")
    assert out.locator("button:not(.term)").count() == 0


def test_a_guess_makes_the_change_and_gets_its_verdict(page):
    typed(page, "3 1 4 1 5")
    for part in ("positions", "factor", "causal", "muted"):
        page.locator(f"#if-{part}").click()
        if part == "positions":                                        # it only asks
            assert len(lines(page)) == 1
            assert not page.locator("#if-positions").is_checked()
        choices = page.locator(f"[data-part={part}] .guess button:not(.bare)")
        names = choices.all_inner_texts()
        choices.first.click()
        settled(page)
        out = page.locator("#outcome").inner_text()
        before, after = lines(page)
        count = sum(a != b for a, b in zip(before.split(), after.split(), strict=False))
        count += abs(len(before.split()) - len(after.split()))
        same = sorted(before) == sorted(after)
        high = re.search(r"was ([\d.]+) on average, now it is ([\d.]+)", out)
        happened = (0 if high and high[2] > high[1] else 1) if part == "factor" else (
            0 if not count else 2 - same if part == "positions" else 1 if count < 3 else 2)
        assert out.startswith(f"You guessed: {names[0]}. " + (
            "That is what happened." if not happened else f"What happened: {names[happened]}."))
        assert ("same here" in out) == (not count)
        page.get_by_role("button", name="All as trained").click()
        settled(page)
        assert page.locator("#outcome").inner_text() == ""
    page.locator("#if-positions").check()                              # it does not ask again
    settled(page)
    assert "guessed" not in page.locator("#outcome").inner_text()


def test_without_the_mask_the_map_that_fills_is_shown(page):
    typed(page, "3 1 4")
    page.locator("#head-0-1").check(force=True)
    before = page.evaluate("[view.kind, view.layer, view.head]")
    flip(page, "Let it see ahead")
    assert page.evaluate("view.kind") == "decoder_self"
    share = page.evaluate("""() => {
      const ahead = shown(thoughts[1]).cache.decoder.layers.flatMap(({ self_attention }) =>
        self_attention.attention.weights.map(({ rows, columns, data }) =>
          data.reduce((sum, w, n) => sum + (n % columns > n / columns ? w : 0), 0) / rows));
      return ahead.reduce((a, b) => a + b) / ahead.length;
    }""")
    assert 0 < share < 1
    assert f"Now {round(100 * share)} % of the weight" in page.locator("#outcome").inner_text()
    flip(page, "Let it see ahead")
    assert page.evaluate("[view.kind, view.layer, view.head]") == before


def test_what_changed_most_is_shown(page):
    typed(page, "3 1 4")
    page.evaluate("change({ replaced: [] , causal: false })")
    settled(page)
    size = page.evaluate("""() => {
      const maps = thoughts.map((one) => attention_paths(one.model).flatMap((path) =>
        at(shown(one).cache, path).attention.weights.map(({ data }) => [...data])).flat());
      return Math.max(...maps[0].map((w, n) => Math.abs(w - (maps[1][n] ?? w))));
    }""")
    assert lines(page)[0] == lines(page)[1]
    page.get_by_role("button", name="Show what changed most").click()
    chosen = page.evaluate("""() => {
      const [a, b] = thoughts.map((one) => attended(one).cache.weights[view.head]);
      return Math.abs(a.row(view.query)[view.key] - b.row(view.query)[view.key]);
    }""")
    assert chosen == size


def test_a_model_that_does_not_end_is_stopped_soon(page):
    typed(page, "3 1 4")
    page.locator("#state").fill("0")
    settled(page)
    count = page.evaluate("thoughts[1].steps.length")
    assert count <= 9
    changed_places = re.search(r"changed: \d+(\+?)", page.locator("#outcome").inner_text())
    assert (changed_places[1] == "+") == (count == 9)                  # it was not at its end
    assert page.locator(".computing").count() == 0
