"""Items, in the hand and loose: what is held stays put, what nothing touches stays, nothing leaps.

A drawer or door is a loose thing too: only a hand, or something that rolls against it, moves it.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from galley.domain.frames import Array
from galley.domain.log import Log
from galley.domain.scene.model import WORLD, Item, Scene
from galley.validation.circumstances import noticed, pushed
from galley.validation.poses import carried_along, corners, relative, turn_between
from galley.validation.stage import Stage
from galley.validation.tolerances import Tolerances
from galley.validation.verdict import Violation

Put = Callable[[int], None]
"""Sets the state of a sample, by its index."""
_LOOKS = 5  # samples between two looks at whether something is near: it moves 2 cm in them at most
_MEAN = 2  # samples to either side, over which a speed is a mean
_COASTING = 0.03  # m/s: what goes on by itself is faster; friction stops what is slower at once
_ENERGY = 2e-4  # J/kg that its noise amounts to
_STIRRED = 5e-4  # m within a window: it may have pushed something


@dataclass(frozen=True)
class Slips:
    """Most (m) that a held item moved in the hand during one motion, and the violations.

    Slips after which was planned anew are ``events``.
    """

    most: float
    violations: tuple[Violation, ...]
    events: tuple[Violation, ...]


def slips(scene: Scene, log: Log, hands: Array, tolerances: Tolerances) -> Slips:
    """Held items against the hand's poses X_WH (T, 7), motion by motion."""
    found: list[Violation] = []
    events: list[Violation] = []
    most, made_good = 0.0, noticed(log)
    for index, item in enumerate(scene.items):
        for begin, end in _spells(log, index):
            X_HI = relative(hands[begin:end], log.items[begin:end, index])
            away = np.linalg.norm(X_HI[:, :3] - X_HI[0, :3], axis=1)
            turned = turn_between(X_HI[:1, 3:], X_HI[:, 3:])
            most = max(most, float(away.max()))
            leaps = _farthest(np.diff(carried_along(X_HI, corners(item.size)), axis=0))
            over = (away > tolerances.slip) | (turned > tolerances.slip_turn)
            over[1:] |= leaps > tolerances.slip_step
            if over.any():
                k = int(np.argmax(over))
                what = (
                    f"{item.name} moves in the hand: by {1e3 * away.max():.1f} mm and"
                    f" {np.degrees(turned.max()):.1f} degrees during"
                    f" '{log.motions[log.motion[end - 1]]}'"
                )
                violation = Violation(float(log.time[begin + k]), what, "slip")
                (events if made_good[log.motion[end - 1]] else found).append(violation)
    return Slips(most, tuple(found), tuple(events))


def _spells(log: Log, index: int) -> list[tuple[int, int]]:
    """Ranges of samples in which an item is held, one for each motion and the sample before it."""
    held = log.held == index
    edges = np.flatnonzero(np.diff(held.astype(int), prepend=0, append=0)).reshape(-1, 2)
    found = []
    for begin, end in edges:
        cuts = [begin, *(begin + 1 + np.flatnonzero(np.diff(log.motion[begin:end]))), end]
        for k, (a, b) in enumerate(itertools.pairwise(cuts)):
            found.append((int(a) - (k > 0), int(b)))
    return found


def jumps(scene: Scene, log: Log, tolerances: Tolerances) -> tuple[Violation, ...]:
    """Items whose speed grows from one sample to the next as nothing here could make it."""
    found = []
    fall = float(np.linalg.norm(scene.physics.gravity)) * log.period
    for index, item in enumerate(scene.items):
        places = carried_along(log.items[:, index], corners(item.size))
        speed = np.linalg.norm(np.diff(places, axis=0), axis=2).max(axis=1) / log.period
        gain = np.diff(speed, prepend=0.0)
        over = gain > tolerances.jump + fall
        if over.any():
            k = int(np.argmax(over))
            what = f"{item.name} jumps by {1e3 * speed[k] * log.period:.1f} mm"
            found.append(Violation(float(log.time[k + 1]), what, "jump"))
    return tuple(found)


