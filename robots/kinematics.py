"""The interface of an arm's kinematics for skills: configurations for hand poses, bounds on reach.

Frames: W the world, B the base, H the hand (the robot's palm), S the shoulder. Each kind of robot
has a subclass of ``Kinematics``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from galley.domain.frames import Array

_MISSING = "this robot has no kinematics for skills: see galley.robots.kinematics.Kinematics"


@dataclass(frozen=True)
class ReachBounds:
    """Distances in metres that no configuration of the arm exceeds.

    The shoulder S is fixed in the base, above the arm's foot; C is a point fixed in the hand, on
    the line on which it points.

    Attributes:
        p_BS: the shoulder in the base's frame (3,).
        p_HC: C in the hand's frame (3,).
        to_C: greatest distance from the shoulder to C.
        to_hand: greatest distance from the shoulder to the hand's origin.
        too_near: horizontal distance of C from the shoulder below which no base pose is sampled.
    """

    p_BS: Array
    p_HC: Array
    to_C: float
    to_hand: float
    too_near: float


class Kinematics:
    """Kinematics of an arm on a base. Configurations are rows (n,), base poses (x, y, heading).

    A redundant arm is solved for given values of one joint, ``redundant`` (m,); an arm without
    redundancy ignores them.
    """

    @property
    def reach(self) -> ReachBounds:
        """Bounds on how far the arm reaches."""
        raise NotImplementedError(_MISSING)

    @property
    def redundant_range(self) -> tuple[float, float]:
        """Lowest and highest value of the redundant joint, rad or m; equal where there is none."""
        raise NotImplementedError(_MISSING)

    def redundant_values(self, n: int, rng: np.random.Generator) -> Array:
        """``n`` values of the redundant joint (n,), evenly spaced with a random offset."""
        low, high = self.redundant_range
        return np.asarray(low + (high - low) * (np.arange(n) + rng.random()) / n)

    def hand_pose(self, q: Array) -> Array:
        """X_WH (4, 4) for the whole robot's configuration (n,); the fingers may be left out."""
        raise NotImplementedError(_MISSING)

    def hand_poses(self, Q: Array) -> Array:
        """X_WH (m, 4, 4) for many configurations (m, n); override it where that is faster."""
        return np.array([self.hand_pose(q) for q in Q]).reshape(-1, 4, 4)

    def configurations(self, X_WH: Array, base: Array, redundant: Array) -> Array:
        """All arm configurations (k, n) with the hand at X_WH (4, 4) from a base pose (3,)."""
        raise NotImplementedError(_MISSING)

    def nearest(self, X_WH: Array, base: Array) -> Array:
        """The pose (4, 4) nearest to X_WH that the hand can have from a base pose (3,).

        It is X_WH itself for an arm of six joints or more, which turns its hand every way, and for
        any arm where there is no such pose. Else the grasp centre stays, and the
        direction changes a little.
        """
        return X_WH

    def heading_gaps(self, hands: Array, feet: Array, redundant: Array) -> Array:
        """Headings from which an arm with its foot at (m, 2) reaches none of hands (g, 4, 4).

        Returns:
            Middle and half width (m, 2), rad, of the one arc of headings that reach none. A half
            width of pi: no heading reaches; 0: all do.
        """
        raise NotImplementedError(_MISSING)

    def best_configurations(
        self, X_WH: Array, bases: Array, redundant: Array
    ) -> tuple[Array, Array]:
        """The best configuration with the hand at X_WH (4, 4) from each base pose (m, 3).

        Returns:
            Configurations (m, n), and for each (m, 2) its manipulability sqrt(det(J J^T)) as a
            share of the greatest, and the least margin of a joint to its limits, 1 in the middle.
            The best has the greatest product of manipulability and square root of margin. Zeros
            where there is none.
        """
        raise NotImplementedError(_MISSING)

    def follow(self, start: Array, poses: Array, base: Array) -> Array | None:
        """A continuous path (m, n) along hand poses X_WH (m, 4, 4), from ``start`` (n,).

        ``start`` must reach the first pose. None if the line leaves the arm's reach or limits, or a
        joint would have to jump.
        """
        raise NotImplementedError(_MISSING)

    def folded(self, arm: Array) -> tuple[Array, ...]:
        """Sets (m, n) of folded configurations near the folded ``arm`` (n,), the best set first.

        They differ in how the hand is turned and the arm is swung. They may exceed limits.
        """
        raise NotImplementedError(_MISSING)

    def travel_bound(self, group: str, a: Array, b: Array, held_reach: float) -> float:
        """Bound (m) on the travel of any point of the robot while one group goes from a to b (k,).

        Args:
            group: ``base``, ``arm``, ``base+arm`` or ``fingers``.
            a, b: values of the group's joints (k,).
            held_reach: farthest point of the held item from the hand's origin, metres.
        """
        raise NotImplementedError(_MISSING)
