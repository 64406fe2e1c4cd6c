"""The page that runs a model, as it is used: in Chromium, by mouse, by keys and by typing."""

import copy

import numpy as np
import pytest
from browser import PHONE, api, settled, unfold
from javascript import (
    NAMES,
    VARIANTS,
    random_model,
    rounded,
)
from test_live import HOSTILE, page_of

pytestmark = pytest.mark.slow


def typed(page, text):
    page.get_by_role("textbox", name="You type").fill(text)
    settled(page)


def flip(page, name):
    """Turn a switch on or off. The first time it asks, and is answered by "just show me"."""
    page.get_by_label(name).click()
    settled(page)                                                      # it takes back another one
    if page.get_by_role("button", name="just show me").count():
        page.get_by_role("button", name="just show me").click()
    settled(page)


def told(page):
    """What is said of a change, with what is behind the dotted words."""
    out = page.locator("#outcome")
    return " ".join([out.inner_text(), *out.locator(".term").evaluate_all(
        "all => all.map((one) => one.title)")])


def lines(page):
    """The answers of the model as trained, and of the changed one where there is one."""
    return page.locator("#written strong").all_inner_texts()


def model_of(run):
    """The run's model with the numbers of the page, in double precision."""
    return rounded(copy.deepcopy(run.trained()))


def test_what_is_typed_is_answered_as_the_command_line_does(page, run):
    src = run.task.test(2000)[0][:20]
    for row in src:
        ids = row[row > 0]
        text = run.task.text(ids)
        typed(page, text)
        assert lines(page) == [run.task.text(run.loaded().decode(ids[None])[0])]
    assert page.locator("#source-note").inner_text() == ""


def test_every_switch_makes_its_change_and_takes_back_the_one_before(page):
    typed(page, "3 1 4")
    page.locator("#head-0-1").check(force=True)
    place = "decoder.layers.0.cross_attention"
    nothing = dict(factor=1, positions=True, causal=True, muted=[], replaced=[])
    for name, one in {"No scaling (scores × 4)": dict(factor=4),
                      "No positions": dict(positions=False), "Let it see ahead": dict(causal=False),
                      "Mute head 2 of layer 1": dict(muted=[dict(path=place, head=1)])}.items():
        flip(page, name)
        assert page.evaluate("view.changes") == nothing | one
        assert page.locator("#what-if :checked[type]").count() == 1
        assert page.get_by_role("grid").count() == 2
    flip(page, "Head 2 of layer 1 muted")                              # and back
    assert page.get_by_role("grid").count() == 1
    assert page.evaluate("view.changes") == nothing
    assert page.locator("#what-if :checked[type]").count() == 0


def test_a_head_is_muted_by_its_switch_alone(page):
    muted, chosen = "view.changes.muted", "[view.layer, view.head]"
    for _ in range(2):
        page.locator("label.head").nth(3).click()                      # layer 2, head 2
        settled(page)
        assert (page.evaluate(muted), page.evaluate(chosen)) == ([], [1, 1])
    flip(page, "Mute head 2 of layer 2")
    here = [dict(path="decoder.layers.1.cross_attention", head=1)]
    page.locator("#head-1-1").press("ArrowLeft")                       # keys only choose
    assert (page.evaluate(muted), page.evaluate(chosen)) == (here, [1, 0])
    assert page.get_by_label("Head 2 of layer 2 muted").is_checked()   # the muted one is named


