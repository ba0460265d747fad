"""Checks the end of a run: everything at rest, and which items are in the hand."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from galley.domain.frames import Array
from galley.domain.log import Log
from galley.domain.scene.model import Scene
from galley.robots.model import RobotModel
from galley.validation.replay_world import ReplayWorld
from galley.validation.sample_masks import samples_in
from galley.validation.tolerances import Tolerances
from galley.validation.verdict import Violation


@dataclass(frozen=True)
class FinalRest:
    """Whether each item is at rest (ni,), whether it is in the hand, and the violations."""

    still: NDArray[np.bool_]
    gripped: tuple[bool, ...]
    violations: tuple[Violation, ...]

    @property
    def at_rest(self) -> bool:
        """Whether nothing moves any more."""
        return not any(violation.kind == "moving" for violation in self.violations)


def check_rest(world: ReplayWorld, log: Log, tolerances: Tolerances) -> FinalRest:
    """Check the end of a log, whose last sample is set in ``world``."""
    scene = world.scene
    still, violations = _check_speeds(scene, world.robot, log, tolerances)
    gripped = tuple(
        log.held[-1] == k
        and all(
            world.closest_points(item.name, finger, tolerances.grip_margin)
            for finger in world.robot.fingers
        )
        for k, item in enumerate(scene.items)
    )
    return FinalRest(still, gripped, tuple(violations))


def _check_speeds(
    scene: Scene, robot: RobotModel, log: Log, tolerances: Tolerances
) -> tuple[NDArray[np.bool_], list[Violation]]:
    """Check speeds over the last part of the log, averaged over short windows."""
    part = min(samples_in(log, tolerances.rest_time), len(log.time) - 1)
    violations: list[Violation] = []
    still = np.ones(len(scene.items), dtype=bool)
    if part < 1:
        return still, violations
    begin = float(log.time[-1 - part])
    for k, item in enumerate(scene.items):
        if log.held[-1] == k:
            continue  # it moves with the hand
        speed = _fastest(log.items[-1 - part :, k, :3], log.period, tolerances)
        if speed > tolerances.rest_speed:
            still[k] = False
            what = f"{item.name} still moves at {1e3 * speed:.0f} mm/s at the end"
            violations.append(Violation(begin, what, "moving"))
    for j, joint in enumerate(scene.joints):
        speed = _fastest(log.scene_q[-1 - part :, j : j + 1], log.period, tolerances)
        if speed > tolerances.rest_speed:
            unit = "rad" if joint.kind == "revolute" else "m"
            what = f"{joint.name} still moves at {speed:.3f} {unit}/s at the end"
            violations.append(Violation(begin, what, "moving"))
    limits = np.concatenate([group.velocity for group in robot.groups])
    for j, name in enumerate(robot.joints):
        if abs(log.velocity[-1, j]) > tolerances.rest_joint * limits[j]:
            what = f"{name} still moves at {abs(log.velocity[-1, j]):.3f} at the end"
            violations.append(Violation(float(log.time[-1]), what, "moving"))
    return still, violations


def _fastest(places: Array, period: float, tolerances: Tolerances) -> float:
    """Largest mean speed of positions (m, d) over a short window."""
    window = min(max(1, round(tolerances.rest_window / period)), len(places) - 1)
    moved = np.linalg.norm(places[window:] - places[:-window], axis=1)
    return float(moved.max()) / (window * period)
