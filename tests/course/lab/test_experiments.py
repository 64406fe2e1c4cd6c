"""The frame of the experiments: results and their files, the gallery, the command, the measures."""

import dataclasses
import importlib
import json
import os
import pkgutil
import re
import time
from dataclasses import dataclass

import numpy as np
import pytest
from committed import FIGURES, committed
from threadpoolctl import threadpool_info, threadpool_limits

from aiayn_course import lab as experiments
from aiayn_course.cli.main import main
from aiayn_course.lab import (
    AGREES,
    DISAGREES,
    EXPERIMENTS,
    IN_PART,
    NOT_SETTLED,
    Experiment,
    Result,
    claims,
)
from aiayn_course.lab.experiment import plain, plain_text, restored
from aiayn_course.lab.gallery import anchor, page
from aiayn_course.lab.learning import each, learn, losses, scores, small_model, smooth
from aiayn_course.lab.measuring import STEADY, exponent, peak_bytes, seconds
from aiayn_np import CopyTask

HEAVY = {"variance", "saturation", "permutation"}  # two seconds or more

every_experiment = pytest.mark.parametrize(
    "experiment", EXPERIMENTS.values(), ids=list(EXPERIMENTS)
)


@dataclass
class Toy(Result):
    """A result that is quick to make and to draw."""

    value: float
    title = r"A toy of $\sqrt{d_k}$"
    panels, size = (1, 1), (3.0, 2.0)
    finding = "The value is 3."
    verdict = AGREES

    def draw(self, ax):
        ax.plot([0, self.value])


def toy(name, **options):
    facts = dict(claim=1, section="3", says="It is 3.", alt="A line.") | options
    return Experiment(name, run=lambda: Toy(3.0), result=Toy, **facts)


@pytest.fixture
def toys(monkeypatch):
    """The command knows two experiments, `one` and `two`, and nothing else."""
    both = {"one": toy("one", timed=True), "two": toy("two", claim=2, trains=True)}
    monkeypatch.setattr(experiments, "EXPERIMENTS", both)
    return both


# The experiments of the package, and what is committed of them


def test_every_testable_claim_has_an_experiment_in_order():
    claims = [e.claim for e in EXPERIMENTS.values()]
    assert set(claims) == set(range(1, 19))
    assert claims == sorted(claims)


def test_no_experiment_of_any_module_is_forgotten_and_names_are_unique():
    found = set()
    for module in pkgutil.iter_modules(claims.__path__):
        contents = vars(importlib.import_module(f"aiayn_course.lab.claims.{module.name}"))
        found |= {e for e in contents.values() if isinstance(e, Experiment)}
    assert sorted(e.name for e in found) == sorted(EXPERIMENTS)
    assert all(name == e.name == name.lower() for name, e in EXPERIMENTS.items())
    assert all(name.isidentifier() for name in EXPERIMENTS)


def test_the_folder_holds_the_two_files_of_every_experiment_and_no_others():
    expected = {f"{name}.{kind}" for name in EXPERIMENTS for kind in ("png", "json")}
    expected |= {"README.md", "about.json", "populations.json",
                 "translation_attention_cross.png",
                 "reverse_3_1_4_1_5_9_2_6_attention_cross.png", "drawings"}
    assert {path.name for path in FIGURES.iterdir()} == expected


@every_experiment
def test_a_committed_result_is_whole_and_survives_another_round(experiment):
    text = (FIGURES / f"{experiment.name}.json").read_text(encoding="utf-8")
    fields, result = json.loads(text), committed(experiment)
    assert list(fields) == [f.name for f in dataclasses.fields(experiment.result)]
    assert result.to_json() == fields
    again = type(result).from_json(json.loads(json.dumps(result.to_json(), allow_nan=False)))
    assert (again.finding, again.verdict) == (result.finding, result.verdict)
    assert result.verdict in (AGREES, IN_PART, DISAGREES, NOT_SETTLED)


def test_the_committed_gallery_is_the_one_that_the_results_give():
    text = page(EXPERIMENTS.values(), FIGURES)
    assert (FIGURES / "README.md").read_text(encoding="utf-8") == text


