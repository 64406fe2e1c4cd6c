"""The site builds without a warning, and is used in a browser as readers use it (slow)."""

import re
import subprocess
import sys
import textwrap
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest
from pages import ROOT

sys.path.append(str(ROOT / "docs"))

from generate import LISTS, PAGES

pytestmark = pytest.mark.slow
LOADED = re.compile(r'<(?:script|img|iframe|link)\b[^>]*?(?:src|href)="(https?:[^"]*)"')
SAMPLE = ["index.html", "search.html", "paper/index.html", "paper/attention.html",
          "paper/layer_norm.html", "pages/02_softmax_and_its_jacobian.html",
          "pages/exercises/01_softmax.html", "api/layers.html", "api/decoding.html",
          "pages/zoo.html", "pages/gallery.html", "pages/live-pages.html",
          "api/index.html", "zh/index.html", "search_zh.html", "zh/paper/softmax.html"]
PHONE = dict(width=360, height=740)


def build(docs, out, *options):
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", *options, docs, out]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    pytest.importorskip("myst_nb")
    folder = tmp_path_factory.mktemp("site")
    run = build("docs", folder)
    assert run.returncode == 0, run.stderr[-3000:]
    return folder


def pages_of(site):
    return sorted(path for path in site.rglob("*.html"))


def test_the_pages_are_there_and_light(site):
    wanted = [name.replace(".md", ".html") for name in (*PAGES.values(), *LISTS.values())]
    wanted += ["zoo.html", *(f"../api/{path.stem}.html" for path in ROOT.glob("docs/api/*.rst"))]
    wanted += [path.with_suffix(".html").name for path in ROOT.glob("notebooks/[0-9]*.ipynb")]
    wanted += [f"exercises/{path.stem}.html"
               for path in ROOT.glob("notebooks/exercises/student/*.ipynb")]
    assert [name for name in wanted if not (site / "pages" / name).is_file()] == []
    assert max(page.stat().st_size for page in pages_of(site)) < 1.5e6
    built = [path for path in site.rglob("*") if ".doctrees" not in path.parts]
    assert sum(path.stat().st_size for path in built if path.is_file()) < 60e6


def test_no_page_loads_anything_from_another_address(site):
    for page in pages_of(site):
        assert not LOADED.findall(page.read_text(encoding="utf-8")), page.name


def test_a_page_of_the_paper_shows_source_numbers_and_check(site):
    text = (site / "paper" / "softmax.html").read_text(encoding="utf-8")
    assert "mean_grad" in text                                         # a line of the source
    assert "0.2447" in text                                            # a number of the example
    assert "1 of 1 agree" in text                                      # the gradient check
    assert "tests/test_softmax.html" in text
    assert "02_softmax_and_its_jacobian.html" in text
    assert "exercises/01_softmax.html" in text


def test_links_of_a_page_that_sphinx_reads_lead_to_pages_of_the_site():
    import site_extension

    source = [textwrap.dedent("""\
        [a](../../figures/README.md) [b](softmax.md#x) [c](../../notebooks/13_x.ipynb#y)
        [d](../live-pages.md) [e](../../aiayn_np/attention.py) [f](../symbols.md) [g](#h)
        ```python
        f[a](x)
        ```
        """)]
    site_extension.turn_links(None, "paper/attention", source)
    assert source == [textwrap.dedent("""\
        [a](../pages/gallery.md) [b](../pages/../paper/softmax.md#x) [c](../pages/13_x.ipynb#y)
        [d](../pages/live-pages.md) e (`aiayn_np/attention.py`) [f](../pages/symbols.md) [g](#h)
        ```python
        f[a](x)
        ```
        """)]
    before = ["[a](README.md)"]
    site_extension.turn_links(None, "pages/lessons", before)
    assert before == ["[a](README.md)"]


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *words):
        pass


