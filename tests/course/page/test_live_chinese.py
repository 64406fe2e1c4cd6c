"""The page that runs a model, in Chinese: the switch, the address, and no English left over."""

import re

import pytest
from browser import api, settled, unfold
from javascript import VARIANTS, random_model
from test_live import page_of

pytestmark = pytest.mark.slow
NAMES = {"EN", "softmax", "Softmax", "tanh", "Home", "End", "Ctrl", "Transformer", "Add", "Norm",
         "reverse", "aiayn_np", "NumPy", "unk", "pad", "JavaScript", "d_k", "logit",
         "Adam"}                                                       # in both
SEEN = """() => {
  const found = [document.title];
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walk.nextNode(); node; node = walk.nextNode()) {
    const parent = node.parentElement;
    if (parent.closest("bdi, code, script, noscript, #source")) continue;
    if (parent.closest("option") || parent.checkVisibility()) found.push(node.data);
  }
  for (const place of document.querySelectorAll("[aria-label], [aria-valuetext], [placeholder]"))
    for (const name of ["aria-label", "aria-valuetext", "placeholder"])
      found.push(place.getAttribute(name) ?? "");
  return found.map((text) => text.trim()).filter(Boolean);
}"""
CUTS = ["scale", "positions", "mask", "mute:decoder.layers.0.cross_attention:1"]


def texts(page):
    """What a reader sees or hears, but for tokens and code."""
    return page.evaluate(SEEN)


def english(page):
    """Texts of the page with English words; paths of layers and names in <> are none."""
    found = {text: re.sub(r"<\w+>|\w+\.layers[.\w]*", "", text) for text in texts(page)}
    return [text for text, rest in found.items()
            if set(re.findall(r"[A-Za-z][A-Za-z_]+", rest)) - NAMES]


def in_chinese(page):
    page.get_by_role("button", name="中文").click()
    settled(page)


@pytest.fixture
def page(visit, path):
    page = visit(path, "#mode=look")
    settled(page)
    unfold(page)
    in_chinese(page)
    return page


def test_no_english_is_left_wherever_the_reader_goes(page):
    assert english(page) == []
    for text in ("", "3 x 1", "1 " * 8, "1 " * 80, "3 1 4"):
        typed_in_chinese(page, text)
        assert english(page) == [], text
    for cut in CUTS:
        for mode in ("look", "break"):
            page.evaluate(f"location.hash = 'mode={mode}&src=3+1+4&lang=zh&what-if={cut}'")
            page.wait_for_function(
                f"() => view.mode === '{mode}' && name_of(view.changes) === '{cut}'")
            settled(page)
            assert english(page) == [], cut
            for kind in ("encoder_self", "decoder_self", "cross") if mode == "look" else ():
                page.locator("#kind").select_option(kind)
                page.evaluate("choose({ query: 0, key: 1 })")
                assert english(page) == []
    page.evaluate("location.hash = 'mode=look&src=3+1+4&lang=zh'")
    page.wait_for_function("() => thoughts.length === 1")
    for box in range(page.evaluate("boxes_of(thoughts[0]).length")):
        page.evaluate("(box) => choose({ box })", box)
        assert english(page) == []
    page.locator("#tour-begin").click()
    for _ in range(5):
        page.wait_for_timeout(100)
        assert english(page) == []
        page.evaluate("rest()")
        page.locator("#tour-next").click()


def test_no_english_is_left_while_it_learns(visit, path):
    page = visit(path, "#mode=learn&lang=zh&src=3+1+4")
    settled(page)
    page.locator("#learn-back").click()
    page.locator(".loss-of").first.wait_for()
    for kind in ("cross", "encoder_self", "decoder_self"):
        page.locator("#learn-kind").select_option(kind)
        page.locator("#learn-step").click()
        page.wait_for_function("() => before_step && !stepping")
        assert english(page) == []
        page.evaluate("before_step = null")


def typed_in_chinese(page, text):
    page.get_by_role("textbox", name="你输入").fill(text)
    settled(page)


