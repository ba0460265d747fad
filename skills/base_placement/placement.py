"""Scored base poses: for a grasp, for alternatives, for several targets in a row, for any arm.

A base is as good as its worst target, and a target as good as its best hand pose:

    score = manipulability * margin^0.5 * clearance^c * travel^t, each factor in [0, 1]

with manipulability sqrt(det(J J^T)) (Yoshikawa 1985) as a share of the arm's greatest, and margin
the least distance of a joint to its limits as a share of half its range. A product: a base that is
useless in one respect is useless.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from galley.domain.frames import Array, as_pose, inverse, rotation_z, transform, wrap
from galley.domain.scene.model import Stance
from galley.robots.model import RobotModel
from galley.robots.urdf_reader import read_tree
from galley.skills.base_placement.field import REDUNDANT
from galley.skills.base_placement.stances import bases_about, beyond, sample_stances, shortfall

Stands = Callable[[Array], NDArray[np.bool_]]
"""Which of base poses (m, 3) are free of collision, the arm folded (m,)."""
Free = Callable[[Array, Array], NDArray[np.bool_]]
"""Which of base poses (m, 3) with arms (m, n) are free of collision (m,)."""
Clearance = Callable[[Array, Array], float]
"""Metres to the nearest obstacle for a base (3,) and an arm (n,)."""

TURN = 0.3  # m of travel that a turn of 1 rad counts as
ASTERN = 1.0  # m of a drive that a metre backwards counts as beyond the metre
SIDESTEP = 0.3  # m, a shorter drive may go any way
_CHUNK = 256
_CHECKED = 8  # at a time: the best are likely to be free
_HALVINGS = 6


@dataclass(frozen=True)
class Weights:
    """Of what is not the arm's. Exponents of the factors; 0: it does not count.

    Attributes:
        clearance: of clearance / ``enough``, at most 1. enough: metres.
        travel: of 1 / (1 + metres from the current base), a turn of 1 rad counting 0.3 m.
    """

    clearance: float = 0.25
    enough: float = 0.05
    travel: float = 0.25


@dataclass(frozen=True)
class Placement:
    """A base pose and why it is good.

    Attributes:
        base: (3,). arms: a configuration for each target (t, n). hands: which of its poses (t,).
        manipulability, margin: of the worst target, in [0, 1].
        travel: from the current base, or None. clearance: the least, or None. Metres.
        score: in [0, 1].
    """

    base: Array
    arms: Array
    hands: NDArray[np.int64]
    manipulability: float
    margin: float
    score: float
    travel: float | None = None
    clearance: float | None = None

    def reason(self) -> str:
        """In a sentence without its full stop, for a report."""
        parts = [
            f"manipulability {100 * self.manipulability:.0f}% of the arm's greatest",
            f"joints {100 * self.margin:.0f}% of half their range from a limit",
        ]
        if self.clearance is not None:
            parts.append(f"{100 * self.clearance:.1f} cm clear")
        if self.travel is not None:
            parts.append(f"{self.travel:.2f} m away")
        return f"score {self.score:.2f}: {', '.join(parts)}"


@dataclass(frozen=True)
class Options:
    """What is left of bases that were drawn, best first; as Placements without clearance.

    Attributes:
        drawn: how many there were. standing: how many of them were free with the arm folded.
        bases: that reach all targets (m, 3). arms: a configuration for each target (m, t, n).
        hands: which of its poses (m, t). terms: manipulability and margin of the worst (m, 2).
        score: (m,). travel: (m,), or None.
    """

    drawn: int
    standing: int
    bases: Array
    arms: Array
    hands: NDArray[np.int64]
    terms: Array
    score: Array
    travel: Array | None

    def __len__(self) -> int:
        return len(self.bases)

    def __iter__(self) -> Iterator[Placement]:
        return map(self.placement, range(len(self)))

    def placement(self, k: int) -> Placement:
        """Of row k."""
        away = None if self.travel is None else float(self.travel[k])
        freedom, margin = map(float, self.terms[k])
        return Placement(
            self.bases[k], self.arms[k], self.hands[k], freedom, margin, float(self.score[k]), away
        )

    def ordered(self, by: Array) -> Options:
        """The same, sorted by numbers (m,), the least first."""
        rows = np.argsort(by, kind="stable")
        return replace(
            self,
            bases=self.bases[rows],
            arms=self.arms[rows],
            hands=self.hands[rows],
            terms=self.terms[rows],
            score=self.score[rows],
            travel=None if self.travel is None else self.travel[rows],
        )


def value(terms: Array) -> Array:
    """Manipulability times root of margin (...,), of both (..., 2)."""
    return np.asarray(terms[..., 0] * np.sqrt(terms[..., 1]))


class Arm(Protocol):
    """What placement asks of an arm on a base."""

    def best(self, X_WH: Array, bases: Array) -> tuple[Array, Array]:
        """The best configurations (m, n) from bases (m, 3), with manipulability and margin (m, 2).

        Zeros where there is none.
        """
        ...

    def sample(self, X_WH: Array, stance: Stance, n: int, rng: np.random.Generator) -> Array:
        """At most n base poses (k, 3) of a stance set that may reach."""
        ...

    def shortfall(self, X_WH: Array, stance: Stance) -> float:
        """Proven lower bound (m) on how far the hand stays away, from anywhere in the set."""
        ...


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

    def shortfall(self, X_WH: Array, stance: Stance) -> float:
        """See ``stances.shortfall``."""
        return shortfall(X_WH[:3, 3], stance, self.robot)


class UrdfArm:
    """Any arm with one group ``arm``, its URDF's root standing on the base: numeric, so slower.

    For poses X_WT of its tool. Manipulability is relative to the greatest of 400 random
    configurations.

    Args:
        robot: from ``urdf_arm.arm_from_urdf``.
        starts: of the numeric inverse kinematics from each base.
    """

    def __init__(self, robot: RobotModel, starts: int = 6) -> None:
        from galley.collision.backends.numeric_ik import NumericIK

        self._ik, self._group = NumericIK(robot), robot.group("arm")
        self._tree = tree = read_tree(robot.urdf, robot.joints)
        frame, X_FL = tree.link(robot.tool_link)
        self._tool, self._X_FT = frame, X_FL @ robot.X_LT
        rng, group = np.random.default_rng(0), self._group
        self._seeds = rng.uniform(group.lower, group.upper, (starts, group.size))
        self._random = rng.uniform(group.lower, group.upper, (400, group.size))
        # The arm laid end to end; sliding joints at their farthest.
        slide = np.where(tree.prismatic, np.maximum(np.abs(group.lower), np.abs(group.upper)), 0.0)
        lengths = np.linalg.norm(tree.X_PJ[1:, :3, 3], axis=1)
        self._p_BS = tree.X_PJ[0, :3, 3]
        self._length = float(lengths.sum() + slide.sum() + np.linalg.norm(self._X_FT[:3, 3]))

    @cached_property
    def _most(self) -> float:
        """The greatest manipulability, before it is a share."""
        return max(map(self._freedom, self._random))

    def terms(self, q: Array) -> Array:
        """Manipulability and margin (2,) of a configuration (n,)."""
        group = self._group
        spare = np.minimum(q - group.lower, group.upper - q)
        margin = float((2.0 * spare / (group.upper - group.lower)).min())
        return np.array([min(1.0, self._freedom(q) / self._most), max(0.0, margin)])

    def _freedom(self, q: Array) -> float:
        """sqrt(det(J J^T)) of a configuration (n,), in the units of the arm."""
        frames = self._tree.poses(q)
        p = (frames[self._tool] @ self._X_FT)[:3, 3]
        z, slides = frames[1:, :3, 2], self._tree.prismatic[:, None]
        J = np.hstack(
            [np.where(slides, z, np.cross(z, p - frames[1:, :3, 3])), np.where(slides, 0.0, z)]
        ).T
        J = J[np.linalg.norm(J, axis=1) > 1e-12]  # a planar arm has no other velocities
        wide = J @ J.T if J.shape[0] <= J.shape[1] else J.T @ J
        return float(np.sqrt(max(0.0, np.linalg.det(wide))))

    def best(self, X_WH: Array, bases: Array) -> tuple[Array, Array]:
        """From the same starts each time."""
        arms, terms = np.zeros((len(bases), self._group.size)), np.zeros((len(bases), 2))
        for k, (x, y, heading) in enumerate(bases):
            X_WB = transform(rotation_z(heading), (x, y, 0.0))
            X_BT = inverse(X_WB) @ X_WH
            if np.linalg.norm(X_BT[:3, 3] - self._p_BS) > self._length:
                continue
            for q in self._ik.solve(X_BT, self._seeds):
                found = self.terms(q)
                if value(found) > value(terms[k]):
                    arms[k], terms[k] = q, found
        return arms, terms

    def sample(self, X_WH: Array, stance: Stance, n: int, rng: np.random.Generator) -> Array:
        """Uniformly over the set where the foot is in the disc that the stretched arm spans."""
        span = self._length**2 - (X_WH[2, 3] - self._p_BS[2]) ** 2
        places = stance.lower[:2], stance.upper[:2]
        return bases_about(X_WH[:3, 3], (0.0, span), self._p_BS, places, stance, n, rng)

    def shortfall(self, X_WH: Array, stance: Stance) -> float:
        """The arm laid end to end, from the nearest corner or edge of the set."""
        low, high = stance.lower[:2], stance.upper[:2]
        return float(beyond(X_WH[None, :3, 3], low, high, self._p_BS, self._length)[0])


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
        clearance: likewise.
        weights: of the scores.
        stands: collision check of the base alone, before the arm is solved; None: none.
        travel: metres from a base (3,) to others (m, 3): (m,).
    """

    arm: Arm
    targets: Sequence[Array]
    free: Free | None = None
    clearance: Clearance | None = None
    weights: Weights = Weights()
    stands: Stands | None = None
    travel: Callable[[Array, Array], Array] = travel

    def __post_init__(self) -> None:
        if not self.targets or any(np.size(each) == 0 for each in self.targets):
            raise ValueError("a base needs targets, each with at least one hand pose")
        for target in self.targets:
            as_pose(target, "a target")

    def score(self, bases: Array, start: Array | None = None) -> Options:
        """The bases (m, 3) that stand and reach all targets, best first.

        Collisions of the arm are not looked at.
        """
        drawn = len(bases)
        if self.stands is not None and drawn:
            bases = bases[self.stands(bases)]
        standing, m, t = len(bases), len(bases), len(self.targets)
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
        bases, terms = bases[alive], terms[alive]
        worst = terms[np.arange(len(alive)), value(terms).argmin(axis=1)]
        score, away = value(worst), None
        if start is not None:
            away = self.travel(bases, start)
            score = score * (1.0 + away) ** -self.weights.travel
        options = Options(
            drawn, standing, bases, np.stack(arms, axis=1)[alive], hands[alive], worst, score, away
        )
        return options.ordered(-score)

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

        The first target's hand poses share the draws. A turn of 1 rad counts 0.3 m. Clearance is
        measured of the bases that are returned, and orders them anew. Of each base one arm
        configuration is checked, its best. While there are fewer than k, n more are drawn, at most
        ``rounds`` times: fewer may be found, and none proves nothing.
        """
        found: list[Placement] = []
        for _ in range(rounds):
            for placement in self._free(self.draw(stance, rng, n, start)):
                if all(travel(placement.base[None], other.base)[0] >= apart for other in found):
                    found.append(self._with_clearance(placement))
                if len(found) == k:
                    break
            if len(found) == k:
                break
        return sorted(found, key=lambda each: -each.score)

    def draw(
        self, stance: Stance, rng: np.random.Generator, n: int, start: Array | None = None
    ) -> Options:
        """The ``score`` of n random bases of a stance set; the first target's poses share them."""
        hands = np.reshape(self.targets[0], (-1, 4, 4))
        each = -(-n // len(hands))
        drawn = [self.arm.sample(X, stance, each, rng) for X in hands]
        return self.score(drawn[0] if len(drawn) == 1 else np.vstack(drawn), start)

    def nearest(self, base: Array, stance: Stance, step: float = 0.06, turns: int = 16) -> Nearest:
        """The free base of a stance set nearest to ``base`` (3,) that reaches all targets.

        Nearest on a grid of ``step`` (m) and ``turns`` headings about it, then moved towards
        ``base`` by bisection as far as it still serves: within a cell of the nearest that the grid
        of the redundant joint allows. If there is none, the proven shortfall.
        """
        here = self.score(base[None][: int(stance.contains(base))], base)
        placement = next(self._free(here), None)
        low, high = stance.lower[:2], stance.upper[:2]
        x, y = (
            base[i]
            + step
            * np.arange(
                np.floor((low[i] - base[i]) / step), np.ceil((high[i] - base[i]) / step) + 1
            )
            for i in (0, 1)
        )
        heading = wrap(base[2] + np.arange(turns) * (2.0 * np.pi / turns))
        grid = np.stack(np.meshgrid(x, y, heading, indexing="ij"), axis=-1).reshape(-1, 3)
        grid = grid[[stance.contains(each) for each in grid]] if placement is None else grid[:0]
        grid = grid[np.argsort(travel(grid, base), kind="stable")]
        for begin in range(0, len(grid), _CHUNK):
            options = self.score(grid[begin : begin + _CHUNK], base)
            placement = next(self._free(options.ordered(travel(options.bases, base))), None)
            if placement is not None:
                placement = self._pulled(placement, base, stance)
                break
        if placement is not None:
            return Nearest(self._with_clearance(placement), 0.0)
        short = max(
            min(self.arm.shortfall(X, stance) for X in np.reshape(hands, (-1, 4, 4)))
            for hands in self.targets
        )
        return Nearest(None, short)

    def _pulled(self, placement: Placement, base: Array, stance: Stance) -> Placement:
        """Moved towards ``base`` (3,) as far as bisection finds that it serves."""
        apart = placement.base - base
        apart[2] = wrap(apart[2:])[0]
        near, far = 0.0, 1.0
        for _ in range(_HALVINGS):
            middle = 0.5 * (near + far)
            tried = base + middle * apart
            tried[2] = wrap(tried[2:])[0]
            options = self.score(tried[None][: int(stance.contains(tried))], base)
            found = next(self._free(options), None)
            if found is None:
                near = middle
            else:
                placement, far = found, middle
        return placement

    def _free(self, options: Options) -> Iterator[Placement]:
        """The free ones, lazily, in order."""
        for begin in range(0, len(options), _CHECKED):
            rows = np.arange(begin, min(begin + _CHECKED, len(options)))
            for target in range(len(self.targets) if self.free is not None else 0):
                assert self.free is not None
                rows = rows[self.free(options.bases[rows], options.arms[rows, target])]
            yield from (options.placement(int(k)) for k in rows)

    def _with_clearance(self, placement: Placement) -> Placement:
        if self.clearance is None:
            return placement
        clear = min(self.clearance(placement.base, arm) for arm in placement.arms)
        share = min(1.0, max(0.0, clear) / self.weights.enough)
        score = placement.score * float(share**self.weights.clearance)
        return replace(placement, clearance=clear, score=score)


@dataclass(frozen=True)
class Nearest:
    """The nearest base that serves.

    Attributes:
        placement: None if none was found.
        shortfall: then, how far (m) a target is out of reach of the whole stance set, at least;
            0: the bound proves nothing.
    """

    placement: Placement | None
    shortfall: float
