"""The bug zoo: how a bug is planted and taken away, the command, the table of trainings.

That every bug is caught by its check stands in tests/smoke/test_bugs.py.
"""

import dataclasses
import inspect
import re
import sys
from pathlib import Path

import numpy as np
import pytest

import aiayn_np
from aiayn_course import PACKAGES
from aiayn_course.cli import zoo as cli_zoo
from aiayn_course.cli.main import main
from aiayn_course.lab import zoo
from aiayn_course.lab.zoo import BUGS, CHECKS, Bug, hunt, reference
from aiayn_course.lab.zoo.bug import PAPER
from aiayn_course.lab.zoo.checks.registry import CheckFailed, fresh, must_equal, prove, small_model
from aiayn_course.lab.zoo.learning import HEAD, HEALTHY_SEEDS, Outcome, learn_to_copy
from aiayn_np import LayerNorm, Softmax, Transformer, masking, multi_head

TABLE = Path(__file__).with_name("zoo_training.md")
every_bug = pytest.mark.parametrize("bug", BUGS.values(), ids=[f"bug {n}" for n in BUGS])


softmax_backward = Softmax.backward


def no_bug(**changes):
    """A "bug" that plants the right softmax backward once more."""
    right = {"backward": lambda self, grad, cache: softmax_backward(self, grad, cache)}
    return dataclasses.replace(BUGS[1], methods=right, **changes)


@pytest.fixture
def few_checks(monkeypatch):
    """The command runs some quick checks only."""
    kept = {"gradient: softmax", "gradient: loss", "values: loss", "exact: caches untouched",
            "training: Eq. (3)"}
    for name in set(CHECKS) - kept:
        monkeypatch.delitem(CHECKS, name)


def package_state():
    """Every function of the package, by where it is found: in modules and in their classes."""
    state = {}
    for module in [m for n, m in sys.modules.items() if n.split(".")[0] in PACKAGES]:
        for name, thing in vars(module).items():
            if inspect.isfunction(thing):
                state[module.__name__, name] = thing
            if inspect.isclass(thing) and thing.__module__.startswith(PACKAGES):
                state |= {(thing, n): f for n, f in vars(thing).items() if inspect.isfunction(f)}
    return state


@every_bug
def test_planting_changes_what_it_says_and_restores_everything(bug):
    before = package_state()
    with bug.plant() as planted:
        assert planted is bug
        for name, wrong in bug.methods.items():
            assert vars(bug.layer)[name] is wrong
        changed = {key for key, thing in package_state().items() if before[key] is not thing}
        assert {name for _, name in changed} == set(bug.methods)
    assert_same_package(before)
    with pytest.raises(RuntimeError, match="inside"), bug.plant():
        raise RuntimeError("inside")
    assert_same_package(before)


def assert_same_package(before):
    after = package_state()
    assert after.keys() == before.keys()
    assert all(after[key] is before[key] for key in before)


def test_a_function_is_wrong_wherever_it_was_imported():
    right = masking.causal
    with BUGS[17].plant():
        assert aiayn_np.causal is aiayn_np.transformer.causal is masking.causal is not right
        zoo.causal = masking.causal                                    # imported while planted
    assert zoo.causal is right
    del zoo.causal
    with BUGS[13].plant(), BUGS[17].plant():
        assert multi_head.split_heads is BUGS[13].methods["split_heads"]
        assert masking.causal is BUGS[17].methods["causal"]


def test_what_cannot_be_planted_changes_nothing():
    before = package_state()
    unknown = dataclasses.replace(BUGS[4], methods={"backwards": None})
    with pytest.raises(KeyError, match="backwards"), unknown.plant():
        pass
    assert package_state() == before
    assert not hasattr(LayerNorm, "backwards")


@pytest.mark.slow
def test_a_bug_that_only_values_see_passes_the_gradient_proof():
    """So it is no use to be without the checks of values, exact properties and training."""
    gradients = [name for name in CHECKS if name.startswith("gradient")]
    for number in (5, 13, 15, 16, 17, 18, 19, 26, 27, 28, 29, 30, 33, 34, 35, 36, 37):
        assert hunt(BUGS[number], gradients) == {}


def test_no_bug_is_not_caught(monkeypatch, capsys, few_checks):
    assert hunt(no_bug()) == {}
    monkeypatch.setattr(zoo, "BUGS", {1: no_bug(name="right"), 2: BUGS[2]})
    assert main(["zoo"]) == 1
    out = capsys.readouterr().out
    assert re.search(r"^ 1  right .* NOT CAUGHT", out, re.MULTILINE)
    assert out.endswith("1 of 2 caught\n")


def test_caught_by_another_check_only_is_not_caught_as_named(monkeypatch, capsys, few_checks):
    other = dataclasses.replace(BUGS[30], caught_by="values: loss")
    monkeypatch.setattr(zoo, "BUGS", {30: other})
    assert main(["zoo"]) == 1
    assert "NOT by values: loss" in capsys.readouterr().out


