"""Predictions: a question with choices, of which one is what the next cells measure.

A cell of text may end with one. It is written so, in both languages:

    > **Predict.** The query is made twice as long. What is the weight of `cat` now?
    >
    > - 1/2 → The direction is the same, but a longer query asks more firmly.
    > - 3/4 <!-- true: np.isclose(twice[1], 3 / 4) -->
    >
    > <!-- given: the query $q$ = {q} and four keys, the rows of {K} -->

After `→` stands what a reader gets who takes that choice. The choice with `true:` is the right one,
and the rest of that comment is an expression over the names of the cells that follow. build.py
evaluates it when those cells have run, up to the next text, and refuses a lesson in which it is
false. `given:` is for slides and quizzes, where the lesson is not around the question: an
expression in braces becomes its value: a number, a text, a vector or a matrix.

A choice holds no formula, because browsers show none in what is clicked: √d_k, not $\\sqrt{d_k}$.
"""

import json
import re
from html import escape

from needs import needed

ASKS = r"\*\*(?:Predict\.|预测：)\*\* *"
BLOCK = re.compile(rf"^> {ASKS}.*(?:\n>.*)*", re.MULTILINE)
TRUE, GIVEN = (re.compile(rf"<!-- {word}: (.*?) -->", re.DOTALL) for word in ("true", "given"))
VALUE = re.compile(r"\$[^$]+\$|\{([^{}]+)\}")  # a formula is left as it is
VERDICTS = {"en": ("**No.**", "**Yes.**"), "zh": ("**不对。**", "**对。**")}
LETTERS, CHECK = "ABCD", "check-"


def prediction_of(text):
    """The prediction in a text as a dict, or None; ValueError for one that is not written so."""
    block = BLOCK.search(text)
    if not block:
        return None
    body = re.sub(r"^> ?", "", block[0], flags=re.MULTILINE)
    question, *items = re.split(r"\n(?=- )", GIVEN.sub("", body))
    question = one_line(re.sub(ASKS, "", question, count=1))
    given = "".join(map(one_line, GIVEN.findall(body)))
    choices = [TRUE.sub("", item[2:]).partition("→") for item in items]
    conditions = [TRUE.findall(item) for item in items]
    right = [i for i, found in enumerate(conditions) if found]
    found = dict(question=question, given=given, condition=one_line("".join(TRUE.findall(body))),
                 choices=[[one_line(choice), one_line(says)] for choice, _, says in choices],
                 right=right[0] if right else 0)
    wrong = fault(found, len(right), text[block.end():].strip())
    if wrong:
        raise ValueError(f"{question}: {wrong}")
    return found


def fault(prediction, right, after):
    """What is wrong with a prediction, or nothing."""
    choices = prediction["choices"]
    if not 3 <= len(choices) <= 4:
        return f"it has {len(choices)} choices, and not 3 or 4"
    if right != 1:
        return f"{right} of its choices have <!-- true: … -->, and not one"
    if any("$" in choice for choice, _ in choices):
        return "a choice holds a formula: write √d_k, not $"
    return after and "no text may follow it in its cell"


def one_line(text):
    return " ".join(text.split())


def folded(text):
    """The text with its prediction as a notebook shows it: each choice unfolds what is said to it."""
    prediction = prediction_of(text)
    if not prediction:
        return text
    block = BLOCK.search(text)
    head = re.match(rf"> {ASKS}", block[0])[0]
    verdicts = VERDICTS["zh" if "预测" in head else "en"]
    lines = [head + prediction["question"]]
    for i, (choice, says) in enumerate(prediction["choices"]):
        lines += [f"<details><summary>{LETTERS[i]} · {as_html(choice)}</summary>",
                  f"{verdicts[i == prediction['right']]} {says}".strip(), "</details>"]
    return text[:block.start()] + "\n>\n> ".join(lines) + text[block.end():]


def as_html(choice):
    return re.sub("`([^`]+)`", r"<code>\1</code>", escape(choice, quote=False))


def with_checks(notebook):
    """The cells of a notebook, and after those that answer a prediction one that checks it."""
    cells, answers = [], answers_of(notebook)
    asked = [c.metadata["prediction"] for c in notebook.cells if "prediction" in c.metadata]
    for prediction in asked:
        if prediction not in answers.values():
            raise ValueError(f"{prediction['question']}: no code follows that measures it")
    for i, cell in enumerate(notebook.cells):
        cells += [cell, check_of(answers[i])] if i in answers else [cell]
    return cells


def answers_of(notebook):
    """{the index of the last code cell before the next text: the prediction that it answers}."""
    found, asked = {}, None
    for i, cell in enumerate(notebook.cells):
        after = [*notebook.cells, None][i + 1]
        if cell.cell_type == "markdown":
            asked = cell.metadata.get("prediction")                    # of this text alone
        elif asked and (after is None or after.cell_type == "markdown"):
            found[i] = asked
    return found


def measured(notebook):
    """[(the condition of a right choice, the expressions of what is given)] of a notebook."""
    return [(p["condition"], names_of(p)) for p in answers_of(notebook).values()]


def check_of(prediction):
    """A cell that fails where the right choice is not what was measured, and prints what is given."""
    letter = LETTERS[prediction["right"]]
    wrong = f"{prediction['question']} The cells do not measure {letter}."
    values = ", ".join(f"{name!r}: {name}" for name in names_of(prediction))
    return needed("nbformat").v4.new_code_cell(
        f"assert ({prediction['condition']}), {wrong!r}\n"
        "import json, numpy\n"
        f"print(json.dumps({{{values}}}, default=lambda x: numpy.round(x, 4).tolist()))",
        id=CHECK + letter)


def names_of(prediction):
    """The expressions in braces of what is given."""
    return [name for name in VALUE.findall(prediction["given"]) if name]


def without_checks(cells):
    """The cells without their checks. The cell before a check keeps what is given, measured."""
    kept = []
    for cell in cells:
        if not is_check(cell):
            kept.append(cell)
            continue
        printed = json.loads("".join(output.text for output in cell.outputs))
        kept[-1].metadata |= {"given": printed} if printed else {}
    return kept


def is_check(cell):
    return cell.id.startswith(CHECK)


def two_digits(x, among):
    """A number as those beside it: with two digits, or without a point if all are whole."""
    if all(float(y).is_integer() for y in among):
        return f"{x:.4g}"
    return f"{x:.2g}" if max(map(abs, among)) < 0.1 else f"{round(x, 2) + 0:.2f}"


def given(prediction, cell, shown):
    """What is given, with the values that the cell which answers the prediction keeps.

    shown : makes the text of a value from its rows, which are lists of texts
    """
    def value(name):
        found = cell.metadata["given"][name]
        rows = found if isinstance(found, list) else [found]
        rows = rows if isinstance(rows[0], list) else [rows]
        numbers = [x for row in rows for x in row if not isinstance(x, str)]
        return shown([[x if isinstance(x, str) else two_digits(x, numbers) for x in row] for row in rows])

    return VALUE.sub(lambda m: value(m[1]) if m[1] else m[0], prediction["given"])
