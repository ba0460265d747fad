"""Checks items: slip in the hand, support while they are loose, and rest at the end of the run.

An item that is neither held nor falling must be supported by something. PyBullet's closest points
say what is below it; the robot's arm does not count as a support.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from galley.domain.frames import Array
from galley.domain.log import Log
from galley.domain.scene.model import Scene
from galley.robots.model import join_groups
from galley.validation.poses import relative, rotation_angle
from galley.validation.replay_world import ReplayWorld
from galley.validation.sample_masks import ends_in_recovery, samples_in
from galley.validation.tolerances import Tolerances
from galley.validation.verdict import Violation

_UPWARDS = 0.1  # vertical component of the normal of a contact that can carry something
_DIFFERENCE = 3  # samples to either side for second differences
_FALLING = 0.5  # share of gravity; an item that accelerates downwards by more counts as falling


def check_slips(
    scene: Scene, log: Log, hands: Array, tolerances: Tolerances
) -> tuple[float, list[Violation], list[Violation]]:
    """Check that held items keep their pose in the hand, motion by motion.

    Args:
        scene: the scene of the run.
        log: the log of the run.
        hands: poses X_WH (T, h, 7) of the hands in each sample; NaN for an empty hand.
        tolerances: ``slip`` (m) and ``slip_turn`` (rad) bound the motion in the hand.

    Returns:
        The largest slip (m) during one motion, the violations, and the events: slips that led to a
        recovery.
    """
    violations: list[Violation] = []
    events: list[Violation] = []
    most, recovered = 0.0, ends_in_recovery(log)
    ranges = ((at, h) for h, held in enumerate(log.holds.T) for at in _held_ranges(log, held))
    for at, hand in ranges:
        motion, index = log.motion[at[-1]], log.holds[at[-1], hand]
        X_HI = relative(hands[at, hand], log.items[at, index])
        away = np.linalg.norm(X_HI[:, :3] - X_HI[0, :3], axis=1)
        turned = rotation_angle(X_HI[:1, 3:], X_HI[:, 3:])
        most = max(most, float(away.max()))
        over = (away > tolerances.slip) | (turned > tolerances.slip_turn)
        if over.any():
            what = (
                f"{scene.items[index].name} moves in the hand: by {1e3 * away.max():.1f} mm and"
                f" {np.degrees(turned.max()):.1f} degrees during '{log.motions[motion]}'"
            )
            violation = Violation(float(log.time[at[np.argmax(over)]]), what, "slip")
            (events if recovered[motion] else violations).append(violation)
    return most, violations, events


def _held_ranges(log: Log, held: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """The indices of the samples in which a hand holds an item, one range per motion.

    A range begins with the last sample of the previous motion if the item was held there: else a
    slip from one motion to the next would be missed.

    Args:
        log: the log of the run.
        held: index of the hand's item in each sample (T,), -1 for none.
    """
    cuts = np.flatnonzero(np.diff(log.motion) | np.diff(held)) + 1
    ranges = []
    for samples in np.split(np.arange(len(log.time)), cuts):
        first = samples[0]
        if held[first] >= 0:
            before = [first - 1] if first > 0 and held[first - 1] == held[first] else []
            ranges.append(np.concatenate([np.array(before, dtype=np.int64), samples]))
    return ranges


@dataclass
class SupportCheck:
    """Checks that every loose item is supported or falls, and that a held one is at the fingers.

    Attributes:
        world: the world in which the log is replayed.
        log: the log of the run.
        tolerances: ``support``, ``support_time`` and ``grip`` matter here.
        violations: the first fault of each item that lasts for ``support_time``, or until the end.
    """

    world: ReplayWorld
    log: Log
    tolerances: Tolerances
    violations: list[Violation] = field(default_factory=list)
    _since: dict[int, tuple[float, str]] = field(default_factory=dict)  # by item
    _reported: set[int] = field(default_factory=set)  # items with a violation already

    def __post_init__(self) -> None:
        # Four checks per ``support_time``: a fault that lasts a little longer is always found.
        self._stride = max(1, samples_in(self.log, self.tolerances.support_time) // 4)
        k = np.arange(len(self.log.time))
        before, after = np.maximum(k - _DIFFERENCE, 0), np.minimum(k + _DIFFERENCE, k[-1])
        z = self.log.items[:, :, 2]
        lag = (_DIFFERENCE * self.log.period) ** 2
        gravity = float(np.linalg.norm(self.world.scene.physics.gravity))
        base = self.world.robot.group("base")
        speed = np.abs(self.log.velocity[:, self.world.robot.slice("base")])
        # An item that fell onto the base may stand on it only while the base stands still. In a
        # motion that ended in a recovery the base may still be braking.
        still = np.all(speed <= self.tolerances.rest_joint * base.velocity, axis=1)
        self._carries: NDArray[np.bool_] = still | ends_in_recovery(self.log)[self.log.motion]
        self._falls = (z[after] - 2.0 * z + z[before]) / lag < -_FALLING * gravity

    def check(self, k: int, world: ReplayWorld) -> None:
        """Check sample ``k``, whose state is set in ``world``."""
        last = k == len(self.log.time) - 1
        if k % self._stride and not last:
            return
        for index in set(range(len(world.scene.items))) - self._reported:
            words = self._fault(k, index)
            if not words:
                self._since.pop(index, None)
                continue
            now = float(self.log.time[k])
            began, words = self._since.setdefault(index, (now, words))
            if now - began >= self.tolerances.support_time - self.tolerances.time or last:
                self._reported.add(index)
                self.violations.append(Violation(began, words, "floating"))

    def _fault(self, k: int, index: int) -> str:
        """The fault of an item in sample ``k``, as text; empty if there is none."""
        name, robot = self.world.scene.items[index].name, self.world.robot
        hands = np.flatnonzero(self.log.holds[k] == index)
        if len(hands):
            fingers = (finger for h in hands for finger in robot.hands[h].fingers)
            if all(self.world.closest_points(name, f, self.tolerances.grip) for f in fingers):
                return ""
            return f"{name} is logged as held, but the fingers don't touch it"
        below = {
            near.other
            for near in self.world.closest_points_around(name, self.tolerances.support)
            if near.normal[2] > _UPWARDS
        }
        moving = set(robot.links) - set(robot.base_links if self._carries[k] else ())
        if below - moving or self._falls[k, index]:
            return ""
        if below:
            return f"{name} is carried by the hand, but not logged as held"
        return f"{name} has no support and does not fall"


def check_rest(
    world: ReplayWorld, log: Log, tolerances: Tolerances
) -> tuple[tuple[bool, ...], tuple[bool, ...], list[Violation]]:
    """Check that robot, furniture and items are at rest at the end of a log.

    Speeds are averaged over short windows of the last ``rest_time`` (s) of the log.

    Args:
        world: in the state of the last sample.
        log: the log of the run.
        tolerances: ``rest_speed``, ``rest_time``, ``rest_joint``, ``rest_window`` and ``grip``.

    Returns:
        For each item whether it is at rest (ni,) and whether it is in a hand (ni,), and the
        violations.
    """
    scene, robot, violations = world.scene, world.robot, []
    part = min(samples_in(log, tolerances.rest_time), len(log.time) - 1)
    items = range(len(scene.items))
    gripped = tuple(
        any(
            held == k and all(world.closest_points(item.name, f, tolerances.grip) for f in fingers)
            for held, fingers in zip(log.holds[-1], (h.fingers for h in robot.hands), strict=True)
        )
        for k, item in enumerate(scene.items)
    )
    if part < 1:  # a single sample shows no motion
        return (True,) * len(items), gripped, []
    begin, limit = -1 - part, tolerances.rest_speed
    speeds = [_fastest(log.items[begin:, k, :3], log.period, tolerances) for k in items]
    still = tuple(
        bool(speed <= limit or k in log.holds[-1])  # what is held moves with the hand
        for k, speed in enumerate(speeds)
    )
    for item, speed, rests in zip(scene.items, speeds, still, strict=True):
        if not rests:
            violations.append((begin, f"{item.name} still moves at {1e3 * speed:.0f} mm/s"))
    for j, joint in enumerate(scene.joints):
        speed = _fastest(log.scene_q[begin:, j : j + 1], log.period, tolerances)
        if speed > limit:
            unit = "rad" if joint.kind == "revolute" else "m"
            violations.append((begin, f"{joint.name} still moves at {speed:.3f} {unit}/s"))
    limits = join_groups(robot.name, list(robot.groups)).velocity
    for j in np.flatnonzero(np.abs(log.velocity[-1]) > tolerances.rest_joint * limits).tolist():
        speed = abs(log.velocity[-1, j])
        violations.append((-1, f"{robot.joints[j]} still moves at {speed:.3f}"))
    moving = [Violation(float(log.time[k]), f"{w} at the end", "moving") for k, w in violations]
    return still, gripped, moving


def _fastest(positions: Array, period: float, tolerances: Tolerances) -> float:
    """The largest mean speed of positions (m, d) over any window of ``rest_window`` (s)."""
    window = min(max(1, round(tolerances.rest_window / period)), len(positions) - 1)
    moved = np.linalg.norm(positions[window:] - positions[:-window], axis=1)
    return float(moved.max()) / (window * period)
