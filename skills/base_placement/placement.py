"""Scored base poses: for a grasp, for alternatives, for several targets in a row.

A base is as good as its worst target, and a target as good as its best hand pose:

    score = manipulability * margin^0.5 * (1 + travel)^-t, each factor in [0, 1]

with manipulability sqrt(det(J J^T)) (Yoshikawa 1985) as a share of the arm's greatest, and margin
the least distance of a joint to its limits as a share of half its range. A product: a base that is
useless in one respect is useless.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from galley.domain.frames import Array, as_pose, wrap
from galley.domain.scene.model import Stance
from galley.robots.model import RobotModel
from galley.skills.base_placement.field import REDUNDANT
from galley.skills.base_placement.stances import sample_stances

Stands = Callable[[Array], NDArray[np.bool_]]
"""Which of base poses (m, 3) are free of collision, the arm folded (m,)."""
Free = Callable[[Array, Array], NDArray[np.bool_]]
"""Which of base poses (m, 3) with arms (m, n) are free of collision (m,)."""
TURN = 0.3  # m of travel that a turn of 1 rad counts as
ASTERN = 1.0  # m of a drive that a metre backwards counts as beyond the metre
SIDESTEP = 0.3  # m, a shorter drive may go any way
_CHECKED = 8  # at a time: the best are likely to be free


@dataclass(frozen=True)
class Placement:
    """A base pose and why it is good.

    Attributes:
        base: (3,). arms: a configuration for each target (t, n). hands: which of its poses (t,).
        manipulability, margin: of the worst target, in [0, 1].
        travel: from the current base (m), or None.
        score: in [0, 1].
    """

    base: Array
    arms: Array
    hands: NDArray[np.int64]
    manipulability: float
    margin: float
    score: float
    travel: float | None = None

    def reason(self) -> str:
        """In a sentence without its full stop, for a report."""
        parts = [
            f"manipulability {100 * self.manipulability:.0f}% of the arm's greatest",
            f"joints {100 * self.margin:.0f}% of half their range from a limit",
        ]
        if self.travel is not None:
            parts.append(f"{self.travel:.2f} m away")
        return f"score {self.score:.2f}: {', '.join(parts)}"


def value(terms: Array) -> Array:
    """Manipulability times root of margin (...,), of both (..., 2)."""
    return np.asarray(terms[..., 0] * np.sqrt(terms[..., 1]))


@dataclass(frozen=True)
class MobileArm:
    """A robot whose kinematics are in closed form, for hand poses X_WH of ``robot.palm``.

    Attributes:
        redundant: values of the redundant joint (k,); None: 12, evenly over its range.
    """

    robot: RobotModel
    redundant: Array | None = None

    def best(self, X_WH: Array, bases: Array) -> tuple[Array, Array]:
        """In closed form."""
        kinematics, values = self.robot.kinematics, self.redundant
        if values is None:
            values = np.linspace(*kinematics.redundant_range, REDUNDANT)
        return kinematics.best_configurations(X_WH, bases, values)

    def sample(self, X_WH: Array, stance: Stance, n: int, rng: np.random.Generator) -> Array:
        """Uniformly over the set where the shoulder is in the ring that the stretched arm spans."""
        return sample_stances(X_WH, stance, self.robot, n, rng)


def travel(bases: Array, start: Array) -> Array:
    """Metres from ``start`` (3,) to bases (m, 3), a turn of 1 rad counting 0.3 m."""
    apart = bases - start
    return np.asarray(np.hypot(apart[:, 0], apart[:, 1]) + TURN * np.abs(wrap(apart[:, 2])))


def drive(bases: Array, start: Array) -> Array:
    """Metres of a straight drive from ``start`` (3,) to bases (m, 3), facing forward or not.

    As ``travel``, but the way counts up to 1 + ``ASTERN`` times: once forward, in the middle
    sideways, most backwards.
    """
    apart = bases - start
    apart[:, 2] = wrap(apart[:, 2])
    course = np.arctan2(apart[:, 1], apart[:, 0])
    headings = start[2] + np.linspace(0.0, 1.0, 9)[:, None] * apart[:, 2]
    astern = 0.5 * (1.0 - np.cos(course - headings).mean(axis=0))
    way = np.hypot(apart[:, 0], apart[:, 1])
    return np.asarray(way * (1.0 + ASTERN * astern) + TURN * np.abs(apart[:, 2]))


def facing(bases: Array, start: Array, stance: Stance) -> Array:
    """Base poses (m, 3), turned as a straight drive from ``start`` (3,) arrives there forward.

    Those within ``SIDESTEP``, or for which the stance set has no such heading, stay as they are.
    """
    apart = bases[:, :2] - start[:2]
    turned = np.column_stack([bases[:, :2], np.arctan2(apart[:, 1], apart[:, 0])])
    allowed = np.array([stance.contains(each) for each in turned], dtype=np.bool_)
    allowed &= np.hypot(apart[:, 0], apart[:, 1]) > SIDESTEP
    return np.where(allowed[:, None], turned, bases)


@dataclass(frozen=True)
class Placer:
    """Finds base poses from which one arm serves every target.

    Attributes:
        arm: the robot's.
        targets: each a choice of hand poses (g, 4, 4), of which one is to be reached.
        free: collision check of base and arm; None: none.
        weight: exponent t of the travel in scores; 0: it does not count.
        stands: collision check of the base alone, before the arm is solved; None: none.
        travel: metres from a base (3,) to others (m, 3): (m,).
    """

    arm: MobileArm
    targets: Sequence[Array]
    free: Free | None = None
    weight: float = 0.25
    stands: Stands | None = None
    travel: Callable[[Array, Array], Array] = travel

    def __post_init__(self) -> None:
        if not self.targets or any(np.size(each) == 0 for each in self.targets):
            raise ValueError("a base needs targets, each with at least one hand pose")
        for target in self.targets:
            as_pose(target, "a target")

    def score(self, bases: Array, start: Array | None = None) -> list[Placement]:
        """Those of the bases (m, 3) that stand and reach all targets, best first.

        Collisions of the arm are not looked at.
        """
        if self.stands is not None and len(bases):
            bases = bases[self.stands(bases)]
        m, t = len(bases), len(self.targets)
        alive, arms, hands = np.arange(m), list[Array](), np.zeros((m, t), dtype=np.int64)
        terms = np.zeros((m, t, 2))
        for k, poses in enumerate(self.targets):
            each = np.zeros((0, 0))
            for g, X in enumerate(np.reshape(poses, (-1, 4, 4))):
                found, rated = self.arm.best(X, bases[alive])
                each = np.zeros((m, found.shape[1])) if g == 0 else each
                better = value(rated) > value(terms[alive, k])
                rows = alive[better]
                each[rows], terms[rows, k], hands[rows, k] = found[better], rated[better], g
            arms.append(each)
            alive = alive[value(terms[alive, k]) > 0.0]
        worst = terms[alive, value(terms[alive]).argmin(axis=1)]
        score, away = value(worst), None
        if start is not None:
            away = self.travel(bases[alive], start)
            score = score * (1.0 + away) ** -self.weight
        return [
            Placement(
                bases[alive[k]],
                np.array([each[alive[k]] for each in arms]),
                hands[alive[k]],
                float(worst[k, 0]),
                float(worst[k, 1]),
                float(score[k]),
                None if away is None else float(away[k]),
            )
            for k in np.argsort(-score, kind="stable")
        ]

    def best(
        self,
        stance: Stance,
        rng: np.random.Generator,
        k: int = 1,
        n: int = 256,
        start: Array | None = None,
        apart: float = 0.15,
        rounds: int = 1,
    ) -> list[Placement]:
        """The k best free bases of a stance set, of n drawn, ``apart`` (m) from each other.

        The first target's hand poses share the draws. A turn of 1 rad counts 0.3 m. Of each base
        one arm configuration is checked, its best. While there are fewer than k, n more are drawn,
        at most ``rounds`` times: fewer may be found, and none proves nothing.
        """
        found: list[Placement] = []
        for _ in range(rounds):
            for placement in self._free(self.draw(stance, rng, n, start)):
                if all(travel(placement.base[None], other.base)[0] >= apart for other in found):
                    found.append(placement)
                if len(found) == k:
                    break
            if len(found) == k:
                break
        return sorted(found, key=lambda each: -each.score)

    def draw(
        self, stance: Stance, rng: np.random.Generator, n: int, start: Array | None = None
    ) -> list[Placement]:
        """The ``score`` of n random bases of a stance set; the first target's poses share them."""
        hands = np.reshape(self.targets[0], (-1, 4, 4))
        each = -(-n // len(hands))
        return self.score(np.vstack([self.arm.sample(X, stance, each, rng) for X in hands]), start)

    def _free(self, options: Sequence[Placement]) -> Iterator[Placement]:
        """The free ones, lazily, in order."""
        for begin in range(0, len(options), _CHECKED):
            some = list(options[begin : begin + _CHECKED])
            for target in range(len(self.targets) if self.free is not None else 0):
                assert self.free is not None
                bases = np.array([each.base for each in some]).reshape(-1, 3)
                arms = np.array([each.arms[target] for each in some])
                some = [some[k] for k in np.flatnonzero(self.free(bases, arms))] if some else []
            yield from some
