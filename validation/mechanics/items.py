"""Checks the motion of items: slip in the hand, jumps, and drift of items that nothing pushes.

Drift is checked for drawers and doors too: only a hand, or an item that hits them, may move them.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from galley.domain.frames import Array
from galley.domain.log import Log
from galley.domain.scene.model import WORLD, Item, Scene
from galley.validation.poses import corners, points_in_world, relative, rotation_angle
from galley.validation.replay_world import ReplayWorld
from galley.validation.sample_masks import ends_in_recovery, externally_pushed
from galley.validation.tolerances import Tolerances
from galley.validation.verdict import Violation

SetSample = Callable[[int], None]
"""Sets the state of the sample with this index."""
_STRIDE = 5  # samples between two tests for something near, which moves 2 cm meanwhile at most
_SMOOTHING = 2  # samples to either side over which speeds are averaged
_COASTING = 0.03  # m/s; friction stops anything slower at once
_ENERGY_NOISE = 2e-4  # J/kg
_MOVED = 5e-4  # m within a window, from which on an item may have pushed something


@dataclass(frozen=True)
class Slips:
    """Largest slip (m) of a held item during one motion, and the violations.

    Slips that led to a recovery are ``events``.
    """

    most: float
    violations: tuple[Violation, ...]
    events: tuple[Violation, ...]


def check_slips(scene: Scene, log: Log, hands: Array, tolerances: Tolerances) -> Slips:
    """Check held items against the hand's poses X_WH (T, 7), motion by motion."""
    violations: list[Violation] = []
    events: list[Violation] = []
    most, recovered = 0.0, ends_in_recovery(log)
    for index, item in enumerate(scene.items):
        for begin, end in _held_ranges(log, index):
            X_HI = relative(hands[begin:end], log.items[begin:end, index])
            away = np.linalg.norm(X_HI[:, :3] - X_HI[0, :3], axis=1)
            turned = rotation_angle(X_HI[:1, 3:], X_HI[:, 3:])
            most = max(most, float(away.max()))
            steps = _largest_displacement(
                np.diff(points_in_world(X_HI, corners(item.size)), axis=0)
            )
            over = (away > tolerances.slip) | (turned > tolerances.slip_turn)
            over[1:] |= steps > tolerances.slip_step
            if over.any():
                k = int(np.argmax(over))
                what = (
                    f"{item.name} moves in the hand: by {1e3 * away.max():.1f} mm and"
                    f" {np.degrees(turned.max()):.1f} degrees during"
                    f" '{log.motions[log.motion[end - 1]]}'"
                )
                violation = Violation(float(log.time[begin + k]), what, "slip")
                (events if recovered[log.motion[end - 1]] else violations).append(violation)
    return Slips(most, tuple(violations), tuple(events))


def _held_ranges(log: Log, index: int) -> list[tuple[int, int]]:
    """Ranges of samples in which an item is held, one per motion and the sample before it."""
    held = log.held == index
    edges = np.flatnonzero(np.diff(held.astype(int), prepend=0, append=0)).reshape(-1, 2)
    ranges = []
    for begin, end in edges:
        cuts = [begin, *(begin + 1 + np.flatnonzero(np.diff(log.motion[begin:end]))), end]
        for k, (a, b) in enumerate(itertools.pairwise(cuts)):
            ranges.append((int(a) - (k > 0), int(b)))
    return ranges


def check_jumps(
    scene: Scene, log: Log, places: Sequence[Array], tolerances: Tolerances
) -> tuple[Violation, ...]:
    """Check for items that gain more speed between two samples than any contact could give."""
    violations = []
    fall = float(np.linalg.norm(scene.physics.gravity)) * log.period
    for index, item in enumerate(scene.items):
        speed = _largest_displacement(np.diff(places[index], axis=0)) / log.period
        gain = np.diff(speed, prepend=0.0)
        over = gain > tolerances.jump + fall
        if over.any():
            k = int(np.argmax(over))
            what = f"{item.name} jumps by {1e3 * speed[k] * log.period:.1f} mm"
            violations.append(Violation(float(log.time[k + 1]), what, "jump"))
    return tuple(violations)


