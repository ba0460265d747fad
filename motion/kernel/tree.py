"""A search tree in arrays.

The nearest node is found by a scan of all nodes: for tens to some thousands of them in three to
twelve dimensions it costs less than one edge's collision check.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from galley.compiled.jit import bare_kernel, kernel
from galley.domain.frames import Array
from galley.motion.kernel.polyline import copy
from galley.motion.kernel.rules import UNBOUNDED


class SearchTree(NamedTuple):
    """Room for ``capacity`` nodes; the first ``size[0]`` of them exist.

    Attributes:
        points: configurations (capacity, k).
        parents: (capacity,) int64, -1 at a root.
        domains: (capacity,) how far from it a sample may be that the node grows towards.
        size: (1,) int64.
    """

    points: Array
    parents: Any
    domains: Array
    size: Any


@kernel
def empty_tree(k: int, capacity: int) -> SearchTree:
    """A tree without nodes."""
    return SearchTree(
        np.empty((capacity, k)),
        np.empty(capacity, np.int64),
        np.empty(capacity),
        np.zeros(1, np.int64),
    )


@bare_kernel
def add(tree: SearchTree, q: Array, parent: int) -> int:
    """Append a node and return its index; there must be room for it."""
    i: int = tree.size[0]
    copy(q, tree.points[i])
    tree.parents[i] = parent
    tree.domains[i] = UNBOUNDED
    tree.size[0] = i + 1
    return i


@kernel
def with_room(tree: SearchTree, more: int) -> SearchTree:
    """The tree itself if ``more`` nodes fit, else a copy with at least twice the room."""
    n = tree.size[0]
    capacity, k = tree.points.shape
    if n + more <= capacity:
        return tree
    larger = empty_tree(k, max(2 * capacity, n + more))
    larger.size[0] = n
    for i in range(n):  # number by number: slices of arrays compile to far more code
        copy(tree.points[i], larger.points[i])
        larger.parents[i] = tree.parents[i]
        larger.domains[i] = tree.domains[i]
    return larger


@bare_kernel
def depth(tree: SearchTree, leaf: int) -> int:
    """Number of nodes on the branch of ``leaf``, root and leaf included."""
    n = 0
    while leaf >= 0:
        n += 1
        leaf = tree.parents[leaf]
    return n


@bare_kernel
def write_branch(tree: SearchTree, leaf: int, path: Array, root_at: int, step: int) -> None:
    """Write the branch of ``leaf`` into rows of path, its root at ``root_at``.

    The nodes after it follow at +1 (``step`` 1) or at -1 (``step`` -1).
    """
    row = root_at + step * (depth(tree, leaf) - 1)
    while leaf >= 0:
        copy(tree.points[leaf], path[row])
        leaf = tree.parents[leaf]
        row -= step


@kernel
def joined_branches(a: SearchTree, leaf_a: int, b: SearchTree, leaf_b: int) -> Array:
    """The path (n, k): root of a, ..., leaf_a = leaf_b, ..., root of b; the meeting counts once."""
    n = depth(a, leaf_a) + depth(b, leaf_b) - 1
    path = np.empty((n, a.points.shape[1]))
    write_branch(b, leaf_b, path, n - 1, -1)
    write_branch(a, leaf_a, path, 0, 1)
    return path


@bare_kernel
def nearest(tree: SearchTree, q: Array, weights: Array) -> int:
    """Index of the node nearest to q (k,) by the metric; the tree must not be empty."""
    best, found = UNBOUNDED, 0
    for i in range(tree.size[0]):
        off = 0.0
        for j in range(len(q)):
            step = weights[j] * (tree.points[i, j] - q[j])
            off += step * step
        if off < best:
            best, found = off, i
    return found
