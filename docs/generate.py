"""The pages that the site shows of the repository, copied or written into docs/pages.

Slides and live pages are no part of the repository. Where they were made, in docs/slides and
docs/live, the site has them:

    python notebooks/slides.py docs/slides
    python notebooks/slides.py docs/slides --zh
    python docs/make_live_pages.py --lessons ../pages/
"""

import functools
import io
import json
import re
import zipfile
from pathlib import Path
from urllib.parse import unquote

import chinese
import make_zoo_page

from aiayn_course.cli.lessons import lesson_files
from aiayn_course.exercises.editions import asks, student_edition

DOCS = Path(__file__).parent
ROOT, OUT = DOCS.parent, DOCS / "pages"
NOTEBOOKS = ROOT / "notebooks"
PAGES = {  # page of the repository -> page of the site
    "figures/README.md": "gallery.md", "benchmarks/README.md": "speed.md",
    "aiayn_np/text/README.md": "text.md", "aiayn_np/variants/README.md": "variants.md",
    "tests/README.md": "proofs.md", "notebooks/exercises/TEACHING.md": "teaching.md",
    "CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md",
    "tests/course/zoo/zoo_training.md": "zoo_training.md",
    "notebooks/exercises/TEACHING.zh.md": "zh/teaching.md",
    "notebooks/PROJECT.md": "project.md", "notebooks/zh/PROJECT.md": "zh/project.md",
    "CONTRIBUTING.zh.md": "zh/contributing.md", "aiayn_np/variants/README.zh.md": "zh/variants.md",
    "aiayn_np/text/README.zh.md": "zh/text.md",
} | {f"docs/{path.name}": path.name for path in DOCS.glob("*.md") if path.name != "index.md"}
LISTS = {"notebooks/README.md": "lessons.md", "notebooks/exercises/README.md": "exercises.md",
         "notebooks/zh/README.md": "zh/lessons.md",
         "notebooks/exercises/README.zh.md": "zh/exercises.md"}
CODE = {"aiayn_course/lab/zoo/__init__.py": "zoo.md"}  # file of the repository -> page of the site
PLACES = {"en": "", "zh": "zh/"}  # language -> folder of its lessons, below notebooks and OUT
SAYS = json.loads((DOCS / "words.json").read_text(encoding="utf-8"))["pages"]  # in each language
LIVE_LINK = re.compile(r"\[([^\]]*)\]\((?:\.\./)+docs/live/([^)]*)\)")
TRAINED = ROOT / "tests/course/zoo/zoo_training.md", "# Does"  # which bugs a model learns with
WRITTEN = set()  # paths below OUT


def everything():
    """Make docs/pages; a file that stays as it was is not written, so Sphinx need not read it."""
    WRITTEN.clear()
    lessons()
    exercises()
    for source, target in PAGES.items():
        text = (ROOT / source).read_text(encoding="utf-8")
        write(target, relinked(text, Path(source).parent, "../" * target.count("/")))
    write("zoo.md", make_zoo_page.page(table_rows(*TRAINED)))
    tests()
    for path in OUT.rglob("*"):
        if path.is_file() and path not in WRITTEN:
            path.unlink()


def write(name, content):
    """Write a file, text or bytes, into OUT, unless it is there with this content."""
    path = OUT / name
    path.parent.mkdir(parents=True, exist_ok=True)
    data = content.encode() if isinstance(content, str) else content
    if not path.is_file() or path.read_bytes() != data:
        path.write_bytes(data)
    WRITTEN.add(path)


# ---- lessons and exercises -------------------------------------------------------------------


@functools.cache
def lesson_pages(language="en"):
    """Return {number: (stem, title)} of the lessons."""
    pages = {}
    for path in sorted(NOTEBOOKS.glob("[0-9][0-9]_*.ipynb")):
        first = "".join(notebook(path.stem, language)["cells"][0]["source"])
        pages[int(path.stem[:2])] = (path.stem, re.match(r"# (.* · .*)", first)[1])
    return pages


def notebook(stem, language):
    """Read the notebook of a lesson; the Chinese one has its text and the English outputs."""
    if language == "zh":
        return chinese.notebook_of(NOTEBOOKS / f"{stem}.py")
    return json.loads((NOTEBOOKS / f"{stem}.ipynb").read_text(encoding="utf-8"))


