"""Physics execution: motors track the trajectories, guards end them, fingers grip by friction.

The fingers open along a trajectory (``_open``) and close by force (``_close``). While a hand grips,
the motors of each finger close with at most the scene's ``finger_force``: 40 N by default
(``domain.scene.schema``), or the ``force`` of the robot file's gripper. Fingers that have met an
item can't move on, so they press on it with this force. The grip counts once the weaker finger has
felt the guard's force, 0.5 (``grip_force``) of these 40 N, for 0.05 s (``grip_time``). Then the
motion ends, the fingers press on, and friction holds the item. It counts as held while both fingers
press on it with ``held_force`` (2 N) or more (``sensing.held_item``).

Any other contact of 40 N (``stop_force``, a separate threshold) stops a motion.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from galley.collision.checker import Pair
from galley.domain.frames import Array, to_pose7
from galley.domain.log import OUTSIDE, Log
from galley.domain.scene.model import Scene
from galley.domain.state import State
from galley.execution.executor import LOG_PERIOD, Observation, Recorder, Sample
from galley.execution.physics.sensing import (
    ContactForce,
    force_on,
    held_item,
    item_speed,
    measure_contacts,
    observed_state,
)
from galley.execution.physics.world import PhysicsWorld, grasp_jacobian
from galley.motion.motion import Motion
from galley.motion.thresholds import THRESHOLDS, Thresholds
from galley.robots.model import RobotModel

if TYPE_CHECKING:
    from galley.execution.disturbance.faults import InjectedFaults

CLOSING_SPEED = 0.05  # m/s of each finger until it presses on something
GRIP_SUBSTEPS = 4  # replace one step while fingers grip: a held item creeps less in shorter steps
PUSH_STEPS = 8  # over which the force of a push is averaged: the first impact has higher peaks
_POSITION_ERROR = 1e-3  # rad or m from its command, below which a joint has arrived
_STANDSTILL = 0.01  # rad/s or m/s, below which a joint stands still
_BLEND_SHARE = 0.2  # share of the acceleration limits for joining one motion to the next
_SLOW_FROM = 0.9  # share of a trajectory after which it is slow: a drawer's inertia isn't felt
_RAMP_TIME = 0.05  # s in which a hand that holds no item reaches the speed at which it creeps
_BRAKE_SHARE, _BRAKE_TIMEOUT = 0.8, 2.0  # share of the acceleration limits; s, at most
_BRAKE_TIME = 0.05  # s to come to a stop after a guard triggered
PARTED = 0.001  # m that a finger must have moved off an item so that nothing touches it any more
_CLOSED = 0.0015  # m, half the width below which nothing can be between the fingers
_RELEASE_TIME = 0.05  # s after opening, before anything can count as being at rest


class Stepper:
    """Steps the simulation, sends motor commands and writes the log.

    Attributes:
        setpoint: commanded configuration (n,), m and rad; the base's is by its odometry.
        gripping: names of the hands with force-controlled fingers, which ignore ``setpoint``.
        closing_speed: speed (m/s) of each finger until it presses on something, by hand.
        watching: whether contacts are measured in each step, not only at samples.
        contacts: the contacts measured last, by pair of names.
        recent: the contacts of the last steps: of 1/240 s while ``watching``, of ``PUSH_STEPS``
            steps in a push, else of one step.
        holds: index of the item in each hand that holds any, at the latest sample, by hand.
        motion: the current motion, or None.
        name: its label in the log.
        t: seconds since it began.
    """

    def __init__(
        self,
        world: PhysicsWorld,
        recorder: Recorder,
        limits: Thresholds,
        fault: InjectedFaults | None,
    ) -> None:
        self.world, self.recorder, self.limits, self.fault = world, recorder, limits, fault
        self.setpoint = world.q()
        self.gripping = frozenset[str]()
        self._fingers = np.empty(0, dtype=np.int64)  # indices in q of force-controlled joints
        self._driven = np.arange(world.robot.size)  # indices in q of position-controlled joints
        self.watching = False
        self.contacts: dict[Pair, ContactForce] = {}
        self.recent: list[dict[Pair, ContactForce]] = []
        self._touched: dict[Pair, tuple[float, float]] = {}  # m, N, since the latest sample
        self.holds: dict[str, int] = {}
        self.motion: Motion | None = None
        self.name = ""
        self.t = 0.0
        self.closing_speed = {hand.hand: closing_speed(hand) for hand in world.robot.hands}
        self._base_dt = world.dt
        self._stride = max(1, round(LOG_PERIOD / world.dt))
        self._count = 0

    def begin(self, motion: Motion, name: str) -> None:
        """Begin a motion: label its samples, and let faults that apply to it become active."""
        self.recorder.begin(name, motion)
        self.motion, self.name, self.t = motion, name, 0.0
        if not self.recorder.count:
            self.sample()
        if self.fault is not None:
            self.fault.motion_begins(self.world, motion)

    @property
    def held(self) -> int | None:
        """Index of the item in the acting hand at the latest sample, or None."""
        return self.holds.get(self.world.robot.hand)

    @property
    def grips(self) -> bool:
        """Whether the fingers of the acting hand are force-controlled."""
        return self.world.robot.hand in self.gripping

    def set_gripping(self, gripping: bool) -> None:
        """Switch the fingers of the acting hand between force control and position control.

        The time step changes, too. So call this before any step, or when ``step`` returned True.
        """
        hand = {self.world.robot.hand}
        self.gripping = self.gripping | hand if gripping else self.gripping - hand
        joints, robot = np.arange(self.world.robot.size), self.world.robot
        fingers = [joints[robot.acting(each).slice("fingers")] for each in self.gripping]
        self._fingers = np.concatenate([joints[:0], *fingers])
        self._driven = np.setdiff1d(joints, self._fingers)
        self.world.set_step(self._base_dt / (GRIP_SUBSTEPS if self.gripping else 1))
        self._stride = max(1, round(LOG_PERIOD / self.world.dt))

    def step(self, velocities: Array | None = None) -> bool:
        """Simulate one step; True if a sample was taken after it.

        Args:
            velocities: velocities (n,) of the setpoint, m/s and rad/s; None for zeros.
        """
        world = self.world
        if self.fault is not None and self.motion is not None:
            self.fault.before_step(world, self.motion, self.name, self.t)
        rates = np.zeros(world.robot.size) if velocities is None else velocities
        world.drive(self.setpoint[self._driven], rates[self._driven], self._driven)
        # Once closed, the fingers can't reach that speed: they press with ``finger_force``.
        for hand in sorted(self.gripping):
            world.press(hand, -self.closing_speed[hand], world.scene.physics.finger_force)
        world.step()
        self.t += world.dt
        self._count += 1
        if self._count < self._stride:
            if self.watching:
                self._measure()
            return False
        self._count = 0
        self.sample()
        return True

    def step_to_sample(self) -> None:
        """Simulate until the next sample has been taken."""
        while not self.step():
            pass

    def wait(self, seconds: float) -> None:
        """Hold the setpoint for ``seconds``, and on until the next sample."""
        end = self.t + seconds
        self.step_to_sample()
        while self.t < end:
            self.step_to_sample()

    def _measure(self) -> None:
        """Measure contacts, with their forces averaged so that they don't depend on the step."""
        self.contacts = measure_contacts(self.world)
        window = GRIP_SUBSTEPS if self.gripping and self.watching else 1
        pushes = self.motion is not None and self.motion.slide is not None
        self.recent = [*self.recent, self.contacts][-(PUSH_STEPS if pushes else window) :]
        averaged = self.recent[-window:]
        for key, contact in self.contacts.items():
            forces = [step[key].normal_force for step in averaged if key in step]
            _, most = self._touched.get(key, (0.0, 0.0))
            self._touched[key] = contact.distance, max(most, sum(forces) / len(averaged))

    def sample(self) -> None:
        """Measure contacts and add a sample to the log."""
        world = self.world
        self._measure()
        held = {hand: held_item(world, self.contacts, self.limits, hand) for hand in self.gripping}
        self.holds = {hand: index for hand, index in held.items() if index is not None}
        q, velocity, torque = world.joint_states()
        command = np.array(self.setpoint)
        command[:3] += world.base_shift  # the motors' true target, whatever the odometry
        command[self._fingers] = q[self._fingers]  # they have no position command
        first, *others = (self.holds.get(hand.hand) for hand in world.robot.hands)
        items = [to_pose7(world.item_pose(k)) for k in range(len(world.item_ids))]
        self.recorder.sample(
            Sample(
                q,
                velocity,
                command,
                torque,
                world.scene_q(),
                np.array(items).reshape(-1, 7),
                first,
                tuple(others),
            )
        )
        for (a, b), touched in self._touched.items():
            self.recorder.contact(a, b, *touched)
        self._touched.clear()
        if self.fault is not None:
            for name, force in self.fault.external_forces().items():
                self.recorder.contact(OUTSIDE, name, 0.0, force)


