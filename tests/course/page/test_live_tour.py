"""The tour of five steps, the view for a projector, and the drawing of Figure 1, in Chromium."""

import math

import pytest
from browser import api, chromium, visit  # noqa: F401
from test_live_browser import axe, path, run, settled, typed, unfold  # noqa: F401

pytestmark = pytest.mark.slow


@pytest.fixture
def page(visit, path):  # noqa: F811
    page = visit(path)
    settled(page)
    unfold(page)
    return page


def hidden(page, place):
    """Whether what a question asks for is out of sight."""
    return page.locator(place).first.evaluate("e => getComputedStyle(e).visibility") == "hidden"


def test_the_tour_asks_and_then_shows(page):
    typed(page, "0 1 2")
    page.locator("#head-0-1").check(force=True)
    settled(page)
    before = page.url
    page.get_by_role("button", name="▶ Tour").click()
    settled(page)
    seen = []
    for step in range(5):
        assert page.locator("#tour-heading").inner_text() == f"Tour, step {step + 1} of 5"
        assert page.locator("#tour-choices button").count() == 3
        assert page.locator("#tour-out").inner_text() == ""
        assert hidden(page, ".best") == hidden(page, "#cell") == (step < 3)
        assert f"tour={step}" in page.url
        assert "guess" not in page.url
        part = ["muted", "positions"][step - 3] if step > 2 else None
        shown = page.locator(".change:visible").evaluate_all("all => all.map(e => e.dataset.part)")
        assert shown == ([part] if part else [])
        asked = page.url
        assert page.evaluate("document.activeElement.id") == "tour-question"
        assert page.locator("#tour-back").is_visible() == (step > 0)
        if step == 3:
            page.locator("#tour-back").click()
            settled(page)
            assert page.locator("#tour-heading").inner_text() == "Tour, step 3 of 5"
            page.evaluate("go_on_tour(3)")
            settled(page)
        page.locator("#guess-1").click()
        settled(page)
        page.wait_for_function("() => !playing")                           # the first step plays
        assert page.locator("#tour-heading").is_visible()
        assert f"tour={step}&guess=1" in page.url
        assert not hidden(page, ".best")
        if step == 4:                                                  # another order is tried
            api.expect(page.locator("#tour-out")).to_contain_text("cannot tell")
        assert page.locator("#tour-choices button:enabled").count() == 0  # a guess is made once
        assert page.locator("#tour-question").is_visible()
        happened = page.locator("#tour-choices .happened").inner_text().removeprefix("✓ ")
        guessed = page.locator("#guess-1").inner_text()
        assert guessed[:2] == ("✓ " if guessed[2:] == happened else "✗ ")
        guessed = guessed[2:]
        assert page.locator("#tour-out .verdict").inner_text() == (
            f"You guessed right: {guessed}." if happened == guessed
            else f"You guessed: {guessed}. In fact: {happened}.")
        seen.append((asked, page.url, page.locator("#tour-out").inner_text()))
        page.locator("#tour-next").click()
        settled(page)
    assert not page.locator("#tour").is_visible()
    assert page.url == before                                          # the reader's own text
    assert page.locator("#source").input_value() == "0 1 2"
    told = page.locator("#tour-closing").inner_text()
    right = sum(out.startswith("You guessed right: ") for _, _, out in seen)
    assert f"You guessed {right} of 5 right." in told
    page.get_by_role("button", name="Type your own").click()
    assert page.evaluate("document.activeElement.id") == "source"
    assert not page.locator("#tour-closing").is_visible()
    assert seen[0][2].startswith("You guessed right: one token after another, from the left.")
    assert "what-if=positions" in seen[4][1]
    assert "what-if" not in seen[4][0]
    layer, head = page.evaluate("[START.layer, START.head]")
    assert f"what-if=mute:decoder.layers.{layer}.cross_attention:{head}" in seen[3][1]
    for asked, answered, out in seen:                                  # each is an address
        for address, words in ((asked, ""), (answered, out)):
            page.goto("about:blank")
            page.goto(address)
            settled(page)
            assert page.url == address
            api.expect(page.locator("#tour-out")).to_have_text(words)


