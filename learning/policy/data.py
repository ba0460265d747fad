"""Training data: episodes of ``galley push collect``, or of the public Push-T replay buffer.

That buffer (diffusion_policy's ``pusht_cchi_v7_replay.zarr``) is in pixels, 0 to 512, y downwards.
``data/state`` has the agent's x and y, and the x, y and angle of the middle of the T's top edge;
``data/action`` has the agent's targets. They are converted to metres on the table of
``compat="gym-pusht"``, whose origin is the inner corner of the walls.

``with_symmetric`` augments the data. An episode of the T reflected at the goal's axis is another
valid episode. A rectangle has four such maps of the plane, and two angles for the same pose.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from pathlib import Path

import numpy as np

from galley.domain.errors import BadInput
from galley.domain.frames import Array
from galley.learning.demonstrations import Collection, Demonstrations
from galley.learning.policy.windows import Track
from galley.planar.pushing.config import PushConfig, config_of_record
from galley.planar.pushing.gym_pusht import SIZE, body_pose, metres, table_config

TABLE = "table"  # key of a collection's settings
STATE = "state"  # the observation
_SAME = 1e-9  # m
_BEYOND = 100.0  # px: a position farther than this from the table isn't in a Push-T buffer


def tracks_of(
    episodes: Demonstrations, collection: Collection | None, folder: Path | str
) -> tuple[list[Track], PushConfig]:
    """The tracks of episodes, without failed ones, and the config of their table.

    Args:
        episodes: the episodes.
        collection: their collection; None: they are in pixels, like the public buffer.
        folder: of the episodes, for messages.

    Raises:
        BadInput: there are no episodes, or they aren't of pushing, or have several outlines.
    """
    if collection is None:
        config = table_config()
    else:
        try:
            config = config_of_record(collection.settings[TABLE])
        except (KeyError, TypeError, ValueError):
            raise BadInput.one(folder, "is not of galley push collect: it has no table") from None
    if "shape" in config.ranges:
        raise BadInput.one(folder, "has several outlines: a policy learns to push one")
    good = episodes.select(k for k, info in enumerate(episodes.infos) if info.success is not False)
    if not len(good):
        raise BadInput.one(folder, f"has no episode that succeeded, of {len(episodes)}")
    tracks = []
    for episode in good:
        states = episode.observations.get(STATE)
        if states is None or states.shape[1:] != (5,) or episode.actions.shape[1:] != (2,):
            reason = "an episode of pushing has 'state', 5 numbers a step, and actions of 2"
            raise BadInput.one(folder, reason)
        states, actions = (np.asarray(a, dtype=np.float64) for a in (states, episode.actions))
        tracks.append((states, actions) if collection else _metres(states, actions, folder))
    return tracks, config


def _metres(states: np.ndarray, actions: np.ndarray, folder: Path | str) -> Track:
    """The track, in metres, of states (T, 5) and actions (T, 2) in pixels."""
    points = np.concatenate([states[:, :2], states[:, 2:4], actions])
    off = (points < -_BEYOND) | (points > SIZE + _BEYOND)
    if off.any() or points.max() < 2.0:
        reason = f"has no pixels from 0 to {SIZE:g} in 'state' and 'action', as a Push-T buffer"
        raise BadInput.one(folder, reason)
    bodies = np.stack([body_pose(block) for block in states[:, 2:]])
    return np.column_stack([metres(states[:, :2]), bodies]), metres(actions)


def symmetries(outline: Array) -> list[Array]:
    """Rotations and reflections (2, 2) about the origin that map a polygon (k, 2) onto itself."""
    matrices = []
    angle, radius = np.arctan2(outline[:, 1], outline[:, 0]), np.hypot(*outline.T)
    corner = int(radius.argmax())  # the farthest, which isn't at the origin
    for j, flip in product(range(len(outline)), (1.0, -1.0)):
        if abs(radius[j] - radius[corner]) > _SAME:
            continue
        c, s = np.cos(angle[j] - flip * angle[corner]), np.sin(angle[j] - flip * angle[corner])
        matrix = np.array([[c, -s * flip], [s, c * flip]])
        apart = np.linalg.norm((outline @ matrix.T)[:, None] - outline, axis=2)
        if (apart.min(axis=1) < _SAME).all():
            matrices.append(matrix)
    return matrices


def with_symmetric(tracks: Sequence[Track], config: PushConfig) -> list[Track]:
    """The tracks, and their images under the body's symmetries that stay on the table."""
    shape = config.shape
    group = symmetries(shape.vertices - shape.mass_properties(1.0).centroid)
    goal, table = np.array(config.goal[:2]), np.array([config.width, config.height])
    turned = _rotations(np.array([config.goal[2]]))[0]
    augmented = list(tracks)
    for world, body in product(group, group):
        same = np.allclose(world, np.eye(2)) and np.allclose(body, np.eye(2))
        # A reflection of the world needs one of the body, or the result isn't a rigid motion.
        if same or np.linalg.det(world) * np.linalg.det(body) < 0.0:
            continue
        plane = turned @ world @ turned.T
        for states, actions in tracks:
            positions = states[:, :2], states[:, 2:4], actions
            points = [(p - goal) @ plane.T + goal for p in positions]
            if any((p < 0.0).any() or (p > table).any() for p in points):
                continue
            now = plane @ _rotations(states[:, 4]) @ body.T
            theta = np.remainder(np.arctan2(now[:, 1, 0], now[:, 0, 0]), 2.0 * np.pi)
            augmented.append((np.column_stack([points[0], points[1], theta]), points[2]))
    return augmented


def _rotations(theta: Array) -> Array:
    """Rotation matrices (n, 2, 2) of angles (n,), rad."""
    c, s = np.cos(theta), np.sin(theta)
    return np.stack([np.stack([c, -s], axis=1), np.stack([s, c], axis=1)], axis=1)
