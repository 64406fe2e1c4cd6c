"""The commands `lessons` and `exercises` copy the lessons out of the package.

The repository keeps the lessons in `notebooks/` and `figures/`. A wheel keeps a copy in
`aiayn_course/_data`, which setup.py makes.
"""

import contextlib
import functools
import importlib.util
import json
import posixpath
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from aiayn_np import __version__
from aiayn_np.cli.common import UsageError, command_line, note, printable
from aiayn_np.cli.writing import new_path
from aiayn_np.files import new_folder
from aiayn_np.text.extra import install_command

from .pages import MINUTES, PAGES, make_pages

WHEEL = f"aiayn_np-{__version__}-py3-none-any.whl"
BUILD = "pip", "wheel", "--no-deps", "--wheel-dir"
PACKAGE = Path(__file__).parents[1]
REPOSITORY, DATA = PACKAGE.parent, PACKAGE / "_data"
LESSON, A_LESSON = re.compile(r"\d\d_\w+\.ipynb"), re.compile(r"notebooks/(?:zh/)?(\d\d)_")
SOURCE = re.compile(r"zh/(\d\d_\w+|find_the_bug)\.md|exercises/source/zh/.*")
LINK = re.compile(r"(?<!!)\[([^\[\]]*)\]\(([^()\s#]+\.(?:md|py|ipynb|html))(#[^()\s]*)?\)"
                  r"(?:<!-- else:(.*?) -->)?")
CUT = r"<!-- (?:{}) -->.*?<!-- end -->"         # marked text that a copy leaves out
LEFT = re.compile(r"<!-- (?:teachers only|end) -->")
REPOSITORY_ONLY, NOT_FOR_STUDENTS = "repository only", "repository only|teachers only"
ABOUT = {  # further files of a copy
    "en": ["LICENSE", "docs/symbols.md", "docs/questions.md"],
    "zh": ["LICENSE", "docs/zh/symbols.md", "docs/zh/questions.md", "docs/zh/glossary.md"],
}
STUDENTS = re.compile(r"(\d\d_\w+\.ipynb|README\.md|PROJECT\.md|exercises/(README\.md|find_the_bug"
                      r"\.\w+|student/.+))")


def add_lessons_options(parser):
    """Add the options of `lessons`."""
    add_exercises_options(parser)
    parser.add_argument("--pages", action="store_true",
                        help="train three small models and make the pages that lessons open, in at"
                             f" most {MINUTES} minutes on two cores; needs the extra `text`")


def add_exercises_options(parser):
    """Add the options that `lessons` and `exercises` share."""
    parser.add_argument("folder", type=new_path, help="folder to write, new or empty")
    parser.add_argument("--zh", action="store_true",
                        help="in Chinese, 中文; the default where AIAYN_LANG or the locale is zh")
    parser.add_argument("--teacher", action="store_true",
                        help="with outputs and solutions, and what they are made by")


def lessons_command(args):
    """Write the lessons and their exercises into a new folder, ready to open."""
    from ..exercises.language import say, speaking, spoken

    with speaking("zh" if args.zh else None):
        write_out(lesson_files(args.teacher, spoken(), args.pages), args.folder, args.pages)
        if not args.teacher and not built_wheel(args.folder):
            package = WHEEL if DATA.is_dir() else command_line(*BUILD, args.folder, REPOSITORY)
            note(say("for students, put the package there too: {package}", package=package))
    return 0


def built_wheel(folder):
    """Build the wheel of a copy of the repository into a folder; tell whether it is there."""
    if not DATA.is_dir():                                              # pip needs a network
        subprocess.run([sys.executable, "-m", *BUILD, folder, REPOSITORY], capture_output=True)
    return (folder / WHEEL).exists()


def exercises_command(args):
    """Write the exercises into a new folder, ready to open."""
    from ..exercises.language import speaking, spoken

    with speaking("zh" if args.zh else None):
        places = {path: place.removeprefix("exercises/")
                  for path, place in places_of(args.teacher, spoken()).items()
                  if place.startswith("exercises/")}
        write_out(copied(places, args.teacher, spoken()), args.folder)
    return 0


def lesson_files(teacher: bool = False, language: str = "en",
                 pages: bool = False) -> dict[str, bytes]:
    """Return {path: bytes} of the lessons, their exercises and the results that they read.

    pages : whether the copy will have a folder `live` with the pages that run a model
    """
    places = places_of(teacher, language)
    places |= {path: posixpath.basename(path) for path in ABOUT[language]}
    places |= {name: name for path in sorted(shipped("figures").glob("*.json"))
               for name in [f"figures/{path.name}"]}
    live = {f"docs/live/{name}.html": f"live/{name}.html" for name in PAGES} if pages else {}
    return copied(places, teacher, language, live)


def shipped(name):
    """Return a folder that belongs to the package, from a wheel or from a copy of the repository.

    Raises UsageError if the folder is missing.
    """
    for folder in (DATA / name, REPOSITORY / name):
        if folder.is_dir():
            return folder
    raise UsageError(f"{name} did not come with this copy of the package: install its wheel")


