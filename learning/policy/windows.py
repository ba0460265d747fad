"""Training samples of a policy: windows of episodes as features and targets, and their scale.

A window has as many steps as the policy predicts, and begins with its observations. Episodes are
padded at both ends, as in diffusion_policy's ``SequenceSampler``: the first observation stands for
those before it, the last action for those after it. So each step is the last observation of one
window.
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
"""An episode's states (T, 5), as of the environment's ``state``, and its targets (T, 2), m."""

_NARROWEST = 1e-3  # least deviation (m, or of a cosine) of a feature that isn't constant
_MARGIN = 1e-4  # m, added to the range of targets on either side


@dataclass(frozen=True)
class Scale:
    """Linear maps of features and targets to numbers of the order of 1, from the data.

    Attributes:
        middle, spread: (f,), mean and standard deviation of each feature.
        low, high: (prediction_horizon, 2), range of each target, m, which becomes -1 to 1. Each
            step has its own range: the next targets are nearer, and so become more exact.
    """

    middle: Array
    spread: Array
    low: Array
    high: Array

    @classmethod
    def of(cls, features: Array, targets: Array) -> Scale:
        """The scale of features (n, f) and targets (n, T, 2), m."""
        spread = features.std(axis=0)
        spread[spread < _NARROWEST] = 1.0
        low, high = targets.min(axis=0) - _MARGIN, targets.max(axis=0) + _MARGIN
        return cls(features.mean(axis=0), spread, low, high)

    def features(self, features: Array) -> NDArray[np.float32]:
        """Features (..., f) as numbers for the network."""
        return np.asarray((features - self.middle) / self.spread, dtype=np.float32)

    def targets(self, targets: Array) -> NDArray[np.float32]:
        """Targets (..., T, 2), m, as numbers for the network."""
        share = (targets - self.low) / (self.high - self.low)
        return np.asarray(2.0 * share - 1.0, dtype=np.float32)

    def metres(self, numbers: NDArray[np.float32]) -> Array:
        """Targets (..., T, 2), m, from numbers of the network: the inverse of ``targets``."""
        share = (np.asarray(numbers, dtype=np.float64) + 1.0) / 2.0
        return np.asarray(self.low + share * (self.high - self.low))


def windows(length: int, design: Design) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Indices of the steps of an episode's windows: one window for each of its steps.

    Returns:
        Steps of observations (n, observation_horizon), and of actions (n, prediction_horizon).
    """
    before = design.observation_horizon - 1
    starts = np.arange(-before, length - before)[:, None]
    steps = np.clip(starts + np.arange(design.prediction_horizon), 0, length - 1)
    return steps[:, : before + 1], steps


def learned(tracks: Sequence[Track], views: Views) -> tuple[Array, Array]:
    """Features (n, f) and targets (n, prediction_horizon, 2), m, of all windows of tracks."""
    features, targets = [], []
    for states, actions in tracks:
        observed, predicted = windows(len(states), views.design)
        numbers, frame = views.features(views.observed(states)[observed])
        features.append(numbers)
        targets.append(views.seen(actions[predicted], frame))
    return np.concatenate(features), np.concatenate(targets)


def digest(tracks: Sequence[Track]) -> str:
    """A digest of all states and targets, to the last bit."""
    total = hashlib.sha256()
    for part in _parts(tracks):
        total.update(np.ascontiguousarray(part, dtype="<f8").tobytes())
    return total.hexdigest()[:16]


def _parts(tracks: Sequence[Track]) -> Iterator[Array]:
    for states, actions in tracks:
        yield np.array([len(states)])
        yield states
        yield actions
