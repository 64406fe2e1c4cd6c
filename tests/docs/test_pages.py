"""All pages: their commands parse, their links lead somewhere, and the house is as they say."""

import re
import shlex
import subprocess
import sys

import pytest
from chinese import on_github
from pages import EVERY_PAGE, ROOT, blocks, committed

from aiayn_course.cli.main import parsed

sys.path.append(str(ROOT / "docs"))

import draw_rooms

every_page = pytest.mark.parametrize("page", EVERY_PAGE,
                                     ids=lambda p: p.relative_to(ROOT).as_posix())


def prose(text):
    """The text without its blocks of code and its comments."""
    return re.sub(r"```.*?```|<!--.*?-->", "", text, flags=re.DOTALL)


@every_page
def test_every_command_parses(page):
    text = page.read_text(encoding="utf-8")
    lines = [line for block in blocks(text, "bash") for line in block.splitlines()]
    lines += re.findall(r"`(aiayn-np [a-z][^`]*)`", prose(text))
    for line in lines:
        command = re.search(r"(?:^|[ /])aiayn-np ([a-z].*)", line)
        if command and not command[1].endswith("--help"):
            parsed(shlex.split(command[1], comments=True))


@every_page
def test_every_link_leads_to_a_file_that_is_committed(page):
    """In the repository's own view; the build of the site turns the links to its pages."""
    for link in re.findall(r"\]\(([^)]*)\)", prose(page.read_text(encoding="utf-8"))):
        target = (page.parent / link.split("#")[0]).resolve()
        there = target.exists() if committed() is None else target in committed()
        made = target.parent == ROOT / "docs" / "live"     # `docs/make_live_pages.py` writes it
        assert there or made or link.startswith("https://"), link


@every_page
def test_every_link_to_a_section_leads_to_a_heading_as_github_names_it(page):
    text = prose(page.read_text(encoding="utf-8"))
    for path, anchor in re.findall(r"\]\(([^()\s#:]*)#([^()\s]+)\)", text):
        target = page.parent / path if path else page
        if target.suffix == ".md":                         # GitHub shows a notebook from its top
            headings = re.findall(r"(?m)^#+ (.*)$", prose(target.read_text(encoding="utf-8")))
            assert anchor in map(on_github, headings), (path, anchor)


@every_page
def test_every_script_that_a_page_runs_exists(page):
    for script in re.findall(r"python ([\w/.]+\.py)", page.read_text(encoding="utf-8")):
        assert (ROOT / script.removeprefix("PROJECT/")).is_file(), script


def test_the_page_on_the_house_names_every_room():
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    paper, course = (set(re.findall(r"^\| `(\w+)/` \|", part, re.MULTILINE))
                     for part in page.split("The course has these rooms."))
    assert paper == set(draw_rooms.rooms()) - {"layers"}
    assert course == {path.parent.name for path in ROOT.glob("aiayn_course/*/__init__.py")}


WRITES = re.compile(r"aiayn-np (?:lessons|exercises|vectors|grade)(?: --(?:zh|teacher|pages))*"
                    r" ([a-z][\w/-]*)|--out ([\w/.-]+)|number_words ([a-z][\w/-]*)")


def test_nothing_that_a_page_tells_to_write_makes_a_clone_dirty():
    if not (ROOT / ".git").exists():
        pytest.skip("it is no clone")
    texts = [page.read_text(encoding="utf-8") for page in EVERY_PAGE]
    names = {name for groups in WRITES.findall("\n".join(texts)) for name in groups if name}
    names -= {"notebooks", "figures"}                                  # they are those of the clone
    assert len(names) > 20
    run = subprocess.run(["git", "check-ignore", *(f"{n}/" for n in sorted(names))], cwd=ROOT,
                         capture_output=True, text=True)
    assert {line.rstrip("/") for line in run.stdout.splitlines()} == names