def own_motion(
    scene: Scene, log: Log, furniture: Mapping[str, Array], tolerances: Tolerances
) -> tuple[Violation, ...]:
    """Loose items of a run without forces that go neither with the hand nor with a drawer."""
    if not np.isfinite(tolerances.own_motion):
        return ()
    found = []
    for index, item in enumerate(scene.items):
        loose = (log.held[1:] != index) & (log.held[:-1] != index)
        places = _seen_from(log.items[:, index], item.size, furniture)
        moved = np.min([_farthest(p[1:] - p[:-1]) for p in places], axis=0)
        over = loose & (moved > tolerances.own_motion)
        if over.any():
            k = int(np.argmax(over))
            what = f"{item.name} moves by {1e3 * moved[k]:.2f} mm although nothing carries it"
            found.append(Violation(float(log.time[k + 1]), what, "moved-alone"))
    return tuple(found)


def moved_alone(
    stage: Stage, put: Put, log: Log, furniture: Mapping[str, Array], tolerances: Tolerances
) -> tuple[Violation, ...]:
    """What moves, however slowly, while nothing that could push it is near in ``stage``."""
    scene, found = stage.scene, []
    gravity, period = scene.physics.gravity, log.period
    forces = not np.isfinite(tolerances.own_motion)  # without them ``own_motion`` is stricter
    for index, item in enumerate(scene.items if forces else ()):
        places = _seen_from(log.items[:, index], item.size, furniture)
        speed = _speeds(places[0] / np.sqrt(3.0), period)
        energy = 0.5 * (speed**2).mean(axis=1) - log.items[:, index, :3] @ gravity
        others = tuple(b for b in range(len(scene.items)) if b != index)
        push = pushed(log, (item.name,), tolerances.push * _least_push(scene, item))
        free = ~(push | (log.held == index))
        walk = _Walk(stage, put, log, tolerances, furniture, (item.name,), others)
        k, far = walk.alone(places, energy, free)
        if k is not None:
            what = f"{item.name} moves by {1e3 * far:.1f} mm although nothing touches it"
            found.append(Violation(float(log.time[k]), what, "moved-alone"))
    for j, joint in enumerate(scene.joints):
        values = log.scene_q[:, j].reshape(-1, 1, 1)
        energy = 0.5 * (_speeds(values, period) ** 2)[:, 0]
        bodies = _carried(scene, joint.name)
        free = ~pushed(log, bodies, tolerances.push * joint.friction)
        walk = _Walk(stage, put, log, tolerances, {}, bodies, tuple(range(len(scene.items))))
        k, far = walk.alone([values], energy, free)
        if k is not None:
            unit = "rad" if joint.kind == "revolute" else "m"
            what = f"{joint.name} moves by {far:.4f} {unit} although nothing touches it"
            found.append(Violation(float(log.time[k]), what, "moved-alone"))
    return tuple(found)


def _least_push(scene: Scene, item: Item) -> float:
    """Newtons below which an item neither slides nor tips, about: of friction and of its shape."""
    size, weight = np.sort(item.size), item.mass * float(np.linalg.norm(scene.physics.gravity))
    slides = item.friction * min(body.friction for body in scene.bodies)
    return weight * min(slides, float(size[0] / (2.0 * size[2])))


def _seen_from(X_WI: Array, size: Array, furniture: Mapping[str, Array]) -> list[Array]:
    """The corners (T, 8, 3) of an item in the world, and in each body that moves."""
    moving = [X_WB for X_WB in furniture.values() if np.ptp(X_WB, axis=0).any()]
    frames = {X_WB.tobytes(): relative(X_WB, X_WI) for X_WB in moving}
    return [carried_along(X, corners(size)) for X in (X_WI, *frames.values())]


