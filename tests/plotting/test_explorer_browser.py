"""The attention explorer as it is used: in Chromium, by mouse, by keys and without JavaScript."""

import re
from contextlib import ExitStack, contextmanager

import numpy as np
import pytest
from browser import chromium  # noqa: F401

from aiayn_np.plotting.explorer import SCALE, Attention, explore, write_explorer

pytestmark = pytest.mark.slow

SOURCES = [["3", "1", "4", "<eos>"], ["<bos>", "</script>", "&amp;", "שלום", "🙂", "\"'", ""]]
TARGET = ["<bos>", "4", "1"]
WIDE, PHONE = {"width": 1280, "height": 900}, {"width": 390, "height": 844}


@pytest.fixture(scope="module")
def maps():
    """Weights by (sequence, kind), each 2 layers x 2 heads; decoder self-attention is masked."""
    rng, found = np.random.default_rng(0), {}
    for i, source in enumerate(SOURCES):
        for kind, T_q, T_k in [("encoder_self", len(source), len(source)), ("decoder_self", 3, 3),
                               ("cross", 3, len(source))]:
            weights = rng.dirichlet(np.full(T_k, 0.5), (2, 2, T_q))
            if kind == "decoder_self":
                weights = (weights + 0.01) * np.tri(3)
                weights /= weights.sum(-1, keepdims=True)
            found[i, kind] = weights
    return found


@pytest.fixture(scope="module")
def path(tmp_path_factory, maps):
    examples = []
    for i, source in enumerate(SOURCES):
        masks = [np.tri(3, dtype=bool)] * 2
        examples.append((" ".join(source), [
            Attention("Encoder", source, source, maps[i, "encoder_self"], kind="encoder_self"),
            Attention("Decoder", TARGET, TARGET, maps[i, "decoder_self"], masks, "decoder_self"),
            Attention("Cross", TARGET, source, maps[i, "cross"], kind="cross"),
        ]))
    folder = tmp_path_factory.mktemp("a page")
    return write_explorer(folder / "explore.html", examples, title="A </title> & more")


@pytest.fixture
def visit(chromium):  # noqa: F811
    """visit(path, address) opens the page; what it asks for or complains of fails the test."""
    with ExitStack() as stack:
        def visit(path, address="", **options):
            return stack.enter_context(opened(chromium, path, address, **options))

        yield visit


@contextmanager
def opened(chromium, path, address, **options):  # noqa: F811
    context = chromium.new_context(**dict(viewport=WIDE, color_scheme="light") | options)
    page, asked, complaints = context.new_page(), [], []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto(path.as_uri() + address)
    yield page
    context.close()
    assert {url.split("#")[0] for url in asked} == {path.as_uri()}
    assert complaints == []


def cell(page, query, key):
    return page.locator("#grid tbody tr").nth(query).locator("td").nth(key)


def said(page):
    return page.locator("#focus").inner_text()


def weight(number):
    return f"weight {round(number * SCALE) / SCALE:.3f}"


def test_the_map_shows_every_weight_in_its_place(visit, path, maps):
    page = visit(path, "#kind=cross&layer=1&head=0")
    head = maps[0, "cross"][1, 0]
    assert page.get_by_role("heading", level=2).first.inner_text() == "Cross: layer 2, head 1"
    assert page.locator("#grid thead th").all_inner_texts() == SOURCES[0]
    assert page.locator("#grid tbody th").all_inner_texts() == TARGET
    for q in range(3):
        for k in range(4):
            name = cell(page, q, k).get_attribute("aria-label")
            assert f"weight {name}" == weight(head[q, k])
    assert page.title() == page.locator("h1").inner_text() == "A </title> & more"


