"""The page on windows prints what it says, and without its table the task is not learned."""

import pytest
from pages import ROOT, blocks

PAGES = "docs/window-attention.md", "docs/zh/window-attention.md"


def program(page):
    return blocks((ROOT / page).read_text(encoding="utf-8"), "python")


@pytest.mark.parametrize("page", PAGES)
def test_its_programs_print_what_it_says(page, capsys):
    names = {}
    for code in program(page):
        exec(code, names)
    said = blocks((ROOT / page).read_text(encoding="utf-8"), "text")
    assert capsys.readouterr().out == "".join(said)


def test_without_the_table_the_task_is_not_learned():
    *before, training = program(PAGES[0])
    names, step = {}, "    optimizer.step(0.01)\n"
    assert step in training
    for code in (*before, "bias.b.value[:] = 0\n" + training.replace(
            step, "    bias.b.grad[:] = 0\n" + step)):
        exec(code, names)
    assert ((names["y"] - names["wanted"]) ** 2).mean() > 0.5
