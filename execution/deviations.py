"""Deviations: relevant differences between the expected and the observed State."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from galley.domain.frames import Array, inverse, wrap
from galley.domain.scene.model import HAND, Item, Scene
from galley.domain.state import Placement, State, item_poses
from galley.motion.effects import with_acting_hand
from galley.motion.thresholds import Thresholds
from galley.robots.model import RobotModel

UPRIGHT = np.radians(20.0)  # rad between its axes; an item that leans more has fallen over


@dataclass(frozen=True)
class Deviation:
    """One difference, larger than its threshold.

    Attributes:
        kind: ``not-held`` (it should be in the hand), ``held`` (it should not be), ``slipped`` in
            the hand, ``toppled``, ``moved``, ``drawer``, ``base``, ``arm`` or ``goal``.
        name: name of the item, scene joint or joint group.
        amount: size of the difference, m or rad; 0 if it is a matter of yes or no.
        unit: ``m``, ``rad`` or empty.
        what: the difference in one sentence.
    """

    kind: str
    name: str
    amount: float
    unit: str
    what: str

    def __str__(self) -> str:
        return self.what


def deviations(
    scene: Scene, robot: RobotModel, expected: State, observed: State, limits: Thresholds
) -> tuple[Deviation, ...]:
    """All differences beyond the thresholds, items first, in the order of the scene.

    Args:
        scene: the scene as planned.
        robot: the robot's model.
        expected: the State that the executed motions should have led to.
        observed: the State that the executor observes.
        limits: the thresholds; a larger value tolerates more.
    """
    robot = robot.acting(observed.hand)
    expected, hand_pose = with_acting_hand(robot, expected), robot.kinematics.hand_pose
    states = expected, observed
    X_was, X_now = (item_poses(scene, state, hand_pose(state.q)) for state in states)
    items = zip(scene.items, expected.items, observed.items, X_was, X_now, strict=True)
    differences = filter(None, [_item(*item, limits) for item in items])
    return (*differences, *_joints(scene, robot, expected, observed, limits))


def _item(
    item: Item, was: Placement, now: Placement, X_was: Array, X_now: Array, limits: Thresholds
) -> Deviation | None:
    """The first difference of an item beyond its threshold, or None.

    ``was`` and ``X_was`` (4, 4, world) are as expected, ``now`` and ``X_now`` as observed.
    """
    name = item.name
    if was.parent == HAND and now.parent != HAND:
        where = ", ".join(f"{v:.2f}" for v in X_now[:3, 3])
        return Deviation("not-held", name, 0.0, "", f"{name} is not in the hand but at ({where})")
    if was.parent != HAND and now.parent == HAND:
        return Deviation("held", name, 0.0, "", f"{name} is still in the hand")
    # A held item is compared in the hand's frame: an error of the arm is a deviation of its own.
    if now.parent == HAND:
        away, turned = _item_difference(item, was.X_PI, now.X_PI)
        if away > limits.slipped:
            words = f"{name} has slipped by {1e3 * away:.1f} mm in the hand"
            return Deviation("slipped", name, away, "m", words)
        if turned > limits.slipped_turn:
            words = f"{name} has turned by {np.degrees(turned):.0f} degrees in the hand"
            return Deviation("slipped", name, turned, "rad", words)
        return None
    away, turned = _item_difference(item, X_was, X_now)
    leans = _between(X_was[:3, 2], X_now[:3, 2])
    if leans > UPRIGHT:
        words = f"{name} has fallen over: it leans by {np.degrees(leans):.0f} degrees"
        return Deviation("toppled", name, leans, "rad", words)
    if away > limits.item_moved:
        words = f"{name} is {1e3 * away:.1f} mm from its expected position"
        return Deviation("moved", name, away, "m", words)
    if turned > limits.item_turned:
        words = f"{name} is turned by {np.degrees(turned):.0f} degrees"
        return Deviation("moved", name, turned, "rad", words)
    return None


def _joints(
    scene: Scene, robot: RobotModel, expected: State, observed: State, limits: Thresholds
) -> list[Deviation]:
    """Differences of the scene joints, of the base and of the arm's worst joint."""
    found = []
    for joint, was, now in zip(scene.joints, expected.scene_q, observed.scene_q, strict=True):
        if abs(now - was) > limits.joint_off:
            unit, scale = ("rad", 1.0) if joint.kind == "revolute" else ("mm", 1e3)
            words = f"{joint.name} is open by {scale * now:.1f} {unit}, not {scale * was:.1f}"
            amount = abs(float(now - was))
            found.append(
                Deviation("drawer", joint.name, amount, "m" if unit == "mm" else unit, words)
            )
    base, arm = robot.slice("base"), robot.slice("arm")
    off = observed.q - expected.q
    away, turned = float(np.hypot(*off[base][:2])), abs(float(wrap(off[base][2])))
    if away > limits.base_off:
        found.append(Deviation("base", "base", away, "m", f"the base is {1e3 * away:.0f} mm off"))
    elif turned > limits.base_turned:
        words = f"the base is turned by {np.degrees(turned):.1f} degrees"
        found.append(Deviation("base", "base", turned, "rad", words))
    worst = int(np.argmax(np.abs(off[arm])))
    if abs(off[arm][worst]) > limits.arm_off:
        group, amount = robot.group("arm"), abs(float(off[arm][worst]))
        name, unit = group.joints[worst], group.units[worst]
        found.append(Deviation("arm", name, amount, unit, f"{name} is {amount:.3f} {unit} off"))
    return found


def _item_difference(item: Item, X_A: Array, X_B: Array) -> tuple[float, float]:
    """``pose_difference`` of an item; a round item's turn about its own axis doesn't count."""
    away, turned = pose_difference(X_A, X_B)
    return away, _between(X_A[:3, 2], X_B[:3, 2]) if item.round else turned


def pose_difference(X_A: Array, X_B: Array) -> tuple[float, float]:
    """The distance (m) and the angle (rad, in [0, pi]) between two poses (4, 4)."""
    X = inverse(X_A) @ X_B
    cosine = np.clip(0.5 * (np.trace(X[:3, :3]) - 1.0), -1.0, 1.0)
    return float(np.linalg.norm(X[:3, 3])), float(np.arccos(cosine))


def _between(a: Array, b: Array) -> float:
    """The angle (rad) between two unit vectors (3,), accurate near 0 and pi."""
    return float(np.arctan2(np.linalg.norm(np.cross(a, b)), a @ b))
