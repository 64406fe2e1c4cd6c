"""The reference has every public name, and its examples give what they show."""

import doctest
import inspect
import re
import shutil
import textwrap
from importlib import import_module

import pytest
from pages import ROOT

import aiayn_np
from aiayn_np import Module

PAGES = {path.stem: path.read_text(encoding="utf-8") for path in ROOT.glob("docs/api/*.rst")}
NAMES = {name: page for page, text in PAGES.items()
         for name in re.findall(r"^\.\. auto(?:class|function):: (.*)$", text, re.MULTILINE)}
BLOCK = re.compile(r"^   \.\. code-block:: pycon\n\n((?:      .*\n|\n)+)", re.MULTILINE)
EXAMPLES = [(page, i, block) for page, text in PAGES.items()
            for i, block in enumerate(BLOCK.findall(text))]
MODELS = "tests/golden/pretrained"  # small folders of Hugging Face, which some examples open


def handed_out(name):
    """Dotted names of the classes and functions in `__all__` of a module."""
    module = import_module(name)
    return {f"{name}.{n}" for n in module.__all__ if callable(getattr(module, n))}


def defined(name, wanted):
    """Dotted names of what a module defines, if they are `wanted`."""
    return {f"{name}.{n}" for n, thing in vars(import_module(name)).items()
            if getattr(thing, "__module__", "") == name and wanted(n, thing)}


def is_layer(name, thing):
    return inspect.isclass(thing) and issubclass(thing, Module)


def test_every_public_name_is_on_a_page():
    wanted = set().union(*map(handed_out, ["aiayn_np", "aiayn_np.models", "aiayn_course.exercises",
                                           "aiayn_course.lab.zoo"]))
    wanted |= defined("aiayn_np.checks", lambda name, thing: name.startswith("check_"))
    for path in ROOT.glob("aiayn_np/variants/*.py"):
        wanted |= defined(f"aiayn_np.variants.{path.stem}".removesuffix(".__init__"), is_layer)
    assert wanted - NAMES.keys() == set()
    assert "aiayn_np.text.batches.Batches" in NAMES
    for name in NAMES:
        module, _, short = name.rpartition(".")
        assert callable(getattr(import_module(module), short)), name


def test_every_layer_has_a_sentence_a_formula_and_an_example():
    for name, page in NAMES.items():
        module, _, short = name.rpartition(".")
        thing = getattr(import_module(module), short)
        if is_layer(name, thing) and thing is not Module:
            (entry,) = re.findall(rf"^{short}\n-+\n\n(.*?)(?=^\w+\n-+\n|\Z)", PAGES[page],
                                  re.MULTILINE | re.DOTALL)
            assert re.match(r"[A-Z][^\n]*\.\n\n\.\. math::", entry), name
            assert "layer.forward(" in entry, name
            if module == aiayn_np.__name__ and short != "LearnedPositionalEncoding":
                assert "Derivation: " in entry, name


@pytest.mark.parametrize(("page", "number", "block"), EXAMPLES,
                         ids=[f"{page}-{i}" for page, i, _ in EXAMPLES])
def test_an_example_gives_what_it_shows(page, number, block, tmp_path, monkeypatch):
    if MODELS in block:
        shutil.copytree(ROOT / MODELS, tmp_path / MODELS)
    monkeypatch.chdir(tmp_path)
    if "torch" in block:
        pytest.importorskip("torch")
    said = []
    test = doctest.DocTestParser().get_doctest(textwrap.dedent(block), {}, page, page, 0)
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
    runner.run(test, out=said.append)
    assert not runner.failures, "".join(said)
