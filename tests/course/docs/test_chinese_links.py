"""A Chinese page leads to English only where no Chinese page exists."""

import re

import pytest
from pages import ROOT

PAGES = sorted({*ROOT.glob("docs/zh/**/*.md"), *ROOT.glob("*.zh.md"),
                *ROOT.glob("notebooks/**/*.zh.md"), *ROOT.glob("notebooks/zh/*.md"),
                *ROOT.glob("notebooks/exercises/s*/zh/*.*")})
LINK = re.compile(r"\[([^\[\]]*)\]\(([^()\s#{}:]+)(?:#[^()\s]*)?\)")


def chinese(path):
    """The Chinese edition of a page of the repository, or None."""
    name = path.relative_to(ROOT).as_posix()
    places = [path.with_suffix(".zh.md"), path.parent / "zh" / path.name, path / "zh",
              path.parent / "student" / "zh" / path.name]
    if path.suffix == ".ipynb":
        places += [path.parent / "zh" / f"{path.stem}.md"]             # the text of a lesson
    places += [ROOT / "docs" / "zh" / name.removeprefix("docs/")] * name.startswith("docs/")
    return next((place for place in places if place.exists()), None)


def english_links(text, folder):
    """The links of a page that lead to English, though the same is there in Chinese."""
    for label, target in LINK.findall(text):
        path = (folder / target).resolve()
        if not path.is_relative_to(ROOT) or label == "English":
            continue
        there = "zh" in path.relative_to(ROOT).parts or ".zh." in path.name
        if not there and chinese(path):
            yield target


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_it_leads_to_chinese(page):
    assert list(english_links(page.read_text(encoding="utf-8"), page.parent)) == []


def test_a_link_to_english_is_found():
    text = "[a](README.md) [English](README.md) [b](README.zh.md) [c](docs/paper/softmax.md#x)"
    assert list(english_links(text, ROOT)) == ["README.md", "docs/paper/softmax.md"]
    text = "[a](find_the_bug.ipynb) [b](student) [c](student/zh) [d](assignment.py)"
    assert list(english_links(text, ROOT / "notebooks" / "exercises")) == [
        "find_the_bug.ipynb", "student"]


def test_the_glossary_is_in_the_order_of_the_lessons():
    text = (ROOT / "docs" / "zh" / "glossary.md").read_text(encoding="utf-8")
    lessons = [int(n) for n in re.findall(r"\| 第 (\d+) 课 \|", text)]
    assert lessons == sorted(lessons)
    row = r"^\|[^|]*\| (.*?) \|[^|]*\| \[.*?\]\((.*?)\)"            # of a term on a page
    for words, page in re.findall(row, text, re.MULTILINE):
        there = (ROOT / "docs" / "zh" / page).read_text(encoding="utf-8")
        assert words in there
