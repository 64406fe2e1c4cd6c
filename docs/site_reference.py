"""A name of the reference: a sentence, its formula, tables, an example that ran, and links."""

import functools
import inspect
import re
import textwrap
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

from examples import IDS, dotted, entries, example, is_layer, source_of, tests_of, thing_of
from generate import DOCS, NOTEBOOKS, OUT, ROOT, lesson_pages, table_rows

from aiayn_np import Module

COLUMNS = re.compile(r"\S {3,}\S|  ->|^\w[\w, ]* : ", re.MULTILINE)
MARKUP = re.compile(r"(?<=\w)_(?!\w)|(?<![\w*])\*(?=\w)(?![^*]*\w\*)|\|")  # in plain text
SECTION = re.compile(r"^Parameters\n-+\n(.*?)(?=^\w+\n-+$|\Z)", re.MULTILINE | re.DOTALL)
LISTED = re.compile(r"\s*(?:\w+(?:, \w+)* : .+(?:\n +.+)*\n?)+")         # the table has it
SHAPE = r"\((?:[^()]|\([^()]*\))*\)"
MEANING = re.compile(r"(\w+(?:, \w+)*) ?: (.+)")
SAID = {  # what a parameter means where its docstring does not say it
    "P_drop": "the share that is dropped", "T": "length",
    "accuracy": "share of the tokens that are right",
    "activation": "the layer between two matrices, or its class",
    "against": "the id that it is compared with", "arrays": "what is differentiated by",
    "asks": "what is to be written", "attention": "the layer that attends, or a factory of it",
    "base": "of the wavelengths", "batch_size": "sequences of a batch", "batches": "of an epoch",
    "beta_1": "how much of the mean is kept at a step",
    "beta_2": "how much of the mean square is kept at a step", "bias": "whether there is a bias",
    "biases": "of the biases", "block": "keys at a time", "bos": "the id that begins a sequence",
    "bug": "one of BUGS", "cache": "what forward returned",
    "call": "how it is called, for the message", "case": "its name",
    "characters": "all that may occur", "checked": "what was checked, in words",
    "chosen": "{option: name}", "classes": "how many", "components": "one for each call",
    "config": "what JSON can hold", "d_a": "width of the hidden layer",
    "d_hidden": "width of the state", "d_in": "width of x", "d_out": "width of y",
    "data": "the bytes", "decay": "how much of a value is taken away", "dtype": "of the array",
    "eos": "the id that ends a sequence", "eps": "what keeps the quotient finite",
    "equal": "whether all steps are equal", "factory": "makes a layer", "files": "their paths",
    "folder": "a folder", "g": "heads of a group", "grad": "a gradient",
    "grad_logits": "the gradient that backward began with", "gradients": "of each layer's output",
    "h_kv": "heads of keys and values", "height": "rows of the image",
    "high": "the first value that is too large", "history": "one record for each step",
    "ids": "token ids", "interleaved": "whether neighbours are turned together",
    "k": "positions of a window", "key_tokens": "labels of the columns",
    "last": "(name, size) of the last axis", "layer": "a layer",
    "layers": "the layers, first to last", "least": "the smallest that is allowed",
    "line": "of text", "lines": "of text", "logits": "a score for each token",
    "loss": "of the batch", "low": "the smallest value",
    "max_distance": "greater distances count as this one", "max_len": "the most positions",
    "max_length": "the most symbols of a sequence", "min_ndim": "the fewest axes",
    "model": "the model", "most": "so many at a time", "n": "a number", "name": "for the message",
    "names": "their names", "ndim": "how many axes", "number": "its number", "of": "the extra",
    "open_low": "whether `low` is refused", "optimizer": "an Adam",
    "options": "masks, generators, targets", "pad": "the id of padding",
    "pairs": "of a source and a target", "parameter": "whose dtype it must have",
    "parts": "names of what was replaced", "path": "of the file", "peak": "the highest rate",
    "position": "of the target", "query_tokens": "labels of the rows",
    "radius": "how far a query looks to each side", "ranks": "which share a batch",
    "rate": "the learning rate", "recent": "states that are averaged",
    "recording": "the forward that was recorded", "references": "lines of a human",
    "result": "the class of its results", "rng": "the generator that draws the start values",
    "rows": "the rows", "scale": "a factor", "score": "a layer that scores",
    "scores": "how well each key fits", "scores_shape": "the shape of the scores",
    "seconds": "since the start", "section": "of the paper", "seed": "of the random numbers",
    "segments": "which sentence each token is of; how many there are", "shape": "of the array",
    "shift": "by how much the windows are moved", "size": "entries of the tensor",
    "sizes": "by name", "source": "of the source's tokens", "sources": "ids of each",
    "target": "of the target's tokens", "src": "token ids of the source",
    "start": "the number of the first position",
    "statistics": "(mean, variance) to use, or None", "step": "the number of the step, from 1",
    "steps": "how many steps", "sublayer_output": "what the sub-layer gave for x",
    "symbols": "how many different symbols", "table": "(T, d_model)", "targets": "token ids",
    "task": "what is learned", "tensor": "its name", "text": "the text",
    "tgt": "token ids of the target", "title": "of the picture", "token": "an id",
    "training": "pairs to learn from", "translations": "lines of the model",
    "validate_every": "steps between two validations",
    "validation": "measured now and then; None between",
    "validation_size": "sequences of a validation", "value": "the number or array",
    "vocabulary": "turns text into ids", "width": "columns of the image",
    "window": "tokens along a side of a window", "x": "the input",
    "x_K": "what the keys are made of", "x_Q": "what the queries are made of",
    "x_V": "what the values are made of", "y": "another input", "y_dtype": "the dtype of y",
    "y_shape": "the shape of y",
}
OPTIONS = {"rng": "draws what dropout drops; None drops nothing",
           "cache": "what forward returned beside its result"}


