"""Physics execution: motors follow the trajectories, guards end them, friction does the rest.

The fingers open along a trajectory, and close until both press on something. The ``Stepper`` lets
motors hold or follow, looks at contacts and logs samples.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Protocol

import numpy as np

from galley.domain.frames import Array, frozen, inverse, to_pose7
from galley.domain.log import OUTSIDE, Log
from galley.domain.scene.model import HAND, Scene
from galley.domain.state import Placement, State, placement_at
from galley.execution.executor import LOG_PERIOD, Observation, Recorder, Sample
from galley.execution.physics.world import PhysicsWorld, Touch
from galley.motion.motion import Motion
from galley.motion.thresholds import THRESHOLDS, Thresholds
from galley.robots.model import RobotModel
from galley.worlds.checker import Pair, pair

CLOSING_SPEED = 0.05  # m/s of each finger while it looks for something to press on
FINER = 4  # steps for one while the fingers grip: what is held creeps in proportion to the step


class FaultInjector(Protocol):
    """Something that goes wrong on purpose (``execution.disturbance.faults``)."""

    def begins(self, world: PhysicsWorld, motion: Motion, name: str) -> None:
        """A motion is about to begin."""
        ...

    def steps(self, world: PhysicsWorld, motion: Motion, name: str, t: float) -> None:
        """A step of the simulation is about to be made, ``t`` seconds into the motion."""
        ...

    def outside(self) -> dict[str, float]:
        """What it has pushed since this was asked last, by name, and with how many N at most."""
        ...


class Stepper:
    """A world, what its motors are told, and the log that comes of it.

    Attributes:
        hold: where each joint is to be now (n,); the base as it believes to stand.
        gripping: the fingers press with their force, whatever ``hold`` says of them.
        touches: contacts at the latest sample. held: index of the item in the hand then, or None.
        motion, name: under way.
        t: seconds since it began.
    """

    def __init__(
        self,
        world: PhysicsWorld,
        recorder: Recorder,
        limits: Thresholds,
        fault: FaultInjector | None,
    ) -> None:
        self.world, self.recorder, self.limits, self.fault = world, recorder, limits, fault
        self.hold = world.q()
        self.gripping = False
        self.touches: dict[Pair, Touch] = {}
        self.held: int | None = None
        self.motion: Motion | None = None
        self.name = ""
        self.t = 0.0
        self._still = np.zeros(world.robot.size)
        self._fingers = world.robot.slice("fingers")
        self._step = world.dt
        self._stride = max(1, round(LOG_PERIOD / world.dt))
        self._count = 0

    def begin(self, motion: Motion, name: str) -> None:
        """A motion begins."""
        self.recorder.begin(name, motion.allowed)
        self.motion, self.name, self.t = motion, name, 0.0
        if not self.recorder.samples:
            self.sample()
        if self.fault is not None:
            self.fault.begins(self.world, motion, name)

    def grip(self, gripping: bool) -> None:
        """Press with the fingers from now on, or let them be where ``hold`` says.

        Takes effect between two samples: call it when ``step`` has returned True, or before any.
        """
        self.gripping = gripping
        parts = FINER if gripping else 1
        self.world.set_step(self._step / parts)
        self._stride = max(1, round(LOG_PERIOD / self.world.dt))

    def step(self, velocities: Array | None = None) -> bool:
        """One step of the simulation; True where a sample was taken after it.

        Args:
            velocities: at which the joints move at ``hold`` (n,); None: they stand.
        """
        world = self.world
        if self.fault is not None and self.motion is not None:
            self.fault.steps(world, self.motion, self.name, self.t)
        rates = self._still if velocities is None else velocities
        count = self._fingers.start if self.gripping else world.robot.size
        world.drive(range(count), self.hold[:count], rates[:count])
        if self.gripping:
            world.press(-CLOSING_SPEED, world.scene.physics.finger_force)
        world.step()
        self.t += world.dt
        self._count += 1
        if self._count < self._stride:
            return False
        self._count = 0
        self.sample()
        return True

    def look(self) -> None:
        """Steps until the next sample has been taken."""
        while not self.step():
            pass

    def wait(self, seconds: float) -> None:
        """Stand still for so long, and until the sample after that."""
        until = self.t + seconds
        self.look()
        while self.t < until:
            self.look()

    def sample(self) -> None:
        """Look at contacts and log the world as it is."""
        world = self.world
        self.touches = world.touches()
        self.held = held_item(world, self.touches, self.limits) if self.gripping else None
        q, velocity, torque = world.joints()
        command = np.array(self.hold)
        command[:3] += world.base_shift  # where the motors hold it, whatever it believes
        if self.gripping:  # told a force, not a place
            command[self._fingers] = q[self._fingers]
        items = [to_pose7(world.item_pose(k)) for k in range(len(world.item_ids))]
        self.recorder.sample(
            Sample(
                q,
                velocity,
                command,
                torque,
                world.scene_q(),
                np.array(items).reshape(-1, 7),
                self.held,
            )
        )
        for (a, b), touch in self.touches.items():
            self.recorder.contact(a, b, touch.distance, touch.normal)
        if self.fault is not None:
            for name, force in self.fault.outside().items():
                self.recorder.contact(OUTSIDE, name, 0.0, force)


def gripped(
    world: PhysicsWorld, touches: Mapping[Pair, Touch], limits: Thresholds
) -> tuple[str, ...]:
    """Names of what all fingers press on at once, strongest first."""
    pressed: dict[str, float] = {}
    fingers = world.robot.fingers
    for name in {n for key in touches for n in key if n not in world.robot.links}:
        forces = [touches[key].normal for f in fingers if (key := pair(f, name)) in touches]
        if len(forces) == len(fingers) and min(forces) >= limits.held_force:
            pressed[name] = min(forces)
    return tuple(sorted(pressed, key=lambda name: (-pressed[name], name)))


def held_item(world: PhysicsWorld, touches: Mapping[Pair, Touch], limits: Thresholds) -> int | None:
    """Index of the item between the fingers, or None."""
    index = world.scene.item_index
    return next((index[name] for name in gripped(world, touches, limits) if name in index), None)


def seen_state(world: PhysicsWorld, held: int | None) -> State:
    """The State as a perfect eye sees it; ``held`` is the index of the item in the hand."""
    scene = world.scene
    scene_q = frozen(world.scene_q())
    X_WH = world.hand_pose()
    placements = []
    for index in range(len(scene.items)):
        X_WI = world.item_pose(index)
        if index == held:
            placements.append(Placement(HAND, frozen(inverse(X_WH) @ X_WI)))
            continue
        placements.append(placement_at(scene, X_WI, scene_q))
    # A motor that holds a joint at its limit may be a hair beyond it; planners want it within.
    return State(frozen(np.clip(world.q(), *world.robot.limits)), scene_q, tuple(placements))


_TRACKED = 1e-3  # rad or m from the command, at which a joint has arrived
_SLOW = 0.01  # rad/s or m/s, likewise
_GENTLE = 0.2  # share of the acceleration limits, to get from one motion's end to the next one
_BRAKE = 0.05  # s to come to a stand after a guard was met
_CLOSED = 0.0015  # m of each finger: nothing is between them
_LEAST_REST = 0.05  # s, after letting go, before anything can be said to be at rest


def force_on(members: frozenset[str], touches: Mapping[Pair, Touch]) -> Array:
    """The force (3,), N, world frame, on some bodies together from all others."""
    total = np.zeros(3)
    for (a, b), touch in touches.items():
        if (a in members) == (b in members):
            continue
        total += touch.force if a in members else -touch.force
    return total


class Watch:
    """Looks at one motion's forces; ``held`` is the item in the hand."""

    def __init__(
        self, robot: RobotModel, motion: Motion, held: str | None, limits: Thresholds
    ) -> None:
        riding = frozenset({held} if held else ())
        self.motion, self.limits, self.fingers = motion, limits, frozenset(robot.fingers)
        self.members = frozenset({robot.palm}) | self.fingers | riding
        self.robot_parts = frozenset(robot.links) | riding

    def resisting(self, touches: Mapping[Pair, Touch]) -> float:
        """N against the guard's direction; 0 where there is no guard."""
        guard = self.motion.guard
        if guard is None:
            return 0.0
        return float(-guard.direction @ force_on(self.members, touches))

    def met(self, touches: Mapping[Pair, Touch]) -> str:
        """What ended the motion, in words; empty while its guard is not met."""
        guard = self.motion.guard
        force = self.resisting(touches)
        return f"contact, {force:.0f} N" if guard is not None and force >= guard.force else ""

    def bumped(self, touches: Mapping[Pair, Touch], gripping: bool) -> str:
        """What the robot ran into, in words; empty while it is free to go on.

        Args:
            gripping: the fingers press on what they may touch, which is what they are for.
        """
        for (a, b), touch in touches.items():
            one, two = a in self.robot_parts, b in self.robot_parts
            if one == two or touch.normal < self.limits.stop_force:
                continue
            part, other = (a, b) if one else (b, a)
            if gripping and part in self.fingers and (a, b) in self.motion.allowed:
                continue
            return f"{part} met {other}, {touch.normal:.0f} N"
        return ""


