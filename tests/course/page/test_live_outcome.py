"""What the page says of a change: the guess, what was measured, and a list on which it fails."""

import re
from itertools import product

import numpy as np
import pytest
from browser import api, settled
from javascript import changed, without_future_mask
from test_live_browser import flip, lines, model_of, told, typed

from aiayn_np import greedy_decode

pytestmark = pytest.mark.slow
SILENT = """{ muted: attention_paths(trained).flatMap(
  (path) => [0, 1].map((head) => ({ path, head }))) }"""              # every head


def test_a_change_in_a_walk_shows_both_answers_to_their_ends(page):
    typed(page, "3 1 4 1 5")
    page.evaluate("go_to(1)")
    flip(page, "No positions")
    assert len(lines(page)) == 2
    assert lines(page)[0] == "5 1 4 1 3"
    assert page.locator("#written .coming").count() == 0
    assert page.locator("#written :is(.right, .wrong)").count() == 2


def test_the_chosen_token_stays_if_it_changed_and_is_chosen_again_without_the_change(page):
    typed(page, "3 1 4 1 5")
    flip(page, "No positions")
    before, after = page.evaluate("answers()")
    flip(page, "No positions")
    first, *_, last = (t for t, (a, b) in enumerate(zip(before, after, strict=False)) if a != b)
    same = next(t for t, (a, b) in enumerate(zip(before, after, strict=False)) if a == b)
    for chosen, shown in ((last, last), (same, first)):
        page.evaluate("(query) => choose({ query, key: 1 })", chosen)
        flip(page, "No positions")
        assert page.evaluate("view.query") == shown
        flip(page, "No positions")
        assert page.evaluate("[view.query, view.key]") == [chosen, 1]


def test_a_right_answer_without_positions_is_luck_and_a_list_shows_it(page, run):
    task, trained = run.task, model_of(run)
    other = changed(model_of(run), dict(positions=False))

    def answer(model, text):
        return task.text(greedy_decode(model, task.source(text), bos=task.bos, eos=task.eos,
                                       keep=False)[0])

    texts = (" ".join(digits) for n in (3, 2, 4) for digits in product("012345", repeat=n))
    lucky = next(text for text in texts if text != text[::-1]
                 and answer(other, text) == answer(trained, text) != answer(trained, text[::-1]))
    typed(page, lucky)
    flip(page, "No positions")
    out = page.locator("#outcome")
    api.expect(out).to_contain_text("The answer is the same here by luck. Without positions")
    said = re.search(r"this from (?:its reverse, )?“([\d ]+)”: both get this same",
                     out.inner_text())[1]
    assert answer(other, said) == answer(other, lucky) != answer(trained, said)
    out.get_by_role("link", name=said).click()
    settled(page)
    assert page.locator("#source").input_value() == said
    assert lines(page) == [answer(trained, said), answer(other, lucky)]


def test_a_wrong_answer_of_the_trained_model_stands_beside_the_right_one(page):
    text = " ".join("012345" * 2)
    typed(page, text)
    row = page.locator("#written .row")
    assert row.locator(".mark").inner_text() == "✗ wrong"
    spans = row.locator(".tokens > span").evaluate_all(
        "all => all.map((one) => [one.textContent, one.classList.contains('differs')])")
    right = text.split()[::-1]
    assert [is_red for _, is_red in spans] == [
        t >= len(right) or token != right[t] for t, (token, _) in enumerate(spans)]
    api.expect(row).to_contain_text(f"right would be {text[::-1]}")
    page.locator("#source").fill("hello")                              # no verdict on an old answer
    api.expect(page.locator("#source-note")).to_contain_text("Below still stands")
    assert not row.locator(".mark").is_visible()