def lay_out(app, what, name, thing, options, lines):
    """Write in place of a docstring what the reference says."""
    parent, _, short = name.rpartition(".")
    if dotted().get(short) == name:
        app.env.note_dependency(str(DOCS / "examples.txt"))
        lines[:] = named(short, thing, "\n".join(lines))
    elif short in ("forward", "backward") and issubclass(
            layer := thing_of(parent.rsplit(".", 1)[1]), Module):
        lines[:] = call(layer, short, thing)
    else:
        lines[:] = paragraphs("\n".join(lines))


def named(name, thing, doc):
    """The lines for a class or a function."""
    entry, known = entries()[name], meanings(thing)
    first, _, rest = SECTION.sub("", doc).partition("\n\n" if entry.formula else "\n")
    if not entry.sentence:
        first, _, rest = SECTION.sub("", doc).partition("\n\n")
    cell = re.split(r" {3,}", first.split("\n")[0])[-1]                 # the section of the paper
    paper = cell if entry.sentence and cell != first.split("\n")[0] and "=" not in cell else ""
    rest = "\n\n".join(p for p in rest.split("\n\n") if not LISTED.fullmatch(p))
    math = [".. math::", "", f"   {entry.formula}"] if entry.formula else []
    parts = [[entry.sentence] if entry.sentence else paragraphs(first), math, [links(name, paper)],
             parameters(thing, known), ran(name, thing), paragraphs(rest), refusals(thing)]
    return "\n\n".join("\n".join(part) for part in parts if part).split("\n")


def paragraphs(text):
    """Lines of a docstring; formulas and shapes keep their columns."""
    if re.search(r"^-{4,}$", text, re.MULTILINE):                      # sections for numpydoc
        return text.split("\n")
    found = [block(p) if COLUMNS.search(p) else MARKUP.sub(r"\\\g<0>", p)
             for p in re.split(r"\n(?:[ \t]*\n)+", text.strip("\n"))]
    return "\n\n".join(found).split("\n")


def block(paragraph):
    """A paragraph as it stands, in the type of code."""
    return "::\n\n" + textwrap.indent(paragraph, "    ")


def refusals(thing):
    """The line that says what checks the input of a class."""
    checks = sorted(set(re.findall(r"\bcheck_\w+(?=\()", inspect.getsource(thing))))
    public = [f":py:obj:`~aiayn_np.checks.{c}`" for c in checks if c in dotted()]
    return [f"Bad input is refused in one line by {', '.join(public)}."] * bool(
        public and inspect.isclass(thing))


# ---- tables ----------------------------------------------------------------------------------


def table(head, rows):
    """A table; each cell is text in reStructuredText."""
    lines = [".. list-table::", "   :header-rows: 1", ""]
    for row in [head, *rows]:
        lines += [f"   {'*' if n == 0 else ' '} - {cell}" for n, cell in enumerate(row)]
    return lines


def parameters(thing, known):
    """The table of what a class or a function takes: name, type, default, meaning."""
    rows, signature = [], signature_of(thing)
    for p in signature.parameters.values():
        star = {p.VAR_POSITIONAL: "\\*", p.VAR_KEYWORD: "\\*\\*"}.get(p.kind, "")
        default = "" if p.default is p.empty else f"`{default_of(p.default)}`"
        rows.append([f"{star}`{p.name}`", type_of(p), default, meaning(p.name, known)])
    returned = signature.return_annotation
    if not inspect.isclass(thing) and returned not in (None, "None", signature.empty):
        rows.append(["returns", type_of(signature, "return_annotation"), "", ""])
    return table(["parameter", "type", "default", "meaning"], rows) if rows else []


