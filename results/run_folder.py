"""The folder of a run: one process at a time writes to it, and a locked file marks it meanwhile."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import itertools
import os
import shutil
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO

from galley.domain.errors import BadInput
from galley.domain.files import read_bytes, write_atomically, write_fault

REPORT, STATES, STORE = "report.json", "states.npz", "trajectories.npz"
"""Files of a run: what happened and why, every executed state, the motions of the plan."""
INPUTS = "inputs"
"""Folder for copies of the input files, so that a stored run needs no files outside its folder."""
SCENE, DOMAIN, PROBLEM = "scene.yaml", "domain.pddl", "problem.pddl"
NO_SCENE = "has no copy of its scene: it is from an older version, or no run; add --scene FILE"
PAGE = "report.html"
"""The page is made from the other files and can be made again, so no digest of it is kept."""
UNFINISHED = "UNFINISHED"
"""Lock file in a folder while a run writes to it; removed when the run ends, also in failure."""
EARLIER = "earlier"
"""Folder to which the files of an earlier run are moved until the new run has ended."""


@contextlib.contextmanager
def run_folder(path: Path | str | None, stem: str, marker: str = REPORT) -> Iterator[Path]:
    """``with run_folder(path, stem) as folder:`` a folder for the files of one run only.

    The files of an earlier run are moved away at once, so that they are never taken for this run's.
    They are removed when this run has ended, and restored if it wrote nothing or raised BadInput.

    Args:
        path: the folder; None: a new one, ``new_names(stem)``.
        stem: beginning of a new folder's name.
        marker: name of a file that only a folder of this kind has.

    Raises:
        BadInput: the folder can't be made, or another run is writing to it.
    """
    with claimed(path, stem, marker) as folder:
        earlier = folder / EARLIER
        if earlier.is_symlink():  # not ours: never move files through a link
            earlier.unlink()
        if earlier.is_dir():  # an earlier run was killed here: keep what it had moved away
            _remove(_entries(folder))
        else:
            old = _entries(folder)
            earlier.mkdir()
            _move(old, earlier)
        try:
            yield folder
        except BaseException as error:
            if isinstance(error, BadInput) or not _entries(folder):
                _remove(_entries(folder))
                _move(list(earlier.iterdir()), folder)
                earlier.rmdir()
            elif isinstance(error, KeyboardInterrupt):
                _settle(folder)
            raise  # after other errors the files stay, as evidence
        _settle(folder)


@contextlib.contextmanager
def claimed(path: Path | str | None, stem: str, marker: str) -> Iterator[Path]:
    """``with claimed(path, stem, marker) as folder:`` a folder that no other process writes to.

    The file ``UNFINISHED`` in it is locked until the process ends. If the block raises anything but
    KeyboardInterrupt or BadInput, the file stays and marks the folder as incomplete.

    Args: as for ``run_folder``.

    Raises:
        BadInput: the folder can't be made, or another run is writing to it.
    """
    path = None if path is None else Path(path)
    # Folders that are made here are removed again if they stay empty.
    above = (Path("runs"),) if path is None else (path, *path.parents)
    made = [folder for folder in above if not os.path.lexists(folder)]
    if path is None:
        path = _new_folder(stem)
        made.insert(0, path)
    lock = _lock(path, marker)
    before, complete = set(path.iterdir()), True
    try:
        yield path
    except (BadInput, KeyboardInterrupt):
        raise
    except BaseException as error:
        complete = set(path.iterdir()) == before
        if isinstance(error, OSError) and not complete:
            error.add_note(f"completed results are in {path}")
        raise
    finally:
        if complete:
            os.unlink(path / UNFINISHED)
        lock.close()
        for folder in made:
            with contextlib.suppress(OSError):  # it is not empty
                folder.rmdir()


def _lock(folder: Path, marker: str) -> IO[bytes]:
    """Lock ``UNFINISHED`` in a folder, which is made if necessary, and return the open file."""
    mark = folder / UNFINISHED
    while True:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            lock = mark.open("a+b")
        except OSError as error:  # a name too long, say
            raise write_fault(mark if os.path.isfile(mark) else folder, error) from None
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.seek(0)
            who = lock.read().decode().partition(": ")[2].strip() or "another run"
            lock.close()
            what = f"{who} is writing here: wait until it ends, or choose another --out"
            raise BadInput.one(folder, what) from None
        except OSError:
            pass  # a file system without locks
        with contextlib.suppress(OSError):
            if os.path.samestat(os.fstat(lock.fileno()), os.stat(mark)):
                break
        lock.close()  # its run has ended and removed the file: try again
    lock.truncate(0)
    began = time.strftime("%Y-%m-%d %H:%M:%S")
    try:
        lock.write(f"{marker}: a run that began at {began} (process {os.getpid()})\n".encode())
        lock.flush()
    except OSError as error:
        raise write_fault(mark, error) from None
    return lock


def _new_folder(stem: str) -> Path:
    """Make a folder with an unused name."""
    for path in new_names(stem):
        try:
            path.mkdir(parents=True)
        except FileExistsError:
            continue
        except OSError as error:
            raise write_fault(path, error) from None
        return path
    raise AssertionError("names don't end")


def _entries(folder: Path) -> list[Path]:
    """The files and folders that a run has written, without the lock and ``EARLIER``."""
    return [entry for entry in folder.iterdir() if entry.name not in (UNFINISHED, EARLIER)]


def _settle(folder: Path) -> None:
    """Remove files that an interrupt left half written, and the files of an earlier run."""
    _remove(entry for entry in folder.iterdir() if ".partial" in entry.name)
    shutil.rmtree(folder / EARLIER)


def _move(entries: Iterable[Path], to: Path) -> None:
    for entry in entries:
        os.rename(entry, to / entry.name)


def _remove(entries: Iterable[Path]) -> None:
    for entry in entries:
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry)
        else:
            entry.unlink()


def check_destination(path: Path | str | None, stem: str, marker: str = REPORT) -> None:
    """Check that a destination holds nothing but a run, and can be written.

    Args:
        path: the folder; None: ``new_names(stem)``.
        stem: beginning of a new folder's name.
        marker: name of a file that only a folder of this kind has.

    Raises:
        BadInput: ``path`` is a file, a folder with other files in it, or can't be written.
    """
    path = next(new_names(stem)) if path is None else Path(path)
    if path.name in ("", ".."):
        raise BadInput.one(path, "can't be replaced; --out needs a folder of its own")
    if os.path.lexists(path) and not os.path.isdir(path):
        raise BadInput.one(path, "is a file; --out names a folder")
    if os.path.isdir(path) and any(path.iterdir()) and not _is_ours(path, marker):
        raise BadInput.one(path, "holds other files and no run; choose another --out")
    folder = path.resolve()
    while not os.path.exists(folder):  # unlike Path.exists, no error for a name too long
        folder = folder.parent
    if not folder.is_dir() or not os.access(folder, os.W_OK):
        raise BadInput.one(path, f"can't be written: {folder} is not a writable folder")


def _is_ours(folder: Path, marker: str) -> bool:
    """Whether a folder was written by a run of this kind, which has ended or was cut short."""
    mark = folder / UNFINISHED
    if (folder / marker).is_file() or not mark.is_file():
        return (folder / marker).is_file()
    text = mark.read_bytes()  # empty if the run was killed while writing it
    return not text or text.startswith(f"{marker}: ".encode())


def new_names(stem: str) -> Iterator[Path]:
    """Names ``runs/<stem>-<date>-<time>`` in the working folder, then the same with numbers."""
    name = f"{stem}-{time.strftime('%Y%m%d-%H%M%S')}"
    yield Path("runs") / name
    yield from (Path("runs") / f"{name}-{k}" for k in itertools.count(2))


def keep_inputs(folder: Path | str, scene: str, domain: str, problem: str, robot: str = "") -> None:
    """Copy the files of a task into a run's folder, except the user's skills, which are code.

    A pipe is not copied, as it can be read only once.

    Args:
        folder: of the run.
        scene, domain, problem: the files.
        robot: a robot file that replaces the scene's robot in the copy, or empty.

    Raises:
        BadInput, OSError: a file can't be read any more, or its copy can't be written.
    """
    from galley.domain.scene.standalone import standalone  # late: only a run needs it

    files = ((DOMAIN, domain), (PROBLEM, problem))
    copies = {name: read_bytes(file) for name, file in files if os.path.isfile(file)}
    if os.path.isfile(scene):
        text, others = standalone(scene, robot or None)
        copies |= others | {SCENE: text.encode()}
    target = Path(folder) / INPUTS
    target.mkdir()
    for name, data in copies.items():
        write_atomically(target / name, data)


def input_copy(folder: Path | str, name: str) -> Path | None:
    """The copy of an input file of a run, by its name in ``INPUTS``; None if there is none."""
    path = Path(folder) / INPUTS / name
    return path if path.is_file() else None


def digests(files: Iterable[str]) -> dict[str, str]:
    """SHA-256 of the input files of a run by name, so that later changes are noticed."""
    return {file: hashlib.sha256(read_bytes(file)).hexdigest() for file in sorted(files)}


def folder_digests(folder: Path | str) -> dict[str, str]:
    """SHA-256 of the files that a run wrote, except its reports, by their paths in its folder."""
    folder = Path(folder)
    return {
        str(file.relative_to(folder)): hashlib.sha256(file.read_bytes()).hexdigest()
        for top in sorted(_entries(folder))
        for file in (sorted(top.rglob("*")) if top.is_dir() else (top,))
        if file.is_file() and top.name not in (REPORT, PAGE) and ".partial" not in file.name
    }


def trajectory_file(recovery: int) -> str:
    """Name of the file with the motions of the plan (0), or of the N-th recovery with motions."""
    return f"trajectories_recovery_{recovery}.npz" if recovery else STORE