def test_a_guess_makes_the_change_and_gets_its_verdict(page):
    typed(page, "3 1 4 1 5")
    for part in ("positions", "factor", "causal", "muted"):
        page.locator(f"#if-{part}").click()
        if part == "positions":                                        # it only asks
            assert len(lines(page)) == 1
            assert page.locator("#if-positions").evaluate("e => [e.indeterminate, e.checked]") == [
                True, False]
        choices = page.locator(f"[data-part={part}] .guess button:not(.bare)")
        names = choices.all_inner_texts()
        choices.first.click()
        settled(page)
        out = told(page)
        before, after = lines(page)
        count = sum(a != b for a, b in zip(before.split(), after.split(), strict=False))
        count += abs(len(before.split()) - len(after.split()))
        same = sorted(before) == sorted(after)
        high = re.search(r"gives ([\d.]+) of its attention to one place \(before: (\d\.\d+)", out)
        happened = (0 if high and high[1] > high[2] else 1) if part == "factor" else (
            0 if not count else 2 - same if part == "positions" else 1 if count < 3 else 2)
        assert out.startswith(f"You guessed: {names[0]}. In fact: {names[happened]}." if happened
                              else f"You guessed right: {names[0]}.")
        assert ("same here" in out) == (not count)
        page.locator(f"#if-{part}").click()
        settled(page)
        assert page.locator("#outcome").inner_text() == ""
    page.locator("#if-positions").check()                              # it does not ask again
    settled(page)
    assert "guessed" not in page.locator("#outcome").inner_text()


def test_the_highest_weights_are_those_of_the_map_in_view(page):
    typed(page, "3 1 4")
    flip(page, "No scaling")
    for layer, head in ((0, 1), (1, 0)):
        page.locator(f"#head-{layer}-{head}").check(force=True)
        means = page.evaluate(f"""thoughts.map((one) => {{
          const {{ rows, columns, data }} = at(shown(one).cache,
            "decoder.layers.{layer}.cross_attention.attention").weights[{head}];
          let sum = 0;
          for (let i = 0; i < rows; i++)
            sum += Math.max(...data.slice(i * columns, (i + 1) * columns));
          return sum / rows;
        }})""")
        assert (f"On average each token now gives {means[1]:.2f} of its attention to one place"
                f" (before: {means[0]:.2f})") in told(page)


def test_a_muted_head_takes_as_much_of_the_probability_as_is_said(page, run):
    """The probability of the token that was written there, in both models."""
    typed(page, "3 1 4 1 5")
    for layer, head in product(page.evaluate("attention_paths(trained)"), (0, 1)):
        muted = dict(muted=[dict(path=layer, head=head)])
        page.evaluate("(changes) => change(changes)", muted)
        settled(page)
        src, ids, place = page.evaluate(
            "[thoughts[0].src, thoughts.map(({ steps }) => real_ids(steps)), changed_place()]")
        if ids[0] != ids[1] and place < len(ids[0]):
            break
    shares = []
    for model, tgt in zip([model_of(run), changed(model_of(run), muted)], ids, strict=True):
        logits, _ = model.forward(np.array([src]), np.array([[run.task.bos, *tgt[:place]]]))
        row = np.exp(logits[0, place] - logits[0, place].max())
        shares.append(row[ids[0][place]] / row.sum())
    token = run.task.text([ids[0][place]])
    was, now = (f"{share:.2f}" for share in shares)
    said = f"probability of “{token}” (token {place + 1} of the answer) goes from {was} to {now}."
    assert said in page.locator("#outcome").inner_text()


def test_a_muted_head_that_changes_nothing_leads_to_one_that_does(page, run):
    """What it says of the others is what Python finds, in all layers of such an attention."""
    task, found = run.task, set()
    for text, kind in product(("3 1 4 1 5", "1 0", "2 4"), ("encoder.layers.{}.self_attention",
                                                            "decoder.layers.{}.cross_attention")):
        typed(page, text)
        heads = [dict(path=kind.format(layer), head=head) for layer in (0, 1) for head in (0, 1)]
        answers = [task.text(greedy_decode(changed(model_of(run), dict(muted=[one])),
                                           task.source(text), bos=task.bos, eos=task.eos,
                                           keep=False)[0]) for one in heads]
        telling = [one for one, answer in zip(heads, answers, strict=True)
                   if answer != lines(page)[0]]
        if len(telling) == len(heads):
            continue
        mute = next(one for one in heads if one not in telling)
        page.evaluate("(one) => change({ muted: [one] })", mute)
        settled(page)
        found.add(bool(telling))
        said = "No single head of this attention changes this answer"
        if telling:
            layer, head = int(telling[0]["path"].split(".")[2]), telling[0]["head"]
            said = f"Muting head {head + 1} of layer {layer + 1} would change it."
        api.expect(page.locator("#outcome")).to_contain_text(said)
    assert found == {False, True}


