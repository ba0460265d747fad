"""More episodes from the same: those that the symmetries of body and goal make of them.

Reflected at the goal's axis, an episode of the T is another that is as good; a rectangle has four
such maps of the plane, and each of its poses has two names.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np

from galley.domain.frames import Array
from galley.learning.policy.windows import Track
from galley.planar.pushing.config import PushConfig

_SAME = 1e-9  # m


def symmetries(outline: Array) -> list[Array]:
    """Rotations and reflections (2, 2) about the origin that map a polygon (k, 2) onto itself."""
    found = []
    angle, radius = np.arctan2(outline[:, 1], outline[:, 0]), np.hypot(*outline.T)
    corner = int(radius.argmax())  # none is at the origin
    for j, flip in product(range(len(outline)), (1.0, -1.0)):
        if abs(radius[j] - radius[corner]) > _SAME:
            continue
        c, s = np.cos(angle[j] - flip * angle[corner]), np.sin(angle[j] - flip * angle[corner])
        matrix = np.array([[c, -s * flip], [s, c * flip]])
        apart = np.linalg.norm((outline @ matrix.T)[:, None] - outline, axis=2)
        if (apart.min(axis=1) < _SAME).all():
            found.append(matrix)
    return found


def with_symmetric(tracks: Sequence[Track], config: PushConfig) -> list[Track]:
    """Tracks, and those that symmetries make of them, where these stay on the table."""
    shape = config.shape
    group = symmetries(shape.vertices - shape.mass_properties(1.0).centroid)
    goal, table = np.array(config.goal[:2]), np.array([config.width, config.height])
    turned = _rotations(np.array([config.goal[2]]))[0]
    found = list(tracks)
    for world, body in product(group, group):
        same = np.allclose(world, np.eye(2)) and np.allclose(body, np.eye(2))
        if same or np.linalg.det(world) * np.linalg.det(body) < 0.0:  # no motion of the plane
            continue
        plane = turned @ world @ turned.T
        for states, actions in tracks:
            places = states[:, :2], states[:, 2:4], actions
            points = [(each - goal) @ plane.T + goal for each in places]
            if any((each < 0.0).any() or (each > table).any() for each in points):
                continue
            now = plane @ _rotations(states[:, 4]) @ body.T
            theta = np.remainder(np.arctan2(now[:, 1, 0], now[:, 0, 0]), 2.0 * np.pi)
            found.append((np.column_stack([points[0], points[1], theta]), points[2]))
    return found


def _rotations(theta: Array) -> Array:
    """Matrices (n, 2, 2)."""
    c, s = np.cos(theta), np.sin(theta)
    return np.stack([np.stack([c, -s], axis=1), np.stack([s, c], axis=1)], axis=1)