class ContactMonitor:
    """Decides from contact forces when a motion ends early: by its guard, or by a collision.

    Args:
        held: name of the item in the hand, or None.
        gripping: whether the fingers press on something.
        resting: names of the items in other hands.

    Attributes:
        lands: whether the motion puts the held item down.
        word: what the guard's force means: ``stuck`` if a handle is pulled, else ``contact``.
        quick: whether the guard is checked in each simulation step, not only at samples.
        pushes: whether the motion pushes an item.
        yields: whether the arm moves under a guard and grips nothing. Its stiff fingers can't give
            way, so the arm's motors are limited.
    """

    def __init__(
        self,
        robot: RobotModel,
        motion: Motion,
        held: str | None,
        limits: Thresholds,
        gripping: bool = False,
        resting: Collection[str] = (),
    ) -> None:
        held_items = frozenset({held} if held else ())
        self.motion, self.limits, self.fingers = motion, limits, frozenset(robot.fingers)
        self.hand = frozenset({robot.palm}) | self.fingers | held_items
        self.robot_parts = frozenset(robot.links).union(held_items, resting)
        guard = motion.guard
        self.lands = held is not None and guard is not None and guard.seek > 0.0
        pulls = gripping and held is None and guard is not None and guard.seek == 0.0
        self.word = "stuck" if pulls else "contact"
        self.yields = guard is not None and "arm" in motion.group and not gripping
        self.quick, self.pushes = self.lands or self.yields, motion.slide is not None

    def resistance(self, contacts: Mapping[Pair, ContactForce]) -> float:
        """Force (N) on the hand against the guard's direction; 0 without a guard."""
        guard = self.motion.guard
        if guard is None:
            return 0.0
        return float(-guard.direction @ force_on(self.hand, contacts))

    def guard_triggered(
        self,
        contacts: Mapping[Pair, ContactForce],
        recent: Sequence[Mapping[Pair, ContactForce]] = (),
        steady: bool = False,
    ) -> str:
        """Why the guard ends the motion; empty while it does not.

        The force of ``contacts`` decides or, if ``steady``, the mean force of ``recent`` ones.
        """
        guard = self.motion.guard
        if guard is None:
            return ""
        now = self.resistance(contacts)
        mean = sum(map(self.resistance, recent)) / len(recent) if recent else now
        if (mean if steady else now) < guard.force:
            return ""
        # The validator allows the same excess: beyond it, the message names both forces.
        force = max(mean, guard.force)
        over = self.limits.stop_force if self.lands else self.limits.overshoot
        most = guard.force + max(over, self.limits.overshoot_share * guard.force)
        instead = f" instead of {guard.force:.0f} N" if force > most else ""
        return f"{self.word}, {force:.0f} N{instead}"

    def collision(self, contacts: Mapping[Pair, ContactForce], gripping: bool) -> str:
        """The collision that ends the motion, in words; empty if there is none.

        It is a contact of the robot, or of an item that it holds, with at least ``stop_force`` (N).
        Those of ``gripping`` fingers don't count: they press on purpose.
        """
        for (a, b), contact in contacts.items():
            a_ours, b_ours = a in self.robot_parts, b in self.robot_parts
            if a_ours == b_ours or contact.normal_force < self.limits.stop_force:
                continue
            part, other = (a, b) if a_ours else (b, a)
            if gripping and part in self.fingers and (a, b) in self.motion.allowed:
                continue
            return f"{part} met {other}, {contact.normal_force:.0f} N"
        return ""