def lessons():
    """Write a page for each lesson, their list, and the downloads; in each language."""
    for language, place in PLACES.items():
        folder, back, packed = NOTEBOOKS / place, "../" * bool(place), io.BytesIO()
        files = lesson_files(language=language)
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, content in files.items():                        # a time that stays the same
                archive.writestr(zipfile.ZipInfo(f"aiayn_np_students/{name}"), content)
        write(zipped := f"downloads/{place}student_edition.zip", packed.getvalue())
        for number, (stem, _) in lesson_pages().items():
            ours = notebook(stem, language)
            write(f"downloads/student/{place}{stem}.ipynb", files[f"{stem}.ipynb"])
            write(f"downloads/{place}{stem}.ipynb", json.dumps(ours, ensure_ascii=False))
            page = lesson_page(ours, student_edition(ours, number, language),
                               downloads(stem, language), language)
            write(f"{place}{stem}.ipynb", json.dumps(page))
        text = relinked((folder / "README.md").read_text(encoding="utf-8"), folder, back)
        file = SAYS[language]["all"].replace("{}", f"/{OUT.name}/{zipped}")
        pages = toctree(stem for stem, _ in lesson_pages().values())
        write(f"{place}lessons.md", "\n\n".join([text, file, pages]))


def lesson_page(ours, theirs, links, language="en"):
    """Give the student edition its outputs again; a click shows what answers a prediction."""
    place, back = PLACES[language], "../" * bool(PLACES[language])
    page, asked = dict(theirs, cells=[]), False
    outputs = {cell["id"]: cell["outputs"] for cell in ours["cells"] if "outputs" in cell}
    for cell in theirs["cells"]:
        source = "".join(cell["source"])
        if "find_spec(" in source:                                     # it installs the package
            continue
        if cell["cell_type"] == "code":
            tags = ["hide-output"] * bool(asked and outputs[cell["id"]])
            cell = cell | dict(outputs=outputs[cell["id"]], metadata=dict(tags=tags))
        else:
            asked = asks(source, language)
            turned = relinked(source, NOTEBOOKS / place, back)
            cell = cell | dict(source=turned + frames(source, back))
        page["cells"].append(cell)
    page["cells"].insert(1, dict(cell_type="markdown", id="downloads", metadata={}, source=links))
    if "prompts" in SAYS[language]:                                    # English stands in conf.py
        page["metadata"] = page["metadata"] | dict(mystnb=SAYS[language]["prompts"])
    return page


def frames(source, back):
    """Return the live pages that a cell of a lesson links to; opening one loads it."""
    parts = []
    for label, page in LIVE_LINK.findall(source):
        if (DOCS / "live" / page.partition("#")[0]).is_file():
            said = label.replace("`", "")
            frame = f'<iframe title="{said}" data-src="{back}../live/{page}"></iframe>'
            parts.append(f'\n\n<details class="live"><summary>{said}</summary>{frame}</details>')
    return "".join(parts)


def downloads(stem, language="en"):
    """Return the line of a lesson that leads to its two editions and to its slides, if made."""
    place, (this, student, teacher, slides) = PLACES[language], SAYS[language]["lesson"]
    parts = [f"{{download}}`{student} </{OUT.name}/downloads/student/{place}{stem}.ipynb>`",
             f"{{download}}`{teacher} </{OUT.name}/downloads/{place}{stem}.ipynb>`"]
    if (DOCS / "slides" / place / f"{stem}.html").is_file():
        parts.append(f'<a href="../{"../" * bool(place)}slides/{place}{stem}.html">{slides}</a>')
    return this + " · ".join(parts)


