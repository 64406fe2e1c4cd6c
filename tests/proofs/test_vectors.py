"""The test vectors: what is written, what PyTorch says of it, and what a comparison finds."""

import json
import random
import re
import shutil
import subprocess
from contextlib import nullcontext, suppress

import numpy as np
import pytest
from edited import edit_of, methods_that_run
from pages import ROOT, blocks
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from aiayn_course.cli.main import main
from aiayn_course.lab.zoo import BUGS
from aiayn_np.cli.main import main as papers_main
from aiayn_np.proofs.tensors import read_tensors
from aiayn_np.proofs.vector_cases import cases, tensors_of
from aiayn_np.proofs.vectors import (
    COMPUTED,
    Pair,
    compare_vectors,
    difference,
    hint_of,
    write_vectors,
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("vectors")
    write_vectors(path)
    return path


def computed(case, bug=None):
    """The tensors that a program with a bug computes; none if the bug stops it."""
    try:
        with bug.plant() if bug else nullcontext(), np.errstate(all="ignore"):
            return {name: x for name, x in tensors_of(case).items() if name.startswith(COMPUTED)}
    except Exception:
        assert bug
        return {}


def program(theirs, components=(), bug=None, change=lambda name, x: x):
    """The files of a program that has a bug, or that changes its tensors."""
    theirs.mkdir()
    some = [case for case in cases() if not components or case["component"] in components]
    for case in some:
        if tensors := computed(case, bug):
            save_file({name: np.array(change(name, x)) for name, x in tensors.items()},
                      theirs / f"{case['name']}.safetensors")
    return theirs


def faults(found):
    return [pair for _, part in found.parts.values() for pair in part if pair.fault]


def test_another_reader_finds_what_the_manifest_says_and_nothing_depends_on_the_day(
        folder, tmp_path):
    manifest = json.loads((folder / "manifest.json").read_text())
    assert len(manifest) == len(list(folder.glob("*.safetensors"))) >= 80
    assert sum(path.stat().st_size for path in folder.iterdir()) <= 3e6
    for case in manifest:
        file = load_file(folder / f"{case['name']}.safetensors")
        assert {entry["name"]: tuple(entry["shape"]) for entry in case["tensors"]} == {
            name: x.shape for name, x in file.items()}
        assert {entry["role"] for entry in case["tensors"]} <= {
            "input", "parameter", "upstream", "output", "grad"}
        ours = read_tensors(folder / f"{case['name']}.safetensors")
        assert all(x.dtype == file[n].dtype and np.array_equal(x, file[n])
                   for n, x in ours.items())
        assert len(ours) == len(file)
    write_vectors(tmp_path)
    for path in folder.iterdir():
        assert path.read_bytes() == (tmp_path / path.name).read_bytes(), path.name
    small = load_file(folder / "scaled_dot_product_attention_01.safetensors")
    assert f"output.out      {small['output.out'].tolist()}" in (folder / "README.md").read_text()


@pytest.mark.slow
def test_pytorch_computes_every_tensor_from_the_files_alone(folder):
    pytest.importorskip("torch")
    from vectors_in_torch import computed

    for case in json.loads((folder / "manifest.json").read_text()):
        file, short = load_file(folder / f"{case['name']}.safetensors"), case["dtype"] == "float32"
        got = computed(case, file)
        assert set(got) == {name for name in file if name.startswith(COMPUTED)}, case["name"]
        exact = case | {"tolerance": {"float64": 1e-12, "float32": 1e-7}}
        for name, x in got.items():
            x = x.astype(np.float32) if short and x.dtype.kind == "f" else x
            assert difference(exact, x, file[name])[1] == "", (case["name"], name)


def test_a_right_program_agrees_in_both_precisions_and_any_subset_will_do(folder, tmp_path):
    assert compare_vectors(folder, folder)
    single = program(tmp_path / "a", change=lambda name, x: x.astype(np.float32)
                     if x.dtype.kind == "f" else x)
    assert compare_vectors(folder, single, bugs=BUGS.values())
    few = compare_vectors(folder, program(tmp_path / "b", ["relu"]), bugs=BUGS.values())
    assert few
    assert str(few).splitlines()[-1].startswith("4 of ")
    assert not compare_vectors(folder, tmp_path)                       # nothing was compared


@pytest.mark.parametrize(("number", "component"), [
    (number, component) for number, component in (
        (31, "softmax"), (16, "mask"), (14, "scaled_dot_product_attention"),
        (21, "scaled_dot_product_attention"), (3, "layer_norm"), (7, "embedding"),
        (32, "label_smoothed_cross_entropy"), (29, "adam"), (30, "warmup_rate"),
        (35, "kept_keys"), (36, "grouped_query_attention"), (10, "decoder_layer"),
        (33, "rotary_positions"), (33, "llama"))])
def test_a_bug_is_named_by_its_numbers(folder, tmp_path, number, component):
    found = compare_vectors(folder, program(tmp_path / "a", [component], BUGS[number]),
                            bugs=BUGS.values())
    assert not found
    assert [cause.split(": ")[1].split(",")[0] for cause in found.causes[component]] == [
        f"the numbers of bug {number}"]
    wrong = faults(found)[0]
    assert f"  {wrong.case['name']} {wrong.name}: {wrong.fault}\n" in str(found)


@pytest.mark.slow
@pytest.mark.parametrize("number", BUGS)
def test_every_bug_of_the_zoo_is_found_and_named_and_no_other_is(folder, tmp_path, number):
    found = compare_vectors(folder, program(tmp_path / "a", bug=BUGS[number]), bugs=BUGS.values())
    said = [cause for causes in found.causes.values() for cause in causes]
    assert any(f"bug {number}," in cause for cause in said)
    assert not [cause for cause in said if f"bug {number}," not in cause]


def some_components(rng):
    """Half of the components; the trainings, which take most of the time, in one of ten draws."""
    names = list(dict.fromkeys(case["component"] for case in cases()))
    return [name for name in names if rng.random() < (0.1 if "training" in name else 0.5)]


def rounded(rng, x):
    """The numbers of a right program: rounded in another order, perhaps in float32."""
    if x.dtype.kind != "f":
        return x
    x = np.asarray(x * (1 + 1e-15 * rng.uniform(-1, 1, x.shape)))
    return x.astype(np.float32) if rng.random() < 0.3 else x


@pytest.mark.slow
def test_a_right_program_is_never_called_wrong(folder, tmp_path, seed, pytestconfig):
    for i in range(pytestconfig.getoption("programs")):
        rng = np.random.default_rng([seed, i])
        theirs = program(tmp_path / f"{i}", some_components(rng),
                         change=lambda name, x, rng=rng: rounded(rng, x))
        report = compare_vectors(folder, theirs, bugs=BUGS.values())
        assert report, report
        assert not any(report.causes.values())


def is_true(cause, edit, component):
    """Whether what is said of some tensors is so with other inputs, too."""
    number, hints = re.search(r"the numbers of bug (\d+),", cause), set()
    for case in [case for case in cases() if case["component"] == component]:
        case["name"] += " again"
        found, right = computed(case, edit), tensors_of(case)
        bugs = computed(case, BUGS[int(number[1])]) if number else {}
        if found and bugs and any(difference(case, x, bugs[name])[1] for name, x in found.items()
                                  if re.search(rf"{name}\b.*:", cause)):
            return False
        hints |= {hint_of(Pair(case, name, x, right[name], *difference(case, x, right[name])))
                  for name, x in found.items()}
    return number is not None or cause in hints


@pytest.mark.slow
def test_no_random_edit_gets_the_name_of_a_bug_that_it_is_not(folder, tmp_path, seed, pytestconfig):
    """A program is wrong in one method, and writes the components that run this method."""
    draw, tries, wrong, named, false = random.Random(seed), 0, 0, [], []
    methods = methods_that_run({case["name"]: lambda case=case: tensors_of(case)
                                for case in cases() if "training" not in case["name"]})
    while wrong < pytestconfig.getoption("programs"):
        kind, name, run_it = draw.choice(methods)
        tries += 1
        with suppress(SyntaxError, SafetensorError):                   # it cannot be run, or write
            edit = edit_of(kind, name, draw)
            theirs = program(tmp_path / f"{tries}", {case[:-3] for case in run_it}, edit)
            if faults(compare_vectors(folder, theirs)):
                found = compare_vectors(folder, theirs, bugs=BUGS.values())
                said = [(cause, edit, component) for component, causes in found.causes.items()
                        for cause in causes]
                wrong, named = wrong + 1, named + said[:1]
                false += [(edit.text, *one) for one in said if not is_true(*one)]
    print(f"{tries} edits, {wrong} wrong programs, of which {len(named)} are named")
    assert not false


@pytest.mark.parametrize(("component", "change", "said"), [
    ("softmax", lambda name, x: x.astype(np.float32).astype(float), "computed in float32"),
    ("linear", lambda name, x: x.T if name == "grad.W" else x, "grad.W is transposed")])
def test_precision_and_transposing_are_named(folder, tmp_path, component, change, said):
    found = compare_vectors(folder, program(tmp_path / "a", [component], change=change))
    assert said in str(found)


def test_the_command_writes_and_compares_and_the_exit_code_is_the_verdict(
        folder, tmp_path, capsys):
    assert main(["vectors", str(tmp_path / "right")]) == 0
    assert sorted(p.name for p in folder.iterdir()) == sorted(
        p.name for p in (tmp_path / "right").iterdir())
    compare = ["vectors", str(folder), "--compare", str(tmp_path / "a")]
    program(tmp_path / "a", ["softmax"], BUGS[1])
    assert main(compare) == 1
    assert "the numbers of bug 1, softmax" in capsys.readouterr().out
    assert papers_main(compare) == 1
    assert "bug 1" not in capsys.readouterr().out
    assert main([*compare[:3], str(folder)]) == 0
    for empty in ([str(tmp_path), "--compare", str(folder)], [str(folder), "--compare", "none"]):
        assert main(["vectors", *empty]) == 2
        assert "must be a folder that holds" in capsys.readouterr().err
    assert main(["vectors", str(tmp_path / "a")]) == 2
    assert "holds something else" in capsys.readouterr().err


@pytest.mark.parametrize(("name", "tensors", "said"), [
    ("relu_01", {"output.y": np.ones((3, 2))}, "must have shape (2, 3, 4), got (3, 2)"),
    ("relu_01", {"output.y": np.full((2, 3, 4), np.nan)}, "[0, 0, 0] is nan, must be "),
    ("relu_01", {"output.y": np.full((2, 3, 4), 1e300)}, "[0, 0, 0] is 1e+300, must be "),
    ("relu_01", {"output.y": np.ones((2, 3, 4), int)}, "must be of F64, got I64"),
    ("relu_01", {"output.y": np.ones((2, 3, 4), np.float16)}, "F64, F32, I64, I32, BOOL, got"),
    ("relu_01", {"input.x": np.ones((2, 3, 4))}, "input.x is not as in the case"),
    ("relu_01", {"output.Y": np.ones(1)}, "output.Y is not as in the case"),
    ("relu_99", {"output.y": np.ones(1)}, "no case has this name"),
    ("relu_01", None, "must be a whole safetensors file")])
def test_what_does_not_fit_is_one_line(folder, tmp_path, name, tensors, said):
    path = tmp_path / f"{name}.safetensors"
    path.write_bytes(b"\x10\0\0\0\0\0\0\0{\"a\"") if tensors is None else save_file(tensors, path)
    found = compare_vectors(folder, tmp_path)
    assert not found
    assert [line for line in str(found).splitlines() if said in line] != []


PAGE = (ROOT / "docs" / "vectors.md").read_text(encoding="utf-8")


def run(where, *command):
    """What a program prints; the test is skipped where its compiler is missing."""
    if not (where / command[0]).exists() and shutil.which(command[0]) is None:
        pytest.skip(f"needs {command[0]}")
    return subprocess.run(command, cwd=where, check=True, capture_output=True, text=True).stdout


@pytest.mark.slow
@pytest.mark.parametrize(("language", "build", "start"), [
    ("c", ["cc", "-I", str(ROOT / "docs"), "-o", "run"], ["./run"]),
    ("rust", ["rustc", "--edition", "2021", "-o", "run"], ["./run"]), ("js", [], ["node"])])
def test_the_examples_of_the_page_read_a_case(folder, tmp_path, language, build, start):
    source = f"show.{dict(c='c', rust='rs', js='js')[language]}"
    (tmp_path / source).write_text(*blocks(PAGE, language))
    shutil.copytree(folder, tmp_path / "right")
    if build:
        run(tmp_path, *build, source)
    assert run(tmp_path, *start, *([] if build else [source])) == blocks(PAGE, "text")[1]


@pytest.mark.slow
def test_the_program_in_c_agrees_and_its_planted_bug_is_named_as_the_page_says(folder, tmp_path):
    shutil.copy(ROOT / "docs" / "vectors.h", tmp_path)
    right = (ROOT / "docs" / "vectors.c").read_text()
    wrong = re.sub(r"(grad_[QK]\.x\[.* \+= .*) / root;", r"\1;", right)
    for name, source in (("right", right), ("wrong", wrong)):
        (tmp_path / f"{name}.c").write_text(source)
        (tmp_path / name).mkdir()
        run(tmp_path, "cc", "-O1", "-Wall", "-Werror", "-o", "run", f"{name}.c", "-lm")
        run(tmp_path, "./run", str(folder), name)
    assert compare_vectors(folder, tmp_path / "right")
    said = str(compare_vectors(folder, tmp_path / "wrong", bugs=BUGS.values()))
    assert said == blocks(PAGE, "text")[0].rstrip()
