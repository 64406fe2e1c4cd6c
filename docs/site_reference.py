"""A name of the reference: a sentence, its formula, tables, an example that ran, and links."""

import ast
import functools
import inspect
import re
import textwrap
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

from examples import (
    IDS,
    dotted,
    entries,
    example,
    is_layer,
    meant,
    source_of,
    tests_of,
    thing_of,
)
from generate import DOCS, NOTEBOOKS, OUT, PLACES, ROOT, SAYS, lesson_pages, table_rows

from aiayn_np import Module, Parameter

COLUMNS = re.compile(r"\S {3,}\S|  ->|^\w[\w, ]* : ", re.MULTILINE)
MARKUP = re.compile(r"(?<=\w)_(?!\w)|(?<![\w*])\*(?=\w)(?![^*]*\w\*)|\|")  # in plain text
SECTION = re.compile(r"^Parameters\n-+\n(.*?)(?=^\w+\n-+$|\Z)", re.MULTILINE | re.DOTALL)
LISTED = re.compile(r"\s*(?:\w+(?:, \w+)* : .+(?:\n +.+)*\n?)+")         # the table has it
SHAPE = r"\((?:[^()]|\([^()]*\))*\)"
SHAPES = re.compile(rf"^(?:\w+(?:, \w+)* {SHAPE} +)+-> +(?:\w+ )?(?:{SHAPE}|the same shape)$\n?",
                    re.MULTILINE)                                      # a line of nothing else
MEANING = re.compile(r"(\w+(?:, \w+)*) ?: (.+)")
RNG = "draws what dropout drops; None drops nothing"  # of a forward
PROTOCOL = {  # what Module asks of each layer
    "forward": "Return the result, and a Cache of what `backward` needs. Each positional array is"
               " differentiated by; integer ids are the exception. To call a layer gives the result"
               " alone.",
    "backward": "Return one gradient for each array of `forward`, in its order, shape and dtype; a"
                " single one is not in a tuple, and ids get none. Add those of the parameters to"
                " their `grad`, and write to nothing else.",
}


def lay_out(app, what, name, thing, options, lines):
    """Write in place of a docstring what the reference says."""
    parent, _, short = name.rpartition(".")
    if dotted().get(short) == name:
        app.env.note_dependency(str(DOCS / "examples.txt"))
        lines[:] = named(short, thing, "\n".join(lines))
    elif short in ("forward", "backward") and issubclass(
            layer := thing_of(parent.rsplit(".", 1)[1]), Module):
        lines[:] = call(layer, short)
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
    if thing is Module:
        rest = inspect.getmodule(Module).__doc__.partition("\n\n")[2]   # the protocol
    told = [p for p in rest.split("\n\n") if not LISTED.fullmatch(p)]
    if is_layer(thing):                                                # its tables say the others
        told = [SHAPES.sub("", p) for p in told if not p.startswith("backward")]
    parts = [[entry.sentence] if entry.sentence else paragraphs(first), formula(entry.formula),
             [links(name, paper)], parameters(thing, known), attributes(name, thing),
             ran(name, thing), paragraphs("\n\n".join(told)), refusals(thing)]
    return "\n\n".join("\n".join(part) for part in parts if part).split("\n")


def formula(text):
    """The lines of a formula."""
    return [".. math::", "", *textwrap.indent(text, "   ").split("\n")] if text else []


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
    """A table without its empty columns; each cell is text in reStructuredText."""
    columns = [column for column in zip(head, *rows) if any(column[1:])]
    lines = [".. list-table::", "   :header-rows: 1", ""]
    for row in zip(*columns):
        lines += [f"   {'*' if n == 0 else ' '} - {cell}" for n, cell in enumerate(row)]
    return lines


def parameters(thing, known):
    """The table of what a class or a function takes: name, type, default, meaning."""
    rows = []
    for p in signature_of(thing).parameters.values():
        star = {p.VAR_POSITIONAL: "*", p.VAR_KEYWORD: "**"}.get(p.kind, "")
        default = "" if p.default is p.empty else f"`{default_of(p.default)}`"
        known_type = p.annotation is not p.empty or inspect.isclass(thing)
        rows.append([f"`{star}{p.name}`", type_of(p) if known_type else "", default,
                     meaning(p.name, known)])
    return table(["parameter", "type", "default", "meaning"], rows) if rows else []


def signature_of(thing):
    """The signature; an empty one for a Cache and an exception, which Python itself makes."""
    made_by_python = inspect.isclass(thing) and issubclass(thing, (SimpleNamespace, Exception))
    return inspect.Signature() if made_by_python else inspect.signature(thing)


def attributes(name, thing):
    """The table of the parameters and sub-layers of a layer that its example made."""
    if not is_layer(thing):
        return []
    rows, shapes = [], shapes_of(thing)
    for key, part in vars(example(name)[1]["layer"]).items():
        if isinstance(part, Parameter):
            rows.append([f"`{key}`", "Parameter", f"`{shapes[key]}`" if key in shapes else "",
                         f"`{part.value.shape}`"])
        elif isinstance(part, (Module, list)):
            parts = part if isinstance(part, list) else [part]
            rows.append([f"`{key}`", " and ".join(sorted({type(p).__name__ for p in parts})),
                         "a list" * isinstance(part, list), ""])
    return table(["attribute", "class", "shape", "in the example"], rows) if rows else []


