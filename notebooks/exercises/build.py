"""Make what students get from the sources: source/NN_name.py becomes student/NN_name.py and .ipynb.

    pip install -e '.[notebooks]'
    python notebooks/exercises/build.py              all of them
    python notebooks/exercises/build.py 01 03        some
    python notebooks/exercises/build.py --zh         the Chinese ones, into student/zh

A source is a script in the "percent" format of jupytext, and the Chinese text of it is Markdown
(`notebooks/chinese.py` says in which form). The solution of an exercise stands between the lines
`### solution: what is missing` and `### end`. A student's file has an error there that says so, and
gets two cells in front: what the exercise is, from `aiayn_course.exercises.EXERCISES`, and the one that
installs the package on a hosted notebook service, as that of a lesson does. Its notebook has not been run.
"""

import argparse
import re
import sys
from pathlib import Path

from aiayn_course.exercises import EXERCISES
from aiayn_course.exercises.exercise import SUBJECTS
from aiayn_course.exercises.language import say, speaking

FOLDER = Path(__file__).parent
sys.path.append(str(FOLDER.parent))
import chinese
from needs import needed
from repository import with_address

jupytext, nbformat = needed("jupytext"), needed("nbformat")
SOURCES = sorted((FOLDER / "source").glob("[0-9][0-9]_*.py"))
CHINESE = sorted((FOLDER / "source" / "zh").glob("*.md"))  # and find_the_bug
SOLUTION = re.compile(r"^( *)### solution: ([^\n]+)\n(.*?)^ *### end\n", re.MULTILINE | re.DOTALL)
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
TITLE = """\
# %% [markdown]
# # Exercise {number} · {title}
#
# | | |
# |---|---|
# | **Write** | {objects} |
# | **You have to find** | {asks} |
# | **Paper** | Section {section} |
# | **Explained in** | Lesson {lesson} |
# | **Time** | {minutes} minutes |
{rules}
"""
CHINESE_TITLE = """\
# %% [markdown]
# # 练习 {number} · {title}
#
# | | |
# |---|---|
# | **要写的** | {objects} |
# | **要想明白的** | {asks} |
# | **论文** | {section} |
# | **讲解** | {lesson} |
# | **时间** | {minutes} 分钟 |
{rules}
"""
RULES = """\
# | **Rules of a layer** | Any number of axes may stand in front. Nothing that a method is given is changed. backward takes what it needs from its cache, not from self. float32 in gives float32 out. |
"""
CHINESE_RULES = """\
# | **层的规则** | 前面可以有任意多个轴。传给方法的东西，一样也不能修改。backward 要用的东西取自缓存，不取自 self。进来是 float32，出去也是 float32。 |
"""
INSTALL = """\
# %%
import importlib.util
import subprocess
import sys
from pathlib import Path

REPOSITORY = ""  # build.py writes the address here that pyproject.toml gives
if importlib.util.find_spec("aiayn_np") is None:  # on a hosted notebook service: one pip install
    here = Path("../../../pyproject.toml").exists()
    package = "../../.." if here else REPOSITORY and f"git+{REPOSITORY}"
    if "ipykernel" not in sys.modules or not package:
        sys.exit("This exercise needs the package aiayn_np, and it is not installed."
                 " README.md of the lessons says how to install it. Then start again.")
    subprocess.run([sys.executable, "-m", "pip", "install", "-q", package], check=True)

"""
IN_CHINESE = [  # what is one folder further up, and what the cell says
    ("../../..", "../../../.."),
    ("This exercise needs the package aiayn_np, and it is not installed.",
     "这个练习需要 aiayn_np 包，但它没有安装。"),
    (" README.md of the lessons says how to install it. Then start again.",
     "怎样安装，见课程的 README.md。安装以后重新开始。"),
]
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
    if source not in CHINESE:
        return text
    return chinese.translated(english_of(source).read_text(encoding="utf-8"), text)


def student_text(source):
    """The script that a student gets, in the language of the source."""
    text = text_of(source)
    if not source.name[0].isdigit():                                   # the hunt for bugs
        return text
    e, in_chinese = exercise_of(source), source in CHINESE
    facts = {name: getattr(e, name) for name in ("number", "section", "lesson", "minutes")}
    with speaking("zh" if in_chinese else "en"):
        facts |= dict(title=say(e.title), asks=say(e.asks))
    objects, title, install = [f"`{name}`" for name in e.objects], TITLE, INSTALL
    stub = without_solution(text)
    rules = CHINESE_RULES if in_chinese else RULES
    facts["rules"] = rules if any(SUBJECTS[name].kind == "layer" for name in e.objects) else ""
    if in_chinese:
        for ours, theirs in IN_CHINESE:
            install = install.replace(ours, theirs)
        title, install, stub = CHINESE_TITLE, install + SPEAK, without_solution(text, "尚未编写：")
        facts |= {name: in_words(facts[name]) for name in ("section", "lesson")}
    title = title.format(objects=("、" if in_chinese else ", ").join(objects), **facts)
    return title + with_address(install) + stub


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
    notebook = jupytext.reads(student_text(source), fmt="py:percent")
    notebook.metadata = nbformat.from_dict(METADATA)
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    for i, cell in enumerate(notebook.cells):
        folded = 'find_spec("aiayn_np")' in cell.source               # nobody has to read it
        cell["id"] = f"cell-{i}"
        cell["metadata"] = nbformat.from_dict({"jupyter": {"source_hidden": True}} if folded else {})
    return nbformat.writes(notebook) + "\n"


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
