"""A run's folder: one run at a time writes there, and as long as it does a mark says so."""

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
"""Folder for copies of what a run was made from: what reads the run again needs no other file."""
SCENE, DOMAIN, PROBLEM = "scene.yaml", "domain.pddl", "problem.pddl"
NO_SCENE = "has no copy of its scene: it is of an older version, or no run; name one: --scene"
PAGE = "report.html"
"""Made from the other files: it can be made again, and no digest of it is kept."""
UNFINISHED = "UNFINISHED"
"""File in a folder that is written to. A run that ended, however, has removed it."""
EARLIER = "earlier"
"""Folder for what an earlier run left, until the new one has ended."""


@contextlib.contextmanager
def run_folder(path: Path | str | None, stem: str, marker: str = REPORT) -> Iterator[Path]:
    """``with run_folder(path, stem) as folder:`` a folder for the files of one run, and no others.

    What an earlier run left there is put away at once, so that it is never taken for this run's;
    it is removed when this one has ended, and put back if that wrote nothing or raised BadInput.

    Args:
        path: of the folder; None: a new one, ``new_names(stem)``.
        marker: a file that only such a folder has.

    Raises:
        BadInput: it can't be made, or another run writes there.
    """
    with claimed(path, stem, marker) as folder:
        earlier = folder / EARLIER
        if earlier.is_symlink():  # whoever made it: nothing is put away elsewhere
            earlier.unlink()
        if earlier.is_dir():  # a run was killed here: what it put away stays
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
            raise  # of other errors the evidence is left where it is
        _settle(folder)


@contextlib.contextmanager
def claimed(path: Path | str | None, stem: str, marker: str) -> Iterator[Path]:
    """``with claimed(path, stem, marker) as folder:`` a folder that no other process has.

    The mark in it is locked, which ends with the process. It stays where the block is cut short by
    anything but an interrupt or BadInput: what lies there is incomplete.

    Args: as ``run_folder``.

    Raises:
        BadInput: it can't be made, or another run writes there.
    """
    path = None if path is None else Path(path)
    # Folders that are not there yet are removed again if nothing comes of them.
    above = (Path("runs"),) if path is None else (path, *path.parents)
    made = [each for each in above if not os.path.lexists(each)]
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
            error.add_note(f"what was finished lies in {path}")
        raise
    finally:
        if complete:
            os.unlink(path / UNFINISHED)
        lock.close()
        for folder in made:
            with contextlib.suppress(OSError):  # something lies there
                folder.rmdir()


def _lock(folder: Path, marker: str) -> IO[bytes]:
    """The locked mark in a folder, which is made if need be."""
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
            what = f"{who} writes here; wait for its end, or choose another --out"
            raise BadInput.one(folder, what) from None
        except OSError:
            pass  # a file system without locks
        with contextlib.suppress(OSError):
            if os.path.samestat(os.fstat(lock.fileno()), os.stat(mark)):
                break
        lock.close()  # the run that had it has ended, and removed it
    lock.truncate(0)
    began = time.strftime("%Y-%m-%d %H:%M:%S")
    try:
        lock.write(f"{marker}: a run that began at {began} (process {os.getpid()})\n".encode())
        lock.flush()
    except OSError as error:
        raise write_fault(mark, error) from None
    return lock


def _new_folder(stem: str) -> Path:
    """A folder of a name that nobody has, made."""
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
    """What a run has written to its folder."""
    return [each for each in folder.iterdir() if each.name not in (UNFINISHED, EARLIER)]


def _settle(folder: Path) -> None:
    """Remove what was half written when an interrupt came, and what an earlier run left."""
    _remove(each for each in folder.iterdir() if ".partial" in each.name)
    shutil.rmtree(folder / EARLIER)


def _move(entries: Iterable[Path], to: Path) -> None:
    for each in entries:
        os.rename(each, to / each.name)


def _remove(entries: Iterable[Path]) -> None:
    for each in entries:
        if each.is_dir() and not each.is_symlink():
            shutil.rmtree(each)
        else:
            each.unlink()


def check_destination(path: Path | str | None, stem: str, marker: str = REPORT) -> None:
    """Refuse a destination that would overwrite something that is not a run.

    Args:
        path: of a folder; None: ``new_names(stem)``.
        marker: a file that only such a folder has.

    Raises:
        BadInput: ``path`` is a file, a folder with other things in it, or can't be written.
    """
    path = next(new_names(stem)) if path is None else Path(path)
    if path.name in ("", ".."):
        raise BadInput.one(path, "can't be replaced; --out names a folder of its own")
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
    """Whether a run of this kind ended in a folder, or was cut short there."""
    mark = folder / UNFINISHED
    if (folder / marker).is_file() or not mark.is_file():
        return (folder / marker).is_file()
    text = mark.read_bytes()  # empty: cut short while it was written
    return not text or text.startswith(f"{marker}: ".encode())


def new_names(stem: str) -> Iterator[Path]:
    """``runs/<stem>-<date>-<time>``, in the folder where the user is; with numbers, if taken."""
    name = f"{stem}-{time.strftime('%Y%m%d-%H%M%S')}"
    yield Path("runs") / name
    yield from (Path("runs") / f"{name}-{k}" for k in itertools.count(2))


def keep_inputs(folder: Path | str, scene: str, domain: str, problem: str, robot: str = "") -> None:
    """Copy the files of a task into a run's folder; the user's skills are code, and are not copied.

    ``robot``, a robot file, takes the place of the scene's robot in the copy.

    A pipe is left out: it was read to its end.

    Raises:
        BadInput, OSError: a file can't be read any more, or its copy can't be written.
    """
    from galley.domain.scene.standalone import standalone  # late: only a run needs it

    files = ((DOMAIN, domain), (PROBLEM, problem))
    copies = {name: read_bytes(file) for name, file in files if os.path.isfile(file)}
    if os.path.isfile(scene):
        text, others = standalone(scene, robot or None)
        copies |= others | {SCENE: text.encode()}
    kept = Path(folder) / INPUTS
    kept.mkdir()
    for name, data in copies.items():
        write_atomically(kept / name, data)


def kept_input(folder: Path | str, name: str) -> Path | None:
    """The copy of a file that a run was made from; None where there is none."""
    path = Path(folder) / INPUTS / name
    return path if path.is_file() else None


def digests(files: Iterable[str]) -> dict[str, str]:
    """SHA-256 of the files that a run was made from, so that a later check sees a change."""
    return {file: hashlib.sha256(read_bytes(file)).hexdigest() for file in sorted(files)}


def folder_digests(folder: Path | str) -> dict[str, str]:
    """SHA-256 of the files that a run wrote, by their names in its folder; not of its reports."""
    folder = Path(folder)
    return {
        str(file.relative_to(folder)): hashlib.sha256(file.read_bytes()).hexdigest()
        for top in sorted(_entries(folder))
        for file in (sorted(top.rglob("*")) if top.is_dir() else (top,))
        if file.is_file() and top.name not in (REPORT, PAGE) and ".partial" not in file.name
    }


def store_name(recovery: int) -> str:
    """The file with the motions of the N-th recovery that found some; 0: of the plan."""
    return f"trajectories_recovery_{recovery}.npz" if recovery else STORE