def type_of(p):
    """The annotation of a parameter, or that of most parameters of its name."""
    annotation = usual_types().get(p.name, "") if p.annotation is p.empty else p.annotation
    return f"`{type_text(annotation)}`" if annotation else ""


def type_text(annotation):
    """An annotation without the modules of its names."""
    text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    return "array_like" if "_Buffer" in text else re.sub(r"\b(?:\w+\.)+(?=\w)", "", text)


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
    said = (known.get(name) or symbols().get(name) or meant().get(name)
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
        if base.__module__.startswith(("aiayn_np", "aiayn_course")):
            text = inspect.getdoc(base) or ""
            found |= {name: sentence for sentence in re.split(r"(?<=\.)\s+", text)[:0:-1]
                      for name in re.findall(r"`\w+`", sentence)} | meanings_in(text)
    own = f"{thing.__name__}."
    found |= {key.removeprefix(own): said for key, said in meant().items() if key.startswith(own)}
    return {name: " ".join(said.split()).rstrip(".,;") for name, said in found.items()}


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


def call(thing, which):
    """The lines for the forward or the backward of a layer."""
    if thing is Module:
        return paragraphs(PROTOCOL[which])
    _, space = example(thing.__name__)
    shapes, known = shapes_of(thing), meanings(thing)
    given = inspect.signature(thing.forward).parameters.values()
    arguments = [p for p in given if p.name != "self"]
    inputs = [p.name for p in arguments if p.kind is p.POSITIONAL_OR_KEYWORD]

    def row(label, of, said):
        size = getattr(space.get(of), "shape", "")
        return [label, f"`{shapes[of]}`" if of in shapes else "", f"`{size}`" * (size != ""), said]

    if which == "forward":
        result, math = "Return the result, and the cache that `backward` reads.", ""
        rows = [row(f"`{p.name}`", p.name, RNG if p.name == "rng" else meaning(p.name, known))
                for p in arguments]
        rows.append(row("returns", "out", "the result, and the cache"))
        derived = []
    else:
        result = ("Return one gradient for each array of `forward`, and add those of the"
                  " parameters to their `grad`.")
        math = entries()[thing.__name__].backward
        result += " A bar marks the gradient of the loss." * bool(math)
        grad = list(inspect.signature(thing.backward).parameters)[1]
        rows = [row(f"`{grad}`", "out", "the gradient of the result"),
                row("`cache`", "", meaning("cache", {}))]
        rows += [row("returns", of, f"None: `{of}` has no gradient" if of in IDS else
                     f"the gradient of `{of}`") for of in inputs]
        derived = [p for p in inspect.getdoc(thing).split("\n\n") if p.startswith("backward")]
    head = ["array", "shape", "in the example", "meaning"]
    parts = [[result], formula(math), table(head, rows), paragraphs("\n\n".join(derived))]
    return "\n\n".join("\n".join(part) for part in parts if part).split("\n")


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
        code = source_of(name, thing)
        steps = [(ast.get_source_segment(code, part), "") for part in ast.parse(code).body]
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
    """{name: its row of the table from the paper to its tests}; a file's row is for all in it."""
    rows = table_rows(ROOT / "tests" / "README.md", "## From the paper to its tests")
    found = {row[3].strip("`"): row for row in rows}
    for row in rows:
        for name in dotted():
            if row[2].strip("`") == file_of(thing_of(name)):
                found.setdefault(name, row)
    return found


def file_of(thing):
    return Path(inspect.getsourcefile(thing)).relative_to(ROOT).as_posix()


def taught(name, language="en"):
    """([(words, page)] of its tests, and of its lessons and exercises): where a name is proven."""
    row = of_the_paper().get(name)
    tests, lessons, exercises = row[4:7] if row else (tests_of(name), lessons_with(name), "")
    place, titles = f"{OUT.name}/{PLACES[language]}", lesson_pages(language)
    found = [(titles[int(n)][1], place + titles[int(n)][0]) for n in re.findall(r"\d+", lessons)]
    for n in re.findall(r"\d+", exercises):
        (page,) = (NOTEBOOKS / "exercises" / "student").glob(f"{int(n):02}_*.ipynb")
        found.append((SAYS[language]["exercise"].format(n), f"{place}exercises/{page.stem}"))
    return [(test, f"{OUT.name}/tests/{test[:-3]}") for test in re.findall(r"[\w.]+", tests)], found


def links(name, paper):
    """The line that leads to the paper's section, derivation, lessons, exercise and tests."""
    tests, lessons = taught(name)
    parts = [paper] * bool(paper) + [doc(*page) for page in [*explained(name), *lessons]]
    return " · ".join([*parts, "Tested by " + ", ".join(doc(*test) for test in tests)])


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
    """The signature as Python knows it, with what is returned: numpydoc takes a formula for one."""
    annotation = getattr(thing, "__annotations__", {}).get("return") if what == "function" else None
    return arguments and (arguments, type_text(annotation) if annotation else returned)


def setup(app):
    app.connect("autodoc-process-docstring", lay_out, priority=400)     # before numpydoc
    app.connect("autodoc-process-signature", signature, priority=400)
    return dict(parallel_read_safe=False, parallel_write_safe=True)