def test_what_the_tour_tells_is_what_the_page_computed(page):
    page.evaluate("location.hash = 'tour=1&guess=0'")
    page.wait_for_function("() => view.tour === 1")
    settled(page)
    weights = page.evaluate("[...attended(thoughts[0]).cache.weights[view.head].row(1)]")
    place = max(range(len(weights)), key=weights.__getitem__)
    out = page.locator("#tour-out").inner_text()
    assert f"(token {place + 1} of the source), with weight {weights[place]:.2f}:" in out
    names = page.locator("#tour-choices button").all_inner_texts()
    assert sum(f"(token {place + 1} of" in name for name in names) == 1
    page.evaluate("location.hash = 'tour=2&guess=0'")
    page.wait_for_function("() => view.tour === 2")
    settled(page)
    share = page.evaluate("best(shown(thoughts[0]).logits.row(2), 1)[0][1]")
    assert f"with probability {share:.2f}." in page.locator("#tour-out").inner_text()
    page.evaluate("location.hash = 'tour=4&guess=0'")
    page.wait_for_function("() => view.tour === 4")
    settled(page)
    api.expect(page.locator("#tour-out")).to_contain_text(
        "Without positions it cannot tell this from its reverse, “5 1 4 1 3”: both get"
        " this same answer.")


def test_what_became_of_an_answer_is_told_from_its_tokens(page):
    """Which choice of step 5 happened: the same, in another order, or tokens lost or new."""
    happened = page.evaluate("""() => {
      const [a, b, c] = [3, 4, 5], before = [a, b, c];
      return [[a, b, c], [c, a, b], [b, c], [b, c, c, a]].map((answer) =>
        SWITCHES.positions.happened(difference(before, answer)));
    }""")
    assert happened == [0, 1, 2, 2]
    counts = page.evaluate("[[3, 4], [3, 4, 4], [4, 3], []].map((one) =>"
                           " difference([3, 4], one).count)")
    assert counts == [0, 1, 2, 2]


def test_the_first_step_plays_what_it_tells(page):
    page.locator("#tour-begin").click()
    settled(page)
    page.evaluate("""() => {
      const real = go_to;
      self.walked = [];
      go_to = (place) => {
        real(place);
        walked.push([view.written, element("tour-out").textContent]);
      };
    }""")
    page.locator("#guess-0").click()
    out = page.locator("#tour-out")
    api.expect(out).to_contain_text("You guessed: all tokens at once. In fact: one token after")
    assert page.evaluate("walked") == [[n, ""] for n in range(7)]      # seen before it is told
    assert page.url.endswith("tour=0&guess=0")
    row = page.evaluate("[...attended(thoughts[0]).cache.weights[view.head].row(view.query)]")
    assert page.evaluate("view.key") == row.index(max(row))            # what is lit is explained


def test_the_third_step_shows_the_third_token_and_its_chances(visit, path):  # noqa: F811
    page = visit(path, "#tour=2&guess=1")
    settled(page)
    assert page.locator("#written .tokens").inner_text().split() == ["5", "1"]
    assert page.locator("#written .coming").inner_text() == "4"
    assert page.locator("#half-0 .best caption").inner_text() == "Most probable for token 3"
    (first, share), (second, less) = page.evaluate("best(thoughts[0].steps[2].row, 2)")
    assert page.locator("#tour-out").inner_text().endswith(
        f"It wrote {first}, with probability {share:.2f}."
        f" Second most probable: “{second}”, with {less:.2f}."
        " It always writes the most probable one.")
    assert not page.locator("#keys").is_visible()
    page.locator("#present").click()
    for place in ("#half-0 .best", "#keys"):
        assert page.locator(place).is_visible()


