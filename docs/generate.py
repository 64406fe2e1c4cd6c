"""What the site shows of the repository, copied or written into docs/pages.

Slides and live pages are no part of the repository. Where they were made, in docs/slides and
docs/live, the site has them:

    python notebooks/slides.py docs/slides
    python notebooks/slides.py docs/slides --zh
    python docs/make_live_pages.py --lessons ../pages/
"""

import contextlib
import difflib
import functools
import inspect
import io
import json
import re
import zipfile
from base64 import b64decode
from hashlib import sha256
from pathlib import Path
from urllib.parse import unquote

import chinese
import examples
from examples import ROOMS

from aiayn_np import Module

DOCS = Path(__file__).parent
ROOT = DOCS.parent
OUT = DOCS / "pages"
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
CODE = {"aiayn_course/lab/zoo/__init__.py": "zoo.md"}  # likewise
PLACES = {"en": "", "zh": "zh/"}  # language -> folder of its lessons, below notebooks and OUT
SAYS = {
    "en": {"lesson": ("This lesson: ", "student edition", "teacher edition", "slides"),
           "all": ("Download", "All lessons and exercises for students:", "one file", "."),
           "exercises": ("README.md", "this notebook"),
           "class": "{} in {}", "tests": "tested by {}", "and": ", ", "exercise": "Exercise {}"},
    "zh": {"lesson": ("本课：", "学生版", "教师版", "幻灯片"),
           "all": ("下载", "学生版的全部课程和练习：", "一个文件", "。"),
           "exercises": ("README.zh.md", "这个 notebook"),
           "class": "{}（英文），源文件 {}", "tests": "由 {} 验证（英文）",
           "and": "、", "exercise": "练习 {}",
           "prompts": ("先预测，再看结果", "结果")},
}
LIVE_LINK = re.compile(r"\[([^\]]*)\]\((?:\.\./)+docs/live/([^)]*)\)")
WRITTEN = set()  # paths below OUT
FONT = re.compile(r"url\(data:font/(woff2?);base64,([^)]*)\)")


def everything():
    """Make docs/pages; a file that stays as it was is not written, so Sphinx need not read it."""
    WRITTEN.clear()
    extras()
    student_edition()
    lessons()
    exercises()
    for source, target in PAGES.items():
        text = (ROOT / source).read_text(encoding="utf-8")
        write(target, relinked(text, Path(source).parent, "../" * target.count("/")))
    write("zoo.md", zoo())
    tests()
    api()
    figures()
    for path in OUT.rglob("*"):
        if path.is_file() and path not in WRITTEN:
            path.unlink()


def write(name, content):
    """Write a file, text or bytes, into OUT, if it is not there as it is."""
    path = OUT / name
    path.parent.mkdir(parents=True, exist_ok=True)
    data = content.encode() if isinstance(content, str) else content
    if not path.is_file() or path.read_bytes() != data:
        path.write_bytes(data)
    WRITTEN.add(path)


def extras():
    """Slides and live pages as they are, where they were made."""
    (OUT / "extra").mkdir(parents=True, exist_ok=True)
    for folder in ("slides", "live"):
        for path in DOCS.glob(f"{folder}/**/*.html"):
            text = path.read_text(encoding="utf-8")
            back = "../" * (path.parent.name == "zh")
            text = FONT.sub(functools.partial(shared_font, back=back), text)
            write(f"extra/{path.relative_to(DOCS).as_posix()}", text)


def shared_font(match, back):
    """A font that all slides hold, as one file for all; `back` leads to its folder."""
    data = b64decode(match[2])
    name = f"{sha256(data).hexdigest()[:12]}.{match[1]}"
    write(f"extra/slides/{name}", data)
    return f"url({back}{name})"


# ---- lessons and exercises -------------------------------------------------------------------


@functools.cache
def lesson_pages(language="en"):
    """{number: (stem, title)} of the lessons."""
    pages = {}
    for path in sorted(NOTEBOOKS.glob("[0-9][0-9]_*.ipynb")):
        first = "".join(notebook(path.stem, language)["cells"][0]["source"])
        pages[int(path.stem[:2])] = (path.stem, re.match(r"# (.* · .*)", first)[1])
    return pages


def notebook(stem, language):
    """The notebook of a lesson; the Chinese one is made of its text and the English outputs."""
    if language == "zh":
        return chinese.notebook_of(NOTEBOOKS / f"{stem}.py")
    return json.loads((NOTEBOOKS / f"{stem}.ipynb").read_text(encoding="utf-8"))


