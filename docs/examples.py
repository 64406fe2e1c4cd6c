"""The public names of the package, and their examples, which run where they are shown."""

import ast
import contextlib
import functools
import importlib
import inspect
import io
import os
import re
import shutil
import tempfile
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import aiayn_np
from aiayn_np import Module

DOCS = Path(__file__).parent
ROOMS = {  # page of the reference -> its title, and the modules whose names it holds
    "layers": ("The paper's layers", []),
    "training": ("Training, loss, optimizer, tasks", []),
    "decoding": ("Decoding", []),
    "proofs": ("Checks of gradients and derivations, properties", []),
    "reading": ("What a word was made of", ["aiayn_np.reading"]),
    "plotting": ("Maps, traces, pictures", []),
    "runs": ("Checkpoints", []),
    "variants": ("Variants", ["aiayn_np.variants"]),
    "text": ("Text", ["aiayn_np.text"]),
    "lab": ("Experiments", ["aiayn_course.lab.experiment"]),
    "exercises": ("Exercises", ["aiayn_course.exercises"]),
    "zoo": ("Bugs", ["aiayn_course.lab.zoo"]),
    "models": ("Real models, PyTorch", ["aiayn_np.models"]),
    "data": ("Small corpora", ["aiayn_course.data"]),
    "checks": ("What is refused", ["aiayn_np.checks"]),
}
LISTED = re.compile(r"^ {4}(\w+) {2,}(\w+(?:,\s+\w+)*)$", re.MULTILINE)  # in a room's docstring
ENTRY = re.compile(r"^(\w+)(?:: (.+))?\n((?: {4}.*\n)*)", re.MULTILINE)
SENTENCE = re.compile(r"(?<=\.)(?<!Sec\.)(?<!Eq\.)(?<!\.\.)\s")  # where one ends
IDS = ("ids", "src", "tgt")  # arrays of forward that have no gradient
MODELS = "tests/golden/pretrained"  # small folders of Hugging Face, which some examples open
ALSO = {"np": "import numpy as np", "pathlib": "import pathlib", "runpy": "import runpy",
        "torch": "import torch",
        "EXPERIMENTS": "from aiayn_course.lab import EXPERIMENTS",
        "EXERCISES": "from aiayn_course.exercises import EXERCISES",
        "BUGS": "from aiayn_course.lab.zoo import BUGS"}


# ---- which names -----------------------------------------------------------------------------


@functools.cache
def rooms():
    """{room: {dotted name: class or function}}: what a package hands out, or lists as public."""
    found = {room: dict(pair for name in modules for pair in of_module(name))
             for room, (_, modules) in ROOMS.items()}
    for name, thing in vars(aiayn_np).items():                         # in the order of reading
        if name not in aiayn_np.__all__:
            continue
        parts = thing.__module__.split(".")[1:-1] or ["layers"]
        room = "runs" if thing.__module__ == "aiayn_np.files" else parts[0]
        found[room][f"aiayn_np.{name}"] = thing
    return {room: {name: thing for name, thing in things.items() if callable(thing)}
            for room, things in found.items()}


def of_module(name):
    """Yield (dotted name, object): of `__all__`, or of the docstring's list and all layers."""
    module = importlib.import_module(name)
    if names := getattr(module, "__all__", None):
        yield from ((f"{name}.{n}", getattr(module, n)) for n in names)
    elif listed := LISTED.findall(module.__doc__):
        for file, names in listed:
            yield from own(f"{name}.{file}", re.findall(r"\w+", names))
        if name.endswith("variants"):
            yield from own(f"{name}.windows", ["WindowAttention"])
    else:
        things = vars(module).items()
        yield from own(name, [n for n, thing in things if inspect.isclass(thing)
                              or n.startswith("check_")])


def own(name, names):
    """Yield (dotted name, object) of names of a module, and of the layers that it defines."""
    module = importlib.import_module(name)
    for n, thing in vars(module).items():
        layer = inspect.isclass(thing) and issubclass(thing, Module)
        if getattr(thing, "__module__", "") == name and (n in names or layer):
            yield f"{name}.{n}", thing


@functools.cache
def dotted():
    """{name: dotted name} of all public names."""
    return {full.rsplit(".", 1)[1]: full for things in rooms().values() for full in things}


def thing_of(name):
    """The class or function of a public name."""
    return next(things[dotted()[name]] for things in rooms().values() if dotted()[name] in things)


@functools.cache
def tests_of(name):
    """The file of tests for a name: called as its module, in the folder of its room, or any other.

    Of several it is the one that names it most often. What no test names has the tests of a module
    that uses it, or of another name of its module.
    """
    module = thing_of(name).__module__
    folder, stem = [*module.split(".")[1:-1], "model"][0], module.rsplit(".", 1)[-1]
    counts = naming(name, "tests/**/test_*.py")
    if counts:
        return max(counts, key=lambda path: (path.name == f"test_{stem}.py",
                                             path.parent.name == folder, counts[path])).name
    users = [f"test_{path.name}" for path in naming(name, "aiayn_*/**/*.py")]
    there = {path.name for path in words("tests/**/test_*.py")}
    return next((user for user in users if user in there), None) or next(
        tests_of(other) for other in dotted() if thing_of(other).__module__ == module
        and naming(other, "tests/**/test_*.py"))


