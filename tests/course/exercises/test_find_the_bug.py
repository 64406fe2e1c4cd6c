"""Find the bug: thirteen models that look alike, of which twelve are wrong, each in its own way."""

import copy
import inspect
import re
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from aiayn_course.exercises.mystery import models as mystery
from aiayn_course.exercises.mystery.models import (
    HEALTHY,
    ORDER,
    STATEMENTS,
    TOOLS,
    bug_of,
    guess,
    hint,
    reveal,
)
from aiayn_course.lab.zoo import BUGS
from aiayn_np import (
    Adam,
    Module,
    Parameter,
    assert_causal,
    assert_heads_equal_loop,
    assert_padding_invariant,
    check_gradients,
)
from aiayn_np.module import leaves
from aiayn_np.proofs.probing import randomise
from aiayn_np.training import optimizer
from aiayn_np.training.loss import ModelLoss

ROOT = Path(__file__).parents[3]
SOURCE = ROOT / "notebooks" / "exercises" / "find_the_bug.py"
SRC = np.array([[3, 4, 5, 4, 2], [6, 3, 2, 0, 0]])
TGT = np.array([[1, 4, 8, 4, 6], [1, 3, 7, 0, 0]])
TARGETS = np.array([[4, 8, 4, 6, 2], [3, 7, 2, 0, 0]])
NUMBERS = range(len(ORDER))
numbers = pytest.mark.parametrize("n", NUMBERS)


def right_letter(n):
    """The letter of what is true of a model."""
    bug = bug_of(n)
    return next(k for k, s in STATEMENTS.items() if s == (bug.name if bug else STATEMENTS["V"]))


def behaviour(kit):
    """Numbers that depend on every part: two steps with dropout, a pass without, and a rate."""
    whole, adam = ModelLoss(randomise(kit.model), kit.loss), kit.Adam(kit.model.parameters())
    numbers = [kit.warmup_rate(step, 12, 3) for step in (1, 4)]
    for rng in (np.random.default_rng(0), np.random.default_rng(1), None):
        loss, cache = whole.forward(SRC, TGT, targets=TARGETS, rng=rng)
        whole.backward(1.0, cache)
        numbers += [loss, *(p.grad.sum() for p in kit.model.parameters())]
        adam.step(0.01)
    return np.array([*numbers, *kit.model(SRC, TGT).ravel()])


def plain_kit(monkeypatch):
    """The same parts as a kit has, of the package's own classes."""
    with monkeypatch.context() as patch:
        patch.setattr(mystery, "spoil", lambda model, bug: model)
        patch.setattr(mystery, "spoiled_class", lambda right, bug: right)
        return mystery.mystery(ORDER.index(HEALTHY))


@numbers
def test_it_computes_to_the_bit_what_the_zoo_computes_with_the_bug_planted(n, monkeypatch):
    bug, got = bug_of(n), behaviour(mystery.mystery(n))
    right = behaviour(plain_kit(monkeypatch))
    if bug is None:
        assert np.array_equal(got, right)
        return
    assert not np.array_equal(got, right)
    with bug.plant():
        assert np.array_equal(got, behaviour(plain_kit(monkeypatch)))


# The tools of the notebook, and what shows each bug ----------------------------------------------

X = np.random.default_rng(0).standard_normal((2, 5, 12))
MEMORY = np.random.default_rng(1).standard_normal((2, 4, 12))


def dice():
    return np.random.default_rng(1)


def layer_of(kit):
    return randomise(kit.model).decoder.layers[0]


def passes(assertion, part):
    try:
        assertion(part)
    except AssertionError:
        return False
    return True


def positions_are_right(kit):
    row = kit.model.positions.table(2)[1, :4]
    small = 10000 ** (-2 / 12)
    return np.allclose(row, [np.sin(1), np.cos(1), np.sin(small), np.cos(small)])


def first_step_is_right(kit):
    parameters = [Parameter(np.zeros(2)), Parameter(np.zeros(2))]
    adam = kit.Adam(parameters)
    for p in parameters:
        p.grad[...] = [5, -0.1]
    adam.step(0.01)
    return all(np.allclose(p.value, [-0.01, 0.01]) for p in parameters)


def dropout_forgets(kit):
    _, quiet = kit.model.dropout.forward(X)
    kit.model.dropout.forward(X, rng=dice())
    return np.array_equal(kit.model.dropout.backward(X, quiet), X)


def shared_matrix_is_right(kit):
    """One entry of E, of a token that only the source holds, by a central difference."""
    whole, h, losses = ModelLoss(kit.model, kit.loss), 1e-5, []
    E = kit.model.src_embedding.E
    src = SRC + (SRC == 5) * 2                                         # 7 only in the source
    tgt = np.where(TGT == 7, 8, TGT)
    _, cache = whole.forward(src, tgt, targets=TARGETS)
    whole.backward(1.0, cache)
    for shift in (h, -2 * h):
        E.value[7, 3] += shift
        losses.append(whole.forward(src, tgt, targets=TARGETS)[0])
    return np.isclose(E.grad[7, 3], (losses[0] - losses[1]) / (2 * h), rtol=1e-5)


