"""Nothing wrong passes: every small change of a solution is refused, or changes nothing."""

import random

import pytest
from edited import edited_at_random
from right_answers import RIGHT
from solutions import answer, run, source
from test_exercises import IMPORTS
from wrong_answers import WRONG

from aiayn_course.exercises import EXERCISES, check
from aiayn_course.exercises.checking import calling, checker, checks, comparing, errors

SAME = {  # changes that compute the same: (exercise, function, change)
    (1, "forward", "0.0 -> 1.0"),  # any number may be subtracted from a row of only -inf
    (1, "forward", "(total + (total == 0)) -> (total - (total == 0))"),  # 0 / -1
    (3, "backward", "1 -> 2"),  # reshape(-2, ...): any negative size is counted by NumPy
    (8, "backward", "1 -> 2"),
    (10, "forward", "np.take_along_axis(q, targets[..., None], axis=-1) ->"
                    " np.take_along_axis(q, targets[..., None], )"),
    (13, "greedy_decode", "-1 -> +1"),  # the last of two axes
    (14, "scale_moved", "W_Q.shape[1] // h -> W_Q.shape[1] / h"),
    *((17, "prefix_score", f"np.roll(earlier, 1, axis=-1) -> np.roll(earlier, 1, {axis})")
      for axis in ("", "axis=None")),  # the last key is never earlier
}


def changes(text):
    """(function, old -> new, the whole text with it) of each change that mutmut makes."""
    from mutmut.mutation.file_mutation import create_mutations

    module, found, *_ = create_mutations("answer.py", text)
    for mutation in found:
        function = mutation.contained_by_top_level_function.name.value
        if function != "__init__":                                     # that is given
            old, new = mutation.original_node, mutation.mutated_node
            change = " -> ".join(module.code_for_node(node).strip() for node in (old, new))
            yield function, change, module.deep_replace(old, new).code


def passes(code, names):
    """Whether everything that an exercise asks for is called right; an error of Python is not."""
    try:
        defined = run(code)
    except (NameError, TypeError, SyntaxError):
        return False
    return all(check(defined[name]) for name in names)


@pytest.mark.slow
@pytest.mark.parametrize("exercise", EXERCISES.values(), ids=list(EXERCISES))
def test_no_small_change_of_a_solution_passes(exercise):
    pytest.importorskip("mutmut")
    tried = list(changes(source(exercise.number)))
    passed = {(exercise.number, function, change) for function, change, code in tried
              if passes(code, exercise.objects)}
    passed -= SAME
    assert not passed
    assert len(tried) > 10


def answers():
    """Return [(name, code)] of the solutions and of the other right answers."""
    solved = [(name, source(e.number)) for e in EXERCISES.values() for name in e.objects]
    return [*solved, *((name, IMPORTS + text) for name, text in RIGHT.values())]


@pytest.mark.parametrize("count", [60, pytest.param(500, marks=pytest.mark.slow)])
def test_no_edit_at_random_makes_the_check_itself_stop(count, seed, monkeypatch):
    monkeypatch.setattr(calling, "SECONDS", 1)
    print("seed", seed)
    draw, tried, unchecked = random.Random(seed), 0, []
    while tried < count:
        name, text = draw.choice(answers())
        code = edited_at_random(text, draw)
        try:
            student = run(code)[name]
        except Exception:                                              # not even a definition
            continue
        tried += 1
        report = check(student)
        str(report), report._repr_html_(), check(student, hint=3)
        if report.diagnosis == "not checked":
            unchecked.append((name, report.message, code))
    assert not unchecked


FAULTS = [(checks, "explain"), (checks, "look"), (checks, "guess"),
          (checker, "told"), (calling, "stop_of"), (errors, "advice"), (comparing, "factor")]


@pytest.mark.parametrize(("module", "name"), FAULTS, ids=[name for _, name in FAULTS])
def test_a_fault_of_the_diagnosis_changes_no_verdict(module, name, monkeypatch):
    students = [answer(number, name, *edits) for number, name, _, *edits in WRONG[::9]]
    before = [check(student) for student in students]
    monkeypatch.setattr(module, name, None)                     # a call of it raises a TypeError
    for student, report in zip(students, before):
        plain = check(student)
        assert not plain
        assert plain.diagnosis != "not checked"
        assert {row.tensor for row in report.table if row.verdict == "WRONG"} == {
            row.tensor for row in plain.table if row.verdict == "WRONG"}, report
    assert check(answer(1, "Softmax"))
