"""Columns of an npz file: its arrays by name, and what they must hold. Nothing is unpickled.

Every reader of such a file asks here for numbers and texts of a shape, before it looks at them.
"""

from __future__ import annotations

import io
import zipfile
import zlib
from pathlib import Path
from tokenize import TokenError
from typing import Any

import numpy as np
from numpy.typing import NDArray

from galley.domain.files import LARGEST_LOG, read_bytes
from galley.domain.frames import Array

# What numpy raises for a file that isn't an npz, or lacks a column, or is damaged.
UNREADABLE = (
    ValueError,
    KeyError,
    TypeError,
    OSError,
    EOFError,
    zipfile.BadZipFile,
    zlib.error,
    RuntimeError,  # encrypted, or a compression of another kind
    SyntaxError,
    TokenError,
    SystemError,  # text beyond Unicode
    OverflowError,
    MemoryError,  # a header that promises terabytes
)
_LEAST = 64 * 2**20  # bytes that any file may unpack to
_MOST = 100  # times its own size, beyond that: what a run leaves behind is packed 2 to 20 times


def read_columns(path: Path) -> dict[str, NDArray[Any]]:
    """Every array of a file, by name.

    Raises:
        BadInput: there is no such file, or it is too large.
        ValueError or another of ``UNREADABLE``: it is no npz, or unpacks to far more than it is.
    """
    packed = read_bytes(path, LARGEST_LOG)
    with np.load(io.BytesIO(packed), allow_pickle=False) as data:
        unpacked = sum(part.file_size for part in data.zip.infolist())
        if unpacked > max(_LEAST, _MOST * len(packed)):
            raise ValueError(f"it unpacks to {unpacked} bytes")
        return {name: _column(data, name) for name in data.files}


def _column(data: Any, name: str) -> NDArray[Any]:
    try:
        found: NDArray[Any] = data[name]
    except ValueError as error:  # objects, say
        raise ValueError(f"{name}: {error}") from None
    return found


def real_numbers(
    name: str,
    values: Any,
    shape: tuple[int | None, ...] | None = None,
    finite: bool = True,
) -> Array:
    """The column ``name`` as doubles.

    Args:
        shape: that it must have, in which None is any length; None for any shape.
        finite: none may be infinite or NaN.

    Raises:
        ValueError: it holds something else than real numbers, of another shape, or not finite.
    """
    values = np.asarray(values) if shape is None else _shaped(name, values, shape)
    if values.dtype.kind not in "fiu":  # a complex number would lose a part without a word
        raise ValueError(f"{name} has no real numbers but {values.dtype}")
    values = values.astype(np.float64)
    if finite and not np.isfinite(values).all():
        raise ValueError(f"{name} has numbers that are not finite")
    return np.asarray(values)


def whole_numbers(name: str, values: Any, shape: tuple[int | None, ...]) -> NDArray[np.int64]:
    """The column ``name`` as whole numbers of ``shape``, in which None is any length.

    Raises:
        ValueError: it holds something else.
    """
    values = _shaped(name, values, shape)
    if values.dtype.kind not in "iu":
        raise ValueError(f"{name} has no whole numbers but {values.dtype}")
    return np.asarray(values, dtype=np.int64)


def texts(name: str, values: Any, shape: tuple[int | None, ...]) -> list[Any]:
    """The column ``name``, of ``shape`` as above, as nested lists of strings.

    Raises:
        ValueError: it holds something else. An empty column may be of any kind.
    """
    values = _shaped(name, values, shape)
    if values.size and values.dtype.kind != "U":
        raise ValueError(f"{name} has no text but {values.dtype}")
    return list(values.tolist())


def _shaped(name: str, values: Any, shape: tuple[int | None, ...]) -> NDArray[Any]:
    found: NDArray[Any] = np.asarray(values)
    fits = len(shape) == found.ndim
    if not fits or any(n not in (None, m) for n, m in zip(shape, found.shape, strict=True)):
        raise ValueError(f"{name} has the wrong shape, {found.shape}")
    return found
