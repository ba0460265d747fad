"""RRT-Connect and shortcutting in plain Python, for any predicate ``free(q)``.

Peers and oracles of the compiled planners: queries that one of these two solves are solvable, and
tests hold the compiled ones against them.

J. Kuffner and S. LaValle, "RRT-Connect: an efficient approach to single-query path planning"
(2000). R. Geraerts and M. Overmars, "Creating high-quality paths for motion planning" (2007).
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from galley.domain.failure import Failure, FailureKind
from galley.domain.frames import Array
from galley.motion.path import Path
from galley.motion.planners.rrt import Free, Space, edge_free


class _Tree:
    """Configurations with their parents; the array grows by doubling."""

    def __init__(self, roots: Array) -> None:
        self.nodes = np.array(roots, dtype=np.float64)
        self.parents = [-1] * len(roots)
        self.size = len(roots)

    def add(self, q: Array, parent: int) -> int:
        if self.size == len(self.nodes):
            self.nodes = np.concatenate([self.nodes, np.empty_like(self.nodes)])
        self.nodes[self.size] = q
        self.parents.append(parent)
        self.size += 1
        return self.size - 1

    def branch(self, leaf: int) -> Array:
        """From the root to ``leaf`` (n, k)."""
        found = []
        while leaf >= 0:
            found.append(self.nodes[leaf])
            leaf = self.parents[leaf]
        return np.array(found[::-1])


@dataclass(frozen=True)
class RRTConnect:
    """Two trees that grow towards each other, from the start and from a set of goals.

    Attributes:
        radius: longest edge stored in a tree (metric of the space).
        iterations: budget; running out of it is a Failure of kind ``budget``.
    """

    radius: float = 0.6
    iterations: int = 3000

    def plan(
        self, space: Space, free: Free, start: Array, goals: Array, rng: np.random.Generator
    ) -> Path | Failure:
        """A path from start (k,) to one of ``goals`` (m, k).

        Goals that aren't free are left out; with none left it is a Failure (``blocked``).
        """
        if not free(start):
            return Failure(FailureKind.BLOCKED, "the start configuration is in collision")
        goals = np.atleast_2d(goals)
        goals = np.array([q for q in goals if free(q)])
        if len(goals) == 0:
            return Failure(FailureKind.BLOCKED, "every goal configuration is in collision")
        goals = goals[np.argsort(space.distance(goals, start), kind="stable")]
        if self._advance(space, free, start, goals[0]) is None:
            return Path(space.group, np.array([start, goals[0]]))
        trees = [_Tree(start[None]), _Tree(goals)]
        for k in range(self.iterations):
            near, far = trees[k % 2], trees[1 - k % 2]
            leaf = self._extend(space, free, near, space.sample(rng))
            if leaf is None:
                continue
            meeting = self._connect(space, free, far, near.nodes[leaf])
            if meeting is None:
                continue
            a, b = near.branch(leaf), far.branch(meeting)
            whole = np.concatenate([a, b[::-1][1:]])
            return Path(space.group, whole if k % 2 == 0 else whole[::-1])
        return Failure(
            FailureKind.BUDGET,
            f"RRT-Connect found no path in {self.iterations} iterations",
            numbers={
                "iterations": self.iterations,
                "tree_sizes": trees[0].size + trees[1].size,
            },
        )

    def _advance(self, space: Space, free: Free, a: Array, b: Array) -> Array | None:
        """None if the edge from a to b is free; else the last free state before the hit."""
        last = a
        for q in space.edge(a, b):
            if not free(q):
                return last
            last = q
        return None

    def _extend(self, space: Space, free: Free, tree: _Tree, target: Array) -> int | None:
        """One edge of at most ``radius`` towards ``target``; the new node's index, or None."""
        parent = int(np.argmin(space.distance(tree.nodes[: tree.size], target)))
        a = tree.nodes[parent]
        distance = float(space.distance(a, target))
        b = target if distance <= self.radius else a + (self.radius / distance) * (target - a)
        stop = self._advance(space, free, a, b)
        if stop is None:
            return tree.add(b, parent)
        if stop is a:
            return None
        return tree.add(stop, parent)

    def _connect(self, space: Space, free: Free, tree: _Tree, target: Array) -> int | None:
        """Grow straight towards ``target`` until blocked; the index at ``target`` if reached."""
        parent = int(np.argmin(space.distance(tree.nodes[: tree.size], target)))
        while True:
            a = tree.nodes[parent]
            distance = float(space.distance(a, target))
            if distance < 1e-12:
                return parent
            reach = distance <= self.radius
            b = target if reach else a + (self.radius / distance) * (target - a)
            stop = self._advance(space, free, a, b)
            if stop is None:
                parent = tree.add(b, parent)
                if reach:
                    return parent
                continue
            if stop is not a:
                tree.add(stop, parent)
            return None


def shortcut(
    path: Path, space: Space, free: Free, rng: np.random.Generator, tries: int = 60
) -> Path:
    """A path with the same ends, never longer, whose new edges are free.

    Each try joins two random points of the path (not only waypoints) by a straight edge.
    """
    points = list(_without_doubles(path.waypoints))
    for _ in range(tries):
        if len(points) < 3:
            break
        lengths = [float(space.distance(a, b)) for a, b in itertools.pairwise(points)]
        ends = np.concatenate([[0.0], np.cumsum(lengths)])
        low, high = np.sort(rng.uniform(0.0, ends[-1], size=2))
        i = min(int(np.searchsorted(ends, low, side="right")) - 1, len(points) - 2)
        j = min(int(np.searchsorted(ends, high, side="right")) - 1, len(points) - 2)
        if i == j:
            continue
        a = _at(points, lengths, ends, i, float(low))
        b = _at(points, lengths, ends, j, float(high))
        saved = high - low - float(space.distance(a, b))
        if saved > 1e-6 * ends[-1] and edge_free(space, free, a, b):
            points = [*points[: i + 1], a, b, *points[j + 1 :]]
    return Path(path.group, np.array(_straightened(points, space, free)))


def _at(points: list[Array], lengths: list[float], ends: Array, k: int, s: float) -> Array:
    share = (s - float(ends[k])) / lengths[k] if lengths[k] > 0 else 0.0
    return np.asarray(points[k] + share * (points[k + 1] - points[k]))


def _straightened(points: list[Array], space: Space, free: Free) -> list[Array]:
    """Drops every waypoint whose neighbours can be joined directly, in one pass from the start."""
    kept = [points[0]]
    for k in range(1, len(points) - 1):
        if not edge_free(space, free, kept[-1], points[k + 1]):
            kept.append(points[k])
    kept.append(points[-1])
    return kept


def _without_doubles(points: Array) -> Array:
    keep = np.ones(len(points), dtype=bool)
    keep[1:] = np.abs(np.diff(points, axis=0)).max(axis=1) > 1e-12
    return points[keep] if keep.sum() > 1 else points[:1]
