"""Path: a polygonal line through configurations of one joint group, without timing."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path as FilePath
from typing import TYPE_CHECKING

import numpy as np

import galley
from galley.domain.frames import Array, as_numbers, frozen

if TYPE_CHECKING:
    from galley.collision.collision_world import CollisionWorld


@dataclass(frozen=True)
class Path:
    """Waypoints of a joint group.

    Attributes:
        group: name of the joint group.
        waypoints: (n, k), n >= 1, finite, in the group's units.
        world: what it was planned in, if ``plan`` found it.
    """

    group: str
    waypoints: Array
    world: CollisionWorld | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        shape = np.shape(self.waypoints)
        if len(shape) != 2 or shape[0] == 0:
            raise ValueError(f"waypoints must be (n, k) with n >= 1, got {shape}")
        points = as_numbers(self.waypoints, "waypoints", shape)
        object.__setattr__(self, "waypoints", frozen(points))

    @property
    def start(self) -> Array:
        """First waypoint (k,)."""
        return np.asarray(self.waypoints[0])

    @property
    def end(self) -> Array:
        """Last waypoint (k,)."""
        return np.asarray(self.waypoints[-1])

    @property
    def length(self) -> float:
        """Sum of the Euclidean lengths of its segments, in the group's units."""
        return polygon_length(self.waypoints)

    def resampled(self, step: float) -> Path:
        """The same line, waypoints added so that no joint moves more than ``step`` in one."""
        if not step > 0.0:
            raise ValueError(f"step must be greater than 0, got {step}")
        points = [self.waypoints[:1]]
        for a, b in zip(self.waypoints[:-1], self.waypoints[1:], strict=True):
            n = max(1, int(np.ceil(np.abs(b - a).max() / step - 1e-9)))
            s = np.linspace(0.0, 1.0, n + 1)[1:, None]
            points.append((1.0 - s) * a + s * b)  # exactly b at s = 1
        return replace(self, waypoints=np.concatenate(points))

    def show(self) -> None:
        """Show it among its obstacles, in the browser or the notebook: see ``galley.view``."""
        galley.view(self)

    def save(self, file: str | FilePath) -> None:
        """Write what ``show`` shows as one HTML file that needs nothing else."""
        galley.view(self, save=file)

    def __len__(self) -> int:
        return len(self.waypoints)


def polygon_length(points: Array) -> float:
    """Length of the polygon through points (n, k)."""
    return float(np.linalg.norm(np.diff(points, axis=0), axis=1).sum())
