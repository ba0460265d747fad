"""Items in the hand: whether they stay where they were grasped."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from galley.domain.frames import Array
from galley.domain.log import Log
from galley.domain.scene import Scene
from galley.validation.circumstances import noticed
from galley.validation.poses import relative, turn_between
from galley.validation.tolerances import Tolerances
from galley.validation.verdict import Violation


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
