"""Checks joints: limits of position, velocity, acceleration and torque, and tracking of commands.

A run without forces records no torques. Inverse dynamics then gives the torques that its motion
requires, with the held item as a point mass at its centre.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from galley.domain.frames import Array
from galley.domain.log import Log
from galley.domain.scene.model import Scene
from galley.robots.model import RobotModel, join_groups
from galley.validation.replay_world import ReplayWorld
from galley.validation.sample_masks import fingers_may_touch, samples_in
from galley.validation.tolerances import Tolerances
from galley.validation.verdict import Violation


def check_limits(
    scene: Scene, robot: RobotModel, log: Log, tolerances: Tolerances
) -> tuple[float, float, list[Violation]]:
    """Check position, velocity and acceleration limits of all joints of robot and furniture.

    Furniture has position limits only.

    Returns:
        The largest shares of the velocity and acceleration limits, and the violations.
    """
    furniture = [joint.name for joint in scene.joints]
    kinds = ["rad" if joint.kind == "revolute" else "m" for joint in scene.joints]
    lower, upper = (np.array([getattr(j, end) for j in scene.joints]) for end in ("lower", "upper"))
    joints = join_groups(robot.name, list(robot.groups))
    names, units = joints.joints, joints.units
    speed, gain = _speeds(log), _accelerations(robot, log, tolerances)
    speed_share, gain_share = speed / joints.velocity, gain / joints.acceleration

    def moves(j: int) -> str:
        share = 100 * speed_share[:, j].max()
        return (
            f"{names[j]} moves at {speed[:, j].max():.2f} {units[j]}/s, {share:.0f} % of its limit"
        )

    def accelerates(j: int) -> str:
        most, share = f"{gain[:, j].max():.1f} {units[j]}/s^2", 100 * gain_share[:, j].max()
        return f"{names[j]} accelerates at {most}, {share:.0f} % of its limit"

    return (
        float(speed_share.max(initial=0.0)),
        float(gain_share.max(initial=0.0)),
        [
            *_positions(log, furniture, kinds, log.scene_q, (lower, upper), tolerances),
            *_positions(log, names, units, log.q, (joints.lower, joints.upper), tolerances),
            *_faults(log, speed_share > tolerances.velocity, moves, "velocity"),
            *_faults(log, gain_share > tolerances.acceleration, accelerates, "acceleration"),
            *_sideways(robot, log, tolerances),
        ],
    )


def _sideways(robot: RobotModel, log: Log, tolerances: Tolerances) -> list[Violation]:
    """Check that a differential base drives along its heading."""
    if not robot.group("base").differential:
        return []
    base = log.q[:, robot.slice("base")]
    step = np.diff(base, axis=0)
    heading = 0.5 * (base[1:, 2] + base[:-1, 2])
    # The component of each step across the mean heading.
    speed = np.abs(step[:, 1] * np.cos(heading) - step[:, 0] * np.sin(heading)) / log.period

    def what(j: int) -> str:
        return f"the base moves sideways at {speed.max():.2f} m/s, which its wheels can't do"

    return _faults(log, speed[:, None] > tolerances.sideways, what, "velocity")


def _faults(
    log: Log, over: NDArray[np.bool_], what: Callable[[int], str], kind: str
) -> list[Violation]:
    """One violation for each joint that is over its limit, at the first sample in which it is.

    Args:
        log: for the times of the samples.
        over: whether each joint is over its limit in each sample (T, n).
        what: the sentence for joint j.
        kind: see ``Violation``.
    """
    return [
        Violation(float(log.time[np.argmax(over[:, j])]), what(j), kind)
        for j in np.flatnonzero(over.any(axis=0)).tolist()
    ]


def _positions(
    log: Log,
    names: Sequence[str],
    units: Sequence[str],
    q: Array,
    limits: tuple[Array, Array],
    tolerances: Tolerances,
) -> list[Violation]:
    """Check positions (T, n) of joints against their lower and upper limits, each (n,)."""
    beyond = np.maximum(limits[0] - q, q - limits[1])
    bounds = [
        tolerances.position_length if unit == "m" else tolerances.position_angle for unit in units
    ]

    def what(j: int) -> str:
        return f"{names[j]} is {beyond[:, j].max():.4f} {units[j]} beyond its limit"

    return _faults(log, beyond > np.array(bounds), what, "position")


def _speeds(log: Log) -> Array:
    """Speeds (T, n), m/s and rad/s: the larger of the logged one and the mean to the next sample.

    So a log can't hide a fast motion behind low velocities.
    """
    speed = np.abs(log.velocity)
    speed[:-1] = np.maximum(speed[:-1], np.abs(np.diff(log.q, axis=0)) / log.period)
    return speed


def _accelerations(robot: RobotModel, log: Log, tolerances: Tolerances) -> Array:
    """Mean accelerations (m, n) over a window, m/s^2 and rad/s^2.

    Those of fingers are 0 while they may touch something.
    """
    window = min(samples_in(log, tolerances.acceleration_window), len(log.time))
    gain = np.abs(log.velocity[window:] - log.velocity[: len(log.time) - window])
    for hand in robot.hands:
        busy = fingers_may_touch(log, hand)
        gain[busy[: len(gain)] | busy[window:], hand.slice("fingers")] = 0.0
    return np.asarray(gain / (window * log.period))


def check_tracking(
    robot: RobotModel, log: Log, tolerances: Tolerances
) -> tuple[float, float, list[Violation]]:
    """Check positions against commands; those of fingers only while they may touch nothing.

    Returns:
        The largest errors of the arm (rad) and of the base's position (m), and the violations.
    """
    error = np.abs(log.command - log.q)
    joints = join_groups(robot.name, list(robot.groups))
    bound = np.full(robot.size, tolerances.tracking_arm)
    bound[robot.slice("base")] = (*(tolerances.tracking_base,) * 2, tolerances.tracking_heading)
    for hand in robot.hands:
        error[fingers_may_touch(log, hand), hand.slice("fingers")] = 0.0
        rates = np.abs(hand.finger_rates(0.5 * hand.gripper.open))
        bound[hand.slice("fingers")] = tolerances.tracking_fingers * rates

    def what(j: int) -> str:
        off = f"{error[:, j].max():.4f} {joints.units[j]}"
        return f"{joints.joints[j]} is up to {off} from its command"

    base = error[:, robot.slice("base")]
    return (
        float(error[:, robot.every("arm")].max(initial=0.0)),
        float(np.hypot(base[:, 0], base[:, 1]).max(initial=0.0)),
        _faults(log, error > bound, what, "tracking"),
    )


def effort_limits(robot: RobotModel) -> Array:
    """Effort limits (n,) of the robot's joints, N m or N; infinite if the URDF has none."""
    limits = {}
    for joint in ET.fromstring(robot.urdf).iter("joint"):
        limit = joint.find("limit")
        if limit is not None and float(limit.get("effort", "0")) > 0.0:
            limits[joint.get("name", "")] = float(limit.get("effort", "0"))
    return np.array([limits.get(name, np.inf) for name in robot.joints])


