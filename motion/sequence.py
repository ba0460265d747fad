"""Checks a sequence of motions: each must fit the robot and begin where the one before it ended."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from galley.domain.frames import Array
from galley.domain.scene.model import Scene
from galley.domain.state import State
from galley.motion.effects import effects
from galley.motion.motion import Motion
from galley.robots.model import RobotModel

_GAP = 1e-3  # m or rad, allowed between a motion's start and the end of the one before it


def states_along(
    scene: Scene, robot: RobotModel, motions: Sequence[Motion], state: State
) -> tuple[State, ...]:
    """The State at the start of each motion, with its attachments made, when run from ``state`` on.

    Raises:
        ValueError: a motion has a wrong group, number of joints, attachment, trajectory or start;
            the message names it by its index.
    """
    states = []
    known = {"item": scene.item_index, "joint": scene.joint_index}
    for k, motion in enumerate(motions):
        moves = [(attachment.kind, attachment.name) for attachment in motion.attachments]
        moves += [("item", motion.slide.item)] if motion.slide is not None else []
        for kind, name in moves:
            if name not in known.get(kind, {}):
                raise ValueError(f"motion {k} moves '{name}', which {scene.source} does not have")
    for k, motion in enumerate(motions):
        path, trajectory = motion.path, motion.trajectory
        try:
            own = robot.acting(motion.hand)
            size, joints_at = own.group(motion.group).size, own.slice(motion.group)
        except KeyError as error:
            raise ValueError(f"motion {k}: {error.args[0]}") from None
        for subject, joints in (
            ("waypoints", path.waypoints.shape[1]),
            ("a trajectory", trajectory.coefficients.shape[2]),
        ):
            if joints != size:
                group = f"'{motion.group}' has {size}"
                raise ValueError(f"motion {k} has {subject} of {joints} joints, {group}")
        if not _near(trajectory.start, path.start) or not _near(trajectory.end, path.end):
            raise ValueError(f"motion {k}: its trajectory does not follow its waypoints")
        if not _near(trajectory.start, state.q[joints_at]):
            raise ValueError(
                f"motion {k} does not begin at the robot's configuration by then in {scene.source}"
            )
        model = effects(scene, robot, motion, state)
        states.append(model.state)
        state = model.at(path.end)
    return tuple(states)


def _near(a: Array, b: Array) -> bool:
    """Whether two configurations (k,) differ by at most ``_GAP`` in every joint."""
    return bool(np.abs(a - b).max() <= _GAP)
