"""Joints against their limits of position, velocity, acceleration and torque, and their commands.

Velocities are those that the log states, and the differences of its positions: both must keep the
limits and agree with each other.

Inverse dynamics says what torques the motion asks for: of the robot's links, and of the held item
as a point mass at its centre. Contact with anything but the item (a drawer that is pulled) is not
in it. A run with forces has recorded its torques, which must agree where there is no such contact.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from galley.domain.frames import Array
from galley.domain.log import Log
from galley.domain.scene.model import Scene
from galley.robots.model import JointGroup, RobotModel
from galley.validation.circumstances import (
    base_left_alone,
    fingers_free,
    handling,
    over_window,
)
from galley.validation.tolerances import Tolerances
from galley.validation.verdict import Violation


@dataclass(frozen=True)
class Limited:
    """Largest shares of the velocity and acceleration limits, and the violations."""

    velocity: float
    acceleration: float
    violations: tuple[Violation, ...]


def limited(scene: Scene, robot: RobotModel, log: Log, tolerances: Tolerances) -> Limited:
    """All joint limits; see the module's docstring."""
    found: list[Violation] = []
    for j, slide in enumerate(scene.joints):
        unit, range_ = "m" if slide.kind == "prismatic" else "rad", (slide.lower, slide.upper)
        found += _position(log, slide.name, unit, log.scene_q[:, j], range_, tolerances)
    velocity = acceleration = 0.0
    for group in robot.groups:
        q = log.q[:, robot.slice(group.name)]
        for j, name in enumerate(group.joints):
            range_ = group.lower[j], group.upper[j]
            found += _position(log, name, group.units[j], q[:, j], range_, tolerances)
        most, wrong = _velocities(robot, group, log, tolerances)
        velocity, found = max(velocity, most), found + wrong
        most, wrong = _accelerations(robot, group, log, tolerances)
        acceleration, found = max(acceleration, most), found + wrong
    return Limited(velocity, acceleration, tuple(found))


def rates(robot: RobotModel, log: Log, tolerances: Tolerances) -> tuple[Violation, ...]:
    """Whether the velocity column is how q changes; the first sample of each joint where not."""
    if len(log.time) < 2:
        return ()
    # The mean of two samples times the period is the way between them up to jerk * period^2 / 12.
    stated = 0.5 * (log.velocity[1:] + log.velocity[:-1])
    measured = np.diff(log.q, axis=0) / log.period
    window = min(over_window(log, tolerances.rates_window), len(measured))
    off = np.abs(_means(stated - measured, window))
    off[~base_left_alone(log, robot, window)[: len(off)], robot.slice("base")] = 0.0
    # What a finger presses on stops it within a step, which no sample at each end tells.
    off[~fingers_free(log, robot, window)[: len(off)], robot.slice("fingers")] = 0.0
    found = []
    for group in robot.groups:
        at = robot.slice(group.name)
        bound = tolerances.rates * group.acceleration * log.period
        for j, joint in enumerate(group.joints):
            over = off[:, at][:, j] > bound[j]
            if over.any():
                k = int(np.argmax(over))
                by = f"{off[:, at][k, j]:.4f} {group.units[j]}/s"
                what = f"the stated velocity of {joint} is {by} off from how it moves"
                found.append(Violation(float(log.time[k]), what, "rates"))
    return tuple(found)


def _means(values: Array, window: int) -> Array:
    """Means of ``window`` consecutive rows (m - window + 1, n) of (m, n)."""
    sums = np.concatenate([np.zeros((1, values.shape[1])), np.cumsum(values, axis=0)])
    found: Array = (sums[window:] - sums[:-window]) / window
    return found


def _position(
    log: Log, joint: str, unit: str, q: Array, range_: tuple[float, float], tolerances: Tolerances
) -> list[Violation]:
    """A joint's positions (T,) against its range, metres or radians by ``unit``."""
    beyond = np.maximum(range_[0] - q, q - range_[1])
    over = beyond > (tolerances.position_length if unit == "m" else tolerances.position_angle)
    if not over.any():
        return []
    what = f"{joint} is {beyond.max():.4f} {unit} beyond its limit"
    return [Violation(float(log.time[np.argmax(over)]), what, "position")]


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
    found = []
    for j, joint in enumerate(group.joints):
        if share[:, j].max() > tolerances.velocity:
            k = int(np.argmax(share[:, j] > tolerances.velocity))
            what = (
                f"{joint} moves at {speed[:, j].max():.2f} {group.units[j]}/s,"
                f" {100 * share[:, j].max():.0f} % of its limit"
            )
            found.append(Violation(float(log.time[k]), what, "velocity"))
    return float(share.max(initial=0.0)), found


