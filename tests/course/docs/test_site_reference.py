"""The reference has every public name, with what its reader looks for; every example runs."""

import inspect
import sys

import pytest
from pages import ROOT

sys.path.append(str(ROOT / "docs"))

import examples
import generate
import site_reference

import aiayn_np

NAMES = examples.dotted()
LAYERS = [name for name in NAMES if examples.is_layer(examples.thing_of(name))]
OF_THE_PAPER = [name for name in LAYERS if NAMES[name].count(".") == 1]


def test_every_public_name_has_an_entry_and_a_page(tmp_path, monkeypatch):
    monkeypatch.setattr(generate, "OUT", tmp_path)
    generate.api()
    pages = "\n".join(path.read_text(encoding="utf-8") for path in tmp_path.glob("api/*.rst"))
    for full in NAMES.values():
        assert f":: {full}\n" in pages
    assert examples.entries().keys() == NAMES.keys()
    callable_names = {name for name in aiayn_np.__all__ if callable(getattr(aiayn_np, name))}
    assert callable_names <= NAMES.keys()
    assert {"aiayn_course.lab.zoo.hunt", "aiayn_course.exercises.check",
            "aiayn_np.models.load_gpt2",
            "aiayn_np.variants.norms.RMSNorm", "aiayn_np.variants.windows.WindowAttention",
            "aiayn_np.text.batches.Batches"} <= set(NAMES.values())
    assert {f"check_{n}" for n in ("sizes", "array", "mask")} <= NAMES.keys()


@pytest.mark.parametrize("name", OF_THE_PAPER)
def test_a_layer_of_the_paper_has_all_that_its_reader_looks_for(name):
    text = "\n".join(site_reference.named(name, thing := examples.thing_of(name),
                                          inspect.getdoc(thing)))
    assert examples.entries()[name].sentence.endswith(".")
    assert ".. math::" in text
    assert "Derivation: " in text or name == "LearnedPositionalEncoding"
    assert "Lesson " in text
    assert "Tested by :doc:`test_" in text
    assert "\n   >>> " in text
    for parameter in inspect.signature(thing).parameters:
        assert f"* - `{parameter}`" in text
    forward = "\n".join(site_reference.call(thing, "forward"))
    backward = "\n".join(site_reference.call(thing, "backward"))
    assert ".. math::" in backward
    for array in list(inspect.signature(thing.forward).parameters)[1:]:
        assert f"* - `{array}`\n" in forward
    assert "* - returns\n     - `(" in forward
    assert "* - `grad_" in backward
    assert "has no gradient" in backward or "* - returns\n     - `(" in backward


def test_shapes_and_meanings_come_from_the_docstring():
    layer = aiayn_np.ScaledDotProductAttention
    forward = "\n".join(site_reference.call(layer, "forward"))
    assert "`K`\n     - `(..., T_k, d_k)`\n     - `(2, 5, 4)`\n     - keys" in forward
    assert "- bool, True where query i may look at key j" in forward
    attributes = "\n".join(site_reference.attributes("LayerNorm", aiayn_np.LayerNorm))
    assert "`gamma`\n     - Parameter\n     - `(d_model,)`\n     - `(4,)`" in attributes
    assert site_reference.shapes_of(aiayn_np.Dropout) == {"x": "(...)", "out": "(...)"}
    grouped = examples.thing_of("PreNormDecoderLayer")
    assert site_reference.shapes_of(grouped)["memory"] == "(..., T_src, d_model)"
    known = site_reference.meanings(aiayn_np.beam_search)
    assert known["bos"] == known["eos"] == "the ids that begin and end a sequence"
    assert known["max_len"].startswith("the most tokens to produce (default: T_src + 50")


def test_no_parameter_is_without_a_meaning():
    missing = {f"{name}: {parameter}" for name in NAMES
               for thing in [examples.thing_of(name)]
               for parameter in site_reference.signature_of(thing).parameters
               if not site_reference.meaning(parameter, site_reference.meanings(thing))}
    assert missing == set()


def test_every_layer_has_a_sentence_and_a_formula():
    for name in LAYERS:
        entry = examples.entries()[name]
        assert entry.sentence, name
        assert entry.formula, name


def test_an_example_shows_what_it_gives_and_fails_when_it_is_wrong(monkeypatch):
    steps, _ = examples.example("warmup_rate")
    assert steps[-1][1] == "[0.0, 0.000699, 0.000349]"
    assert "aiayn_np" in steps[0][0]
    wrong = examples.entries() | {"causal": examples.Entry("", "", "", "causal(-1)")}
    monkeypatch.setattr(examples, "entries", lambda: wrong)
    with pytest.raises(ValueError, match="T must be at least 1"):
        examples.example.__wrapped__("causal")


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_every_example_runs(name):
    try:
        steps, _ = examples.example(name)
    except ImportError as error:
        pytest.skip(str(error))
    assert steps or ">>>" in inspect.getdoc(examples.thing_of(name))
    if NAMES[name].startswith("aiayn_np.checks."):
        assert "Error: " in steps[-1][1]                               # what is refused