class PhysicsExecutor:
    """Runs Motions under PyBullet's dynamics (see ``Executor``).

    Args:
        scene: as it truly is.
        robot: a RobotModel with base, arm and fingers.
        state: where it begins.
        limits: thresholds of guards and sensing.
        fault: goes wrong on purpose.
        eye: what is seen of a State: with noise, say; all of it as it is where omitted.
    """

    def __init__(
        self,
        scene: Scene,
        robot: RobotModel,
        state: State,
        limits: Thresholds = THRESHOLDS,
        fault: FaultInjector | None = None,
        eye: Callable[[State], State] | None = None,
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
        if motion.group != "fingers":
            ended = self._move(motion)
        else:
            ended = self._open(motion) if motion.guard is None else self._close(motion.guard.force)
        self._recorder.ended(ended)
        return Observation(self.observe(), self._recorder.time, ended)

    def wait(self, seconds: float) -> None:
        """See ``Executor.wait``."""
        self._begun()
        self._stepper.wait(seconds)

    def log(self) -> Log:
        """See ``Executor.log``."""
        self._begun()
        return self._recorder.log()

    def _begun(self) -> None:
        """The log shows where everything is, also of a run without motions."""
        self._recorder.stand()
        if not self._recorder.samples:
            self._stepper.sample()

    def close(self) -> None:
        """See ``Executor.close``."""
        self.world.close()

    # -- moving ----------------------------------------------------------------------------------

    def _move(self, motion: Motion) -> str:
        """The arm or the base along a trajectory, then on to the contact that is sought."""
        world, stepper = self.world, self._stepper
        held = None if stepper.held is None else world.scene.items[stepper.held].name
        watch = Watch(world.robot, motion, held, self.limits)
        where = world.robot.slice(motion.group)
        points = self._points(motion)
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

    def _points(self, motion: Motion) -> Array:
        """The trajectory at every step of the simulation (m, k), its end included."""
        steps = max(1, math.ceil(motion.trajectory.duration / self.world.dt - 1e-9))
        return motion.trajectory(np.arange(steps + 1, dtype=np.float64) * self.world.dt)

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

    # -- the fingers -----------------------------------------------------------------------------

    def _open(self, motion: Motion) -> str:
        """The fingers go where the trajectory says, and everything comes to rest."""
        world, stepper = self.world, self._stepper
        if stepper.gripping:
            stepper.look()
            stepper.grip(False)
        where = world.robot.slice("fingers")
        points = self._points(motion)
        rates = np.diff(points, axis=0) / world.dt
        velocities = np.zeros(world.robot.size)
        for point, rate in zip(points[:-1], rates, strict=True):
            stepper.hold[where] = point
            velocities[where] = rate
            stepper.step(velocities)
        stepper.hold[where] = points[-1]
        stepper.wait(_LEAST_REST)
        until = stepper.t + self.limits.settle_time
        while stepper.t < until and self._fastest() > self.limits.at_rest_speed:
            stepper.look()
        return ""

    def _fastest(self) -> float:
        """m/s, of the items; none is held when this is asked."""
        world = self.world
        return max((world.item_speed(i) for i in range(len(world.item_ids))), default=0.0)

    def _close(self, force: float) -> str:
        """Close until both fingers have pressed with ``force`` N for long enough, or on nothing."""
        world, stepper = self.world, self._stepper
        stepper.look()
        stepper.grip(True)
        where = world.robot.slice("fingers")
        # As long as it takes to close from fully open, and as long again.
        longest = 2.0 * float(world.robot.group("fingers").upper[0]) / CLOSING_SPEED
        pressed, until = 0.0, stepper.t + longest
        while stepper.t < until:
            began = stepper.t
            stepper.look()
            forces = [
                sum(touch.normal for pair, touch in stepper.touches.items() if finger in pair)
                for finger in world.robot.fingers
            ]
            pressed = pressed + stepper.t - began if min(forces) >= force else 0.0
            if pressed >= self.limits.grip_time:
                return f"grip, {min(forces):.0f} N"
            if float(world.q()[where].max()) < _CLOSED:
                return "closed on nothing"
        return "no grip"
