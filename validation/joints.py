"""Checks joints: limits of position, velocity, acceleration and torque, and tracking of commands.

Both the logged velocities and the differences of logged positions must keep the limits, and must
agree.

Inverse dynamics gives the torques that the motion requires, with the held item as a point mass at
its centre. Other contacts (a drawer that is pulled) are not included. Without such a contact, the
torques recorded under physics must agree with it.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from galley.domain.frames import Array
from galley.domain.log import Log
from galley.domain.scene.model import Scene
from galley.robots.model import JointGroup, RobotModel
from galley.validation.replay_world import ReplayWorld
from galley.validation.sample_masks import (
    base_unpushed,
    fingers_free,
    in_contact,
    samples_in,
)
from galley.validation.tolerances import Tolerances
from galley.validation.verdict import Violation


@dataclass(frozen=True)
class JointLimitUse:
    """Largest shares of the velocity and acceleration limits, and the violations."""

    velocity: float
    acceleration: float
    violations: tuple[Violation, ...]


def check_limits(
    scene: Scene, robot: RobotModel, log: Log, tolerances: Tolerances
) -> JointLimitUse:
    """Check position, velocity and acceleration limits of all joints."""
    violations: list[Violation] = []
    for j, joint in enumerate(scene.joints):
        unit, bounds = "m" if joint.kind == "prismatic" else "rad", (joint.lower, joint.upper)
        violations += _position(log, joint.name, unit, log.scene_q[:, j], bounds, tolerances)
    velocity = acceleration = 0.0
    for group in robot.groups:
        q = log.q[:, robot.slice(group.name)]
        for j, name in enumerate(group.joints):
            bounds = group.lower[j], group.upper[j]
            violations += _position(log, name, group.units[j], q[:, j], bounds, tolerances)
        most, wrong = _velocities(robot, group, log, tolerances)
        velocity, violations = max(velocity, most), violations + wrong
        most, wrong = _accelerations(robot, group, log, tolerances)
        acceleration, violations = max(acceleration, most), violations + wrong
    return JointLimitUse(velocity, acceleration, tuple(violations))


def check_velocity_column(
    robot: RobotModel, log: Log, tolerances: Tolerances
) -> tuple[Violation, ...]:
    """Check that the velocity column is the derivative of q, joint by joint."""
    if len(log.time) < 2:
        return ()
    # The trapezoidal rule is exact up to jerk * period^2 / 12.
    stated = 0.5 * (log.velocity[1:] + log.velocity[:-1])
    measured = np.diff(log.q, axis=0) / log.period
    window = min(samples_in(log, tolerances.velocity_window), len(measured))
    off = np.abs(_means(stated - measured, window))
    off[~base_unpushed(log, robot, window)[: len(off)], robot.slice("base")] = 0.0
    # Contact stops a finger within a step, which samples do not resolve.
    off[~fingers_free(log, robot, window)[: len(off)], robot.slice("fingers")] = 0.0
    violations = []
    for group in robot.groups:
        at = robot.slice(group.name)
        bound = tolerances.velocity_residual * group.acceleration * log.period
        for j, joint in enumerate(group.joints):
            over = off[:, at][:, j] > bound[j]
            if over.any():
                k = int(np.argmax(over))
                by = f"{off[:, at][k, j]:.4f} {group.units[j]}/s"
                what = f"the logged velocity of {joint} differs by {by} from its motion"
                violations.append(Violation(float(log.time[k]), what, "rates"))
    return tuple(violations)


def _violation(log: Log, over: NDArray[np.bool_], what: str, kind: str) -> list[Violation]:
    """The violation at the first sample in ``over`` (T,), if there is one."""
    return [Violation(float(log.time[np.argmax(over)]), what, kind)] if over.any() else []


def _means(values: Array, window: int) -> Array:
    """Means of ``window`` consecutive rows (m - window + 1, n) of (m, n)."""
    sums = np.concatenate([np.zeros((1, values.shape[1])), np.cumsum(values, axis=0)])
    return np.asarray((sums[window:] - sums[:-window]) / window)


def _position(
    log: Log, joint: str, unit: str, q: Array, bounds: tuple[float, float], tolerances: Tolerances
) -> list[Violation]:
    """Check a joint's positions (T,) against its range, in ``unit``."""
    beyond = np.maximum(bounds[0] - q, q - bounds[1])
    over = beyond > (tolerances.position_length if unit == "m" else tolerances.position_angle)
    what = f"{joint} is {beyond.max():.4f} {unit} beyond its limit"
    return _violation(log, over, what, "position")