def test_the_picture_is_saved_as_it_is_seen(page):
    flip(page, "No positions")
    page.locator("#half-1 .because strong").first.wait_for()
    with page.expect_download() as found:
        page.get_by_role("button", name="Save picture").click()
    file = found.value.path().read_bytes()
    assert file[:8] == b"\x89PNG\r\n\x1a\n"
    assert int.from_bytes(file[16:20], "big") == 2400
    assert len(file) > 30_000                                          # not empty
    assert found.value.suggested_filename == "reverse-3-1-4-1-5-No-positions.png"
    words = page.evaluate("""[...whole_picture().querySelectorAll(":scope > text")].map(
        (one) => one.textContent)""")
    assert words[2].startswith("it writes: 5141")
    assert page.locator("#outcome").inner_text() in "".join(words)     # in lines
    red = page.evaluate("""[...whole_picture().querySelectorAll("tspan[fill]")].map(
        (one) => one.textContent)""")
    assert red == page.locator("#written .differs, #written .wrong").all_inner_texts()
    assert page.evaluate("""() => {
      const drawing = whole_picture();
      document.body.append(drawing);
      return Math.max(...[...drawing.querySelectorAll(":scope > text")].map((one) => {
        const { x, width } = one.getBBox();
        return x + width;
      }));
    }""") <= 1200 - 16                                                 # nothing is cut


def test_a_click_on_a_token_of_the_answer_chooses_it(page):
    typed(page, "3 1 4")
    page.locator("[data-place='0-2']").click()
    assert page.evaluate("view.query") == 2
    assert page.locator("#written .now").inner_text() == "3"
    page.locator("#kind").select_option("Encoder self-attention")
    page.locator("[data-place='0-0']").click()                 # the decoder writes it
    assert page.evaluate("[view.kind, view.query]") == ["cross", 0]


def test_an_address_opens_the_page_at_a_place(visit, path, run):
    page = visit(path, "#src=5+0+3+1&what-if=mask&step=2&kind=decoder_self&layer=0&head=1"
                       "&query=1&key=2&side=1")
    settled(page)
    assert page.get_by_role("textbox", name="You type").input_value() == "5 0 3 1"
    assert page.locator("#written .answer .tokens").first.inner_text().split() == ["1", "3"]
    assert page.get_by_label("Let it see ahead").is_checked()
    assert page.get_by_role("grid").count() == 2
    assert page.locator("#kind").input_value() == "Decoder self-attention"
    assert page.locator("#cell-1-1-2").get_attribute("aria-selected") == "true"
    says = page.locator(".says").all_inner_texts()
    assert says[0].startswith("as trained: To write “3” (token 2 of the answer), it may not")
    assert says[1].startswith("changed: “1” (token 1 of the answer) ")
    assert page.locator("#address-note").inner_text() == ""
    page.get_by_label("Let it see ahead").click()
    page.get_by_role("textbox", name="You type").fill("0 1 2")
    settled(page)
    before = page.evaluate("({ ...view })")
    page.locator("#kind").focus()                                      # the link is up to date
    page.get_by_role("link", name="Copy link").click()
    settled(page)
    assert page.evaluate("({ ...view })") == before
    assert "src=0+1+2" in page.url


def test_an_open_page_follows_another_address(page):
    page.evaluate("location.hash = 'src=3+1+4&what-if=positions&step=1'")
    page.wait_for_function("() => view.text === '3 1 4'")
    settled(page)
    assert page.evaluate("changed_name()") == "No positions"
    assert page.locator("#written .row:first-child .answer .tokens span").count() == 1
    assert page.locator("#grids tbody tr.on th").first.inner_text() != "start <bos>"  # the next row
    page.evaluate("location.hash = 'src=3+1+4'")
    page.wait_for_function("() => !is_changed(view.changes)")
    settled(page)
    assert lines(page) == ["4 1 3"]


def test_what_is_wrong_in_an_address_is_left_out_and_said_in_a_line(visit, path):
    page = visit(path, "#src=</script><img src=x onerror=alert(1)>&what-if=foo&step=40"
                       "&query=9&key=50&side=1&<b>=1")
    settled(page)
    source = page.get_by_role("textbox", name="You type").input_value()
    assert source == "</script><img src=x onerror=alert(1)>"
    assert "Left out: </script><img src=x" in page.locator("#source-note").inner_text()
    assert page.locator("#address-note").inner_text() == (
        "Left out of the address, because this page has no such thing: what-if=foo, <b>=1")
    assert page.evaluate("[view.query, view.side, view.written === Infinity]") == [0, 0, True]
    assert page.evaluate("document.querySelectorAll('img, b, [onerror]').length") == 0
    typed(page, "3 1 4")
    assert page.locator("#address-note").inner_text() == ""
    assert lines(page) == ["4 1 3"]