@pytest.fixture(scope="module")
def address(site):
    """The site on a server of this machine."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=site))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()


@pytest.fixture
def page(chromium, address, request):
    """A page of a browser; a request that leaves the site, or a complaint, fails the test."""
    options = getattr(request, "param", {})
    context = chromium.new_context(**dict(viewport=dict(width=1280, height=900)) | options)
    page, asked, complaints = context.new_page(), [], []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    yield page
    context.close()
    assert len(asked) > 0
    assert [url for url in asked if not url.startswith((address, "file:", "data:"))] == []
    assert complaints == []


def test_no_request_leaves_any_page_and_every_formula_is_set(page, site, address):
    """The pages of source code are all alike; they are looked at in the test of what is loaded."""
    formulas = 0
    for path in pages_of(site):
        name = path.relative_to(site).as_posix()
        if not name.startswith(("_modules/", "pages/tests/")):
            page.goto(address + name)
            formulas += page.locator(".katex").count()
            assert page.locator(".katex-error").count() == 0, name
            assert page.evaluate("document.querySelectorAll('.math:not(:has(.katex))').length"
                                 ) == 0, name
    assert formulas > 1000


@pytest.mark.parametrize("protocol", ["a server", "files"])
def test_search_works_without_a_network(page, site, address, protocol):
    page.goto(address if protocol == "a server" else site.as_uri() + "/index.html")
    page.get_by_role("textbox", name="Search").first.fill("softmax")
    page.keyboard.press("Enter")
    page.locator("#search-results li a").nth(5).wait_for()
    found = page.locator("#search-results li a").all_inner_texts()
    assert "Softmax" in found
    assert len(found) > 5


QUESTIONS = {  # what a learner types -> the page that answers
    "why sqrt d_k": "pages/03_why_divide_by_sqrt_d_k", "padding mask": "pages/05_masks",
    "attention map": "pages/11_reading_attention_maps", "layer norm": "paper/layer_norm",
    "label smoothing": "paper/loss", "positional encoding": "paper/positions",
    "beam search": "api/decoding", "my own layer": "pages/your-own-layer",
    "fine-tuning": "pages/going-on", "test vectors": "pages/vectors",
    "install": "index", "GPT-2": "pages/real-models", "learning rate": "paper/adam",
}


def test_a_question_finds_its_page_among_the_first_three(page, address):
    missed = {}
    for question, wanted in QUESTIONS.items():
        page.goto(f"{address}search.html?q={question}")
        page.locator(".search-summary", has_text="finished").wait_for()  # all are listed
        links = page.locator("#search-results li > a").evaluate_all("all => all.map(a => a.href)")
        pages = [link.removeprefix(address).split(".html")[0] for link in links[:3]]
        if wanted not in pages:
            missed[question] = pages
    assert missed == {}


def words_of_the_glossary():
    """Twenty Chinese words of the glossary, of one character and of more."""
    text = (ROOT / "docs" / "zh" / "glossary.md").read_text(encoding="utf-8")
    words = re.findall(r"^\| [^|]+ \| ([\u4e00-\u9fff]+) \|", text, re.MULTILINE)
    return words[1::len(words) // 20][:20]                             # behind the head


def test_search_finds_every_chinese_page_that_has_a_word(page, site, address):
    """But for words with a mark within, as in *greedy* decoding, and what a picture shows."""
    pages = {path: re.sub(r"<[^>]*>", "|", path.read_text(encoding="utf-8").split("<article")[-1]
                          .split("<footer")[0])
             for path in pages_of(site) if "zh" in path.relative_to(site).parts}
    for word in words_of_the_glossary():
        page.goto(f"{address}search_zh.html?q={word}")
        page.locator(".search-summary", has_text="搜索完成").wait_for()  # all are listed
        links = page.locator("#search-results li a").evaluate_all("all => all.map(a => a.href)")
        found = {link.removeprefix(address).split("#")[0].split("?")[0] for link in links}
        wanted = {path.relative_to(site).as_posix() for path, text in pages.items() if word in text}
        assert wanted - found == set(), word
        assert all("zh/" in link for link in found)


def test_a_chinese_page_is_chinese_around_its_text(page, address):
    page.goto(address + "zh/paper/softmax.html")
    around = page.locator(".sidebar-drawer, .toc-drawer, footer .related-pages")
    assert not re.search(r"Search|On this page|Next|Previous|Lesson|Read it",
                         "".join(around.all_inner_texts()))
    labels = "[...document.querySelectorAll('[aria-label], a.headerlink')].map(" \
        "(e) => e.ariaLabel ?? e.title)"
    assert not re.search(r"Toggle|Link to", "".join(page.evaluate(labels)))
    for name, place, lang in (("English", "/paper/softmax", "en"),
                              ("中文", "/zh/paper/softmax", "zh-Hans")):
        page.get_by_role("link", name=name).click()
        page.wait_for_url(f"**{place}.html")
        assert page.evaluate("document.documentElement.lang") == lang
    page.goto(address + "search.html?q=softmax")
    page.get_by_role("link", name="中文").click()
    page.wait_for_url("**/search_zh.html?q=softmax")


BEGIN_A_LINE = """[...document.querySelectorAll(".math")].filter((formula) => {
  const text = formula.nextSibling, end = [...formula.querySelectorAll(".katex-html > *")].at(-1);
  if (!end || !/^[。，、；：！？）]/.test(text?.data)) return false;
  const range = document.createRange();
  range.setStart(text, 0);
  range.setEnd(text, 1);
  return range.getBoundingClientRect().top > end.getBoundingClientRect().bottom - 3;
}).length"""


@pytest.mark.parametrize("page", [dict(viewport=PHONE), dict(viewport=dict(width=900, height=900))],
                         indirect=True)
def test_no_stop_or_comma_begins_a_line_behind_a_formula(page, site, address):
    for path in sorted((site / "zh" / "paper").glob("*.html")):
        page.goto(address + path.relative_to(site).as_posix())
        assert page.evaluate(BEGIN_A_LINE) == 0, path.name
        if path.name == "linear.html":
            assert page.locator(".katex .mark").count() > 5
            assert "。" in page.locator(".katex .mark").all_text_contents()


@pytest.mark.parametrize("page", [dict(viewport=PHONE)], indirect=True)
def test_nothing_sticks_out_on_a_phone(page, address):
    for name in SAMPLE:
        page.goto(address + name)
        assert page.evaluate("document.documentElement.scrollWidth") <= 360, name


@pytest.mark.parametrize("width", [1200, 1280, 1366, 1552, 1600, 1920])
def test_forward_stands_beside_backward_and_no_page_is_too_wide(page, address, width):
    page.set_viewport_size(dict(width=width, height=900))
    page.goto(address + "paper/attention.html")
    forward, backward = page.locator(".pair > *").all()
    assert forward.bounding_box()["y"] == backward.bounding_box()["y"]
    assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize(("page", "rules", "names"), [
    (dict(color_scheme="light"), "", SAMPLE),
    (dict(color_scheme="dark"), "{runOnly: ['color-contrast']}", SAMPLE[1::2])],
    indirect=["page"], ids=["light", "the contrast in dark"])
def test_axe_finds_nothing(page, address, axe, rules, names):
    found = {}
    for name in names:
        page.goto(address + name)
        page.evaluate(axe)
        result = page.evaluate(f"axe.run({rules})")
        assert len(result["passes"]) > (0 if rules else 15), name
        for v in result["violations"]:
            found.setdefault(v["id"], (name, [n["html"][:150] for n in v["nodes"]][:2]))
    assert found == {}


def test_downloads_of_a_lesson_are_notebooks(page, address):
    page.goto(address + "pages/02_softmax_and_its_jacobian.html")
    sizes = {}
    for edition in ("student edition", "teacher edition"):
        with page.expect_download() as download:
            page.get_by_role("link", name=edition).click()
        text = download.value.path().read_text(encoding="utf-8")
        assert '"nbformat": 4' in text
        sizes[edition] = len(text)
    assert sizes["student edition"] < sizes["teacher edition"] / 3


WIDE = "[...document.querySelectorAll('pre')].find(b => b.scrollWidth > b.clientWidth + 20)"


def test_the_keyboard_reaches_content_menu_and_wide_code(page, address):
    page.set_viewport_size(PHONE)
    page.goto(address + "paper/softmax.html")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.innerText").strip() == "Skip to content"
    page.evaluate(f"{WIDE}.focus()")
    page.keyboard.press("ArrowRight")
    page.wait_for_function(f"{WIDE}.scrollLeft > 0")
