"""Writing a file: whole or not at all, through links, into devices, and nothing is left over."""

import contextlib
import errno
import os
import stat
import subprocess
import sys
import threading

import pytest

from aiayn_np.cli.main import main
from aiayn_np.files import new_folder, remove_file, remove_parts, replacing
from aiayn_np.plotting import drawings
from aiayn_np.plotting.drawings import save_drawings
from aiayn_np.text.number_words import write_number_words

pytestmark = pytest.mark.skipif(os.name != "posix", reason="links, FIFOs and devices are POSIX")
WRITER = """import sys
from pathlib import Path
from aiayn_np.files import replacing
with replacing(Path(sys.argv[1])) as file:
    file.write(b"half")
    file.flush()
    print("ready", flush=True)
    sys.stdin.read()
"""
FOLDER_WRITER = """import sys
from pathlib import Path
from aiayn_np.files import new_folder
with new_folder(Path(sys.argv[1])) as folder:
    (folder / "deep").mkdir()
    (folder / "deep" / "file").write_bytes(b"half")
    print("ready", flush=True)
    sys.stdin.read()
"""


def write(path, content=b"new"):
    with replacing(path) as file:
        file.write(content)


def test_a_link_stays_and_its_file_is_replaced(tmp_path):
    (tmp_path / "there").mkdir()
    target, link = tmp_path / "there" / "target", tmp_path / "link"
    target.write_bytes(b"old")
    target.chmod(0o640)
    link.symlink_to(target)
    write(link)
    assert link.is_symlink()
    assert target.read_bytes() == b"new"
    assert stat.S_IMODE(target.stat().st_mode) == 0o640
    dangling = tmp_path / "dangling"
    dangling.symlink_to(tmp_path / "there" / "later")
    write(dangling)
    assert (tmp_path / "there" / "later").read_bytes() == b"new"
    assert sorted(os.listdir(tmp_path)) == ["dangling", "link", "there"]


def test_a_fifo_is_written_into_and_stays(tmp_path):
    fifo, read = tmp_path / "fifo", []
    os.mkfifo(fifo)
    with pytest.raises(OSError, match="fifo") as caught:               # nobody reads: no hang
        write(fifo)
    assert caught.value.errno == errno.ENXIO
    handle = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    try:
        os.set_blocking(handle, True)
        reader = threading.Thread(target=lambda: read.append(os.read(handle, 100)))
        write(fifo)
        reader.start()
        reader.join()
    finally:
        os.close(handle)
    assert read == [b"new"]
    assert stat.S_ISFIFO(fifo.stat().st_mode)


def test_a_device_is_written_into_and_stays(tmp_path, capsys, no_pictures):
    before = sorted(os.listdir("/dev"))
    write("/dev/null")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)
    argv = ["train", "copy", "--N", "1", "--d-model", "8", "--h", "2", "--steps", "1"]
    assert main([*argv, "--out", str(tmp_path / "r")]) == 0
    assert main(["explore", str(tmp_path / "r"), "1 2", "--out", "/dev/null"]) == 0
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)
    assert sorted(os.listdir("/dev")) == before
    if os.path.exists("/dev/full"):
        with pytest.raises(OSError, match="/dev/full") as caught:
            write("/dev/full")
        assert caught.value.errno == errno.ENOSPC
        assert main(["explore", str(tmp_path / "r"), "1 2", "--out", "/dev/full"]) == 1
        assert "error: /dev/full: No space left" in capsys.readouterr().err


def test_folders_and_files_that_may_not_be_written_are_refused(tmp_path, monkeypatch):
    path = tmp_path / "file"
    path.write_bytes(b"old")
    with pytest.raises(IsADirectoryError, match=str(tmp_path)):
        write(tmp_path)
    with pytest.raises(FileNotFoundError, match=r"nowhere/file'"):     # not the .part file
        write(tmp_path / "nowhere" / "file")
    monkeypatch.setattr(os, "access", lambda *_: False)                # root may everything
    with pytest.raises(PermissionError, match=r"/file'"):
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