def test_the_colours_run_from_0_to_1_whatever_the_weights(visit, tmp_path):
    path = tmp_path / "p.html"
    path.write_text(explore(np.array([[[0.0, 1.0], [0.5, 0.5]]]), "ab", "cd"), encoding="utf-8")
    page = visit(path)
    colors = [cell(page, q, k).evaluate("e => getComputedStyle(e).backgroundColor")
              for q, k in [(0, 0), (0, 1), (1, 0), (1, 1)]]
    assert colors == ["rgb(0, 34, 78)", "rgb(254, 232, 56)", *["rgb(125, 124, 120)"] * 2]
    assert page.locator("#sequence, #kind").evaluate_all(
        "all => all.every(e => e.offsetParent === null)")              # there is nothing to choose


def test_clicks_choose_and_the_address_keeps_it(visit, path, maps):
    page = visit(path)
    page.get_by_label("Sequence").select_option(index=1)
    page.get_by_label("Attention").select_option("Cross")
    page.get_by_role("radio", name="head 2 of layer 2").click()
    cell(page, 2, 3).click()
    assert said(page) == "Query “1” looks at key “שלום” (4 of 7): " + weight(
        maps[1, "cross"][1, 1, 2, 3])
    address = "#sequence=1&kind=cross&layer=1&head=1&query=2&key=3"
    page.wait_for_url(path.as_uri() + address)

    again = visit(path, address)
    assert said(again) == said(page)
    assert again.get_by_role("radio", name="head 2 of layer 2").is_checked()
    assert again.get_by_label("Sequence").evaluate("e => e.selectedIndex") == 1
    again.evaluate("location.hash = '#sequence=0&kind=decoder_self&head=1&query=1&key=2'")
    again.locator("#heading").filter(has_text="Decoder").wait_for()    # the page is told later
    assert again.locator("#heading").inner_text() == "Decoder: layer 2, head 2"
    assert said(again) == "Query “4” may not look at key “1” (3 of 3): masked"


def test_an_address_that_leads_nowhere_shows_what_there_is(visit, path):
    for address in ("#sequence=9&kind=x&layer=-1&head=1.5&query=zzz&key=1e9", "#", "#%", "#<b>"):
        page = visit(path, address)
        assert page.locator("#heading").inner_text() == "Encoder: layer 1, head 1"
        assert said(page).startswith("Query “")


def test_without_a_key_it_shows_the_one_that_is_looked_at_most(visit, path, maps):
    page = visit(path, "#kind=cross&query=1")
    row = maps[0, "cross"][0, 0, 1]
    assert said(page).endswith(weight(row.max()))


def test_pointing_shows_a_cell_and_leaving_goes_back(visit, path, maps):
    page = visit(path, "#kind=cross&query=0&key=0")
    before, head = said(page), maps[0, "cross"][0, 0]
    cell(page, 2, 1).hover()
    assert said(page) == "Query “1” looks at key “1” (2 of 4): " + weight(head[2, 1])
    assert page.locator("#bars .number").all_inner_texts() == [
        weight(w).removeprefix("weight ") for w in head[2]]
    page.locator("#grid tbody th").nth(1).hover()                      # its token: the whole query
    assert page.locator("#query-heading").inner_text() == "Query 2 of 3: “4”"
    page.locator("h1").hover()
    assert said(page) == before


def test_keys_move_through_the_map_and_stop_at_its_borders(visit, path):
    page = visit(path, "#kind=cross&query=0&key=0")
    cell(page, 0, 0).focus()
    at = "e => [e.parentNode.rowIndex - 1, e.cellIndex - 1]"
    for press, query, key in [
        ("ArrowRight", 0, 1), ("ArrowDown", 1, 1), ("End", 1, 3), ("ArrowRight", 1, 3),
        ("Control+End", 2, 3), ("ArrowDown", 2, 3), ("Home", 2, 0), ("ArrowLeft", 2, 0),
        ("ArrowUp", 1, 0), ("Control+Home", 0, 0), ("ArrowUp", 0, 0),
    ]:
        page.keyboard.press(press)
        focused = page.locator(":focus")
        assert focused.evaluate(at) == [query, key], press
        assert page.locator("#grid td[tabindex='0']").evaluate_all(f"a => a.map({at})") == [
            [query, key]]
        assert f"Query “{TARGET[query]}” looks at key “{SOURCES[0][key]}”" in said(page)
        assert focused.get_attribute("aria-label") in said(page)


