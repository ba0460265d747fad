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
from galley.domain.scene.model import WORLD, Scene
from galley.validation.circumstances import noticed, over_window, pushed, spread
from galley.validation.poses import relative, turn_between
from galley.validation.stage import Stage
from galley.validation.tolerances import Tolerances
from galley.validation.verdict import Violation

Put = Callable[[int], None]
"""Sets the state of a sample, by its index."""
_LOOKS = 5  # samples between two looks at whether something is near: it moves 2 cm in them at most
_FALLEN = 5e-4  # m lower than before: gravity did it
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
            leaps = np.linalg.norm(np.diff(X_HI[:, :3], axis=0), axis=1)
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
        speed = np.linalg.norm(np.diff(log.items[:, index, :3], axis=0), axis=1) / log.period
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
        moved = _least_moved(log.items[:, index], furniture, 1)
        over = loose & (moved > tolerances.own_motion)
        if over.any():
            k = int(np.argmax(over))
            what = f"{item.name} moves by {1e3 * moved[k]:.2f} mm although nothing carries it"
            found.append(Violation(float(log.time[k + 1]), what, "moved-alone"))
    return tuple(found)


def moved_alone(
    stage: Stage, put: Put, log: Log, furniture: Mapping[str, Array], tolerances: Tolerances
) -> tuple[Violation, ...]:
    """What stood still and then moved while nothing was near it. Looked for in ``stage``."""
    window = over_window(log, tolerances.still_window)
    if len(log.time) <= 2 * window:
        return ()
    scene, found = stage.scene, []
    forces = not np.isfinite(tolerances.own_motion)  # without them ``own_motion`` is stricter
    for index, item in enumerate(scene.items if forces else ()):
        X_WI = log.items[:, index]
        moved = _least_moved(X_WI, furniture, window)
        fell = X_WI[:-window, 2] - X_WI[window:, 2] > _FALLEN
        loose = _none_in(log.held == index, window)
        starts = _starts(moved, tolerances.still, window) & loose & ~fell
        starts &= ~spread(pushed(log, (item.name,)), window, 1)[:-window]
        others = tuple(b for b in range(len(scene.items)) if b != index)
        for k in np.flatnonzero(starts):
            end = int(k) + window
            pushing = others, _moving(furniture, int(k), end)
            if not _touched(stage, put, (item.name,), pushing, log, int(k), end, tolerances):
                what = f"{item.name} moves by {1e3 * moved[k]:.1f} mm although nothing touches it"
                found.append(Violation(float(log.time[k]), what, "moved-alone"))
                break
    every = tuple(range(len(scene.items)))
    for j, joint in enumerate(scene.joints):
        moved = np.abs(log.scene_q[window:, j] - log.scene_q[:-window, j])
        bodies = _carried(scene, joint.name)
        starts = _starts(moved, tolerances.still, window)
        starts &= ~spread(pushed(log, bodies), window, 1)[:-window]
        for k in np.flatnonzero(starts):
            end = int(k) + window
            if not _touched(stage, put, bodies, (every, ()), log, int(k), end, tolerances):
                unit = "rad" if joint.kind == "revolute" else "m"
                what = f"{joint.name} moves by {moved[k]:.4f} {unit} although nothing touches it"
                found.append(Violation(float(log.time[k]), what, "moved-alone"))
                break
    return tuple(found)


def _least_moved(X_WI: Array, furniture: Mapping[str, Array], window: int) -> Array:
    """How far (T - window,) an item moved, against whatever it may have gone with: m.

    Against the world, and against each body that moved meanwhile.
    """
    moved: Array = np.linalg.norm(X_WI[window:, :3] - X_WI[:-window, :3], axis=1)
    for X_WB in furniture.values():
        if len(X_WB) > 1 and np.ptp(X_WB, axis=0).any():
            p_BI = relative(X_WB, X_WI)[:, :3]
            moved = np.minimum(moved, np.linalg.norm(p_BI[window:] - p_BI[:-window], axis=1))
    return moved


def _none_in(flags: NDArray[np.bool_], window: int) -> NDArray[np.bool_]:
    """Whether none of the samples k .. k + window is set (T - window,)."""
    count = np.concatenate([[0], np.cumsum(flags)])
    found: NDArray[np.bool_] = count[window + 1 :] == count[: -window - 1]
    return found


def _starts(moved: Array, bound: float, window: int) -> NDArray[np.bool_]:
    """Windows in which something moves that had not moved in the window before."""
    found = moved > bound
    before = np.concatenate([np.zeros(window), moved[:-window]])
    found &= before <= bound
    # One look at each beginning, and another where it goes on, is enough.
    found[1:] &= ~found[:-1] | (np.arange(1, len(found)) % _LOOKS == 0)
    return found


def _moving(furniture: Mapping[str, Array], k: int, end: int) -> tuple[str, ...]:
    """Names of the bodies that move within samples k .. end."""
    return tuple(
        name
        for name, X_WB in furniture.items()
        if len(X_WB) > 1 and np.ptp(X_WB[k : end + 1, :3], axis=0).max() > _STIRRED
    )


def _carried(scene: Scene, joint: str) -> tuple[str, ...]:
    """Names of the bodies that a joint moves."""
    bodies = {body.name: body for body in scene.bodies}

    def moves(name: str) -> bool:
        return name != WORLD and (bodies[name].joint == joint or moves(bodies[name].parent))

    return tuple(name for name in bodies if moves(name))


def _touched(
    stage: Stage,
    put: Put,
    names: tuple[str, ...],
    pushing: tuple[tuple[int, ...], tuple[str, ...]],
    log: Log,
    k: int,
    end: int,
    tolerances: Tolerances,
) -> bool:
    """Whether something that can push the bodies is near them within samples k .. end.

    Args:
        names: of the bodies. pushing: items, which push where they move, and furniture that moves.
    """
    items, furniture = pushing
    movers = [
        stage.scene.items[other].name
        for other in items
        if np.linalg.norm(log.items[end, other, :3] - log.items[k, other, :3]) > _STIRRED
    ]
    movers += furniture
    for at in range(k, end + 1, _LOOKS):
        put(at)
        if stage.robot_near(names, tolerances.touching):
            return True
        if any(stage.near(m, name, tolerances.touching) for m in movers for name in names):
            return True
    return False
