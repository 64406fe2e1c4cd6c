"""The commands `lessons` and `exercises`: what comes with the package besides the code.

In the repository it has its place in `notebooks/` and `figures/`. A wheel holds it in
`aiayn_np/_data`: setup.py copies it there.
"""

import importlib.util
import json
import posixpath
import re
import shlex
import tempfile
from pathlib import Path

from aiayn_np import __version__
from aiayn_np.cli.common import UsageError, note
from aiayn_np.cli.writing import new_path
from aiayn_np.files import new_folder
from aiayn_np.text.extra import install_command

from .pages import MINUTES, PAGES, make_pages

PACKAGE = Path(__file__).parents[1]
REPOSITORY, DATA = PACKAGE.parent, PACKAGE / "_data"
LESSON = re.compile(r"\d\d_\w+\.ipynb")
CHINESE_SOURCE = re.compile(r"zh/(\d\d_\w+|find_the_bug)\.md$")
LINK = re.compile(r"(?<!!)\[([^\[\]]*)\]\(([^()\s]+\.(?:md|py|ipynb|html))(?:#[^()\s]*)?\)")
BEHIND = "How they are made|怎样生成|For teachers|给教师"  # headings of what students do not get
FIGURES = "../figures"  # where a lesson looks for what whole experiments found
LIVE = re.compile(r"(\.\./)+docs/live/")  # where a lesson looks for pages that run a model
ABOUT = {"en": ["symbols.md"], "zh": ["symbols.md", "questions.md", "glossary.md"]}  # of docs
LEADS_THERE = re.compile(r"\]\((?:\.\./)+(?:docs/(?:zh/)?(?=(?:symbols|questions|glossary)\.md)|"
                         r"notebooks/(?:zh/)?(?=\d\d_))")  # what lies in the same folder
OPENS = re.compile(r"\[([^\[\]]*)\]\((?:\.\./)+docs/live/[^()\s]*\)")
MAKE = re.compile(r" ?(?:If the page is not there yet, |如果还没有这个页面，)?"
                  r"`python docs/make_live_pages.py`[^.。]*[.。]")
WITH_PAGES = {  # what stands behind the name of a page that is not made
    "en": r"\1 (README.md says how to get this page)",
    "zh": r"\1（怎样得到这个页面，见 README.md）",
}

BESIDE = {  # what a lecturer does, so that students can install the package
    "en": "for students, put the package there too: {}",
    "zh": "发给学生之前，把包也放进去：{}",
}
OPEN = {
    "en": "begin with {}; the notebooks open with: jupyter lab {}",
    "zh": "请从 {} 开始；用 jupyter lab {} 打开各个 notebook",
}
NO_JUPYTER = {
    "en": "note: Jupyter, which opens notebooks, is not installed: {}",
    "zh": "注意：没有安装打开 notebook 用的 Jupyter：{}",
}


def add_lessons_options(parser):
    """Add the options of `lessons`."""
    add_exercises_options(parser)
    parser.add_argument("--pages", action="store_true",
                        help="train three small models and make the pages that lessons open, in at"
                             f" most {MINUTES} minutes on two cores; needs the extra `text`")


def add_exercises_options(parser):
    """Add the options that `lessons` and `exercises` share."""
    parser.add_argument("folder", type=new_path, help="folder to write, one that is not there yet")
    parser.add_argument("--zh", action="store_true",
                        help="in Chinese, 中文; the default where AIAYN_LANG or the locale is zh")
    parser.add_argument("--teacher", action="store_true",
                        help="with outputs and solutions, and what they are made by")


def lessons_command(args):
    """Write the lessons and their exercises into a new folder, ready to open."""
    language = language_of(args)
    written = write_out(lesson_files(args.teacher, language, args.pages), args.folder, language,
                        args.pages)
    if not args.teacher:
        wheel = shlex.join(["pip", "wheel", "--no-deps", "--wheel-dir", str(args.folder),
                            str(REPOSITORY)])
        copied = f"aiayn_np-{__version__}-py3-none-any.whl"
        note(BESIDE[language].format(copied if DATA.is_dir() else wheel))
    return written


def exercises_command(args):
    """Write the exercises into a new folder, ready to open."""
    found = notebooks_in(language_of(args))
    files = below("exercises/", found) if args.teacher else student_exercises(found)
    return write_out(self_contained(files), args.folder, language_of(args))


def language_of(args):
    """The language that was asked for, or that of the system."""
    from ..exercises.language import spoken

    return "zh" if args.zh else spoken()


