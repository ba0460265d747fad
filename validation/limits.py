"""Joints against their limits of position, velocity and acceleration, and the log against itself.

Velocities are those that the log states, and the differences of its positions: both must keep the
limits and agree with each other.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from galley.domain.frames import Array
from galley.domain.log import Log
from galley.domain.scene import Scene
from galley.robots.model import JointGroup, RobotModel
from galley.validation.circumstances import pushed, spread
from galley.validation.tolerances import Tolerances
from galley.validation.verdict import Violation


@dataclass(frozen=True)
class Limited:
    """Largest shares of the velocity and acceleration limits, and the violations."""

    velocity: float
    acceleration: float
    violations: tuple[Violation, ...]


def over_window(log: Log, seconds: float) -> int:
    """How many periods a window of ``seconds`` has, at least one."""
    return max(1, round(seconds / log.period))


def fingers_free(log: Log, robot: RobotModel, window: int) -> NDArray[np.bool_]:
    """Samples (T,) in whose motion, and ``window`` samples to either side, fingers touch nothing.

    What a finger closes on stops it; no limit and no command says when.
    """
    may = np.zeros(len(log.motions), dtype=bool)
    for k, a, b in log.declared:
        may[int(k)] |= str(a) in robot.fingers or str(b) in robot.fingers
    busy = may[log.motion]
    fingers = np.isin(log.names, robot.fingers)
    busy[log.contact_step[fingers[log.contact_pair].any(axis=1)]] = True
    return ~spread(busy, window, window)


def base_left_alone(log: Log, robot: RobotModel, window: int) -> NDArray[np.bool_]:
    """Samples (T,) around which nothing outside the scene pushes the robot."""
    return ~spread(pushed(log, robot.links), window, window)


def limited(scene: Scene, robot: RobotModel, log: Log, tolerances: Tolerances) -> Limited:
    """All joint limits; see the module's docstring."""
    found: list[Violation] = [*_scene_joints(scene, log, tolerances)]
    velocity = acceleration = 0.0
    for group in robot.groups:
        found += _positions(robot, group, log, tolerances)
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


def _positions(
    robot: RobotModel, group: JointGroup, log: Log, tolerances: Tolerances
) -> list[Violation]:
    found = []
    q = log.q[:, robot.slice(group.name)]
    beyond = np.maximum(group.lower - q, q - group.upper)
    for j, joint in enumerate(group.joints):
        allowed = _position(group.units[j], tolerances)
        if beyond[:, j].max() > allowed:
            k = int(np.argmax(beyond[:, j] > allowed))
            most = f"{beyond[:, j].max():.4f} {group.units[j]}"
            found.append(
                Violation(float(log.time[k]), f"{joint} is {most} beyond its limit", "position")
            )
    return found


def _scene_joints(scene: Scene, log: Log, tolerances: Tolerances) -> list[Violation]:
    found = []
    for j, joint in enumerate(scene.joints):
        unit = "m" if joint.kind == "prismatic" else "rad"
        beyond = np.maximum(joint.lower - log.scene_q[:, j], log.scene_q[:, j] - joint.upper)
        allowed = _position(unit, tolerances)
        if beyond.max() > allowed:
            k = int(np.argmax(beyond > allowed))
            what = f"{joint.name} is {beyond.max():.4f} {unit} beyond its limit"
            found.append(Violation(float(log.time[k]), what, "position"))
    return found


def _position(unit: str, tolerances: Tolerances) -> float:
    return tolerances.position_length if unit == "m" else tolerances.position_angle


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
