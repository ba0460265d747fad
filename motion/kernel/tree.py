"""A search tree in arrays: each node has a configuration and the index of its parent.

The nearest node is found by a scan of all nodes: for tens to some thousands of them in three to
twelve dimensions, that takes less time than the collision check of one edge.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from galley.compiled.annotations import Configuration, Indices, Matrix
from galley.compiled.jit import bare_kernel, kernel
from galley.domain.frames import Array
from galley.motion.kernel.polyline import copy
from galley.motion.kernel.rules import UNBOUNDED


class SearchTree(NamedTuple):
    """Arrays with room for ``capacity`` nodes; only the first ``size[0]`` rows are nodes.

    Attributes:
        points: the nodes' configurations (capacity, k).
        parents: index of each node's parent (capacity,); -1 at a root.
        domains: (capacity,), how far from a node a sample may be for the node to extend towards it
            (metric of the box); UNBOUNDED until an edge from the node was blocked.
        size: number of nodes (1,), an array so that compiled functions can change it.
    """

    points: Array
    parents: Indices
    domains: Array
    size: Indices


@kernel
def empty_tree(k: int, capacity: int) -> SearchTree:
    """A tree without nodes, with room for ``capacity`` configurations (k,)."""
    return SearchTree(
        np.empty((capacity, k)),
        np.empty(capacity, np.int64),
        np.empty(capacity),
        np.zeros(1, np.int64),
    )


@bare_kernel
def add(tree: SearchTree, q: Configuration, parent: int) -> int:
    """Append a node at q (k,) and return its index; there must be room for it."""
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
def write_branch(tree: SearchTree, leaf: int, path: Matrix, root_at: int, step: int) -> None:
    """Write the branch of ``leaf`` into rows of path (n, k), its root into row ``root_at``.

    The nodes after the root go into the rows after it (``step`` 1) or before it (``step`` -1).
    """
    # Parents are known, children are not: the branch is written from the leaf back to the root.
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
    # b's branch backwards, from its leaf to its root; a then overwrites the row of the meeting.
    write_branch(b, leaf_b, path, n - 1, -1)
    write_branch(a, leaf_a, path, 0, 1)
    return path


@bare_kernel
def nearest(tree: SearchTree, q: Configuration, weights: Configuration) -> int:
    """Index of the node nearest to q (k,) by the metric; the tree must not be empty."""
    best, node = UNBOUNDED, 0
    for i in range(tree.size[0]):
        # Squared distances have the same order and need no root.
        square = 0.0
        for j in range(len(q)):
            step = weights[j] * (tree.points[i, j] - q[j])
            square += step * step
        if square < best:
            best, node = square, i
    return node