def lesson_files(teacher: bool = False, language: str = "en",
                 pages: bool = False) -> dict[str, bytes]:
    """{path: bytes} of the lessons, their exercises and the results that they read.

    pages : whether the pages that run a model will lie beside them, in the folder live
    """
    found = notebooks_in(language)
    root = shipped("notebooks").parent
    docs = root / "docs" / ("zh" if language == "zh" else "")
    about = {name: (docs / name).read_bytes() for name in ABOUT[language]}
    about["LICENSE"] = (root / "LICENSE").read_bytes()
    figures = {f"figures/{path.name}": path.read_bytes()
               for path in sorted(shipped("figures").glob("*.json"))}
    there = [f"live/{name}.html" for name in PAGES] if pages else []
    lessons = found if teacher else student_lessons(found, language)
    return self_contained(lessons | about | figures, language, there)


def shipped(name):
    """A folder that comes with the package; UsageError where neither a wheel nor a copy of the
    repository has it."""
    for folder in (DATA / name, REPOSITORY / name):
        if folder.is_dir():
            return folder
    raise UsageError(f"{name} did not come with this copy of the package: install its wheel")


def notebooks():
    """{path: bytes} of the folder `notebooks`."""
    folder = shipped("notebooks")
    paths = {path.relative_to(folder): path for path in sorted(folder.rglob("*.*"))}
    return {name.as_posix(): path.read_bytes() for name, path in paths.items() if path.is_file()
            and not any(part.startswith((".", "__")) for part in name.parts)}


def notebooks_in(language):
    """The files of the folder `notebooks` in a language, each in the place of the English one.

    A Chinese notebook is made from the English script; its text alone stays in the repository.
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
        if path.startswith("zh/"):                                     # one folder deeper
            content = content.replace(b"](../", b"](").replace(b'"../..', b'"..')
        english[name] = content.replace(b".zh.md", b".md")
    return english


def student_lessons(files, language="en"):
    """What a student gets of the folder `notebooks`: lessons without outputs, no solutions."""
    from ..exercises.editions import student_edition

    lessons = {name: as_json(student_edition(json.loads(content), int(name[:2]), language))
               for name, content in files.items() if LESSON.fullmatch(name)}
    exercises = {f"exercises/{name}": content for name, content in student_exercises(files).items()}
    pages = {"README.md": cover(files["README.md"]), "PROJECT.md": files["PROJECT.md"]}
    return pages | lessons | exercises


def cover(page):
    """A page without its last sections, for which one needs a copy of the project."""
    return re.split(f"(?m)^## (?:{BEHIND})$", page.decode())[0].encode()


def student_exercises(files):
    """What a student gets of the folder `notebooks/exercises`."""
    page = re.sub(rb"\]\(student/(zh/)?", b"](", cover(files["exercises/README.md"]))
    bugs = {name: files[f"exercises/{name}"] for name in ("find_the_bug.ipynb", "find_the_bug.py")}
    return {"README.md": page} | bugs | below("exercises/student/", files)


def below(folder, files):
    """The files of a folder, by their path in it."""
    return {name.removeprefix(folder): content for name, content in files.items()
            if name.startswith(folder)}


def as_json(notebook):
    """A notebook as the bytes of its file."""
    return (json.dumps(notebook, indent=1, ensure_ascii=False) + "\n").encode()


def self_contained(files, language="en", others=()):
    """The files with nothing that leads out of their folder: results of experiments lie in it, and
    a link to what is neither among them nor among the `others` becomes plain text."""
    made, there = {}, {*files, *others}
    for name, content in files.items():
        text = LEADS_THERE.sub("](", content.decode())
        if LESSON.fullmatch(name.replace(".py", ".ipynb")):
            text = MAKE.sub("", text.replace(FIGURES, "figures"))
            text = LIVE.sub("live/", text if others else OPENS.sub(WITH_PAGES[language], text))
        made[name] = without_dead_links(text, posixpath.dirname(name), there).encode()
    return made


def without_dead_links(text, folder, files):
    """The text of a file in `folder`, whose links to what is not among the files are plain text."""
    def link(match):
        label, target = match.groups()
        there = posixpath.normpath(posixpath.join(folder, target)) in files
        return match[0] if there or "//" in target else label

    return LINK.sub(link, text)


def write_out(files, path, language, pages=False):
    """Write the files, and the pages if asked, into a new folder; say how they are opened."""
    with new_folder(path) as folder:                                   # empty while models train
        if pages:
            note(f"three models are trained for the pages: at most {MINUTES} minutes on two cores")
            with tempfile.TemporaryDirectory() as made:
                make_pages(Path(made) / "live")
                files = files | {f"live/{page.name}": page.read_bytes()
                                 for page in Path(made, "live").iterdir()}
        for name, content in files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(content)
    print(path)
    note(OPEN[language].format(path / "README.md", shlex.quote(str(path))))
    if importlib.util.find_spec("jupyter_core") is None:
        note(NO_JUPYTER[language].format(install_command("notebooks")))
    return 0
