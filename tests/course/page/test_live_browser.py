"""The page that runs a model, as it is used: in Chromium, by mouse, by keys and by typing."""

import copy
import random
import re
from pathlib import Path

import numpy as np
import pytest
from browser import PHONE, WIDE, api, settled, unfold
from javascript import NAMES, VARIANTS, random_model, rounded
from test_live import HOSTILE, page_of

from aiayn_course.page import live

pytestmark = pytest.mark.slow
MODES = ["#mode=learn", "#mode=break", "#mode=look", "#mode=break&what-if=positions",
         "#mode=look&what-if=positions", "#tour=positions"]


def typed(page, text):
    page.get_by_role("textbox", name="You type").fill(text)
    settled(page)


def lines(page):
    """The answers of the model as trained, and of the cut one where there is one."""
    return page.locator("#written strong").all_inner_texts()


def model_of(run):
    """The run's model with the numbers of the page, in double precision."""
    return rounded(copy.deepcopy(run.trained()))


def test_what_is_typed_is_answered_as_the_command_line_does(page, run):
    for row in run.task.test(2000)[0][:20]:
        ids = row[row > 0]
        typed(page, run.task.text(ids))
        assert lines(page) == [run.task.text(run.loaded().decode(ids[None])[0])]
    assert page.locator("#source-note").inner_text() == ""


def test_an_address_opens_the_page_at_a_place(visit, path):
    page = visit(path, "#src=5+0+3+1&what-if=mask&kind=decoder_self&layer=0&head=1&query=1&key=2")
    settled(page)
    found = page.evaluate("[view.mode, view.text, view.changes.causal]")
    assert found == ["look", "5 0 3 1", False]
    assert len(lines(page)) == 2
    assert page.locator("#kind").input_value() == "decoder_self"
    assert page.locator("#cell-1-2").get_attribute("aria-selected") == "true"
    assert page.locator("#why-says").inner_text().startswith("“1” (token 1 of the answer) ")
    page.evaluate("location.hash = 'mode=look&src=3+1+4'")
    page.wait_for_function("() => view.text === '3 1 4'")
    settled(page)
    assert lines(page) == ["4 1 3"]


def test_what_is_wrong_in_an_address_is_left_out_and_said_in_a_short_line(visit, path):
    page = visit(path, "#mode=look&src=</script><img src=x onerror=alert(1)>&what-if=foo"
                       f"&query=9&key=50&<b>=1&{'x' * 5000}=1")
    settled(page)
    source = page.get_by_role("textbox", name="You type").input_value()
    assert source == "</script><img src=x onerror=alert(1)>"
    assert "Left out: </script><img src=x" in page.locator("#source-note").inner_text()
    said = page.locator("#address-note").inner_text()
    assert said.startswith("Left out of the address, because this page has no such thing: what-if")
    assert len(said) < 200
    assert page.evaluate("document.querySelectorAll('img, b, [onerror]').length") == 0
    typed(page, "3 1 4")
    assert page.locator("#address-note").inner_text() == ""
    assert lines(page) == ["4 1 3"]


def test_nothing_that_can_be_read_leaves_the_answer_and_pales_it(page):
    typed(page, "3 1 4")
    for text, said in (("abc", "answer to 3 1 4"), ("", "the last answer, to 3 1 4")):
        page.locator("#source").fill(text)
        api.expect(page.locator("#source-note")).to_contain_text(said)
        assert "(empty)" not in page.locator("body").inner_text()
        assert page.locator("#app.unread").count() == 1
    typed(page, "5 1")
    assert lines(page) == ["1 5"]