class PhysicsExecutor:
    """Runs Motions under PyBullet's dynamics (see ``Executor``).

    Args:
        scene: the true scene, which may differ from the one that the planner knows.
        robot: a RobotModel with base, arm and fingers.
        state: the initial State.
        limits: thresholds of guards and sensing.
        fault: faults to inject, or None.
        sensor: maps the true State to the observed one, for instance with noise; None: exact.
        on_sample: called with each sample of the log as it is taken.
    """

    def __init__(
        self,
        scene: Scene,
        robot: RobotModel,
        state: State,
        limits: Thresholds = THRESHOLDS,
        fault: InjectedFaults | None = None,
        sensor: Callable[[State], State] | None = None,
        on_sample: Callable[[Sample], None] | None = None,
    ) -> None:
        self.world = PhysicsWorld(scene, robot, state)
        self.limits, self.sensor = limits, sensor
        self._recorder = Recorder("physics", LOG_PERIOD, on_sample)
        self._stepper = Stepper(self.world, self._recorder, limits, fault)

    def observe(self) -> State:
        holds = self._stepper.holds
        state = observed_state(self.world, self._stepper.held, holds)
        return state if self.sensor is None else self.sensor(state)

    def execute(self, motion: Motion, name: str) -> Observation:
        self.world.act(motion.hand)
        self._stepper.begin(motion, name)
        self.world.end_push_limit()
        if motion.group != "fingers":
            ended = self._move(motion)
            self._stepper.watching = False
        else:
            ended = self._open(motion) if motion.guard is None else self._close(motion.guard.force)
        self._recorder.ended(ended)
        return Observation(self.observe(), self._recorder.time, ended)

    def wait(self, seconds: float) -> None:
        self._ensure_sample()
        self._stepper.wait(seconds)

    def log(self) -> Log:
        self._ensure_sample()
        return self._recorder.log()

    def _ensure_sample(self) -> None:
        """Log the initial State if nothing has been logged yet, as in a run without motions."""
        self._recorder.stand()
        if not self._recorder.count:
            self._stepper.sample()

    def close(self) -> None:
        self.world.close()

    def _move(self, motion: Motion) -> str:
        """Move arm or base along a trajectory, then on until the contact that its guard seeks.

        Returns why the motion ended; empty if it arrived.
        """
        world, stepper = self.world, self._stepper
        held = None if stepper.held is None else world.scene.items[stepper.held].name
        rests = [world.scene.items[k].name for k in stepper.holds.values()]
        monitor = ContactMonitor(world.robot, motion, held, self.limits, stepper.grips, rests)
        stepper.watching = motion.guard is not None
        where = world.robot.slice(motion.group)
        points = self._points(motion)
        if where.start == 0:
            self._relocalize(points[0][:3])
        points = self._blended(points, motion)
        steps = len(points) - 1
        rates = np.diff(points, axis=0) / world.dt
        velocities = np.zeros(world.robot.size)
        for k in range(steps):
            self._yield(monitor)
            stepper.setpoint[where] = points[k]
            velocities[where] = rates[k]
            slow = k >= _SLOW_FROM * steps
            ended = _early_end(stepper, monitor, stepper.step(velocities), slow)
            if ended:
                self._stop(where, monitor)
                return f"{ended}, {100 * (k + 1) / steps:.0f} % of the way"
        stepper.setpoint[where] = points[-1]
        if motion.guard is not None and motion.guard.seek > 0.0:
            return self._seek_contact(motion, monitor)
        self._wait_for_arrival(where)
        if monitor.yields:  # stiff again, the motors would push away what holds the hand back
            self._stop(where, monitor)
        return ""

    def _points(self, motion: Motion) -> Array:
        """The trajectory at each simulation step (m, k), its end included."""
        steps = max(1, math.ceil(motion.trajectory.duration / self.world.dt - 1e-9))
        return motion.trajectory(np.arange(steps + 1, dtype=np.float64) * self.world.dt)

    def _relocalize(self, base: Array) -> None:
        """Reset the odometry if a base motion doesn't start at the setpoint: it was replanned."""
        if np.abs(base - self._stepper.setpoint[:3]).max() > 1e-6:
            self.world.base_shift[:] = 0.0
            self._stepper.setpoint[:3] = self.world.q()[:3]

    def _blended(self, points: Array, motion: Motion) -> Array:
        """Commands (m, k) that lead from the setpoint smoothly into a trajectory's ``points``.

        A motion that a guard ended leaves the joints away from the start of the next one. This
        offset decays along the trajectory by the quintic 1 - u^3 (10 - 15 u + 6 u^2), which is at
        rest at both ends, slowly enough for a small share of the acceleration limits.
        """
        world = self.world
        offset = self._stepper.setpoint[world.robot.slice(motion.group)] - points[0]
        limit = _BLEND_SHARE * world.robot.group(motion.group).acceleration
        # The quintic's largest acceleration is 10 / sqrt(3) of distance / duration^2.
        duration = float(np.sqrt((10.0 / math.sqrt(3.0) * np.abs(offset) / limit).max()))
        steps = math.ceil(duration / world.dt)
        if steps <= 1:
            return points
        if steps > len(points) - 1:  # too short: first go to its start
            points = np.concatenate([np.repeat(points[:1], steps, axis=0), points])
        else:  # use the whole trajectory, which makes the offset's decay as slow as possible
            steps = len(points) - 1
        u = np.minimum(np.arange(len(points)) / steps, 1.0)[:, None]
        return np.asarray(points + offset * (1.0 - u**3 * (10.0 - 15.0 * u + 6.0 * u**2)))

    def _seek_contact(self, motion: Motion, monitor: ContactMonitor) -> str:
        """Creep on along the guard's direction until it triggers, at most its ``seek`` (m)."""
        guard, world, stepper = motion.guard, self.world, self._stepper
        assert guard is not None
        arm = world.robot.slice("arm")
        speed = min(self.limits.creep, guard.speed or self.limits.creep)
        velocities = np.zeros(world.robot.size)
        ended = monitor.guard_triggered(stepper.contacts, stepper.recent)
        for k in range(math.ceil(guard.seek / speed / world.dt)):
            if ended:
                break
            self._yield(monitor)
            # Without an item in the hand, the speed ramps up over ``_RAMP_TIME``.
            pace = speed if monitor.lands else speed * min(1.0, k * world.dt / _RAMP_TIME)
            velocities[arm] = _straight(world, arm, guard.direction * pace)
            ended = _early_end(stepper, monitor, stepper.step(velocities), True)
            stepper.setpoint[arm] += velocities[arm] * world.dt
        self._stop(arm, monitor)
        return ended or f"no contact within {1e3 * guard.seek:.0f} mm beyond the end"

    def _stop(self, where: slice, monitor: ContactMonitor) -> None:
        """Stop the joints where they are now; after a put-down the hand backs off a little.

        Otherwise position motors would go on pressing. A motion that may be fast (without a guard),
        or that can't press hard (it yields), brakes within the acceleration limits of its joints.
        """
        stepper, world, guard = self._stepper, self.world, monitor.motion.guard
        if guard is None or monitor.yields:
            self._brake(where, monitor)
        self._stay(where)
        # ``where.start`` is 0 for the base: only an arm has a hand to back off.
        if where.start > 0 and monitor.lands and guard is not None:
            stepper.setpoint[where] += _straight(
                world, where, -self.limits.back_off * guard.direction
            )
        stepper.wait(_BRAKE_TIME)
        if monitor.yields:  # the motors are stiff again: they must not press, either
            self._stay(where)

    def _brake(self, where: slice, monitor: ContactMonitor) -> None:
        """Bring the joints to rest, each step by the same share of their speeds."""
        stepper, world = self._stepper, self.world
        limit = _BRAKE_SHARE * world.robot.group(monitor.motion.group).acceleration
        velocities, end = np.zeros(world.robot.size), stepper.t + _BRAKE_TIMEOUT
        while stepper.t < end:
            speed = world.joint_states().velocity[where]
            left = float((np.abs(speed) / limit).max()) - world.dt  # s of braking after this step
            if left <= 0.0:
                return
            self._yield(monitor)
            self._stay(where)
            velocities[where] = speed * left / (left + world.dt)
            stepper.step(velocities)

    def _stay(self, where: slice) -> None:
        """Command the joints to stay where they are now; the base by its odometry."""
        self._stepper.setpoint[where] = self.world.q()[where]
        if where.start == 0:
            self._stepper.setpoint[:3] -= self.world.base_shift

    def _yield(self, monitor: ContactMonitor) -> None:
        """Limit an empty hand's force in the next step to ``push_excess`` (N) above its guard's."""
        guard = monitor.motion.guard
        if guard is not None and monitor.yields:
            self.world.limit_push_force(guard.direction, guard.force + self.limits.push_excess)

    def _wait_for_arrival(self, where: slice) -> None:
        """Wait until the joints are at rest at their setpoint, for at most ``arrival_time``."""
        stepper, world = self._stepper, self.world
        end = stepper.t + self.limits.arrival_time
        stepper.step_to_sample()
        while stepper.t < end:
            q, rates, _ = world.joint_states()
            error = q - stepper.setpoint
            error[:3] -= world.base_shift
            arrived = np.abs(error[where]).max() < _POSITION_ERROR
            if arrived and np.abs(rates[where]).max() < _STANDSTILL:
                return
            stepper.step_to_sample()

    def _open(self, motion: Motion) -> str:
        """Move the fingers along the trajectory, then wait until all items are at rest."""
        world, stepper = self.world, self._stepper
        # For grippers from a robot file only: runs of the shipped robot must not change.
        forget = stepper.grips and bool(world.robot.gripper.table)
        if stepper.grips:
            stepper.step_to_sample()
            stepper.set_gripping(False)
        where = world.robot.slice("fingers")
        points = self._points(motion)
        halves = world.robot.half_width(points)
        parted = int((halves < halves[0] + PARTED).sum())
        rates = np.diff(points, axis=0) / world.dt
        velocities = np.zeros(world.robot.size)
        for k, (point, rate) in enumerate(zip(points[:-1], rates, strict=True)):
            # One step without collisions of the fingers, as soon as they have left the item.
            if forget and k in (parted, parted + 1):
                world.set_finger_collisions(k > parted)
            stepper.setpoint[where] = point
            velocities[where] = rate
            stepper.step(velocities)
        if forget:
            world.set_finger_collisions(True)
        stepper.setpoint[where] = points[-1]
        stepper.wait(_RELEASE_TIME)
        end = stepper.t + self.limits.settle_time
        while stepper.t < end and any(
            item_speed(world, i) > self.limits.at_rest_speed for i in range(len(world.item_ids))
        ):
            stepper.step_to_sample()
        return ""

    def _close(self, force: float) -> str:
        """Close until both fingers have pressed with ``force`` (N) for ``grip_time``, or have met.

        ``force`` is the threshold of a grip, 20 N by default. From here on the fingers press with
        up to ``finger_force`` (40 N), until a motion opens them. Returns ``grip, ... N``, ``closed
        on nothing`` if the fingers have met, or ``no grip`` if neither happens in time.
        """
        world, stepper = self.world, self._stepper
        stepper.step_to_sample()
        stepper.set_gripping(True)
        # Twice as long as closing from fully open takes.
        timeout = 2.0 * world.robot.gripper.open / stepper.closing_speed[world.robot.hand]
        pressed_for, end = 0.0, stepper.t + timeout
        while stepper.t < end:
            began = stepper.t
            stepper.step_to_sample()
            forces = [
                sum(c.normal_force for pair, c in stepper.contacts.items() if finger in pair)
                for finger in world.robot.fingers
            ]
            grip = min(forces)  # both must press: one finger alone holds nothing
            # Linked fingers share their force, on a fixed handle seldom evenly. So their mean
            # counts, if both press at all.
            if world.robot.gripper.table and grip >= self.limits.held_force:
                grip = sum(forces) / len(forces)
            # The time restarts when the grip slackens: a brief impact is no grip.
            pressed_for = pressed_for + stepper.t - began if grip >= force else 0.0
            if pressed_for >= self.limits.grip_time:
                return f"grip, {grip:.0f} N"
            if world.half_width() < _CLOSED:
                return "closed on nothing"
        return "no grip"


