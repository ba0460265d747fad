"""Atomic writes, bounded reads, and one-line errors."""

import errno
import os
import resource
import signal
import threading

import pytest

from galley.domain.errors import BadInput
from galley.domain.files import atomic_file, atomic_folder, check_writable, read_bytes
from galley.domain.log import Log
from galley.domain.meshes import read_mesh
from galley.domain.pddl.reader import read_domain
from galley.domain.scene.reader import load_scene
from galley.motion.trajectory.trajectory import read_trajectories


def names(folder):
    return sorted(p.name for p in folder.iterdir())


def test_a_file_appears_at_the_end_of_the_block(tmp_path):
    with atomic_file(tmp_path / "a.txt", ".txt") as partial:
        assert partial.suffix == ".txt"
        partial.write_text("half")
        assert names(tmp_path) == [partial.name]
        partial.write_text("whole")
    assert names(tmp_path) == ["a.txt"]
    assert (tmp_path / "a.txt").read_text() == "whole"


@pytest.mark.parametrize("kind", [ZeroDivisionError, KeyboardInterrupt])
def test_a_block_that_raises_leaves_the_old_file_and_nothing_else(kind, tmp_path):
    def interrupted(path):
        with atomic_file(path) as partial:
            partial.write_text("half")
            raise kind

    (tmp_path / "a.txt").write_text("old")
    with pytest.raises(kind):
        interrupted(tmp_path / "a.txt")
    assert names(tmp_path) == ["a.txt"]
    assert (tmp_path / "a.txt").read_text() == "old"


@pytest.mark.parametrize(
    ("path", "what"),
    [
        ("folder", "is a folder, expected a file"),
        ("no/a", "its folder does not exist"),
        ("file/a", "can't be written: not a directory"),
        ("a" * 300, "can't be written: file name too long"),
        ("/proc/a", "can't be written: "),
    ],
)
def test_what_can_not_be_written_is_bad_input_in_one_line(path, what, tmp_path):
    (tmp_path / "file").touch()
    (tmp_path / "folder").mkdir()
    for attempt in (check_writable, write):
        with pytest.raises(BadInput) as caught:
            attempt(tmp_path / path)
        (error,) = caught.value.errors
        assert error.file == str(tmp_path / path)
        assert error.what.startswith(what)
        assert "\n" not in str(error)
    assert names(tmp_path) == ["file", "folder"]


def test_a_folder_appears_at_the_end_of_the_block_and_replaces_none_but_an_empty_one(tmp_path):
    left = tmp_path / ".out.partial"  # of a call that was killed
    left.mkdir()
    (left / "old").write_text("old")
    (tmp_path / "out").mkdir()
    with atomic_folder(tmp_path / "out") as partial:
        (partial / "new").write_text("new")
        assert names(tmp_path / "out") == []
    assert names(tmp_path) == ["out"]
    assert names(tmp_path / "out") == ["new"]
    for there in ("out", "out/new"):
        with pytest.raises(BadInput, match="exists already"), atomic_folder(tmp_path / there):
            raise AssertionError("the block ran")


@pytest.mark.parametrize("kind", [ZeroDivisionError, KeyboardInterrupt])
def test_a_block_that_raises_leaves_no_folder(kind, tmp_path):
    def interrupted():
        with atomic_folder(tmp_path / "out") as partial:
            (partial / "half").write_text("half")
            raise kind

    with pytest.raises(kind):
        interrupted()
    assert names(tmp_path) == []


def write(path):
    with atomic_file(path) as partial:
        partial.write_text("a")


def test_a_disk_that_is_full_is_no_bad_input_and_the_old_file_stays(tmp_path):
    def write_much(path):
        with atomic_file(path) as partial, open(partial, "wb") as stream:
            resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))  # as a disk that is full
            stream.write(bytes(100_000))

    (tmp_path / "a").write_text("old")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        with pytest.raises(OSError, match="can't be written: file too large") as caught:
            write_much(tmp_path / "a")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, handler)
    assert (caught.value.errno, caught.value.filename) == (errno.EFBIG, str(tmp_path / "a"))
    assert names(tmp_path) == ["a"]
    assert (tmp_path / "a").read_text() == "old"


# -- reading ------------------------------------------------------------------------------------


@pytest.fixture
def odd(tmp_path):
    """Files that never end, or are larger than a disk should hold."""
    with open(tmp_path / "huge", "wb") as huge:
        huge.truncate(2**40)  # takes no room
    (tmp_path / "endless").symlink_to("/dev/zero")
    return tmp_path


def test_a_pipe_is_read_to_its_end(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    data = bytes(range(256)) * 4096  # more than a pipe holds
    writer = threading.Thread(target=(tmp_path / "pipe").write_bytes, args=(data,))
    writer.start()
    assert read_bytes(tmp_path / "pipe") == data
    writer.join()


READERS = {
    "scene": load_scene,
    "PDDL": read_domain,
    "log": Log.load,
    "trajectories": read_trajectories,
    "mesh": read_mesh,
}


@pytest.mark.parametrize("kind", READERS)
@pytest.mark.parametrize("name", ["endless", "huge"])
def test_every_kind_of_file_is_read_within_bounds(kind, name, odd):
    path = odd / name
    if kind == "mesh":
        path = path.rename(odd / f"{name}.obj")
    with pytest.raises(BadInput, match="is larger than"):
        READERS[kind](path)