def decoder_is_proven(kit):
    return bool(check_gradients(randomise(kit.model).decoder, X, MEMORY, rng=dice()))


SHOWS = {  # number in the zoo: whether the tool finds nothing
    3: lambda kit: bool(check_gradients(layer_of(kit).add_norm_1.layer_norm, X)),
    8: shared_matrix_is_right,
    11: lambda kit: bool(check_gradients(layer_of(kit).add_norm_1, X, X[::-1], rng=dice())),
    13: lambda kit: passes(assert_heads_equal_loop, layer_of(kit).self_attention),
    14: lambda kit: bool(check_gradients(layer_of(kit).cross_attention, X, MEMORY, MEMORY)),
    15: lambda kit: passes(assert_heads_equal_loop, layer_of(kit).self_attention),
    17: lambda kit: passes(assert_causal, kit.model),
    18: lambda kit: passes(assert_padding_invariant, kit.model),
    20: dropout_forgets,
    25: decoder_is_proven,
    26: positions_are_right,
    29: first_step_is_right,
    32: lambda kit: bool(check_gradients(kit.loss, MEMORY[..., :9], targets=TARGETS[:, 1:])),
}


@numbers
def test_a_tool_of_the_table_finds_it_and_finds_nothing_in_the_healthy_one(n):
    if bug_of(n) is None:
        assert all(finds_nothing(mystery.mystery(n)) for finds_nothing in SHOWS.values())
    else:
        assert not SHOWS[ORDER[n]](mystery.mystery(n))


@pytest.mark.slow
def test_the_whole_model_proof_finds_what_its_hints_say():
    for n in NUMBERS:
        whole = ModelLoss(randomise(mystery.mystery(n).model), mystery.mystery(n).loss)
        report = check_gradients(whole, SRC[:, :4], TGT, targets=TARGETS)
        assert bool(report) != ("whole model" in TOOLS[ORDER[n]] or ORDER[n] in (3, 32))
        if ORDER[n] == 8:
            wrong = [row.tensor for row in report.rows if not row.ok]
            assert wrong == ["model.src_embedding.E", "all together"]


# What one sees -----------------------------------------------------------------------------------


def functions(kit):
    """Every function of every part, with the function of the package that it seems to be."""
    kinds = {type(part) for _, part in leaves(kit.model, Module)} | {type(kit.loss), kit.Adam}
    for kind in kinds:
        for name, member in vars(kind).items():
            if inspect.isfunction(member):
                yield member, vars(kind.__base__)[name]
    yield kit.warmup_rate, optimizer.warmup_rate


@numbers
def test_nothing_that_one_sees_of_a_part_says_that_it_is_another(n):
    kit = mystery.mystery(n)
    for part in [*(part for _, part in leaves(kit.model, Module)), kit.loss]:
        seen, real = type(part), type(part).__base__
        assert seen is not real
        assert real.__module__.startswith("aiayn_np.")
        for name in ("__name__", "__qualname__", "__module__", "__doc__"):
            assert getattr(seen, name) == getattr(real, name)
    for seen, real in functions(kit):
        for name in ("__name__", "__qualname__", "__module__", "__doc__"):
            assert getattr(seen, name) == getattr(real, name)
        assert inspect.signature(seen) == inspect.signature(real)
        assert inspect.getsource(seen) == inspect.getsource(real)      # the right one
    other = mystery.mystery(ORDER.index(HEALTHY))
    assert repr(kit.model) == repr(other.model)
    assert repr(kit).replace(f"({n})", "") == "mystery: model, loss, Adam, warmup_rate"
    assert sorted(f.__qualname__ for f, _ in functions(kit)) == sorted(
        f.__qualname__ for f, _ in functions(other))


def test_making_them_changes_no_function_of_the_package():
    def state():
        return {
            (module.__name__, name, attribute): value
            for module in [m for n, m in sys.modules.items() if n.split(".")[0] == "aiayn_np"]
            for name, thing in vars(module).items()
            for attribute, value in [("", thing), *(vars(thing) if inspect.isclass(thing)
                                                    else {}).items()]
            if inspect.isfunction(value)
        }
    before = state()
    kits = [mystery.mystery(n) for n in NUMBERS]
    for kit in kits:
        kit.model(SRC, TGT)
    assert state() == before
    assert len({kit.Adam for kit in kits} | {Adam}) == len(kits) + 1
    assert [kit.number for kit in kits] == list(NUMBERS)


def test_a_model_is_made_anew_and_takes_a_seed():
    one = mystery.mystery(7)
    randomise(one.model)
    one.model.src_embedding.E.value[...] = 0
    two, other = mystery.mystery(7), mystery.mystery(7, seed=1)
    assert two.model.src_embedding.E.value.any()
    assert not np.array_equal(two.model.src_embedding.E.value, other.model.src_embedding.E.value)
    assert copy.deepcopy(two.model)(SRC, TGT).shape == (2, 5, 9)


# Guesses -----------------------------------------------------------------------------------------


