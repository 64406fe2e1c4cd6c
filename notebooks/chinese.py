"""The Chinese edition: the code of the English lessons, with text in Chinese.

The source of a Chinese lesson is Markdown, `notebooks/zh/NN_name.md`. It holds the text of every
cell of text after a line `<!-- en="1a2b3c4d" -->`, which names the English text that it
translates by the first digits of its SHA-256. So a change of the English is seen, and a change of
its code is none of the translator's business.

The exercises are translated in the same way, in `notebooks/exercises/source/zh`. Their comments
and docstrings are Chinese too: after a line `<!-- code en="1a2b3c4d" -->`, which names all of
them, pairs of lines, `- English` and `+ Chinese`, say what is replaced.
"""

import ast
import functools
import hashlib
import io
import json
import re
import sys
import tokenize
from collections import Counter
from difflib import SequenceMatcher
from itertools import zip_longest
from pathlib import Path
from urllib.parse import quote

from lesson_marks import ON_SLIDES, text_cell
from needs import needed
from predictions import names_of, prediction_of

FOLDER = Path(__file__).resolve().parent
CHINESE = FOLDER / "zh"
TEXT = "# %% [markdown]"
CODE = "<!-- code en="
HAN = "[\u3400-\u9fff]"
KEPT = re.compile(  # as it is
    r"<!-- (?:true:.*?|result )-->|\$\$.+?\$\$|(?<!\$)\$[^$]+\$(?!\$)|```.*?```|`[^`]+`", re.DOTALL)
ONLY_CHINESE = r"[./]*docs/zh/(?:glossary|chinese-text)\.md"  # pages that have no English one
WORDS = re.compile(r"\\text\{[^{}]*\}")  # in a formula
COMMENT = re.compile(r"(?m) +# .*$| --zh(?= )")  # in a block of code; and what asks for Chinese
IN_CHINESE = [  # what the first cell says
    ("This lesson needs the package aiayn_np, and it is not installed.",
     "这一课需要 aiayn_np 包，但它没有安装。"),
    (" README.md, in this folder, says how to install it. Then start again.",
     "怎样安装，见这个文件夹里的 README.md。安装以后重新开始。"),
]
DEEPER = [('"../pyproject.toml"', '"../../pyproject.toml"'), ('".." if', '"../.." if'),
          ('"../figures', '"../../figures')]  # in notebooks/zh
UNSPACED = re.compile(rf"{HAN}[A-Za-z0-9]|[A-Za-z0-9]{HAN}")
NARROW = re.compile(rf"{HAN}[,;:?!]|{HAN}\.(?=\s|$)")


def source(english):
    """The path of the Chinese source of a lesson, from that of the English one."""
    return CHINESE / english.with_suffix(".md").name


def cells_of(text):
    """The cells of a source in the percent format, each with its first line."""
    return re.split(r"(?m)^(?=# %%)", text)[1:]


def is_text(cell):
    return cell.startswith(TEXT)


def body(cell):
    return cell.partition("\n")[2].strip()


def words(cell):
    """The text of a cell without the `#` before each line."""
    return re.sub(r"(?m)^# ?", "", body(cell))


def digest(cell):
    """What a mark says of the English cell whose translation follows."""
    return page_digest(body(cell))


def mark(cell):
    """The line that stands before the translation of a cell."""
    return f'<!-- en="{digest(cell)}" -->'


def texts_of(english):
    """The cells of text of an English source."""
    return [cell for cell in cells_of(english) if is_text(cell)]


def skeleton(english):
    """A Chinese source to begin with: every text still English."""
    return "\n".join(f"{mark(cell)}\n{words(cell)}\n" for cell in texts_of(english))


def pieces(chinese):
    """Pairs of a mark and the text after it, in the order of a Chinese source."""
    parts = re.split(r'(?m)^(<!-- (?:code )?en="\w+" -->)\n', chinese)[1:]
    return [(line, text.strip()) for line, text in zip(parts[::2], parts[1::2])]


def translated(english, chinese):
    """The script of the English source with the Chinese text; what has none stays English."""
    found = dict(pieces(chinese))
    return "".join(text_in_chinese(cell, found) if is_text(cell) else code_in_chinese(cell, found)
                   for cell in cells_of(english))


def text_in_chinese(cell, found):
    lines = found.get(mark(cell), words(cell)).splitlines()
    after = cell[len(cell.rstrip()):]
    return "\n".join([TEXT, *(f"# {line}".rstrip() for line in lines)]) + after


