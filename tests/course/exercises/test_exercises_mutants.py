"""Nothing wrong passes: every small change of a solution is refused, or changes nothing."""

import pytest
from solutions import run, source

from aiayn_course.exercises import EXERCISES, check

SAME = {  # changes that compute the same: (exercise, function, change)
    (1, "forward", "0.0 -> 1.0"),  # any number may be subtracted from a row of only -inf
    (1, "forward", "(total + (total == 0)) -> (total - (total == 0))"),  # 0 / -1
    (3, "backward", "1 -> 2"),  # reshape(-2, ...): any negative size is counted by NumPy
    (8, "backward", "1 -> 2"),
    (9, "table", "0 -> 1"),  # the default of a keyword that the check always passes
    (10, "forward", "np.take_along_axis(q, targets[..., None], axis=-1) ->"
                    " np.take_along_axis(q, targets[..., None], )"),
    (13, "greedy_decode", "-1 -> +1"),  # the last of two axes
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
