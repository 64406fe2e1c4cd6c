"""The tour of five steps, the view for a projector, and the drawing of Figure 1, in Chromium."""


import pytest
from browser import api, settled
from test_live_browser import flip, typed

pytestmark = pytest.mark.slow


def test_the_tour_asks_and_then_shows(page):
    typed(page, "0 1 2")
    before = page.url
    page.get_by_role("button", name="▶ Tour").click()
    settled(page)
    best, seen = page.locator(".best").first, []
    for step in range(5):
        assert page.locator("#tour-heading").inner_text() == f"Tour, step {step + 1} of 5"
        assert page.locator("#tour-out").inner_text() == ""
        assert best.evaluate("e => getComputedStyle(e).visibility == 'hidden'") == (step < 3)
        assert page.evaluate("document.activeElement.id") == "tour-question"
        asked = page.url
        page.locator("#guess-1").click()
        settled(page)
        page.wait_for_function("() => !playing")                           # the first step plays
        if step == 4:                                                  # another order is tried
            api.expect(page.locator("#tour-out")).to_contain_text("cannot tell")
        assert page.locator("#tour-choices button:enabled").count() == 0  # a guess is made once
        happened = page.locator("#tour-choices .happened").inner_text().removeprefix("✓ ")
        sign, guessed = page.locator("#guess-1").inner_text().split(" ", 1)
        assert sign == ("✓" if guessed == happened else "✗")
        assert page.locator("#tour-out .verdict").inner_text() == (
            f"You guessed right: {guessed}." if happened == guessed
            else f"You guessed: {guessed}. In fact: {happened}.")
        seen.append((asked, page.url, page.locator("#tour-out").inner_text()))
        page.locator("#tour-next").click()
        settled(page)
    assert not page.locator("#tour").is_visible()
    assert page.url == before                                          # the reader's own text
    right = sum(out.startswith("You guessed right: ") for _, _, out in seen)
    assert f"You guessed {right} of 5 right." in page.locator("#tour-closing").inner_text()
    assert seen[0][2].startswith("You guessed right: one token after another, from the left.")
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
    def told(step):
        page.evaluate(f"location.hash = 'tour={step}&guess=0'")
        page.wait_for_function(f"() => view.tour === {step}")
        settled(page)
        return page.locator("#tour-out")

    out = told(1).inner_text()
    weights = page.evaluate("[...attended(thoughts[0]).cache.weights[view.head].row(1)]")
    place = max(range(len(weights)), key=weights.__getitem__)
    assert f"(token {place + 1} of the source), with weight {weights[place]:.2f}:" in out
    out = told(2).inner_text()
    (first, share), (second, less) = page.evaluate("best(thoughts[0].steps[2].row, 2)")
    assert f"It wrote {first}, with probability {share:.2f}." in out
    assert f"Second most probable: “{second}”, with {less:.2f}." in out
    assert page.locator("#half-0 .best caption").inner_text() == "Most probable for token 3"
    api.expect(told(4)).to_contain_text(
        "Without positions it cannot tell this from its reverse, “5 1 4 1 3”: both get"
        " this same answer.")


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
    api.expect(page.locator("#tour-out")).to_contain_text("In fact: one token after")
    assert page.evaluate("walked") == [[n, ""] for n in range(7)]      # seen before it is told


def test_a_clicker_walks_and_goes_through_the_tour(page):
    page.locator("#present").click()
    page.evaluate("go_to(0)")
    for key, count in ((" ", 1), ("PageDown", 2), ("ArrowRight", 3), ("PageUp", 2)):
        page.keyboard.press(key)
        assert page.evaluate("view.written") == count, key
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
    flip(page, "No positions")
    for key, count in (("PageDown", 0), (" ", 1), ("PageDown", 2), ("ArrowLeft", 1)):
        page.keyboard.press(key)
        assert page.evaluate("[view.written, is_on('positions')]") == [count, True], key


def test_escape_ends_the_tour(page):
    page.locator("#tour-begin").press("Enter")
    settled(page)
    page.locator("#present").click()
    page.keyboard.press("Escape")                                      # both at once
    settled(page)
    assert page.evaluate("[view.tour, is_present()]") == [None, False]


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


@pytest.mark.parametrize(("width", "height"), [(1280, 720), (853, 480), (1920, 1080)])
@pytest.mark.parametrize("address", ["", "#what-if=positions", "#tour=4&guess=1"])
def test_at_a_projector_every_digit_is_a_fortieth_of_the_height(
        visit, path, width, height, address):
    page = visit(path, address, viewport=dict(width=width, height=height))
    settled(page)
    page.get_by_role("button", name="Present").click()
    sizes = page.evaluate(LETTERS)
    assert len(sizes) >= 20
    assert [one for one in sizes if one[0] < height / 40] == []
    for name, most in (("Width", width), ("Height", height)):
        assert page.evaluate(f"document.documentElement.scroll{name}") <= most


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


@pytest.mark.parametrize(("motion", "name"), [("no-preference", "flows"), ("reduce", "none")])
def test_what_is_lit_flows_unless_motion_is_reduced(visit, path, motion, name):
    page = visit(path, reduced_motion=motion)
    settled(page)
    page.locator(".flow-token").nth(-2).click()
    lit = page.locator(".curve.lit").first
    assert lit.evaluate("e => getComputedStyle(e).animationName") == name
