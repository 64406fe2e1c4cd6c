"""Numbers that pages promise: a command prints them, within the range that the page states."""

import re

import pytest
from pages import ROOT

from aiayn_course.cli.main import main

SOLVED = re.compile(r"(\w+): solved after (\d+) steps, ([\d.]+)% of 2000 test sequences exact")
RANGE = re.compile(r"(\d+) (?:to|到) (\d+)")
NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?:e-?\d+)?%?(?![\w.]*\d)")
LEFT_OUT = re.compile(r"\$\$.*?\$\$|\$.*?\$|\]\(.*?\)|`[^`]*`|第 \S+ 节|Lessons? [\d., and]+",
                      re.DOTALL)
PAGES = ("README.md", "README.zh.md")
TABLES = ("docs/commands.md", "docs/zh/commands.md")


def read(name):
    return (ROOT / name).read_text(encoding="utf-8")


def promised_steps(page):
    """(least, most) steps of `train copy`: the range after the line that it prints, or its own."""
    printed = SOLVED.search(page)
    found = RANGE.search(page[printed.end():].split("```")[0])
    return tuple(map(int, found.groups())) if found else (int(printed[2]),) * 2


def kept(page, printed):
    """Whether what a training printed is what the page says of it."""
    _, steps, share = SOLVED.search(printed).groups()
    least, most = promised_steps(page)
    return least <= int(steps) <= most and float(share) >= 99.5


def seen_in_the_table(page):
    """{task: (least, most) steps} of the table of toy tasks."""
    rows = re.findall(r"^\| (copy|reverse|sort)\S* \|[^|]*\| (\d+) [^\s|]+ (\d+) \|", page, re.M)
    return {task: (int(least), int(most)) for task, least, most in rows}


def lines(steps, share="100.00"):
    return f"copy: solved after {steps} steps, {share}% of 2000 test sequences exact, 9.9 s"


def test_a_page_without_a_range_promises_one_number():
    old = f"It ends with\n`{lines(250)[:-7]}` and names the files."
    assert kept(old, lines(250))
    assert not kept(old, lines(375))
    assert kept(old + " Others: 200 to 600.", lines(375))
    assert not kept(old + " Others: 200 to 600.", lines(375, "98.00"))


@pytest.mark.parametrize("name", PAGES)
def test_the_readme_has_a_range_that_holds_all_steps_of_the_tables(name):
    least, most = promised_steps(read(name))
    assert [seen_in_the_table(read(page)).keys() for page in TABLES] == [
        {"copy", "reverse", "sort"}] * 2
    for page in TABLES:
        first, last = seen_in_the_table(read(page))["copy"]
        assert least <= first <= last <= most


@pytest.mark.slow
def test_training_to_copy_takes_the_steps_that_the_readme_promises(tmp_path, capsys):
    assert main(["train", "copy", "--out", str(tmp_path / "run")]) == 0
    printed = capsys.readouterr().out
    for name in PAGES:
        assert kept(read(name), printed), (name, SOLVED.search(printed)[0])
    after = printed[SOLVED.search(printed).end():]           # six examples, then the files
    assert after.count("right") == 6
    assert "model.npz" in after


def measured_by(number):
    """What a lesson prints, and all that stands in its code too: (outputs, outputs and code)."""
    nbformat = pytest.importorskip("nbformat")
    (path,) = (ROOT / "notebooks").glob(f"{number:02}_*.ipynb")
    cells = [cell for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code"]
    outputs = "\n".join(output.get("text", "") for cell in cells for output in cell.outputs)
    return outputs, "\n".join([outputs, *(cell.source for cell in cells)])


def stands_in(number, text):
    """Whether a text has a number: 97% as it is or as 0.97."""
    share = number.removesuffix("%")
    ways = {number, f"{float(share) / 100:.{len(share.partition('.')[2]) + 2}f}"
            if share != number else number}
    return any(re.search(rf"(?<![\d.]){re.escape(way)}(?!\d|\.\d|e-)", text) for way in ways)


def unmeasured(answer, sources=measured_by):
    """The numbers of an answer that its lessons do not print; whole ones may stand in their code,
    and formulas and addresses do not count."""
    *said, where = answer.strip().split("\n→ ")
    text = LEFT_OUT.sub(" ", "".join(said))
    lessons = dict.fromkeys(re.findall(r"notebooks/(?:zh/)?(\d\d)_", where))
    found = [sources(int(n)) for n in lessons]
    return [number for number in NUMBER.findall(text.split("\n", 1)[1])
            if not any(stands_in(number, lesson[number.isdigit()]) for lesson in found)]


def answers():
    return [answer for page in ("docs/questions.md", "docs/zh/questions.md")
            for answer in read(page).split("\n## ")[1:]]


@pytest.mark.parametrize("answer", answers(), ids=lambda answer: answer.split("\n")[0])
def test_every_number_of_an_answer_is_printed_by_the_lesson_that_it_names(answer):
    assert unmeasured(answer) == []


WHERE = "\n→ [第 1.5 节](../../notebooks/zh/01_attention_is_a_soft_look_up.md)"


@pytest.mark.parametrize(("text", "found"), [
    ("只有 41% 的词元最关注自己", ["41%"]),
    ("96% 降到 27%", []),
    ("最大差约为 6e-16", ["6e-16"]),
    ("$d = 512$，第 3.2 节，`77`", []),
])
def test_a_number_that_no_lesson_prints_is_found(text, found):
    assert unmeasured(f"为什么？\n\n{text}。\n{WHERE}") == found
