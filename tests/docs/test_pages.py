"""All pages: their commands parse, their links lead somewhere, and the house is as they say."""

import re
import shlex
import sys

import pytest
from pages import EVERY_PAGE, PAGES, ROOT, blocks, committed

from aiayn_np.cli.main import parsed

sys.path.append(str(ROOT / "docs"))

import check_links
import draw_rooms
import generate

every_page = pytest.mark.parametrize("page", PAGES, ids=lambda p: p.relative_to(ROOT).as_posix())


def prose(text):
    """The text without its blocks of code."""
    return re.sub(r"```.*?```", "", text, flags=re.DOTALL)


@every_page
def test_every_command_parses(page):
    text = page.read_text(encoding="utf-8")
    lines = [line for block in blocks(text, "bash") for line in block.splitlines()]
    lines += re.findall(r"`(aiayn-np [a-z][^`]*)`", prose(text))
    for line in lines:
        command = re.search(r"(?:^|[ /])aiayn-np ([a-z].*)", line)
        if command and not command[1].endswith("--help"):
            parsed(shlex.split(command[1], comments=True))


@pytest.mark.parametrize("page", EVERY_PAGE, ids=lambda p: p.relative_to(ROOT).as_posix())
def test_every_link_leads_to_a_file_that_is_committed(page):
    """In the repository's own view; the build of the site turns the links to its pages."""
    for link in re.findall(r"\]\(([^)]*)\)", prose(page.read_text(encoding="utf-8"))):
        target = (page.parent / link.split("#")[0]).resolve()
        there = target.exists() if committed() is None else target in committed()
        made = "docs/live/" in link                # a page that `docs/make_live_pages.py` writes
        assert there or made or link.startswith("https://"), link


@every_page
def test_every_script_that_a_page_runs_exists(page):
    for script in re.findall(r"python ([\w/.]+\.py)", page.read_text(encoding="utf-8")):
        assert (ROOT / script).is_file(), script


def test_a_link_to_a_live_page_keeps_its_place_on_the_site(tmp_path, monkeypatch):
    monkeypatch.setattr(generate, "ROOT", tmp_path)
    monkeypatch.setattr(generate, "DOCS", tmp_path / "docs")
    text = "[try](../docs/live/copy.html#src=3+1&what-if=mask)"
    assert generate.relinked(text, "notebooks") == '<a href="live.html">try</a>'
    (tmp_path / "docs" / "live").mkdir(parents=True)
    (tmp_path / "docs" / "live" / "copy.html").write_text("")
    found = generate.relinked(text, "notebooks", back="../")
    assert found == '<a href="../../live/copy.html#src=3+1&what-if=mask">try</a>'


def test_a_place_in_a_live_page_is_no_dead_anchor(tmp_path):
    page = '<a href="b.html#src=3+1">a</a> <a href="b.html#src">b</a> <a href="c.html#src=3">c</a>'
    (tmp_path / "a.html").write_text(page)
    (tmp_path / "b.html").write_text("")
    assert check_links.dead_links(tmp_path) == [
        ("a.html", "b.html#src"), ("a.html", "c.html#src=3")]


def test_the_page_on_the_house_names_every_room():
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    named = set(re.findall(r"^\| `(\w+)/` \|", page, re.MULTILINE))
    assert named == set(draw_rooms.rooms()) - {"layers"}


def test_every_room_of_the_drawing_says_what_it_is(tmp_path):
    graph = draw_rooms.rooms()
    assert set(graph) == set(draw_rooms.NOTES) & set(graph)
    draw_rooms.draw(graph, tmp_path / "rooms.png")
    assert (tmp_path / "rooms.png").stat().st_size > 10_000


def test_arrows_of_the_drawing_are_imports_that_no_others_imply():
    assert draw_rooms.direct({"a": {"b", "c"}, "b": {"c"}, "c": set()}) == {
        "a": {"b"}, "b": {"c"}, "c": set()}
    assert draw_rooms.heights({"a": {"b", "c"}, "b": {"c"}, "c": set()}) == {"a": 2, "b": 1, "c": 0}