def test_everything_is_reached_and_chosen_by_keys_alone(visit, path):
    page = visit(path, "#kind=decoder_self")
    names = []
    for _ in range(5):
        page.keyboard.press("Tab")
        names.append(page.evaluate("document.activeElement.id || document.activeElement.tagName"))
    assert names == ["theme", "sequence", "kind", "head-0-0", "TD"]
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("ArrowRight")                                  # the next head
    assert page.locator("#heading").inner_text() == "Decoder: layer 1, head 2"
    page.keyboard.press("ArrowDown")                                   # and on to the next layer
    assert page.locator("#heading").inner_text() == "Decoder: layer 2, head 1"
    page.get_by_label("Sequence").focus()
    page.keyboard.press("ArrowDown")
    page.wait_for_url(re.compile("#sequence=1&kind=decoder_self&layer=1&head=0"))


def test_what_a_screen_reader_is_told(visit, path):
    page = visit(path, "#kind=decoder_self&query=0&key=0")
    grid = page.get_by_role("grid", name="Decoder: layer 1, head 1")
    assert grid.get_by_role("columnheader").all_inner_texts() == TARGET
    assert grid.get_by_role("rowheader").all_inner_texts() == TARGET
    assert grid.get_by_role("gridcell", name="masked").count() == 3
    assert grid.get_by_role("gridcell", name="1.000", exact=True).count() == 1
    assert [grid.get_by_role("row").nth(i).locator("th, td").count() for i in range(4)] == [4] * 4
    group = page.get_by_role("group", name="Layer and head")
    assert group.get_by_role("radio").count() == 4
    assert group.get_by_role("radio", name="head 1 of layer 1").is_checked()
    assert page.get_by_role("status").get_attribute("aria-live") == "polite"
    assert page.get_by_role("status").inner_text().endswith("weight 1.000")
    assert page.get_by_role("combobox", name="Sequence").count() == 1
    assert page.get_by_role("combobox", name="Attention").count() == 1
    assert page.get_by_role("region", name="Query 1 of 3").get_by_role("listitem").count() == 3
    assert page.locator("html").get_attribute("lang") == "en"


def test_masked_is_hatched_and_zero_is_not(visit, tmp_path):
    path = tmp_path / "p.html"
    weights, allowed = np.array([[[1.0, 0.0], [1.0, 0.0]]]), np.array([[True, False], [True, True]])
    path.write_text(explore(weights, "ab", "ab", allowed=allowed), encoding="utf-8")
    page = visit(path)
    ground = "e => getComputedStyle(e).backgroundImage.split('(')[0]"
    assert cell(page, 0, 1).evaluate(ground) == "repeating-linear-gradient"
    assert cell(page, 1, 1).evaluate(ground) == "none"
    assert [cell(page, q, 1).get_attribute("aria-label") for q in (0, 1)] == ["masked", "0.000"]