def check_kinematic_drift(
    scene: Scene,
    log: Log,
    moving: Mapping[str, Array],
    places: Sequence[Array],
    tolerances: Tolerances,
) -> tuple[Violation, ...]:
    """Check, in a run without forces, that loose items move with a drawer or not at all."""
    if not np.isfinite(tolerances.kinematic_drift):
        return ()
    violations = []
    for index, item in enumerate(scene.items):
        loose = (log.held[1:] != index) & (log.held[:-1] != index)
        points = [places[index], *_corners_in(moving, log.items[:, index], item.size)]
        moved = np.min([_largest_displacement(p[1:] - p[:-1]) for p in points], axis=0)
        over = loose & (moved > tolerances.kinematic_drift)
        if over.any():
            k = int(np.argmax(over))
            what = f"{item.name} moves by {1e3 * moved[k]:.2f} mm although nothing carries it"
            violations.append(Violation(float(log.time[k + 1]), what, "moved-alone"))
    return tuple(violations)


def check_drift(
    world: ReplayWorld,
    set_sample: SetSample,
    log: Log,
    moving: Mapping[str, Array],
    places: Sequence[Array],
    tolerances: Tolerances,
) -> tuple[Violation, ...]:
    """Check for items and joints that move, however slowly, with nothing near to push them.

    Args:
        moving: poses X_WB (T, 7) of the furniture that moves. places: see ``item_corners``.
    """
    scene, violations = world.scene, []
    gravity, period = scene.physics.gravity, log.period
    forces = not np.isfinite(tolerances.kinematic_drift)  # else see ``check_kinematic_drift``
    for index, item in enumerate(scene.items if forces else ()):
        points = [places[index], *_corners_in(moving, log.items[:, index], item.size)]
        speed, centre = _speeds(points[0], period), _speeds(log.items[:, [index], :3], period)
        # A homogeneous box has a third of the inertia of its mass placed at the corners.
        kinetic = ((speed**2).mean(axis=1) + 2.0 * centre[:, 0] ** 2) / 6.0
        energy = kinetic - log.items[:, index, :3] @ gravity
        others = tuple(b for b in range(len(scene.items)) if b != index)
        push = externally_pushed(
            log, (item.name,), tolerances.external_push * _least_push(scene, item)
        )
        free = ~(push | (log.held == index))
        check = _DriftCheck(world, set_sample, log, tolerances, moving, (item.name,), others)
        k, far = check.first_drift(points, energy, free, tolerances.creep)
        if k is not None:
            what = f"{item.name} moves by {1e3 * far:.1f} mm although nothing touches it"
            violations.append(Violation(float(log.time[k]), what, "moved-alone"))
    for j, joint in enumerate(scene.joints):
        values = log.scene_q[:, j].reshape(-1, 1, 1)
        energy = 0.5 * (_speeds(values, period) ** 2)[:, 0]
        bodies = _bodies_moved_by(scene, joint.name)
        free = ~externally_pushed(log, bodies, tolerances.external_push * joint.friction)
        check = _DriftCheck(
            world, set_sample, log, tolerances, {}, bodies, tuple(range(len(scene.items)))
        )
        k, far = check.first_drift([values], energy, free, 0.0)
        if k is not None:
            unit = "rad" if joint.kind == "revolute" else "m"
            what = f"{joint.name} moves by {far:.4f} {unit} although nothing touches it"
            violations.append(Violation(float(log.time[k]), what, "moved-alone"))
    return tuple(violations)


def _least_push(scene: Scene, item: Item) -> float:
    """Approximate force (N) below which an item neither slides nor tips."""
    size, weight = np.sort(item.size), item.mass * float(np.linalg.norm(scene.physics.gravity))
    slides = item.friction * min(body.friction for body in scene.bodies)
    return weight * min(slides, float(size[0] / (2.0 * size[2])))


def _corners_in(moving: Mapping[str, Array], X_WI: Array, size: Array) -> list[Array]:
    """The corners (T, 8, 3) of an item in the frame of each moving body."""
    frames = {X_WB.tobytes(): X_WB for X_WB in moving.values()}
    return [points_in_world(relative(X_WB, X_WI), corners(size)) for X_WB in frames.values()]


def _largest_displacement(moves: Array) -> Array:
    """Largest displacement (m,) of any point, of displacements (m, p, d)."""
    return np.asarray(np.linalg.norm(moves, axis=2).max(axis=1))


def _speeds(points: Array, period: float) -> Array:
    """Speeds (T, p) of points (T, p, d), averaged over a few samples."""
    index = np.arange(len(points))
    after, before = np.minimum(index + _SMOOTHING, index[-1]), np.maximum(index - _SMOOTHING, 0)
    moved = np.linalg.norm(points[after] - points[before], axis=2)
    return np.asarray(moved / (np.maximum(after - before, 1)[:, None] * period))