def test_a_clicker_walks_and_goes_through_the_tour(page):
    page.locator("#present").click()
    page.evaluate("go_to(0)")
    for key, count in ((" ", 1), ("PageDown", 2), ("ArrowRight", 3), ("PageUp", 2)):
        page.keyboard.press(key)
        assert page.evaluate("view.written") == count, key
    assert page.evaluate("is_present()")
    page.locator("#tour-begin").click()
    settled(page)
    page.keyboard.press("PageUp")                                      # there is none before
    seen = []
    for _ in range(10):
        seen.append(page.evaluate("[view.tour, view.guess]"))
        page.keyboard.press("PageDown")
        settled(page)
    assert seen == [[step, guess] for step in range(5) for guess in (None, 3)]
    assert page.evaluate("[view.tour, is_present()]") == [None, True]


def test_at_a_projector_keys_go_on_after_a_switch(page):
    page.get_by_role("button", name="Present").click()
    page.locator("#if-positions").click()
    page.get_by_role("button", name="just show me").click()
    settled(page)
    for control, on in ((None, True), ("#if-positions", False)):
        if control:
            page.locator(control).click()                              # off
            settled(page)
        assert page.evaluate("view.written") == math.inf
        for key, count in (("PageDown", 0), (" ", 1), ("PageDown", 2), ("ArrowLeft", 1)):
            page.keyboard.press(key)
            assert page.evaluate("[view.written, is_on('positions')]") == [count, on], key


def test_escape_ends_the_tour(page):
    page.locator("#tour-begin").press("Enter")
    settled(page)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.id") == "guess-0"
    page.keyboard.press("Escape")
    assert page.evaluate("[view.tour, document.activeElement.id]") == [None, "tour-begin"]
    page.evaluate("location.hash = 'tour=3&guess=1'")
    page.wait_for_function("() => view.tour === 3")
    settled(page)
    page.locator("#present").click()
    page.keyboard.press("Escape")                                      # both at once
    settled(page)
    assert page.evaluate("[view.tour, is_present()]") == [None, False]


def test_on_a_phone_both_pictures_and_what_is_to_be_read_come_before_the_buttons(visit, path):  # noqa: F811
    page = visit(path, viewport=dict(width=360, height=740))
    for step in (3, 4):
        page.evaluate(f"location.hash = 'tour={step}&guess=1'")
        page.wait_for_function(f"() => view.tour === {step} && thoughts.length === 2")
        settled(page)
        page.evaluate("scrollTo(0, 0)")
        page.wait_for_function("() => thoughts[1].further")            # all is said
        top, end, bottom = page.evaluate("""[element("tour-steps").getBoundingClientRect().top,
          element("tour-out").getBoundingClientRect().bottom,
          Math.max(...[...document.querySelectorAll("#flow svg")].map(
            (one) => one.getBoundingClientRect().bottom))]""")
        assert end <= top
        assert page.locator("#flow svg").count() == 2
        assert bottom <= 740


LETTERS = """() => {
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT), found = [];
  for (let node = walk.nextNode(); node; node = walk.nextNode()) {
    const parent = node.parentElement;
    if (!/[0-9]/.test(node.data) || !parent.checkVisibility()) continue;
    if (parent.closest(".unseen")) continue;
    const scale = parent.getScreenCTM?.().a ?? 1;
    found.push([scale * parseFloat(getComputedStyle(parent).fontSize), node.data]);
  }
  return found;
}"""


NEAREST = """() => {  // the least room between a text and the edges of the window
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT), room = [];
  for (let node = walk.nextNode(); node; node = walk.nextNode()) {
    if (!node.data.trim() || !node.parentElement.checkVisibility()) continue;
    if (node.parentElement.closest(".unseen, option, noscript, tspan, title")) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    for (const { left, right, bottom } of range.getClientRects())
      room.push(left, innerWidth - right, innerHeight - bottom);
  }
  return Math.min(...room);
}"""


