"""Predictions: how they are written, shown and checked, and what a quiz makes of them."""

import ast
import functools
import os
import re
import subprocess
import sys

import pytest

nbformat = pytest.importorskip("nbformat")
pytest.importorskip("jupytext")
pytest.importorskip("nbclient")

import build  # noqa: E402
import chinese  # noqa: E402
import predictions  # noqa: E402
import quiz  # noqa: E402

TEXT = """\
It is long.

> **Predict.** The query is `q`, twice. What is
> $w$ now?
>
> - 1/2, that is `half` → It asks more → firmly, $w > 1/2$.
> - 3/4 <!-- true: w == 3 / 4 -->
> - 1 < 2
>
> <!-- given: The query {q} of $\\sqrt{2}$, weights {[w, 0.25]}. -->"""
LESSONS = pytest.mark.parametrize("source", build.SOURCES, ids=lambda path: path.stem)


def test_a_prediction_is_read():
    assert predictions.prediction_of(TEXT) == dict(
        question="The query is `q`, twice. What is $w$ now?", right=1, condition="w == 3 / 4",
        given=r"The query {q} of $\sqrt{2}$, weights {[w, 0.25]}.",
        choices=[["1/2, that is `half`", "It asks more → firmly, $w > 1/2$."], ["3/4", ""],
                 ["1 < 2", ""]])
    assert predictions.prediction_of("No **Predict.** here.") is None
    in_chinese = TEXT.replace("**Predict.** ", "**预测：** ")
    assert predictions.prediction_of(in_chinese) == predictions.prediction_of(TEXT)


@pytest.mark.parametrize(("old", "new", "fault"), [
    ("> - 3/4", "> 3/4", "it has 2 choices, and not 3 or 4"),
    ("> - ", "> ", "it has 0 choices, and not 3 or 4"),
    (" <!-- true: w == 3 / 4 -->", "", "0 of its choices have"),
    ("> - 1 < 2", "> - 1 <!-- true: w < 1 -->", "2 of its choices have"),
    ("1/2, that", "$1/2$, that", "a choice holds a formula"),
    ("0.25]}. -->", "0.25]}. -->\n\nMore.", "no text may follow"),
])
def test_a_prediction_that_is_not_written_so_is_refused(old, new, fault):
    assert old in TEXT
    with pytest.raises(ValueError, match=fault):
        predictions.prediction_of(TEXT.replace(old, new))


def test_each_choice_unfolds_what_is_said_to_it():
    shown = predictions.folded(TEXT)
    question = "It is long.\n\n> **Predict.** The query is `q`, twice. What is $w$ now?\n"
    assert shown.startswith(question)
    assert re.findall(r"(?m)^> <details><summary>(.*)</summary>\n>\n> (.*)\n>\n> </details>$",
                      shown) == [
        ("A · 1/2, that is <code>half</code>", "**No.** It asks more → firmly, $w > 1/2$."),
        ("B · 3/4", "**Yes.**"), ("C · 1 &lt; 2", "**No.**")]
    assert "true:" not in shown
    assert "given:" not in shown
    assert predictions.folded("How many?") == "How many?"


def made(answer="q, w = [1.0, 2.0], 3 / 4"):
    """A notebook with a prediction."""
    text = TEXT.replace("\n", "\n# ")
    return build.lesson_of(
        f"# %% [markdown]\n# {text}\n\n# %%\nx = 1\n\n# %%\n{answer}\n\n# %% [markdown]\n# So.\n")


def run(cells):
    """What the last cell of code prints."""
    code = "\n".join(cell.source for cell in cells if cell.cell_type == "code")
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)


def test_the_right_choice_is_checked_and_what_is_given_is_measured():
    cells = predictions.with_checks(made())
    assert [cell.cell_type for cell in cells] == ["markdown", "code", "code", "code", "markdown"]
    cells[3]["outputs"] = [nbformat.v4.new_output("stream", text=run(cells).stdout)]
    kept = predictions.without_checks(cells)
    assert len(kept) == 4
    assert predictions.given(kept[0].metadata.prediction, kept[2], quiz.tex) == (
        r"The query $\begin{pmatrix} 1 & 2 \end{pmatrix}$ of $\sqrt{2}$,"
        r" weights $\begin{pmatrix} 0.75 & 0.25 \end{pmatrix}$.")
    wrong = run(predictions.with_checks(made("q, w = [1.0, 2.0], 0.5")))
    assert "What is $w$ now? The cells do not measure B." in wrong.stderr


def test_a_prediction_without_code_after_it_is_refused():
    notebook = made()
    del notebook.cells[1:3]
    with pytest.raises(ValueError, match="no code follows that measures it"):
        predictions.with_checks(notebook)


