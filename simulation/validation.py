"""Judges a run from its Log and the scene alone. Shares no code with planning.

Every executed state is put into PyBullet again, with states filled in between samples so that no
joint moves more than 0.02 rad (or 5 mm) from one checked state to the next.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from galley.domain.frames import Array, from_pose7
from galley.domain.log import Log
from galley.domain.scene import HAND, WORLD, Scene
from galley.domain.state import Placement, State
from galley.robots.model import RobotModel
from galley.worlds.pybullet_world import PyBulletWorld

ANGLE_STEP = 0.02  # rad between checked states
LENGTH_STEP = 0.005  # m between checked states
ALLOWED_DEPTH = 0.002  # m of penetration that still counts as touching: Bullet's mesh margin
DECLARED_DEPTH = 0.005  # m; even those that may touch must not go through each other
LONGEST_GAP = 0.05  # s between samples; more means that samples are missing
FASTEST_ITEM = 3.0  # m/s; an item that moves faster has jumped
POSITION_TOLERANCE = 1e-6  # rad or m beyond a joint's limit
SPEED_TOLERANCE = 1.02  # speeds are differences of samples, so a little above the limit is rounding


@dataclass(frozen=True)
class Violation:
    """Something that must not be: when (s), and what in words."""

    time: float
    what: str


@dataclass(frozen=True)
class Validation:
    """What the re-check found.

    Attributes:
        states_checked: number of states put into PyBullet.
        max_penetration_m: deepest penetration of an undeclared pair; 0 if none touched.
        deepest: the pair that it was, or None.
        max_declared_penetration_m: deepest of the pairs that may touch.
        limit_violations: joints beyond position or speed limits.
        violations: everything found, the first time of each.
    """

    states_checked: int
    max_penetration_m: float
    deepest: tuple[str, str] | None
    max_declared_penetration_m: float
    limit_violations: int
    violations: tuple[Violation, ...]

    @property
    def passed(self) -> bool:
        """Whether nothing was violated."""
        return not self.violations


@dataclass(frozen=True)
class _Snapshot:
    q: Array
    scene_q: Array
    items: Array  # (ni, 7)
    held: int


def validate_log(world: PyBulletWorld, log: Log) -> Validation:
    """Check a whole run; see the module's docstring. Leaves ``world`` in the last state."""
    unusable = _unusable(log)
    if unusable is not None:
        return Validation(0, 0.0, None, 0.0, 0, (unusable,))
    limits = _limits(world.robot, log)
    violations = [*_gaps(log), *limits, *_jumps(world.scene, log)]
    declared = [log.declared_pairs(k) for k in range(len(log.motions))]
    checked, worst, deepest, declared_depth = 0, 0.0, None, 0.0
    reported: set[tuple[str, str]] = set()
    for k, snapshot in _snapshots(log):
        allowed = declared[log.motion[k]]
        if k + 1 < len(log.time) and log.motion[k + 1] != log.motion[k]:
            # The state in which one motion ends and the next begins belongs to both.
            allowed = allowed | declared[log.motion[k + 1]]
        world.set_robot(snapshot.q)
        world.set_scene(snapshot.scene_q)
        for index, pose in enumerate(snapshot.items):
            world.set_item(index, from_pose7(pose))
        checked += 1
        for names, distance in world.near_pairs(0.0).items():
            if names in allowed:
                declared_depth = max(declared_depth, -distance)
                if -distance > DECLARED_DEPTH and names not in reported:
                    reported.add(names)
                    what = f"{names[0]} is pressed {-1e3 * distance:.1f} mm into {names[1]}"
                    violations.append(Violation(float(log.time[k]), what))
                continue
            if -distance > worst:
                worst, deepest = -distance, names
            if -distance > ALLOWED_DEPTH and names not in reported:
                reported.add(names)
                what = f"{names[0]} and {names[1]} penetrate by {-1e3 * distance:.1f} mm"
                violations.append(Violation(float(log.time[k]), what))
    violations.sort(key=lambda v: v.time)
    return Validation(checked, worst, deepest, declared_depth, len(limits), tuple(violations))


def final_state(scene: Scene, log: Log) -> State:
    """The State at a run's end as the log shows it, every item with its pose in the world."""
    items = tuple(
        Placement(HAND if log.held[-1] == k else WORLD, from_pose7(pose))
        for k, pose in enumerate(log.items[-1])
    )
    return State(log.q[-1], log.scene_q[-1], items)


