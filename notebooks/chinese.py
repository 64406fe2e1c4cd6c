"""The Chinese lessons: the code of the English lessons, with text in Chinese.

A Chinese source stands in `notebooks/zh` under the name of the English one. It has the same cells
in the same order, and its code is the same to the byte. Each cell of text names the English text
that it translates: `# %% [markdown] en="1a2b3c4d"` holds the first digits of its SHA-256. So a
change of the English is seen, and the cell is called stale until it is translated again.

The exercises are translated in the same way, in `notebooks/exercises/source/zh`. Their code has
comments and docstrings in Chinese, so a cell of code names its English too, and is the same code.
"""

import ast
import functools
import hashlib
import re
from collections import Counter
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
CHINESE = FOLDER / "zh"
TEXT = "# %% [markdown]"
HAN = "[\u3400-\u9fff]"
KEPT = re.compile(r"\$\$.+?\$\$|(?<!\$)\$[^$]+\$(?!\$)|```.*?```|`[^`]+`", re.DOTALL)   # as it is
UNSPACED = re.compile(rf"{HAN}[A-Za-z0-9]|[A-Za-z0-9]{HAN}")
NARROW = re.compile(rf"{HAN}[,;:?!]|{HAN}\.(?=\s|$)")


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
    """What a Chinese cell says of the English cell that it translates."""
    return page_digest(body(cell))


def skeleton(english, exercise=False):
    """A Chinese source to begin with: every text still English, with its digest."""
    lines = [cell.split("\n", 1) for cell in cells_of(english)]
    return "".join(f'{first} en="{digest(cell)}"\n{rest}' if exercise or is_text(cell) else cell
                   for cell, (first, rest) in zip(cells_of(english), lines))


def without_digests(text):
    """A source as a student gets it."""
    return re.sub(r'(?m)^(# %%.*?) en="\w+"$', r"\1", text)


def with_code_of(english, chinese):
    """The Chinese source with the English code, if both have the same kinds of cells."""
    theirs, ours = cells_of(english), cells_of(chinese)
    if [*map(is_text, theirs)] != [*map(is_text, ours)]:
        return chinese
    return "".join(our if is_text(our) else their for their, our in zip(theirs, ours))


def faults(english, chinese, exercise=False):
    """What is out of step in a Chinese source, or not written as Chinese is: lines of text."""
    theirs, ours = cells_of(english), cells_of(chinese)
    if [*map(is_text, theirs)] != [*map(is_text, ours)]:
        same = [is_text(a) == is_text(b) for a, b in zip(theirs, ours)]
        first = same.index(False) if False in same else len(same)
        return [f"it has {len(ours)} cells, the English {len(theirs)}; cell {first} is the first"
                " of another kind"]
    of_code = exercise_code_faults if exercise else code_faults
    return [f"cell {i}: {fault}" for i, (their, our) in enumerate(zip(theirs, ours))
            for fault in (text_faults if is_text(our) else of_code)(their, our)]


def code_faults(their, our):
    return [] if their == our else ["its code is not the English one: build.py --zh mends it"]


def exercise_code_faults(their, our):
    """The faults of a cell of code whose comments and docstrings are Chinese."""
    found = stale(f'en="{digest(their)}"', our.partition("\n")[0])
    if code_alone(their) != code_alone(our):
        found.append("its code is not the English one")
    if re.findall("### .*", their) != re.findall("### .*", our):
        found.append("its marks of solutions are not the English ones")
    return found


def code_alone(cell):
    """What the code of a cell is without comments and docstrings."""
    tree = ast.parse(cell)
    for node in ast.walk(tree):
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)) and ast.get_docstring(node):
            node.body[0] = ast.Pass()
    return ast.dump(tree)


def text_faults(their, our):
    """The faults of one cell of text."""
    first = our.partition("\n")[0]
    return stale(f'en="{digest(their)}"', first) + language_faults(words(their), words(our))


def page_faults(english, chinese):
    """The faults of a Chinese page, which holds the line `<!-- en="1a2b3c4d" -->`."""
    text = re.sub(r"<!-- en=.*", "", chinese)
    return stale(f'<!-- en="{page_digest(english)}" -->', chinese) + language_faults(english, text)


def page_digest(english):
    return hashlib.sha256(english.strip().encode()).hexdigest()[:8]


def stale(mark, text):
    if mark in text:
        return []
    return [f"its English has changed: translate again, then write {mark}"]


def pages():
    """{a Chinese page: the English page that it translates}."""
    root = FOLDER.parent
    named = {path: path.with_name(path.name.replace(".zh.md", ".md"))
             for folder in (root, FOLDER / "exercises") for path in folder.glob("*.zh.md")}
    paper = {path: root / "docs" / "paper" / path.name
             for path in (root / "docs" / "zh" / "paper").glob("*.md")}
    return named | paper | {CHINESE / "README.md": FOLDER / "README.md"}


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
    """Formulas, code and the places that links lead to: none of them is translated."""
    links = [re.sub(r"(\.\./)+|zh/|\.zh\b|#.*", "", link)
             for link in re.findall(r"\]\(([^)\s]+)", text)]
    kept = [re.sub(r"\s+", " ", kept) for kept in KEPT.findall(text)]
    return [re.sub(r"(\.\./)+", "", part) for part in kept] + links


def plain(text):
    """A text whose formulas and code are one letter, and whose links are their words."""
    text = KEPT.sub("x", text)
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
    return [f"{no}: the glossary says {yes}" for no, yes in avoided().items() if no in text]
