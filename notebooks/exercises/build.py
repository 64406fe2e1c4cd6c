"""Make what students get from the sources: source/NN_name.py becomes student/NN_name.py and .ipynb.

    pip install -e '.[notebooks]'
    python notebooks/exercises/build.py              all of them
    python notebooks/exercises/build.py 01 03        some
    python notebooks/exercises/build.py --zh         the Chinese ones, into student/zh

A source is a script in the "percent" format of jupytext, and the Chinese text of it is Markdown
(`notebooks/chinese.py` says in which form). The solution of an exercise stands between the lines
`### solution: what is missing` and `### end`. A student's file has an error there that says so, and
gets the two cells of head.py in front: what the exercise is, from
`aiayn_course.exercises.EXERCISES`, and a line that fails where the package is missing, and says what
to do then. Its notebook has not been run.
"""

import argparse
import re
import sys
from pathlib import Path
from string import Template

from aiayn_course.exercises import EXERCISES
from aiayn_course.exercises.exercise import SUBJECTS
from aiayn_course.exercises.language import say, speaking

FOLDER = Path(__file__).parent
sys.path.append(str(FOLDER.parent))
import chinese
from cells import nbformat, notebook_of, repository

SOURCES = sorted((FOLDER / "source").glob("[0-9][0-9]_*.py"))
CHINESE = sorted((FOLDER / "source" / "zh").glob("[0-9f]*.md"))  # and find_the_bug
HEAD = FOLDER / "head.py", FOLDER / "source" / "zh" / "head.md"
SOLUTION = re.compile(r"^( *)### solution: ([^\n]+)\n(.*?)^ *### end\n", re.MULTILINE | re.DOTALL)
SPEAK = """\

import os

os.environ.setdefault("AIAYN_LANG", "zh")  # 检验报告用中文

"""


def without_solution(text, says="not written yet: "):
    """The source with an error in the place of every solution."""
    return SOLUTION.sub(rf'\1raise NotImplementedError("{says}\2")' + "\n", text)


def exercise_of(source):
    """The Exercise that a source belongs to, by its number."""
    return next(e for e in EXERCISES.values() if e.number == int(source.name[:2]))


def english_of(source):
    """The English source of a Chinese one."""
    folder = FOLDER / "source" if source.name[0].isdigit() else FOLDER
    return folder / source.with_suffix(".py").name


def text_of(source):
    """A source as a script, in its language."""
    text = source.read_text(encoding="utf-8")
    if source.suffix == ".py":
        return text
    return chinese.translated(english_of(source).read_text(encoding="utf-8"), text)


def student_text(source):
    """The script that a student gets, in the language of the source."""
    text, in_chinese = text_of(source), source in CHINESE
    if not source.name[0].isdigit():                                   # the hunt for bugs
        return text
    stub = without_solution(text, "尚未编写：" if in_chinese else "not written yet: ")
    return head_of(exercise_of(source), in_chinese) + SPEAK * in_chinese + stub


def head_of(e, in_chinese):
    """What stands before an exercise: what it is, and a line that needs the package."""
    facts = {name: getattr(e, name) for name in ("number", "section", "lesson", "minutes")}
    with speaking("zh" if in_chinese else "en"):
        facts |= dict(title=say(e.title), asks=say(e.asks))
    if in_chinese:
        facts |= {name: in_words(facts[name]) for name in ("section", "lesson")}
    facts["objects"] = ("、" if in_chinese else ", ").join(f"`{name}`" for name in e.objects)
    is_layer = any(SUBJECTS[name].kind == "layer" for name in e.objects)
    address = repository()
    facts["install"] = f"%pip install git+{address}" if address else (
        "课程的 README.md 说明怎样安装" if in_chinese else "README.md of the lessons says how to install it")
    lines = text_of(HEAD[in_chinese]).splitlines()
    kept = "\n".join(line for line in lines if is_layer or "$layer" not in line)
    return Template(kept).substitute(facts, layer="") + "\n\n"       # a line of layers alone


def in_words(places):
    """Sections and lessons in Chinese.

    >>> in_words("3.2.1, Eq. 1, Fig. 2 left"), in_words("4")
    ('第 3.2.1 节、公式 1、图 2 左', '第 4 课')
    """
    changes = {r"^(\d+)$": r"第 \1 课", r"^([\d.]+)$": r"第 \1 节", r"Eq\. ": "公式 ",
               r"Fig\. ": "图 ", "left": "左", "right": "右"}
    parts = places.split(", ")
    for old, new in changes.items():
        parts = [re.sub(old, new, part) for part in parts]
    return "、".join(parts)


def student_notebook(source):
    """The notebook of that script, as text."""
    return nbformat.writes(notebook_of(student_text(source))) + "\n"


def student_files(source):
    """{path: text} of what is made from a source."""
    target = FOLDER / "student" / ("zh" if source in CHINESE else "") / source.stem
    return {target.with_suffix(".py"): student_text(source),
            target.with_suffix(".ipynb"): student_notebook(source)}


def main(chosen, in_chinese=False):
    sources = [s for s in (CHINESE if in_chinese else SOURCES)
               if not chosen or s.name[:2] in chosen]
    for source in sources:
        for path, text in student_files(source).items():
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8", newline="\n")
            print(path.relative_to(FOLDER))
    return 0 if sources else "no exercise of that number"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("number", nargs="*", help="such as 01; none: all")
    parser.add_argument("--zh", action="store_true", help="the Chinese ones")
    arguments = parser.parse_args()
    sys.exit(main(arguments.number, arguments.zh))
