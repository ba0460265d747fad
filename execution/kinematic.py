"""Kinematic execution: joint states set over time, without forces.

A held item is rigid in the hand, and a drawer follows its handle (``motion.effects``).
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from galley.domain.frames import Array, to_pose7
from galley.domain.log import Log
from galley.domain.state import State, item_poses
from galley.execution.executor import LOG_PERIOD, Executor, Observation, Recorder, Sample
from galley.motion.effects import effects, outcome
from galley.motion.motion import Motion
from galley.robots.panda.mobile import hand_pose
from galley.worlds.engines.pybullet_world import PyBulletWorld

CONTACT_EVERY = 12  # samples between two looks at contacts
TOUCHING = 0.001  # m, nearer than this counts as a contact
_ROUNDING = 1e-9  # s


class KinematicExecutor:
    """Sets joint states over time (see ``Executor``). What it observes is what was planned.

    Args:
        world: computes contacts; is left in the latest state.
        state: at the start.
        on_sample: hears each sample of the log as it is taken.
    """

    def __init__(
        self,
        world: PyBulletWorld,
        state: State,
        on_sample: Callable[[Sample], None] | None = None,
    ) -> None:
        self.world = world
        self._state = state
        self._clock = 0.0  # s at the end of the motions so far; samples stop before it
        self._recorder = Recorder("kinematic", LOG_PERIOD, on_sample)
        self._looked = 0  # samples at which contacts were recorded

    def observe(self) -> State:
        return self._state

    def execute(self, motion: Motion, name: str) -> Observation:
        recorder, world = self._recorder, self.world
        recorder.begin(name, motion.allowed)
        model = effects(world.scene, world.robot, motion, self._state)
        began, self._clock = self._clock, self._clock + motion.trajectory.duration
        velocity = np.zeros(world.robot.size)
        while recorder.time + LOG_PERIOD <= self._clock + _ROUNDING:
            t = recorder.time + LOG_PERIOD - began
            velocity[model.group] = motion.trajectory(t, 1)
            self._sample(model.at(motion.trajectory(t)), velocity)
        # The trajectory ends within rounding of the path's end: take the path's.
        self._state = outcome(world.scene, world.robot, motion, self._state)
        world.set_state(self._state)
        return Observation(self._state, self._clock)

    def wait(self, seconds: float) -> None:
        recorder = self._recorder
        recorder.stand()
        self._clock += seconds
        still = np.zeros(self.world.robot.size)
        while recorder.time + LOG_PERIOD <= self._clock + _ROUNDING:
            self._sample(self._state, still)

    def log(self) -> Log:
        """See ``Executor.log``. Ends with one more sample, of the end, at rest."""
        recorder = self._recorder
        recorder.stand()  # a log has at least one sample
        if recorder.time < self._clock - _ROUNDING or not recorder.samples:
            self._sample(self._state, np.zeros(self.world.robot.size))
        if self._looked < len(recorder.samples):
            self._contacts(self._state)
        return recorder.log()

    def close(self) -> None:
        """See ``Executor.close``: the world is its owner's to close."""

    def _sample(self, state: State, velocity: Array) -> None:
        scene = self.world.scene
        X_WH = hand_pose(state.q, scene.robot.base)
        items = np.array([to_pose7(X) for X in item_poses(scene, state, X_WH)]).reshape(-1, 7)
        torque = np.full(len(state.q), math.nan)
        self._recorder.sample(
            Sample(
                state.q, velocity.copy(), state.q, torque, state.scene_q.copy(), items, state.held
            )
        )
        if len(self._recorder.samples) % CONTACT_EVERY == 1:
            self._contacts(state)

    def _contacts(self, state: State) -> None:
        self._looked = len(self._recorder.samples)
        self.world.set_state(state)
        for (a, b), distance in sorted(self.world.near_pairs(TOUCHING).items()):
            self._recorder.contact(a, b, distance)


def execute_all(
    executor: Executor,
    motions: tuple[Motion, ...],
    names: tuple[str, ...],
) -> Log:
    """Run motions in order, without monitoring; returns the log."""
    for motion, name in zip(motions, names, strict=True):
        executor.execute(motion, name)
    return executor.log()