def _snapshots(log: Log) -> Iterator[tuple[int, _Snapshot]]:
    """Samples (and states between them) so dense that consecutive ones differ by at most a step."""
    at = _snapshot(log, 0)
    yield 0, at
    last = len(log.time) - 1
    for k in range(1, last + 1):
        now = _snapshot(log, k)
        ends = k == last or log.motion[k + 1] != log.motion[k]
        if not ends and max(_steps(at, now), _steps(at, _snapshot(log, k + 1))) <= 1.0:
            continue  # the next sample is still within a step of the last one checked
        n = int(np.ceil(_steps(at, now) - 1e-9))
        for i in range(1, n):
            yield k, _between(at, now, i / n)
        yield k, now
        at = now


def _snapshot(log: Log, k: int) -> _Snapshot:
    return _Snapshot(log.q[k], log.scene_q[k], log.items[k], int(log.held[k]))


def _steps(a: _Snapshot, b: _Snapshot) -> float:
    """How many steps apart two snapshots are."""
    base, rest = np.abs(b.q - a.q)[:3], np.abs(b.q - a.q)[3:]
    sizes = [base[:2].max() / LENGTH_STEP, base[2] / ANGLE_STEP, rest.max() / ANGLE_STEP]
    if a.scene_q.size:
        sizes.append(np.abs(b.scene_q - a.scene_q).max() / LENGTH_STEP)
    # A held item goes with the arm; any other that moves must be looked at for itself.
    moved = np.linalg.norm(b.items[:, :3] - a.items[:, :3], axis=1)
    sizes += [m / LENGTH_STEP for k, m in enumerate(moved) if k not in (a.held, b.held)]
    return float(max(sizes))


def _between(a: _Snapshot, b: _Snapshot, share: float) -> _Snapshot:
    """Linear in joints and positions; quaternions by normalised interpolation (steps are small)."""
    items = a.items + share * (b.items - a.items)
    turned = np.sign((a.items[:, 3:] * b.items[:, 3:]).sum(axis=1))[:, None]
    quaternions = (1 - share) * a.items[:, 3:] + share * np.where(turned < 0, -1, 1) * b.items[
        :, 3:
    ]
    items[:, 3:] = quaternions / np.linalg.norm(quaternions, axis=1, keepdims=True)
    q, scene_q = a.q + share * (b.q - a.q), a.scene_q + share * (b.scene_q - a.scene_q)
    return _Snapshot(q, scene_q, items, b.held)


def _unusable(log: Log) -> Violation | None:
    """A log that nothing can be judged from: empty, or with values that aren't numbers."""
    if not len(log.time):
        return Violation(0.0, "the log is empty")
    columns = {"time": log.time, "q": log.q, "scene_q": log.scene_q, "items": log.items}
    for name, values in columns.items():
        wrong = ~np.isfinite(values.reshape(len(log.time), -1)).all(axis=1)
        if wrong.any():
            k = int(np.argmax(wrong))
            return Violation(float(log.time[k]), f"{name} of sample {k} is not a finite number")
    return None


def _gaps(log: Log) -> list[Violation]:
    steps = np.diff(log.time)
    found = []
    if (steps <= 0).any():
        k = int(np.argmax(steps <= 0))
        found.append(Violation(float(log.time[k]), "time does not increase"))
    if (steps > LONGEST_GAP).any():
        k = int(np.argmax(steps > LONGEST_GAP))
        what = f"no sample for {steps[k]:.3f} s"
        found.append(Violation(float(log.time[k]), what))
    return found


def _limits(robot: RobotModel, log: Log) -> list[Violation]:
    found = []
    for group in robot.groups:
        q = log.q[:, robot.slice(group.name)]
        beyond = np.maximum(group.lower - q, q - group.upper)
        speed = np.abs(np.diff(q, axis=0)) / np.maximum(np.diff(log.time), 1e-9)[:, None]
        for j, joint in enumerate(group.joints):
            k = int(np.argmax(beyond[:, j]))
            if beyond[k, j] > POSITION_TOLERANCE:
                what = f"{joint} is {beyond[k, j]:.4f} {group.units[j]} beyond its limit"
                found.append(Violation(float(log.time[k]), what))
            k = int(np.argmax(speed[:, j])) if len(speed) else 0
            if len(speed) and speed[k, j] > SPEED_TOLERANCE * group.velocity[j]:
                what = f"{joint} moves at {speed[k, j]:.2f} {group.units[j]}/s"
                found.append(Violation(float(log.time[k]), what))
    return found


def _jumps(scene: Scene, log: Log) -> list[Violation]:
    """Items that move faster than anything here can carry them."""
    found = []
    for index, item in enumerate(scene.items):
        moved = np.linalg.norm(np.diff(log.items[:, index, :3], axis=0), axis=1)
        too_far = moved > FASTEST_ITEM * np.maximum(np.diff(log.time), 0.0) + 1e-6
        if too_far.any():
            k = int(np.argmax(too_far))
            what = f"{item.name} jumps by {1e3 * moved[k]:.1f} mm"
            found.append(Violation(float(log.time[k]), what))
    return found