def test_a_replaced_token_changes_what_was_typed(visit, path, run):
    page = visit(path, "#src=3+1+4&what-if=replace:1:5")               # as a lesson asks for
    settled(page)
    answers = run.loaded().lines(["3 1 4", "3 5 4"])
    assert lines(page) == answers
    assert page.locator("#written .differs").all_inner_texts() == ["5"]
    assert page.locator("#written .changed-name").inner_text() == (
        "“1” becomes “5”")
    assert page.locator("#written .right").count() == 2                # for what was read


@pytest.mark.parametrize("variant", VARIANTS, ids=NAMES)
def test_the_terms_of_every_score_sum_to_it(visit, tmp_path, variant, rng):
    model = random_model(variant, 7, rng)
    path = tmp_path / "page.html"
    path.write_text(page_of(model), encoding="utf-8")
    page = visit(path)
    page.evaluate("() => { view.text = '3 4 5 6 5'; rethink(); }")
    settled(page)
    worst, count = page.evaluate("""() => {
      let [worst, count] = [0, 0];
      for (const kind of KINDS) {
        const { place, cache, queries, keys } = attended(thoughts[0], kind, 1);
        const scale = place.attention.score?.scale || !place.attention.score;
        for (let head = 0; head < place.h; head++) {
          for (let i = 0; i < queries.length; i++) for (let j = 0; j < keys.length; j++) {
            const { rows, sum } = terms_of(place.attention, cache, head, i, j);
            const bias = place.attention.score?.bias?.bias(head, i, j) ?? 0;
            const factor = scale ? 1 / Math.sqrt(place.d_k) : 1;
            const score = rows.reduce((a, row) => a + row.at(-1), 0) * factor + bias;
            worst = Math.max(worst, Math.abs(score - cache.scores[head].row(i)[j]));
            count++;
          }
        }
      }
      return [worst, count];
    }""")
    assert count > 100
    assert worst < 1e-9


def test_a_cell_is_explained_by_its_numbers(page, run):
    typed(page, "3 1 4")
    page.locator("#kind").select_option("Encoder self-attention")
    page.get_by_role("radio", name="head 2 of layer 1").check(force=True)
    page.locator("#cell-0-2-1").click()
    model, src = model_of(run), run.task.source("3 1 4")
    _, cache = model.forward(src, np.array([[run.task.bos]]))
    found = cache.encoder.layers[0].self_attention.attention
    q, k, weight = found.Q[0, 1, 2], found.K[0, 1, 1], found.weights[0, 1, 2, 1]
    terms = page.evaluate("cell_of(thoughts[0]).terms.rows")
    np.testing.assert_allclose(terms, [(a, b, a * b) for a, b in zip(q, k)], rtol=0, atol=1e-4)
    chain = page.locator("#why-0 .chain").inner_text()
    told = f"sum = {q @ k:.2f} → × 1/√16 = {q @ k / 4:.2f} → softmax over all keys = {weight:.2f}"
    assert chain == told.replace("-", "−")
    low = weight < 1 / 4
    assert page.locator("#why-0 .says").inner_text().startswith(
        "“4” (token 3 of the source) " + ("hardly looks" if low else "looks"))
    first, second = np.argsort(q * k if low else -q * k)[:2] + 1
    marks = set() if low and q @ k > 0 else {f"{first}", f"{second}"}
    assert set(page.locator("#why-0 .features span").all_inner_texts()) == marks
    page.locator("#kind").select_option("Decoder self-attention")
    page.locator("#cell-0-0-2").click()
    assert page.locator("#why-0 .says").inner_text().endswith("the score is −∞ and the weight 0.")


