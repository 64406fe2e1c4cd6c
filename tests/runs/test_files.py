"""Writing a file: whole or not at all, through links, and nothing is left over."""

import errno
import os

import pytest

from aiayn_course import drawings
from aiayn_course.data.number_words import write_number_words
from aiayn_course.drawings import save_drawings
from aiayn_np.files import made_folder, new_folder, parts_in, replacing

pytestmark = pytest.mark.skipif(os.name != "posix", reason="links, FIFOs and devices are POSIX")


def write(path, content=b"new"):
    with replacing(path) as file:
        file.write(content)


def test_a_link_stays_and_its_file_is_replaced(tmp_path):
    (tmp_path / "there").mkdir()
    target, link = tmp_path / "there" / "target", tmp_path / "link"
    target.write_bytes(b"old")
    link.symlink_to(target)
    write(link)
    assert link.is_symlink()
    assert target.read_bytes() == b"new"
    dangling = tmp_path / "dangling"
    dangling.symlink_to(tmp_path / "there" / "later")
    write(dangling)
    assert (tmp_path / "there" / "later").read_bytes() == b"new"
    assert sorted(os.listdir(tmp_path)) == ["dangling", "link", "there"]


def test_folders_and_files_that_may_not_be_written_are_refused(tmp_path, monkeypatch):
    path = tmp_path / "file"
    path.write_bytes(b"old")
    for no_file, got in ((tmp_path, "a folder"), ("/dev/null", "one that is .* a device")):
        with pytest.raises(PermissionError, match=f"a file to write to, got {got}: '{no_file}'"):
            write(no_file)
    with pytest.raises(FileNotFoundError, match=r"nowhere/file'"):     # not the .part file
        write(tmp_path / "nowhere" / "file")
    monkeypatch.setattr(os, "access", lambda *_: False)                # root may everything
    with pytest.raises(PermissionError, match=r"got one that is write-protected .*/file'"):
        write(path)
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["file"]


def test_a_full_disk_names_the_file_and_what_is_kept(tmp_path, monkeypatch):
    path = tmp_path / "file"
    path.write_bytes(b"old")

    def full(_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match=r"the file that was there is kept: '.*/file'") as caught:
        write(path)
    assert caught.value.errno == errno.ENOSPC
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["file"]


def interrupted(path):
    with new_folder(path) as folder:
        (folder / "file").write_bytes(b"")
        raise KeyboardInterrupt


def test_a_new_folder_is_removed_if_filling_it_is_interrupted(tmp_path):
    with new_folder(tmp_path / "deep" / "new") as folder:
        (folder / "file").write_bytes(b"")
    with pytest.raises(FileExistsError, match=r"is there already: choose another name: '.*/deep'"):
        interrupted(tmp_path / "deep")
    with pytest.raises(KeyboardInterrupt):
        interrupted(tmp_path / "gone")
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["deep", "file", "new"]


def test_an_error_of_a_new_folder_names_it_and_one_of_another_file_names_that(tmp_path):
    path = tmp_path / "folder"
    with pytest.raises(OSError, match=r"/folder'"), new_folder(path):
        raise OSError(errno.ENOSPC, "full")                            # a write names no file
    with pytest.raises(FileNotFoundError, match="nowhere"), new_folder(path):
        (tmp_path / "nowhere").read_bytes()
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("write", [write_number_words, pytest.param(
    save_drawings, marks=pytest.mark.slow)])
def test_a_full_disk_leaves_old_data_and_drawings_as_they_were(tmp_path, monkeypatch, write):
    monkeypatch.setattr(drawings, "DRAWINGS", {"figure_1": drawings.DRAWINGS["figure_1"]})
    before = {path: path.read_bytes() for path in write(tmp_path)}

    def full(_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    for path in before:
        path.write_bytes(b"old")
    with pytest.raises(OSError, match="the file that was there is kept"):
        write(tmp_path)
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == dict.fromkeys(before, b"old")


def filled(make, path, mine=None, fails=True):
    """Write x/y into a folder that `make` makes, and as another program `mine` into it."""
    with make(path) as folder:
        if mine:
            (path / mine).write_bytes(b"work")
        if folder != path:
            (folder / "x").mkdir()
            (folder / "x" / "y").write_bytes(b"new")
        if fails:
            raise ZeroDivisionError


def test_a_new_folder_that_fails_leaves_what_others_put_there(tmp_path):
    """Only what the block wrote goes, and only the folders that were made for it."""
    out, mine = tmp_path / "a" / "b", tmp_path / "mine"
    mine.mkdir()
    for path in (out, mine):
        with pytest.raises(ZeroDivisionError):
            filled(new_folder, path)
    assert os.listdir(tmp_path) == ["mine"]
    with pytest.raises(ZeroDivisionError):
        filled(new_folder, out, "thesis.txt")
    assert os.listdir(out) == ["thesis.txt"]


def test_a_new_folder_moves_in_beside_what_came_meanwhile_and_replaces_nothing(tmp_path):
    filled(new_folder, tmp_path / "a", "thesis.txt", fails=False)
    assert sorted(os.listdir(tmp_path / "a")) == ["thesis.txt", "x"]
    with pytest.raises(FileExistsError, match="choose another name"):
        filled(new_folder, tmp_path / "b", "x", fails=False)
    assert (tmp_path / "b" / "x").read_bytes() == b"work"
    assert os.listdir(tmp_path / "b") == ["x"]


def test_a_made_folder_goes_only_if_it_is_empty(tmp_path):
    with pytest.raises(ZeroDivisionError):
        filled(made_folder, tmp_path / "c" / "d")
    assert os.listdir(tmp_path) == []
    with pytest.raises(ZeroDivisionError):
        filled(made_folder, tmp_path / "a" / "b", "kept")
    assert os.listdir(tmp_path / "a" / "b") == ["kept"]


def test_only_the_names_of_unfinished_files_are_known_as_such(tmp_path):
    good = tmp_path / f".{'0a' * 8}.part"
    for name in (".film.mkv.part", f".{'0A' * 8}.part", f".{'0a' * 7}.part", f"{'0a' * 8}.part"):
        (tmp_path / name).touch()
    (tmp_path / f".{'1b' * 8}.part").mkdir()
    (tmp_path / f".{'2c' * 8}.part").symlink_to(good)
    good.touch()
    assert parts_in(tmp_path) == [good]


def test_a_replaced_file_keeps_its_permissions(tmp_path):
    path = tmp_path / "private"
    path.write_bytes(b"old")
    for mode in (0o600, 0o644, 0o640):
        path.chmod(mode)
        write(path)
        assert path.stat().st_mode & 0o777 == mode
