"""What Sphinx cannot do alone: classes beside their tests, docstrings laid out, links turned."""

import inspect
import re
import textwrap

from docutils import nodes
from generate import DOCS, OUT, SAYS, relinked
from site_chinese import language_of
from site_reference import of_the_paper, taught
from sphinx import addnodes
from sphinx.util.docutils import SphinxDirective

import aiayn_np

SYMBOLS = f"{OUT.name}/symbols"
WORD = re.compile(r"(?<![\w^.])[A-Za-z]\w*\b(?!\()")
MEANT = {  # a word that may mean something else leads to its symbol where the docstring says this
    "V": r"\bK\b", "E": r"vocab_size|logits", "h": r"\bh[,)]|heads",
    "allowed": r"bool|mask", "memory": r"\b(the|same|a) memory\b|memory \(",
}


def turn_links(app, docname, source):
    """Links of a page of docs, which lead to files of the repository, lead to the site's pages."""
    if not docname.startswith(f"{OUT.name}/"):                         # there generate.py did it
        back = "../" * docname.count("/") + f"{OUT.name}/"
        source[0] = relinked(source[0], (DOCS / docname).parent, back)


class Layer(SphinxDirective):
    """A class from its source, its forward beside its backward, and what tests and teaches it."""

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
    """A block of Python."""
    text = textwrap.dedent(source).rstrip()
    return nodes.literal_block(text, text, language="python")


def proof(name, language):
    """The line under the title: reference, tests, lessons and exercises of a class, with links."""
    says, (tests, lessons) = SAYS[language], taught(name, language)
    known = f"{{py:obj}}`{name} <aiayn_np.{name}>`" if hasattr(aiayn_np, name) else f"`{name}`"
    return " · ".join([
        says["class"].format(known, of_the_paper()[name][2]),
        says["tests"].format(says["and"].join(map(link, tests))), *map(link, lessons)])


def link(words_and_page):
    words, page = words_and_page
    return f"{{doc}}`{words} </{page}>`"


def mark_symbols(app, doctree):
    """Give each symbol of the table an anchor, `symbol-d_k`."""
    if app.env.docname != SYMBOLS:
        return
    for row in doctree.findall(nodes.row):
        for literal in row[0].findall(nodes.literal):
            literal["ids"].append(f"symbol-{literal.astext()}")
            symbols_of(app)[literal.astext()] = literal["ids"][0]


def symbols_of(app):
    """{symbol: its anchor}, kept with the environment from build to build."""
    if not hasattr(app.env, "symbol_anchors"):
        app.env.symbol_anchors = {}
    return app.env.symbol_anchors


def link_words(app, doctree, docname):
    """In docstrings, symbols lead to the table and names of this package to their reference."""
    targets = {}
    for full, entry in app.env.domains.python_domain.objects.items():
        name = full.rsplit(".", 1)[-1]
        if full == f"aiayn_np.{name}" and (name[0].isupper() or "_" in name):
            targets[name] = (entry.docname, entry.node_id)
    targets |= {symbol: (SYMBOLS, anchor) for symbol, anchor in symbols_of(app).items()}
    if not docname.startswith(f"{OUT.name}/api"):
        return
    for content in doctree.findall(addnodes.desc_content):
        for formulas in content.findall(nodes.literal_block):
            if formulas["language"] != "pycon":
                formulas["language"] = "text"
        said = content.astext()
        meant = {word: target for word, target in targets.items()
                 if re.search(MEANT.get(word, ""), said)}
        described = content.parent[0].get("ids", [""])[:1]
        for text in list(content.findall(nodes.Text)):
            inside = parents(text)
            if inside[addnodes.desc_content] is content and not inside.keys() & {
                    nodes.reference, nodes.doctest_block, nodes.rubric, addnodes.desc_signature
                    } and inside.get(nodes.literal_block, {}).get("language") != "pycon":
                link_in(text, meant, app, docname, described)


def parents(node):
    """{class of a node around this one: the innermost of them}."""
    found = {}
    while node.parent is not None:
        node = node.parent
        found.setdefault(type(node), node)
    return found


def link_in(text, targets, app, docname, described):
    """Replace a text by itself with links."""
    new, end = [], 0
    for word in WORD.finditer(text):
        target, anchor = targets.get(word[0], (None, None))
        if target is None or anchor in described:
            continue
        address = app.builder.get_relative_uri(docname, target) + f"#{anchor}"
        link = nodes.reference("", "", nodes.Text(word[0]), refuri=address, internal=True,
                               classes=["word"])
        new += [nodes.Text(text[end:word.start()]), link]
        end = word.end()
    if new:
        # a block with links is not code to be coloured
        text.parent.rawsource = ""
        text.parent.replace(text, [*new, nodes.Text(text[end:])])


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
    app.connect("doctree-read", mark_symbols)
    app.connect("doctree-resolved", link_words)
    return dict(parallel_read_safe=False, parallel_write_safe=True)