def test_outputs_are_not_kept_if_predictions_measure_something_else():
    before, after = made(), made()
    before.cells[2].metadata["given"] = {"q": "1"}
    assert build.with_outputs_of(before, after).cells[2].metadata.given == {"q": "1"}
    after.cells[0].metadata.prediction["condition"] = "w == 1"
    with pytest.raises(ValueError, match="what its predictions measure has changed"):
        build.with_outputs_of(before, after)


@functools.cache
def notebook(source):
    return nbformat.read(source.with_suffix(".ipynb"), as_version=4)


def names(code):
    return {node.id for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Name)}


@LESSONS
def test_what_a_prediction_measures_is_made_by_the_cells_that_follow(source):
    cells = notebook(source).cells
    for i, asked in predictions.answers_of(notebook(source)).items():
        start = max(j for j in range(i) if cells[j].cell_type == "markdown")
        after = names("\n".join(cell.source for cell in cells[start + 1:i + 1]))
        assert names(asked.condition) & after - {"np", "math", "abs", "len"}, asked.question


@pytest.mark.slow
@LESSONS
def test_the_right_choice_is_what_a_lesson_measures(source, tmp_path):
    cells = [c for c in predictions.with_checks(notebook(source)) if c.cell_type == "code"]
    script = tmp_path / source.name
    script.write_text("\n\n".join(cell.source for cell in cells), encoding="utf-8")
    done = subprocess.run([sys.executable, "-W", "error", script], cwd=source.parent,
                          capture_output=True, text=True, env=os.environ | build.ONE_THREAD)
    assert (done.returncode, done.stderr) == (0, "")


CONTROL = "~=#{}:"


def read_gift(text):
    """[(name, question, [(right, choice, said to it)] or what is said at the end)] of a file.

    As Moodle does, it hides doubled backslashes first, then control signs after a backslash. After
    that, \\n is a new line, and the control signs that are left split the text.
    """
    found = []
    for part in re.split(r"\n\s*\n", text.strip()):
        if part.startswith(("//", "$CATEGORY: ")):
            continue
        part = part.replace("\\\\", "\0").replace("\\n", "\n")
        for i, sign in enumerate(CONTROL):
            part = part.replace(f"\\{sign}", chr(i + 1))
        name, question, answers = re.fullmatch(
            r"::([^:]*)::\[html\]([^{}]*) \{([^{}]*)\}", part).groups()
        if answers.startswith("####"):
            found.append((shown(name), shown(question), shown(answers[4:])))
            continue
        choices = re.findall(r"([=~])([^=~#]*)#([^=~#]*)", answers)
        assert "".join(map("{0[0]}{0[1]}#{0[2]}".format, choices)) == answers.lstrip()
        found.append((shown(name), shown(question),
                      [(sign == "=", shown(choice), shown(says))
                       for sign, choice, says in choices]))
    return found


def shown(text):
    for i, sign in enumerate(CONTROL):
        text = text.replace(chr(i + 1), sign)
    return text.replace("\0", "\\").strip()


@pytest.mark.parametrize("text", [r"Is $p_{v} = \frac{1}{2} \neq 1$ in `f(x=1)`?", r"$$a \\ b$$",
                                  "a ~ b # c : d → e", r"`\n` and \\ and $\nabla$"])
def test_a_text_survives_the_way_into_gift(text):
    as_html = quiz.MarkdownIt().use(
        quiz.dollarmath_plugin, renderer=quiz.formula, double_inline=True).render(text)
    ((_, question, _),) = read_gift(f"::A::[html]{quiz.gift_text(text)} {{####}}")
    assert question == " ".join(as_html.split())


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_quiz_has_every_prediction_and_three_questions_of_each_lesson(language):
    lessons = [chinese.read(s.with_suffix(".ipynb"), language) for s in build.SOURCES]
    text = quiz.gift(lessons)
    assert text.count("$CATEGORY: ") == len(lessons)
    found = read_gift(text)
    assert len({name for name, _, _ in found}) == len(found)
    asked = [p for lesson in lessons for p in predictions.answers_of(lesson).values()]
    chosen = [answer for _, _, answer in found if not isinstance(answer, str)]
    assert [len(p.choices) for p in asked] == [len(choices) for choices in chosen]
    assert [p.right for p in asked] == [[right for right, _, _ in c].index(True) for c in chosen]
    assert all(sum(right for right, _, _ in choices) == 1 for choices in chosen)
    assert len(found) - len(chosen) == 3 * len(lessons)
    for _, question, answer in found:
        for html in [question, answer] if isinstance(answer, str) else [question]:
            assert html.startswith("<p>")
            assert html.count(r"\(") == html.count(r"\)")
            assert "$" not in html
