"""Path: a polygonal line through configurations of one joint group, without times."""

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
    """Waypoints of a joint group, joined by straight edges in joint space.

    Attributes:
        group: name of the joint group.
        waypoints: configurations (n, k), n >= 1, finite, in the group's units (rad or m).
        world: the world that ``plan`` planned it in; None for other paths.

    Raises:
        ValueError: the waypoints have another shape, or are not finite.
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
        """The configuration (k,) at which the path begins."""
        return np.asarray(self.waypoints[0])

    @property
    def end(self) -> Array:
        """The configuration (k,) at which the path ends."""
        return np.asarray(self.waypoints[-1])

    @property
    def length(self) -> float:
        """Sum of the Euclidean lengths of its segments, in the group's units."""
        return polygon_length(self.waypoints)

    def resampled(self, step: float) -> Path:
        """The same line with more waypoints, so that no joint moves more than ``step`` between two.

        Args:
            step: rad or m, greater than 0.
        """
        if not step > 0.0:
            raise ValueError(f"step must be greater than 0, got {step}")
        points = [self.waypoints[:1]]
        for a, b in zip(self.waypoints[:-1], self.waypoints[1:], strict=True):
            n = max(1, int(np.ceil(np.abs(b - a).max() / step - 1e-9)))
            s = np.linspace(0.0, 1.0, n + 1)[1:, None]
            points.append((1.0 - s) * a + s * b)  # exactly b at s = 1
        return replace(self, waypoints=np.concatenate(points))

    def show(self) -> None:
        """Show the path among its obstacles, in the browser or a notebook: see ``galley.view``."""
        galley.view(self)

    def save(self, file: str | FilePath) -> None:
        """Write the page that ``show`` opens as one HTML file that needs no other files."""
        galley.view(self, save=file)

    def __len__(self) -> int:
        return len(self.waypoints)


def polygon_length(points: Array) -> float:
    """Euclidean length of the polygonal line through points (n, k)."""
    return float(np.linalg.norm(np.diff(points, axis=0), axis=1).sum())