def naming(name, pattern):
    """{path of a file: how often it has a name}."""
    return {path: count[name] for path, count in words(pattern).items() if name in count}


@functools.cache
def words(pattern):
    """{path: Counter of its words} of files; tests of the site itself test no name."""
    return {path: Counter(re.findall(r"\w+", path.read_text(encoding="utf-8")))
            for path in sorted(DOCS.parent.glob(pattern)) if path.parent.name != "docs"}


def is_layer(thing):
    return inspect.isclass(thing) and issubclass(thing, Module) and thing is not Module


# ---- their examples --------------------------------------------------------------------------


class Entry(NamedTuple):
    sentence: str
    formula: str
    backward: str
    code: str


@functools.cache
def entries():
    """{name: its Entry of examples.txt}."""
    text = (DOCS / "examples.txt").read_text(encoding="utf-8").split("\n\n")[-1]
    found = {}
    for name, sentence, body in ENTRY.findall(text):
        lines = {"$ ": [], "% ": [], "": []}
        for line in body.splitlines():
            kind = line[4:6] if line[4:6] in lines else ""
            lines[kind].append(line[4 + len(kind):])
        found[name] = Entry(sentence, *map("\n".join, lines.values()))
    return found


@functools.cache
def meant():
    """{parameter: what it means where no docstring says it} of examples.txt."""
    text = (DOCS / "examples.txt").read_text(encoding="utf-8").split("\n\n")[-2]
    return dict(line.split(": ", 1) for line in text.splitlines())


def sentence_of(name):
    """What a name is or does, in one sentence."""
    text = inspect.getdoc(thing_of(name)).split("\n\n")[0]
    return entries()[name].sentence or SENTENCE.split(text.replace("\n", " "))[0]


def source_of(name, thing):
    """The lines of an example: imports, the entry, and a layer's forward and backward."""
    code = entries()[name].code
    if is_layer(thing):
        code += "\n" + "\n".join(there_and_back(thing, names_in(code)))
    used = names_in(code)
    given, modules = [ALSO[n] for n in ALSO if n in used], {}
    for n in sorted(used & dotted().keys()):
        modules.setdefault(dotted()[n].rsplit(".", 1)[0], []).append(n)
    given += [f"from {module} import {', '.join(names)}" for module, names in modules.items()]
    return "\n".join([*given, *["rng = np.random.default_rng(0)"] * ("rng" in used), code])


def names_in(code):
    """The names of variables, functions and modules of a code; `np` comes with `rng`."""
    names = {node.id for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Name)}
    return names | {"np"} if "rng" in names else names


def there_and_back(layer, made):
    """Lines that call forward with the variables made, and backward with a gradient of ones."""
    arguments = inspect.signature(layer.forward).parameters.values()
    arrays = [p.name for p in arguments if p.kind is p.POSITIONAL_OR_KEYWORD and p.name in made]
    options = [f"{p.name}={p.name}" for p in arguments
               if p.kind is p.KEYWORD_ONLY and p.name in made - {"rng"}]
    yield f"out, cache = layer.forward({', '.join(arrays + options)})"
    yield "out.shape"
    floats = [f"grad_{name}" for name in arrays if name not in IDS]
    found = f"{', '.join(floats)} = " if floats else ""
    yield f"{found}layer.backward(np.ones_like(out), cache)"
    if floats:
        yield ", ".join(f"{name}.shape" for name in floats)


@functools.cache
def example(name):
    """Run an example in a folder of its own: [(statement, what it shows)], and its variables.

    What it shows is text, or a figure. Raises ImportError where a package of an extra is missing.
    """
    space, steps, code = {}, [], source_of(name, thing_of(name))
    here = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        if MODELS in code:
            shutil.copytree(DOCS.parent / MODELS, f"{folder}/{MODELS}")
        os.chdir(folder)
        try:
            for statement in ast.parse(code).body:
                source = ast.get_source_segment(code, statement)
                steps.append((source, outcome(source, statement, space, name)))
        finally:
            os.chdir(here)
    return steps, space


def outcome(source, statement, space, name):
    """What a statement prints and gives, as an interpreter shows it; errors of a check too."""
    printed = io.StringIO()
    try:
        with contextlib.redirect_stdout(printed):
            value = None
            if isinstance(statement, ast.Expr):
                value = eval(source, space)
            else:
                exec(source, space)
    except Exception as error:
        if not name.lower().startswith("check") or isinstance(error, ImportError):
            raise
        return f"{printed.getvalue()}{type(error).__name__}: {error}"
    if hasattr(value, "savefig"):
        return value
    return printed.getvalue() + (repr(value) if value is not None else "")
