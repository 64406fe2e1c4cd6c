"""What never ends, what is random, whose part is wrong, and functions that are made of others."""

import functools

import pytest
from solutions import answer, run

from aiayn_course.exercises import check, train_with
from aiayn_course.exercises.checking import calling


def test_a_loop_that_never_ends_is_stopped_by_the_processors_time(monkeypatch):
    monkeypatch.setattr(calling, "SECONDS", 0.2)
    edit = "def forward(self, scores):", "def forward(self, scores):\n        while True: pass"
    report = check(answer(1, "Softmax", edit))
    assert report.diagnosis == "endless"
    assert "Softmax.forward does not end" in report.message


def test_a_decoder_that_never_ends_is_stopped_by_its_calls():
    forever = "    while True:\n            model.decode(tgt, memory)\n        logits, _ = model"
    edit = "    logits, _ = model", forever
    report = check(answer(13, "greedy_decode", edit))
    assert report.diagnosis == "endless"
    assert "1000 times" in report.message


@pytest.mark.parametrize("place", ["highest = scores", "return weights * "])
@pytest.mark.parametrize("error", ["SystemExit(3)", "BaseException", "KeyboardInterrupt"])
def test_only_an_interruption_ends_more_than_the_students_code(place, error):
    student = answer(1, "Softmax", (place, f"raise {error}\n        {place}"))
    if error == "KeyboardInterrupt":
        with pytest.raises(KeyboardInterrupt):
            check(student)
    else:
        report = check(student)
        assert f"`raise {error}`, with {error[:10]}" in report.message


@pytest.mark.parametrize("edit", [
    ("return np.maximum(x, 0)", "return x / (1 + np.exp(-x))"),
    ("grad_y * (", "grad_y * np.tanh(cache.x) * ("),
])
def test_a_wrong_part_inside_a_layer_is_named(edit):
    report = check(answer(7, "PositionwiseFeedForward", edit))
    assert report.diagnosis == "another layer"
    assert "Your ReLU is not right yet" in report.message


def test_a_right_function_may_be_made_of_another_one():
    names = run("import functools, numpy as np\n"
                "def lower(n, k):\n    return np.tril(np.ones((n, n), bool), k)\n"
                "causal = functools.partial(lower, k=0)")
    assert check(names["causal"])
    assert train_with(names["causal"], steps=1)
    names["causal"].keywords["k"] = -1
    assert check(names["causal"]).diagnosis == "off by one"
    with pytest.raises(ValueError, match="must be one of"):
        check(functools.partial(run))
