"""Writes and reads npz files, and checks type and shape of their arrays. Nothing is unpickled."""

from __future__ import annotations

import contextlib
import io
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from tokenize import TokenError
from typing import Any

import numpy as np
from numpy.typing import NDArray

from galley.domain.errors import BadInput
from galley.domain.files import MAX_LOG_BYTES, atomic_file, read_bytes
from galley.domain.frames import Array

# What numpy raises for a file that is not an npz, is damaged, or lacks a column.
NPZ_ERRORS = (
    ValueError,
    KeyError,
    TypeError,
    OSError,
    EOFError,
    zipfile.BadZipFile,
    zlib.error,
    RuntimeError,  # encrypted, or an unknown compression
    SyntaxError,
    TokenError,
    SystemError,  # invalid Unicode
    OverflowError,
    MemoryError,  # a header that announces terabytes
)
_UNPACKED_BYTES = 64 * 2**20  # always allowed
_UNPACKED_RATIO = 100  # of unpacked to packed size, beyond that; logs of runs have 2 to 20


def write_columns(path: Path | str, columns: Mapping[str, Any]) -> None:
    """Write arrays as a compressed npz, atomically; no suffix is appended.

    Raises:
        BadInput: ``path`` can't be written.
    """
    with atomic_file(path) as partial, open(partial, "wb") as stream:
        np.savez_compressed(stream, **columns)


@contextlib.contextmanager
def told(path: Path | str, fault: str) -> Iterator[None]:
    """``with told(path, "is no log"):`` a block that reads a file's columns.

    Raises:
        BadInput: with ``fault``, for what the block raises of a damaged file.
    """
    try:
        yield
    except BadInput:
        raise
    except NPZ_ERRORS as error:
        raise BadInput.one(path, f"{fault} ({error})") from None


class Columns:
    """The arrays of an npz file, by name. Each is checked when it is taken.

    The methods' ``shape`` is the required one, with None for any length.

    Args:
        path: the file. key: of the column that holds its version. versions: that can be read.

    Attributes:
        version: of the file. arrays: all of them.

    Raises:
        BadInput: the file is missing or too large, or of another version.
        ValueError or another of ``NPZ_ERRORS``: it is not an npz, or unpacks to an absurd size; a
            column is missing, or of another type or shape.
    """

    def __init__(self, path: Path | str, key: str, *versions: int) -> None:
        packed = read_bytes(path, MAX_LOG_BYTES)
        if not zipfile.is_zipfile(io.BytesIO(packed)):
            raise ValueError("it is no npz file")
        with np.load(io.BytesIO(packed), allow_pickle=False) as data:
            unpacked = sum(part.file_size for part in data.zip.infolist())
            if unpacked > max(_UNPACKED_BYTES, _UNPACKED_RATIO * len(packed)):
                raise ValueError(f"it unpacks to {unpacked} bytes")
            self.arrays = {name: _column(data, name) for name in data.files}
        self.version = int(self.whole(key, ()))
        if self.version not in versions:
            raise BadInput.one(path, f"is of version {self.version}, expected {versions[-1]}")

    def real(
        self, name: str, shape: tuple[int | None, ...] | None = None, finite: bool = True
    ) -> Array:
        """A column as doubles; of any shape without ``shape``, and with ``finite`` without NaN."""
        values = self.arrays[name] if shape is None else self._shaped(name, shape)
        if values.dtype.kind not in "fiu":  # casting would drop the imaginary part
            raise ValueError(f"{name} must hold real numbers, not {values.dtype}")
        values = values.astype(np.float64)
        if finite and not np.isfinite(values).all():
            raise ValueError(f"{name} has numbers that are not finite")
        return np.asarray(values)

    def whole(self, name: str, shape: tuple[int | None, ...]) -> NDArray[np.int64]:
        """A column as integers."""
        values = self._shaped(name, shape)
        if values.dtype.kind not in "iu":
            raise ValueError(f"{name} must hold integers, not {values.dtype}")
        return np.asarray(values, dtype=np.int64)

    def texts(self, name: str, shape: tuple[int | None, ...]) -> NDArray[np.str_]:
        """A column of text. An empty one may have any type."""
        values = self._shaped(name, shape)
        if values.size and values.dtype.kind != "U":
            raise ValueError(f"{name} must hold text, not {values.dtype}")
        return np.asarray(values, dtype=np.str_)

    def _shaped(self, name: str, shape: tuple[int | None, ...]) -> NDArray[Any]:
        column = self.arrays[name]
        same = len(shape) == column.ndim and all(
            n in (None, m) for n, m in zip(shape, column.shape, strict=True)
        )
        if not same:
            raise ValueError(f"{name} has the wrong shape, {column.shape}")
        return column


def _column(data: Any, name: str) -> NDArray[Any]:
    try:
        return np.asarray(data[name])
    except ValueError as error:  # such as pickled objects
        raise ValueError(f"{name}: {error}") from None
