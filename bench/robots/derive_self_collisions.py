"""Derives the pairs of links that can never touch.

    python bench/robots/derive_self_collisions.py

The result is the table in ``robots/panda/description.py``. A pair of links is left out only with a
proof by branch and bound over the joints between them. In a box of joint values with centre c and
half-widths h,

    distance(q) >= distance(c) - sum_j r_j h_j,

where r_j bounds how far from joint j's axis a point of the moving link can be. A box whose
right-hand side exceeds the margin is proven; any other is halved along its largest r_j h_j. If a
centre is closer than the margin or the budget ends, the pair stays checked.
"""

from __future__ import annotations

import itertools
import tempfile
import time
from pathlib import Path

import numpy as np
import pybullet as p

from galley.robots.panda.models import mobile_panda

MARGIN = 0.010  # metres; far above Bullet's mesh margin of about 1 mm
BUDGET = 600_000  # distance queries a pair
SAMPLES = 3_000


class Bench:
    """The robot in PyBullet, with the chain of joints that leads to each link."""

    def __init__(self) -> None:
        self.model = mobile_panda()
        p.connect(p.DIRECT)
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "robot.urdf"
            file.write_text(self.model.urdf)
            self.body = p.loadURDF(str(file), useFixedBase=True)
        info = [p.getJointInfo(self.body, k) for k in range(p.getNumJoints(self.body))]
        self.link = {row[12].decode(): row[0] for row in info}
        self.parent = {row[0]: row[16] for row in info}
        self.range = {row[0]: (row[8], row[9]) for row in info}
        self.prismatic = {row[0]: row[2] == p.JOINT_PRISMATIC for row in info}
        self.moves = {row[0]: row[2] != p.JOINT_FIXED for row in info}
        # Distance between the frames of a link and its parent, at most; and each link's radius.
        self.offset = {
            row[0]: float(np.linalg.norm(self._relative(row[0])))
            + (row[9] if row[2] == p.JOINT_PRISMATIC and row[9] < 0.1 else 0.0)
            for row in info
        }
        self.radius = {name: self._radius(k) for name, k in self.link.items()}

    def _relative(self, k: int) -> np.ndarray:
        position = np.array(p.getLinkState(self.body, k, computeForwardKinematics=True)[4])
        parent = self.parent[k]
        if parent < 0:
            return position
        return position - p.getLinkState(self.body, parent, computeForwardKinematics=True)[4]

    def _radius(self, k: int) -> float:
        """Radius about the link's frame of a ball that holds its collision shapes."""
        low, high = (np.array(corner) for corner in p.getAABB(self.body, k))
        origin = np.array(p.getLinkState(self.body, k, computeForwardKinematics=True)[4])
        return float(np.linalg.norm(np.maximum(high - origin, origin - low)))

    def chain(self, k: int) -> list[int]:
        """Joints from the root to link ``k``."""
        joints = []
        while k >= 0:
            joints.append(k)
            k = self.parent[k]
        return joints[::-1]

    def between(self, first: str, second: str) -> tuple[list[int], list[float]]:
        """Moving joints between two links, and the bound r_j of each."""
        a, b = self.chain(self.link[first]), self.chain(self.link[second])
        common = sum(1 for x, y in zip(a, b, strict=False) if x == y)
        arms = (a[common:], b[common:])
        path = arms[0][::-1] + arms[1]
        joints, bounds = [], []
        for j in path:
            if not self.moves[j]:
                continue
            joints.append(j)
            if self.prismatic[j]:
                bounds.append(1.0)
                continue
            # From joint j's frame outwards to one end of the path, and the other way round: the
            # distance is the same whichever of the two links is taken to move.
            ends = ((arms[0], first), (arms[1], second))
            inner = next(k for k, (arm, _) in enumerate(ends) if j in arm)
            arm, name = ends[inner]
            outward = self.radius[name] + sum(self.offset[i] for i in arm[arm.index(j) + 1 :])
            arm_back, other = ends[1 - inner]
            inward = (
                self.radius[other]
                + sum(self.offset[i] for i in arm[: arm.index(j) + 1])
                + sum(self.offset[i] for i in arm_back)
            )
            bounds.append(min(outward, inward))
        return joints, bounds

    def distance(self, first: str, second: str) -> float:
        points = p.getClosestPoints(self.body, self.body, 5.0, self.link[first], self.link[second])
        return min(point[8] for point in points)

    def proof(self, first: str, second: str) -> tuple[bool, int, float]:
        """Whether the two were proved apart, the queries used, and the least distance met."""
        joints, bounds = self.between(first, second)
        ranges = np.array([self.range[j] for j in joints]).reshape(-1, 2)
        r = np.array(bounds)
        stack = [(ranges.mean(axis=1), 0.5 * (ranges[:, 1] - ranges[:, 0]))]
        least = np.inf
        for used in range(1, BUDGET + 1):
            centre, half = stack.pop()
            for j, value in zip(joints, centre, strict=True):
                p.resetJointState(self.body, j, value)
            distance = self.distance(first, second)
            least = min(least, distance)
            if distance <= MARGIN:
                return False, used, least
            if distance - r @ half <= MARGIN:
                k = int(np.argmax(r * half))
                half = half.copy()
                half[k] *= 0.5
                for sign in (-1.0, 1.0):
                    stack.append((centre + sign * half * (np.arange(len(r)) == k), half))
            if not stack:
                return True, used, least
        return False, BUDGET, least


def main() -> None:
    bench = Bench()
    rng = np.random.default_rng(0)
    pairs = list(itertools.combinations(bench.model.links, 2))
    least = dict.fromkeys(pairs, np.inf)
    hits = dict.fromkeys(pairs, 0)
    for _ in range(SAMPLES):
        for j, (low, high) in bench.range.items():
            if bench.moves[j]:
                p.resetJointState(bench.body, j, rng.uniform(low, high))
        for pair in pairs:
            distance = bench.distance(*pair)
            least[pair] = min(least[pair], distance)
            hits[pair] += distance < 0.0
    for pair in sorted(pairs):
        joints, _ = bench.between(*pair)
        line = f"{pair[0]:18s} {pair[1]:18s} joints {len(joints)}"
        line += f" sampled least {1e3 * least[pair]:7.1f} mm, touching {hits[pair] / SAMPLES:6.1%}"
        if least[pair] > MARGIN:
            start = time.perf_counter()
            proved, used, closest = bench.proof(*pair)
            line += f" {'NEVER' if proved else 'unproved'} after {used} queries,"
            line += f" least {1e3 * closest:.1f} mm, {time.perf_counter() - start:.1f} s"
        print(line, flush=True)


if __name__ == "__main__":
    main()
