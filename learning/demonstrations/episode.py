"""One episode: observations, actions, and the outcome."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from galley.domain.frames import Array

ACTION, TIME = "action", "time"  # names that no observation may have
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
_DTYPES = ("bool", "uint8", "int8", "int16", "int32", "int64", "float32", "float64")

Layout = dict[str, tuple[str, tuple[int, ...]]]
"""Dtype and shape of one step, by name of an array."""


class NoEpisode(RuntimeError):
    """A run has no episode; the message says why."""


@dataclass(frozen=True)
class EpisodeInfo:
    """An episode without its arrays.

    Attributes:
        length: number of steps.
        duration: from the first step to the last, s.
        success: whether it succeeded; None if it wasn't judged.
        seed: of the run, or None.
        metadata: plain data of JSON; ``task`` is the task as text, if it has one.
    """

    length: int
    duration: float
    success: bool | None = None
    seed: int | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Episode:
    """An episode of T steps: at ``times[k]`` observations were made and action k was chosen.

    Arrays are read-only. They are copies, unless the given ones are read-only and own their data.
    Their dtypes are bool, uint8, int8 to int64, float32 or float64.

    Attributes:
        observations: arrays (T, ...) with at least two axes, by name, in the collector's units.
            Images are uint8 (T, height, width, 1 or 3). Text belongs in the metadata, and its index
            in an observation.
        actions: (T, d), in the collector's units.
        times: (T,), increasing, s.
        success: whether it succeeded; None if it wasn't judged.
        seed: of the run, from 0, or None.
        metadata: plain data of JSON; tuples become lists. ``task`` is the task as text.

    Raises:
        ValueError: a field is malformed; the message names the key.
    """

    observations: Mapping[str, NDArray[Any]]
    actions: NDArray[Any]
    times: Array
    success: bool | None = None
    seed: int | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        times = _frozen("times", np.asarray(self.times, dtype=np.float64))
        if times.ndim != 1 or not len(times) or not (np.diff(times) > 0).all():
            raise ValueError("times must be (T,) with T of 1 or more, and increase")
        for name in self.observations:
            if not _NAME.fullmatch(name) or name in (ACTION, TIME):
                raise ValueError(
                    f"observation {name!r}: a name begins with a letter, has letters, digits, "
                    f"'_' and '-', and is not '{ACTION}' or '{TIME}'"
                )
        observations = {
            name: _steps(f"observation '{name}'", values, len(times))
            for name, values in self.observations.items()
        }
        actions = _steps("actions", self.actions, len(times))
        if actions.ndim != 2:
            raise ValueError(f"actions must be (T, d), got {actions.shape}")
        if self.success is not None and not isinstance(self.success, (bool, np.bool_)):
            raise ValueError(f"success must be True, False or None, got {self.success!r}")
        if self.seed is not None and not (
            isinstance(self.seed, (int, np.integer)) and 0 <= self.seed < 2**63
        ):
            raise ValueError(f"seed must be an integer from 0, or None, got {self.seed!r}")
        put = object.__setattr__
        put(self, "observations", observations)
        put(self, "actions", actions)
        put(self, "times", times)
        put(self, "success", None if self.success is None else bool(self.success))
        put(self, "seed", None if self.seed is None else int(self.seed))
        put(self, "metadata", plain(self.metadata))

    def __len__(self) -> int:
        return len(self.times)

    @property
    def arrays(self) -> dict[str, NDArray[Any]]:
        """The observations by name, and ``action``."""
        return {**self.observations, ACTION: self.actions}

    @property
    def layout(self) -> Layout:
        """Dtype and shape of one step of every array."""
        return {name: (str(a.dtype), a.shape[1:]) for name, a in self.arrays.items()}

    @property
    def info(self) -> EpisodeInfo:
        """The episode's info: everything except the arrays."""
        duration = float(self.times[-1] - self.times[0])
        return EpisodeInfo(len(self), duration, self.success, self.seed, self.metadata)


def is_image(dtype: str, shape: tuple[int, ...]) -> bool:
    """Whether steps of this dtype and shape are images: uint8 (height, width, 1 or 3)."""
    return dtype == "uint8" and len(shape) == 3 and shape[2] in (1, 3)


def plain(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """A copy of metadata as JSON reads it back.

    Raises:
        ValueError: a value can't be in JSON, such as NaN or an array.
    """
    copy = {}
    for key, value in metadata.items():
        try:
            if not isinstance(key, str):
                raise TypeError("a key must be text")
            copy[key] = json.loads(json.dumps(value, allow_nan=False))
        except (TypeError, ValueError) as error:
            raise ValueError(f"metadata {key!r} is not plain data of JSON: {error}") from None
    return copy


def _steps(what: str, values: ArrayLike, length: int) -> NDArray[Any]:
    """Values as an array of ``length`` steps; raises ValueError, which begins with ``what``."""
    array = np.asarray(values)
    if str(array.dtype) not in _DTYPES:
        raise ValueError(f"{what} has dtype {array.dtype}; there are {', '.join(_DTYPES)}")
    if array.ndim < 2 or 0 in array.shape:
        raise ValueError(f"{what} must be (T, ...) with at least two axes, got {array.shape}")
    if len(array) != length:
        raise ValueError(f"{what} has {len(array)} steps, times have {length}")
    return _frozen(what, array)


def _frozen(what: str, array: NDArray[Any]) -> NDArray[Any]:
    """A read-only array of finite values; raises ValueError, which begins with ``what``."""
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise ValueError(f"{what} must be finite")
    if array.flags.owndata and array.flags.c_contiguous and not array.flags.writeable:
        return array  # pictures can take gigabytes, so don't copy them
    array = np.array(array, order="C")
    array.setflags(write=False)
    return array
