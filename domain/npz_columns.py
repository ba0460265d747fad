"""Reads and writes npz files column by column, with checks; writes CSV files.

Files are written atomically, and nothing is unpickled.
"""

from __future__ import annotations

import contextlib
import csv
import io
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from galley.domain.errors import BadInput
from galley.domain.files import MAX_LOG_BYTES, atomic_file, read_bytes, write_atomically
from galley.domain.frames import Array


@dataclass(frozen=True)
class Columns:
    """The arrays of a file by name; each is checked when it is read.

    In a shape None stands for any length. The methods raise ValueError for a column that is
    missing, or of another type or shape.
    """

    arrays: Mapping[str, NDArray[Any]]

    def __contains__(self, name: str) -> bool:
        return name in self.arrays

    def numbers(
        self, name: str, shape: tuple[int | None, ...] | None = None, finite: bool = True
    ) -> Array:
        """A column of real numbers, as doubles.

        Args:
            name: name of the column.
            shape: its shape; None allows any.
            finite: whether to reject infinity and NaN, too.
        """
        # Casting others would drop the imaginary part of complex numbers.
        values = self._checked(name, "real numbers", "fiu", shape).astype(np.float64)
        if finite and not np.isfinite(values).all():
            raise ValueError(f"{name} has numbers that are not finite")
        return values

    def integers(self, name: str, shape: tuple[int | None, ...]) -> NDArray[np.int64]:
        """A column of integers with the given shape."""
        return self._checked(name, "integers", "iu", shape).astype(np.int64)

    def texts(self, name: str, shape: tuple[int | None, ...]) -> NDArray[np.str_]:
        """A column of strings with the given shape; an empty column may have any type."""
        return self._checked(name, "text", "U", shape).astype(np.str_)

    def _checked(
        self, name: str, what: str, kinds: str, shape: tuple[int | None, ...] | None
    ) -> NDArray[Any]:
        if name not in self.arrays:
            raise ValueError(f"it has no {name}")
        column = self.arrays[name]
        if shape is not None and not _fits(column.shape, shape):
            raise ValueError(f"{name} has the wrong shape, {column.shape}")
        if column.dtype.kind not in kinds and (column.size or what != "text"):
            raise ValueError(f"{name} must hold {what}, not {column.dtype}")
        return column


def _fits(actual: tuple[int, ...], shape: tuple[int | None, ...]) -> bool:
    """Whether an array's shape is the given one, in which None stands for any length."""
    same = len(actual) == len(shape)
    return same and all(n in (None, m) for m, n in zip(actual, shape, strict=True))


@contextlib.contextmanager
def read_columns(path: Path | str, refusal: str) -> Iterator[Columns]:
    """The columns of an npz file, for ``with read_columns(path, "is not a log") as columns:``.

    Args:
        path: the file.
        refusal: begins the message if the file has not the expected columns.

    Raises:
        BadInput: the file is missing, too large or not an npz file, or the block raised a
            ValueError, as the methods of ``Columns`` do.
    """
    packed = read_bytes(path, MAX_LOG_BYTES)
    try:
        if not zipfile.is_zipfile(io.BytesIO(packed)):
            raise ValueError("it is not an npz file")
        with np.load(io.BytesIO(packed), allow_pickle=False) as data:
            columns = Columns({name: _column(data, name) for name in data.files})
    except Exception as error:  # numpy raises more than ten kinds for a damaged file
        raise BadInput.one(path, f"{refusal} ({error})") from None
    try:
        yield columns
    except BadInput:
        raise
    except ValueError as error:
        raise BadInput.one(path, f"{refusal} ({error})") from None


def _column(data: Any, name: str) -> NDArray[Any]:
    """One array of an open npz file; a ValueError names it."""
    try:
        column: NDArray[Any] = data[name]
    except ValueError as error:  # such as pickled objects
        raise ValueError(f"{name}: {error}") from None
    return column


def write_columns(path: Path | str, columns: Mapping[str, Any]) -> None:
    """Write arrays by name as a compressed npz, atomically; no suffix is appended.

    Raises:
        BadInput, OSError: as ``atomic_file``.
    """
    with atomic_file(path) as partial, open(partial, "wb") as stream:
        np.savez_compressed(stream, **columns)


def write_table(path: Path | str, columns: Mapping[str, Any]) -> None:
    """Write columns of one length by name as CSV, atomically. Numbers have all digits.

    Raises:
        BadInput, OSError: as ``atomic_file``.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*(np.asarray(own).tolist() for own in columns.values()), strict=True))
    write_atomically(path, text.getvalue())
