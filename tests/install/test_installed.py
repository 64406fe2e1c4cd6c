"""The wheel in a fresh environment, outside of the repository: what the README names works (slow).

First with nothing but what the package depends on, where every extra that is missing is told in one
line; then with the extras `text` and `notebooks`. pip needs the network or its cache.
"""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from pages import ROOT, blocks
from sentences import SMALL, sentences, write

pytestmark = pytest.mark.slow
README = (ROOT / "README.md").read_text(encoding="utf-8")
GOLDEN = (ROOT / "tests" / "golden" / "pretrained").as_posix()


class Machine:
    """A virtual environment and a folder to work in."""

    def __init__(self, folder):
        self.folder = folder / "work"
        self.folder.mkdir()
        self.programs = folder / "venv" / ("Scripts" if os.name == "nt" else "bin")
        unwanted = ("PYTHONPATH", "VIRTUAL_ENV")
        self.environment = {k: v for k, v in os.environ.items() if k not in unwanted} | {
            "PATH": f"{self.programs}{os.pathsep}{os.environ['PATH']}", "MPLBACKEND": "Agg",
            "PIP_NO_COMPILE": "1"}
        subprocess.run([sys.executable, "-m", "venv", folder / "venv"], check=True)

    def run(self, program, *words, code=0, **environment):
        """What a program of the environment prints on stdout and stderr; it must end with `code`.
        """
        run = subprocess.run([str(self.programs / program), *map(str, words)], cwd=self.folder,
                             env=self.environment | environment, capture_output=True, text=True,
                             encoding="utf-8")
        assert run.returncode == code, run.stdout[-2000:] + run.stderr[-3000:]
        assert "Traceback" not in run.stderr
        return run.stdout, run.stderr

    def command(self, line, **options):
        return self.run("aiayn-np", *shlex.split(line), **options)


@pytest.fixture(scope="module")
def bare(wheel, tmp_path_factory):
    """A machine with the wheel alone."""
    machine = Machine(tmp_path_factory.mktemp("machine"))
    machine.run("python", "-m", "pip", "install", "-q", wheel)
    out, _ = machine.run("python", "-c", "import aiayn_np; print(aiayn_np.__file__)")
    assert Path(out.strip()).is_relative_to(machine.programs.parent)
    return machine


def test_the_example_prints_what_the_page_says(bare):
    (example,), (printed,) = blocks(README, "python"), blocks(README, "text")
    assert bare.run("python", "-c", example)[0] == printed


WORKS = {  # command -> how it is tried, what it prints
    "train": ("train reverse --steps 100", "metrics.json"),
    "train words": ("train words --steps 2 --N 1 --d-model 8 --d-ff 8 --h 1", "nats per character"),
    "generate": ("generate runs/words 'The ' --steps 9", r"^The ."),
    "decode": ("decode runs/reverse '3 1 4 1 5 9 2 6'", r"^(\d ?)+$"),
    "attend": ("attend runs/reverse '3 1 4 1 5 9 2 6'", "3_1_4_1_5_9_2_6_attention_cross.png"),
    "explore": ("explore runs/reverse", "explore.html"),
    "trace": ("trace runs/reverse '3 1 4'", "decoder"),
    "why": ("why runs/reverse '3 1'", r"most came from|no token speaks"),
    "check": ("check", "decoder"),
    "vectors": ("vectors right", "right"),
    "zoo": ("zoo 1 2", "caught"),
    "figures": ("figures variance --measure", "variance.png"),
    "exercises": ("exercises answers/me", "answers"),
    "grade": ("grade answers --exercise softmax", r"^0 of 1 answers passed"),
    "lessons": ("lessons here", "here"),
}
NEED_EXTRAS = {"export"}  # below


@pytest.mark.parametrize("name", WORKS)
def test_a_command_works_without_an_extra(bare, name):
    line, printed = WORKS[name]
    out, _ = bare.command(line)
    assert re.search(printed, out, re.MULTILINE), out


def test_every_command_that_the_readme_names_is_tried():
    named = set(re.findall(r"aiayn-np ([a-z]+)", README))
    assert named <= set(WORKS) | NEED_EXTRAS


def test_a_figure_is_drawn_of_the_results_in_the_wheel(bare):
    bare.command("figures saturation --out gallery")
    assert (bare.folder / "gallery" / "saturation.png").is_file()


MISSING = {  # extra -> a command that needs it
    "text": "train text --source text.de --target text.en --out runs/text",
    "mpi": "train copy --steps 1 --out runs/mpi",
    "pretrained": f"generate {GOLDEN}/gpt2 Once",
}


@pytest.mark.parametrize("extra", MISSING)
def test_a_missing_extra_is_told_in_one_line(bare, extra):
    write(bare.folder, sentences(20), "text")
    as_a_rank = {"PMI_SIZE": "4", "PMI_RANK": "0"} if extra == "mpi" else {}
    _, err = bare.command(MISSING[extra], code=2, **as_a_rank)
    last = err.splitlines()[-1]
    assert last.startswith("aiayn-np: error: ")
    packages = {"text": "'sentencepiece", "mpi": "mpi4py", "pretrained": "'safetensors"}
    assert f"pip install {packages[extra]}" in last


def test_without_jupyter_the_lessons_are_written_and_their_tools_say_what_they_need(bare):
    _, err = bare.command("lessons --teacher course")
    assert "pip install 'sentencepiece" in err
    assert err.startswith("begin with course/README.md")
    assert err.count("\n") == 2
    for script in ("build", "minutes", "quiz", "slides", "exercises/build",
                   "exercises/assignment"):
        out, err = bare.run("python", f"course/{script}.py", code=1)
        assert (out, err.count("\n")) == ("", 1), script
        assert "pip install '" in err


@pytest.fixture(scope="module")
def full(bare):
    """The same machine after the command that the hint for a missing extra says."""
    _, err = bare.command("exercises hint")
    _, _, *packages = shlex.split(err[err.index("pip install"):])
    bare.run("python", "-m", "pip", "install", "-q", *packages)
    return bare


def test_the_first_lesson_runs_to_its_end(full):
    """No clone, a fresh folder: lessons are written out, and the first runs in a fresh kernel."""
    assert "pip install" not in full.command("lessons fresh")[1]
    (lesson,) = (full.folder / "fresh").glob("01_*.ipynb")
    full.run("jupyter", "execute", "--inplace", lesson)
    assert '"image/png"' in lesson.read_text(encoding="utf-8")


def test_the_lessons_are_written_in_chinese(bare):
    bare.command("lessons --zh chinese")
    names = {path.name for path in (bare.folder / "chinese").glob("[0-9][0-9]_*.ipynb")}
    assert names == {path.name for path in ROOT.glob("notebooks/[0-9][0-9]_*.ipynb")}
    assert "第 1 课" in (bare.folder / "chinese" / min(names)).read_text(encoding="utf-8")


def test_text_can_be_translated(full):
    source, target = write(full.folder, sentences(60), "pairs")
    train = ["train", "text", "--source", source, "--target", target, *SMALL, "--epochs", "1"]
    full.run("aiayn-np", *train, "--out", "runs/pairs")
    assert len(full.command("decode runs/pairs --file pairs.de")[0].splitlines()) == 60


def test_jupyter_lab_opens_and_the_tools_of_the_teacher_edition_run(full):
    assert re.match(r"\d", full.run("jupyter", "lab", "--version")[0])
    full.run("python", "course/quiz.py", "quiz.gift")
    assert (full.folder / "quiz.gift").is_file()
