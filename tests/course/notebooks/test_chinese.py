"""The Chinese edition: in step with the English, written as Chinese is."""

import re
from urllib.parse import unquote

import numpy as np
import pytest

nbformat = pytest.importorskip("nbformat")
pytest.importorskip("jupytext")
pytest.importorskip("nbclient")

import build  # noqa: E402
import chinese  # noqa: E402
from pages import committed  # noqa: E402

ROOT = build.FOLDER.parent
lessons = pytest.mark.parametrize("source", build.SOURCES, ids=lambda path: path.stem)


def read(path):
    return path.read_text(encoding="utf-8")


@lessons
def test_a_chinese_lesson_is_in_step_with_the_english_one(source):
    english, ours = read(source), read(chinese.source(source))
    assert not chinese.faults(english, ours)


def test_there_is_no_chinese_lesson_without_an_english_one():
    assert {*chinese.CHINESE.glob("[0-9]*.md")} == {*map(chinese.source, build.SOURCES)}


@lessons
def test_a_chinese_notebook_is_that_of_the_chinese_script_with_the_english_outputs(source):
    text = chinese.translated(read(source), read(chinese.source(source)))
    made, script = chinese.read(source.with_suffix(".ipynb"), "zh"), build.lesson_of(text)
    english = nbformat.read(source.with_suffix(".ipynb"), as_version=4)
    for ours, theirs, cell in zip(made.cells, english.cells, script.cells, strict=True):
        if cell.cell_type == "markdown":
            assert (ours.source, ours.metadata) == (cell.source, cell.metadata)
        assert ours.get("outputs") == theirs.get("outputs")
    assert "This lesson needs" not in str(made)
    assert "这一课需要" in str(made)


def test_chinese_notebooks_find_the_package_and_the_results_from_their_folder(tmp_path):
    chinese.write(tmp_path, chinese.DEEPER)
    assert {p.stem for p in tmp_path.iterdir()} == {s.stem for s in build.SOURCES}
    for path in tmp_path.iterdir():
        cells = nbformat.read(path, as_version=4).cells
        code = "\n".join(cell.source for cell in cells if cell.cell_type == "code")
        looked_for = re.findall(r'"((?:\.\./)+(?:pyproject|figures)[^"]*)"', code)
        assert "../../pyproject.toml" in looked_for
        assert all((chinese.CHINESE / name).exists() for name in looked_for)


@pytest.mark.parametrize("page", chinese.pages(), ids=lambda path: path.name)
def test_a_chinese_page_is_in_step_with_the_english_one(page):
    assert not chinese.page_faults(read(chinese.pages()[page]), read(page))


def test_what_the_links_of_a_copy_lead_to_is_what_jupyter_makes_of_a_heading():
    page = read(chinese.CHINESE / "README.md")
    ours, theirs = (re.findall(r"\[第 ([\d.]+) 节\]\((\w+\.md)#([^()\s]+)\)", text)
                    for text in (page, chinese.for_jupyter(page)))
    assert len(ours) == len(theirs) > 60
    for (number, name, _), (*same, anchor) in zip(ours, theirs):
        (heading,) = re.findall(rf"(?m)^## ({re.escape(number)} .*)$", read(chinese.CHINESE / name))
        assert same == [number, name]
        assert unquote(anchor) == heading.replace(" ", "-")


def numbers_of(text):
    """The numbers of a page, and its headings as counts of #; digits may stand in groups."""
    text = re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL)
    levels = re.findall(r"(?m)^(#+) ", re.sub(r"```.*?```", "", text, flags=re.DOTALL))
    text = re.sub(r"(?<=\d)[ ,](?=\d{3}\b)", "", re.sub(r"\]\([^)]*\)", "]", text))
    return {float(number) for number in re.findall(r"\d+(?:\.\d+)?", text)}, levels


def number_faults(english, ours):
    """Numbers of a translation that its English has not; Chinese counts in 万 and 亿, too."""
    (theirs, _), (mine, _) = numbers_of(english), numbers_of(ours)
    units = 1, 100, 1e4, 1e6, 1e8                      # million is 百万
    near = [number * unit ** sign for number in theirs for unit in units for sign in (1, -1)]
    return [number for number in mine if not np.isclose(number, near, rtol=1e-9, atol=0).any()
            and number > 10]                           # small ones may be words in English


@pytest.mark.parametrize("page", chinese.pages(), ids=lambda page: page.name)
def test_a_chinese_page_has_the_headings_and_no_other_numbers(page):
    english, ours = read(chinese.pages()[page]), read(page)
    assert numbers_of(english)[1] == numbers_of(ours)[1]
    assert number_faults(english, ours) == []


def test_a_number_that_drifted_is_found():
    assert number_faults("Some 65 million, 25 %.", "约 6500 万，25%。") == []
    assert number_faults("In 97 % of cases.", "97% 的时候，换了以后 25%。") == [25]


SENTENCE = "A key has $d_k = 3$ numbers, see `K` in [Lesson 2](02.ipynb)."
TEXT = f"# %% [markdown]\n# {SENTENCE}\n\n"
CODE = '# %%\ndef f():\n    """Three."""\n    return 3  # three\n'
ENGLISH = TEXT + CODE
OURS = chinese.skeleton(ENGLISH).replace(
    SENTENCE, "一个键有 $d_k = 3$ 个数，见[第 2 课](02.ipynb)中的 `K`。")
SAID = f'{OURS}\n<!-- code en="{chinese.page_digest(chinese.said(CODE))}" -->\n- Three.\n+ 三。\n'


