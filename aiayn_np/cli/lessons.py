"""The commands `lessons`, `exercises` and `docs`: what comes with the package besides the code.

In the repository it has its place in `notebooks/`, `figures/` and `docs/`. A wheel holds it in
`aiayn_np/_data`: setup.py copies it there.
"""

import importlib.util
import json
import posixpath
import re
import runpy
import webbrowser
import zipfile
from pathlib import Path

from ..text.extra import install_command
from .common import UsageError, new_path, note, unused

PACKAGE = Path(__file__).parents[1]
REPOSITORY, DATA = PACKAGE.parent, PACKAGE / "_data"
PAGES = REPOSITORY / "build" / "pages"  # made where there is no _data
LESSON = re.compile(r"\d\d_\w+\.ipynb")
CHINESE_SOURCE = re.compile(r"zh/(\d\d_\w+|find_the_bug)\.md$")
LINK = re.compile(r"(?<!!)\[([^\[\]]*)\]\(([^()\s]+\.(?:md|py|ipynb|html))(?:#[^()\s]*)?\)")
FIGURES = "../figures"  # where a lesson looks for what whole experiments found


def add_lessons_options(parser):
    """The options of `lessons` and of `exercises`."""
    parser.add_argument("folder", type=new_path, help="folder to write, one that is not there yet")
    parser.add_argument("--zh", action="store_true", help="in Chinese, 中文")
    parser.add_argument("--teacher", action="store_true",
                        help="with outputs and solutions, and what they are made by")


def add_docs_options(parser):
    """The options of `docs`."""
    parser.add_argument("page", nargs="?", default="readme",
                        help="such as architecture or commands (default: readme)")
    parser.add_argument("--print", action="store_true", dest="only_print",
                        help="only print where the page is, and open no browser")


def lessons_command(args):
    """Write the lessons and their exercises into a new folder, ready to open."""
    return write_out(lesson_files(args.teacher, "zh" if args.zh else "en"), args.folder)


def exercises_command(args):
    """Write the exercises into a new folder, ready to open."""
    found = notebooks_in("zh" if args.zh else "en")
    files = below("exercises/", found) if args.teacher else student_exercises(found)
    return write_out(self_contained(files), args.folder)


def lesson_files(teacher: bool = False, language: str = "en") -> dict[str, bytes]:
    """{path: bytes} of the lessons, their exercises and the results that they read."""
    found = notebooks_in(language)
    figures = {f"figures/{path.name}": path.read_bytes()
               for path in sorted(shipped("figures").glob("*.json"))}
    return self_contained((found if teacher else student_lessons(found, language)) | figures)


def shipped(name):
    """A folder that comes with the package; UsageError where neither a wheel nor a copy of the
    repository has it."""
    for folder in (DATA / name, REPOSITORY / name):
        if folder.is_dir():
            return folder
    raise UsageError(f"{name} did not come with this copy of the package: install its wheel")


def notebooks():
    """{path: bytes} of the folder `notebooks`, which in a wheel is one archive."""
    archive = DATA / "notebooks.zip"
    if archive.is_file():
        with zipfile.ZipFile(archive) as file:
            return {name: file.read(name) for name in file.namelist()}
    folder = shipped("notebooks")
    paths = {path.relative_to(folder): path for path in sorted(folder.rglob("*.*"))}
    return {name.as_posix(): path.read_bytes() for name, path in paths.items() if path.is_file()
            and not any(part.startswith((".", "__")) for part in name.parts)}


def notebooks_in(language):
    """The files of the folder `notebooks` in a language, each in the place of the English one.

    A Chinese notebook shows the outputs of the English one: its code is the same. What it is made
    from is the English script; the Chinese text by itself stays in the repository.
    """
    files = notebooks()
    chinese = {path: content for path, content in files.items() if "zh" in re.split("[/.]", path)}
    english = {path: content for path, content in files.items() if path not in chinese}
    if language == "en":
        return english
    for path, content in chinese.items():
        if CHINESE_SOURCE.search(path):
            continue
        name = path.replace("zh/", "").replace(".zh.md", ".md")
        if LESSON.fullmatch(name):
            content = with_outputs(json.loads(content), json.loads(english[name]))
        if path.startswith("zh/"):                                     # one folder deeper
            content = content.replace(b"](../", b"](")
        english[name] = content.replace(b".zh.md", b".md")
    return english