def test_a_box_of_figure_1_shows_what_the_model_would_say(page, run):
    typed(page, "3 1 4")
    page.locator("[data-place='0-2']").click()
    model, src = model_of(run), run.task.source("3 1 4")
    tgt = np.array([[run.task.bos, *run.task.source("4 1 3")[0, :-1]]])
    _, cache = model.forward(src, tgt)
    inside = model.decoder.layers[0].add_norm_1.layer_norm
    normed = cache.decoder.layers[0].add_norm_1.layer_norm.normalised[0, 2]
    boxes = page.evaluate("boxes_of(thoughts[0]).map(({ path }) => path)")
    normed = inside.gamma.value * normed + inside.beta.value
    for x, path in ((normed, "decoder.layers.0.add_norm_1"),
                    (cache.output_projection.x[0, 2], "decoder.layers.1.add_norm_3")):
        page.evaluate("(box) => choose({ box })", boxes.index(path))
        logits = x @ model.src_embedding.E.value.T
        share = np.exp(logits - logits.max())
        best = run.task.tokens([share.argmax()])[0]
        name = {"<bos>": "start", "<eos>": "end"}.get(best, best)
        told = f"it would write {name} ({share.max() / share.sum():.2f})."
        assert page.locator("#would-say").inner_text().endswith(told)
    page.evaluate("(box) => choose({ box })", boxes.index("encoder.layers.0.add_norm_1"))
    assert page.locator("#would-say").count() == 0


def test_next_and_play_write_one_token_at_a_time(page):
    typed(page, "3 1 4")
    back, on = (page.get_by_role("button", name=name, exact=True) for name in ("Back", "Next"))
    on.click()                                                         # begins at the first token
    assert page.locator("#written .coming").inner_text() == "4"        # the one to come
    assert back.is_disabled()
    written = []
    for count in range(1, 5):
        assert page.locator("#grids tbody tr").count() == count        # the map grows by a row
        on.click()
        written.append(page.locator("#written .answer .tokens").inner_text().split())
    assert written == [["4"], ["4", "1"], ["4", "1", "3"], ["4", "1", "3"]]
    assert page.locator("#written .right").inner_text() == "✓ reversed"
    assert on.is_disabled()
    back.click()
    best = page.locator("#half-0 .best tbody tr").all_inner_texts()
    assert sum(float(row.split()[-1]) for row in best) == pytest.approx(1, abs=0.04)
    assert best[0].split()[0] == "end"
    page.get_by_role("button", name="Play").click()
    page.locator("#written .right").wait_for()
    assert lines(page) == ["4 1 3"]


def test_unknown_and_too_long_is_said_in_words(page):
    note = page.locator("#source-note")
    still = " Type something like 3 1 4 1 5. Below still stands the answer to 3,1, 4."
    for text, said in (
            ("3 x 1 ¡", "This model knows 0 to 5. Left out: x ¡."),
            ("314", ""), ("３１４", ""), ("3，1、4", ""), ("3,1, 4", ""),
            ("zwölf", "This model knows 0 to 5. Left out: zwölf." + still),
            ("", "Nothing typed yet." + still)):
        typed(page, text)
        assert note.inner_text() == said
        assert lines(page) == (["4 1 3"] if "x" not in text else ["1 3"])
    assert page.locator("#answers").evaluate("e => getComputedStyle(e).opacity") == "0.25"
    typed(page, "1 " * 8)
    assert note.inner_text() == "8 tokens; it was trained on at most 6."
    typed(page, "1 " * 80)
    assert note.inner_text().startswith("Of 80 tokens it reads the first 57;")