@numbers
def test_one_statement_is_right_and_all_others_are_wrong(n):
    verdicts = {letter: guess(n, letter) for letter in STATEMENTS}
    assert [letter for letter, verdict in verdicts.items() if verdict] == [right_letter(n)]
    for letter, verdict in verdicts.items():
        assert repr(verdict).startswith("Right: " if letter == right_letter(n) else "No")
        assert guess(n, letter.lower()) == verdict


def test_a_wrong_guess_says_how_near_it_is():
    scale, healthy = ORDER.index(15), ORDER.index(HEALTHY)
    assert "right place" in guess(scale, "I").message                  # the scale, but in backward
    assert "no such fault" in guess(scale, "L").message
    assert "something is wrong" in guess(scale, "V").message
    assert "gradient" in guess(ORDER.index(14), "A").message
    assert {guess(healthy, k).message for k in "ABCDEF"} == {"No, it has no such fault."}


@numbers
def test_hints_go_from_the_tool_to_what_happens(n):
    bug, texts = bug_of(n), [hint(n, stage) for stage in (1, 2, 3)]
    assert hint(n) == texts[0] == TOOLS[ORDER[n]] + "."
    assert len(set(texts)) == 3
    if bug is None:
        assert texts[2] == reveal(n)
        assert "healthy" in reveal(n)
        return
    assert bug.where.split(".")[0] in texts[1]
    assert texts[2] == bug.what
    assert all(text in reveal(n) for text in (bug.name, bug.where, bug.what, bug.formula))
    assert ("many make" if bug.seen == "common" else bug.seen) in reveal(n)


@pytest.mark.parametrize(("call", "error", "message"), [
    (lambda: mystery.mystery(14), ValueError, "n must be one of 0 to 13, got 14"),
    (lambda: mystery.mystery(-1), ValueError, "n must be one of 0 to 13, got -1"),
    (lambda: mystery.mystery(1.0), TypeError, "n must be integers, got float64"),
    (lambda: guess(1, "?"), ValueError, r"letter must be one of A, .*, V, got '\?'"),
    (lambda: guess(1, ["V"]), ValueError, r"letter must be one of A, .*, V, got \['V'\]"),
    (lambda: hint(1, 4), ValueError, "stage must be 1, 2 or 3, got 4"),
])
def test_a_wrong_question_is_an_error(call, error, message):
    with pytest.raises(error, match=message):
        call()


# The notebook ------------------------------------------------------------------------------------


def markdown_of(text):
    return " ".join(re.sub(r"^# ?", "", text, flags=re.MULTILINE).split())


def test_the_motivation_is_what_was_measured():
    table = (ROOT / "tests" / "course" / "zoo" / "zoo_training.md").read_text(encoding="utf-8")
    rows = {int(n): (share, verdict) for n, share, verdict in re.findall(
        r"^\| (\d+) \| .*? \| [^|]* \| ([^|]*) \| (.*?) \|$", table, re.MULTILINE)}
    twelve = [rows[number] for number in ORDER[1:] if number != HEALTHY]
    solved = [float(share.split()[0]) for share, verdict in twelve if verdict == "still solves it"]
    healthy = [float(s) for s in re.findall(r"^\| none .*\| ([\d.]+) % \| \w", table, re.MULTILINE)]
    text = markdown_of(SOURCE.read_text(encoding="utf-8"))
    assert f"**{len(solved)} of the {len(twelve)}** the model still solves the task" in text
    assert f"at least {min(solved)} % of sequences" in text
    assert f"between {min(healthy)} and {max(healthy):.0f} %" in text
    assert sum(BUGS[n].seen != "common" for n in ORDER[1:] if n) == 5
    assert "five of the bugs have been seen in public" in text


@pytest.fixture(scope="module")
def notebook():
    nbformat = pytest.importorskip("nbformat")
    return nbformat.read(SOURCE.with_suffix(".ipynb"), as_version=4)


def test_it_holds_a_cell_for_each_model_and_no_solution(notebook):
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert any("image/png" in o.get("data", {}) for cell in code for o in cell.outputs)
    text = "\n\n".join(cell.source for cell in notebook.cells)
    headings = [text.index(f"### Model {n} · ") for n in NUMBERS[1:]]
    assert all(a < b for a, b in pairwise(headings))
    cells = [cell for cell in code if re.match(r"kit = mystery\([1-9]", cell.source)]
    assert [c.source.split("\n")[0] for c in cells] == [f"kit = mystery({n})" for n in NUMBERS[1:]]
    assert not any(cell.outputs for cell in cells)
    assert set(re.findall(r"(?:reveal|hint)\((\d+)", text)) == {"0"}
    assert {n for n, letter in re.findall(r'guess\((\d+), "(\w)"\)', text)} == {"0"}


def test_the_gradient_falls_to_a_fifth_as_the_text_says(notebook):
    out = next(c.outputs[0].text for c in notebook.cells if c.source.startswith("print(trace("))
    before, after = (float(line.split()[-1]) for line in reversed(out.splitlines()[2:4]))
    assert after / before == pytest.approx(1 / 5, rel=0.05)
    assert any("The gradient falls to a fifth" in c.source for c in notebook.cells)
