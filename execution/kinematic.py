"""Kinematic execution: joint states set over time, without forces.

A held item is rigid in the hand, and a drawer follows its handle (``motion.effects``).
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from galley.collision.backends.pybullet_world import PyBulletWorld
from galley.domain.frames import Array
from galley.domain.log import Log
from galley.domain.state import State
from galley.execution.executor import LOG_PERIOD, Executor, Observation, Recorder, Sample
from galley.motion.effects import Effects, effects, state_after_grasp
from galley.motion.motion import Motion

CONTACT_EVERY = 12  # samples from one search for contacts to the next
TOUCHING = 0.001  # m, nearer than this counts as a contact
_ROUNDING = 1e-9  # s


class KinematicExecutor:
    """Sets joint states over time (see ``Executor``). It always observes the planned State.

    Args:
        world: computes contacts. It is left in the latest state.
        state: the initial State.
        on_sample: called with each sample of the log as it is taken.
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
        self._looked = -1  # index of the latest sample whose contacts were recorded

    def observe(self) -> State:
        return self._state

    def execute(self, motion: Motion, name: str) -> Observation:
        world, trajectory = self.world, motion.trajectory
        self._recorder.begin(name, motion)
        model = effects(world.scene, world.robot, motion, self._state)
        began = self._clock
        times = self._times(trajectory.duration) - began
        self._record(model, trajectory(times), trajectory(times, 1))
        # The trajectory ends within rounding of the path's end: take the path's.
        self._state = state_after_grasp(world.scene, world.robot, motion, self._state)
        world.set_state(self._state)
        return Observation(self._state, self._clock)

    def wait(self, seconds: float) -> None:
        self._recorder.stand()
        self._stand(len(self._times(seconds)))

    def log(self) -> Log:
        """See ``Executor.log``. Adds a last sample, at rest, if the run ends between two samples.

        The last sample always has its contacts recorded.
        """
        recorder = self._recorder
        recorder.stand()  # a log has at least one sample
        if recorder.time < self._clock - _ROUNDING or not recorder.count:
            self._stand(1)
        if self._looked < recorder.count - 1:
            self._contacts(recorder.count - 1, self._state)
        return recorder.log()

    def close(self) -> None:
        """See ``Executor.close``. The owner of the world closes it."""

    def _times(self, seconds: float) -> Array:
        """Advance the clock by ``seconds``; returns the times (m,), s, of the samples due by then.

        Samples stay on the grid of ``LOG_PERIOD``, whatever the durations of the motions.
        """
        recorder = self._recorder
        end = self._clock + seconds
        # At least as many as are due; those after ``end`` are dropped below.
        most = max(0, int((end - recorder.time) / LOG_PERIOD) + 2)
        times = (recorder.count - 1 + np.arange(most)) * LOG_PERIOD + LOG_PERIOD
        self._clock = end
        return np.asarray(times[times <= end + _ROUNDING])

    def _stand(self, count: int) -> None:
        """Record ``count`` samples of the current state, at rest."""
        scene, robot, state = self.world.scene, self.world.robot, self._state
        everything = slice(0, robot.size)
        model = Effects(scene, robot, state, everything, np.eye(4), None)
        Q = np.tile(state.q, (count, 1))
        self._record(model, Q, np.zeros_like(Q))

    def _record(self, model: Effects, positions: Array, velocities: Array) -> None:
        """Record samples with the model's joint group at positions and velocities (m, k)."""
        recorder, first = self._recorder, self._recorder.count
        rows = model.along(positions)
        velocity = np.zeros_like(rows.q)
        velocity[:, model.group] = velocities
        torque = np.full_like(rows.q, math.nan)
        held, *others = model.state.holds(tuple(self.world.robot.views))
        recorder.sample_many(
            Sample(rows.q, velocity, rows.q, torque, rows.scene_q, rows.items, held, tuple(others))
        )
        # The first multiple of CONTACT_EVERY from sample ``first`` on, counted from ``first``.
        for k in range(-first % CONTACT_EVERY, len(positions), CONTACT_EVERY):
            self._contacts(first + k, model.at(positions[k]))

    def _contacts(self, step: int, state: State) -> None:
        """Record the contacts of the sample with index ``step``."""
        self._looked = step
        self.world.set_state(state)
        for (a, b), distance in sorted(self.world.near_pairs(TOUCHING).items()):
            self._recorder.contact(a, b, distance, step=step)


def execute_all(
    executor: Executor,
    motions: tuple[Motion, ...],
    names: tuple[str, ...],
) -> Log:
    """Run motions in order without a monitor, so deviations have no effect; returns the log."""
    for motion, name in zip(motions, names, strict=True):
        executor.execute(motion, name)
    return executor.log()
