"""A search tree in arrays, its points stored as rows for edges and in tiles for nearest nodes.

The nearest node is found by a scan of all nodes, 16 at a time. For tens to some thousands of nodes
in three to twelve dimensions, a scan in vector code beats every spatial index and costs less than
one edge's collision check. Distances are rounded to float32: of two nodes at nearly the same
distance, either may be returned.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from galley.compiled.jit import bare_kernel, inlined, kernel
from galley.compiled.lanes import LANES, load, reduce_min, splat, store
from galley.domain.frames import Array
from galley.motion.kernel.polyline import copy
from galley.motion.kernel.rules import UNBOUNDED

_NOWHERE = np.float32(1e15)  # coordinates of unused places; their squares still fit a float32
_FAR = np.float32(1e29)  # less than the square of the distance to an unused place


class SearchTree(NamedTuple):
    """Room for ``capacity`` nodes; the first ``size[0]`` of them exist.

    Attributes:
        points: configurations (capacity, k).
        tiles: the same, times the metric's weights, rounded to float32; 16 nodes a tile, joint
            after joint: node i's joint j is at ((i // 16) * k + j) * 16 + i % 16.
        parents: (capacity,) int64, -1 at a root.
        domains: (capacity,) how far from it a sample may be that the node grows towards.
        size: (1,) int64.
        near: (16,) float32, scratch of the search for the nearest node.
    """

    points: Array
    tiles: Any
    parents: Any
    domains: Array
    size: Any
    near: Any


@kernel
def empty_tree(k: int, capacity: int) -> SearchTree:
    """A tree without nodes."""
    tiles = np.empty((capacity + LANES - 1) // LANES * LANES * k, np.float32)
    return SearchTree(
        np.empty((capacity, k)),
        tiles,
        np.empty(capacity, np.int64),
        np.empty(capacity),
        np.zeros(1, np.int64),
        np.empty(LANES, np.float32),
    )


@bare_kernel
def add(tree: SearchTree, q: Array, weights: Array, parent: int) -> int:
    """Append a node and return its index; there must be room for it."""
    i: int = tree.size[0]
    k = len(q)
    lane = i % LANES
    at = (i - lane) * k
    if lane == 0:
        for n in range(at, at + k * LANES):
            tree.tiles[n] = _NOWHERE
    for j in range(k):
        tree.points[i, j] = q[j]
        tree.tiles[at + j * LANES + lane] = np.float32(q[j] * weights[j])
    tree.parents[i] = parent
    tree.domains[i] = UNBOUNDED
    tree.size[0] = i + 1
    return i


@bare_kernel
def add_roots(tree: SearchTree, roots: Array, weights: Array) -> None:
    """Append the rows of ``roots`` (m, k) as roots."""
    for i in range(len(roots)):
        add(tree, roots[i], weights, -1)


@inlined
def _copy_nodes(tree: SearchTree, larger: SearchTree) -> None:
    """Nodes are copied number by number: slices of arrays compile to far more code."""
    n, k = tree.size[0], tree.points.shape[1]
    larger.size[0] = n
    for i in range(n):
        copy(tree.points[i], larger.points[i])
        larger.parents[i] = tree.parents[i]
        larger.domains[i] = tree.domains[i]
    for i in range((n + LANES - 1) // LANES * LANES * k):
        larger.tiles[i] = tree.tiles[i]


@kernel
def with_room(tree: SearchTree, more: int) -> SearchTree:
    """The tree itself if ``more`` nodes fit, else a copy with at least twice the room."""
    n = tree.size[0]
    capacity, k = tree.points.shape
    if n + more <= capacity:
        return tree
    larger = empty_tree(k, max(2 * capacity, n + more))
    _copy_nodes(tree, larger)
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


@inlined
def _squares(tiles: Any, at: int, q: Array, weights: Array) -> Any:
    """Squared distances of the 16 nodes in the tile at ``at``."""
    off = load(tiles, at) - splat(np.float32(q[0] * weights[0]))
    total = off * off
    for j in range(1, len(q)):
        off = load(tiles, at + j * LANES) - splat(np.float32(q[j] * weights[j]))
        total = total + off * off
    return total


@bare_kernel
def nearest(tree: SearchTree, q: Array, weights: Array) -> int:
    """Index of the node nearest to q (k,) by the metric; the tree must not be empty."""
    near, tile = tree.near, len(q) * LANES
    best, group = _FAR, 0
    for g in range((tree.size[0] + LANES - 1) // LANES):
        off = _squares(tree.tiles, g * tile, q, weights)
        shortest = reduce_min(off)
        if shortest < best:
            best = shortest
            group = g
            store(near, 0, off)
    found = 0
    for lane in range(1, LANES):
        if near[lane] < near[found]:
            found = lane
    return group * LANES + found
