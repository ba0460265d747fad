"""What a policy learns from: windows of episodes, as numbers that its network sees and says.

A window has as many steps as the policy predicts, and begins with its observations. Episodes go on
beyond both ends, as in diffusion_policy's ``SequenceSampler``: the first observation stands for
those before it, the last action for those after it. So every step is once the last one observed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from galley.domain.frames import Array
from galley.learning.policy.design import Design
from galley.learning.policy.views import Views

Track = tuple[Array, Array]
"""An episode's states (T, 5), as the environment's ``state``, and its targets (T, 2) m."""

_NARROWEST = 1e-3  # of a feature's deviation, m or of a cosine: others are constant
_MARGIN = 1e-4  # m, of the range of targets


@dataclass(frozen=True)
class Scale:
    """Linear maps of features and of targets to numbers about 1, from the data.

    Attributes:
        middle, spread: (f,) mean and standard deviation of each feature.
        low, high: (prediction_horizon, 2) range of each target, which becomes -1 to 1: the next
            ones are nearer, and so more exact.
    """

    middle: Array
    spread: Array
    low: Array
    high: Array

    @classmethod
    def of(cls, features: Array, targets: Array) -> Scale:
        """Of features (n, f) and targets (n, T, 2)."""
        spread = features.std(axis=0)
        spread[spread < _NARROWEST] = 1.0
        low, high = targets.min(axis=0) - _MARGIN, targets.max(axis=0) + _MARGIN
        return cls(features.mean(axis=0), spread, low, high)

    def features(self, features: Array) -> NDArray[np.float32]:
        """Features (..., f) for the network."""
        return np.asarray((features - self.middle) / self.spread, dtype=np.float32)

    def targets(self, targets: Array) -> NDArray[np.float32]:
        """Targets (..., 2) m for the network."""
        share = (targets - self.low) / (self.high - self.low)
        return np.asarray(2.0 * share - 1.0, dtype=np.float32)

    def metres(self, numbers: NDArray[np.float32]) -> Array:
        """Targets (..., 2) m: the inverse of ``targets``."""
        share = (np.asarray(numbers, dtype=np.float64) + 1.0) / 2.0
        return np.asarray(self.low + share * (self.high - self.low))


def windows(length: int, design: Design) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Steps (n, observation_horizon) and (n, prediction_horizon) of an episode's windows."""
    before = design.observation_horizon - 1
    starts = np.arange(-before, length - before)[:, None]
    steps = np.clip(starts + np.arange(design.prediction_horizon), 0, length - 1)
    return steps[:, : before + 1], steps


def learned(tracks: Sequence[Track], views: Views) -> tuple[Array, Array]:
    """Features (n, f) and targets (n, prediction_horizon, 2), in the policy's frame, of tracks."""
    features, targets = [], []
    for states, actions in tracks:
        seen, said = windows(len(states), views.design)
        numbers, frame = views.features(views.observed(states)[seen])
        features.append(numbers)
        targets.append(views.seen(actions[said], frame))
    return np.concatenate(features), np.concatenate(targets)


def digest(tracks: Sequence[Track]) -> str:
    """Of all states and targets, to the last bit."""
    total = hashlib.sha256()
    for part in _parts(tracks):
        total.update(np.ascontiguousarray(part, dtype="<f8").tobytes())
    return total.hexdigest()[:16]


def _parts(tracks: Sequence[Track]) -> Iterator[Array]:
    for states, actions in tracks:
        yield np.array([len(states)])
        yield states
        yield actions