@dataclass(frozen=True)
class _DriftCheck:
    """Measures the drift of one item or joint between the samples at which something pushes it.

    Attributes:
        names: of its bodies.
        others, moving: items and furniture that may push it while they move.
    """

    world: ReplayWorld
    set_sample: SetSample
    log: Log
    tolerances: Tolerances
    moving: Mapping[str, Array]
    names: tuple[str, ...]
    others: tuple[int, ...]

    def first_drift(
        self, points: list[Array], energy: Array, free: NDArray[np.bool_], creep: float
    ) -> tuple[int | None, float]:
        """The sample at which it begins to move by itself, or None; and how far (m) it drifts.

        Drift is measured from the last push, so that creep is found however slow it is. After a
        push it may coast or fall, as long as it gains no energy and is too fast for friction to
        hold it.

        Args:
            points: its points (T, p, d), in the frame of each body that may carry it.
            energy: kinetic and potential (T,), J/kg.
            free: samples (T,) in which it is neither held nor externally pushed.
            creep: m/s, by which it may drift further the longer ago it was pushed.
        """
        # Where the next sample is not free and already too far, ``anchor`` moves on to it.
        steps = np.min([_largest_displacement(np.diff(p, axis=0)) for p in points], axis=0)
        moves_on = ~free[1:] & (steps > self.tolerances.drift + creep * self.log.period)
        stays = np.flatnonzero(np.append(~moves_on, True))
        anchor = 0
        while True:
            anchor = int(stays[np.searchsorted(stays, anchor)])
            k, far = self._first_beyond(points, anchor, creep)
            if k is None:
                return None, 0.0
            if not free[k]:  # held or pushed at this very sample
                anchor = k
                continue
            not_free = np.flatnonzero(~free[anchor : k + 1]) + anchor
            pushed_at = self._last_push(int(not_free[-1]) if len(not_free) else anchor, k)
            if pushed_at is None and len(not_free):
                pushed_at = int(not_free[-1])
            if pushed_at is None:
                coasts = far / ((k - anchor) * self.log.period) > _COASTING
                # Speeds are averaged over some samples: after an impact they seem too low.
                before = energy[max(0, anchor - _SMOOTHING) : anchor + _SMOOTHING + 1].max()
                if not coasts or energy[k] - before > _ENERGY_NOISE:
                    return anchor, far
                pushed_at = k
            anchor = max(pushed_at, anchor + 1)

    def _first_beyond(
        self, points: list[Array], anchor: int, creep: float
    ) -> tuple[int | None, float]:
        """The first sample at which it is too far from sample ``anchor``, and how far (m)."""
        size = 8
        begin = anchor
        while begin < len(points[0]):
            end = begin + size
            moved = np.min(
                [_largest_displacement(p[begin:end] - p[anchor]) for p in points], axis=0
            )
            since = (np.arange(begin, begin + len(moved)) - anchor) * self.log.period
            bound = self.tolerances.drift + creep * since
            over = np.flatnonzero(moved > bound)
            if len(over):
                return begin + int(over[0]), float(moved[over[0]])
            begin, size = end, 2 * size
        return None, 0.0

    def _last_push(self, begin: int, end: int) -> int | None:
        """The last sample of begin .. end at which something that may push it is near."""
        log, within = self.log, self.tolerances.push_distance
        movers = [
            self.world.scene.items[other].name
            for other in self.others
            if np.linalg.norm(log.items[end, other, :3] - log.items[begin, other, :3]) > _MOVED
        ]
        movers += [
            name
            for name, X_WB in self.moving.items()
            if np.ptp(X_WB[begin : end + 1, :3], axis=0).max() > _MOVED
        ]
        for at in range(end, begin - 1, -_STRIDE):
            self.set_sample(at)
            if self.world.robot_within(self.names, within) or any(
                self.world.closest_points(m, name, within) for m in movers for name in self.names
            ):
                return at
        return None


def _bodies_moved_by(scene: Scene, joint: str) -> tuple[str, ...]:
    """Names of the bodies that a joint moves."""
    bodies = {body.name: body for body in scene.bodies}

    def moves(name: str) -> bool:
        return name != WORLD and (bodies[name].joint == joint or moves(bodies[name].parent))

    return tuple(name for name in bodies if moves(name))