def test_a_check_that_fails_without_a_bug_ends_the_hunt(monkeypatch, capsys, few_checks):
    monkeypatch.setattr(Softmax, "backward", BUGS[1].methods["backward"])
    assert main(["zoo", "30"]) == 1
    out, err = capsys.readouterr()
    assert re.fullmatch(r"\d of 5 checks fail with no bug planted: nothing can be hunted\n", out)
    assert "gradient: softmax: wrong: scores" in err


def test_the_command_tells_about_single_bugs(capsys, few_checks):
    assert main(["zoo", "22", "31"]) == 0
    out = capsys.readouterr().out
    passed, heading, first, *_ = out.splitlines()
    assert passed == f"{len(CHECKS)} checks pass with no bug planted"
    assert first.startswith("22  cross-entropy")
    assert first.index(BUGS[22].seen) == heading.index("who had it")
    for text in (BUGS[22].what.splitlines()[0], BUGS[31].formula, "gradient: loss",
                 "backward changed", "2 of 2 caught\n", BUGS[22].seen, BUGS[31].where):
        assert text in out


@pytest.mark.parametrize(("argv", "message"), [
    (["39"], "every number must be one of 1 to 38, got 39"),
    (["33", "--train"], "--train is for the bugs 1 to 32"),
])
def test_a_wrong_request_is_one_line(argv, message, capsys):
    assert main(["zoo", *argv]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert message in err


def test_the_reference_is_not_the_package(rng):
    """No bug can break it: it computes the same while all layers are wrong."""
    model = small_model(fresh())
    ids = rng.integers(1, 9, (2, 4))
    before = reference.transformer(model, *ids)
    for bug in BUGS.values():
        with bug.plant():
            assert np.array_equal(reference.transformer(model, *ids), before)


def test_same_says_where_and_by_how_much():
    must_equal("y", np.ones(3), np.ones(3) + 1e-13)
    with pytest.raises(CheckFailed, match=r"y at \[1, 0\]: 2, must be 1, error 1e\+00"):
        must_equal("y", [[1.0], [2.0]], np.ones((2, 1)))
    with pytest.raises(CheckFailed, match=r"y: nan, must be 1"):
        must_equal("y", np.nan, 1.0)
    with pytest.raises(CheckFailed, match=r"y: shape \(2,\), must be \(1, 2\)"):
        must_equal("y", np.ones(2), np.ones((1, 2)))


def test_prove_names_the_wrong_tensors(rng):
    class Wrong(LayerNorm):
        def backward(self, grad_y, cache):
            grad_x = super().backward(grad_y, cache)
            self.beta.grad += 1e-9
            return grad_x

    with pytest.raises(CheckFailed, match=r"^wrong: beta$"):
        prove(Wrong(5), rng.standard_normal((2, 3, 5)))


def test_training_with_a_bug_has_an_outcome_whatever_happens():
    assert learn_to_copy(steps=2).error == ""
    leaking = learn_to_copy(BUGS[9], steps=2)
    assert leaking.tokens is not None
    assert leaking.error.startswith("ValueError in decoding: ")
    raising = Bug(0, "raises", Transformer, "", "", "", "", {"backward": lambda *_: 1 // 0})
    assert learn_to_copy(raising, steps=2).error.startswith("ZeroDivisionError in training")


def test_the_table_of_training_is_of_these_bugs():
    """`aiayn-np zoo --train > tests/course/zoo/zoo_training.md` makes it again."""
    text = TABLE.read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\d+|none) \| ([^|]*) \|", text, re.MULTILINE)
    healthy = [("none", f"no bug planted, seed {seed}") for seed in range(HEALTHY_SEEDS)]
    assert rows == healthy + [
        (str(b.number), b.name) for b in BUGS.values() if b.number <= PAPER]
    assert text.startswith(f"{HEAD}\n")


def test_train_prints_the_table(monkeypatch, capsys):
    seeds = []

    def learned(bug, seed, watch):
        seeds.append(seed)
        return Outcome(0.5, 0.25) if bug else Outcome(1.0, 1.0)

    monkeypatch.setattr("aiayn_course.lab.zoo.learning.learn_to_copy", learned)
    assert main(["zoo", "3", "1", "--train"]) == 0
    text = capsys.readouterr().out
    assert text.startswith(HEAD)
    assert f"| none | {cli_zoo.NOTHING}, seed 3 | 100.0 % | 100.0 % | still solves it |" in text
    assert f"| 3 | {BUGS[3].name} | 50.0 % | 25.0 % | does not learn it |" in text
    assert text.index("| 3 |") < text.index("| 1 |")
    assert seeds == [*range(HEALTHY_SEEDS), 0, 0]


@pytest.mark.slow
def test_a_hunt_for_all_catches_all(capsys):
    assert main(["zoo"]) == 0
    assert capsys.readouterr().out.endswith("\n38 of 38 caught\n")


@pytest.mark.slow
def test_a_healthy_model_solves_the_task_and_a_broken_one_does_not(seed):
    assert learn_to_copy(seed=seed).exact >= 0.97
    assert learn_to_copy(BUGS[16], seed=seed).exact < 0.5