def with_outputs(notebook, same):
    """The bytes of a notebook with the outputs of one that has the same code."""
    for cell, other in zip(notebook["cells"], same["cells"]):
        if cell["cell_type"] == "code":
            cell["outputs"] = other["outputs"]
    return as_json(notebook)


def student_lessons(files, language="en"):
    """What a student gets of the folder `notebooks`: lessons without outputs, no solutions."""
    from ..exercises.editions import student_edition

    lessons = {name: as_json(student_edition(json.loads(content), int(name[:2]), language))
               for name, content in files.items() if LESSON.fullmatch(name)}
    exercises = {f"exercises/{name}": content for name, content in student_exercises(files).items()}
    return {"README.md": files["README.md"]} | lessons | exercises


def student_exercises(files):
    """What a student gets of the folder `notebooks/exercises`."""
    page = files["exercises/README.md"].replace(b"](student/", b"](")
    bugs = {name: files[f"exercises/{name}"] for name in ("find_the_bug.ipynb", "find_the_bug.py")}
    return {"README.md": page} | bugs | below("exercises/student/", files)


def below(folder, files):
    """The files of a folder, by their path in it."""
    return {name.removeprefix(folder): content for name, content in files.items()
            if name.startswith(folder)}


def as_json(notebook):
    """A notebook as the bytes of its file."""
    return (json.dumps(notebook, indent=1, ensure_ascii=False) + "\n").encode()


def self_contained(files):
    """The files with nothing that leads out of their folder: results of experiments lie in it, and
    a link to a file that is not there becomes plain text."""
    made = {}
    for name, content in files.items():
        text = content.decode()
        if LESSON.fullmatch(name.replace(".py", ".ipynb")):
            text = text.replace(FIGURES, "figures")
        made[name] = without_dead_links(text, posixpath.dirname(name), files).encode()
    return made


def without_dead_links(text, folder, files):
    """The text of a file in `folder`, whose links to what is not among the files are plain text."""
    def link(match):
        label, target = match.groups()
        there = posixpath.normpath(posixpath.join(folder, target)) in files
        return match[0] if there or "//" in target else label

    return LINK.sub(link, text)


def write_out(files, path):
    """Write the files into a new folder, and say how they are opened."""
    with unused(path) as folder:
        for name, content in files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(content)
    print(path)
    if importlib.util.find_spec("jupyter_core") is None:
        note("note: Jupyter, which opens notebooks, is not installed:"
             f" {install_command('notebooks')}")
    return 0


def docs_command(args):
    """Open a page of the documentation in a browser, and print where it is."""
    folder = pages()
    known = {path.stem.lower(): path for path in (folder / "README.html",
                                                  *sorted(folder.glob("docs/*.html")))}
    if args.page.lower() not in known:
        raise UsageError(f"unknown page {args.page!r}: choose from {', '.join(known)}")
    path = known[args.page.lower()]
    print(path)
    if not args.only_print and not webbrowser.open(path.as_uri()):
        note("note: no browser was found: open the page by its path")
    return 0


def pages():
    """The folder of the pages; in a copy of the repository they are made anew from their Markdown.
    """
    if (DATA / "pages").is_dir():
        return DATA / "pages"
    from ..text.extra import extra

    maker = shipped("docs") / "shipped_pages.py"
    extra("markdown_it", of="docs")
    extra("mdit_py_plugins", of="docs")
    runpy.run_path(str(maker))["make_pages"](PAGES, PACKAGE)
    return PAGES