def exercises():
    """Write a page for each exercise as students get it, the hunt for bugs, and their list."""
    hunt = NOTEBOOKS / "exercises" / "find_the_bug.ipynb"
    for language, place in PLACES.items():
        names, (readme, this) = [], SAYS[language]["exercises"]
        paths = sorted(NOTEBOOKS.glob(f"exercises/student/{place}*.ipynb"))
        for path in paths if place else [*paths, hunt]:
            page, back = json.loads(path.read_text(encoding="utf-8")), "../" * (1 + bool(place))
            for cell in page["cells"]:
                if cell["cell_type"] == "markdown":
                    cell["source"] = relinked("".join(cell["source"]), path.parent, back)
            line = f"{{download}}`{this} </../{path.relative_to(ROOT).as_posix()}>`"
            page["cells"].insert(1, dict(cell_type="markdown", id="downloads", metadata={},
                                         source=line))
            write(f"{place}exercises/{path.name}", json.dumps(page))
            names.append(f"exercises/{path.stem}")
        text = (NOTEBOOKS / "exercises" / readme).read_text(encoding="utf-8")
        text = relinked(text, Path("notebooks/exercises"), "../" * bool(place))
        write(f"{place}exercises.md", text + "\n" + toctree(names))


def toctree(names):
    return "\n".join(["```{toctree}", ":maxdepth: 1", "", *names, "```", ""])


# ---- pages of the repository -----------------------------------------------------------------


def relinked(text, folder, back=""):
    """Turn the links of a page to the site's pages; other files become plain text.

    Blocks of code stay as they are.

    folder : of the page, in the repository
    back : from the page of the site to OUT, such as "../"
    """
    def link(match):
        bang, label, target = match.groups()
        path, hash_, anchor = (target or "").partition("#")
        if not path or target.startswith("http"):
            return match[0]
        where = (ROOT / folder / path).resolve()
        name = where.relative_to(ROOT).as_posix()
        if where.parent == DOCS / "live":                              # Sphinx wants a document
            told = "../zh/live-pages.html" if "lang=zh" in anchor else "live-pages.html"
            page = f"../live/{where.name}{hash_}{anchor}" if where.is_file() else told
            return f'<a href="{back}{page}">{label}</a>'
        if bang:
            write(where.name, where.read_bytes())
            return f"![{label}]({back}{where.name})"
        if anchor.startswith("bug-"):                                  # a label of Sphinx
            return f"[{label}](#{anchor})"
        if found := page_of(where, name):
            if found.endswith(".ipynb"):                               # as MyST names a heading
                anchor = re.sub(r"[^\w-]", "", unquote(anchor)).lower()
            return f"[{label}]({back}{found}{hash_}{anchor})"
        return label if where.name in label else f"{label} (`{name}`)"

    return re.sub(r"^```.*?^```|(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s]*)\)", link, text,
                  flags=re.DOTALL | re.MULTILINE)


def page_of(where, name):
    """Return the page of the site that shows a file of the repository, or None."""
    if name.startswith("notebooks/exercises/") and where.suffix == ".ipynb":
        return f"{'zh/' * (where.parent.name == 'zh')}exercises/{where.name}"
    if re.fullmatch(r"notebooks/(zh/\d\d_\w+\.md|\d\d_\w+\.ipynb)", name):     # a lesson
        return where.relative_to(NOTEBOOKS).with_suffix(".ipynb").as_posix()
    if name == "docs/index.md" or name.startswith(("docs/paper/", "docs/zh/")):
        return f"../{name.removeprefix('docs/')}"                      # Sphinx reads it as it is
    return (PAGES | LISTS | CODE).get(name)


def table_rows(path, heading):
    """Return the first table under a heading of a page: rows of cells without links."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", path.read_text(encoding="utf-8"))
    table = re.search(r"^\|---.*\n((?:\|.*\n)*)", text.split(heading)[1], re.MULTILINE)[1]
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
            for line in table.splitlines()]


def paper():
    """Return {name of a class: its row of the table from the paper to its tests}."""
    rows = table_rows(ROOT / "tests" / "README.md", "## From the paper to its tests")
    return {row[3].strip("`"): row for row in rows}


def tests():
    """Copy the files of tests to which the pages of the paper lead, as they are."""
    for name in {name for row in paper().values() for name in re.findall(r"test_\w+\.py", row[4])}:
        (path,) = (ROOT / "tests").rglob(name)
        where = path.relative_to(ROOT).as_posix()
        write(f"tests/{path.stem}.md", f"---\norphan: true\n---\n# {where}\n\n"
              f"```{{literalinclude}} /../{where}\n```\n")
