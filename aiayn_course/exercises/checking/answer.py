"""Run one student's file and check what it defines, in the process that `sandbox` starts.

Each top-level statement of a file or of a notebook's cell runs by itself. If one fails, or does not
end, the others still count. While the file runs, `check` and `train_with` do nothing. What it
prints is thrown away.
"""

import ast
import base64
import contextlib
import io
import json
import linecache
import os
import re
import sys
import tokenize
import types

from aiayn_course import PACKAGES

from ... import exercises
from ..exercise import EXERCISES, SUBJECTS
from ..language import say, speaking
from .calling import Stop, describe, limited
from .checker import checked, is_answer

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
ALTERING = {f"os.{name}" for name in (
    "chflags", "chmod", "chown", "link", "mkdir", "remove", "removexattr", "rename", "rmdir",
    "setxattr", "symlink", "truncate", "utime")}
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
OURS = *PACKAGES, "numpy", "builtins", "sys"


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
        try:
            resource.setrlimit(getattr(resource, name), (most, most))
        except (AttributeError, ValueError, OSError):                  # not on this system
            continue


def forbid(home):
    """Let Python refuse processes, signals, connections, and changes outside a folder.

    Nobody can take an audit hook away again. It is no wall: what Python does not audit, it allows.
    """
    changes = iter(range(CHANGES))
    inside = {os.path.realpath(os.devnull)}

    def hook(event, args):
        if FORBIDDEN.match(event):
            raise PermissionError(f"a file that is graded must not use {event}")
        if event in ALTERING or (event == "open" and (
                args[2] & WRITING or os.path.isdir(args[0]))):
            paths = [os.path.realpath(os.fsdecode(path)) for path in args[:2]
                     if isinstance(path, (str, bytes)) and (path is args[0] or event != "open")]
            if not all(path in inside or path.startswith(home + os.sep) for path in paths):
                raise PermissionError(f"a file that is graded must change its own folder only,"
                                      f" got {paths[0]}")
            if next(changes, None) is None:
                raise PermissionError(f"a file that is graded must change at most {CHANGES} files")

    sys.addaudithook(hook)


def judge(job):
    """Return (points, diagnosis, message) of the file in a job."""
    parts, errors = parse(base64.b64decode(job["data"]), job["suffix"])
    exercises.check = exercises.train_with = NotNow()
    objects = [*EXERCISES[job["exercise"]].objects]
    names, before = {"__name__": "__main__"}, held()
    errors += [error for tree, filename in parts for error in run(tree, filename, names)]
    sys.settrace(None)
    sys.setprofile(None)
    must_be_as_before(before)
    looks = [look_at(name, names, errors, job["seed"]) for name in objects]
    must_be_as_before([part for part in before if callable(part[3])])
    wrong = [look[1:] for look in looks if look[1] != "right"]
    right = "right", say("but {error}", error=errors[0]) if errors else ""
    return (sum(look[0] for look in looks), *[*wrong, right][0])


def held():
    """Return [(place, container, key, object)] of all on which the check rests.

    These are the functions, classes, methods and data of the package, the code of each function,
    and the functions and classes of NumPy and of Python itself.
    """
    found, seen, todo = [], set(), [("", sys.modules)]
    while todo:
        place, container = todo.pop()
        for key, thing in parts_of(container).items():
            name = f"{place}.{key}".lstrip(".")
            found.append((name, container, key, thing))
            if id(thing) not in seen:
                seen.add(id(thing))
                todo.append((name, thing))
    return found


def parts_of(thing):
    """Return {key: object} of what a module, function, class, list, dict or object holds."""
    if thing is sys.modules:
        return {name: part for name, part in thing.items() if name.split(".")[0] in OURS}
    if isinstance(thing, types.ModuleType):
        package = thing.__name__.split(".")[0]
        return {key: part for key, part in vars(thing).items() if package in OURS
                and key[:2] != "__" and (package in PACKAGES or callable(part))}
    if isinstance(thing, types.FunctionType):
        return {key: getattr(thing, key) for key in ("__code__", "__defaults__", "__kwdefaults__",
                                                     "__dict__")}
    if type(thing) in (list, tuple):
        return dict(enumerate(thing))
    kind = thing if isinstance(thing, type) else type(thing)
    ours = str(getattr(kind, "__module__", "")).split(".")[0] in PACKAGES
    return dict(thing if type(thing) is dict else vars(thing) if (
        ours and hasattr(thing, "__dict__")) else {})


def must_be_as_before(before):
    """Raise Refused if a container holds another object than in `before`; it may hold more."""
    now = {}
    for place, container, key, thing in before:
        if id(container) not in now:
            now[id(container)] = parts_of(container)
        if now[id(container)].get(key) is not thing:
            raise Refused("check changed", say("it replaces {name} while it runs", name=place))


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
        place = say("{cell}line {number}", cell=cell, number=statement.lineno)
        try:
            with limited(place):
                exec(compile(module, filename, "exec"), names)
        except Stop as stop:
            errors.append(stop.message)
        except BaseException as error:
            errors.append(say("{place} stops with {error}", place=place, error=describe(error)))
    return errors


def look_at(name, names, errors, seed):
    """Return (points, diagnosis, cause) of one class or function."""
    thing = names.get(name)
    if not is_answer(thing):
        own = [n for n, v in names.items() if getattr(v, "__module__", "") == "__main__"]
        why = say("; it defines {names}", names=", ".join(own[:5])) if own else ""
        why += say("; {error}", error=errors[0]) if errors else ""
        return 0, "missing", say("the file defines no {name}{why}", name=name, why=why)
    report = checked(SUBJECTS[name], thing, seed)
    diagnosis = "memory" if "MemoryError" in report.message else report.diagnosis
    half = 0.5 if report.stage == "backward" else 0                    # forward is right
    cause = report.cause if report.example else report.message
    cause = (cause.splitlines() or [""])[0]
    cause = cause if cause.startswith(name) else say("{name}: {message}", name=name, message=cause)
    return 1 if report else half, diagnosis, cause