def test_an_unchanged_answer_names_the_token_that_it_is_less_sure_of(page):
    typed(page, "3 1 4 1 5")
    said = set()
    for changes in (dict(causal=False), dict(factor=4), *(
            dict(muted=[dict(path=place, head=head)])
            for place in page.evaluate("attention_paths(trained)") for head in (0, 1))):
        page.evaluate("(changes) => change(changes)", changes)
        settled(page)
        before, after = lines(page)
        if before != after:
            continue
        falls = page.evaluate("""thoughts[1].steps.map((step, t) => {
          const { row, token } = thoughts[0].steps[t];
          return [row, step.row].map((one) => softmax(Float64Array.from(one))[token]);
        })""")
        was, now = max(falls, key=lambda pair: pair[0] - pair[1])
        less = was - now >= 0.02
        said.add(less)
        out = page.locator("#outcome").inner_text()
        assert out.startswith("The answer is the same here" + (", but less sure" if less else "."))
        assert (f" falls from {was:.2f} to {now:.2f}." in out) == less
    assert True in said


def test_without_the_mask_it_says_that_later_tokens_do_not_exist_yet(page):
    typed(page, "3 1 4")
    kind = page.locator("#kind")
    for shown in ("Decoder self-attention", "Encoder-decoder attention", "Decoder self-attention"):
        flip(page, "Let it see ahead")
        assert kind.input_value() == shown                             # the map goes, and returns
    assert "when it writes a token, later ones do not exist yet" in (
        page.locator("#outcome").inner_text())
    page.locator("#cell-1-1-3").click()
    before, after = page.locator(".says").all_inner_texts()
    assert before.startswith("as trained: To write “1” (token 2 of the answer)")
    assert after.startswith("changed: “4” (token 1 of the answer) ")
    assert "(finished answer, read again)" in page.locator("#flow").inner_text()


def test_without_the_mask_curves_and_reasons_are_those_of_the_reading_that_wrote(
        page, run, monkeypatch):
    """One view, one reading: row t of the map over the source is that of when token t was written,
    as in Python, and not the row that the whole answer, read again, gives."""
    typed(page, "3 1 4 1 5")
    flip(page, "Let it see ahead")
    page.locator("#kind").select_option("Encoder-decoder attention")
    src, ids = page.evaluate("[thoughts[1].src, [bos, ...real_ids(thoughts[1].steps)]]")
    found = page.evaluate("""[...Array(attended(thoughts[1]).queries.length).keys()].map((query) =>
        [...attended(thoughts[1]).cache.weights[view.head].row(query)])""")
    layer, head = page.evaluate("[view.layer, view.head]")
    without_future_mask(monkeypatch)
    model = model_of(run)

    def row(length, t):
        _, cache = model.forward(np.array([src]), np.array([ids[:length]]))
        return cache.decoder.layers[layer].cross_attention.attention.weights[0, head, t]

    for t, weights in enumerate(found):
        np.testing.assert_allclose(weights, row(t + 1, t), rtol=0, atol=1e-6)
    assert any(abs(row(len(ids), t) - row(t + 1, t)).max() > 1e-3 for t in range(len(found) - 1))
    for t in range(len(found)):
        page.evaluate("(query) => choose({ query, key: null, side: 1 })", t)
        weight = f"{max(found[t]):.2f}"
        assert f" with {weight}" in page.locator("#why-1 .says").inner_text()


def test_a_second_click_on_a_switch_that_asks_takes_it_back(page):
    for count in (4, 0):
        page.locator("#if-muted").click()
        assert page.locator("[data-part=muted] .guess button").count() == count
    assert page.locator("#if-muted").evaluate("e => [e.indeterminate, e.checked]") == [False] * 2
    assert len(lines(page)) == 1


def test_a_model_that_does_not_end_is_stopped_soon(page):
    typed(page, "3 1 4")
    page.evaluate(f"change({SILENT})")
    settled(page)
    count, last = page.evaluate("[thoughts[1].steps.length, thoughts[1].steps.at(-1).token]")
    assert count <= 8
    assert page.locator(".computing").count() == 0
    assert page.locator(".stopped").all_inner_texts() == (
        ["it found no end"] * (last != page.evaluate("eos")))
