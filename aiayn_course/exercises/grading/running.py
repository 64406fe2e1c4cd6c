"""Run one student's file and check what it defines, in the process that `grading` starts."""

import ast
import contextlib
import json
import linecache
import os
import re
import sys
from unittest.mock import MagicMock

from ... import exercises
from ..checking.calling import limited
from ..checking.checker import checked, is_answer
from ..checking.stop import Stop, describe
from ..exercise import EXERCISES, SUBJECTS
from ..language import say, speaking

MAGIC = re.compile(r"^( *)([%!?].*|.*\?)$", re.MULTILINE)
FORBIDDEN = re.compile(r"os\.(exec|fork|kill|posix_spawn|spawn|startfile|system)|subprocess\.Popen"
                       r"|pty\.spawn|ctypes\.dl|resource\.|socket\.(bind|connect|send)")
ALTERING = re.compile(r"open|os\.(ch|link|mkdir|re|rmdir|setx|symlink|truncate|utime)")
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC


def main(job):
    """Do a job of `grading.run_alone`, and write the verdict, which begins with the job's secret.

    Nothing that a student's file can replace, such as `os.write`, is given the secret.
    """
    job = json.loads(job)
    write, leave, secret, verdict = os.write, os._exit, job.pop("secret"), os.dup(1)
    os.dup2(2, 1)                                                      # prints go to stderr
    with open(os.devnull, "w", errors="replace") as nowhere, speaking(job["language"]), \
            contextlib.redirect_stdout(nowhere), contextlib.redirect_stderr(nowhere):
        limit(job["timeout"], job["memory"])
        points, diagnosis, message = judge(job)
    write(verdict, "\0".join((secret, diagnosis, f"{points}", message[:1000])).encode(
        "utf-8", "backslashreplace"))
    leave(0)                                                           # without what atexit holds


def limit(seconds, memory):
    """Limit the resources of this process, and what Python lets it do. It is no wall."""
    with contextlib.suppress(ImportError):                             # Windows
        import resource
        for name, most in dict(AS=memory * 2**20, CPU=int(seconds) + 1, FSIZE=10**7, CORE=0,
                               NPROC=0).items():
            with contextlib.suppress(AttributeError, ValueError, OSError):  # not on this system
                resource.setrlimit(getattr(resource, f"RLIMIT_{name}"), (most, most))
    home = os.path.realpath(os.getcwd()) + os.sep

    def hook(event, args):
        if FORBIDDEN.match(event):
            raise PermissionError(f"a file that is graded must not use {event}")
        reads = event == "open" and not args[2] & WRITING and not os.path.isdir(args[0])
        if ALTERING.match(event) and not reads:
            for path in args[: 1 if event == "open" else 2]:
                if isinstance(path, (str, bytes)) and not os.path.join(
                        os.path.realpath(os.fsdecode(path)), "").startswith(home):
                    raise PermissionError("a file that is graded must change its own folder only")

    sys.addaudithook(hook)


def judge(job):
    """Return (points, diagnosis, message) of the file in a job."""
    exercises.check = exercises.train_with = MagicMock()
    exercises.check.return_value.__bool__.return_value = False
    names = {"__name__": "__main__"}
    errors = [error for name, source in job["cells"].items() for error in run(name, source, names)]
    looks = [look_at(SUBJECTS[name], names.get(name), errors, job["seed"])
             for name in EXERCISES[job["exercise"]].objects]
    wrong = [look for look in looks if look[0] != "right"]
    right = "right", say("but {error}", error=errors[0]) if errors else ""
    return len(looks) - len(wrong), *[*wrong, right][0]


def run(name, source, names):
    """Run the statements of a cell one by one, and return errors in words; others still count."""
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    try:
        try:
            tree = ast.parse(source, name)
        except SyntaxError:                                            # perhaps of %time or !ls
            tree = ast.parse(MAGIC.sub(r"\1pass", source) if "cell" in name else source, name)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return [describe(error)]
    errors, cell = [], say("cell {number}, ", number=name[6:-1]) if "cell" in name else ""
    for statement in tree.body:
        place = say("{cell}line {number}", cell=cell, number=statement.lineno)
        try:
            with limited(place):
                exec(compile(ast.Module([statement], []), name, "exec"), names)
        except Stop as stop:
            errors.append(stop.message)
        except BaseException as error:
            errors.append(say("{place} stops with {error}", place=place, error=describe(error)))
    return errors


def look_at(subject, thing, errors, seed):
    """Return (diagnosis, cause) of one class or function."""
    name = subject.name
    if not is_answer(thing):
        why = say("; {error}", error=errors[0]) if errors else ""
        return "missing", say("the file defines no {name}{why}", name=name, why=why)
    report = checked(subject, thing, seed)
    cause = (report.cause if report.example else report.message).partition("\n")[0]
    return report.diagnosis, cause if cause.startswith(name) else say(
        "{name}: {message}", name=name, message=cause)