@pytest.mark.slow
@every_experiment
def test_every_committed_result_can_be_drawn_and_the_same_way_twice(experiment, tmp_path):
    result = committed(experiment)
    pictures = [experiment.save(result, tmp_path).read_bytes() for _ in range(2)]
    assert pictures[0] == pictures[1]
    assert len(pictures[0]) <= 200_000
    name = f"{experiment.name}.json"
    assert json.loads((tmp_path / name).read_text()) == json.loads((FIGURES / name).read_text())


def numbers(value):
    """All numbers of a result as JSON, in one list."""
    if isinstance(value, dict | list):
        return [n for v in (value.values() if isinstance(value, dict) else value)
                for n in numbers(v)]
    return [value] if isinstance(value, int | float) else []


@pytest.mark.parametrize("experiment", [
    pytest.param(e, id=name, marks=pytest.mark.slow if name in HEAVY else ())
    for name, e in EXPERIMENTS.items() if not (e.trains or e.timed)
])
def test_what_needs_no_training_is_found_again(experiment):
    """To four digits, and rounding errors as rounding errors."""
    kept, again = committed(experiment), experiment.run()
    assert again.verdict == kept.verdict
    np.testing.assert_allclose(numbers(again.to_json()), numbers(kept.to_json()), rtol=1e-4,
                               atol=1e-9)


# Results


@pytest.mark.parametrize(("value", "kept"), [
    (1.23456789e-7, 1.23457e-7), (np.float32(0.1), 0.1), (np.nan, None), (12345678, 12345678),
    (np.array([1.0, np.nan, np.inf, -np.inf]), [1.0, None, None, None]), (np.int64(3), 3),
    (np.array([[1, 2]]), [[1, 2]]), (np.array([True, False]), [True, False]), ("word", "word"),
    ({"a": np.array([0.123456789]), "b": {"c": (1, 2)}}, {"a": [0.123457], "b": {"c": [1, 2]}}),
])
def test_values_become_json_with_six_digits_and_none_for_what_is_not_finite(value, kept):
    assert plain(value) == kept
    assert json.loads(json.dumps(plain(value), allow_nan=False)) == kept
    assert type(plain(value)) is type(kept)


def test_values_come_back_as_arrays_and_none_as_nan():
    back = restored({"a": [1.5, None], "b": {"c": [[1, 2]]}, "d": None, "e": 3, "f": [True]})
    np.testing.assert_array_equal(back["a"], [1.5, np.nan])
    assert back["a"].dtype == float
    assert back["b"]["c"].dtype.kind == "i"
    assert back["f"].dtype == bool
    assert np.isnan(back["d"])
    assert back["e"] == 3
    assert restored([]).shape == (0,)


def test_saving_twice_gives_the_same_bytes_and_two_files(tmp_path):
    saved = []
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        path = toy("one").save(Toy(3.0), tmp_path / name)
        saved.append({file.name: file.read_bytes() for file in path.parent.iterdir()})
    assert path == tmp_path / "b" / "one.png"
    assert set(saved[0]) == {"one.png", "one.json"}
    assert saved[0] == saved[1]
    assert saved[0]["one.json"] == b'{"value": 3.0}\n'


@pytest.mark.parametrize(
    ("text", "error"),
    [(None, OSError), ("{", ValueError), ('{"other": 1}', TypeError), ("{}", TypeError)],
)
def test_a_result_that_cannot_be_loaded_is_an_error(tmp_path, text, error):
    if text is not None:
        (tmp_path / "one.json").write_text(text)
    with pytest.raises(error):
        toy("one").load(tmp_path)


# The gallery


def test_a_title_loses_its_mathematics_and_an_anchor_its_marks():
    assert plain_text(Toy.title) == "A toy of √d_k"
    assert anchor("3. Var(q·k) = d_k, twice") == "3-varqk--d_k-twice"


# The command


def test_figures_measures_what_is_named_once_and_tells_path_and_finding(toys, tmp_path, capsys):
    out = tmp_path / "new" / "folder"
    assert main(["figures", "two", "two", "--measure", "--out", str(out)]) == 0
    printed, told = capsys.readouterr()
    assert printed == f"{out / 'two.png'}: The value is 3.\n"
    assert "this took less than a minute" in told                             # is not noted
    assert sorted(p.name for p in out.iterdir()) == ["about.json", "two.json", "two.png"]
    assert toys["two"].load(out) == Toy(3.0)


