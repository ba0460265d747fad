"""Statistics of demonstrations: range, mean and deviation of each array."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from galley.domain.frames import Array
from galley.learning.demonstrations.episode import Episode, is_image


@dataclass(frozen=True, eq=False)
class Moments:
    """Moments of an array over its steps, for every component; of images for every channel.

    Attributes:
        count: number of steps.
        low, high: least and greatest value; the shape of a step, or (channels,).
        mean: of the same shape.
        std: standard deviation of the population, of the same shape.
    """

    count: int
    low: Array
    high: Array
    mean: Array
    std: Array

    @classmethod
    def of(cls, array: NDArray[Any]) -> Moments:
        """The moments of an array (T, ...)."""
        if is_image(str(array.dtype), array.shape[1:]):
            return cls._of_images(array)
        values = array.astype(np.float64)
        low, high = values.min(axis=0), values.max(axis=0)
        return cls(len(array), low, high, values.mean(axis=0), values.std(axis=0))

    @classmethod
    def _of_images(cls, images: NDArray[np.uint8]) -> Moments:
        # Counting the 256 values is exact, and never holds a film as floats.
        levels, channels = np.arange(256.0), range(images.shape[3])
        counts = np.array([np.bincount(images[..., c].ravel(), minlength=256) for c in channels])
        weights = counts / counts.sum(axis=1, keepdims=True)
        seen = counts > 0
        mean = weights @ levels
        std = np.sqrt((weights * (levels - mean[:, None]) ** 2).sum(axis=1))
        low = np.where(seen, levels, np.inf).min(axis=1)
        return cls(len(images), low, np.where(seen, levels, 0).max(axis=1), mean, std)

    @classmethod
    def merged(cls, parts: Sequence[Moments]) -> Moments:
        """The moments of all steps of several arrays (Chan, Golub and LeVeque 1983)."""
        counts = np.array([part.count for part in parts])
        means = np.stack([part.mean for part in parts])
        mean = np.average(means, axis=0, weights=counts)
        squares = np.stack([part.std**2 for part in parts]) + (means - mean) ** 2
        return cls(
            int(counts.sum()),
            np.min([part.low for part in parts], axis=0),
            np.max([part.high for part in parts], axis=0),
            mean,
            np.sqrt(np.average(squares, axis=0, weights=counts)),
        )


def summarize(episodes: Iterable[Episode]) -> dict[str, Moments]:
    """The moments of each array of episodes, which are loaded one by one.

    Args:
        episodes: with the same arrays, see ``selection.alike``.

    Returns:
        Moments by name of an observation, and of ``action``.

    Raises:
        ValueError: there are no episodes.
    """
    parts = dict[str, list[Moments]]()
    for episode in episodes:
        for name, array in episode.arrays.items():
            parts.setdefault(name, []).append(Moments.of(array))
    if not parts:
        raise ValueError("there are no episodes")
    return {name: Moments.merged(several) for name, several in parts.items()}
