"""Every command that writes files, killed at random moments: each file is whole, as it was or new,
no process and no folder is left, and the next try ends as if nothing had happened."""

import csv
import io
import itertools
import json
import re
import signal
import time
import zipfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from hostile import Place, problem, until
from marks import LINUX
from sentences import sentences
from test_command_lines import TEXT, TINY

pytestmark = LINUX
KILLS = 30  # of each command, with -m hostile
SIGNALS = [signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGHUP, signal.SIGINT]
OLD = b"what was there before"
LEFT = re.compile(r"\.lock|\..*\.part|.*\.unfinished\.csv")  # until the next try
MEASURED = ("seconds", "tokens_per_second", "peak_memory")  # these differ from run to run


@dataclass
class Command:
    """A command line, the files that are there before, whether it leaves files on the way, and the
    command line that goes on with what was left, if it is another one."""

    argv: list
    old: tuple = ()
    steps: bool = False
    again: tuple = ()


def words(options):
    return [word for pair in options.items() for word in pair]


def train(task, *options):
    out = ["--out", f"new-{task}"]
    return Command(["train", task, *options, *out], steps=True,
                   again=("train", task, "--resume", *out))


COMMANDS = {
    "train": train("copy", *words(TINY | {"--steps": "120"}), "--keep-states"),
    "train text": train("text", "--pairs", "pairs.tsv", *words(TEXT | {"--epochs": "2"})),
    "attend": Command(["attend", "good", "1 2", "--out", "maps"],
                      old=("maps/copy_1_2_attention_cross.png",)),
    "explore": Command(["explore", "good", "1 2", "--out", "page.html"], old=("page.html",)),
    "animate": Command(["animate", "copy", "--steps", "2", "--out", "new.gif"], old=("new.gif",)),
    "figures": Command(["figures", "variance", "--out", "figures"],
                       old=("figures/variance.png", "figures/variance.json")),
    "zoo": Command(["zoo", "1", "--train", "--out", "table.md"], old=("table.md",)),
    "grade": Command(["grade", "students", "--seed", "1"], old=("students/grades.csv",)),
    "export": Command(["export", "good", "exported", "--to", "torch"]),
    "export marian": Command(["export", "text", "marian", "--to", "marian"]),
    "import": Command(["import", "torch", "--out", "imported"]),
}


def prepare(place):
    """What the commands work on."""
    place.write("pairs.tsv", "".join(f"{a}\t{b}\n" for a, b in sentences(100)))
    place.write("students/anna/01_softmax.py", "x = 1\n")
    place.write("students/bert/01_softmax.py", "import time\ntime.sleep(0.3)\n")
    for argv in (["train", "copy", *words(TINY), "--out", "good"],
                 ["train", "text", "--pairs", "pairs.tsv", *words(TEXT), "--out", "text"],
                 ["export", "good", "torch", "--to", "torch"]):
        done = place.run(*argv, limit=60)
        assert done["code"] == 0, done["err"]
    for command in COMMANDS.values():
        for name in command.old:
            place.write(name, OLD)


def files(place):
    """{path: bytes} of everything in the current folder of the commands."""
    return {str(path.relative_to(place.work)): path.read_bytes()
            for path in place.work.rglob("*") if path.is_file()}


def restore(place, before):
    """The folder as it was."""
    for path in sorted(place.work.rglob("*"), reverse=True):
        name = str(path.relative_to(place.work))
        if path.is_file() and name not in before:
            path.unlink()
        elif path.is_dir() and not any(other.startswith(f"{name}/") for other in before):
            path.rmdir()
    for name, content in before.items():
        path = place.work / name
        if not path.exists() or path.read_bytes() != content:
            place.write(name, content)


def settled(name, content):
    """A file without the times that were measured, which differ from run to run."""
    if content == OLD or not name.endswith((".csv", ".json", ".npz")):
        return content
    if name.endswith(".npz"):
        with np.load(io.BytesIO(content)) as arrays:
            return {key: arrays[key].tobytes() for key in arrays.files}
    if name.endswith(".json"):
        table = json.loads(content)
        return {k: v for k, v in table.items() if k not in MEASURED}
    rows = list(csv.DictReader(io.StringIO(content.decode("utf-8-sig"), newline="")))
    assert all(None not in row and None not in row.values() for row in rows)
    return [{k: v for k, v in row.items() if k not in MEASURED} for row in rows]


def whole(name, content):
    """Whether a file on the way of a training can be read to its end."""
    try:
        settled(name, content)
    except (ValueError, AssertionError, zipfile.BadZipFile, EOFError):
        return False
    return not name.endswith(".png") or content.endswith(b"IEND\xaeB`\x82")