def test_figures_without_a_name_makes_all_and_the_gallery(toys, tmp_path, capsys):
    assert main(["figures", "--measure", "--out", str(tmp_path)]) == 0
    printed = capsys.readouterr().out
    assert [line.split(":")[0] for line in printed.splitlines()] == [
        str(tmp_path / name) for name in ("one.png", "two.png", "README.md")
    ]
    text = (tmp_path / "README.md").read_text(encoding="utf-8")
    assert text == page(toys.values(), tmp_path)
    for part in ("![A line.](one.png)", "| claim | It is 3 (Sec. 3) |", "## 2. A toy of √d_k",
                 "| measured | The value is 3. |", f"| verdict | **{AGREES}** |",
                 "| again | `aiayn-np figures one --measure`, measures time: numbers vary; 0.1 min",
                 "| again | `aiayn-np figures two --measure`, trains models; 0.1 minutes on "):
        assert part in text
    about = json.loads((tmp_path / "about.json").read_text())
    assert list(about) == ["one", "two"]
    assert set(about["one"]) == {"python", "numpy", "machine", "minutes"}


def test_figures_of_one_renews_the_gallery_where_all_are_there(toys, tmp_path, capsys):
    assert main(["figures", "--measure", "--out", str(tmp_path)]) == 0
    (tmp_path / "README.md").write_text("old")
    assert main(["figures", "one", "--measure", "--out", str(tmp_path)]) == 0
    assert (tmp_path / "README.md").read_text(encoding="utf-8") == page(toys.values(), tmp_path)
    capsys.readouterr()


def test_the_work_is_done_with_one_thread(toys, tmp_path, monkeypatch):
    """Whatever number of threads the caller has."""
    seen, one = [], toys["one"]

    def run():
        seen.extend(b["num_threads"] for b in threadpool_info() if b["user_api"] == "blas")
        return one.run()

    monkeypatch.setitem(toys, "one", dataclasses.replace(one, run=run))
    with threadpool_limits(2, user_api="blas"):
        assert main(["figures", "one", "--measure", "--out", str(tmp_path)]) == 0
    assert set(seen) == {1}


def test_an_unknown_figure_is_refused_with_the_choices_and_writes_nothing(
    tmp_path, capsys, monkeypatch
):
    out = tmp_path / "out"
    assert main(["figures", "variance", "varience", "--out", str(out)]) == 2
    printed, error = capsys.readouterr()
    assert printed == ""
    assert error.startswith("aiayn-np: error: unknown figure 'varience': choose from variance")
    assert all(name in error for name in EXPERIMENTS)
    assert error.count("\n") == 1
    assert not out.exists()


def test_a_folder_that_cannot_be_written_is_refused_before_anything_is_measured(
    monkeypatch, tmp_path, capsys
):
    def run():
        raise AssertionError("measured")

    slow = dataclasses.replace(toy("one"), run=run)
    monkeypatch.setattr(experiments, "EXPERIMENTS", {"one": slow})
    (tmp_path / "file").write_text("")
    assert main(["figures", "one", "--measure", "--out", str(tmp_path / "file" / "x")]) == 2
    printed, error = capsys.readouterr()
    assert printed == ""
    assert re.fullmatch(r"aiayn-np: error: \S+file/x: a file stands where a folder must be\n",
                        error)


# Measures


def test_seconds_calls_in_turns_after_one_call_each_to_warm_up():
    now, calls = [0.0], []

    def takes(name, duration):
        def function():
            calls.append(name)
            now[0] += duration
        return function

    times = seconds([takes("a", 1), takes("b", 4)], repeats=3, clock=lambda: now[0])
    assert calls == ["a", "b"] * 4
    np.testing.assert_array_equal(times, [[1, 1, 1], [4, 4, 4]])


@pytest.mark.skipif(os.name != "posix", reason="the clock of the processor is coarse there")
@pytest.mark.timing
def test_the_steady_clock_does_not_count_waiting():
    def wait():
        time.sleep(0.02)

    assert seconds([wait], repeats=1).item() >= 0.02
    assert seconds([wait], repeats=1, clock=STEADY).item() < 0.01


