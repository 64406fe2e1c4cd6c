"""Mutation: the runner itself on a toy, and, with `-m mutation`, every layer file of the package
and a sample of the machinery around the layers.

    python -m pytest -n 0 -m mutation      the same as python tests/helpers/mutation.py, and with
                                           --machinery
"""

import contextlib
import functools
import json
import os
import subprocess
import sys
import types

import mutants
import mutation
import pytest
from layers import module_classes
from mutants import Mutant, killer, mutants_of
from mutation import FILES, MACHINERY, SURVIVORS, judge, mutants_in, table

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="the runner forks")

TOY = '''
class Toy:
    def forward(self, x, *, times=2):
        """Not a line to change."""
        check_number("x", x)
        if x != x:
            raise ValueError("x != x")
        return max(x, -x) * times  # twice |x|

def check_number(name, x):
    return name + x
'''
LINE = "return max(x, -x) * times"
SIGNATURE = "def forward(self, x, *, times=2):"
MUTATIONS = {
    (SIGNATURE, "2 -> 3"), (SIGNATURE, "2 -> 1"),
    (LINE, "return max(x, -x) * times -> return -(max(x, -x) * times)"),
    (LINE, "max(x, -x) * times -> max(x, -x) / times"),
    (LINE, "max(x, -x) * times -> max(x, -x)"), (LINE, "max(x, -x) * times -> times"),
    (LINE, "max(x, -x) -> max(-x)"), (LINE, "max(x, -x) -> max(x)"),
    (LINE, "max(x, -x) -> max(-x, x)"), (LINE, "max(x, -x) -> x"),
    (LINE, "max -> min"), (LINE, "-x -> x"),
}


@pytest.fixture
def toy(monkeypatch):
    module = types.ModuleType("toy")
    exec(TOY.replace("name + x", "None"), vars(module))
    monkeypatch.setitem(sys.modules, "toy", module)
    return module


def test_a_toy_layer_has_the_mutants_that_it_should_have():
    found = list(mutants_of(TOY, "toy"))
    assert {(m.line, m.mutation) for m in found} == MUTATIONS
    assert {m.function for m in found} == {"Toy.forward"}
    assert len(found) == len(MUTATIONS)


def test_a_wrong_mutant_is_killed_and_an_equivalent_one_survives(toy):
    def check():
        values = [toy.Toy().forward(x) for x in (-3, 2)]
        return None if values == [6, 4] else "values"
    by = {m.mutation: killer(m, check) for m in mutants_of(TOY, "toy")}
    assert [mutation for mutation, test in by.items() if test is None] == [
        "max(x, -x) -> max(-x, x)"
    ]
    assert by["2 -> 3"] == by["max -> min"] == "values"
    assert by["max(x, -x) -> max(x)"].startswith("crash")  # max of a number: TypeError
    assert toy.Toy().forward(-3) == 6  # the parent has kept the original


def test_a_mutant_without_end_is_killed_by_time(monkeypatch):
    monkeypatch.setattr(mutants, "TIME_LIMIT", 0.05)

    def check():
        while True:
            pass
    assert mutants.in_a_fork(check).startswith("crash")


def test_a_mutant_that_cannot_be_planted_is_an_error(toy):
    del toy.Toy.forward
    with pytest.raises(RuntimeError, match="not planted"):
        killer(next(mutants_of(TOY, "toy")), lambda: None)


SPECIAL = """
class Toy:
    @property
    def one(self):
        return 1

    @functools.cached_property
    def two(self):
        return 2

    def four(self):
        made = super().__sizeof__()
        return 4

@contextlib.contextmanager
def three():
    yield 3
"""


def test_properties_and_functions_with_decorators_are_planted_too(monkeypatch):
    module = types.ModuleType("special")
    exec(SPECIAL, vars(module) | dict(functools=functools, contextlib=contextlib), vars(module))
    monkeypatch.setitem(sys.modules, "special", module)

    def check():
        toy = module.Toy()
        with module.three() as three:
            found = toy.one, toy.two, three, toy.four()
            return None if found == (1, 2, 3, 4) else "values"
    by = {(m.function, m.mutation): killer(m, check) for m in mutants_of(SPECIAL, "special")}
    assert {function for function, _ in by} == {"Toy.one", "Toy.two", "three", "Toy.four"}
    assert by["Toy.four", "made = super().__sizeof__() -> pass"] is None
    assert {function for (function, _), test in by.items() if test is None} == {"Toy.four"}
    assert set(by.values()) == {"values", None}


def test_a_sample_depends_on_its_seed_and_on_nothing_else():
    whole, five, again, other = ([m.key for m in mutants_in(["decoding/beam"], sample, seed)]
                                 for sample, seed in ((9999, 0), (5, 0), (5, 0), (5, 1)))
    assert len(five) == 5
    assert five == again == [key for key in whole if key in five]
    assert five != other
    assert len(list(mutants_in(["softmax"], 5))) > 5                   # of layers none is left out


def test_new_survivors_and_those_that_are_no_more_are_told(monkeypatch, tmp_path):
    keys = [("toy", "f", "return x", change) for change in ("a", "b", "c")]
    made = [Mutant("aiayn_np.toy", *key[1:], None, None, ()) for key in keys]
    listed = [dict(zip(("file", "function", "line", "mutation"), key)) for key in keys[:2]]
    path = tmp_path / "survivors.json"
    path.write_text(json.dumps(listed), encoding="utf-8")
    monkeypatch.setattr(mutation, "SURVIVORS", path)
    results = [(made[0], None, 1.0), (made[1], "test_x", 2.0), (made[2], None, 3.0)]
    assert judge(results, ["toy"]) == ([keys[2]], [keys[1]])
    assert judge(results[:1], ["another"]) == ([], [])
    monkeypatch.setitem(mutation.MACHINERY, "toy", ())
    assert judge(results[:2], ["toy"]) == ([], [keys[1]])
    assert judge(results[:1], ["toy"]) == ([], [])                     # the sample is another now
    assert table(results)[1].split() == ["toy", "3", "1", "2", "6.0"]


def test_every_file_that_defines_a_layer_is_mutated():
    files = {c.__module__.removeprefix("aiayn_np.").replace(".", "/") for c in module_classes()}
    assert files <= {*FILES}


def test_every_survivor_is_a_mutant_and_has_a_reason():
    """Of the machinery, in the sample of today or in another one."""
    known = {mutant.key for mutant in mutants_in([*FILES, *MACHINERY], sample=None)}
    for entry in json.loads(SURVIVORS.read_text(encoding="utf-8")):
        assert tuple(entry[part] for part in ("file", "function", "line", "mutation")) in known
        assert len(entry["reason"]) > 20, entry


@pytest.mark.mutation
@pytest.mark.parametrize("arguments", [[], ["--machinery"]], ids=["layers", "machinery"])
def test_no_mutant_survives_without_a_reason(arguments):
    command = [sys.executable, mutation.__file__, *arguments]
    done = subprocess.run(command, capture_output=True, encoding="utf-8")
    print(done.stdout)
    assert done.returncode == 0, done.stdout + done.stderr[-2000:]