def running(place):
    """Command lines of processes that work in this place, besides the server."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            if (int(path.name) != place.server.pid
                    and str(place.folder).encode() in (path / "environ").read_bytes()):
                found.append((path / "cmdline").read_bytes())
        except OSError:                                                # it has just ended
            continue
    return found


def left_behind(place, seconds=10):
    """Processes and temporary files that are still there after a while."""
    end = time.monotonic() + seconds
    while True:
        temporary = [path.name for path in (place.folder / "tmp").iterdir()
                     if "matplotlib" not in path.name]
        found = [*running(place), *temporary]
        if not found or time.monotonic() > end:
            return found
        time.sleep(0.02)


def after_the_kill(command, before, after, now):
    """What is wrong with the files that a killed command left; None if nothing."""
    for name in sorted({*before, *now}):
        if name not in now:
            return f"{name} is lost"
        if any(LEFT.fullmatch(part) for part in Path(name).parts) or now[name] == before.get(name):
            continue
        if name not in after:
            return f"{name} is left over"
        good = whole(name, now[name])
        if good and not command.steps:
            good = settled(name, now[name]) == settled(name, after[name])
        if not good:
            return f"{name} is neither as it was nor whole"
    return None


def same(a, b):
    """What differs between two folders; None if nothing does."""
    if a.keys() != b.keys():
        return f"other files: {sorted(a.keys() ^ b.keys())}"
    different = [name for name in a if settled(name, a[name]) != settled(name, b[name])]
    return f"other content: {different}" if different else None


def go_on(place, command):
    """Try again after a kill; the answer of the command."""
    trained = command.steps and (place.work / command.again[-1] / "model.npz").exists()
    return place.run(*(command.again if trained else command.argv), limit=60)


def killed(place, name, kill_after, number, before, after):
    """Kill one command; (whether it was still running, what is wrong or None)."""
    command = COMMANDS[name]
    done = place.run(*command.argv, limit=60, kill_after=kill_after, kill_by=number)
    what = problem(command.argv, done | {"code": max(done["code"], 0)})
    hit = done["code"] != 0
    if what is None and (left := left_behind(place)):
        what = f"still there: {left}"
    what = what or after_the_kill(command, before, after, files(place))
    if what is None:
        done = go_on(place, command)
        if done["code"] not in ((0,) if hit else (0, 2)) and not at_the_end(done):
            what = f"does not go on: {done['err'][-500:]}"
        what = what or problem(command.argv, done) or same(after, files(place))
    return hit, what and f"{name}, {number.name} after {kill_after:.3f} s: {what}"


def at_the_end(done):
    """Whether there was nothing left to do: the kill came when all was written."""
    return done["code"] == 2 and ("nothing to do" in done["err"] or "there already" in done["err"])


def hunt(place, rng, numbers):
    """{command: (kills, of them while it ran)} and a list of problems."""
    prepare(place)
    before, wanted, counts, problems = files(place), {}, {}, []
    for _, name in zip(numbers, itertools.cycle(COMMANDS)):
        if name not in wanted:
            done = place.run(*COMMANDS[name].argv, limit=60)
            assert done["code"] == 0, done["err"]
            wanted[name] = files(place), done["seconds"]
            restore(place, before)
        after, seconds = wanted[name]
        number = SIGNALS[rng.integers(len(SIGNALS))]
        hit, what = killed(place, name, float(rng.uniform(0, seconds)), number, before, after)
        kills, hits = counts.get(name, (0, 0))
        counts[name] = kills + 1, hits + hit
        if what:
            problems.append(what)
        restore(place, before)
    return counts, problems


@pytest.mark.parametrize("numbers", [
    pytest.param(lambda: until(60), marks=pytest.mark.slow, id="a minute"),
    pytest.param(lambda: range(KILLS * len(COMMANDS)), marks=pytest.mark.hostile, id="all")])
def test_a_killed_command_loses_nothing_and_leaves_nothing(seed, numbers):
    with Place() as place:
        counts, problems = hunt(place, np.random.default_rng(seed), numbers())
    for name, (kills, hits) in counts.items():
        print(f"\n{name}: {kills} kills, {hits} while it ran", end="")
    print(f"\n{len(problems)} problems")
    assert not problems, "\n\n".join(problems[:20])
    assert sum(hits for _, hits in counts.values()) > sum(k for k, _ in counts.values()) / 2


def test_a_part_of_a_file_would_be_seen():
    """What the checks above say of files that are cut, lost, strange or left over."""
    table, png = b"step,seconds\r\n1,0.5\r\n", b"\x89PNG...IEND\xaeB`\x82"
    before, after = {"a.csv": OLD}, {"a.csv": table, "b.png": png}
    one, steps = Command([]), Command([], steps=True)
    for command in (one, steps):
        assert after_the_kill(command, before, after, before) is None
        assert after_the_kill(command, before, after, after | {".b.png.1.part": b""}) is None
        assert after_the_kill(command, before, after, {}) == "a.csv is lost"
        assert "left over" in after_the_kill(command, before, after, before | {"c": b""})
        for now in ({"a.csv": table[:-6]}, before | {"b.png": png[:-1]}):
            assert "nor whole" in after_the_kill(command, before, after, now)
    other = {"a.csv": b"step,seconds\r\n2,0.5\r\n"}
    assert "nor whole" in after_the_kill(one, before, after, other)
    assert after_the_kill(steps, before, after, other) is None
    assert same(after, after | {"a.csv": table.replace(b"0.5", b"0.7")}) is None
    assert "other content" in same(after, after | other)
    assert "other files" in same(before, after)