def test_what_a_killed_process_left_is_removed_and_what_is_being_written_is_not(tmp_path):
    path = tmp_path / ("ü" * 100)                                      # 200 bytes of a name
    child = subprocess.Popen([sys.executable, "-c", WRITER, str(path)], stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE)
    with child.stdin, child.stdout:
        assert child.stdout.readline() == b"ready\n"
        (part,) = tmp_path.iterdir()
        write(path, b"meanwhile")
        assert part.exists()
        remove_parts(tmp_path)
        assert part.exists()
        child.kill()
        child.wait()
    other = tmp_path / ".other.part"
    other.write_bytes(b"")
    write(path)
    assert sorted(tmp_path.iterdir()) == [other, path]                 # of this file only
    remove_parts(tmp_path)
    assert list(tmp_path.iterdir()) == [path]
    assert path.read_bytes() == b"new"


def test_a_folder_that_a_killed_process_left_is_removed_and_one_being_filled_is_not(tmp_path):
    path = tmp_path / "folder"
    child = subprocess.Popen([sys.executable, "-c", FOLDER_WRITER, str(path)],
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    with child.stdin, child.stdout:
        assert child.stdout.readline() == b"ready\n"
        (part,) = tmp_path.iterdir()
        for content in (b"a", b"b"):                                   # made, then replaced
            with new_folder(path, replace=True) as folder:
                (folder / "file").write_bytes(content)
            assert sorted(tmp_path.iterdir()) == [part, path]
        child.kill()
        child.wait()
    with contextlib.suppress(KeyboardInterrupt), new_folder(path, replace=True) as folder:
        (folder / "file").write_bytes(b"c")
        raise KeyboardInterrupt
    assert list(tmp_path.iterdir()) == [path]
    assert (path / "file").read_bytes() == b"b"


@pytest.mark.parametrize("make", [
    lambda path: (path.mkdir(), (path / "run").write_bytes(b"other")),
    lambda path: path.write_bytes(b"other"),
    lambda path: path.symlink_to(path.parent / "other")])
def test_a_folder_that_another_made_meanwhile_is_not_replaced(tmp_path, make):
    path = tmp_path / "deep" / "folder"
    with contextlib.ExitStack() as stack:
        (stack.enter_context(new_folder(path)) / "file").write_bytes(b"mine")
        make(path)
        before = os.lstat(path)
        with pytest.raises(FileExistsError, match=r"made it meanwhile.*/deep/folder'"):
            stack.close()
    assert os.path.samestat(os.lstat(path), before)
    assert os.listdir(path.parent) == ["folder"]
    if path.is_dir():
        assert (path / "run").read_bytes() == b"other"


def test_an_empty_folder_and_a_link_to_one_are_filled(tmp_path):
    (tmp_path / "there").mkdir()
    (tmp_path / "link").symlink_to("there")
    with new_folder(tmp_path / "link") as folder:
        (folder / "file").write_bytes(b"")
    assert (tmp_path / "link").is_symlink()
    assert os.listdir(tmp_path / "there") == ["file"]
    assert sorted(os.listdir(tmp_path)) == ["link", "there"]


def test_an_error_of_a_new_folder_names_it_and_one_of_another_file_names_that(tmp_path):
    path = tmp_path / "folder"
    with pytest.raises(FileNotFoundError, match=r"/folder'"), new_folder(path) as folder:
        (folder / "deep" / "file").write_bytes(b"")
    with pytest.raises(OSError, match=r"/folder'"), new_folder(path):
        raise OSError(errno.ENOSPC, "full")                            # a write names no file
    with pytest.raises(FileNotFoundError, match="nowhere"), new_folder(path):
        (tmp_path / "nowhere").read_bytes()
    assert os.listdir(tmp_path) == []


def test_a_link_to_itself_is_refused_and_stays(tmp_path):
    link = tmp_path / "link"
    link.symlink_to(link)
    with pytest.raises(OSError, match=r"link'") as caught:
        write(link)
    assert caught.value.errno == errno.ELOOP
    assert link.is_symlink()


def test_a_file_is_removed_and_its_link_and_a_device_stay(tmp_path):
    link, target, device = (tmp_path / name for name in ("link", "target", "device"))
    target.write_bytes(b"old")
    link.symlink_to(target)
    device.symlink_to("/dev/null")
    for path in (link, link, device, tmp_path, tmp_path / "none"):
        remove_file(path)
    assert sorted(os.listdir(tmp_path)) == ["device", "link"]
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


@pytest.mark.parametrize("write", [write_number_words, save_drawings])
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
