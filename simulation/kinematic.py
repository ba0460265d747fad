"""Kinematic execution: joint states set over time, a held item rigid, a drawer led by its handle.

No forces: what a Motion's kinematic model says (``motion.effects``) is what happens.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from galley.domain.frames import to_pose7
from galley.domain.log import Log
from galley.domain.state import State, item_pose
from galley.motion.effects import effects
from galley.motion.motion import Motion
from galley.robots.kinematics import hand_pose
from galley.simulation.recorder import Recorder
from galley.worlds.pybullet_world import PyBulletWorld

TIME_STEP = 1.0 / 120.0  # s between samples: the fastest joint moves 0.022 rad in one
CONTACT_EVERY = 12  # samples between two looks at contacts
TOUCHING = 0.001  # m, nearer than this counts as a contact

Progress = Callable[[int, Motion], None]
"""Called as each motion begins, with its index."""


def execute(
    world: PyBulletWorld,
    motions: tuple[Motion, ...],
    names: tuple[str, ...],
    state: State,
    progress: Progress = lambda index, motion: None,
) -> tuple[State, Log]:
    """Run the motions one after another in PyBullet, joint states set, contacts recorded.

    Args:
        world: is left in the final state.
        names: a line for each motion, for the log.
        state: where it begins.

    Returns:
        The final State and the Log.
    """
    recorder = Recorder("kinematic")
    scene, robot = world.scene, world.robot
    time = 0.0
    if not motions:  # the goal holds already: the log still shows where everything is
        recorder.begin("nothing to do", frozenset())
        _record(world, recorder, state, time, True)
    for index, (motion, name) in enumerate(zip(motions, names, strict=True)):
        progress(index, motion)
        recorder.begin(name, motion.allowed)
        model = effects(scene, robot, motion, state)
        duration = motion.trajectory.duration
        steps = max(1, int(np.ceil(duration / TIME_STEP)))
        # The first motion also records its start; later ones start where the one before ended.
        for k in range(0 if index == 0 else 1, steps + 1):
            t = duration * k / steps
            state = model.at(motion.trajectory(t))
            _record(world, recorder, state, time + t, k % CONTACT_EVERY == 0 or k == steps)
        time += duration
        # The trajectory's last polynomial ends within rounding of the path's end: take the path's.
        state = model.at(motion.path.end)
    world.set_state(state)
    return state, recorder.log(len(scene.items))


def _record(
    world: PyBulletWorld, recorder: Recorder, state: State, time: float, contacts: bool
) -> None:
    scene = world.scene
    X_WH = hand_pose(state.q, scene.robot.base)
    poses = [item_pose(scene, state, k, X_WH) for k in range(len(scene.items))]
    items = np.array([to_pose7(X) for X in poses]).reshape(-1, 7)
    recorder.sample(time, state.q, state.scene_q, items, state.held)
    if contacts:
        world.set_state(state)
        for (a, b), distance in sorted(world.near_pairs(TOUCHING).items()):
            recorder.contact(a, b, distance)