def closing_speed(robot: RobotModel) -> float:
    """m/s of each finger: ``CLOSING_SPEED``, or what its joints' limits allow at every width."""
    rates = np.abs(robot.finger_rates(np.linspace(0.0, robot.gripper.open, 9)))
    return min(CLOSING_SPEED, float((robot.group("fingers").velocity / rates).min()))


def _straight(world: PhysicsWorld, arm: slice, v_WT: Array) -> Array:
    """Arm joint rates (k,) that move the grasp centre at v_WT (3,), m/s, without turning it."""
    twist = np.concatenate([v_WT, np.zeros(3)])
    return np.asarray(np.linalg.lstsq(grasp_jacobian(world)[:, arm], twist, rcond=None)[0])


def _early_end(stepper: Stepper, monitor: ContactMonitor, sampled: bool, slow: bool) -> str:
    """Why the motion ends after this step; empty while it goes on.

    While an item is put down or an empty hand seeks contact, the guard is checked in each step: the
    motors press until they are stopped. With a drawer, a single step may feel its inertia. So the
    guard is checked at samples only (``sampled``) or, while the hand is ``slow``, against the mean
    force over 1/240 s.
    """
    contacts, ended = stepper.contacts, ""
    if sampled or slow or monitor.quick:
        steady = monitor.pushes or not (sampled or monitor.quick)
        ended = monitor.guard_triggered(contacts, stepper.recent, steady)
    return ended or (monitor.collision(contacts, stepper.grips) if sampled else "")
