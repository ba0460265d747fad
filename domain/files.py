"""Bounded file reads and atomic writes (to a partial file or folder that is then renamed)."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path

from galley.domain.errors import BadInput
from galley.domain.shipped import did_you_mean_file

MAX_FILE_BYTES = 2**26  # largest size of most input files, bytes: 64 MiB
MAX_LOG_BYTES = 2**31  # largest size of a log, bytes: 2 GiB


def read_text(
    path: Path | str, largest: int = MAX_FILE_BYTES, blank: re.Pattern[bytes] | None = None
) -> str:
    """The text of a UTF-8 file, with line breaks converted to newlines.

    Args:
        path, largest: as for ``read_bytes``.
        blank: bytes that match become spaces before the text is decoded.

    Raises:
        BadInput: as ``read_bytes``, or the file is not UTF-8.
    """
    data = read_bytes(path, largest)
    if blank is not None:
        data = blank.sub(lambda match: b" " * len(match[0]), data)
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        before = data[: error.start]
        line, column = before.count(b"\n") + 1, error.start - before.rfind(b"\n")
        raise BadInput.one(path, "is not UTF-8 text", line, column) from None
    return text.replace("\r\n", "\n").replace("\r", "\n")


def read_pairs(path: Path | str, what: str) -> list[tuple[int, float, float]]:
    """The two numbers in each line of a CSV file, which may have a header.

    Args:
        path: the file.
        what: the expected numbers, for the message.

    Returns:
        For each line that is not empty: its 1-based number, and the two numbers.

    Raises:
        BadInput: as ``read_text``, or a line doesn't have two numbers.
    """
    pairs = []
    for line, text in enumerate(read_text(path).splitlines(), 1):
        cells = [cell.strip().strip('"') for cell in text.split(",")]
        if not any(cells) or (line == 1 and len(cells) == 2 and not any(map(_is_number, cells))):
            continue  # empty, or a header
        try:
            first, second = map(float, cells)
        except ValueError:
            raise BadInput.one(path, f"expected {what}", line) from None
        pairs.append((line, first, second))
    return pairs


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def read_bytes(path: Path | str, largest: int = MAX_FILE_BYTES) -> bytes:
    """The contents of a file, pipe or device. All input files are read by this function.

    Args:
        path: the file; a pipe is read until its writer closes it.
        largest: largest size, bytes. A pipe or device may have at most 64 MiB.

    Raises:
        BadInput: the file is missing, a folder, unreadable or too large.
    """
    try:
        with open(path, "rb") as stream:
            size = os.fstat(stream.fileno()).st_size  # 0: a pipe or device, it may be endless
            most = largest if size else min(largest, MAX_FILE_BYTES)
            data = stream.read((size or most) + 1) if size <= most else b""
    except FileNotFoundError:
        raise BadInput.one(path, f"no such file{did_you_mean_file(path)}") from None
    except IsADirectoryError:
        raise BadInput.one(path, "is a folder, expected a file") from None
    except PermissionError:
        raise BadInput.one(path, "can't be read: permission denied") from None
    except (OSError, ValueError) as error:  # a name too long, a file used as a folder, a NUL
        raise BadInput.one(path, f"can't be read: {error}") from None
    if max(size, len(data)) > most:
        what = f"is larger than {most / 2**20:g} MiB, the most that is read of such a file"
        raise BadInput.one(path, what)
    return data


# Errors that another path could avoid; others, such as a full disk, could not.
_PATH_ERRORS = (
    *(errno.EACCES, errno.EEXIST, errno.EISDIR, errno.ELOOP, errno.EINVAL, errno.ENAMETOOLONG),
    *(errno.ENOENT, errno.ENOTDIR, errno.EPERM, errno.EROFS),
)


@contextlib.contextmanager
def atomic_file(path: Path | str, ending: str = "") -> Iterator[Path]:
    """``with atomic_file(path) as partial:`` write to ``partial``, which then replaces ``path``.

    If the block raises, ``path`` is unchanged and the partial file is removed. If the process is
    killed, the partial file remains beside ``path``.

    Args:
        path: the file; its folder must exist.
        ending: suffix of the partial file, for writers that choose a format by it (``.png``).

    Raises:
        BadInput: ``path`` can't be written.
        OSError: the disk is full. OSErrors raised in the block are converted alike.
    """
    path = Path(path)
    partial = _new_file(path, ending)
    try:
        yield partial
        os.replace(partial, path)
    except OSError as error:
        raise write_fault(path, error) from None
    finally:
        with contextlib.suppress(OSError):
            os.unlink(partial)


def write_atomically(path: Path | str, data: str | bytes) -> None:
    """Write a file atomically.

    Raises:
        BadInput, OSError: as ``atomic_file``.
    """
    with atomic_file(path) as partial:
        partial.write_bytes(data.encode() if isinstance(data, str) else data)


@contextlib.contextmanager
def atomic_folder(path: Path | str) -> Iterator[Path]:
    """``with atomic_folder(path) as partial:`` fill ``partial``, which then becomes ``path``.

    If the block raises, ``partial`` is removed. If the process is killed, it remains beside
    ``path``, until the next call removes it.

    Args:
        path: does not exist, or is an empty folder; its own folder must exist.

    Raises:
        BadInput: ``path`` is there already, or can't be written.
        OSError: the disk is full. OSErrors raised in the block are converted alike.
    """
    path = Path(path)
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise BadInput.one(path, "exists already; choose another name, or remove it")
    partial = path.with_name(f".{path.name}.partial")
    try:
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir()
        yield partial
        os.replace(partial, path)
    except OSError as error:
        raise write_fault(path, error) from None
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def check_writable(path: Path | str, ending: str = "") -> None:
    """Check in advance that ``path`` can be written; leaves nothing behind.

    Raises:
        BadInput, OSError: as ``atomic_file``.
    """
    os.unlink(_new_file(Path(path), ending))


def _new_file(path: Path, ending: str) -> Path:
    """Create an empty file beside ``path``, under a new name.

    It is opened exclusively, so an existing file, or the target of a link, is never overwritten.
    """
    if os.path.isdir(path):
        raise BadInput.one(path, "is a folder, expected a file")
    partial = path.with_name(f".{path.name}.{secrets.token_hex(4)}.partial{ending}")
    try:
        os.close(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))
    except OSError as error:
        raise write_fault(path, error) from None
    return partial


def write_fault(path: Path | str, error: OSError) -> BadInput | OSError:
    """What to raise if ``path`` can't be written: BadInput only if another path may work."""
    path = Path(path)
    if isinstance(error, FileNotFoundError) and not os.path.exists(path.parent):
        return BadInput.one(path, "its folder does not exist")
    why = error.strerror or str(error)
    what = f"can't be written: {why[:1].lower()}{why[1:]}"
    if error.errno in _PATH_ERRORS:
        return BadInput.one(path, what)
    return OSError(error.errno or errno.EIO, what, str(path))
