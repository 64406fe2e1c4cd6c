"""Run one student's file and check what it defines, in the process that `sandbox` starts.

Each top-level statement of a file or of a notebook's cell runs by itself. If one fails, or does not
end, the others still count. While the file runs, `check` and `train_with` do nothing. What it
prints is thrown away.
"""

import ast
import base64
import contextlib
import functools
import inspect
import io
import json
import linecache
import os
import re
import sys
import tokenize

import numpy as np

from ... import exercises
from ..checking.calling import limited
from ..checking.checker import checked, is_answer
from ..checking.stop import Stop, describe
from ..exercise import EXERCISES, SUBJECTS
from ..language import say, speaking

try:
    import resource
except ImportError:                                                    # Windows
    resource = None  # type: ignore[assignment]

MAGIC = re.compile(r"^( *)([%!?].*|.*\?)$", re.MULTILINE)
FILE_SIZE = 10_000_000  # bytes of the largest file that may be written
CHANGES = 50  # of files that a student's file may make, or change
MESSAGE = 1000  # characters of a message that are written
FORBIDDEN = re.compile(  # events that Python audits
    r"os\.(exec|fork|kill|posix_spawn|spawn|startfile|system)|pty\.spawn|subprocess\.Popen"
    r"|ctypes\.dl|resource\.|socket\.(bind|connect|send)")
ALTERING = re.compile(r"open|os\.(chflags|chmod|chown|link|mkdir|remove|removexattr|rename|rmdir"
                      r"|setxattr|symlink|truncate|utime)")
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC


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
    """Do the job that `sandbox.run_alone` sent, and write the verdict.

    The verdict begins with a secret of the job. Nothing that a student's file can replace, such as
    `os.write`, is given the secret.
    """
    write, leave, secret, verdict = os.write, os._exit, job.pop("secret"), os.dup(1)
    os.dup2(2, 1)                                                      # what is printed goes there
    limit(job["timeout"], job["memory"])
    forbid(os.path.realpath(os.getcwd()))
    points = 0
    try:
        with speaking(job["language"]), open(os.devnull, "w", errors="replace") as nowhere, \
                contextlib.redirect_stdout(nowhere), contextlib.redirect_stderr(nowhere):
            points, diagnosis, message = judge(job)
    except Refused as stop:
        diagnosis, message = stop.args
    write(verdict, "\0".join((secret, diagnosis, f"{points:g}", message[:MESSAGE])).encode(
        "utf-8", "backslashreplace"))
    leave(0)                                                           # without what atexit holds


def limit(seconds, memory):
    """Limit the memory, processor time, file size and child processes of this process."""
    if resource is None:
        return
    limits = dict(RLIMIT_AS=memory * 2**20, RLIMIT_CPU=int(seconds) + 1, RLIMIT_FSIZE=FILE_SIZE,
                  RLIMIT_CORE=0, RLIMIT_NPROC=0)
    for name, most in limits.items():
        with contextlib.suppress(AttributeError, ValueError, OSError):  # not on this system
            resource.setrlimit(getattr(resource, name), (most, most))


def forbid(home):
    """Let Python refuse processes, signals, connections, and changes outside a folder.

    Nobody can take an audit hook away again. It is no wall: what Python does not audit, it allows.
    """
    inside, changes = (home, os.path.realpath(os.devnull)), iter(range(CHANGES))

    def hook(event, args):
        if FORBIDDEN.match(event):
            raise PermissionError(f"a file that is graded must not use {event}")
        is_read = event == "open" and not args[2] & WRITING and not os.path.isdir(args[0])
        if ALTERING.fullmatch(event) and not is_read:
            named = [path for path in args[: 1 if event == "open" else 2]
                     if isinstance(path, (str, bytes))]
            for path in map(os.path.realpath, map(os.fsdecode, named)):
                if path not in inside and not path.startswith(home + os.sep):
                    raise PermissionError(f"a file that is graded must change its own folder only,"
                                          f" got {path}")
            if next(changes, None) is None:
                raise PermissionError(f"a file that is graded must change at most {CHANGES} files")

    sys.addaudithook(hook)


def judge(job):
    """Return (points, diagnosis, message) of the file in a job."""
    parts, errors = parse(base64.b64decode(job["data"]), job["suffix"])
    exercises.check = exercises.train_with = NotNow()
    objects = [*EXERCISES[job["exercise"]].objects]
    subjects = [SUBJECTS[name] for name in objects]
    names = {"__name__": "__main__"}
    errors += [error for tree, filename in parts for error in run(tree, filename, names)]
    sys.settrace(None)
    sys.setprofile(None)
    looks = [look_at(subject, names, errors, job["seed"]) for subject in subjects]
    wrong = [look[1:] for look in looks if look[1] != "right"]
    right = "right", say("but {error}", error=errors[0]) if errors else ""
    return (sum(look[0] for look in looks), *[*wrong, right][0])


def parse(data, suffix):
    """Return ([(tree, file name)], errors) for a script or for the cells of a notebook."""
    try:
        sources = cells(data) if suffix == ".ipynb" else [script(data)]
    except (ValueError, LookupError, TypeError, AttributeError, SyntaxError,
            RecursionError, MemoryError) as error:
        raise Refused("not readable", say("the file cannot be read: {error}",
                                          error=describe(error))) from None
    parts, errors = [], []
    for number, source in enumerate(sources, 1):
        filename = f"<cell {number}>" if suffix == ".ipynb" else "<answer>"
        linecache.cache[filename] = (len(source), None, source.splitlines(True), filename)
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
        place = say("{cell}line {number}", cell=cell, number=statement.lineno)
        try:
            with limited(place):
                exec(compile(module, filename, "exec"), names)
        except Stop as stop:
            errors.append(stop.message)
        except BaseException as error:
            errors.append(say("{place} stops with {error}", place=place, error=describe(error)))
    return errors


def look_at(subject, names, errors, seed):
    """Return (points, diagnosis, cause) of one class or function."""
    name, thing = subject.name, names.get(subject.name)
    if not is_answer(thing):
        own = [n for n, v in names.items() if getattr(v, "__module__", "") == "__main__"]
        why = say("; it defines {names}", names=", ".join(own[:5])) if own else ""
        why += say("; {error}", error=errors[0]) if errors else ""
        return 0, "missing", say("the file defines no {name}{why}", name=name, why=why)
    report = checked(subject, thing, seed)
    if report and checked(subject, spoiled(thing), seed):
        raise Refused("check changed", say("the check takes a wrong {name} for a right one",
                                           name=name))
    diagnosis = "memory" if "MemoryError" in report.message else report.diagnosis
    half = 0.5 if report.stage == "backward" else 0                    # forward is right
    cause = report.cause if report.example else report.message
    cause = (cause.splitlines() or [""])[0]
    cause = cause if cause.startswith(name) else say("{name}: {message}", name=name, message=cause)
    return 1 if report else half, diagnosis, cause


def spoiled(thing):
    """Return a student's class or function with a result that is certain to be wrong.

    It is the control of the check, whose parts a file may have replaced.
    """
    @functools.wraps(thing, updated=())
    def function(*args, **options):
        y = np.asarray(thing(*args, **options))
        return ~y if y.dtype == bool else y + 1

    def forward(self, *args, **options):
        y, cache = thing.forward(self, *args, **options)
        return y + 1, cache

    def step(self, *args):
        thing.step(self, *args)
        self.parameters[0].value += 1

    if not inspect.isclass(thing):
        return function
    own = dict(step=step) if hasattr(thing, "step") else dict(forward=forward)
    return type(thing.__name__, (thing,), dict(own, __module__=thing.__module__))