def test_the_curves_are_as_wide_as_the_weights(page, run):
    typed(page, "3 1 4")
    model, src = model_of(run), run.task.source("3 1 4")
    tgt = np.array([[run.task.bos, *run.task.source("4 1 3")[0, :-1]]])
    weights = model.forward(src, tgt)[1].decoder.layers[1].cross_attention.attention.weights[0, 0]
    curves = page.locator("#flow .curve")
    found = curves.evaluate_all("""(all) => all.map((one) =>
      [one.dataset.query, one.dataset.key, one.getAttribute("stroke-width")].map(Number))""")
    assert {(i, j) for i, j, _ in found} == set(zip(*np.nonzero(weights >= 0.01)))
    for i, j, width in found:
        assert width == pytest.approx(0.5 + 15 * weights[i, j], abs=0.06)
    assert page.locator(".flow-token text").all_text_contents() == [
        "3", "1", "4", "end", "4", "1", "3", "end"]
    lit = page.locator(".curve.lit")
    for act, place in (("click", 1), ("hover", 2)):
        getattr(page.locator(".flow-token").nth(4 + place), act)()     # one that is written
        assert set(lit.evaluate_all("(all) => all.map((one) => one.dataset.query)")) == {f"{place}"}
    assert page.evaluate("view.query") == 1
    assert page.locator(".weight-of").all_text_contents() == [f"{max(weights[2]):.2f}"]
    page.locator(".flow-token").nth(0).click()                         # a token of the source
    assert page.evaluate("[view.query, view.key]") == [1, 0]


def test_to_point_at_a_token_moves_both_halves(page):
    typed(page, "3 1 4 1 5")
    flip(page, "No positions")
    place = page.evaluate("view.query")
    for side, t in ((0, 2), (1, 1), (0, 5)):
        page.locator(f"#half-{side} .scroll .query").nth(t).hover()
        counts = page.evaluate("thoughts.map(({ steps }) => steps.length)")
        for half, count in enumerate(counts):
            row = min(t, count - 1)
            weights = page.evaluate("""([half, row]) =>
              [...attended(thoughts[half]).cache.weights[view.head].row(row)]""", [half, row])
            assert page.locator(f"#half-{half} .scroll .weight-of").text_content() == (
                f"{max(weights):.2f}")
            assert page.locator(f"#half-{half} .best caption").inner_text() == (
                f"Most probable for token {row + 1}")
    page.mouse.move(1, 1)
    assert page.evaluate("[view.query, pointed]") == [place, None]


def test_it_says_how_often_it_is_right_and_keeps_nothing_else(visit, tmp_path, rng):
    file = tmp_path / "page.html"
    metrics = dict(exact_match=0.995, held_out=2000, steps=400, seconds=23.6, files=["secret"])
    file.write_text(page_of(random_model(VARIANTS[0], 7, rng), title="", metrics=metrics),
                    encoding="utf-8")
    assert "secret" not in file.read_text(encoding="utf-8")
    page = visit(file)
    settled(page)
    assert "got 1990 of 2000 unseen lists right" in page.locator("#about").inner_text()
    assert "400 steps, 24 seconds" in page.locator("#footer").inner_text()


def test_a_word_with_a_dotted_line_is_explained(page):
    page.locator(".term", has_text="queries").click()
    assert page.locator("#term").inner_text().startswith("A query is what a token asks for")
    page.keyboard.press("Escape")
    assert not page.locator("#term").is_visible()


def test_every_box_of_figure_1_says_what_comes_out(page):
    typed(page, "3 1 4")
    seen = []
    for box in range(page.evaluate("boxes_of(thoughts[0]).length")):
        page.evaluate("(box) => choose_box(box)", box)
        seen.append(page.locator("#box h3").inner_text())
        assert page.locator("#boxes [aria-current='step']").inner_text() == seen[-1]
        count = {"Softmax": "9 probabilities", "Linear": "9"}.get(seen[-1], "32")
        api.expect(page.locator("#box p", has_text="What comes out")).to_contain_text(
            f"4 tokens, {count}")
    layer = ["Multi-Head Attention", "Add & Norm", "Feed Forward", "Add & Norm"]
    decoder = ["Masked Multi-Head Attention", "Add & Norm", "Multi-Head Attention over the encoder",
               "Add & Norm", "Feed Forward", "Add & Norm"]
    assert seen == [
        "Input Embedding", "Positional Encoding", *layer * 2, "Output Embedding (shifted right)",
        "Positional Encoding", *decoder * 2, "Linear", "Softmax"]
    page.locator("#boxes").get_by_role("button", name="Add & Norm").last.click()
    assert page.locator("#box code").nth(1).inner_text() == "model.decoder.layers.1.add_norm_3"
    page.get_by_role("button", name="Next box").press("Enter")
    assert page.locator("#box h3").inner_text() == "Linear"
    assert page.locator("#box code").first.inner_text() == "logits = x E^T"