@pytest.mark.parametrize("variant", VARIANTS, ids=lambda v: "-".join(v.values()))
def test_every_score_and_box_of_every_variant_is_in_chinese(visit, tmp_path, variant, rng):
    file = tmp_path / "page.html"
    file.write_text(page_of(random_model(variant, 7, rng), title=""), encoding="utf-8")
    page = visit(file, "#mode=look&lang=zh")
    unfold(page)
    typed_in_chinese(page, "3 4 5")
    for box in range(page.evaluate("boxes_of(thoughts[0]).length")):
        page.evaluate("(box) => choose({ box })", box)
        assert [text for text in english(page) if "copy" not in text] == []
    assert page.title() == "这个模型复制一串数字"


def test_the_sentences_are_those_of_the_catalogue(page):
    typed_in_chinese(page, "3 1 4")
    assert page.locator("#grids .upright").count() == 0                # 结束 has room as it is
    page.evaluate("choose({ kind: 'decoder_self', query: 0, key: 2 })")
    assert page.locator("#why-says").inner_text() == (
        "为了写出“4”（答案第 1 个），它不许看“1”（答案第 2 个）：它被掩蔽，所以分数是 −∞，"
        "权重是 0。")


def test_the_switch_changes_the_words_and_nothing_else(visit, path):
    page = visit(path, "#src=5+0+3+1&what-if=mask&kind=decoder_self&layer=0&head=1")
    settled(page)
    unfold(page)
    page.locator("#box-1").click()
    page.locator("#shares-table table").wait_for()                     # it is drawn a moment later
    before, view = texts(page), page.evaluate("({ ...view })")
    page.get_by_role("button", name="中文").press("Enter")
    assert page.evaluate("document.activeElement.textContent") == "中文"
    assert page.evaluate("document.documentElement.lang") == "zh-Hans"
    assert page.evaluate("({ ...view })") == view | dict(lang="zh")
    page.get_by_role("button", name="EN").click()
    page.locator("#shares-table").get_by_text("source", exact=True).wait_for()
    assert texts(page) == before
    assert page.evaluate("[document.documentElement.lang, ({ ...view })]") == [
        "en", view | dict(lang="en")]


def heading(page):
    return page.locator("#ask-heading").text_content()


def test_the_address_brings_the_language_back(page):
    page.reload()
    settled(page)
    assert heading(page) == "输入一个序列"
    page.get_by_role("button", name="EN").click()
    settled(page)
    assert re.search(r"src=.*&lang=en$", page.url)
    page.evaluate("location.hash = 'mode=look&src=3+1+4'")             # it names no language
    page.wait_for_function("() => view.text === '3 1 4'")
    settled(page)
    assert heading(page) == "Type a sequence"


@pytest.mark.parametrize(("address", "locale", "words"), [
    ("", "en-US", "Type a sequence"), ("", "zh-CN", "输入一个序列"), ("", "zh", "输入一个序列"),
    ("", "de", "Type a sequence"), ("#lang=zh", "en-US", "输入一个序列"),
    ("#src=1&lang=en", "zh-TW", "Type a sequence"),
])
def test_the_page_opens_in_the_language_of_the_address_or_the_browser(
        visit, path, address, locale, words):
    page = visit(path, address, locale=locale)
    settled(page)
    assert heading(page) == words
    assert page.locator("#address-note").inner_text() == ""


def test_another_language_is_left_out_and_the_reason_follows_the_switch(visit, path):
    page = visit(path, "#mode=look&lang=toString&step=x")
    note = page.locator("#address-note")
    api.expect(note).to_contain_text("thing: lang=toString, step=x")
    in_chinese(page)
    api.expect(note).to_contain_text("已略去：lang=toString、step=x")


def test_chinese_lessons_are_linked_in_chinese(visit, tmp_path, rng):
    file = tmp_path / "page.html"
    model = random_model(VARIANTS[0], 7, rng)
    file.write_text(page_of(model, lessons="../pages/"), encoding="utf-8")
    found = []
    for language, folder in (("en", ""), ("zh", "zh/")):
        for tour in ("learn", "back", "cut", "positions", "look"):
            page = visit(file, f"#lang={language}&tour={tour}")
            settled(page)
            link = page.locator("#tour .lesson").get_attribute("href")
            assert link.startswith(f"../pages/{folder}")
            found.append(link.split("/")[-1][:2])
    assert found == 2 * ["10", "04", "06", "08", "01"]