def places_of(teacher, language):
    """Return {path in the repository: path in a copy} for the copied files of `notebooks`.

    A Chinese file replaces the English one.
    """
    folder, taken = shipped("notebooks"), {}
    paths = [path.relative_to(folder).as_posix() for path in sorted(folder.rglob("*.*"))
             if path.is_file()]
    paths += [f"zh/{path}" for path in paths if LESSON.fullmatch(path)]      # they can be made
    for path in sorted(set(paths), key=is_chinese):
        hidden = any(part.startswith((".", "__")) for part in path.split("/"))
        if hidden or (is_chinese(path) and language == "en") or SOURCE.fullmatch(path):
            continue
        place = path.replace("zh/", "").replace(".zh.", ".")
        if teacher or STUDENTS.fullmatch(place):
            taken[place if teacher else place.replace("student/", "")] = f"notebooks/{path}"
    return {path: place for place, path in taken.items()}


def is_chinese(path):
    """Tell whether a file of the folder `notebooks` is Chinese."""
    return "zh" in re.split("[/.]", path)


def copied(places, teacher, language, live=()):
    """Return {path in a copy: bytes}; links in these files lead only to files of the copy.

    places : {path in the repository: path in the copy}; the files of `live` will be made
    """
    files, reach, root = {}, places | dict(live), shipped("notebooks").parent
    reach |= {re.sub(r"ipynb$", "md", path): place for path, place in places.items()
              if path.startswith("notebooks/zh/")}                     # links lead to its text
    builds = any(path.startswith("notebooks/zh/") for path in places)
    with tempfile.TemporaryDirectory() if builds else contextlib.nullcontext("") as made:
        for path, place in places.items():
            chinese = re.fullmatch(r"notebooks/zh/(.*\.ipynb|README\.md)", path)
            folder = chinese_lessons(made) if chinese else (root / path).parent
            content = (folder / posixpath.basename(path)).read_bytes()
            turn = functools.partial(edition, path=path, place=place, reach=reach, teacher=teacher)
            files[place] = of_a_notebook(content, path, turn, teacher, language) if (
                place.endswith(".ipynb")) else turn(content.decode()).encode()
    return files


def chinese_lessons(folder):
    """Return the folder of the Chinese notebooks and their page. A wheel contains them.

    A copy of the repository has only their text, and makes them once in `folder`.
    """
    if DATA.is_dir():
        return DATA / "notebooks" / "zh"
    if not any(Path(folder).iterdir()):
        program = REPOSITORY / "notebooks" / "chinese.py"
        subprocess.run([sys.executable, "-B", str(program), folder], check=True)
    return Path(folder)


def of_a_notebook(content, path, turn, teacher, language):
    """Return the bytes of a notebook with edited texts; students get the student edition."""
    from ..exercises.editions import student_edition

    notebook = json.loads(content)
    if (lesson := A_LESSON.match(path)) and not teacher:
        notebook = student_edition(notebook, int(lesson[1]), language)
    for cell in notebook["cells"]:
        if cell["id"] != "exercises":                                  # made for the copy
            cell["source"] = turn("".join(cell["source"])).splitlines(keepends=True)
    return (json.dumps(notebook, indent=1, ensure_ascii=False) + "\n").encode()


def edition(text, path, place, reach, teacher):
    """Return the text of a file for a copy: marked parts are cut, and links do not leave the copy.

    path, place : the paths of the file, in the repository and in the copy
    reach : {path in the repository: path in the copy} of all files that links may lead to
    """
    def link(match):
        label, target, anchor, otherwise = match.groups(default="")
        there = reach.get(posixpath.normpath(posixpath.join(posixpath.dirname(path), target)))
        if "//" in target or there is None:
            return match[0] if "//" in target else label + otherwise
        label = label.replace(posixpath.basename(target), posixpath.basename(there))
        return f"[{label}]({posixpath.relpath(there, posixpath.dirname(place) or '.')}{anchor})"

    cut = CUT.format(REPOSITORY_ONLY if teacher else NOT_FOR_STUDENTS)
    text = LEFT.sub("", LINK.sub(link, re.sub(cut, "", text, flags=re.DOTALL)))
    return text.replace("../figures", "figures") if A_LESSON.match(path) else text


def write_out(files, path, pages=False):
    """Write the files into a new folder, and the pages if wanted; print how to open them."""
    from ..exercises.language import say

    with new_folder(path) as folder:                                   # empty while models train
        if pages:
            make_pages(folder / "live")
        for name, content in files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(content)
    print(printable(path))
    note(say("begin with {page}; the notebooks open with: jupyter lab {folder}",
             page=path / "README.md", folder=command_line(path)))
    if importlib.util.find_spec("jupyter_core") is None:
        note(say("note: Jupyter, which opens notebooks, is not installed: {command}",
                 command=install_command("notebooks")))
