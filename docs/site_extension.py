"""Additions to Sphinx: a class's forward beside its backward, links between pages, KaTeX."""

import inspect
import re
import shutil
import textwrap
from pathlib import Path

from docutils import nodes
from generate import DOCS, NOTEBOOKS, OUT, PLACES, SAYS, lesson_pages, paper, relinked
from site_chinese import language_of
from sphinx.util.docutils import SphinxDirective

import aiayn_np


def turn_links(app, docname, source):
    """Turn links of a page of docs, which lead to files of the repository, to the site's pages."""
    if not docname.startswith(f"{OUT.name}/"):                         # there generate.py did it
        back = "../" * docname.count("/") + f"{OUT.name}/"
        source[0] = relinked(source[0], (DOCS / docname).parent, back)


def summary(app, docname, source):
    """Put a table of its names, each with its first line, before the entries of an API page."""
    names = re.findall(r"^\.\. auto(?:class|function):: (\S+)", source[0], re.MULTILINE)
    if docname.startswith("api/") and names:
        title, rule, rest = source[0].split("\n", 2)
        table = "\n   ".join([".. autosummary::", ":nosignatures:", "", *names])
        source[0] = "\n".join([title, rule, "", table, rest])


class Layer(SphinxDirective):
    """The source of a class, its forward beside its backward, and links to tests and lessons."""

    required_arguments = 1

    def run(self):
        name = self.arguments[0]
        links = self.parse_text_to_nodes(proof(name, language_of(self.env.docname)))
        thing = getattr(aiayn_np, name, None)
        if thing is None:                                              # an experiment
            return links
        self.env.note_dependency(inspect.getsourcefile(thing))
        head, *parts = re.split(r"^(?=    def (?:forward|backward)\()", inspect.getsource(thing),
                                flags=re.MULTILINE)
        near = (re.sub(r"(?<=\S) {3,}#", "  #", part) for part in parts)   # comments at their lines
        pair = nodes.container("", *map(code, near), classes=["pair"])
        return [*links, code(head), *[pair] * bool(parts)]


def code(source):
    """Return a block of Python."""
    text = textwrap.dedent(source).rstrip()
    return nodes.literal_block(text, text, language="python")


def proof(name, language):
    """Return the line under the title: reference, tests, lessons and exercises of a class."""
    says, rows, titles = SAYS[language], paper(), lesson_pages(language)
    thing, place = getattr(aiayn_np, name, None), f"{OUT.name}/{PLACES[language]}"
    file = "/".join(thing.__module__.split(".")) + ".py" if thing else ""
    row = rows.get(name) or next(row for row in rows.values() if row[2].strip("`") == file)
    known = f"{{py:obj}}`{name} <aiayn_np.{name}>`" if thing else f"`{name}`"
    tests = [f"{{doc}}`{test} </{OUT.name}/tests/{test[:-3]}>`"
             for test in re.findall(r"[\w.]+", row[4])]
    found = [titles[int(n)][::-1] for n in re.findall(r"\d+", row[5])]
    found += [(says["exercise"].format(n), f"exercises/{page.stem}")
              for n in re.findall(r"\d+", row[6])
              for page in NOTEBOOKS.glob(f"exercises/student/{int(n):02}_*.ipynb")]
    return " · ".join([says["class"].format(known, row[2]),
                       says["tests"].format(says["and"].join(tests)),
                       *(f"{{doc}}`{words} </{place}{page}>`" for words, page in found)])


COLUMNS = re.compile(r"\S {3,}\S|  ->|^\w[\w, ]* : |^\w+ = ", re.MULTILINE)  # of formulas
MARKUP = re.compile(r"(?<=\w)_(?!\w)|(?<![\w*])\*(?=\w)(?![^*]*\w\*)|\|")  # in plain text
WHOLE = {"Sec. ": "Section ", "Eq. ": "Equation ", "Fig. ": "Figure "}  # a stop ends a summary
WORDS = re.compile("|".join(map(re.escape, WHOLE)))


def columns(app, what, name, thing, options, lines):
    """Show formulas and shapes of a docstring as they are, in the type of code."""
    text = WORDS.sub(lambda short: WHOLE[short[0]], "\n".join(lines))
    if not re.search(r"^-{4,}$", text, re.MULTILINE):                  # else it is numpydoc's
        parts = re.split(r"\n(?:[ \t]*\n)+", text.strip("\n"))
        done = []
        if what == "class" and COLUMNS.search(parts[0]):               # of a table of names, too
            first, *rest = parts.pop(0).replace("`", "").replace(" . ", " · ").split("\n")
            formula, _, where = first.rpartition("   ")
            done = [f"``{formula.strip()}`` · {where}" if formula else f"``{first}``"]
            done += [verbatim("\n".join(rest))] * bool(rest)
        done += [verbatim(part) if COLUMNS.search(part) else MARKUP.sub(r"\\\g<0>", part)
                 for part in parts]
        lines[:] = "\n\n".join(done).split("\n")


def verbatim(text):
    """Return text as a literal block of reStructuredText."""
    return "::\n\n" + textwrap.indent(text, "    ")


def signature(app, what, name, thing, options, arguments, returned):
    """Give the signature as Python knows it: numpydoc takes a formula for one."""
    return arguments and (arguments, returned)


def made(app, error):
    """Copy slides and live pages as they are, where they were made."""
    for folder in ("slides", "live"):
        if (DOCS / folder).is_dir() and app.builder.format == "html":
            shutil.copytree(DOCS / folder, Path(app.outdir) / folder, dirs_exist_ok=True)


def formula(translator, node):
    """Write a formula as text, which site.js gives to KaTeX."""
    tag = "div" if isinstance(node, nodes.math_block) else "span"
    start = translator.starttag(node, tag, "", CLASS="math notranslate nohighlight")
    translator.body.append(f"{start}{translator.encode(node.astext())}</{tag}>")
    raise nodes.SkipNode


def setup(app):
    app.add_html_math_renderer("katex", (formula, None), (formula, None))
    app.add_directive("layer", Layer)
    app.connect("source-read", turn_links)
    app.connect("source-read", summary)
    app.connect("autodoc-process-docstring", columns, priority=400)     # before numpydoc
    app.connect("autodoc-process-signature", signature, priority=400)
    app.connect("build-finished", made)
    return dict(parallel_read_safe=False, parallel_write_safe=True)