def student_edition():
    """The lessons as `aiayn-np lessons` writes them: to be downloaded, one by one or all."""
    from aiayn_course.cli.lessons import lesson_files

    for language, place in PLACES.items():
        files, packed = lesson_files(language=language), io.BytesIO()
        for stem, _ in lesson_pages().values():
            write(f"downloads/student/{place}{stem}.ipynb", files[f"{stem}.ipynb"])
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, content in files.items():                       # a time that stays the same
                archive.writestr(zipfile.ZipInfo(f"aiayn_np_students/{name}"), content)
        write(f"downloads/{place}student_edition.zip", packed.getvalue())


def lessons():
    """A page for each lesson, and their list; both in each language."""
    from aiayn_course.exercises import editions

    for language, place in PLACES.items():
        folder, back = NOTEBOOKS / place, "../" * bool(place)
        for number, (stem, _) in lesson_pages().items():
            ours = notebook(stem, language)
            write(f"downloads/{place}{stem}.ipynb", json.dumps(ours, ensure_ascii=False))
            theirs = editions.student_edition(ours, number, language)
            links = downloads(stem, language)
            write(f"{place}{stem}.ipynb", json.dumps(lesson_page(ours, theirs, links, language)))
        text = relinked((folder / "README.md").read_text(encoding="utf-8"), folder, back)
        heading, says, file, stop = SAYS[language]["all"]
        zipped = (f"## {heading}\n\n{says} {{download}}`{file}"
                  f" </{OUT.name}/downloads/{place}student_edition.zip>`{stop}")
        pages = toctree(stem for stem, _ in lesson_pages().values())
        write(f"{place}lessons.md", "\n\n".join([text, zipped, pages]))


def lesson_page(ours, theirs, links, language="en"):
    """The student edition with outputs again: what answers a prediction is shown by a click."""
    from aiayn_course.exercises.editions import asks

    place = PLACES[language]
    page, asked = dict(theirs, cells=[]), False
    outputs = {cell["id"]: cell["outputs"] for cell in ours["cells"] if "outputs" in cell}
    for cell in theirs["cells"]:
        if "find_spec(" in "".join(cell["source"]):                    # it installs the package
            continue
        if cell["cell_type"] == "code":
            tags = ["hide-output"] * bool(asked and outputs[cell["id"]])
            cell = cell | dict(outputs=outputs[cell["id"]], metadata=dict(tags=tags))
        else:
            source = "".join(cell["source"])
            asked = asks(source, language)
            turned = relinked(source, NOTEBOOKS / place, "../" * bool(place))
            cell = cell | dict(source=turned + frames(source, "../" * bool(place)))
        page["cells"].append(cell)
    page["cells"].insert(1, dict(cell_type="markdown", id="downloads", metadata={}, source=links))
    if prompts := SAYS[language].get("prompts"):                       # English stands in conf.py
        show, hide = prompts
        page["metadata"] = page["metadata"] | dict(
            mystnb=dict(code_prompt_show=show, code_prompt_hide=hide))
    return page


def frames(source, back):
    """The live pages that a cell of a lesson links to: each is loaded when it is opened."""
    parts = []
    for label, page in LIVE_LINK.findall(source):
        if (DOCS / "live" / page.partition("#")[0]).is_file():
            said = label.replace("`", "")
            frame = f'<iframe title="{said}" data-src="{back}../live/{page}"></iframe>'
            parts.append(f'\n\n<details class="live"><summary>{said}</summary>{frame}</details>')
    return "".join(parts)


def downloads(stem, language="en"):
    """The line of a lesson that leads to its two editions, and to its slides if they were made."""
    place, (this, student, teacher, slides) = PLACES[language], SAYS[language]["lesson"]
    parts = [f"{{download}}`{student} </{OUT.name}/downloads/student/{place}{stem}.ipynb>`",
             f"{{download}}`{teacher} </{OUT.name}/downloads/{place}{stem}.ipynb>`"]
    if (OUT / "extra" / "slides" / place / f"{stem}.html").is_file():
        parts.append(f'<a href="../{"../" * bool(place)}slides/{place}{stem}.html">{slides}</a>')
    return this + " · ".join(parts)