def signature_of(thing):
    """The signature; an empty one for a Cache and an exception, which Python itself makes."""
    made_by_python = inspect.isclass(thing) and issubclass(thing, (SimpleNamespace, Exception))
    return inspect.Signature() if made_by_python else inspect.signature(thing)


def type_of(p, key="annotation"):
    """The annotation of a parameter, or that of most parameters of its name."""
    annotation = getattr(p, key)
    if annotation is p.empty:
        annotation = usual_types().get(getattr(p, "name", ""), "")
    text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    text = "array_like" if "_Buffer" in text else re.sub(r"\b(?:\w+\.)+(?=\w)", "", text)
    return f"`{text}`" if text else ""


@functools.cache
def usual_types():
    """{name of a parameter: its most usual annotation in the package}."""
    found = {}
    for thing in map(thing_of, dotted()):
        for p in signature_of(thing).parameters.values():
            if p.annotation is not p.empty:
                found.setdefault(p.name, Counter())[inspect.formatannotation(p.annotation)] += 1
    return {name: types.most_common(1)[0][0] for name, types in found.items()}


def default_of(value):
    return getattr(value, "__name__", None) or re.sub(r"<.*?(\w+) object at .*>", r"\1()",
                                                      repr(value))


def meaning(name, known):
    said = (known.get(name) or symbols().get(name) or SAID.get(name)
            or known.get(f"`{name}`", ""))                             # a sentence with the name
    return MARKUP.sub(r"\\\g<0>", said)


@functools.cache
def symbols():
    """{symbol: its meaning} of the table of symbols."""
    rows = table_rows(DOCS / "symbols.md", "# Symbols")
    found = {}
    for row in rows:
        names, parts = re.findall(r"`(\w+)`", row[0]), row[1].split(", ")
        found |= dict(zip(names, parts if len(parts) == len(names) > 1 else [row[1]] * len(names)))
    return found


def meanings(thing):
    """{parameter: meaning} of the docstrings of a function, or of a class and its bases."""
    found = {}
    for base in reversed(getattr(thing, "__mro__", [thing])):
        if base.__module__.startswith("aiayn_np"):
            text = inspect.getdoc(base) or ""
            found |= {name: sentence for sentence in re.split(r"(?<=\.)\s+", text)[:0:-1]
                      for name in re.findall(r"`\w+`", sentence)} | meanings_in(text)
    return {name: " ".join(said.split()).rstrip(".;") for name, said in found.items()}


def meanings_in(doc):
    """{parameter: meaning} of lines "name : text", or of "name: text" behind three spaces."""
    found, last, ends, indented = {}, [], True, False
    for line in doc.split("\n"):
        cells = [MEANING.fullmatch(cell.strip()) for cell in re.split(r" {3,}(?=\w)", line)]
        starts = [cell for cell in cells if cell and not line.startswith(" ")]
        if starts and not line.startswith("backward"):
            for cell in starts:
                last = cell[1].split(", ")
                found |= dict.fromkeys(last, cell[2])
                indented = " : " in cell[0]
        elif line.startswith("    ") or (line.strip() and not ends and not indented):
            found |= {name: f"{found[name]} {line.strip()}" for name in last}
        else:
            last = []
        ends = not line.strip() or line.rstrip()[-1] in ".;" or not last
    return found


# ---- forward and backward --------------------------------------------------------------------


def call(thing, which, function):
    """The lines for the forward or the backward of a layer."""
    _, space = example(thing.__name__)
    shapes, known = shapes_of(thing), meanings(thing)
    arguments = list(inspect.signature(function).parameters.values())[1:]
    inputs = [p.name for p in list(inspect.signature(thing.forward).parameters.values())[1:]
              if p.kind is not p.KEYWORD_ONLY and p.kind is not p.VAR_KEYWORD]

    def row(label, of, said):
        given = getattr(space.get(of), "shape", "")
        return [label, f"`{shapes[of]}`" if of in shapes else "", f"`{given}`" * (given != ""),
                said]

    if which == "forward":
        result = "Return the result, and the cache that `backward` reads."
        rows = [row(f"`{p.name}`", p.name, OPTIONS.get(p.name) or meaning(p.name, known))
                for p in arguments]
        rows.append(row("returns", "out", "the result, and the cache"))
    else:
        result = ("Return one gradient for each array of `forward`, and add those of the"
                  " parameters to their `grad`.")
        rows = [row(f"`{arguments[0].name}`", "out", "the gradient of the result"),
                row("`cache`", "", OPTIONS["cache"])]
        rows += [row("returns", of, f"None: `{of}` has no gradient" if of in IDS else
                     f"the gradient of `{of}`") for of in inputs]
    head = ["array", "shape", "in the example", "meaning"]
    return [result, "", *table(head, rows)]


