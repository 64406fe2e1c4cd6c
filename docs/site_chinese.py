"""The Chinese in a Chinese page of the site: its words, its menu, its search, its twin."""

import gettext
import itertools
import json
import re
from pathlib import Path

from sphinx import package_dir
from sphinx.search.en import SearchEnglish

DOCS = Path(__file__).parent
PLACE = re.compile(r"(^|/)zh/|_zh$")  # in the name of a page
LOCALE = package_dir / "locale"
CAPTION = re.compile(r'"caption-text">[\u4e00-\u9fff]')
SAID = json.loads((DOCS / "words.json").read_text(encoding="utf-8"))
WORDS, LABELS = SAID["words"], SAID["labels"]  # words that Sphinx has not; spoken labels
ROOTS = {"index": "zh/index", "search": "search_zh"}  # where brand and search box lead


class Words(gettext.NullTranslations):
    """The words of the theme in Chinese, and behind them those of Sphinx."""

    def gettext(self, message):
        return WORDS.get(message) or super().gettext(message)


class Search(SearchEnglish):
    """Words of letters, and of Chinese text each character and each two neighbours.

    Chinese writes no spaces. A query of n characters is n - 1 pairs, and a page must have them all.
    A search finds pages of its own language, and those of the other where there are none.
    """

    lang = "both"
    language_name = "English"                                          # for the stemmer
    parts = re.compile(r"[\u4e00-\u9fff]+|[^\W\u4e00-\u9fff]+")
    js_splitter_code = (DOCS / "search.js").read_text(encoding="utf-8")

    def split(self, text):
        for part in self.parts.findall(text):
            yield part
            if "\u4e00" <= part[0] <= "\u9fff":
                yield from part
                yield from map("".join, itertools.pairwise(part))


def language_of(page):
    """Return the language of a page of the site, "zh" or "en"."""
    return "zh" if PLACE.search(page) else "en"


def twin(name, pages):
    """Return the name of the same page in the other language, or of its first page."""
    place, page = ("pages/", name[6:]) if name.startswith("pages/") else ("", name)
    if language_of(name) == "zh":
        page = PLACE.sub(lambda found: found[1] or "", page, count=1)
        others, first = [f"{place}{page}", f"pages/{page}"], "index"
    else:
        others, first = [f"{place}zh/{page}", f"zh/{page}"], "zh/index"
    return next((other for other in others if other in pages), first)


def menu(tree, chinese):
    """Return the chapters of the menu whose captions are in one language."""
    chapters = re.split(r'(?=<p class="caption")', tree)
    return "".join(part for part in chapters if bool(CAPTION.search(part)) == chinese)


def speak(app, page, template, context, doctree):
    """Set the language of a page: words, menu, roots, and the link to its twin."""
    chinese = language_of(page) == "zh"
    environment = app.builder.templates.environment
    environment.install_gettext_translations(app.chinese if chinese else gettext.NullTranslations(),
                                             newstyle=True)
    pathto, other = context["pathto"], twin(page, app.env.found_docs)
    if chinese:
        context["language"], context["copyright"] = "zh-Hans", "aiayn_np 项目，MIT 许可证"
        context["pathto"] = lambda name, *more: pathto(ROOTS.get(name, name), *more)
        app.add_js_file("sphinx.js")                                   # the words of the search
    if "furo_navigation_tree" in context:
        context["furo_navigation_tree"] = menu(context["furo_navigation_tree"], chinese)
    if "body" in context:
        lang, name = ("en", "English") if chinese else ("zh-Hans", "中文")
        context["body"] = (f'<p class="language"><a href="{pathto(other)}" lang="{lang}"'
                           f' hreflang="{lang}">{name}</a></p>\n{context["body"]}')


def search_page(app):
    """Write a search page in Chinese. The script of Sphinx wants it at the root of the site."""
    yield "search_zh", {}, "search.html"


def label(app, error):
    """Put the labels of the finished pages into Chinese."""
    for path in Path(app.outdir).rglob("*.html"):
        if language_of(path.relative_to(app.outdir).with_suffix("").as_posix()) == "zh":
            page = path.read_text(encoding="utf-8")
            for english, chinese in LABELS.items():
                page = page.replace(f'="{english}', f'="{chinese}')
            path.write_text(page, encoding="utf-8")


def setup(app):
    app.chinese = Words()
    app.chinese.add_fallback(gettext.translation("sphinx", LOCALE, ["zh_CN"]))
    app.add_search_language(Search)
    app.connect("html-page-context", speak, priority=900)              # after the theme
    app.connect("html-collect-pages", search_page)
    app.connect("build-finished", label)
    return dict(parallel_read_safe=True, parallel_write_safe=True)