def notebook_of(english, changes=()):
    """The notebook of an English source with its Chinese text and the same outputs, as a dict.

    changes : pairs of texts, of which the first becomes the second in code
    """
    notebook = json.loads(english.with_suffix(".ipynb").read_text(encoding="utf-8"))
    script = translated(*(path.read_text(encoding="utf-8") for path in (english, source(english))))
    texts = [words(cell) for cell in texts_of(script)]
    for cell in notebook["cells"]:
        if cell["cell_type"] == "markdown":
            text, cell["metadata"] = text_cell(texts.pop(0))
        else:
            text = "".join(cell["source"])
            for there, here in [*IN_CHINESE, *changes]:
                text = text.replace(there, here)
        cell["source"] = text.splitlines(keepends=True)
    return notebook


def read(lesson, language):
    """The notebook of a lesson in a language, as nbformat gives it; `lesson` is the English one."""
    nbformat = needed("nbformat")
    if language == "en" or not source(lesson).is_file():               # a copy has one language
        return nbformat.read(lesson, as_version=4)
    return nbformat.reads(json.dumps(notebook_of(lesson.with_suffix(".py"))), as_version=4)


def write(folder, changes=()):
    """Write all Chinese notebooks into a folder. Nothing is run, and no package is needed."""
    for english in sorted(FOLDER.glob("[0-9][0-9]_*.py")):
        text = json.dumps(notebook_of(english, changes), indent=1, ensure_ascii=False) + "\n"
        target = Path(folder) / english.with_suffix(".ipynb").name
        target.write_text(text, encoding="utf-8", newline="\n")


def for_jupyter(page):
    """A page whose links lead to sections as Jupyter names them; in the source GitHub does."""
    def link(match):
        lesson = (CHINESE / match[1]).read_text(encoding="utf-8")
        named = {on_github(heading): heading for heading in re.findall("(?m)^## (.*)$", lesson)}
        return f"]({match[1]}#{quote(named[match[2]].replace(' ', '-'))})"

    return re.sub(r"\]\((\d\d_\w+\.md)#([^()\s]+)\)", link, page)


def on_github(heading):
    """The anchor that GitHub gives to a heading."""
    return re.sub(r"[^\w -]", "", heading).lower().replace(" ", "-")


def code_in_chinese(cell, found):
    for theirs, ours in pairs(found):
        cell = cell.replace(theirs, ours)
    return cell


def pairs(found):
    """(English, Chinese) of what is replaced in code, the longest first."""
    text = "\n".join(text for line, text in found.items() if line.startswith(CODE))
    return sorted(re.findall(r"(?m)^- (.*)\n\+ (.*)$", text), key=lambda pair: -len(pair[0]))


def faults(english, chinese):
    """What is out of step in a Chinese source, or not written as Chinese is: lines of text."""
    theirs = {mark(cell): words(cell) for cell in texts_of(english)}
    ours = pieces(chinese)
    texts = [(line, text) for line, text in ours if not line.startswith(CODE)]
    found = order_faults(theirs, [line for line, _ in texts])
    found += [f"{line}: {fault}" for line, text in texts if line in theirs
              for fault in language_faults(*(ON_SLIDES.sub("", part) for part in (theirs[line], text)))
              + choice_faults(theirs[line], text)]
    return found + (code_faults(english, dict(ours)) if len(ours) > len(texts) else [])


def order_faults(theirs, ours):
    """What to do that the marks are those of the English texts, in their order: lines of text."""
    found, wanted = [], list(theirs)
    for _, i, j, k, m in SequenceMatcher(None, ours, wanted, autojunk=False).get_opcodes():
        for old, new in zip_longest(ours[i:j], wanted[k:m]):
            if new is None:
                found.append(f"{old}: its English is gone")
            elif old is None:
                found.append(f"translate this after {new}: {theirs[new][:60]!r}")
            elif old != new:
                found.append(f"{old}: its English has changed: translate again, then write {new}")
    return found


def code_faults(english, found):
    """The faults of the translation of comments and docstrings."""
    line = f'{CODE}"{page_digest(said(english))}" -->'
    wrong = [] if line in found else [f"comments or docstrings have changed: check, then {line}"]
    wrong += [f"no comment or docstring has: {theirs}" for theirs, _ in pairs(found)
              if theirs not in said(english)]
    same = all(code_alone(cell) == code_alone(code_in_chinese(cell, found))
               for cell in cells_of(english) if not is_text(cell))
    return wrong if same else [*wrong, "it changes more than comments and docstrings"]


def said(english):
    """The comments and docstrings of a source, but for the marks of solutions: lines of text."""
    code = "".join(cell for cell in cells_of(english) if not is_text(cell))
    return "\n".join(token.string for token in tokenize.generate_tokens(io.StringIO(code).readline)
                     if token.string.startswith(('"""', "#"))
                     and not token.string.startswith(("# %%", "###")))