@pytest.mark.parametrize(("width", "height"), [(1280, 720), (853, 480), (1920, 1080)])
@pytest.mark.parametrize("address", ["", "#what-if=positions", "#tour=4&guess=1"])
def test_at_a_projector_every_digit_is_a_fortieth_of_the_height(
        visit, path, width, height, address):  # noqa: F811
    page = visit(path, address, viewport=dict(width=width, height=height))
    settled(page)
    page.get_by_role("button", name="Present").click()
    sizes = page.evaluate(LETTERS)
    assert len(sizes) >= 20
    assert [one for one in sizes if one[0] < height / 40] == []
    assert page.evaluate("document.documentElement.scrollHeight") <= height
    for name in ("#why", "#figure", "#examples"):
        assert not page.locator(name).first.is_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate(NEAREST) >= height / 120
    for name in ("h1", "#keys", "#next"):
        assert page.locator(name).is_visible() or "tour" in address, name
    assert page.locator("#if-positions").is_visible()
    assert page.locator(".because").first.is_visible() != ("tour" in address)
    assert page.locator("#if-causal").is_visible() != ("tour" in address)
    page.keyboard.press("Escape")
    assert page.locator("#map").is_visible() != ("tour=0" in address)


def test_choosing_an_attention_box_chooses_its_maps(page):
    for name, kind in (("Multi-Head Attention", "encoder_self"),
                       ("Masked Multi-Head Attention", "decoder_self"),
                       ("Multi-Head Attention over the encoder", "cross")):
        page.locator("#boxes").get_by_role("button", name=name, exact=True).click()
        assert page.evaluate("view.kind") == kind
        assert page.locator("#kind").evaluate("e => e.selectedIndex") == page.evaluate(
            "KINDS.indexOf(view.kind)")
    assert page.evaluate("view.layer") == 1
    page.locator("#decoder-layer").click()                             # the other layer
    assert page.evaluate("[view.kind, view.layer]") == ["cross", 0]
    assert page.locator("#boxes [aria-current]").inner_text() == (
        "Multi-Head Attention over the encoder")
    assert page.locator("#head-0-0").is_checked()


def test_figure_1_has_tokens_at_its_foot_and_probabilities_at_its_top(page):
    texts = page.locator("#boxes svg text").all_text_contents()
    assert texts[:4] == ["3 1 4 1 5 end", "Source", "start 5 1 4 1 3", "Written so far"]
    best = page.evaluate("best(shown(thoughts[0]).logits.row(0), 3)")
    assert texts[4:] == [text for token, share in best for text in (
        {"<bos>": "start", "<eos>": "end"}.get(token, token), f"{share:.2f}")]
    shapes = "(all) => all.map((e) => e.getAttribute('d'))"
    paths = page.locator("#boxes .wire").evaluate_all(shapes)
    memory = [d for d in paths if d.startswith("M30") and "H50" in d]
    assert len(memory) == 1                                            # encoder to decoder
    assert "H66" in memory[0]
    around = [d for d in paths if "H12.7" in d or "H87.3" in d]
    assert len(around) == 2 + 3                                        # one for each sub-layer


@pytest.mark.parametrize(("motion", "name"), [("no-preference", "flows"), ("reduce", "none")])
def test_what_is_lit_flows_unless_motion_is_reduced(visit, path, motion, name):  # noqa: F811
    page = visit(path, reduced_motion=motion)
    settled(page)
    unfold(page)
    lit, shown = page.locator(".curve.lit").first, "e => getComputedStyle(e).animationName"
    page.locator(".flow-token").nth(-2).click()
    assert lit.evaluate(shown) == name
    page.locator("#box-1").click()                                     # nothing moves
    assert lit.evaluate(shown) == "none"


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("address", ["#tour=1", "#tour=3&guess=1&lang=zh"])
def test_axe_finds_nothing_on_the_tour_and_at_a_projector(visit, path, axe, scheme, address):  # noqa: F811
    page = visit(path, address, color_scheme=scheme)
    settled(page)
    page.evaluate(axe)
    for _ in range(2):
        found = page.evaluate("axe.run()")["violations"]
        assert [(v["id"], [n["html"][:150] for n in v["nodes"]][:2]) for v in found] == []
        page.locator("#present").click()
