"""Nothing wrong passes: every small change of a solution is refused, or changes nothing."""

import ast

import pytest
from mutants import mutants_of
from solutions import run, source

from aiayn_np.exercises import EXERCISES, check

# A mutant that passes because it computes the same: (method, a piece of the change).
SAME = {
    ("Softmax.forward", "0.0 -> 1.0"),  # any number may be subtracted from a row of only -inf
    ("Softmax.forward", "total - (total == 0)"),  # 0 / -1
    ("Linear.backward", "-1 -> -2"),  # any negative size is counted by NumPy
    ("OutputProjection.backward", "-1 -> -2"),
    ("ScaledDotProductAttention.backward", "self.mask.backward(grad_scores, cache.mask) ->"),
    # the line above: where a score is masked the weight is 0, and so is the softmax's gradient
    ("split_heads", "swapaxes(-3, -2)"),
    ("merge_heads", "swapaxes(-3, -2)"),
    ("split_heads", "-2 -> 2"),  # axis 2 of (B, T, h, d), and the last but one of (B, h, T, d)
    ("merge_heads", "-2 -> 2"),
    ("ReLU.forward", "np.maximum(0, x)"),
    ("LabelSmoothedCrossEntropy.forward", "np.take_along_axis(q, targets[..., None])"),
    ("Adam.step", "zip(self.v, self.m, self.parameters)"),  # both are zeros at first
    ("warmup_rate", "min(step * warmup_steps"),
    ("greedy_decode", "min(model.max_len, src.shape[1] + 50)"),
    ("greedy_decode", "-1 -> 1"),  # the last of two axes
    ("SinusoidalPositionalEncoding.table", "0::2 -> ::2"),
    # given by the stub: the default of a keyword that the check always passes
    ("SinusoidalPositionalEncoding.table", "0 -> 1"),
    ("SinusoidalPositionalEncoding.table", "0 -> -1"),
}


def changed(mutant):
    """The code of a mutant."""
    container, key, new = mutant.edit
    if isinstance(container, list):
        old, container[key] = container[key], new
    else:
        old = getattr(container, key)
        setattr(container, key, new)
    try:
        return ast.unparse(ast.fix_missing_locations(mutant.tree))
    finally:
        if isinstance(container, list):
            container[key] = old
        else:
            setattr(container, key, old)


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
    passed, tried = [], 0
    for mutant in mutants_of(source(exercise.number), "answer"):
        if not mutant.function.endswith("__init__"):                   # that is given
            tried += 1
            known = any(mutant.function == f and piece in mutant.mutation for f, piece in SAME)
            if not known and passes(changed(mutant), exercise.objects):
                passed.append((mutant.function, mutant.line, mutant.mutation))
    assert not passed
    assert tried > 10
    print(exercise.name, tried)