ACTIONS = """async (seed) => {
  let state = seed;
  const chance = (n) => (state = (state * 48271) % 2147483647) % n;
  const texts = ["3 1 4", "", "0", "1 2 3 4 5 0 1 2 3", "abc", "5 5"];
  for (let n = 0; n < 100; n++) {
    const places = [...document.querySelectorAll(
      "button, summary, select, .flow-token, td[id], th, .strand, .head input")].filter(
      (one) => one.checkVisibility() && !one.disabled && !one.closest("[inert], #corner"));
    const one = places[chance(places.length)];
    const source = document.getElementById("source");
    if (chance(6) === 0) {
      source.value = texts[chance(texts.length)];
      source.dispatchEvent(new Event("input"));
    } else if (one.matches("select")) {
      one.selectedIndex = chance(one.options.length);
      one.dispatchEvent(new Event("change"));
    } else one.dispatchEvent(new MouseEvent("click", { bubbles: true, clientX: 9, clientY: 9 }));
    await new Promise((done) => setTimeout(done, chance(3) ? 0 : 25));
  }
}"""


@pytest.mark.parametrize("address", ["#mode=break", "#mode=look&what-if=positions",
                                     "#mode=learn", "#mode=look&box=3"])
def test_a_hundred_random_actions_throw_nothing_on_a_slow_machine(visit, path, address, seed):
    """`visit` fails for an exception, and for a line in the console."""
    page = visit(path, address)
    page.context.new_cdp_session(page).send("Emulation.setCPUThrottlingRate", dict(rate=6))
    settled(page)
    page.evaluate(ACTIONS, random.Random(seed).randrange(1, 10**6))
    page.evaluate("rest()")
    page.locator("#app[aria-busy='false']").wait_for(state="attached")
    page.locator("#modes button").last.click()
    typed(page, "3 1 4")
    assert lines(page)[0] == "4 1 3"


@pytest.mark.parametrize("address", MODES)
def test_the_modules_run_in_a_browser_as_they_are_written(chromium, path, address, seed):
    """A name that a module does not import would be an exception here."""
    text = path.read_text(encoding="utf-8")
    module = "<script type='module' src='page.js'></script>"
    text = re.sub(r"<script>.*?</script>", module, re.sub("<meta http-equiv.*>", "", text),
                  flags=re.DOTALL)
    page, complaints = chromium.new_page(viewport=WIDE), []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(error.stack))
    page.route("**/*.js", lambda route: route.fulfill(
        path=live.PAGE / Path(route.request.url).name, content_type="text/javascript"))
    page.route("http://page.test/", lambda route: route.fulfill(body=text,
                                                                content_type="text/html"))
    page.goto(f"http://page.test/{address}")
    page.locator("#app[aria-busy='false']").wait_for(state="attached")
    page.evaluate(ACTIONS, random.Random(seed).randrange(1, 10**6))
    page.close()
    assert complaints == []


def test_no_control_stands_in_another_and_the_middle_of_each_is_its_own(visit, path):
    for address in MODES:
        page = visit(path, address)
        settled(page)
        assert page.evaluate(
            "document.querySelectorAll('label button, button button, a button').length") == 0
        assert page.evaluate("""() => [...document.querySelectorAll("button, label, select")]
          .filter((one) => one.checkVisibility()).flatMap((one) => {
            one.scrollIntoView({ block: "center" });
            const { x, y, width, height } = one.getBoundingClientRect();
            const there = document.elementFromPoint(x + width / 2, y + height / 2);
            return one.contains(there) || one.closest(".head") ? [] : [one.outerHTML.slice(0, 99)];
          })""") == []