def test_peak_bytes_is_what_is_held_at_once():
    def one_after_the_other():
        for _ in range(3):
            np.ones(125_000)

    def all_at_once():
        return [np.ones(125_000) for _ in range(3)]

    kept = np.ones(125_000)
    assert peak_bytes(lambda: np.ones(125_000)) == pytest.approx(1e6, rel=0.01)
    assert peak_bytes(one_after_the_other) == pytest.approx(1e6, rel=0.01)
    assert peak_bytes(all_at_once) == pytest.approx(3e6, rel=0.01)
    assert peak_bytes(lambda: kept) < 1e4


@pytest.mark.parametrize("b", [-0.5, 0, 1, 2.5])
def test_the_exponent_of_a_power_law_is_exact(b):
    x = np.array([1.0, 3, 10, 200])
    assert exponent(x, 7 * x**b) == pytest.approx(b, abs=1e-12)


# Training


@pytest.fixture(scope="module")
def task():
    return CopyTask(symbols=4, max_length=4)


def test_each_measures_every_combination_and_keeps_an_axis_for_each_setting():
    found = each("ab", (1, 2, 3), seeds=(10, 20), measure=lambda letter, n, seed: dict(
        word=f"{letter}{n}", sums=[n + seed, n - seed]))
    assert found["word"].tolist() == [[["a1", "a1"], ["a2", "a2"], ["a3", "a3"]],
                                      [["b1", "b1"], ["b2", "b2"], ["b3", "b3"]]]
    assert found["sums"].shape == (2, 3, 2, 2)
    assert found["sums"][1, 2].tolist() == [[13, -7], [23, -17]]


def test_losses_depend_on_the_seeds_only(task):
    def run(seed, model_seed):
        model = small_model(task, model_seed, d_model=8, d_ff=8, h=2)
        return losses(model, task, seed, steps=3, batch_size=4)

    first = run(1, 1)
    assert first.shape == (3,)
    np.testing.assert_array_equal(run(1, 1), first)
    assert (run(2, 1) != first).all()
    assert (run(1, 2) != first).all()


def test_a_small_model_is_float32_and_takes_options(task):
    model = small_model(task, 0, d_model=8, h=2, N=2)
    assert {p.value.dtype for p in model.parameters()} == {np.dtype(np.float32)}
    assert (model.d_model, len(model.encoder.layers), model.dropout.P_drop) == (8, 2, 0.0)


def test_learn_goes_on_when_the_task_is_solved_and_loads_no_average(task, monkeypatch):
    monkeypatch.setattr("aiayn_np.training.toys.validate", lambda *_: 1.0)
    model = small_model(task, 0, d_model=8, d_ff=8, h=2)
    history = list(learn(model, task, 0, steps=26, batch_size=2))
    assert [p.step for p in history] == list(range(1, 27))  # `train` validates after 25
    assert all(p.validation is None for p in history)


def test_scores_leave_padding_out(task):
    model = small_model(task, 0, d_model=8, d_ff=8, h=2)
    examples = task.batch(6, np.random.default_rng(0))
    src, tgt_in, tgt_out = examples
    logits = model(src, tgt_in).astype(float)
    log_p = logits - np.log(np.exp(logits).sum(axis=-1, keepdims=True))
    real = tgt_out != task.pad
    assert not real.all()
    nats = -np.take_along_axis(log_p, tgt_out[..., None], axis=-1)[..., 0]
    right = logits.argmax(axis=-1) == tgt_out
    assert scores(model, examples) == pytest.approx(
        (nats[real].mean(), right[real].mean()), rel=1e-5
    )


def test_smooth_takes_means_of_neighbours_and_drops_the_rest():
    np.testing.assert_array_equal(smooth(np.array([1, 2, 6, 4, 4, 4, 9]), 3), [3, 4])
    np.testing.assert_array_equal(smooth(np.array([[1, 3, 5], [2, 2, 0]]), 2), [[2], [2]])
    np.testing.assert_array_equal(smooth(np.array([5, 7]), 1), [5, 7])
