"""Checker: the protocol of collision checks. Contacts, and pairs of names that may touch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from galley.domain.frames import Array
from galley.domain.scene.model import Scene
from galley.domain.scene.robot_file import Spacing
from galley.domain.state import State
from galley.robots.model import RobotModel

Pair = tuple[str, str]
MARGIN = Spacing().margin  # m, clearance that free motions keep unless a caller says otherwise


def pair(a: str, b: str) -> Pair:
    """An unordered pair of names, sorted."""
    return (a, b) if a <= b else (b, a)


def unchecked_pairs(scene: Scene, robot: RobotModel) -> frozenset[Pair]:
    """The pairs of a link and a body that no world checks against each other.

    They are: pairs of which neither ever moves, wheels and the floors that they stand on, and what
    the scene declares by ``may_touch``.
    """
    declared = (pairs(body.may_touch, (body.name,)) for body in scene.bodies)
    still = pairs(robot.standing_links, scene.standing_bodies)
    return still.union(pairs(robot.wheels, scene.floors), *declared)


def pairs(group: tuple[str, ...], others: tuple[str, ...]) -> frozenset[Pair]:
    """The pairs of every name of ``group`` with every other name of ``others``."""
    return frozenset(pair(a, b) for a in group for b in others if a != b)


def held_pairs(scene: Scene, robot: RobotModel, state: State) -> frozenset[Pair]:
    """The pairs that touch while an item is held: the item and each finger."""
    if state.held is None:
        return frozenset()
    return pairs(robot.fingers, (scene.items[state.held].name,))


@dataclass(frozen=True)
class ContactPair:
    """Two links, bodies or items close to each other.

    Attributes:
        a, b: their names, sorted.
        distance: metres; negative when they penetrate.
    """

    a: str
    b: str
    distance: float


class Checker(Protocol):
    """Checks configurations of the whole robot in one State; declared pairs may touch."""

    def free(self, q: Array, scene_q: Array | None = None) -> bool:
        """Whether the whole robot and what it holds keep the margin at q (n,).

        ``scene_q`` (nj,) puts drawers and doors elsewhere than in the State.
        """

    def free_many(self, Q: Array, scene_q: Array | None = None) -> NDArray[np.bool_]:
        """Which of many configurations (m, n) are ``free``, with scene joints (m, nj): (m,)."""

    def contacts(
        self, q: Array, scene_q: Array | None = None, within: float | None = None
    ) -> tuple[ContactPair, ...]:
        """Pairs closer than ``within`` metres (default: the margin) at q (n,), nearest first.

        Pairs that may touch are left out.
        """