def exercises():
    """A page for each exercise as students get it, the hunt for bugs, and their list."""
    hunt = NOTEBOOKS / "exercises" / "find_the_bug.ipynb"
    for language, place in PLACES.items():
        names, (readme, this) = [], SAYS[language]["exercises"]
        paths = sorted(NOTEBOOKS.glob(f"exercises/student/{place}*.ipynb"))
        for path in paths if place else [*paths, hunt]:
            page = json.loads(path.read_text(encoding="utf-8"))
            for cell in page["cells"]:
                if cell["cell_type"] == "markdown":
                    cell["source"] = relinked("".join(cell["source"]), path.parent,
                                              "../" * (1 + bool(place)))
            line = f"{{download}}`{this} </../{path.relative_to(ROOT).as_posix()}>`"
            page["cells"].insert(1, dict(cell_type="markdown", id="downloads", metadata={},
                                         source=line))
            write(f"{place}exercises/{path.name}", json.dumps(page))
            names.append(f"exercises/{path.stem}")
        text = (NOTEBOOKS / "exercises" / readme).read_text(encoding="utf-8")
        text = relinked(text, Path("notebooks/exercises"), "../" * bool(place))
        write(f"{place}exercises.md", text + "\n" + toctree(names))


def toctree(names, *options):
    return "\n".join(["```{toctree}", ":maxdepth: 1", *options, "", *names, "```", ""])


# ---- pages of the repository -----------------------------------------------------------------


