"""Physics execution: motors follow the trajectories, guards end them, friction does the rest."""

from __future__ import annotations

import math
from typing import Protocol

import numpy as np

from galley.domain.frames import Array
from galley.domain.log import Log
from galley.domain.scene import Scene
from galley.domain.state import State
from galley.motion.motion import Motion
from galley.motion.thresholds import THRESHOLDS, Thresholds
from galley.robots.model import RobotModel
from galley.simulation.executor import LOG_PERIOD, Observation
from galley.simulation.gripper import stroke
from galley.simulation.guards import Watch
from galley.simulation.physics_world import PhysicsWorld
from galley.simulation.recorder import Recorder
from galley.simulation.sensing import seen_state
from galley.simulation.stepper import Fault, Stepper

_TRACKED = 1e-3  # rad or m from the command, at which a joint has arrived
_SLOW = 0.01  # rad/s or m/s, likewise
_GENTLE = 0.2  # share of the acceleration limits, to get from one motion's end to the next one
_BRAKE = 0.05  # s to come to a stand after a guard was met


class Eye(Protocol):
    """What is seen of a State: with noise, say (``simulation.noise``)."""

    def __call__(self, state: State) -> State:
        """The State as it appears."""
        ...


class PhysicsExecutor:
    """Runs Motions under PyBullet's dynamics (see ``Executor``).

    Args:
        scene: as it truly is.
        robot: a RobotModel with base, arm and fingers.
        state: where it begins.
        limits: thresholds of guards and sensing.
        fault: goes wrong on purpose.
        eye: between what is and what is observed; nothing where omitted.
    """

    def __init__(
        self,
        scene: Scene,
        robot: RobotModel,
        state: State,
        limits: Thresholds = THRESHOLDS,
        fault: Fault | None = None,
        eye: Eye | None = None,
    ) -> None:
        self.world = PhysicsWorld(scene, robot, state)
        self.limits, self.eye = limits, eye
        self._recorder = Recorder("physics", LOG_PERIOD)
        self._stepper = Stepper(self.world, self._recorder, limits, fault)

    # -- the interface ---------------------------------------------------------------------------

    def observe(self) -> State:
        """See ``Executor.observe``."""
        state = seen_state(self.world, self._stepper.held)
        return state if self.eye is None else self.eye(state)

    def execute(self, motion: Motion, name: str) -> Observation:
        """See ``Executor.execute``."""
        self._stepper.begin(motion, name)
        moves = motion.group != "fingers"
        ended = self._move(motion) if moves else stroke(self._stepper, motion)
        self._recorder.ended(ended)
        return Observation(self.observe(), self._recorder.time, ended)

    def wait(self, seconds: float) -> None:
        """See ``Executor.wait``."""
        if not self._recorder.motions:
            self._recorder.begin("nothing to do", frozenset())
        if not self._recorder.samples:
            self._stepper.sample()
        self._stepper.wait(seconds)

    def log(self) -> Log:
        """See ``Executor.log``."""
        if not self._recorder.samples:
            self._recorder.begin("nothing to do", frozenset())
            self._stepper.sample()
        return self._recorder.log()

    def close(self) -> None:
        """See ``Executor.close``."""
        self.world.close()

    # -- moving ----------------------------------------------------------------------------------

    def _move(self, motion: Motion) -> str:
        """The arm or the base along a trajectory, then on to the contact that is sought."""
        world, stepper = self.world, self._stepper
        held = None if stepper.held is None else world.scene.items[stepper.held].name
        watch = Watch.over(world.robot, motion, held, self.limits)
        where = world.robot.slice(motion.group)
        steps = max(1, math.ceil(motion.trajectory.duration / world.dt - 1e-9))
        points = motion.trajectory(np.arange(steps + 1, dtype=np.float64) * world.dt)
        if where.start == 0:
            self._believe(points[0][:3])
        points = self._joined(points, motion)
        steps = len(points) - 1
        rates = np.diff(points, axis=0) / world.dt
        velocities = np.zeros(world.robot.size)
        for k in range(steps):
            stepper.hold[where] = points[k]
            velocities[where] = rates[k]
            if not stepper.step(velocities):
                continue
            ended = watch.met(stepper.touches) or watch.bumped(stepper.touches, stepper.gripping)
            if ended:
                self._brake(where)
                return f"{ended}, {100 * (k + 1) / steps:.0f} % of the way"
        stepper.hold[where] = points[-1]
        if motion.guard is not None and motion.guard.seek > 0.0:
            return self._seek(motion, watch)
        self._arrive(where)
        return ""

    def _believe(self, base: Array) -> None:
        """A base motion that was planned anew begins where the base truly is."""
        if np.abs(base - self._stepper.hold[:3]).max() > 1e-6:
            self.world.base_shift[:] = 0.0
            self._stepper.hold[:3] = self.world.q()[:3]

    def _joined(self, points: Array, motion: Motion) -> Array:
        """Commands (m, k) that lead from where the joints are held over into a trajectory.

        A motion that a guard ended leaves the joints short of where the next one begins, or beyond.
        What is between the two fades out during the trajectory, by the polynomial that is at rest
        at both ends, as slowly as a small share of the acceleration limits allows.
        """
        world = self.world
        off = self._stepper.hold[world.robot.slice(motion.group)] - points[0]
        limit = _GENTLE * world.robot.group(motion.group).acceleration
        # The quintic's largest acceleration is 10 / sqrt(3) of distance / duration^2.
        needed = float(np.sqrt((10.0 / math.sqrt(3.0) * np.abs(off) / limit).max()))
        steps = math.ceil(needed / world.dt)
        if steps <= 1:
            return points
        if steps > len(points) - 1:  # too short for that: first go where it begins
            points = np.concatenate([np.repeat(points[:1], steps, axis=0), points])
        else:
            steps = len(points) - 1
        u = np.minimum(np.arange(len(points)) / steps, 1.0)[:, None]
        return np.asarray(points + off * (1.0 - u**3 * (10.0 - 15.0 * u + 6.0 * u**2)))

    def _seek(self, motion: Motion, watch: Watch) -> str:
        """Creep on along the guard's direction until it is met, or for as far as it says."""
        guard, world, stepper = motion.guard, self.world, self._stepper
        assert guard is not None
        arm = world.robot.slice("arm")
        speed = min(self.limits.creep, guard.speed)
        twist = np.concatenate([guard.direction * speed, np.zeros(3)])
        velocities = np.zeros(world.robot.size)
        ended = watch.met(stepper.touches)
        for _ in range(math.ceil(guard.seek / speed / world.dt)):
            if ended:
                break
            velocities[arm] = np.linalg.lstsq(world.jacobian()[:, arm], twist, rcond=None)[0]
            if stepper.step(velocities):
                ended = watch.met(stepper.touches)
                ended = ended or watch.bumped(stepper.touches, stepper.gripping)
            stepper.hold[arm] += velocities[arm] * world.dt
        self._brake(arm)
        return ended or f"no contact within {1e3 * guard.seek:.0f} mm beyond the end"

    def _brake(self, where: slice) -> None:
        """Stay where the joints are now."""
        stepper, world = self._stepper, self.world
        stepper.hold[where] = world.q()[where]
        if where.start == 0:
            stepper.hold[:3] -= world.base_shift
        stepper.wait(_BRAKE)

    def _arrive(self, where: slice) -> None:
        """Wait until the joints are where they were told to be, as long as is allowed."""
        stepper, world = self._stepper, self.world
        until = stepper.t + self.limits.arrival_time
        stepper.look()
        while stepper.t < until:
            q, rates, _ = world.joints()
            off = q - stepper.hold
            off[:3] -= world.base_shift
            if np.abs(off[where]).max() < _TRACKED and np.abs(rates[where]).max() < _SLOW:
                return
            stepper.look()
