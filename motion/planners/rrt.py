"""The baseline RRT, step by step: sample, nearest, steer, collision_free, arrive.

It searches a Space: a box of configurations with a metric, its edges checked at a resolution. The
caller gives the function that tells whether a configuration is free: the kernel's ``View.free``,
PyBullet's or any other.

After S. LaValle, "Rapidly-exploring random trees" (1998), with a bias towards goal configurations
that inverse kinematics found. Unlike the baseline's original code, it checks every part of the
robot, interpolates edges, and arrives in position *and* orientation.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from galley.collision.view import View
from galley.collision.view_tables import metric
from galley.domain.failure import Failure, FailureKind
from galley.domain.frames import Array, angle_between, frozen
from galley.motion.path import Path
from galley.robots.model import RobotModel

Free = Callable[[Array], bool]
"""Whether a configuration (k,) of the group is free of collision."""


@dataclass(frozen=True)
class Space:
    """A box of configurations, with a metric and a resolution for edges.

    Attributes:
        group: the joint group's name.
        lower: lower limits of the joints (k,), rad or m.
        upper: upper limits of the joints (k,), rad or m.
        resolution: most that each joint moves between two checked states of an edge (k,), rad or m.
        weights: factors of the joints (k,) in the metric |weights * (a - b)|.
    """

    group: str
    lower: Array
    upper: Array
    resolution: Array
    weights: Array

    def sample(self, rng: np.random.Generator) -> Array:
        """A configuration (k,), uniform in the box."""
        return rng.uniform(self.lower, self.upper)

    def distance(self, a: Array, b: Array) -> Array:
        """Weighted Euclidean distance; a and b broadcast over leading axes."""
        return np.asarray(np.linalg.norm((np.asarray(a) - b) * self.weights, axis=-1))

    def finer(self, factor: float) -> Space:
        """The same space with its edges checked at ``factor`` times the resolution."""
        return self if factor == 1.0 else replace(self, resolution=self.resolution * factor)

    def edge(self, a: Array, b: Array) -> Array:
        """States (n, k) along the straight edge from a to b, b included and a not.

        Consecutive ones (a counted) differ by at most ``resolution`` in each joint.
        """
        steps = float((np.abs(b - a) / self.resolution).max())
        n = max(1, int(np.ceil(steps - 1e-9)))
        s = np.linspace(0.0, 1.0, n + 1)[1:, None]
        return np.asarray((1.0 - s) * a + s * b)  # exactly b at s = 1


def joint_space(robot: RobotModel, group: str) -> Space:
    """The space of ``arm``, ``base`` or ``base+arm``, the same as that of the kernel's views."""
    rows = np.array([row for name in group.split("+") for row in metric(robot, name)])
    lower, upper, weights, resolution = map(frozen, rows.T)
    return Space(group, lower, upper, resolution, weights)


def view_space(view: View) -> Space:
    """The space that a view's edges are checked in; a finer view's is finer."""
    tree = view.arrays.tree
    return Space(view.group, tree.low, tree.high, tree.step, tree.weights)


def edge_free(space: Space, free: Free, a: Array, b: Array) -> bool:
    """Whether all checked states on the edge from a to b are free; a is not checked."""
    return all(map(free, space.edge(a, b)[::-1]))  # the end hits something more often


def path_free(space: Space, free: Free, path: Path) -> bool:
    """Whether the whole path, ends included, is free at the space's resolution."""
    points = path.waypoints
    if not free(points[0]):
        return False
    return all(edge_free(space, free, a, b) for a, b in itertools.pairwise(points))


@dataclass(frozen=True)
class EndRegion:
    """The goal region of a search: the configurations whose hand pose is near a target.

    Attributes:
        pose: takes a configuration (k,); returns the hand's pose (4, 4).
        target: the target pose (4, 4); its orientation is ignored if ``angle`` is None.
        radius: tolerated difference of the hand's position, m: along every axis (a small box), or
            in the sum of the three (L1 norm) with ``l1``.
        angle: tolerated angle between the orientations, rad; None leaves the orientation free.
        l1: whether to measure position by the L1 norm, as the baseline's original code did.
    """

    pose: Callable[[Array], Array]
    target: Array
    radius: float = 0.01
    angle: float | None = 0.05
    l1: bool = False

    def contains(self, q: Array) -> bool:
        """Whether the hand at q lies in the region."""
        X = self.pose(q)
        off = np.abs(X[:3, 3] - self.target[:3, 3])
        if (off.sum() if self.l1 else off.max()) > self.radius:
            return False
        return self.angle is None or angle_between(self.target[:3, :3], X[:3, :3]) <= self.angle


