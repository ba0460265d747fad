"""Contacts as arrows: where they were, how hard they pressed at most, and how long they lasted.

A log has the two bodies of a contact and its force, not its place. That is found again: where the
two are nearest in the state of the largest force, along the normal there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydrake.geometry import Cylinder, Meshcat, MeshcatAnimation, MeshcatCone, Rgba

from galley.collision.backends.pybullet_world import PyBulletWorld
from galley.domain.frames import Array, from_pose7, inverse, transform
from galley.domain.log import Log
from galley.domain.scene.model import Scene
from galley.robots.model import RobotModel
from galley.viz.film.frames import Frames
from galley.viz.replay.bodies import ROOT, Bodies, rigid

LARGEST = 80.0
"""N, of an arrow of full length."""
LENGTH = 0.15
"""m, of that arrow."""
_UNKNOWN = 15.0  # N, drawn where the force is not known
_LEAST = 0.5  # N, below which nothing is drawn
_NEAR = 0.02  # m, within which the two bodies of a contact must be
_BREAK = 0.1  # s, after which a contact counts as a new one
Rows = NDArray[np.integer[Any]]
_COLOR = Rgba(0.85, 0.11, 0.38)


@dataclass(frozen=True)
class Arrow:
    """A contact from beginning to end.

    Attributes:
        path: Meshcat's path of the body that is pressed on.
        X_BA: the arrow's pose (4, 4) in that body's frame: it begins at its origin, along z.
        first, last: the frames between which it is seen.
        size: share of the full length.
    """

    path: str
    X_BA: Array
    first: int
    last: int
    size: float


def contact_arrows(
    log: Log, scene: Scene, robot: RobotModel, frames: Frames, bodies: Bodies, X_WB: Array
) -> list[Arrow]:
    """The contacts of the robot and of what it holds.

    Args:
        frames: of the recording, F of them. bodies: in Meshcat.
        X_WB: where each was (F, nb, 4, 4).
    """
    found: list[Arrow] = []
    with PyBulletWorld(scene, robot) as world:
        known = set(world.loaded.names.values())
        for pair_at in np.unique(log.contact_pair, axis=0):
            a, b = (str(log.names[k]) for k in pair_at)
            rows = np.flatnonzero((log.contact_pair == pair_at).all(axis=1))
            rows = rows[_of_the_robot(log, scene, robot, a, b, log.contact_step[rows])]
            if not len(rows) or a not in known or b not in known:  # a pusher from outside
                continue
            # The item is what is pressed on, else what is not of the robot.
            pressed, presser = (a, b) if a in scene.item_index else (b, a)
            if pressed in robot.links and presser not in robot.links:
                pressed, presser = presser, pressed
            gaps = np.diff(log.time[log.contact_step[rows]]) > _BREAK
            for one in np.split(rows, np.flatnonzero(gaps) + 1):
                arrow = _arrow(log, world, frames, bodies, X_WB, one, (pressed, presser))
                if arrow is not None:
                    found.append(arrow)
    return found


def _of_the_robot(
    log: Log, scene: Scene, robot: RobotModel, a: str, b: str, steps: Rows
) -> NDArray[np.bool_]:
    """Of each step, whether the robot or what it holds then is one of the two."""
    if a in robot.links or b in robot.links:
        return np.ones(len(steps), dtype=bool)
    held = [scene.item_index[name] for name in (a, b) if name in scene.item_index]
    return np.isin(log.held[steps], held)


def _arrow(
    log: Log,
    world: PyBulletWorld,
    frames: Frames,
    bodies: Bodies,
    X_WB: Array,
    rows: Rows,
    names: tuple[str, str],
) -> Arrow | None:
    """One contact, from its rows of the log; None if it is too weak, or can't be placed."""
    forces = np.where(np.isnan(log.contact_force[rows]), _UNKNOWN, log.contact_force[rows])
    times = log.time[log.contact_step[rows]]
    strongest = log.contact_step[rows[int(forces.argmax())]]
    if forces.max() < _LEAST:
        return None
    first, last = np.searchsorted(frames.time, (times[0], times[-1])).clip(0, len(frames.time) - 1)
    world.set_robot(log.q[strongest])
    world.set_scene(log.scene_q[strongest])
    for k, pose in enumerate(log.items[strongest]):
        world.set_item(k, from_pose7(pose))
    place = world.nearest(*names, within=_NEAR)
    if place is None:
        return None
    point, normal = place
    path, X_BA = ROOT, _along(normal, point)
    if names[0] in bodies.names:
        body = bodies.names.index(names[0])
        middle = int(np.searchsorted(frames.time, log.time[strongest]).clip(first, last))
        path, X_BA = bodies.paths[body], inverse(X_WB[middle, body]) @ X_BA
    return Arrow(path, X_BA, int(first), int(last), float(forces.max() / LARGEST))


def _along(direction: Array, origin: Array) -> Array:
    """A pose (4, 4) at ``origin`` whose z is ``direction``."""
    z = direction / np.linalg.norm(direction)
    x = np.cross(np.eye(3)[int(np.abs(z).argmin())], z)
    x /= np.linalg.norm(x)
    return transform(np.stack([x, np.cross(z, x), z], axis=1), origin)


def draw_arrow(meshcat: Meshcat, animation: MeshcatAnimation, path: str, arrow: Arrow) -> None:
    """Add an arrow, which is visible only while its contact lasts."""
    width, head = 0.035 * LENGTH, 0.35 * LENGTH
    meshcat.SetObject(f"{path}/shaft", Cylinder(width, LENGTH - head), _COLOR)
    meshcat.SetTransform(f"{path}/shaft", rigid(transform(None, [0.0, 0.0, 0.5 * (LENGTH - head)])))
    meshcat.SetObject(f"{path}/head", MeshcatCone(head, 3.0 * width, 3.0 * width), _COLOR)
    X_AH = transform(np.diag([1.0, -1.0, -1.0]), [0.0, 0.0, LENGTH])  # Meshcat's cones open along z
    meshcat.SetTransform(f"{path}/head", rigid(X_AH))
    meshcat.SetTransform(path, rigid(arrow.X_BA))
    meshcat.SetProperty(path, "visible", False)
    length = min(max(arrow.size, 0.05), 1.5)
    meshcat.SetProperty(path, "scale", [length**0.5, length**0.5, length])
    if arrow.first > 0:
        animation.SetProperty(0, path, "visible", False)
    animation.SetProperty(arrow.first, path, "visible", True)
    animation.SetProperty(arrow.last + 1, path, "visible", False)