@pytest.mark.parametrize(("english", "ours", "fault"), [
    (ENGLISH, OURS, None),
    (CODE + TEXT + CODE.replace("f", "g"), OURS, None),
    (ENGLISH.replace("numbers", "entries"), OURS, "its English has changed"),
    (ENGLISH + "\n# %% [markdown]\n# More.\n", OURS, "translate this after"),
    (ENGLISH, OURS + '<!-- en="12345678" -->\n更多。\n', "its English is gone"),
    (ENGLISH, OURS + OURS, "its English is gone"),
    (ENGLISH, OURS.replace("d_k = 3", "d_k = 4"), "missing: $d_k = 3$"),
    (ENGLISH, OURS.replace("`K`", "K"), "missing: `K`"),
    (ENGLISH, OURS.replace("02.ipynb", "03.ipynb"), "missing: 02.ipynb"),
    (ENGLISH, OURS.replace("第 2 课", "第2课"), "no space: '第2'"),
    (ENGLISH, OURS.replace("，", ","), "narrow punctuation: '数,'"),
    (ENGLISH, OURS.replace("。", "."), None),                          # after code it may be
    (ENGLISH, OURS.replace("个数", "个数.  "), "narrow punctuation: '数.'"),
    (ENGLISH, chinese.skeleton(ENGLISH), "it has no Chinese"),
    (ENGLISH, SAID, None),
    (ENGLISH.replace("# three", "# 3"), SAID, "comments or docstrings have changed"),
    (ENGLISH, SAID.replace("- Three.", "- Four."), "no comment or docstring has: Four."),
    (ENGLISH, SAID + "- three\n+ 三\n- return 3\n+ return 4\n", "it changes more than comments"),
])
def test_what_is_out_of_step_is_named(english, ours, fault):
    found = chinese.faults(english, ours)
    assert any(fault in line for line in found) if fault else not found


@pytest.mark.parametrize(("ours", "fault"), [
    (r"键 $n = 3 \text{，即三}$", []),
    (r"键 $n = 4 \text{，即三}$", [rf"{where}: $n = {n} \text{{}}$"
                                for where, n in [("missing", 3), ("not in English", 4)]]),
])
def test_of_a_formula_only_the_words_are_translated(ours, fault):
    assert chinese.language_faults(r"A key $n = 3 \text{, three}$", ours) == fault


ASKED = """# %% [markdown]
# > **Predict.** Where?
# >
# > - here → No.
# > - there <!-- true: x == 1 -->
# > - nowhere
# >
# > <!-- given: The number {x}. -->
"""
ASKED_OURS = chinese.skeleton(ASKED).replace("Predict.", "预测：").replace("Where?", "哪里？")


@pytest.mark.parametrize(("old", "new", "fault"), [
    ("nowhere", "哪里都不", None),
    ("> - nowhere\n", "> - nowhere\n> - both\n", "its choices, the right one"),
    ("> - here → No.\n> - there <!-- true: x == 1 -->",
     "> - there <!-- true: x == 1 -->\n> - here → No.", "its choices, the right one"),
    ("{x}", "{y}", "or what is given differ"),
    ("true: x == 1", "true: x == 2", "missing: <!-- true: x == 1 -->"),
    ("> **预测：** 哪里？", "哪里？", "only one language has a prediction"),
])
def test_a_translated_prediction_has_the_choices_of_the_english_one(old, new, fault):
    assert old in ASKED_OURS
    found = chinese.faults(ASKED, ASKED_OURS.replace(old, new))
    assert any(fault in line for line in found) if fault else not found


def test_a_translation_is_the_english_code_with_the_chinese_text():
    made = chinese.translated(ENGLISH, SAID)
    assert made.endswith(CODE.replace("Three.", "三。"))
    assert made.startswith("# %% [markdown]\n# 一个键有")
    assert chinese.translated(ENGLISH, chinese.skeleton(ENGLISH)) == ENGLISH


def test_a_page_says_of_which_english_it_is():
    ours = f'<!-- en="{chinese.page_digest("A key.")}" -->\n一个键。'
    assert not chinese.page_faults("A key.", ours)
    assert chinese.page_faults("A key!", ours)


def test_nothing_has_a_rendering_that_the_glossary_avoids():
    """Lessons, exercises, pages, and the texts in code; but for the glossary, which lists them."""
    paths = [path for path in committed() or pytest.skip("git does not list the files")
             if path.suffix in (".md", ".py", ".json", ".ipynb", ".html", ".js")
             and path.name not in ("glossary.md", "test_chinese.py")]
    texts = {path: text for path in paths if re.search(chinese.HAN, text := read(path))}
    assert texts
    assert [(path.relative_to(ROOT).as_posix(), fault) for path, text in texts.items()
            for fault in chinese.two_ways(text)] == []


def test_a_rendering_that_the_glossary_avoids_is_found():
    assert chinese.two_ways("层归一化") == ["归一化: the glossary says 层规范化"]
    assert chinese.two_ways("层规范化（层归一化），掩蔽（掩码，mask）") == []


def test_the_glossary_names_the_first_lesson_of_each_term():
    rows = re.findall(r"^\| .+? \| (.+?) \|.*?\| 第 (\d+) 课 \|",
                      read(ROOT / "docs" / "zh" / "glossary.md"), re.MULTILINE)
    assert rows
    texts = {int(path.name[:2]): read(chinese.source(path)) for path in build.SOURCES}
    for renderings, number in rows:
        terms = renderings.removesuffix("（dropout）").split("、")
        first = next(n for n in texts if all(term in texts[n] for term in terms))
        assert (terms, first) == (terms, int(number))
