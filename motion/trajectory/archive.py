"""Archives of trajectories: npz files of numbers and text, without pickles, written atomically.

One format for a single trajectory (``Trajectory.save``) and for the many of a run (``store``):
``group`` (m,) names the joint group of each; trajectory k has ``k_breaks`` (n + 1,) and
``k_coefficients`` (n, d + 1, joints). More columns may stand beside these.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from galley.domain.columns import Columns, told, write_columns
from galley.domain.frames import Array

STORE_VERSION = 2
READABLE = (1, 2)
"""Versions that can be read: version 1 has fewer columns beside the trajectories."""

_SHORTEST = 0.99e-9  # s, of a piece: 1 ns, less rounding
_FARTHEST = 1e9  # m or rad, of a piece's terms: sums of larger ones are all rounding


class Archive(Columns):
    """The columns of a file, with its trajectories; ``version`` is one of ``READABLE``.

    Attributes:
        curves: group, breaks (n + 1,) and coefficients (n, d + 1, k) of each trajectory.
    """

    def __init__(self, path: Path | str) -> None:
        super().__init__(path, "store_version", *READABLE)
        groups = self.texts("group", (None,)).tolist()
        self.curves = tuple((group, *_curve(k, self)) for k, group in enumerate(groups))


def write_archive(
    path: Path | str, curves: list[tuple[str, Array, Array]], more: Mapping[str, Any] | None = None
) -> None:
    """Write trajectories (group, breaks, coefficients) atomically.

    Args:
        path: of the file; no suffix is appended.
        curves: as in ``Archive``.
        more: further columns, numbers or text.

    Raises:
        BadInput: ``path`` can't be written.
    """
    data: dict[str, Any] = {
        "store_version": np.array(STORE_VERSION),
        "group": np.array([group for group, _, _ in curves], dtype=np.str_),
        **(more or {}),
    }
    for k, (_, breaks, coefficients) in enumerate(curves):
        data[f"{k}_breaks"], data[f"{k}_coefficients"] = breaks, coefficients
    write_columns(path, data)


def read_archive(path: Path | str) -> Archive:
    """Reads what ``write_archive`` wrote.

    Raises:
        BadInput: no such file, another format or version, or invalid trajectories.
    """
    with told(path, "holds no trajectories"):
        return Archive(path)


def _curve(k: int, columns: Columns) -> tuple[Array, Array]:
    """Checked numbers of trajectory k."""
    breaks, coefficients = columns.real(f"{k}_breaks"), columns.real(f"{k}_coefficients")
    if breaks.ndim != 1 or coefficients.ndim != 3 or len(breaks) != len(coefficients) + 1:
        raise ValueError(f"trajectory {k} has arrays of the wrong shape")
    if not len(coefficients) or 0 in coefficients.shape:
        raise ValueError(f"trajectory {k} is empty")
    if breaks[0] != 0.0 or (np.diff(breaks) <= 0).any():
        raise ValueError(f"the times of trajectory {k} do not increase from 0")
    if np.diff(breaks).min() < _SHORTEST:
        raise ValueError(f"trajectory {k} has a piece shorter than 1 ns")
    with np.errstate(over="ignore", invalid="ignore"):
        spans = np.diff(breaks)[:, None] ** np.arange(coefficients.shape[1])
        sizes = np.abs(coefficients * spans[:, :, None]).max()
    if not sizes < _FARTHEST:
        raise ValueError(f"trajectory {k} leads out of this world")
    return breaks, coefficients