@dataclass(frozen=True)
class RRT:
    """The planner and its parameters.

    Attributes:
        radius: longest edge, in the metric of the space. With a larger one the tree crosses open
            space in fewer edges, but more edges are blocked.
        goal_bias: share of samples that are goal configurations. With more, easy paths are found
            sooner; paths around an obstacle need the other samples.
        iterations: most samples; if they run out, the result is a Failure of kind ``budget``.
    """

    radius: float = 0.3
    goal_bias: float = 0.1
    iterations: int = 5000

    def plan(
        self,
        space: Space,
        free: Free,
        start: Array,
        region: EndRegion | None,
        goals: Array,
        rng: np.random.Generator,
    ) -> Path | Failure:
        """A path from start into the region, or exactly to one of ``goals`` (m, k).

        Args:
            space: configurations to search.
            free: whether a configuration is free.
            start: (k,).
            region: where the search may end; None to end at ``goals`` only.
            goals: free configurations to grow towards (m, k); may be empty with a region.
            rng: source of all randomness.
        """
        if not free(start):
            return Failure(FailureKind.BLOCKED, "the start configuration is in collision")
        tree = np.empty((self.iterations + 1, len(start)))
        tree[0], parents, size = start, [-1], 1
        for _ in range(self.iterations):
            target = self.sample(space, goals, rng)
            parent = self.nearest(target, tree[:size], space)
            leaf = self.steer(tree[parent], target, space)
            # A blocked edge adds nothing, not even its free part.
            if not self.collision_free(tree[parent], leaf, space, free):
                continue
            tree[size] = leaf
            parents.append(parent)
            size += 1
            if self.arrive(region, goals, leaf):
                return Path(space.group, _branch(tree, parents, size - 1))
        return Failure(
            FailureKind.BUDGET,
            f"RRT found no path in {self.iterations} iterations",
            numbers={"iterations": self.iterations, "tree_size": size},
        )

    def sample(self, space: Space, goals: Array, rng: np.random.Generator) -> Array:
        """A random configuration, or with probability ``goal_bias`` one of the goals."""
        if len(goals) and rng.random() < self.goal_bias:
            return np.asarray(goals[rng.integers(len(goals))])
        return space.sample(rng)

    def nearest(self, leaf: Array, tree: Array, space: Space) -> int:
        """Index of the tree's configuration nearest to ``leaf``."""
        return int(np.argmin(space.distance(tree, leaf)))

    def steer(self, parent: Array, leaf: Array, space: Space) -> Array:
        """``leaf``, or the point ``radius`` away from ``parent`` towards it."""
        distance = float(space.distance(parent, leaf))
        if distance <= self.radius:
            return leaf
        return np.asarray(parent + (self.radius / distance) * (leaf - parent))

    def collision_free(self, parent: Array, des: Array, space: Space, free: Free) -> bool:
        """Whether the edge from ``parent`` to ``des`` is free at the space's resolution."""
        return edge_free(space, free, parent, des)

    def arrive(self, end_region: EndRegion | None, goals: Array, des: Array) -> bool:
        """Whether ``des`` is a goal configuration, or its hand lies in the region."""
        if len(goals) and bool((np.abs(goals - des).max(axis=1) < 1e-9).any()):
            return True
        return end_region is not None and end_region.contains(des)


def _branch(tree: Array, parents: list[int], leaf: int) -> Array:
    """The configurations (n, k) from the root to the node ``leaf``."""
    branch = []
    while leaf >= 0:
        branch.append(tree[leaf])
        leaf = parents[leaf]
    return np.array(branch[::-1])
