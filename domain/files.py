"""Files: read within bounds, written whole or not at all (under a partial name, then renamed)."""

from __future__ import annotations

import contextlib
import errno
import os
import select
import stat
import time
from collections.abc import Iterator
from pathlib import Path

from galley.domain.errors import BadInput

LARGEST = 2**26  # bytes of a file that is read whole: 64 MiB
LARGEST_LOG = 2**31  # bytes of the record of a run
_PATIENCE = 10.0  # s without a byte, after which a pipe counts as one that nobody writes to
_CHUNK = 2**20


def read_text(path: Path | str, largest: int = LARGEST) -> str:
    """The text of a file; line breaks are newlines.

    Raises:
        BadInput: as ``read_bytes``, or it isn't UTF-8.
    """
    try:
        text = read_bytes(path, largest).decode("utf-8")
    except UnicodeDecodeError:
        raise BadInput.one(path, "is not UTF-8 text") from None
    return text.replace("\r\n", "\n").replace("\r", "\n")


def read_bytes(path: Path | str, largest: int = LARGEST) -> bytes:
    """What a file, pipe or device holds: the one way in which Galley reads what it is given.

    Args:
        path: of the file.
        largest: bytes; more is refused, of a file before any of it is read.

    Raises:
        BadInput: the file is missing, is a folder, can't be read, is too large, or is a pipe that
            nobody writes to.
    """
    try:
        # Not blocking: opening a pipe would wait for its writer, for ever.
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            kind = os.fstat(handle)
            if stat.S_ISDIR(kind.st_mode):
                raise IsADirectoryError
            if not stat.S_ISREG(kind.st_mode):
                largest = min(largest, LARGEST)  # it may never end
            elif kind.st_size > largest:
                raise BadInput.one(path, _too_large(largest))
            return _all_of(path, handle, largest)
        finally:
            os.close(handle)
    except FileNotFoundError:
        raise BadInput.one(path, "no such file") from None
    except IsADirectoryError:
        raise BadInput.one(path, "is a folder, expected a file") from None
    except PermissionError:
        raise BadInput.one(path, "can't be read: permission denied") from None
    except BadInput:
        raise
    except (OSError, ValueError) as error:  # a name too long, a file used as a folder, a NUL
        raise BadInput.one(path, f"can't be read: {error}") from None


def _all_of(path: Path | str, handle: int, largest: int) -> bytes:
    """What comes out of an open file until it ends."""
    waiting = select.poll()
    waiting.register(handle, select.POLLIN)
    found: list[bytes] = []
    size = 0
    until = time.monotonic() + _PATIENCE
    while True:
        if not waiting.poll(1e3 * max(0.0, until - time.monotonic())):
            what = f"is a pipe or device that gave nothing for {_PATIENCE:g} s"
            raise BadInput.one(path, what)
        data = os.read(handle, _CHUNK)
        if not data:
            return b"".join(found)
        found.append(data)
        size += len(data)
        if size > largest:
            raise BadInput.one(path, _too_large(largest))
        until = time.monotonic() + _PATIENCE


def _too_large(largest: int) -> str:
    return f"is larger than the {largest / 2**20:g} MiB that are read of such a file"


# What speaks against the name that was given; anything else (a full disk, a broken one) does not.
_OF_THE_NAME = (
    *(errno.EACCES, errno.EEXIST, errno.EISDIR, errno.ELOOP, errno.EINVAL, errno.ENAMETOOLONG),
    *(errno.ENOENT, errno.ENOTDIR, errno.EPERM, errno.EROFS),
)


@contextlib.contextmanager
def written_whole(path: Path | str, ending: str = "") -> Iterator[Path]:
    """``with written_whole(path) as partial:`` write to ``partial``; then it becomes ``path``.

    Where the block raises, ``path`` stays as it was and the partial file is removed; where the
    process is killed, only the partial file stays, under its telling name.

    Args:
        path: of the file, taken as it is; its folder exists.
        ending: of the partial file's name, for writers that choose a format by it (``.png``).

    Raises:
        BadInput: ``path`` can't be written.
        OSError: the disk is full; it names ``path``. OSErrors of the block count as either.
    """
    path = Path(path)
    if os.path.isdir(path):
        raise BadInput.one(path, "is a folder, expected a file")
    partial = path.with_name(f".{path.name}.partial{ending}")
    try:
        yield partial
        os.replace(partial, path)
    except OSError as error:
        raise write_fault(path, error) from None
    finally:
        with contextlib.suppress(OSError):
            os.unlink(partial)


def write_whole(path: Path | str, data: str | bytes) -> None:
    """Write a file in one go, whole or not at all.

    Raises:
        BadInput, OSError: as ``written_whole``.
    """
    with written_whole(path) as partial:
        partial.write_bytes(data.encode() if isinstance(data, str) else data)


def check_writable(path: Path | str, ending: str = "") -> None:
    """Find out now whether ``written_whole`` could begin; nothing is left behind.

    Raises:
        BadInput, OSError: it could not; as ``written_whole``.
    """
    path = Path(path)
    if os.path.isdir(path):
        raise BadInput.one(path, "is a folder, expected a file")
    partial = path.with_name(f".{path.name}.partial{ending}")
    try:
        open(partial, "wb").close()
        os.unlink(partial)
    except OSError as error:
        raise write_fault(path, error) from None


def write_fault(path: Path, error: OSError) -> BadInput | OSError:
    """What to raise where ``path`` can't be written: BadInput only if another path could be."""
    if isinstance(error, FileNotFoundError) and not os.path.exists(path.parent):
        return BadInput.one(path, "its folder does not exist")
    why = error.strerror or str(error)
    what = f"can't be written: {why[:1].lower()}{why[1:]}"
    if error.errno in _OF_THE_NAME:
        return BadInput.one(path, what)
    return OSError(error.errno or errno.EIO, what, str(path))
