"""Run one student's file and check what it defines, in the process that `sandbox` starts.

Each top-level statement of a file or of a notebook's cell runs by itself. If one fails, the others
still count. While the file runs, `check` and `train_with` do nothing.
"""

import ast
import base64
import io
import json
import linecache
import os
import re
import tokenize

from ... import exercises
from ..exercise import EXERCISES, SUBJECTS
from ..grading.honesty import asked, held, lines_of, replaced
from ..language import say, speaking
from .calling import describe
from .checker import checked, is_answer

try:
    import resource
except ImportError:                                                    # Windows
    resource = None  # type: ignore[assignment]

MAGIC = re.compile(r"^( *)([%!?].*|.*\?)$", re.MULTILINE)
FILE_SIZE = 10_000_000  # bytes of the largest file that may be written


class Refused(Exception):
    """The error for a file that cannot be checked, with a diagnosis and a message."""


class NotNow:
    """A stand-in for `check` and `train_with` while a file runs: it is false and prints nothing."""

    def __call__(self, *students, **options):
        return self

    def __getattr__(self, name):
        return self

    def __bool__(self):
        return False


def main(job):
    """Do the job that `sandbox.run_alone` sent, and write the verdict to the pipe."""
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as pipe:
        os.dup2(2, 1)                                                  # what is printed goes there
        limit(job["timeout"], job["memory"])
        try:
            with speaking(job.get("language")):
                answer = judge(job)
        except Refused as stop:
            answer = dict(zip(("diagnosis", "message"), stop.args))
        json.dump(answer, pipe)
    os._exit(0)                                                        # without what atexit holds


def limit(seconds, memory):
    """Limit the memory, processor time, file size and child processes of this process."""
    if resource is None:
        return
    limits = dict(RLIMIT_AS=memory * 2**20, RLIMIT_CPU=int(seconds) + 1, RLIMIT_FSIZE=FILE_SIZE,
                  RLIMIT_CORE=0, RLIMIT_NPROC=0)
    for name, most in limits.items():
        try:
            resource.setrlimit(getattr(resource, name), (most, most))
        except (AttributeError, ValueError, OSError):                  # not on this system
            continue


def judge(job):
    """Return what a Grade holds of the file in a job, as {name: value}."""
    parts, errors = parse(base64.b64decode(job["data"]), job["suffix"])
    exercises.check = exercises.train_with = NotNow()
    objects, trees = EXERCISES[job["exercise"]].objects, [tree for tree, _ in parts]
    names, before = {"__name__": "__main__"}, held()
    errors += [error for tree, filename in parts for error in run(tree, filename, names)]
    reports = [look_at(name, names, errors, job["seed"]) for name in objects]
    if places := replaced(before):
        raise Refused("check changed", say("it replaces {name} while it runs", name=places[0]))
    first = next((r for r in reports if r["diagnosis"] != "right"), dict(
        diagnosis="right", cause=say("but {error}", error=errors[0]) if errors else ""))
    return dict(points=sum(r["points"] for r in reports), diagnosis=first["diagnosis"],
                message=first["cause"], remarks=say("; ").join(asked(trees, objects)),
                reports=reports, code=lines_of(trees))


def parse(data, suffix):
    """Return ([(tree, file name)], errors) for a script or for the cells of a notebook."""
    try:
        sources = cells(data) if suffix == ".ipynb" else [script(data)]
    except (ValueError, LookupError, TypeError, AttributeError, SyntaxError) as error:
        raise Refused("not readable", say("the file cannot be read: {error}",
                                    error=describe(error))) from None
    parts, errors = [], []
    for number, source in enumerate(sources, 1):
        filename = f"<cell {number}>" if suffix == ".ipynb" else "<answer>"
        lines = source.splitlines(keepends=True)
        linecache.cache[filename] = (len(source), None, lines, filename)
        try:
            parts.append((tree_of(source, filename), filename))
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            errors.append(describe(error))
    if errors and not parts:
        raise Refused("syntax error", errors[0])
    return parts, errors


def tree_of(source, filename):
    """Return the syntax tree of code; in a cell, lines such as %time and !ls become `pass`."""
    try:
        return ast.parse(source, filename)
    except SyntaxError:
        if not filename.startswith("<cell"):
            raise
        return ast.parse(MAGIC.sub(r"\1pass", source), filename)


def script(data):
    """Return the text of a Python file, from UTF-8 or from the encoding that the file names."""
    encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
    return data.decode(encoding)


def cells(data):
    """Return the code cells of a notebook."""
    every = json.loads(data.decode("utf-8-sig"))["cells"]
    return ["".join(cell["source"]) for cell in every if cell["cell_type"] == "code"]


def run(tree, filename, names):
    """Run the statements one by one, and return their errors in words."""
    errors, cell = [], ""
    if filename.startswith("<cell "):
        cell = say("cell {number}, ", number=filename[6:-1])
    for statement in tree.body:
        module = ast.Module([statement], type_ignores=[])
        try:
            exec(compile(module, filename, "exec"), names)
        except BaseException as error:
            errors.append(say("{cell}line {number} stops with {error}", cell=cell,
                              number=statement.lineno, error=describe(error)))
    return errors


def look_at(name, names, errors, seed):
    """Return {name, points, diagnosis, cause, text, html} of one class or function."""
    thing = names.get(name)
    if not is_answer(thing):
        own = [n for n, v in names.items() if getattr(v, "__module__", "") == "__main__"]
        why = say("; it defines {names}", names=", ".join(own[:5])) if own else ""
        why += say("; {error}", error=errors[0]) if errors else ""
        message = say("the file defines no {name}{why}", name=name, why=why)
        return dict(name=name, points=0, diagnosis="missing", cause=message, text=message, html="")
    report = checked(SUBJECTS[name], thing, seed)
    report.asked = None                                                # a file cannot call `check`
    diagnosis = "memory" if "MemoryError" in report.message else report.diagnosis
    half = 0.5 if report.stage == "backward" else 0                    # forward is right
    cause = report.cause if report.example else report.message
    cause = (cause.splitlines() or [""])[0]
    cause = cause if cause.startswith(name) else say("{name}: {message}", name=name, message=cause)
    return dict(name=name, points=1 if report else half, diagnosis=diagnosis, cause=cause,
                text=str(report), html=report._repr_html_())