def _velocities(
    robot: RobotModel, group: JointGroup, log: Log, tolerances: Tolerances
) -> tuple[float, list[Violation]]:
    at = robot.slice(group.name)
    stated = np.abs(log.velocity[:, at])
    speed = stated.copy()
    if len(log.time) > 1:
        measured = np.abs(np.diff(log.q[:, at], axis=0)) / log.period
        speed[:-1] = np.maximum(speed[:-1], measured)
    share = speed / group.velocity
    violations: list[Violation] = []
    for j, joint in enumerate(group.joints):
        what = (
            f"{joint} moves at {speed[:, j].max():.2f} {group.units[j]}/s,"
            f" {100 * share[:, j].max():.0f} % of its limit"
        )
        violations += _violation(log, share[:, j] > tolerances.velocity, what, "velocity")
    return float(share.max(initial=0.0)), violations


def _accelerations(
    robot: RobotModel, group: JointGroup, log: Log, tolerances: Tolerances
) -> tuple[float, list[Violation]]:
    """Check mean accelerations over a window; of fingers only while they touch nothing."""
    window = samples_in(log, tolerances.acceleration_window)
    if len(log.time) <= window:
        return 0.0, []
    v = log.velocity[:, robot.slice(group.name)]
    share = np.abs(v[window:] - v[:-window]) / (window * log.period) / group.acceleration
    if group.name == "base":
        share[~base_unpushed(log, robot, window)[:-window]] = 0.0
    if group.name == "fingers":
        share[~fingers_free(log, robot, window)[:-window]] = 0.0
    violations: list[Violation] = []
    for j, joint in enumerate(group.joints):
        most = share[:, j].max()
        what = (
            f"{joint} accelerates at {most * group.acceleration[j]:.1f} {group.units[j]}/s^2,"
            f" {100 * most:.0f} % of its limit"
        )
        violations += _violation(log, share[:, j] > tolerances.acceleration, what, "acceleration")
    return float(share.max(initial=0.0)), violations


@dataclass(frozen=True)
class TrackingErrors:
    """Largest errors of the arm (rad) and of the base's position (m), and the violations."""

    arm: float
    base: float
    violations: tuple[Violation, ...]


def check_tracking(robot: RobotModel, log: Log, tolerances: Tolerances) -> TrackingErrors:
    """Check positions against commands.

    Fingers count only while they may touch nothing, the base only without external pushes.
    """
    error = np.abs(log.command - log.q)
    bounds = {
        "arm": (tolerances.tracking_arm,) * robot.group("arm").size,
        "base": (tolerances.tracking_base, tolerances.tracking_base, tolerances.tracking_heading),
        "fingers": (tolerances.tracking_fingers,) * robot.group("fingers").size,
    }
    error[~fingers_free(log, robot, 0), robot.slice("fingers")] = 0.0
    error[~base_unpushed(log, robot, 1), robot.slice("base")] = 0.0
    violations: list[Violation] = []
    for name, bound in bounds.items():
        group, off = robot.group(name), error[:, robot.slice(name)]
        for j, joint in enumerate(group.joints):
            what = f"{joint} is up to {off[:, j].max():.4f} {group.units[j]} from its command"
            violations += _violation(log, off[:, j] > bound[j], what, "tracking")
    violations += _copied_commands(robot, log, tolerances)
    base = error[:, robot.slice("base")]
    return TrackingErrors(
        arm=float(error[:, robot.slice("arm")].max(initial=0.0)),
        base=float(np.hypot(base[:, 0], base[:, 1]).max(initial=0.0)),
        violations=tuple(violations),
    )


def _copied_commands(robot: RobotModel, log: Log, tolerances: Tolerances) -> list[Violation]:
    """Check for joints exactly at their command, which no motor achieves under physics."""
    if log.mode != "physics":
        return []
    moving = np.abs(log.velocity) > tolerances.rest_joint * np.concatenate(
        [group.velocity for group in robot.groups]
    )
    exact = moving & (log.command == log.q)
    exact[:, robot.slice("fingers")] = False  # in a grip, positions are logged as commands
    violations: list[Violation] = []
    for j in np.flatnonzero(exact.sum(axis=0) > tolerances.exact_commands):
        what = f"the command of {robot.joints[j]} is a copy of its position"
        violations += _violation(log, exact[:, j], what, "tracking")
    return violations