def _farthest(moves: Array) -> Array:
    """How far (m,) the point that moved most did, of moves (m, p, d)."""
    found: Array = np.linalg.norm(moves, axis=2).max(axis=1)
    return found


def _speeds(places: Array, period: float) -> Array:
    """Speeds (T, p) of points (T, p, d), means over a few samples."""
    index = np.arange(len(places))
    after, before = np.minimum(index + _MEAN, index[-1]), np.maximum(index - _MEAN, 0)
    moved = np.linalg.norm(places[after] - places[before], axis=2)
    return np.asarray(moved / (np.maximum(after - before, 1)[:, None] * period))


@dataclass(frozen=True)
class _Walk:
    """Follows one thing through a log, from one place where it was pushed to the next.

    Attributes:
        names: of the bodies that it is made of. others: items that may push it where they move;
            so may furniture that moves.
    """

    stage: Stage
    put: Put
    log: Log
    tolerances: Tolerances
    furniture: Mapping[str, Array]
    names: tuple[str, ...]
    others: tuple[int, ...]

    def alone(
        self, places: list[Array], energy: Array, free: NDArray[np.bool_]
    ) -> tuple[int | None, float]:
        """The sample from which on it moves by itself, or None; and how far it gets.

        What it moves is added up from where something pushed it last, so that a creep is found
        however slow it is. What was set in motion may go on, or fall, as long as it gains no
        energy and is not so slow that friction would hold it.

        Args:
            places: its points (T, p, d), seen from everything that it may go with.
            energy: kinetic and potential (T,), per kg. free: samples (T,) in which it is neither
                held nor pushed from outside.
        """
        anchor, bound = 0, self.tolerances.still
        while True:
            k, far = self._left(places, anchor, bound)
            if k is None:
                return None, 0.0
            bound_to = np.flatnonzero(~free[anchor : k + 1]) + anchor
            pushed_at = self._pushed(int(bound_to[-1]) if len(bound_to) else anchor, k)
            if pushed_at is None and len(bound_to):
                pushed_at = int(bound_to[-1])
            if pushed_at is None:
                fast = far / ((k - anchor) * self.log.period) > _COASTING
                if not fast or energy[k] - energy[anchor] > _ENERGY:
                    return anchor, far
                pushed_at = k
            anchor = max(pushed_at, anchor + 1)

    def _left(self, places: list[Array], anchor: int, bound: float) -> tuple[int | None, float]:
        """The first sample at which it is further than ``bound`` (m) from where it was."""
        size = 64
        begin = anchor
        while begin < len(places[0]):
            end = begin + size
            moved = np.min([_farthest(p[begin:end] - p[anchor]) for p in places], axis=0)
            over = np.flatnonzero(moved > bound)
            if len(over):
                return begin + int(over[0]), float(moved[over[0]])
            begin, size = end, 2 * size
        return None, 0.0

    def _pushed(self, begin: int, end: int) -> int | None:
        """The last sample of begin .. end at which something that can push it is near."""
        log, within = self.log, self.tolerances.touching
        movers = [
            self.stage.scene.items[other].name
            for other in self.others
            if np.linalg.norm(log.items[end, other, :3] - log.items[begin, other, :3]) > _STIRRED
        ]
        movers += [
            name
            for name, X_WB in self.furniture.items()
            if len(X_WB) > 1 and np.ptp(X_WB[begin : end + 1, :3], axis=0).max() > _STIRRED
        ]
        for at in range(end, begin - 1, -_LOOKS):
            self.put(at)
            if self.stage.robot_near(self.names, within):
                return at
            if any(self.stage.near(m, name, within) for m in movers for name in self.names):
                return at
        return None


def _carried(scene: Scene, joint: str) -> tuple[str, ...]:
    """Names of the bodies that a joint moves."""
    bodies = {body.name: body for body in scene.bodies}

    def moves(name: str) -> bool:
        return name != WORLD and (bodies[name].joint == joint or moves(bodies[name].parent))

    return tuple(name for name in bodies if moves(name))