def _accelerations(
    robot: RobotModel, group: JointGroup, log: Log, tolerances: Tolerances
) -> tuple[float, list[Violation]]:
    """Mean acceleration over a window; fingers only where they touch nothing."""
    window = over_window(log, tolerances.acceleration_window)
    if len(log.time) <= window:
        return 0.0, []
    v = log.velocity[:, robot.slice(group.name)]
    share = np.abs(v[window:] - v[:-window]) / (window * log.period) / group.acceleration
    if group.name == "base":
        share[~base_left_alone(log, robot, window)[:-window]] = 0.0
    if group.name == "fingers":
        share[~fingers_free(log, robot, window)[:-window]] = 0.0
    found = []
    for j, joint in enumerate(group.joints):
        if share[:, j].max() > tolerances.acceleration:
            k = int(np.argmax(share[:, j] > tolerances.acceleration))
            what = (
                f"{joint} accelerates at"
                f" {share[:, j].max() * group.acceleration[j]:.1f} {group.units[j]}/s^2,"
                f" {100 * share[:, j].max():.0f} % of its limit"
            )
            found.append(Violation(float(log.time[k]), what, "acceleration"))
    return float(share.max(initial=0.0)), found


@dataclass(frozen=True)
class Tracked:
    """Largest errors of the arm (rad) and of the base's position (m), and the violations."""

    arm: float
    base: float
    violations: tuple[Violation, ...]


def tracked(robot: RobotModel, log: Log, tolerances: Tolerances) -> Tracked:
    """Commands against positions.

    Fingers count only while they may touch nothing, the base while nothing outside pushes it.
    """
    error = np.abs(log.command - log.q)
    bounds = {
        "arm": (tolerances.tracking_arm,) * robot.group("arm").size,
        "base": (tolerances.tracking_base, tolerances.tracking_base, tolerances.tracking_heading),
        "fingers": (tolerances.tracking_fingers,) * robot.group("fingers").size,
    }
    error[~fingers_free(log, robot, 0), robot.slice("fingers")] = 0.0
    error[~base_left_alone(log, robot, 1), robot.slice("base")] = 0.0
    found = []
    for name, bound in bounds.items():
        group, off = robot.group(name), error[:, robot.slice(name)]
        for j, joint in enumerate(group.joints):
            over = off[:, j] > bound[j]
            if over.any():
                k = int(np.argmax(over))
                what = (
                    f"{joint} is up to {off[:, j].max():.4f} {group.units[j]} from where it was"
                    " told to be"
                )
                found.append(Violation(float(log.time[k]), what, "tracking"))
    found += _copied(robot, log, tolerances)
    base = error[:, robot.slice("base")]
    return Tracked(
        arm=float(error[:, robot.slice("arm")].max(initial=0.0)),
        base=float(np.hypot(base[:, 0], base[:, 1]).max(initial=0.0)),
        violations=tuple(found),
    )


def _copied(robot: RobotModel, log: Log, tolerances: Tolerances) -> list[Violation]:
    """Joints that were exactly where they were told to be, which no motor under forces achieves."""
    if log.mode != "physics":
        return []
    moving = np.abs(log.velocity) > tolerances.rest_joint * np.concatenate(
        [group.velocity for group in robot.groups]
    )
    exact = moving & (log.command == log.q)
    exact[:, robot.slice("fingers")] = False  # what they close on is where they are told to be
    found = []
    for j in np.flatnonzero(exact.sum(axis=0) > tolerances.exact):
        k = int(np.argmax(exact[:, j]))
        what = f"the command of {robot.joints[j]} is no command: it is the position itself"
        found.append(Violation(float(log.time[k]), what, "tracking"))
    return found


