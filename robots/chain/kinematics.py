"""``Kinematics`` of any serial arm on a base, from its URDF's constants."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from galley.compiled.build import CHAIN, ensure
from galley.domain.frames import Array, wrap
from galley.robots.chain.bounds import Radii, radii_of, reach_of
from galley.robots.chain.branches import Starts, even, starts_of
from galley.robots.chain.chain import Chain
from galley.robots.kinematics import Kinematics, ReachBounds

_JUMP = 0.15  # rad or m, the most a joint may move between two poses of a line
# Configurations stay this far from the limits, so that a spline through them stays within.
_INSET = (0.01, 0.001)  # rad and m
_FEW = 0.05  # the same as a share of a short range, at most
_SWINGS = (0.0, 0.7, -0.7, 1.4, -1.4)  # rad, of the first joint
_TURNS = (0.0, np.pi / 2, -np.pi / 2, np.pi, -np.pi)  # rad, of the last joint
_RISE = np.linspace(0.0, 0.12, 25)  # m, by which the hand of a folded arm is lifted
_SAMPLES = 4096  # configurations among which the greatest manipulability is looked for
_GRID = 96  # starts of Newton's method where EAIK can't help
_STEPS = 40  # of Newton's method from each
_BRANCHES = 8  # of one value of the redundant joint, after which the rest are left out


@dataclass(frozen=True, eq=False)
class ChainKinematics(Kinematics):
    """Compiled kinematics of the arm of a chain.

    ``configurations`` has one turn of each joint where limits allow several, the nearest to
    ``rest``: others differ by whole turns.

    Attributes:
        chain: the arm.
        rest: a configuration (n,), the folded one.
    """

    chain: Chain
    rest: Array

    @cached_property
    def reach(self) -> ReachBounds:
        """By chains of distances between points on the axes: see ``bounds``."""
        return reach_of(self.chain)

    @property
    def redundant(self) -> int:
        """The redundant joint; -1: there is none."""
        return self._starts.locked

    @property
    def redundant_range(self) -> tuple[float, float]:
        """A little within the redundant joint's limits; 0, 0 where there is none."""
        at = self.redundant
        return (
            (0.0, 0.0) if at < 0 else (float(self._arrays[1][at, 0]), float(self._arrays[1][at, 1]))
        )

    def hand_pose(self, q: Array) -> Array:
        """X_WH (4, 4) from base and arm."""
        return self.hand_poses(np.asarray(q)[None])[0]

    def hand_poses(self, Q: Array) -> Array:
        """X_WH (m, 4, 4) from base and arm."""
        found: Array = _compiled().hand_poses(_input(Q), *self._arrays)
        return found

    def configurations(self, X_WH: Array, base: Array, redundant: Array) -> Array:
        """Ordered by the value of the redundant joint, then by branch."""
        return self.inverse(_in_base(X_WH, base), redundant)

    def inverse(self, X_BH: Array, redundant: Array) -> Array:
        """All arm configurations (k, n) with the hand at X_BH (4, 4) in the base's frame."""
        return self._solved(X_BH, redundant, self._solvers(redundant))

    def heading_gaps(self, hands: Array, feet: Array, redundant: Array) -> Array:
        """By turning the first joint, if its axis is the foot's vertical.

        Else, or if it is the redundant joint, every half is 0: nothing is known to be out of reach.
        """
        gaps, axis = np.zeros((len(feet), 2)), self.chain.X[0, :3, 2]
        if abs(axis[2]) < 1.0 - 1e-9 or self.chain.prismatic[0] or self.redundant == 0:
            return gaps
        table, solvers = self._arrays[1].copy(), self._solvers(redundant)
        low, high = table[0, :2]
        table[0, :2] = -np.pi, np.pi
        half = max(0.0, np.pi - 0.5 * (high - low))
        for i, foot in enumerate(feet):
            base = np.append(foot - self.reach.p_BS[:2], 0.0)
            middle, width = 0.0, np.pi
            for hand in hands:
                found = self._solved(_in_base(hand, base), redundant, solvers, table)
                # What turning the foot adds to the first joint, that joint's own turn takes away.
                for at in wrap(np.sign(axis[2]) * (found[:, 0] - 0.5 * (low + high)) + np.pi):
                    if width == np.pi:
                        middle, width = at, half
                        continue
                    apart = float(wrap(at - middle))
                    first, last = max(-width, apart - half), min(width, apart + half)
                    middle, width = middle + 0.5 * (first + last), max(0.0, 0.5 * (last - first))
                if width == 0.0:
                    break
            gaps[i] = wrap(middle), width
        return gaps

    def best_configurations(
        self, X_WH: Array, bases: Array, redundant: Array
    ) -> tuple[Array, Array]:
        """Manipulability as a share of the greatest of a sample."""
        arms, scores = np.zeros((len(bases), len(self.rest))), np.zeros((len(bases), 2))
        solvers = self._solvers(redundant)
        for i, base in enumerate(bases):
            found = self._solved(_in_base(X_WH, base), redundant, solvers)
            if len(found):
                terms = _compiled().qualities(found, *self._arrays, -1)
                best = int((terms[:, 0] * np.sqrt(terms[:, 1])).argmax())
                arms[i], scores[i] = found[best], terms[best]
        scores[:, 0] = np.minimum(1.0, scores[:, 0] / self._most_manipulable)
        return arms, scores

    def follow(self, start: Array, poses: Array, base: Array) -> Array | None:
        """By Newton's method from each pose to the next; a redundant arm drifts freely."""
        path, found = self._followed(start, poses, base)
        return path if found == len(path) else None

    def folded(self, arm: Array) -> tuple[Array, ...]:
        """First and last joint turned, where they turn; in the second set the hand is lifted."""
        poses = np.repeat(self.hand_pose(np.append(np.zeros(3), arm))[None], len(_RISE), axis=0)
        poses[:, 2, 3] += _RISE
        path, found = self._followed(arm, poses, np.zeros(3))
        first, last = np.eye(len(arm))[[0, -1]] * ~self.chain.prismatic[[0, -1], None]
        turns = np.array([swing * first + turn * last for swing in _SWINGS for turn in _TURNS])
        return arm + turns, path[found - 1] + turns

    def travel_bound(self, group: str, a: Array, b: Array, held_reach: float) -> float:
        """From distances between points on the axes: see ``bounds``."""
        d = np.abs(np.asarray(b) - a)
        if group == "fingers":
            return float((self.chain.fingers @ d).max(initial=0.0))
        radii = self._radii.with_held(held_reach)
        if group == "arm":
            return float(radii[1:] @ d)
        base = float(np.hypot(d[0], d[1]) + radii[0] * d[2])
        return base + float(radii[1:] @ d[3:]) if group == "base+arm" else base

    def _followed(self, start: Array, poses: Array, base: Array) -> tuple[Array, int]:
        path: Array
        path, found = _compiled().follow_line(
            _input(start), _input(poses), _input(base), *self._arrays, _JUMP
        )
        return path, found

    def _solvers(self, redundant: Array) -> list[Any]:
        """EAIK's robots: one, or one for each value of the redundant joint."""
        starts = self._starts
        return (
            self._solver if starts.locked < 0 or starts.lines is None else starts.solvers(redundant)
        )

    @cached_property
    def _solver(self) -> list[Any]:
        return [] if self._starts.lines is None else self._starts.solvers(np.empty(0))

    def _solved(
        self, X_BH: Array, redundant: Array, solvers: list[Any], table: Array | None = None
    ) -> Array:
        """``inverse`` with EAIK's robots made, and another table of limits."""
        reach, starts, none = self.reach, self._starts, np.empty((0, len(self.rest)))
        p_SC = X_BH[:3, 3] + reach.p_HC[2] * X_BH[:3, 2] - reach.p_BS
        if p_SC @ p_SC > reach.to_C**2:
            return none
        X, own = self._arrays
        limits = own if table is None else table
        joint, target, rest = starts.locked, _input(X_BH), _input(self.rest)
        if solvers:
            begin, how = starts.of_pose(solvers, X_BH), (starts.slack, starts.near, starts.steps)
            found, count = _compiled().settle(
                begin, target, X, limits, rest, joint, *how, len(begin)
            )
            if count or starts.exact:
                return np.asarray(found[:count])
        each = []
        for value in redundant if joint >= 0 else redundant[:1]:
            begin = self._grid.copy()
            begin[:, max(joint, 0)] = value if joint >= 0 else begin[:, 0]
            found, count = _compiled().settle(
                begin, target, X, limits, rest, joint, 1e300, 1e300, _STEPS, _BRANCHES
            )
            each.append(found[:count])
        return np.concatenate(each) if each else none

    @cached_property
    def _grid(self) -> Array:
        table = self._arrays[1]
        return even(table[:, 0], table[:, 1], _GRID)

    @cached_property
    def _arrays(self) -> tuple[Array, Array]:
        """``X`` and ``table`` of the compiled functions, the limits a little narrower."""
        chain = self.chain
        most = _FEW * (chain.upper - chain.lower)
        inset = np.minimum(np.where(chain.prismatic, _INSET[1], _INSET[0]), most)
        limits = chain.lower + inset, chain.upper - inset
        return _input(chain.X), np.column_stack([*limits, chain.prismatic.astype(float)])

    @cached_property
    def _samples(self) -> Array:
        table = self._arrays[1]
        return even(table[:, 0], table[:, 1], _SAMPLES)

    @cached_property
    def _most_manipulable(self) -> float:
        return float(_compiled().qualities(self._samples, *self._arrays, -1)[:, 0].max())

    @cached_property
    def _starts(self) -> Starts:
        """The joint without which the arm keeps the most manipulability is locked, if it can be."""
        kept = []
        for joint in range(len(self.rest)) if len(self.rest) > 6 else ():
            terms = _compiled().qualities(self._samples, *self._arrays, joint)
            kept.append(float(terms[:, 0].mean()) * (joint > 0))  # the first turns with the base
        return starts_of(self.chain, [int(k) for k in np.argsort(kept)[::-1]])

    @cached_property
    def _radii(self) -> Radii:
        return radii_of(self.chain)


def _in_base(X_WH: Array, base: Array) -> Array:
    """X_BH (4, 4) for a base at (x, y, heading)."""
    c, s = np.cos(base[2]), np.sin(base[2])
    X = np.array(X_WH, dtype=np.float64)
    X[:2, 3] -= base[:2]
    X[:2] = np.array([[c, s], [-s, c]]) @ X[:2]
    return X


def _input(values: ArrayLike) -> Array:
    """A writeable copy in C order: Numba compiles anew for read-only and for strided arrays."""
    return np.array(values, dtype=np.float64, order="C")


@cache
def _compiled() -> ModuleType:
    ensure(CHAIN)
    from galley.robots.chain import chain_kernel

    return chain_kernel
