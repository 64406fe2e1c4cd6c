"""The page of the zoo, made of its bugs and of the results of training with them, for the site."""

import difflib
import inspect

from aiayn_course.lab.zoo import BUGS


def page(table):
    """Write all bugs in a table, then a section for each: what is wrong, and how its lines differ.

    table : the rows of zoo_training.md
    """
    trained, rows, sections = {row[0]: row for row in table}, [], []
    for number, bug in BUGS.items():
        *_, tokens, sequences, verdict = trained.get(str(number), [""] * 5)
        learns, name = verdict.split(":")[0], f"{number} · {bug.name}"
        rows.append(f"| [{name}](#bug-{number}) | {bug.caught_by} | {learns} |")
        right, wrong = (
            "\n\n".join(inspect.cleandoc(inspect.getsource(f)) for f in methods).splitlines()
            for methods in ([vars(bug.layer)[n] for n in bug.methods], bug.methods.values()))
        differ = "\n".join([*difflib.unified_diff(right, wrong, "right", "wrong", n=99)][3:])
        sections.append(
            f"(bug-{number})=\n## {name}\n\n{bug.what}\n\n```text\n{bug.formula}\n```\n\n"
            f"Where: `{bug.where}`. Seen in: {bug.seen}. Caught by: *{bug.caught_by}*."
            + f" Trained with it, {verdict}: {tokens} of the tokens, {sequences} of the"
              " sequences." * bool(verdict) + f"\n\n```diff\n{differ}\n```\n")
    solved = sum(row[4] == "still solves it" for row in table if row[0] != "none")
    named = sum(bug.seen != "common" for bug in BUGS.values())
    return (f"# The bug zoo\n\n{len(BUGS)} bugs, {named} of them found in named public"
            " implementations. `aiayn-np zoo` plants them one by one and shows what catches them."
            f" With {solved} of the first {len(trained) - 1} the copy task is still solved ([how"
            " that is measured](zoo_training.md)), so that a model trains is no evidence that it is"
            " right.\n\n| bug | caught by | trained with it |\n|---|---|---|\n"
            + "\n".join(rows) + "\n\n" + "\n".join(sections))