@dataclass(frozen=True)
class TorqueUse:
    """Largest share of an arm joint's limit (None: unknown), the source, and the violations."""

    ratio: float | None
    source: str
    violations: tuple[Violation, ...]


def effort_limits(robot: RobotModel) -> Array:
    """Effort limits (n,) of the robot's joints, N m or N; infinite if the URDF has none."""
    limits = {}
    for joint in ET.fromstring(robot.urdf).iter("joint"):
        limit = joint.find("limit")
        if limit is not None and float(limit.get("effort", "0")) > 0.0:
            limits[joint.get("name", "")] = float(limit.get("effort", "0"))
    return np.array([limits.get(name, np.inf) for name in robot.joints])


class RequiredTorques:
    """Torques (T, n) that a log's motion requires, computed sample by sample.

    Args:
        scene: for gravity and the masses of items.
    """

    def __init__(self, scene: Scene, log: Log) -> None:
        self._log = log
        acceleration = _derivative(log.velocity, log.period)
        self._motion = np.stack([log.q, log.velocity, acceleration], axis=1).tolist()
        self._masses = [item.mass for item in scene.items]
        swing = _derivative(_derivative(log.items[:, :, :3], log.period), log.period)
        self._pull = swing - scene.physics.gravity  # N per kg that carries each item
        self.torques = np.zeros_like(log.q)

    def check(self, k: int, world: ReplayWorld) -> None:
        """Compute sample ``k``, whose state is set in ``world``."""
        log = self._log
        q, v, a = self._motion[k]
        torques = world.inverse_dynamics(q, v, a)
        held = int(log.held[k])
        if held >= 0:
            force = self._masses[held] * self._pull[k, held]
            torques = torques + force @ world.jacobian(q, log.items[k, held, :3])
        self.torques[k] = torques


def check_recorded_torques(
    scene: Scene, robot: RobotModel, log: Log, required: Array, tolerances: Tolerances
) -> tuple[Violation, ...]:
    """Check recorded torques of the arm against those (T, n) that its motion requires.

    Means over a window, without contact of the hand or its held item with anything else.
    """
    window = samples_in(log, tolerances.torque_window)
    if log.mode != "physics" or len(log.time) <= window:
        return ()
    at = robot.slice("arm")
    off = np.abs(_means(log.torque[:, at] - required[:, at], window))
    items = tuple(item.name for item in scene.items)
    off[in_contact(log, robot, items, window)[: len(off)]] = 0.0
    violations: list[Violation] = []
    for j, joint in enumerate(robot.group("arm").joints):
        over = off[:, j] > tolerances.torque_residual * effort_limits(robot)[at][j]
        if over.any():
            k = int(np.argmax(over))
            what = f"the torque of {joint} is {off[k, j]:.1f} N m off what its motion requires"
            violations.append(Violation(float(log.time[k]), what, "torque"))
    return tuple(violations)


def check_torques(
    robot: RobotModel, log: Log, torques: Array, source: str, tolerances: Tolerances
) -> TorqueUse:
    """Check torques (T, n) of the arm's joints against their limits."""
    at = robot.slice("arm")
    size, limit = np.abs(torques[:, at]), effort_limits(robot)[at]
    if np.isnan(size).all():
        return TorqueUse(None, "", ())
    share = size / limit
    violations: list[Violation] = []
    for j, joint in enumerate(robot.group("arm").joints):
        over = share[:, j] > tolerances.torque * (1.0 + 1e-6)
        what = f"{joint} needs {size[:, j].max():.1f} N m of its {limit[j]:.0f}"
        violations += _violation(log, over, what, "torque")
    return TorqueUse(float(np.nanmax(share)), source, tuple(violations))


def _derivative(values: Array, period: float) -> Array:
    """Central differences over time (T, ...); zeros for a single sample."""
    if len(values) < 2:
        return np.zeros_like(values)
    return np.asarray(np.gradient(values, period, axis=0))
