"""What the arm's motors do, against the effort limits of the robot's URDF.

A run with forces has recorded it. For one without, inverse dynamics says what the motion asks for:
of the robot's links, and of the held item as a point mass at its centre. Contact with anything but
the item (a drawer that is pulled) is not in it.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from galley.domain.frames import Array
from galley.domain.log import Log
from galley.domain.scene import Scene
from galley.robots.model import RobotModel
from galley.validation.tolerances import Tolerances
from galley.validation.verdict import Violation


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