def test_everything_is_reached_by_keys_and_the_focus_is_seen(page):
    typed(page, "3 1")
    page.evaluate("document.activeElement.blur()")
    reached = []
    for _ in range(120):
        page.keyboard.press("Tab")
        name, seen = page.evaluate("""() => {
          const e = document.activeElement, label = e.closest('label') ?? e;
          const width = (x) => parseFloat(getComputedStyle(x).outlineWidth);
          const on = (x) => getComputedStyle(x).outlineStyle !== 'none' && width(x) >= 2;
          return [e.id || e.textContent, on(e) || on(label)];
        }""")
        if reached and name == reached[0]:
            break
        if page.evaluate("document.activeElement === document.body"):  # around the end
            continue
        assert seen, name
        reached.append(name)
    for name in ("source", "next", "play", "if-factor", "if-positions", "if-causal", "if-muted",
                 "kind",
                 page.evaluate("`head-${START.layer}-${START.head}`"), "box-0"):
        assert name in reached, name
    assert sum(name.startswith("cell-") for name in reached) == 1


def test_keys_move_through_the_large_map(page):
    typed(page, "3 1 4")
    page.evaluate("choose({ query: 0, key: 0 })")
    page.locator("#cell-0-0-0").focus()
    for press, place in [("ArrowRight", "0-1"), ("ArrowDown", "1-1"), ("End", "1-3"),
                         ("ArrowRight", "1-3"), ("Control+End", "3-3"), ("Home", "3-0"),
                         ("ArrowLeft", "3-0"), ("ArrowUp", "2-0"), ("Control+Home", "0-0")]:
        page.keyboard.press(press)
        assert page.evaluate("document.activeElement.id") == f"cell-0-{place}"
        assert page.locator("#grids td[tabindex='0']").count() == 1


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("address", ["", "#what-if=positions", "#tour=1",
                                     "#tour=3&guess=1&lang=zh"])
def test_axe_finds_nothing(visit, path, axe, scheme, address):
    page = visit(path, address, color_scheme=scheme)
    settled(page)
    unfold(page)
    page.evaluate(axe)
    for _ in range(2):
        found = page.evaluate("axe.run()")
        assert [(v["id"], [n["html"][:150] for n in v["nodes"]][:2])
                for v in found["violations"]] == []
        assert len(found["passes"]) > 20
        page.locator("#present").click()                               # and at a projector


@pytest.mark.parametrize(("size", "scheme"), [
    (dict(width=360, height=740), "light"), (dict(width=640, height=360), "dark"),
    (dict(width=1280, height=720), "light"), (PHONE, "dark"),
])
def test_nothing_sticks_out_of_the_window(visit, path, size, scheme):
    """640 x 360 is a projector of 1280 x 720 at 200 %."""
    page = visit(path, viewport=size, color_scheme=scheme)
    settled(page)
    for text, changes in (("3 1 4", {}), ("1 2 3 4 5 0 1 2 3 4 5 0", dict(positions=False))):
        typed(page, text)
        page.evaluate("(changes) => change(changes)", changes)
        settled(page)
        assert page.evaluate("document.documentElement.scrollWidth") <= size["width"]