@pytest.mark.parametrize("variant", VARIANTS, ids=NAMES)
def test_the_terms_of_every_score_sum_to_it(visit, tmp_path, variant, rng):
    model = random_model(variant, 7, rng)
    path = tmp_path / "page.html"
    path.write_text(page_of(model), encoding="utf-8")
    page = visit(path)
    settled(page)
    page.evaluate("() => { view.text = '3 4 5 6 5'; rethink(); }")
    settled(page)
    worst, count = page.evaluate("""() => {
      let [worst, count] = [0, 0];
      for (const kind of KINDS) {
        const { place, cache, queries, keys } = attended(thoughts[0], kind, 1);
        for (let head = 0; head < place.h; head++) {
          for (let i = 0; i < queries.length; i++) for (let j = 0; j < keys.length; j++) {
            const { rows, sum } = terms_of(cache, head, i, j);
            const total = rows.reduce((a, row) => a + row.at(-1), 0);
            const score = total / Math.sqrt(place.d_k);
            worst = Math.max(worst, Math.abs(total - sum));
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
    page.locator("#cell-2-1").click()
    model, src = model_of(run), run.task.source("3 1 4")
    _, cache = model.forward(src, np.array([[run.task.bos]]))
    found = cache.encoder.layers[0].self_attention.attention
    q, k, weight = found.Q[0, 1, 2], found.K[0, 1, 1], found.weights[0, 1, 2, 1]
    terms = page.evaluate("cell_of(thoughts[0]).terms.rows")
    np.testing.assert_allclose(terms, [(a, b, a * b) for a, b in zip(q, k)], rtol=0, atol=1e-4)
    chain = page.locator("#why .chain").inner_text()
    told = f"sum = {q @ k:.2f} → × 1/√16 = {q @ k / 4:.2f} → softmax over all keys = {weight:.2f}"
    assert chain == told.replace("-", "−")
    low = weight < 1 / 4
    assert page.locator("#why-says").inner_text().startswith(
        "“4” (token 3 of the source) " + ("hardly looks" if low else "looks"))
    first, second = np.argsort(q * k if low else -q * k)[:2] + 1
    marks = set() if low and q @ k > 0 else {f"{first}", f"{second}"}
    assert set(page.locator("#why .features span").all_inner_texts()) == marks
    page.locator("#kind").select_option("Decoder self-attention")
    page.locator("#cell-0-2").click()
    assert page.locator("#why-says").inner_text().endswith("the score is −∞ and the weight 0.")


def test_unknown_and_too_long_is_said_in_words(page):
    note = page.locator("#source-note")
    still = " Type something like 3 1 4 1 5. Below still stands the answer to 3,1, 4."
    for text, said in (
            ("3 x 1 ¡", "This model knows 0 to 5. Left out: x ¡."),
            ("314", ""), ("３１４", ""), ("3，1、4", ""), ("3,1, 4", ""),
            ("zwölf", "This model knows 0 to 5. Left out: zwölf." + still),
            ("", "Nothing typed yet." + still.replace("the answer", "the last answer,"))):
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
    assert page.locator("#flow .flow-token text").all_text_contents() == [
        "3", "1", "4", "end", "4", "1", "3", "end"]
    page.locator("#flow .query").nth(2).press("Enter")                 # one that is written
    assert page.evaluate("[view.query, document.activeElement.id]") == [2, "flow-query-2"]
    lit = page.locator("#flow .curve.lit")
    assert set(lit.evaluate_all("(all) => all.map((one) => one.dataset.query)")) == {"2"}
    assert page.locator(".weight-of").all_text_contents() == [f"{max(weights[2]):.2f}"]
    page.locator("#flow .key").nth(0).click()                          # a token of the source
    assert page.evaluate("[view.query, view.key]") == [2, 0]


def test_it_says_how_often_it_is_right_and_keeps_nothing_else(visit, tmp_path, rng):
    file = tmp_path / "page.html"
    metrics = dict(exact_match=0.995, held_out=2000, steps=400, seconds=23.6, files=["secret"])
    file.write_text(page_of(random_model(VARIANTS[0], 7, rng), title="", metrics=metrics),
                    encoding="utf-8")
    assert "secret" not in file.read_text(encoding="utf-8")
    page = visit(file)
    settled(page)
    assert "got 1990 of 2000 unseen lists right" in page.locator("#footer").inner_text()
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


def test_everything_is_reached_by_keys_and_the_focus_is_seen(visit, path):
    wanted = {"look": ["source", "kind", "head-1-0", "box-0", "flow-key-0", "flow-query-2"],
              "break": ["source", "cut-mute:decoder.layers.1.cross_attention:1", "cut-positions"],
              "learn": ["learn-go", "learn-back", "learn-task", "learn-query-3", "learn-head-1"]}
    for mode, names in wanted.items():
        page = visit(path, f"#mode={mode}&src=3+1+4")
        settled(page)
        unfold(page)
        reached = []
        for _ in range(130):
            page.keyboard.press("Tab")
            name, seen = page.evaluate("""() => {
              const e = document.activeElement, label = e.closest('label') ?? e;
              const on = (x) => getComputedStyle(x).outlineStyle !== 'none'
                && parseFloat(getComputedStyle(x).outlineWidth) >= 2;
              const reach = e.querySelector('.reach');
              const ring = reach && getComputedStyle(reach).stroke !== 'none';
              return [e.id || e.textContent, on(e) || on(label) || ring];
            }""")
            if reached and name == reached[0]:
                break
            if page.evaluate("document.activeElement === document.body"):  # around the end
                continue
            assert seen, name
            reached.append(name)
        for name in names:
            assert name in reached, name
        assert sum(name.startswith("cell-") for name in reached) == (mode == "look")


def test_keys_move_through_the_large_map(page):
    typed(page, "3 1 4")
    page.evaluate("choose({ query: 0, key: 0 })")
    page.locator("#cell-0-0").focus()
    for press, place in [("ArrowRight", "0-1"), ("ArrowDown", "1-1"), ("End", "1-3"),
                         ("ArrowRight", "1-3"), ("Control+End", "3-3"), ("Home", "3-0"),
                         ("ArrowLeft", "3-0"), ("ArrowUp", "2-0"), ("Control+Home", "0-0")]:
        page.keyboard.press(press)
        assert page.evaluate("document.activeElement.id") == f"cell-{place}"
        assert page.locator("#grids td[tabindex='0']").count() == 1


def test_the_weights_of_several_keys_are_added_up(page, run):
    typed(page, "3 1 4")
    assert page.locator(".total").count() == 0
    page.locator("#grids thead th").nth(0).click()
    page.locator("#cell-1-2").click()
    page.keyboard.press("Enter")                                       # this column, too
    tgt = np.array([[run.task.bos, *run.task.source("4 1 3")[0, :-1]]])
    _, cache = model_of(run).forward(run.task.source("3 1 4"), tgt)
    weights = cache.decoder.layers[1].cross_attention.attention.weights[0, 0]
    mass = [f"{one:.2f}" for one in weights[:, [0, 2]].sum(axis=1)]
    assert page.locator(".total").all_inner_texts() == mass
    said = page.locator("#map-help").inner_text()
    assert said.startswith(f"Σ adds up what goes to “3”, “4”: this row gives them {mass[1]}.")
    settled(page)
    assert "sum=0&sum=2" in page.url
    page.keyboard.press("Enter")
    mass = [f"{one:.2f}" for one in weights[:, 0]]
    assert page.locator(".total").all_inner_texts() == mass
    page.locator("#kind").select_option("decoder_self")
    assert page.locator(".total").count() == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("address", [*MODES, "#mode=learn&step=2&lang=zh"])
def test_axe_finds_nothing(visit, path, axe, scheme, address):
    page = visit(path, address, color_scheme=scheme)
    settled(page)
    unfold(page)
    page.evaluate(axe)
    if "learn" in address:
        page.locator("#learn-back").click()
    found = page.evaluate("axe.run()")
    assert [(v["id"], [n["html"][:150] for n in v["nodes"]][:2])
            for v in found["violations"]] == []
    assert len(found["passes"]) > 20


@pytest.mark.parametrize("size", [PHONE, dict(width=640, height=360), dict(width=1280, height=720)])
@pytest.mark.parametrize("address", MODES)
def test_nothing_sticks_out_of_the_window(visit, path, size, address):
    """640 x 360 is a projector of 1280 x 720 at 200 %."""
    page = visit(path, address, viewport=size)
    settled(page)
    for text in ("3 1 4", "1 2 3 4 5 0 1 2 3 4 5 0"):
        typed(page, text)
        assert page.evaluate("document.documentElement.scrollWidth") <= size["width"]
    small = page.evaluate("""[...document.querySelectorAll("button, select, input, .reach")].filter(
      (one) => one.checkVisibility() && !one.matches(".term, .head input, #boxes *, .tokens *"))
      .map((one) => [one.getBoundingClientRect(), one.id || one.textContent])
      .filter(([{ width, height }]) => Math.min(width, height) < 43.5).map(([, name]) => name)""")
    if size == PHONE and address != "#mode=look&what-if=positions":
        typed(page, "3 1 4 1 5")
        assert small == []                                             # 44 px for a finger


@pytest.mark.parametrize(("address", "picture"), [
    ("#mode=learn", "#learn-picture"), ("#mode=break", "#break-picture"),
    ("#mode=break&what-if=positions", "#break-picture")])
def test_a_projector_gives_the_picture_three_fifths_of_its_height(visit, path, address, picture):
    page = visit(path, f"{address}&src=3+1+4+1+5", viewport=dict(width=1280, height=720))
    settled(page)
    box = page.locator(picture).bounding_box()
    assert box["height"] >= 0.6 * 720
    assert box["y"] >= 0
    assert box["y"] + box["height"] <= 720


def test_at_twice_the_size_a_cut_is_answered_in_the_window(visit, path):
    """640 x 360 is a projector of 1280 x 720 at 200 %: what came of it stays in view."""
    page = visit(path, "#mode=break&src=3+1+4", viewport=dict(width=640, height=360))
    settled(page)
    page.locator("#cut-positions").click()
    settled(page)
    box = page.locator("#break-says").bounding_box()
    assert box["y"] >= 0
    assert box["y"] + box["height"] <= 360


def test_printed_it_shows_the_answer_the_maps_and_the_numbers(page):
    page.emulate_media(media="print")
    for name, shown in ((".buttons #corner #modes", False),
                        ("#written #grids #why #boxes #box", True)):
        assert {page.locator(one).first.is_visible() for one in name.split()} == {shown}
    assert len(page.pdf()) > 10_000


def test_without_a_script_the_first_picture_is_there(visit, path):
    page = visit(path, java_script_enabled=False)
    assert not page.locator("#app").is_visible()
    picture = page.locator("noscript svg")
    assert picture.is_visible()
    assert picture.locator("text").all_text_contents() == [*"31415", "end", *"51413", "<eos>"]
    assert picture.locator("path").count() > 5
    assert "这需要 JavaScript" in page.locator("noscript p[lang='zh-Hans']").inner_text()


def test_hostile_texts_stay_text(visit, tmp_path, rng):
    path = tmp_path / "page.html"
    title = "</title><script>alert(1)</script><img src=x>"
    model = random_model(VARIANTS[0], len(HOSTILE), rng)
    path.write_text(page_of(model, HOSTILE, title=title), encoding="utf-8")
    page = visit(path, "#mode=look")
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
    assert page.evaluate("document.querySelectorAll('img, iframe, script, [onerror]').length") == 3
    assert elements > 100


@pytest.mark.parametrize(("stop", "place"), [
    ("back", "learn"), ("cut", "break"), ("positions", "break"), ("look", "maps")])
def test_a_stop_of_the_tour_shows_when_it_is_asked_and_moves_nothing(visit, path, stop, place):
    page = visit(path, f"#tour={stop}")
    settled(page)
    shown = page.locator(f"#{place}")
    assert page.evaluate("[view.changes, view.query, view.step, is_back]") == [
        dict(factor=1, positions=True, causal=True, muted=[]), 0, 0, False]   # gives nothing away
    before = shown.bounding_box()["y"], shown.inner_html()
    page.locator("#tour-show").click()
    settled(page)
    after = shown.bounding_box()["y"], shown.inner_html()
    assert (before[0], before[1] == after[1]) == (after[0], False)
