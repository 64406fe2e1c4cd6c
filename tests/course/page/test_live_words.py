"""The words of the page that runs a model: in both languages, used, and written as Chinese is."""

import json
import re

import pytest

from aiayn_course.page import live

chinese = pytest.importorskip("chinese")

WORDS = json.loads((live.PAGE / "words.json").read_text(encoding="utf-8"))
TEMPLATE = (live.PAGE / "page.html").read_text(encoding="utf-8")
SCRIPT = live.joined("page.js")
TITLES = {"page_title", "things_digits", "things_numbers",
          *(f"title_{task}" for task in ("copy", "reverse", "sort", "text", "words"))}
PARTS = {"title", "picture", "policy", "style", "script", "data", "weights",
         "no_script_zh"}                                               # no words
SAME = {"shares_score", "quoted_start", "box_softmax", "formula_sum", "formula_softmax"}
CHINESE = "query|key|things|done|features|from|score|parts?|written|more|less"  # Chinese words
QUOTED = rf"\{{({CHINESE})\}}(?=[\u3400-\u9fff：，。（{{*]|$)"
SAYS = re.compile(r"\b(?:say|say_with)\(((?:\$\{|[^(){])*)")
ENDS = {".": "。", "?": "？", "…": "样"}


def said(script):
    """Keys that a script names where it says something, and patterns of those that it builds."""
    found = set()
    for argument in SAYS.findall(script):
        asked = re.sub(r'=== "\w+"', "", argument)
        found |= set(re.findall(r'"([a-z]\w*)"', asked))
        built = re.findall(r"`([^`]+)`", asked)
        found |= {re.sub(r"\$\{[^}]*\}", r"\\w+", key) for key in built}
    return found


def placed(template):
    return set(re.findall(r"\{\{(\w+)\}\}", template)) - PARTS


def names(text):
    return sorted(re.findall(r"\{(\w+)\}", text))


def faults_of_use(words, template, script):
    """What is said and has no words, and what has words and is never said."""
    asked = said(script) | placed(template) | TITLES                   # those are for live.py
    found = [f"{key} is not in {lang}" for lang, texts in words.items() for key in asked
             if not any(re.fullmatch(key, text) for text in texts)]
    for lang, texts in words.items():
        later = set(re.findall(r'"([a-z]\w*)"', script))               # in lists and conditions
        found += [f"{key} of {lang} is not used" for key in set(texts) - later
                  if not any(re.fullmatch(pattern, key) for pattern in asked)]
    return found + [f"only in one language: {key}" for key in set(words["en"]) ^ set(words["zh"])]


def faults_of_text(key, english, ours):
    """What is wrong with the Chinese of a text."""
    found = [] if names(english) == names(ours) else ["other names in braces"]
    if english == ours and key not in SAME:
        found.append("it is English")
    letters = re.sub(r"\{\w+\}", "x", re.sub(QUOTED, "“x”", ours))
    found += [f"no space: {m.group()}" for m in chinese.UNSPACED.finditer(letters)]
    found += [f"narrow punctuation: {m.group()}" for m in chinese.NARROW.finditer(letters)]
    if '"' in ours or ours.count("“") != ours.count("”"):
        found.append("quotes")
    if re.search(rf"{chinese.HAN}[()]|[()]{chinese.HAN}", ours):
        found.append("narrow brackets")
    if re.search(r"[。，、；：？（）]\s|\s[。，、；：？）]", ours):
        found.append("a space beside wide punctuation")
    if english[-1] in ENDS and len(english) > 20 and ours[-1] != ENDS[english[-1]]:
        found.append("another end")
    return found + chinese.two_ways(ours)


def test_every_text_is_there_in_both_languages_and_is_used():
    assert not faults_of_use(WORDS, TEMPLATE, SCRIPT)
    assert len(said(SCRIPT)) > 70


@pytest.mark.parametrize("key", WORDS["en"])
def test_a_chinese_text_has_the_values_of_the_english_one_and_is_written_as_chinese_is(key):
    assert not faults_of_text(key, WORDS["en"][key], WORDS["zh"][key])


def test_the_switch_finds_every_text_of_the_template():
    marked = live.marked(TEMPLATE, WORDS["en"])
    found = re.findall(r'data-say(?:-label)?="(\w+)"', marked)
    placed_ones = [key for key in re.findall(r"\{\{(\w+)\}\}", TEMPLATE) if key not in PARTS]
    assert sorted(found) == sorted(placed_ones)
    assert len(found) == 43