def code_alone(cell):
    """What a cell is without comments and docstrings, but with its marks of solutions."""
    tree = ast.parse(cell)
    for node in ast.walk(tree):
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)) and ast.get_docstring(node):
            node.body[0] = ast.Pass()
    return ast.dump(tree), re.findall("### .*", cell)


def choice_faults(english, chinese):
    """What a translated prediction has not as the English one has it."""
    theirs, ours = map(prediction_of, (english, chinese))
    if not theirs or not ours:
        return ["only one language has a prediction"] * (theirs != ours)
    same = [[len(p["choices"]), p["right"], names_of(p)] for p in (theirs, ours)]
    return ["its choices, the right one or what is given differ"] * (same[0] != same[1])


def page_faults(english, chinese):
    """The faults of a Chinese page, which holds the line `<!-- en="1a2b3c4d" -->`."""
    line, text = f'<!-- en="{page_digest(english)}" -->', re.sub(r"<!-- en=.*", "", chinese)
    changed = f"its English has changed: translate again, then write {line}"
    return [changed] * (line not in chinese) + language_faults(english, text)


def page_digest(english):
    return hashlib.sha256(english.strip().encode()).hexdigest()[:8]


def pages():
    """{a Chinese page: the English page that it translates}."""
    root = FOLDER.parent
    named = {path: path.with_name(path.name.replace(".zh.md", ".md"))
             for folder in (root, FOLDER / "exercises", root / "aiayn_np" / "text",
                            root / "aiayn_np" / "variants")
             for path in folder.glob("*.zh.md")}
    docs = {path: root / "docs" / path.relative_to(root / "docs" / "zh")
            for path in (root / "docs" / "zh").rglob("*.md")}
    docs = {path: english for path, english in docs.items()
            if english.is_file() and english != root / "docs" / "index.md"}
    ours = {CHINESE / name: FOLDER / name for name in ("README.md", "PROJECT.md")}
    return named | docs | ours


def language_faults(english, chinese):
    """What a translation has lost or added, and what is not written as Chinese is."""
    found = []
    if not re.search(HAN, chinese) and re.search(r"[A-Za-z]{3}", KEPT.sub("", english)):
        found.append("it has no Chinese")
    for kept, where in (Counter(kept_of(english)) - Counter(kept_of(chinese)), "missing"), \
                       (Counter(kept_of(chinese)) - Counter(kept_of(english)), "not in English"):
        found += [f"{where}: {formula}" for formula in kept]
    return found + [f"{what}: {match.group()!r}" for what, pattern in
                    [("no space", UNSPACED), ("narrow punctuation", NARROW)]
                    for match in pattern.finditer(plain(chinese))]


def kept_of(text):
    """What stays in a translation: code without comments, formulas without words, addresses.

    What code prints may be Chinese, too.
    """
    links = [re.sub(r"(\.\./)+|student/zh/(?=find)|zh/|/zh$|\.zh\b|#.*", "", link)
             for link in re.findall(rf"\]\((?!{ONLY_CHINESE})([^)\s]+)", text)]
    links = [re.sub(r"(\d\d_\w+)\.md$", r"\1.ipynb", link) for link in links]   # of the same lesson
    kept = [WORDS.sub(r"\\text{}", part) if part[0] == "$" else COMMENT.sub("", part)
            for part in KEPT.findall(text) if not part.startswith("```text")]
    return [re.sub(r"(\.\./)+", "", re.sub(r"\s+", " ", part)) for part in kept] + links


def plain(text):
    """A text whose formulas and code are one letter, and whose links are their words."""
    text = KEPT.sub("x", text.replace(" <!-- result -->", ""))
    text = re.sub(r"\]\([^)]*\)", "]", re.sub(r"<[^>]+>", "", text))
    return re.sub(r"[*\[\]]", "", text)


@functools.cache
def avoided():
    """{a rendering that the glossary does not use: the one that it uses}."""
    lines = (FOLDER.parent / "docs" / "zh" / "glossary.md").read_text(encoding="utf-8").splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines
            if line.startswith("| ")][1:]
    return {no: row[1] for row in rows for no in row[4].split("、") if no}


def two_ways(text):
    """The renderings in a text that the glossary does not use: lines of text."""
    known = avoided()
    text = re.sub("（层?(?:" + "|".join(known) + ")(?=[），])", "", text)                  # another name
    return [f"{no}: the glossary says {yes}" for no, yes in known.items() if no in text]


if __name__ == "__main__":
    write(sys.argv[1])
    PAGE = for_jupyter((CHINESE / "README.md").read_text(encoding="utf-8"))
    Path(sys.argv[1], "README.md").write_text(PAGE, encoding="utf-8", newline="\n")