class RequiredTorques:
    """The torques that a log's motion requires, computed sample by sample.

    Args:
        scene: for gravity and the masses of items.
        log: the log of the run.

    Attributes:
        torques: (T, n), N m and N; zeros for samples that ``check`` has not computed yet.
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
        """Compute the torques of sample ``k``, whose state is set in ``world``.

        Inverse dynamics gives those of the robot alone. A held item of mass m adds J^T F with the
        force F = m (a - g) at its centre, where J is the Jacobian of that point.
        """
        log = self._log
        q, v, a = self._motion[k]
        torques = world.inverse_dynamics(q, v, a)
        for hand, held in enumerate(log.holds[k].tolist()):
            if held >= 0:
                share = 1.0 / np.count_nonzero(log.holds[k] == held)  # of two hands in a handover
                force = share * self._masses[held] * self._pull[k, held]
                torques = torques + force @ world.jacobian(q, log.items[k, held, :3], hand)
        self.torques[k] = torques


def check_torques(
    robot: RobotModel, log: Log, torques: Array, tolerances: Tolerances
) -> tuple[float, list[Violation]]:
    """Check torques (T, n), N m and N, against the effort limits of the arm's joints.

    Returns:
        The largest share of a joint's limit, and the violations.
    """
    at = robot.every("arm")
    size, limit = np.abs(torques[:, at]), effort_limits(robot)[at]
    share = size / limit

    def what(j: int) -> str:
        joint = robot.joints[at[j]]
        return f"{joint} needs {size[:, j].max():.1f} N m of its {limit[j]:.0f}"

    over = share > tolerances.torque * (1.0 + 1e-6)
    return float(share.max()), _faults(log, over, what, "torque")


def _derivative(values: Array, period: float) -> Array:
    """The derivative of values (T, ...) by central differences; zeros for a single sample."""
    if len(values) < 2:
        return np.zeros_like(values)
    return np.asarray(np.gradient(values, period, axis=0))