def test_light_and_dark_follow_the_system_until_they_are_chosen(visit, path):
    ground = "getComputedStyle(document.body).backgroundColor"
    light, dark = "rgb(255, 255, 255)", "rgb(20, 23, 27)"
    page = visit(path, color_scheme="dark")
    assert page.evaluate(ground) == dark
    before = said(page)
    page.get_by_role("button", name="Light colours").click()
    assert page.evaluate(ground) == light
    page.get_by_role("button", name="Dark colours").click()
    assert page.evaluate(ground) == dark
    assert said(page) == before
    assert page.get_by_role("radio", name="head 1 of layer 1").is_checked()
    page = visit(path)
    assert page.evaluate(ground) == light
    page.emulate_media(color_scheme="dark")
    page.get_by_role("button", name="Light colours").wait_for()
    assert page.evaluate(ground) == dark


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_can_be_read(visit, path, scheme):
    """Contrast of at least 4.5 between text and ground, in the map and around it."""
    page = visit(path, "#sequence=1", color_scheme=scheme)
    worst = page.evaluate("""() => {
      const numbers = color => color.match(/[\\d.]+/g).map(Number);
      const light = color => numbers(color).slice(0, 3).map(c => c / 255)
        .map(c => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
        .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
      const ground = e => {
        const color = getComputedStyle(e).backgroundColor;
        return numbers(color)[3] === 0 ? ground(e.parentElement) : color;
      };
      const texts = [...document.querySelectorAll("body *")].filter(
        e => e.offsetParent && [...e.childNodes].some(n => n.nodeType === 3 && n.data.trim()));
      return texts.map(e => {
        const [a, b] = [light(getComputedStyle(e).color), light(ground(e))].sort((x, y) => y - x);
        return [(a + 0.05) / (b + 0.05), e.textContent];
      }).sort((x, y) => x[0] - y[0])[0];
    }""")
    assert worst[0] >= 4.5, worst


@pytest.mark.parametrize("size", [WIDE, PHONE])
def test_nothing_sticks_out_of_the_window(visit, path, size, tmp_path):
    page = visit(path, "#sequence=1", viewport=size)
    assert page.evaluate("document.documentElement.scrollWidth") <= size["width"]
    T = 70
    path = tmp_path / "long.html"
    tokens = [f"token {i}" for i in range(T)]
    path.write_text(explore(np.full((8, T, T), 1 / T), tokens, tokens), encoding="utf-8")
    page = visit(path, "#query=60&key=65", viewport=size)
    assert page.evaluate("document.documentElement.scrollWidth") <= size["width"]
    cell(page, 60, 65).focus()
    page.keyboard.press("ArrowRight")
    assert said(page) == "Query “token 60” looks at key “token 66” (67 of 70): weight 0.014"
    assert page.locator("#bars .on").inner_text().split() == ["token", "66", "0.014"]


def test_a_tap_chooses(visit, path):
    page = visit(path, "#kind=cross", viewport=PHONE, has_touch=True, is_mobile=True)
    cell(page, 2, 3).tap()
    assert said(page).startswith("Query “1” looks at key “<eos>” (4 of 4): ")
    page.locator("h1").tap()
    assert said(page).startswith("Query “1” looks at key “<eos>” (4 of 4): ")


def test_hostile_tokens_are_only_text(visit, tmp_path):
    tokens = ["<bos>", "</script>", "<img src=x onerror=alert(1)>", "&amp;", "</noscript>", "<!--"]
    path = tmp_path / "p.html"
    page_text = explore(np.eye(6)[None], tokens, tokens, title="</title><script>alert(1)</script>")
    path.write_text(page_text, encoding="utf-8")
    for options in ({}, {"java_script_enabled": False}):
        page = visit(path, **options)
        top = page.locator("#grid thead th" if not options else "table .keys th")
        assert [t for t in top.all_inner_texts() if "head" not in t] == tokens
        assert page.locator("img").count() == 0
        assert page.locator("h1").inner_text() == "</title><script>alert(1)</script>"


def test_without_javascript_there_are_plain_tables(visit, path, maps):
    page = visit(path, java_script_enabled=False)
    assert not page.locator("#app").is_visible()
    assert not page.locator("#theme").is_visible()
    assert page.locator("table:visible").count() == 2 * 3 * 2          # sequences, kinds, layers
    rows = page.locator("table:visible").nth(5).locator("tr").all_inner_texts()
    assert rows[0].split() == ["head", "1", *SOURCES[0]]
    assert rows[1].split() == ["<bos>"] + [
        str(round(round(w * SCALE) * 100 / SCALE)) for w in maps[0, "cross"][1, 0, 0]]
    assert page.locator("table:visible td[colspan='2']").first.inner_text() == "×"
