"""Drives the robot by a stream of target configurations, such as those of a policy or a person.

It uses the same ``Stepper`` and world as ``PhysicsExecutor``, but no Motions: nothing here plans,
guards or recovers. The log has a single motion.
"""

from __future__ import annotations

import numpy as np

from galley.domain.frames import Array
from galley.domain.log import Log
from galley.domain.scene.model import Scene
from galley.domain.state import State
from galley.execution.executor import LOG_PERIOD, Recorder, Sample
from galley.execution.physics.executor import PARTED, Stepper
from galley.execution.physics.sensing import item_speed
from galley.execution.physics.world import PhysicsWorld
from galley.motion.thresholds import THRESHOLDS
from galley.robots.model import RobotModel, join_groups


class Servo:
    """A robot with one hand under PyBullet's dynamics, driven from command to command.

    Args:
        scene: the true scene.
        robot: the robot's model.
        state: the initial State, at rest.
        name: label of the log's only motion.

    Attributes:
        world: the simulated world.
    """

    def __init__(self, scene: Scene, robot: RobotModel, state: State, name: str = "policy") -> None:
        self.world = PhysicsWorld(scene, robot, state)
        self._recorder = Recorder("physics", LOG_PERIOD)
        self._recorder.begin(name)
        self._stepper = Stepper(self.world, self._recorder, THRESHOLDS, None)
        self._stepper.sample()
        self._speeds = join_groups(robot.name, list(robot.groups)).velocity
        self._leaving: float | None = None  # m, half the width at which the fingers let go

    @property
    def sample(self) -> Sample:
        """The latest sample of the log, with a leading axis of 1."""
        return self._recorder.blocks[-1]

    @property
    def setpoint(self) -> Array:
        """The configuration (n,) that is commanded now."""
        return self._stepper.setpoint.copy()

    @property
    def at_rest(self) -> tuple[bool, ...]:
        """Which items (ni,) are at rest."""
        still = THRESHOLDS.at_rest_speed
        return tuple(item_speed(self.world, k) <= still for k in range(len(self.world.item_ids)))

    def command(self, target: Array, grip: bool, samples: int) -> None:
        """Move to a configuration at constant speed, as far as the joints' velocity limits allow.

        A differential base moves only along its mean heading, and turns.

        Args:
            target: configuration (n,), m and rad; the fingers' part has no effect with ``grip``.
            grip: whether to close the fingers, and press with the scene's ``finger_force`` (N).
            samples: duration in samples of the log, 1/120 s each.
        """
        stepper, robot, seconds = self._stepper, self.world.robot, samples * LOG_PERIOD
        self._set_grip(grip)
        start = self.setpoint
        way = np.clip(target - start, -seconds * self._speeds, seconds * self._speeds)
        if robot.group("base").differential:
            base = robot.slice("base")
            x, y, turn = way[base]
            heading = start[base][2] + 0.5 * turn
            ahead = x * np.cos(heading) + y * np.sin(heading)
            way[base] = ahead * np.cos(heading), ahead * np.sin(heading), turn
        rates, now = way / seconds, 0.0
        for _ in range(samples):
            sampled = False
            while not sampled:
                stepper.setpoint[:] = start + rates * now
                now += self.world.dt
                sampled = stepper.step(rates)
            self._forget()
        stepper.setpoint[:] = start + way

    def _set_grip(self, grip: bool) -> None:
        """Begin or end a grip; a grip that ends leaves the fingers where they are."""
        stepper, robot = self._stepper, self.world.robot
        if grip == stepper.grips:
            return
        stepper.set_gripping(grip)
        if not grip:
            fingers = robot.slice("fingers")
            stepper.setpoint[fingers] = self.world.q()[fingers]
            self._leaving = self.world.half_width() if robot.gripper.table else None

    def _forget(self) -> None:
        """Drop the contacts of an ended grip, as ``PhysicsExecutor._open`` does.

        Otherwise an item could cling to the fingers that leave it.
        """
        if self._leaving is not None and self.world.half_width() > self._leaving + PARTED:
            self.world.set_finger_collisions(False)
            self.world.step()
            self.world.set_finger_collisions(True)
            self._leaving = None

    def log(self) -> Log:
        """The Log of everything that was commanded so far."""
        return self._recorder.log()

    def close(self) -> None:
        """End the physics client; the log stays available."""
        self.world.close()
