"""However grading ends, its table is whole or as it was, and no row is lost."""

import errno
import io
import os
import sys

import pytest

from aiayn_course.cli.main import main
from aiayn_course.exercises.grading import grading

OLD = "the table of last week"


@pytest.fixture
def answers(tmp_path, monkeypatch):
    """A folder with two answers and a table; grading itself takes no time, and passes."""
    for name in ("anna", "bert"):
        (tmp_path / f"{name}_01_softmax.py").write_text("")
    (tmp_path / "old.csv").write_text(OLD)
    monkeypatch.setattr(grading, "graded", lambda *_: (1, "right", ""))
    return tmp_path


def tables(folder):
    """{name: number of lines, or the text if it is the old one} of the tables in the folder."""
    texts = {path.name: path.read_text(encoding="utf-8-sig") for path in folder.glob("*.csv")}
    assert not list(folder.glob("*.part"))
    return {name: OLD if text == OLD else text.count("\n") for name, text in texts.items()}


def graded_into(answers, *options):
    return main(["grade", str(answers), "--csv", str(answers / "old.csv"), "--force", *options])


def test_a_complete_table_takes_the_place_of_the_old_one(answers, capsys):
    assert graded_into(answers) == 0
    assert " \n" not in capsys.readouterr().out
    assert tables(answers) == {"old.csv": 3}


def test_no_table_is_replaced_without_force(answers, capsys):
    (answers / "grades.csv").write_text(OLD)
    for options in ([], ["--csv", str(answers / "old.csv")]):
        assert main(["grade", str(answers), *options]) == 2
        assert "which is there already; --force replaces it" in capsys.readouterr().err
    answer = answers / "anna_01_softmax.py"
    assert main(["grade", str(answers), "--csv", str(answer), "--force"]) == 2
    assert f"--csv must be another file than {answer}" in capsys.readouterr().err
    assert (tables(answers), answer.read_text()) == ({"grades.csv": OLD, "old.csv": OLD}, "")


def test_rows_of_an_earlier_run_that_was_not_finished_are_kept(answers, monkeypatch):
    (answers / "old.unfinished.csv").write_text(OLD)
    assert graded_into(answers) == 0
    assert tables(answers) == {"old.csv": 3, "old.unfinished.csv": OLD}
    monkeypatch.setattr(sys, "stdout", Left(0))                        # at the first row
    (answers / "old.unfinished-2.csv").symlink_to(answers / "nowhere")
    assert graded_into(answers) == 1
    (answers / "old.unfinished-2.csv").unlink()
    assert tables(answers) == {"old.csv": 3, "old.unfinished.csv": OLD, "old.unfinished-3.csv": 2}


class Left(io.StringIO):
    """A stdout whose reader leaves after some lines."""

    def __init__(self, lines):
        super().__init__()
        self.lines = lines

    def write(self, text):
        self.lines -= text.count("\n")
        if self.lines < 0:
            raise BrokenPipeError(errno.EPIPE, "Broken pipe")
        return len(text)


def test_a_reader_who_leaves_is_told_where_the_rows_are(answers, monkeypatch, capsys):
    """`aiayn-np grade answers | head -1`"""
    (answers / "anna_03_linear.py").write_text("")
    monkeypatch.setattr(sys, "stdout", Left(1))
    assert graded_into(answers) == 1
    assert tables(answers) == {"old.csv": OLD, "old.unfinished.csv": 3}
    note, error = capsys.readouterr().err.splitlines()
    assert note == f"2 of 3 rows are in {answers / 'old.unfinished.csv'}"
    assert "Broken pipe" in error


def test_what_was_graded_before_an_interruption_is_kept_beside_the_old_table(answers, monkeypatch,
                                                                             capsys):
    once, again = iter([grading.graded]), grading.graded

    def graded(*args):
        for function in once:
            return function(*args)
        raise KeyboardInterrupt

    monkeypatch.setattr(grading, "graded", graded)
    assert graded_into(answers) == 1
    assert tables(answers) == {"old.csv": OLD, "old.unfinished.csv": 2}
    assert "interrupted" in capsys.readouterr().err
    monkeypatch.setattr(grading, "graded", again)
    assert graded_into(answers) == 0
    assert tables(answers) == {"old.csv": 3, "old.unfinished.csv": 2}


@pytest.mark.parametrize("room", [0, 1, 2, 3])
def test_a_full_disk_loses_no_table(answers, monkeypatch, capsys, room):
    """The disk is full at once, before anything is graded, or after some rows."""
    fsync, left = os.fsync, iter(range(room))

    def write(function, argument):
        if next(left, None) is None:
            raise OSError(errno.ENOSPC, "No space left on device")
        return function(argument)

    class Small(io.FileIO):
        def write(self, data):
            return write(super().write, data)

    monkeypatch.setattr("aiayn_course.cli.grade.open", lambda path, *_, **__: Small(path, "x"),
                        raising=False)
    monkeypatch.setattr(os, "fsync", lambda handle: write(fsync, handle))
    assert graded_into(answers) == 1
    captured = capsys.readouterr()
    assert "csv: No space left on device" in captured.err
    assert tables(answers)["old.csv"] == OLD
    assert captured.out.count("passed") == max(room - 1, 0)
    if room > 1:
        assert tables(answers)["old.unfinished.csv"] == room
        assert f"{room - 1} of 2 rows are in {answers / 'old.unfinished.csv'}" in captured.err


def test_what_can_be_known_before_is_refused_before(answers, monkeypatch, capsys):
    def graded(*_):
        raise AssertionError

    monkeypatch.setattr(grading, "graded", graded)
    for argv, message in ((["--csv", str(answers / "no" / "\0.csv")], "null"),
                          (["--csv", str(answers)], "--csv must be a .csv, got"),
                          (["--csv", str(answers / ("x" * 300 + ".csv"))], "File name too long")):
        assert main(["grade", str(answers), *argv]) == 2
        assert message in capsys.readouterr().err
    monkeypatch.setattr(os, "access", lambda *_: False)                # root may everything
    assert graded_into(answers) == 2
    assert "old.csv: must be a file to write to, got one" in capsys.readouterr().err
    assert tables(answers) == {"old.csv": OLD}