def shapes_of(layer):
    """{array of forward, or "out": its shape}: of the paragraph with an arrow in a docstring."""
    text = "\n\n".join(inspect.cleandoc(base.__doc__ or "") for base in layer.__mro__)
    if other := re.search(r"the inputs of (\w+)\.", text):
        return shapes_of(thing_of(other[1]))
    shapes = [p for p in text.split("\n\n") if re.match(rf"\w+(, \w+)* (?:{SHAPE}|of any)", p)
              or " ->  " in p]
    if not shapes:
        return {"x": "(...)", "out": "(...)"}
    left, _, right = max(shapes, key=lambda p: "->" in p).replace("\n", " ").partition(" ->  ")
    found = {name: shape for names, shape in re.findall(rf"(\w+(?:, \w+)*) ({SHAPE})", left)
             for name in names.split(", ")} or {"x": "(...)"}
    shape = re.match(rf"\s*(?:\w+ )?({SHAPE})", right)
    return found | {"out": shape[1] if shape else next(iter(found.values()))}


# ---- the example, and where a name is explained ----------------------------------------------


def ran(name, thing):
    """The lines that show an example as an interpreter does, and the figure that it draws.

    Where a package of an extra is missing, they show what would run.
    """
    if not entries()[name].code and not is_layer(thing):               # the docstring has one
        return []
    try:
        steps, _ = example(name)
    except ImportError:
        steps = [(source_of(name, thing), "")]
    text, figures = [], []
    for source, out in steps:
        text.append(">>> " + source.replace("\n", "\n... "))
        if isinstance(out, str):
            text.append(out.strip("\n"))
        else:
            figures += ["", f".. image:: {name}.png", f"   :alt: What the example of {name} draws"]
    shown = textwrap.indent("\n".join(filter(None, text)), "   ")
    return [".. rubric:: Example", "", ".. code-block:: pycon", "", shown, *figures]


@functools.cache
def of_the_paper():
    """{name: (its lessons, its exercises)} of the table from the paper to its tests."""
    found = {}
    for row in table_rows(ROOT / "tests" / "README.md", "## From the paper to its tests"):
        for name in dotted():
            thing = thing_of(name)
            if f"`{name}`" == row[3] or row[2].strip("`") == file_of(thing):
                found.setdefault(name, row[5:7])
    return found


def file_of(thing):
    return Path(inspect.getsourcefile(thing)).relative_to(ROOT).as_posix()


def links(name, paper):
    """The line that leads to the paper's section, derivation, lessons, exercise and tests."""
    taught, exercises = of_the_paper().get(name, (lessons_with(name), ""))
    parts = [paper] * bool(paper) + [doc(*page) for page in explained(name)]
    parts += [doc(lesson_pages()[int(n)][1], f"{OUT.name}/{lesson_pages()[int(n)][0]}")
              for n in re.findall(r"\d+", taught)]
    for n in re.findall(r"\d+", exercises):
        (page,) = (NOTEBOOKS / "exercises" / "student").glob(f"{int(n):02}_*.ipynb")
        parts.append(doc(f"Exercise {n}", f"{OUT.name}/exercises/{page.stem}"))
    parts.append(f"Tested by {doc(tests_of(name), f'{OUT.name}/tests/{tests_of(name)[:-3]}')}")
    return " · ".join(parts)


def lessons_with(name):
    """The number of the first lesson whose code names it, or ""."""
    word = re.compile(rf"\b{name}\b")
    return next((stem[:2] for stem, _ in lesson_pages().values()
                 if word.search((NOTEBOOKS / f"{stem}.py").read_text(encoding="utf-8"))), "")


def explained(name):
    """[(title, page)] of the page that derives a name, or of the first that names it in code."""
    texts = {path: path.read_text(encoding="utf-8") for path in
             [*sorted(DOCS.glob("paper/*.md")), *sorted(DOCS.glob("*.md"))]}
    for pattern, says in ((rf"^```{{layer}} {name}$", "Derivation: "), (rf"`.*\b{name}\b.*`", "")):
        for path, text in texts.items():
            if path.name != "commands.md" and re.search(pattern, text, re.MULTILINE):
                place = "paper" if path.parent.name == "paper" else OUT.name
                return [(says + re.search(r"^# (.*)", text, re.MULTILINE)[1],
                         f"{place}/{path.stem}")]
    return []


def doc(text, page):
    return f":doc:`{text} </{page}>`"


def signature(app, what, name, thing, options, arguments, returned):
    """The signature as Python knows it: numpydoc takes a formula for one."""
    return None if arguments is None else (arguments, returned)


def setup(app):
    app.connect("autodoc-process-docstring", lay_out, priority=400)     # before numpydoc
    app.connect("autodoc-process-signature", signature, priority=400)
    return dict(parallel_read_safe=False, parallel_write_safe=True)
