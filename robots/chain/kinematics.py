"""ChainKinematics: the ``Kinematics`` of any serial arm on a base, from its URDF's constants.

Inverse kinematics: Newton's method from the solutions that EAIK finds for a simplified arm
(``branches``), or from a grid of starts if EAIK can't help.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from galley.compiled.build import CHAIN, module_of
from galley.domain.frames import Array, as_input, wrap
from galley.robots.chain.bounds import radii_of, reach_of
from galley.robots.chain.branches import Branches, branches_of, even
from galley.robots.chain.chain import BASE_JOINTS, Chain
from galley.robots.kinematics import Kinematics, ReachBounds

# Configurations stay this far from the limits, so that a spline through them stays within: rad, m,
# and at most as a share of the range.
_INSET, _SLIDE_INSET, _INSET_SHARE = 0.01, 0.001, 0.02
_SWINGS = (0.0, 0.7, -0.7, 1.4, -1.4)  # rad, added to the first joint of a folded arm
_TURNS = (0.0, np.pi / 2, -np.pi / 2, np.pi, -np.pi)  # rad, added to its last joint
_LIFT = np.linspace(0.0, 0.12, 25)  # m, heights to which the hand of a folded arm is lifted
_SAMPLES = 4096  # configurations among which the greatest manipulability is looked for
_GRID = 96  # starts of Newton's method where EAIK can't help
_ENOUGH = 16  # configurations for one value of the redundant joint, after which the search ends
_ANYWHERE = 1e300  # m and rad: how far from the pose such a start may be
# The fraction of this times the redundant joint's value is the share of a lift's range: so a lift
# takes values that are spread evenly.
_MIXED = 61.8


@dataclass(frozen=True, eq=False)
class ChainKinematics(Kinematics):
    """Compiled kinematics of the arm of a chain, within its URDF's limits.

    Of configurations that differ by whole turns only, ``configurations`` has the nearest to
    ``rest``.

    Attributes:
        chain: base and arm.
        rest: a configuration of the arm (n,), the folded one.
        tool: pose in the hand (4, 4) of the frame that is solved for.
        tilt: rad, by which that frame's direction may be missed, as arms of less than six joints
            must.
        first: index in q of the arm's first joint; other arms may come before it.
    """

    chain: Chain
    rest: Array
    tool: Array = field(default_factory=lambda: np.eye(4))
    tilt: float = 0.0
    first: int = len(BASE_JOINTS)

    @cached_property
    def reach(self) -> ReachBounds:
        """Bounds from distances between points on the axes: see ``bounds``."""
        return reach_of(self.chain)

    @property
    def redundant_range(self) -> tuple[float, float]:
        """The limits of the redundant joint, less a little; 0, 0 if there is none."""
        low, high = self._arm[1][self.locked, :2]
        return (0.0, 0.0) if self.locked < 0 else (float(low), float(high))

    def hand_pose(self, q: Array) -> Array:
        """X_WH (4, 4) by the values of base and arm in q (n,)."""
        return np.asarray(self.hand_poses(np.asarray(q)[None])[0])

    def hand_poses(self, Q: Array) -> Array:
        """X_WH (m, 4, 4) by the values of base and arm in Q (m, n)."""
        base, n = len(BASE_JOINTS), len(self.rest)
        if self.first > base and Q.shape[1] > base + n:
            Q = np.hstack([Q[:, :base], Q[:, self.first : self.first + n]])
        return np.asarray(module_of(CHAIN).hand_poses(as_input(Q), *self._whole))

    def configurations(self, X_WH: Array, base: Array, redundant: Array) -> Array:
        """All arm configurations, ordered by the value of the redundant joint, then by branch."""
        return self._solved(_in_base(X_WH, base), redundant)

    def nearest(self, X_WH: Array, base: Array) -> Array:
        """The pose that is turned least from X_WH, of those that Newton's method leads to."""
        if not self.tilt:
            return X_WH
        arms = self._solved(_in_base(X_WH, base), np.empty(0))
        if not len(arms):
            return X_WH
        bases = np.repeat(np.asarray(base)[None], len(arms), axis=0)
        hands = self.hand_poses(np.column_stack([bases, arms]))
        return np.asarray(hands[np.einsum("ij,nij->n", X_WH[:3, :3], hands[:, :3, :3]).argmax()])

    def heading_gaps(self, hands: Array, feet: Array, redundant: Array) -> Array:
        """Gaps by turning the first joint, if its axis is the foot's vertical.

        Else, and if that joint is redundant or turns no more than half a turn, all half widths are
        0: no heading is known to be out of reach.
        """
        (X, table), gaps = self._arm, np.zeros((len(feet), 2))
        low, high = table[0, :2]
        upright = abs(X[0, 2, 2]) > 1.0 - 1e-9 and not table[0, 2]
        if not upright or self.locked == 0 or high - low <= np.pi:
            return gaps
        free = table.copy()
        free[0, :2] = -np.pi, np.pi
        half = max(0.0, np.pi - 0.5 * (high - low))
        for i, foot in enumerate(feet):
            base = np.append(foot - self.reach.p_BS[:2], 0.0)
            arms = [self._solved(_in_base(X, base), redundant, free) for X in hands]
            first = np.concatenate(arms)[:, 0]
            gaps[i, 1] = np.pi
            if len(first):
                # Turning the foot turns the first joint back by as much. So each configuration
                # leaves out an arc of headings about ``out``; all leave out the arcs' intersection.
                out = np.sign(X[0, 2, 2]) * (first - 0.5 * (low + high)) + np.pi
                apart = wrap(out - out[0])
                begin, end = apart.max() - half, apart.min() + half
                gaps[i] = wrap(out[0] + 0.5 * (begin + end)), max(0.0, 0.5 * (end - begin))
        return gaps

    def best_configurations(
        self, X_WH: Array, bases: Array, redundant: Array
    ) -> tuple[Array, Array]:
        """The best configurations; manipulability is a share of the greatest in a sample."""
        arms, scores = np.zeros((len(bases), len(self.rest))), np.zeros((len(bases), 2))
        low, high = self._arm[1].T[:2]
        for i, base in enumerate(bases):
            solved = self._solved(_in_base(X_WH, base), redundant)
            if len(solved):
                freedom = self._manipulabilities(solved)
                spare = 2.0 * np.minimum(solved - low, high - solved) / (high - low)
                margin = spare.min(axis=1).clip(0.0)
                best = int((freedom * np.sqrt(margin)).argmax())
                arms[i], scores[i] = solved[best], (freedom[best], margin[best])
        scores[:, 0] = np.minimum(1.0, scores[:, 0] / self._most_manipulable)
        return arms, scores

    def follow(self, start: Array, poses: Array, base: Array) -> Array | None:
        """A path by Newton's method from each pose to the next; a redundant arm drifts freely."""
        path, count = self._followed(start, _in_base(poses, base))
        return path if count == len(path) else None

    def folded(self, arm: Array) -> tuple[Array, ...]:
        """Sets with the first and last joint turned; in the second, the hand is lifted as well."""
        X_BH = np.repeat(self.hand_poses(np.append(np.zeros(3), arm)[None]), len(_LIFT), axis=0)
        X_BH[:, 2, 3] += _LIFT
        path, count = self._followed(arm, X_BH)
        first, last = np.eye(len(arm))[[0, -1]] * (self._arm[1][[0, -1], 2:3] == 0.0)
        turns = np.array([swing * first + turn * last for swing in _SWINGS for turn in _TURNS])
        return arm + turns, path[count - 1] + turns  # as high as the arm can lift it

    def travel_bound(self, group: str, a: Array, b: Array, held_reach: float) -> float:
        """A bound from distances between points on the axes: see ``bounds``."""
        d = np.abs(np.asarray(b) - a)
        if group == "fingers":
            return float(self.chain.fingers @ d)
        links, hand = self._radii
        radii = np.maximum(links, np.where(self.chain.prismatic[2:], 1.0, hand + held_reach))
        if group == "arm":
            return float(radii[1:] @ d)
        return float(np.hypot(d[0], d[1]) + radii[: len(d) - 2] @ d[2:])

    @cached_property
    def locked(self) -> int:
        """Index in the arm of the redundant joint; -1 if there is none."""
        branches = self._branches
        return branches.locked + self._lifted if branches else self._locks[0]

    @property
    def solver(self) -> str:
        """Where Newton's method begins, in words: at EAIK's branches, or on a grid."""
        return "a grid of starts" if self._branches is None else "EAIK's branches"

    def _solved(self, X_BH: Array, redundant: Array, table: Array | None = None) -> Array:
        """Configurations (k, n) with the hand at X_BH (4, 4), in the base.

        Args:
            X_BH: pose of the hand.
            redundant: values of the redundant joint to try.
            table: see ``chain_kernel``; the arm's own, or one with other limits.
        """
        (X, own), reach, branches = self._arm, self.reach, self._branches
        p_SC = X_BH[:3, 3] + reach.p_HC[2] * X_BH[:3, 2] - reach.p_BS
        solutions = [np.empty((0, len(self.rest)))]
        if p_SC @ p_SC > reach.to_C**2:  # out of reach, for certain
            return solutions[0]
        settle, limits = module_of(CHAIN).settle, own if table is None else table
        about = X_BH @ self.tool, X, limits, self.tilt, self.locked
        if branches is not None:
            starts = self._answers(branches, X_BH, redundant)
            for near in (branches.near, 1.0):  # farther starts as well at singular poses
                out, count = settle(starts, *about, near, len(starts))
                if count:
                    break
            return np.asarray(out[:count])
        for value in redundant if self.locked >= 0 else (None,):
            starts = self._samples[:_GRID].copy()
            if value is not None:
                starts[:, self.locked] = value
            out, count = settle(starts, *about, _ANYWHERE, _ENOUGH)
            solutions.append(out[:count])
        return np.concatenate(solutions)

    def _followed(self, start: Array, X_BH: Array) -> tuple[Array, int]:
        """Configurations along hand poses X_BH (m, 4, 4), and how many of them were found."""
        path: Array
        poses = as_input(X_BH @ self.tool)
        path, count = module_of(CHAIN).follow_line(as_input(start), poses, *self._arm, self.tilt)
        return path, count

    def _manipulabilities(self, arms: Array, locked: int = -1) -> Array:
        """Manipulability (m,) of arm configurations (m, n), without a locked joint if given."""
        share = np.where(np.arange(len(self.rest)) == locked, 0.0, 1.0)
        return np.asarray(module_of(CHAIN).manipulabilities(arms, *self._arm, share))

    @cached_property
    def _whole(self) -> tuple[Array, Array]:
        """``X`` and ``table`` of base and arm, for the compiled functions."""
        chain, zeros = self.chain, np.zeros(3)
        inset = np.where(chain.prismatic, _SLIDE_INSET, _INSET)
        inset = np.minimum(inset, _INSET_SHARE * (chain.upper - chain.lower))
        columns = chain.lower + inset, chain.upper - inset, chain.prismatic, [*zeros, *self.rest]
        return as_input(chain.X), np.column_stack(columns)

    @cached_property
    def _arm(self) -> tuple[Array, Array]:
        """``X`` and ``table`` of the arm alone, with the tool for the hand."""
        X, table = self._whole[0][3:].copy(), self._whole[1][3:]
        X[-1] = X[-1] @ self.tool
        return X, table

    @cached_property
    def _radii(self) -> tuple[Array, Array]:
        """See ``bounds.radii_of``."""
        return radii_of(self.chain)

    @cached_property
    def _samples(self) -> Array:
        """Configurations (m, n) that are spread evenly between the limits."""
        table = self._arm[1]
        return even(table[:, 0], table[:, 1], _SAMPLES)

    @cached_property
    def _most_manipulable(self) -> float:
        """The greatest manipulability among the samples."""
        return float(self._manipulabilities(self._samples).max())

    @cached_property
    def _locks(self) -> list[int]:
        """Joints that may be the redundant one, the best first; -1 for less than seven joints.

        The best is the one that the arm can miss: without it, manipulability stays greatest on
        average. The arm's first joint comes last, since the base's heading does the same.
        """
        n = len(self.rest)
        if n < 7:
            return [-1]
        without = [self._manipulabilities(self._samples, k).mean() * (k > 0) for k in range(n)]
        return [int(k) for k in np.argsort(without)[::-1]]

    @cached_property
    def _lifted(self) -> bool:
        """Whether the arm's first joint lifts it, as a torso does."""
        return bool(self.chain.prismatic[3])

    @cached_property
    def _branches(self) -> Branches | None:
        """The simplified arm, behind the lift if there is one; None if EAIK can't help."""
        X, count = self._arm[0], len(self.rest) - self._lifted
        if self.chain.prismatic[3 + self._lifted :].any() or not 6 <= count <= 7:
            return None
        if not self._lifted:
            return branches_of(X, self._locks)
        locks = [k - 1 for k in self._locks if k > 0] if count == 7 else [-1]
        return branches_of(np.concatenate([X[:1] @ X[1:2], X[2:]]), locks)

    def _answers(self, branches: Branches, X_BH: Array, redundant: Array) -> Array:
        """EAIK's configurations (m, n) for values of the redundant joint (k,).

        With a lift, each of these goes with one value of the lift.
        """
        if not self._lifted:
            return branches.answers(X_BH, redundant)
        X, table = self._arm
        low, high = table[0, :2]
        lifts = redundant if self.locked == 0 else low + (high - low) * (redundant * _MIXED % 1.0)
        solutions = [np.empty((0, len(self.rest)))]
        for lift, value in zip(lifts, redundant, strict=True):
            lowered = X_BH.copy()
            lowered[:3, 3] -= lift * X[0, :3, 2]
            arms = branches.answers(lowered, np.array([value]))
            solutions.append(np.insert(arms, 0, lift, axis=1))
        return np.concatenate(solutions)


def _in_base(X_WH: Array, base: Array) -> Array:
    """Poses X_BH (..., 4, 4) in the frame of a base at (x, y, heading), of poses in the world."""
    (x, y, heading), X = base, np.eye(4)
    c, s = np.cos(heading), np.sin(heading)
    X[:2] = [c, s, 0.0, -c * x - s * y], [-s, c, 0.0, s * x - c * y]
    return np.asarray(X @ X_WH)
