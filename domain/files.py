"""Files that appear whole or not at all: written under a partial name, then renamed."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator
from pathlib import Path

from galley.domain.errors import BadInput

# What speaks against the name that was given; anything else (a full disk, a broken one) does not.
_OF_THE_NAME = (
    *(errno.EACCES, errno.EISDIR, errno.ELOOP, errno.EINVAL, errno.ENAMETOOLONG),
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