def relinked(text, folder, back=""):
    """A page with its links turned to the site's pages; other files become plain text.

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
        if where.parent == DOCS / "live":
            return live_link(label, where, target.removeprefix(path), back)
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


def live_link(label, where, address, back):
    """A link to a place in a live page, or to how it is made if that was not done.

    A link in HTML, since Sphinx would look for a document.
    """
    told = "../zh/live-pages.html" if "lang=zh" in address else "live-pages.html"
    page = f"../live/{where.name}{address}" if where.is_file() else told
    return f'<a href="{back}{page}">{label}</a>'


def page_of(where, name):
    """The page of the site that shows a file of the repository, or None."""
    if name.startswith("notebooks/exercises/") and where.suffix == ".ipynb":
        return f"{'zh/' * (where.parent.name == 'zh')}exercises/{where.name}"
    if re.fullmatch(r"zh/\d\d_\w+\.md", name.removeprefix("notebooks/")):  # of a lesson
        return where.relative_to(NOTEBOOKS).with_suffix(".ipynb").as_posix()
    if where.suffix == ".ipynb":
        return where.relative_to(NOTEBOOKS).as_posix()
    if name == "docs/index.md" or name.startswith(("docs/paper/", "docs/zh/")):
        return f"../{name.removeprefix('docs/')}"                      # Sphinx reads it as it is
    return (PAGES | LISTS | CODE).get(name)


def table_rows(path, heading):
    """The rows of the first table under a heading of a page, as lists of cells without links."""
    lines = path.read_text(encoding="utf-8").split(heading)[1].splitlines()
    first = next(i for i, line in enumerate(lines) if line.startswith("|---"))
    rows = []
    for line in lines[first + 1:]:
        if not line.startswith("|"):
            break
        words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", line)
        rows.append([cell.strip() for cell in re.split(r"(?<!\\)\|", words)[1:-1]])
    return rows


def tests():
    """The files of tests to which the reference and the pages of the paper lead, as they are."""
    rows = table_rows(ROOT / "tests" / "README.md", "## From the paper to its tests")
    names = {name for row in rows for name in re.findall(r"test_\w+\.py", row[4])}
    for name in names | set(map(examples.tests_of, examples.dotted())):
        (path,) = (ROOT / "tests").rglob(name)
        where = path.relative_to(ROOT).as_posix()
        write(f"tests/{path.stem}.md", f"---\norphan: true\n---\n# {where}\n\n"
              f"```{{literalinclude}} /../{where}\n```\n")


# ---- the zoo ---------------------------------------------------------------------------------


def zoo():
    """All bugs in a table, then a section for each: what is wrong, and the lines side by side."""
    from aiayn_course.lab.zoo import BUGS

    trained = {row[0]: row for row in table_rows(ROOT / "tests/course/zoo/zoo_training.md",
                                                   "# Does")}
    rows, sections = [], []
    for number, bug in BUGS.items():
        row = trained.get(str(number))                  # later parts are not in that model
        learns = row[4].split(":")[0] if row else ""
        caught = bug.caught_by
        rows.append(f"| [{number} · {bug.name}](#bug-{number}) | {caught} | {learns} |")
        wrong = [inspect.cleandoc(inspect.getsource(f)) for f in bug.methods.values()]
        right = [inspect.cleandoc(inspect.getsource(vars(bug.layer)[n])) for n in bug.methods]
        sections.append(
            f"(bug-{number})=\n## {number} · {bug.name}\n\n{bug.what}\n\n"
            f"```text\n{bug.formula}\n```\n\n"
            f"Where: `{bug.where}`. Seen in: {bug.seen}. Caught by: *{caught}*."
            + (f" Trained with it, the model {sentence(row)}" if row else "") + "\n\n"
            + beside("\n\n".join(wrong), "\n\n".join(right)))
    solved = sum(row[4] == "still solves it" for n, row in trained.items() if n != "none")
    named = sum(bug.seen != "common" for bug in BUGS.values())
    head = (f"# The bug zoo\n\n{len(BUGS)} bugs, {named} of them found in named public"
            " implementations. `aiayn-np zoo`"
            f" plants them one by one and shows what catches them. With {solved} of the first"
            f" {len(trained) - 1} the copy task is still solved ([how that is measured]"
            "(zoo_training.md)), so that a model trains is no evidence that it is right."
            "\n\n| bug | caught by | trained with it |\n|---|---|---|\n")
    return head + "\n".join(rows) + "\n\n" + "\n".join(sections)


def sentence(row):
    """What a model learns with a bug, from its row of the table."""
    _, _, tokens, sequences, verdict = row
    if "Error" in verdict:
        return f"predicts {tokens} of the tokens, and decoding stops with an error."
    return f"{verdict}: {tokens} of the tokens, {sequences} of the sequences."


def beside(wrong, right):
    """Two blocks of Python beside each other, with the lines marked in which they differ."""
    a, b = wrong.splitlines(), right.splitlines()
    changed = [(set(), "Wrong", wrong), (set(), "Right", right)]
    for tag, i, j, k, m in difflib.SequenceMatcher(None, a, b, autojunk=False).get_opcodes():
        if tag != "equal":
            changed[0][0].update(range(i + 1, j + 1))
            changed[1][0].update(range(k + 1, m + 1))
    parts = []
    for lines, caption, source in changed:
        marked = f":emphasize-lines: {','.join(map(str, sorted(lines)))}\n" * bool(lines)
        parts.append(f"```{{code-block}} python\n:caption: {caption}\n{marked}\n{source}\n```")
    return "::::{container} pair\n" + "\n\n".join(parts) + "\n::::\n"


# ---- the reference ---------------------------------------------------------------------------


def api():
    """A page for each room of the package, and the list of all public names."""
    parts = ["# Reference", "Every public name. `from aiayn_np import …` gives those of the first"
             " six rooms. Symbols lead to [their table](../symbols.md). The examples ran when this"
             " page was built, and those that open a file of `tests` need the repository's folder."]
    for room, things in examples.rooms().items():
        title, _ = ROOMS[room]
        write(f"api/{room}.rst", "\n".join([title, "=" * len(title), "",
                                            *(directive(*thing) for thing in things.items())]))
        rows = [f"| {{py:obj}}`~{full}` | {said} |" for full in things
                for said in [examples.sentence_of(full.rsplit(".", 1)[1]).replace("|", r"\|")]]
        parts += [f"## [{title}]({room}.rst)",
                  "\n".join(["| name | what it is or does |", "|---|---|", *rows])]
    write("api/index.md", "\n\n".join([*parts, toctree(ROOMS, ":hidden:")]))


def figures():
    """The figures that examples draw."""
    for name in examples.dotted():
        with contextlib.suppress(ImportError):
            for _, shown in examples.example(name)[0]:
                if not isinstance(shown, str):
                    shown.savefig(picture := io.BytesIO(), dpi=80, metadata={"Software": None})
                    write(f"api/{name}.png", picture.getvalue())


def directive(name, thing):
    """What tells Sphinx to document a class with its methods, or a function."""
    if not inspect.isclass(thing):
        return f".. autofunction:: {name}\n"
    layer = "\n   :undoc-members:\n   :exclude-members: formula, position_wise, stack_norm"
    return (f".. autoclass:: {name}\n   :members:\n   :member-order: bysource"
            + layer * issubclass(thing, Module) + "\n")