class Dynamics(Protocol):
    """What ``Stage`` can say about forces; it must be asked state by state."""

    def inverse_dynamics(self, q: list[float], v: list[float], a: list[float]) -> Array:
        """Torques (n,) of the robot alone."""
        ...

    def jacobian(self, q: list[float], p_WQ: Array) -> Array:
        """dp_WQ / dq (3, n) of a point of the hand."""
        ...


@dataclass(frozen=True)
class Torques:
    """Largest share of an arm joint's limit (None: unknown), where it comes from, violations."""

    ratio: float | None
    source: str
    violations: tuple[Violation, ...]


def efforts(robot: RobotModel) -> Array:
    """Effort limits (n,) of the robot's joints, N m or N; infinite where the URDF has none."""
    found = {}
    for joint in ET.fromstring(robot.urdf).iter("joint"):
        limit = joint.find("limit")
        if limit is not None and float(limit.get("effort", "0")) > 0.0:
            found[joint.get("name", "")] = float(limit.get("effort", "0"))
    return np.array([found.get(name, np.inf) for name in robot.joints])


class Load:
    """Torques (T, n) that the motion of a log asks for, found sample by sample.

    Args:
        scene: gravity, and the masses of its items.
    """

    def __init__(self, scene: Scene, log: Log) -> None:
        self._log = log
        self._acceleration = _derivative(log.velocity, log.period)
        self._masses = [item.mass for item in scene.items]
        swing = _derivative(_derivative(log.items[:, :, :3], log.period), log.period)
        self._pull = swing - scene.physics.gravity  # N per kg that carries each item
        self.torques = np.zeros_like(log.q)

    def look(self, k: int, dynamics: Dynamics) -> None:
        """Add sample ``k``, whose state is set now."""
        log = self._log
        q = log.q[k].tolist()
        found = dynamics.inverse_dynamics(
            q, log.velocity[k].tolist(), self._acceleration[k].tolist()
        )
        held = int(log.held[k])
        if held >= 0:
            force = self._masses[held] * self._pull[k, held]
            found = found + force @ dynamics.jacobian(q, log.items[k, held, :3])
        self.torques[k] = found


def borne(
    scene: Scene, robot: RobotModel, log: Log, asked: Array, tolerances: Tolerances
) -> tuple[Violation, ...]:
    """Recorded torques of the arm against those (T, n) that its motion asks for.

    Means over a window, where neither the hand nor what it holds is at anything else.
    """
    window = over_window(log, tolerances.borne_window)
    if log.mode != "physics" or len(log.time) <= window:
        return ()
    at = robot.slice("arm")
    off = np.abs(_means(log.torque[:, at] - asked[:, at], window))
    items = tuple(item.name for item in scene.items)
    off[handling(log, robot, items, window)[: len(off)]] = 0.0
    found = []
    for j, joint in enumerate(robot.group("arm").joints):
        over = off[:, j] > tolerances.borne * efforts(robot)[at][j]
        if over.any():
            k = int(np.argmax(over))
            what = f"the torque of {joint} is {off[k, j]:.1f} N m off from what its motion asks for"
            found.append(Violation(float(log.time[k]), what, "torque"))
    return tuple(found)


def within_efforts(
    robot: RobotModel, log: Log, torques: Array, source: str, tolerances: Tolerances
) -> Torques:
    """Torques (T, n) of the arm's joints against their limits."""
    at = robot.slice("arm")
    size, limit = np.abs(torques[:, at]), efforts(robot)[at]
    if np.isnan(size).all():
        return Torques(None, "", ())
    share = size / limit
    found = []
    for j, joint in enumerate(robot.group("arm").joints):
        over = share[:, j] > tolerances.torque * (1.0 + 1e-6)
        if over.any():
            k = int(np.argmax(over))
            what = f"{joint} needs {size[:, j].max():.1f} N m of its {limit[j]:.0f}"
            found.append(Violation(float(log.time[k]), what, "torque"))
    return Torques(float(np.nanmax(share)), source, tuple(found))


def _derivative(values: Array, period: float) -> Array:
    """Central differences over time (T, ...); zeros of a single sample."""
    if len(values) < 2:
        return np.zeros_like(values)
    return np.asarray(np.gradient(values, period, axis=0))
