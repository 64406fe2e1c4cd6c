"""What makes a Chinese page of the site Chinese: its words, its menu, its search, its twin."""

import gettext
import itertools
import re
from pathlib import Path

from sphinx import package_dir
from sphinx.search.en import SearchEnglish

PLACE = re.compile(r"(^|/)zh/|_zh$")  # in the name of a page
LOCALE = package_dir / "locale"
CAPTION = re.compile(r'"caption-text">[\u4e00-\u9fff]')
WORDS = {  # of the theme; Sphinx has the others
    "On this page": "本页内容", "Back to top": "回到顶部", "Skip to content": "跳到正文",
    "Copyright &#169; %(copyright)s": "&#169; %(copyright)s", "Home": "首页",
    "Next": "下一页", "Previous": "上一页", "Made with ": "本站用 ",
    '<a href="https://www.sphinx-doc.org/">Sphinx</a> and ':
        '<a href="https://www.sphinx-doc.org/">Sphinx</a> 和 ',
}
LABELS = {  # for ears and pointers; they stand in templates and modules as they are
    "Link to this heading": "此标题的链接", "Toggle hidden content": "展开或收起",
    "Toggle Light / Dark / Auto color theme": "切换浅色、深色或自动配色",
    "Toggle table of contents sidebar": "打开或收起本页目录",
    "Toggle site navigation sidebar": "打开或收起全站目录", "Toggle navigation of ": "展开或收起：",
}
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
    language_name = "English"                                          # of the stemmer's script
    parts = re.compile(r"[\u4e00-\u9fff]+|[^\W\u4e00-\u9fff]+")
    js_splitter_code = r"""
var splitQuery = (query) =>
  (query.match(/[\u4e00-\u9fff]+|[\p{Letter}\p{Number}_]+/gu) ?? []).flatMap((word) =>
    !/[\u4e00-\u9fff]/.test(word) || word.length < 2 ? [word]
      : [...word].slice(1).map((character, i) => word[i] + character));
const search = Search._performSearch;
Search._performSearch = (...query) => {
  const found = search(...query), chinese = document.documentElement.lang.startsWith("zh");
  const own = found.filter(([page]) => /(^|\/)zh\//.test(page) === chinese);
  return own.length ? own : found;
};
"""

    def split(self, text):
        for part in self.parts.findall(text):
            yield part
            if "\u4e00" <= part[0] <= "\u9fff":
                yield from part
                yield from map("".join, itertools.pairwise(part))


def language_of(page):
    """The language of a page of the site, "zh" or "en"."""
    return "zh" if PLACE.search(page) else "en"


def twin(name, pages):
    """The name of the same page in the other language, or of its first page."""
    place, page = ("pages/", name[6:]) if name.startswith("pages/") else ("", name)
    if language_of(name) == "zh":
        page = PLACE.sub(lambda found: found[1] or "", page, count=1)
        others, first = [f"{place}{page}", f"pages/{page}"], "index"
    else:
        others, first = [f"{place}zh/{page}", f"zh/{page}"], "zh/index"
    return next((other for other in others if other in pages), first)


def menu(tree, chinese):
    """The chapters of the menu whose captions are in one language."""
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
    """A search page in Chinese. The script of Sphinx wants it at the root of the site."""
    yield "search_zh", {}, "search.html"


def label(app, error):
    """Say the labels of what is written already in Chinese."""
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