@pytest.mark.parametrize(("width", "height"), [(1280, 720), (1440, 900), (853, 480), (360, 740)])
def test_the_answer_the_switch_and_the_picture_are_seen_together(visit, path, width, height):
    """Without scrolling, and in the view for a projector, too; a phone goes on to what changed."""
    size = dict(width=width, height=height)
    page = visit(path, "#src=3+1+4+1+5&what-if=positions", viewport=size)
    settled(page)
    for present in (False, True)[: 1 + (width > 800)]:
        if present:
            page.get_by_role("button", name="Present").click()
        shown = "#half-1 svg" if width > 800 else "#half-0 svg"
        halves = ["#half-1 .because", "#half-1 .best"] if width > 1000 or present else []
        for place in ("#written .row:nth-child(2) .tokens", "#if-positions", shown, *halves):
            box = page.locator(place).bounding_box()
            assert box["y"] >= 0, (place, present)
            assert box["y"] + box["height"] <= height, (place, present)


def test_printed_it_shows_the_answer_the_maps_and_the_numbers(page):
    flip(page, "No positions")
    page.emulate_media(media="print")
    for name, shown in ((".switch .buttons #corner", False),
                        ("#written #outcome #grids #why #boxes #box", True)):
        assert {page.locator(one).first.is_visible() for one in name.split()} == {shown}
    assert len(page.pdf()) > 10_000


def test_without_a_script_the_reason_is_there(visit, path):
    page = visit(path, java_script_enabled=False)
    assert not page.locator("#app").is_visible()
    assert "needs JavaScript" in page.locator("noscript p").first.inner_text()
    assert "这需要 JavaScript" in page.locator("noscript p[lang='zh-Hans']").inner_text()


def test_light_and_dark_follow_the_system_and_a_projector_is_light(visit, path):
    page = visit(path, color_scheme="dark")
    ground = "e => getComputedStyle(e).backgroundColor"
    assert page.locator("body").evaluate(ground) == "rgb(18, 21, 27)"
    page.get_by_role("button", name="Present").click()
    assert page.locator("body").evaluate(ground) == "rgb(251, 250, 247)"


def test_hostile_texts_stay_text(visit, tmp_path, rng):
    path = tmp_path / "page.html"
    title = "</title><script>alert(1)</script><img src=x>"
    model = random_model(VARIANTS[0], len(HOSTILE), rng)
    path.write_text(page_of(model, HOSTILE, title=title), encoding="utf-8")
    page = visit(path)
    settled(page)
    assert page.locator("h1").inner_text() == page.title() == title
    elements = page.evaluate("document.querySelectorAll('*').length")
    unfold(page)
    typed(page, "</noscript> <img onerror=alert(1)> </script> & \" ' \u2028 {{data}} __proto__")
    unknown = page.locator("#source-note").inner_text()
    assert "<img onerror=alert(1)>" in unknown
    assert "__proto__" in unknown
    for kind in range(3):
        page.locator("#kind").select_option(index=kind)
        for box in (0, 1, 12, 25):
            page.evaluate("(box) => choose({ box })", box)
    assert page.evaluate("document.querySelectorAll('img, iframe, script, [onerror]').length") == 2
    assert elements > 100


def test_the_policy_forbids_every_request_and_every_other_script(chromium, path):
    context = chromium.new_context()
    page, asked = context.new_page(), []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(path.as_uri())
    settled(page)
    found = page.evaluate("""async () => {
      const blocked = [];
      const note = (event) => blocked.push(event.violatedDirective);
      document.addEventListener("securitypolicyviolation", note);
      await fetch("https://example.org/").catch(() => 0);
      const image = document.createElement("img");
      image.src = "https://example.org/x.png";
      const script = document.createElement("script");
      script.textContent = "window.ran = true";
      const style = document.createElement("style");
      style.textContent = "body { display: none }";
      document.body.append(image, script, style);
      const button = document.createElement("button");
      button.setAttribute("onclick", "window.ran = true");
      button.click();
      await new Promise((done) => setTimeout(done, 200));
      return [blocked.sort(), window.ran ?? false];
    }""")
    context.close()
    assert found[1] is False
    assert {"connect-src", "img-src", "script-src-elem", "style-src-elem"} <= set(found[0])
    others = {url for url in asked if url != path.as_uri()}
    assert others <= {"https://example.org/x.png"}                     # asked for, and blocked
