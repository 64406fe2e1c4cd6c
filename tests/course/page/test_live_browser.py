"""The page that runs a model, as it is used: in Chromium, by mouse, by keys and by typing."""

import copy

import numpy as np
import pytest
from browser import PHONE, api, chromium, opened, visit  # noqa: F401
from javascript import (
    NAMES,
    VARIANTS,
    random_model,
    rounded,
)
from npm import installed
from test_live import HOSTILE, page_of
from trained import trained

from aiayn_course.cli.main import main
from aiayn_np import Transformer
from aiayn_np.runs.start import start_symbols

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A small trained run on reversing."""
    sizes = dict(symbols=6, max_length=6, N=2, d_model=32, d_ff=64, h=2)
    run, _ = start_symbols(tmp_path_factory.mktemp("runs") / "reverse", "reverse", **sizes)
    run.folder.mkdir()
    run.optimizer.t = 200
    run.model.load_state_dict(trained("reverse")[0].state_dict())
    run.save()
    return run


@pytest.fixture(scope="module")
def path(run):
    path = run.folder / "explore.html"
    assert main(["explore", str(run.folder), "3 1 4 1 5", "0 1 2", "--out", str(path)]) == 0
    return path


@pytest.fixture
def page(visit, path):  # noqa: F811
    page = visit(path)
    settled(page)
    unfold(page)
    return page


def settled(page):
    """Wait until what is typed is computed and drawn, and the address bar names it."""
    page.locator("#app[aria-busy='false']").wait_for(state="attached")
    page.wait_for_function("() => location.hash === element('link').hash")


def unfold(page):
    page.evaluate("document.querySelectorAll('details').forEach((one) => (one.open = true))")
    page.wait_for_timeout(50)                                          # "toggle" comes later


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


# ---- the numbers -----------------------------------------------------------------------------


def test_what_is_typed_is_answered_as_the_command_line_does(page, run):
    src = run.task.test(2000)[0][:20]
    for row in src:
        ids = row[row > 0]
        text = run.task.text(ids)
        typed(page, text)
        assert lines(page) == [run.task.text(run.pipeline().decode(ids[None])[0])]
    assert page.locator("#source-note").inner_text() == ""


def test_every_switch_makes_its_change_and_takes_back_the_one_before(page):
    typed(page, "3 1 4")
    page.locator("#head-0-1").check(force=True)
    place = "decoder.layers.0.cross_attention"
    nothing = dict(factor=1, positions=True, causal=True, muted=[], replaced=[])
    for name, one in {"No scaling (scores × 4)": dict(factor=4),
                      "No positions": dict(positions=False), "Let it see ahead": dict(causal=False),
                      "Mute head 2 of layer 1": dict(muted=[dict(path=place, head=1)])}.items():
        x = page.locator("#if-muted").bounding_box()["x"]
        flip(page, name)
        assert page.evaluate("view.changes") == nothing | one
        assert "muted" in one or page.locator("#if-muted").bounding_box()["x"] == x
        assert page.locator("#what-if :checked[type]").count() == 1
    flip(page, "No positions")
    assert page.evaluate("changed_now()") == "positions"
    assert page.get_by_role("grid").count() == 2
    flip(page, "No positions")                                         # and back
    assert page.get_by_role("grid").count() == 1
    assert page.evaluate("is_changed(view.changes)") is False
    assert page.locator("#what-if :checked[type]").count() == 0


def test_a_head_is_muted_by_its_switch_alone(page):
    path = "decoder.layers.1.cross_attention"
    muted, chosen = "view.changes.muted", "[view.layer, view.head]"
    page.locator("label.head").nth(3).click()                          # layer 2, head 2
    settled(page)
    assert (page.evaluate(muted), page.evaluate(chosen)) == ([], [1, 1])
    page.locator("label.head").nth(3).click()                          # a second time
    settled(page)
    assert page.evaluate(muted) == []
    flip(page, "Mute head 2 of layer 2")
    assert page.evaluate(muted) == [dict(path=path, head=1)]
    assert page.locator(".head.muted").inner_text() == "head 2"
    assert set(page.locator(".silent .curve").evaluate_all(
        "all => all.map((one) => getComputedStyle(one).strokeWidth)")) == {"1.5px"}
    assert page.locator("#why-1 .says").inner_text().startswith(
        "changed: muted, it adds nothing: it would look at “")
    assert page.get_by_role("grid").count() == 2
    page.locator("#head-1-1").press("ArrowLeft")                       # keys only choose
    assert (page.evaluate(muted), page.evaluate(chosen)) == ([dict(path=path, head=1)], [1, 0])
    assert page.get_by_label("Head 2 of layer 2 muted").is_checked()   # the muted one is named
    assert page.locator("#written .changed-name").inner_text() == "Head 2 of layer 2 muted"
    flip(page, "Head 2 of layer 2 muted")
    assert page.evaluate(muted) == []
    assert not page.get_by_label("Mute head 1 of layer 2").is_checked()


def test_after_a_change_the_first_place_that_changed_is_chosen(page):
    typed(page, "3 1 4 1 5")
    flip(page, "No positions")
    before, after = page.evaluate("thoughts.map(({ steps }) => steps.map(({ token }) => token))")
    place = next(t for t, (a, b) in enumerate(zip(before, after, strict=False)) if a != b)
    assert page.evaluate("view.query") == place
    assert page.locator("#grids td.on").evaluate_all("all => all.map(({ id }) => id)") == [
        f"cell-{side}-{place}-{page.evaluate('view.key')}" for side in (0, 1)]


def test_the_picture_is_saved_as_it_is_seen(page):
    flip(page, "No positions")
    page.locator("#half-1 .because strong").first.wait_for()
    with page.expect_download() as found:
        page.get_by_role("button", name="Save picture").click()
    file = found.value.path().read_bytes()
    width, height = (int.from_bytes(file[i:i + 4], "big") for i in (16, 20))
    assert file[:8] == b"\x89PNG\r\n\x1a\n"
    lines = page.locator("#outcome, #half-0 .because").count()
    assert width == 2400
    assert height > 2 * (28 * 4 + 40 + 200 + 24 * lines)
    assert len(file) > 30_000                                          # not empty
    assert found.value.suggested_filename == "reverse-3-1-4-1-5-No-positions.png"
    words = page.evaluate("""[...whole_picture().querySelectorAll(":scope > text")].map(
        (one) => one.textContent)""")
    assert words[2].startswith("it writes: 5141")
    head = page.evaluate("map_name()")
    assert head.startswith("Encoder-decoder attention: layer 2, head ")
    assert {f"as trained, {head}", "No positions"} <= set(words)
    assert words[-1].startswith("The wider a curve, the higher its weight. Made with aiayn_np,")
    labels = page.evaluate("""[...whole_picture().querySelectorAll("svg .flow-label")].map(
        (one) => one.textContent)""")
    assert labels == ["source", "written"] * 2
    assert page.locator("#outcome").inner_text() in "".join(words)     # in lines
    assert sum(one.startswith("Why “") for one in words) == 2
    red = page.evaluate("""[...whole_picture().querySelectorAll("tspan[fill]")].map(
        (one) => one.textContent)""")
    assert red == page.locator("#written .differs, #written .wrong").all_inner_texts()
    page.get_by_role("button", name="中文").click()
    page.evaluate("change({})")                                        # half as wide
    page.locator("#half-0 .because", has_text="为什么写").wait_for()
    settled(page)
    widths = page.evaluate("""() => {
      const drawing = whole_picture();
      document.body.append(drawing);
      return [...drawing.querySelectorAll(":scope > text")].map((one) => {
        const { x, width } = one.getBBox();
        return x + width;
      });
    }""")
    assert max(widths) <= 600 - 16                                    # nothing is cut


@pytest.mark.parametrize("place", range(4))
def test_without_a_mask_the_first_of_the_best_five_is_what_was_written(visit, path, place):  # noqa: F811
    page = visit(path, f"#src=3+1+4&what-if=mask&kind=cross&query={place}")
    settled(page)
    token = page.evaluate(f"plain_name(names([thoughts[1].steps[{place}].token])[0])")
    first = page.locator("#half-1 .best tbody th").first.inner_text()
    assert first.split()[0] == token


def test_a_click_on_a_token_of_the_answer_chooses_it(page):
    typed(page, "3 1 4")
    page.locator("[data-place='0-2']").click()
    assert page.evaluate("view.query") == 2
    assert page.locator("#written .now").inner_text() == "3"
    page.locator("#kind").select_option("Encoder self-attention")
    page.locator("[data-place='0-0']").click()                 # the decoder writes it
    assert page.evaluate("[view.kind, view.query]") == ["cross", 0]


# ---- addresses ---------------------------------------------------------------------------------


def test_an_address_opens_the_page_at_a_place(visit, path, run):  # noqa: F811
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


def test_what_is_wrong_in_an_address_is_left_out_and_said_in_a_line(visit, path):  # noqa: F811
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


def test_a_replaced_token_changes_what_was_typed(visit, path, run):  # noqa: F811
    page = visit(path, "#src=3+1+4&what-if=replace:1:5")               # as a lesson asks for
    settled(page)
    answers = run.pipeline().lines(["3 1 4", "3 5 4"])
    assert lines(page) == answers
    assert page.locator("#written .differs").all_inner_texts() == ["5"]
    assert page.locator("#written .changed-name").inner_text() == (
        "“1” becomes “5”")
    assert page.locator("#written .right").count() == 2                # for what was read


# ---- ask why -----------------------------------------------------------------------------------


@pytest.mark.parametrize("variant", VARIANTS, ids=NAMES)
def test_the_terms_of_every_score_sum_to_it(visit, tmp_path, variant, rng):  # noqa: F811
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
    q, k, v = found.Q[0, 1, 2], found.K[0, 1, 1], found.V[0, 1, 1]
    weight = found.weights[0, 1, 2, 1]

    def digits(x):
        return f"{x:.2f}".replace("-", "−")

    terms = page.evaluate("cell_of(thoughts[0]).terms.rows")
    np.testing.assert_allclose(terms, [(a, b, a * b) for a, b in zip(q, k)], rtol=0, atol=1e-4)
    chain = page.locator("#why-0 .chain").inner_text()
    assert chain == (f"sum = {digits(q @ k)} → × 1/√16 = {digits(q @ k / 4)} → "
                     f"softmax over all keys = {digits(weight)}")
    low = weight < 1 / 4
    first, second = np.argsort(q * k if low else -q * k)[:2] + 1
    row = found.weights[0, 1, 2]
    best = row.argmax()
    looks = ("" if best == 1 else f" It looks most at “{['3', '1', '4', 'end'][best]}” (token"
             f" {best + 1} of the source), with {digits(row[best])}.")
    says = page.locator("#why-0 .says").inner_text()
    four, one = ("“4” (token 3 of the source)", "“1” (token 2 of the source)")
    assert says == (
        f"{four} hardly looks at {one}, with {digits(weight)}.{looks}" if low and q @ k > 0 else
        f"{four} hardly looks at {one}, with {digits(weight)}: its query and that"
        f" key disagree most in columns {first} and {second} below.{looks}"
        if low else
        f"{four} looks at {one} with {digits(weight)}, because its query and that"
        f" key agree most in columns {first} and {second} below.{looks}")
    marks = set() if low and q @ k > 0 else {f"{first}", f"{second}"}
    assert set(page.locator("#why-0 .features span").all_inner_texts()) == marks
    strips = page.locator("#why-0 .strips canvas")
    names = [f"16 numbers from {x.min():.2f} to {x.max():.2f}".replace("-", "−")
             for x in (q, k, q * k, v, weight * v, found.weights[0, 1, 2] @ found.V[0, 1])]
    assert strips.evaluate_all("(all) => all.map((one) => one.ariaLabel)") == names
    page.locator("#kind").select_option("Decoder self-attention")
    page.locator("#cell-0-0-2").click()
    assert page.locator("#why-0 .says").inner_text().endswith("the score is −∞ and the weight 0.")


def test_a_box_of_figure_1_shows_what_the_model_would_say(page, run):
    typed(page, "3 1 4")
    page.locator("[data-place='0-2']").click()
    model, src = model_of(run), run.task.source("3 1 4")
    tgt = np.array([[run.task.bos, *run.task.source("4 1 3")[0, :-1]]])
    _, cache = model.forward(src, tgt)
    layer = cache.decoder.layers[0]
    E = model.src_embedding.E.value
    first = model.decoder.layers[0].add_norm_1.layer_norm
    inside = first.gamma.value * layer.add_norm_1.layer_norm.normalised[0, 2] + first.beta.value
    boxes = page.evaluate("boxes_of(thoughts[0]).map(({ path }) => path)")
    for x, path in ((inside, "decoder.layers.0.add_norm_1"),
                    (cache.output_projection.x[0, 2], "decoder.layers.1.add_norm_3")):
        page.evaluate("(box) => choose({ box })", boxes.index(path))
        logits = x @ E.T
        share = np.exp(logits - logits.max())
        share /= share.sum()
        best = run.task.tokens([share.argmax()])[0]
        names = {"<bos>": "start", "<eos>": "end"}
        assert page.locator("#would-say").inner_text() == (
            f"If it stopped here, it would write {names.get(best, best)} ({share.max():.2f}).")
    for silent in ("encoder.layers.0.add_norm_1", "decoder.layers.0.feed_forward"):
        page.evaluate("(box) => choose({ box })", boxes.index(silent))
        assert page.locator("#would-say").count() == 0


# ---- one token after the other -----------------------------------------------------------------


def test_next_and_play_write_one_token_at_a_time(page, run):
    typed(page, "3 1 4")
    assert lines(page) == ["4 1 3"]
    page.get_by_role("button", name="Next", exact=True).click()        # begins at the first token
    assert page.locator("#written .answer .tokens").inner_text() == ""
    assert page.locator("#written .coming").inner_text() == "4"        # the one to come
    assert page.get_by_role("button", name="Back", exact=True).is_disabled()
    written = []
    for count in range(1, 5):
        assert page.locator("#grids tbody tr").count() == count        # the map grows by a row
        page.get_by_role("button", name="Next", exact=True).click()
        written.append(page.locator("#written .answer .tokens").inner_text().split())
    assert written == [["4"], ["4", "1"], ["4", "1", "3"], ["4", "1", "3"]]
    assert page.locator("#written .right").inner_text() == "✓ reversed"
    assert page.get_by_role("button", name="Next", exact=True).is_disabled()
    page.get_by_role("button", name="Back", exact=True).click()
    best = page.locator("#half-0 .best tbody tr")
    shares = [float(row.split()[-1]) for row in best.all_inner_texts()]
    assert 2 <= len(shares) <= 4                                       # three, and all others
    assert sum(shares) == pytest.approx(1, abs=0.04)
    assert best.first.inner_text().split()[0] == "end"
    page.get_by_role("button", name="Play").click()
    page.locator("#written .right").wait_for()
    assert lines(page) == ["4 1 3"]
    page.get_by_role("button", name="Play").wait_for()


PALE = ("#answers", ".columns", "#cell", "#figure")                   # all that is of the answer


def test_unknown_and_too_long_is_said_in_words(page):
    typed(page, "3 x 1 ¡")
    note = page.locator("#source-note")
    assert note.inner_text() == "This model knows 0 to 5. Left out: x ¡."
    for text in ("314", "３１４", "3，1、4", "3,1, 4"):
        typed(page, text)
        assert (note.inner_text(), lines(page)) == ("", ["4 1 3"])
    typed(page, "zwölf")                                               # the last picture stays
    still = " Type something like 3 1 4 1 5. Below still stands the answer to 3,1, 4."
    assert note.inner_text() == "This model knows 0 to 5. Left out: zwölf." + still
    assert (lines(page), page.evaluate("view.text")) == (["4 1 3"], "3,1, 4")
    pale = "e => Number(getComputedStyle(e).opacity)"
    assert [page.locator(place).evaluate(pale) for place in PALE] == [.25] * len(PALE)
    typed(page, "")
    assert note.inner_text() == "Nothing typed yet." + still
    assert page.locator("#answers").evaluate(pale) == .25
    typed(page, "1 " * 30)
    typed(page, "")
    assert note.inner_text().endswith(f"the answer to {'1 ' * 19}1….")
    typed(page, "1 " * 8)
    assert page.get_by_role("grid").count() == 1
    assert note.inner_text() == "8 tokens; it was trained on at most 6."
    typed(page, "1 " * 80)
    assert note.inner_text().startswith("Of 80 tokens it reads the first 57;")


def test_a_new_text_is_explained_from_its_first_token(page):
    typed(page, "3 1 4")
    page.locator("[data-place='0-2']").click()
    typed(page, "0 5")
    assert page.evaluate("view.query") == 0
    assert page.locator("#half-0 .best caption").inner_text() == "Most probable for token 1"


def test_the_encoder_has_no_chances_and_no_walk(page):
    for kind, count in ((0, 0), (2, 1)):
        page.locator("#kind").select_option(index=kind)
        assert [page.locator(place).is_visible() for place in ("#half-0 .best", "#next")] == (
            [bool(count)] * 2)


def test_the_old_picture_pales_while_it_computes(page):
    page.evaluate("""() => {
      const real = think_on;
      seen = [];
      think_on = (one) => {
        for (const end = performance.now() + 60; performance.now() < end; );
        real(one);
        seen.push(pale());
      };
      pale = () => Number(getComputedStyle(element("maps")).opacity);
    }""")
    page.get_by_role("textbox", name="You type").fill("1 2 3 4 5 0")
    page.wait_for_function("() => seen.includes(0.25)")                # while it computes
    settled(page)
    assert page.evaluate("pale()") == 1


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
    page.locator(".flow-token").nth(5).click()                         # the second that is written
    assert page.evaluate("view.query") == 1
    assert set(page.locator(".curve.lit").evaluate_all(
        "(all) => all.map((one) => one.dataset.query)")) == {"1"}
    page.locator(".flow-token").nth(6).hover()
    assert set(page.locator(".curve.lit").evaluate_all(
        "(all) => all.map((one) => one.dataset.query)")) == {"2"}
    assert page.locator(".weight-of").all_text_contents() == [f"{max(weights[2]):.2f}"]
    best, why = page.locator(".best tbody th").first, page.locator("#half-0 .because")
    assert (best.inner_text(), page.evaluate("view.query")) == ("3", 1)  # of what is pointed at
    api.expect(why).to_contain_text("Why “3”?")
    page.mouse.move(1, 1)
    assert best.inner_text() == "1"                                    # and again of the chosen one
    api.expect(why).to_contain_text("Why “1”?")
    page.locator(".flow-token").nth(0).click()                         # a token of the source
    assert page.evaluate("[view.query, view.key]") == [1, 0]
    most = int(weights[1].argmax())                                    # it keeps its frame
    assert set(page.locator(".weight-of").all_text_contents()) == {
        f"{weights[1, key]:.2f}" for key in (most, 0)}
    assert page.locator(".curve.largest").get_attribute("data-key") == f"{most}"
    assert page.locator(".read").text_content() == f"{'314'[most]}" * 2  # with its title


def test_to_point_at_a_token_moves_both_halves(page):
    typed(page, "3 1 4 1 5")
    flip(page, "No positions")
    place = page.evaluate("view.query")
    for side, t in ((0, 2), (1, 1), (0, 0), (0, 5)):
        page.locator(f"#half-{side} .scroll .query").nth(t).hover()
        rows = page.evaluate("thoughts.map(({ steps }) => steps.length)")
        for half, row in enumerate(min(t, count - 1) for count in rows):
            assert page.locator(f"#half-{half} .scroll .lit rect").count() == 1
            assert page.locator(f"#half-{half} .scroll .curve.largest").get_attribute(
                "data-query") == f"{row}"
            weights = page.evaluate("""([half, row]) =>
              [...attended(thoughts[half]).cache.weights[view.head].row(row)]""", [half, row])
            assert page.locator(f"#half-{half} .scroll .weight-of").text_content() == (
                f"{max(weights):.2f}")
            assert page.locator(f"#half-{half} .best caption").inner_text() == (
                f"Most probable for token {row + 1}")
            token = page.evaluate(
                "([half, row]) => plain_name(names([thoughts[half].steps[row].token])[0])",
                [half, row])
            assert page.locator("#written .row").nth(half).locator(".now").inner_text() == token
            api.expect(page.locator(f"#half-{half} .because")).to_contain_text(f"Why “{token}”?")
    page.mouse.move(1, 1)
    assert page.evaluate("[view.query, pointed]") == [place, None]
    assert page.locator("#written .now.differs").count() == 1          # red, and with a ring
    page.locator("#written .row .ended").first.click()                 # the end is a token, too
    assert page.evaluate("view.query") == 5


def test_it_says_at_once_what_it_is_and_how_often_it_is_right(visit, tmp_path, rng):  # noqa: F811
    file = tmp_path / "page.html"
    metrics = dict(exact_match=0.995, held_out=2000, steps=400, seconds=23.6, files=["secret"])
    file.write_text(page_of(random_model(VARIANTS[0], 7, rng), title="", metrics=metrics),
                    encoding="utf-8")
    assert "secret" not in file.read_text(encoding="utf-8")
    page = visit(file)
    settled(page)
    assert page.locator("h1").inner_text() == page.title() == "This model copies a list of digits"
    assert page.locator("#about").inner_text() == (
        "A Transformer that learned this from examples alone. It got 1990 of 2000 unseen lists"
        " right. Type another one.")
    assert "400 steps, 24 seconds" in page.locator("#footer").inner_text()


def test_a_word_with_a_dotted_line_is_explained(page):
    page.locator(".term", has_text="queries").click()
    assert page.locator("#term").inner_text().startswith("A query is what a token asks for")
    page.keyboard.press("Escape")
    assert not page.locator("#term").is_visible()


# ---- step through ------------------------------------------------------------------------------


def test_every_box_of_figure_1_says_what_comes_out(page, run):
    typed(page, "3 1 4")
    seen = []
    for box in range(page.evaluate("boxes_of(thoughts[0]).length")):
        page.evaluate("(box) => choose_box(box)", box)
        name = page.locator("#box h3").inner_text()
        assert page.locator("#boxes [aria-current='step']").inner_text() == name
        seen.append((name, page.locator("#box p", has_text="What comes out").inner_text()))
    layer = ["Multi-Head Attention", "Add & Norm", "Feed Forward", "Add & Norm"]
    decoder = ["Masked Multi-Head Attention", "Add & Norm", "Multi-Head Attention over the encoder",
               "Add & Norm", "Feed Forward", "Add & Norm"]
    assert [name for name, _ in seen] == [
        "Input Embedding", "Positional Encoding", *layer * 2, "Output Embedding (shifted right)",
        "Positional Encoding", *decoder * 2, "Linear", "Softmax"]
    says = "What comes out: 4 tokens, {} numbers each. Blue is negative, orange positive."
    assert {shape for _, shape in seen[:-1]} == {says.format(32), says.format(9)}
    assert seen[-1][1] == ("What comes out: 4 tokens, 9 probabilities each. The more orange, the"
                           " more probable.")
    page.locator("#boxes").get_by_role("button", name="Linear").press("Enter")
    assert page.locator("#box h3").inner_text() == "Linear"
    assert page.locator("#box code").first.inner_text() == "logits = x E^T"
    assert page.evaluate("document.activeElement.textContent") == "Linear"
    page.locator("#boxes").get_by_role("button", name="Add & Norm").last.click()
    assert page.locator("#box h3").inner_text() == "Add & Norm"
    assert page.locator("#box code").nth(1).inner_text() == "model.decoder.layers.1.add_norm_3"
    page.get_by_role("button", name="Next box").click()
    assert page.locator("#box h3").inner_text() == "Linear"


# ---- for everybody -----------------------------------------------------------------------------


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


@pytest.fixture(scope="module")
def axe(tmp_path_factory):
    folder = installed(tmp_path_factory.mktemp("npm"), "axe-core@4")
    return (folder / "axe-core" / "axe.min.js").read_text(encoding="utf-8")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("changes", [{}, dict(factor=2, positions=False)], ids=["as is", "changed"])
def test_axe_finds_nothing(visit, path, axe, scheme, changes):  # noqa: F811
    page = visit(path, color_scheme=scheme)
    settled(page)
    page.evaluate("(changes) => change(changes)", changes)
    settled(page)
    page.evaluate("document.querySelectorAll('details').forEach((one) => (one.open = true))")
    page.evaluate(axe)
    found = page.evaluate("axe.run()")
    assert [(v["id"], [n["html"][:150] for n in v["nodes"]][:2]) for v in found["violations"]] == []
    assert len(found["passes"]) > 20


@pytest.mark.parametrize(("size", "scheme"), [
    (dict(width=360, height=740), "light"), (dict(width=640, height=360), "dark"),
    (dict(width=1280, height=720), "light"), (PHONE, "dark"),
])
def test_nothing_sticks_out_of_the_window(visit, path, size, scheme):  # noqa: F811
    """640 x 360 is a projector of 1280 x 720 at 200 %."""
    page = visit(path, viewport=size, color_scheme=scheme)
    settled(page)
    for text, changes in (("3 1 4", {}), ("1 2 3 4 5 0 1 2 3 4 5 0", dict(positions=False))):
        typed(page, text)
        page.evaluate("(changes) => change(changes)", changes)
        settled(page)
        assert page.evaluate("document.documentElement.scrollWidth") <= size["width"]


@pytest.mark.parametrize("width", [360, 390, 1280])
def test_four_heads_stand_in_one_row(visit, tmp_path, rng, width):  # noqa: F811
    """Also where those of the changed model stand beside them."""
    path = tmp_path / "four.html"
    path.write_text(page_of(Transformer(7, N=2, d_model=16, d_ff=16, h=4, rng=rng)), "utf-8")
    page = visit(path, "#src=3+4+5&kind=encoder_self", viewport=dict(width=width, height=740))
    for changes in ({}, dict(positions=False)):
        page.evaluate("(changes) => change(changes)", changes)
        settled(page)
        rows = page.locator(".layer").evaluate_all("""layers => layers.map(layer => new Set(
            [...layer.querySelectorAll(".head")].map(head => head.offsetTop)).size)""")
        assert rows == [1, 1]
    assert page.locator(".head").count() == 8


@pytest.mark.parametrize(("width", "height"), [(1280, 720), (1440, 900), (853, 480), (360, 740)])
def test_the_answer_the_switch_and_the_picture_are_seen_together(visit, path, width, height):  # noqa: F811
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


def test_on_a_phone_the_changed_picture_comes_into_view_after_a_guess(visit, path):  # noqa: F811
    page = visit(path, viewport=dict(width=360, height=640))
    settled(page)
    assert page.locator("#written .ended").is_visible()
    assert max(box["height"] for box in page.locator(".switch").evaluate_all(
        "all => all.map((one) => one.getBoundingClientRect().toJSON())")) < 45  # two lines
    flip(page, "No positions")
    page.wait_for_function(
        "() => half(1).drawing.getBoundingClientRect().bottom <= innerHeight + 1")


@pytest.mark.parametrize(("width", "height"), [(1280, 720), (1440, 900)])
@pytest.mark.parametrize("switch", ["No positions", "Mute head"])
def test_a_switch_leaves_heads_labels_and_probabilities_in_their_places(
        visit, path, width, height, switch):  # noqa: F811
    page = visit(path, viewport=dict(width=width, height=height))
    settled(page)
    places = """() => {
      const top = document.querySelector("#maps").getBoundingClientRect().y;
      const all = [...document.querySelectorAll("#kind, .head")];
      const boxes = all.map((one) => one.getBoundingClientRect());
      const labels = [...document.querySelectorAll(".flow-label")].map((one) => one.textContent);
      return [boxes.map(({ x, y }) => [x, y - top]), [...new Set(labels)]];
    }"""
    before = page.evaluate(places)
    assert len(before[0]) == 5
    flip(page, switch)
    assert page.evaluate("thoughts.length") == 2
    assert page.evaluate(places) == before


def test_printed_it_shows_the_answer_the_maps_and_the_numbers(page):
    flip(page, "No positions")
    page.emulate_media(media="print")
    for name in (".switch", ".buttons", "#corner"):
        assert not page.locator(name).first.is_visible()
    for name in ("#written", "#outcome", "#half-1 .best", "#grids", "#why", "#boxes", "#box"):
        assert page.locator(name).is_visible()
    assert page.locator("#map").evaluate("e => getComputedStyle(e).breakInside") == "avoid"
    assert page.locator("#map #ramp").is_visible()                     # the legend goes with it
    assert len(page.pdf()) > 10_000
    page.locator("#figure").evaluate("e => (e.open = false)")
    assert not page.locator("#figure").is_visible()                    # what is folded is not there


def test_without_a_script_the_reason_is_there(visit, path):  # noqa: F811
    page = visit(path, java_script_enabled=False)
    assert not page.locator("#app").is_visible()
    assert "needs JavaScript" in page.locator("noscript p").first.inner_text()
    assert "这需要 JavaScript" in page.locator("noscript p[lang='zh-Hans']").inner_text()
    assert not page.locator("#languages").is_visible()


def test_light_and_dark_follow_the_system_and_a_projector_is_light(visit, path):  # noqa: F811
    ground = "e => getComputedStyle(e).backgroundColor"
    for scripts in (True, False):
        page = visit(path, color_scheme="dark", java_script_enabled=scripts)
        assert page.locator("body").evaluate(ground) == "rgb(18, 21, 27)"
        page.emulate_media(color_scheme="light")
        assert page.locator("body").evaluate(ground) == "rgb(251, 250, 247)"
    page = visit(path, color_scheme="dark")
    page.get_by_role("button", name="Present").click()
    assert page.locator("body").evaluate(ground) == "rgb(251, 250, 247)"


# ---- hostile -----------------------------------------------------------------------------------


def test_hostile_texts_stay_text(visit, tmp_path, rng):  # noqa: F811
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


def test_the_policy_forbids_every_request_and_every_other_script(chromium, path):  # noqa: F811
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
