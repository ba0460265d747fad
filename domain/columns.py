"""Reads the arrays of an npz file and checks their type and shape. Nothing is unpickled."""

from __future__ import annotations

import io
import zipfile
import zlib
from pathlib import Path
from tokenize import TokenError
from typing import Any

import numpy as np
from numpy.typing import NDArray

from galley.domain.files import MAX_LOG_BYTES, read_bytes
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


def read_columns(path: Path | str) -> dict[str, NDArray[Any]]:
    """The arrays of a file, by name.

    Raises:
        BadInput: the file is missing or too large.
        ValueError or another of ``NPZ_ERRORS``: it is not an npz, or unpacks to an absurd size.
    """
    packed = read_bytes(path, MAX_LOG_BYTES)
    with np.load(io.BytesIO(packed), allow_pickle=False) as data:
        unpacked = sum(part.file_size for part in data.zip.infolist())
        if unpacked > max(_UNPACKED_BYTES, _UNPACKED_RATIO * len(packed)):
            raise ValueError(f"it unpacks to {unpacked} bytes")
        return {name: _column(data, name) for name in data.files}


def _column(data: Any, name: str) -> NDArray[Any]:
    try:
        column: NDArray[Any] = data[name]
    except ValueError as error:  # such as pickled objects
        raise ValueError(f"{name}: {error}") from None
    return column


def real_numbers(
    name: str,
    values: Any,
    shape: tuple[int | None, ...] | None = None,
    finite: bool = True,
) -> Array:
    """The column ``name`` as doubles.

    Args:
        shape: the required shape, with None for any length; None for any shape.
        finite: whether to reject infinity and NaN.

    Raises:
        ValueError: not real numbers, another shape, or not finite.
    """
    values = np.asarray(values) if shape is None else _shaped(name, values, shape)
    if values.dtype.kind not in "fiu":  # casting would drop the imaginary part of complex numbers
        raise ValueError(f"{name} must hold real numbers, not {values.dtype}")
    values = values.astype(np.float64)
    if finite and not np.isfinite(values).all():
        raise ValueError(f"{name} has numbers that are not finite")
    return np.asarray(values)


def whole_numbers(name: str, values: Any, shape: tuple[int | None, ...]) -> NDArray[np.int64]:
    """The column ``name`` as integers of ``shape``, with None for any length.

    Raises:
        ValueError: another type or shape.
    """
    values = _shaped(name, values, shape)
    if values.dtype.kind not in "iu":
        raise ValueError(f"{name} must hold integers, not {values.dtype}")
    return np.asarray(values, dtype=np.int64)


def texts(name: str, values: Any, shape: tuple[int | None, ...]) -> list[Any]:
    """The column ``name``, of ``shape`` as above, as nested lists of strings.

    Raises:
        ValueError: another type or shape. An empty column may have any type.
    """
    values = _shaped(name, values, shape)
    if values.size and values.dtype.kind != "U":
        raise ValueError(f"{name} must hold text, not {values.dtype}")
    return list(values.tolist())


def _shaped(name: str, values: Any, shape: tuple[int | None, ...]) -> NDArray[Any]:
    column: NDArray[Any] = np.asarray(values)
    same_rank = len(shape) == column.ndim
    if not same_rank or any(n not in (None, m) for n, m in zip(shape, column.shape, strict=True)):
        raise ValueError(f"{name} has the wrong shape, {column.shape}")
    return column
