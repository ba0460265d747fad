"""The nearest node of a tree, by looking at all of them, 16 at a time.

Trees here have tens to some thousands of nodes in three to twelve dimensions. There a scan in
vector code beats every tree of cells, and costs less than one edge's collision check. Distances
are rounded to float32: of two nodes nearly as near, either may come back.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from galley.compiled.jit import bare_kernel
from galley.compiled.lanes import LANES, least, load, splat, store
from galley.domain.frames import Array
from galley.motion.kernel.tree import Tree

_FAR = np.float32(1e29)  # less than the square of the distance to a place not taken


@bare_kernel
def _squares(tiles: Any, at: int, q: Array, weights: Array) -> Any:
    """Squared distances of the 16 nodes in the tile at ``at``."""
    off = load(tiles, at) - splat(np.float32(q[0] * weights[0]))
    total = off * off
    for j in range(1, len(q)):
        off = load(tiles, at + j * LANES) - splat(np.float32(q[j] * weights[j]))
        total = total + off * off
    return total


@bare_kernel
def nearest(tree: Tree, q: Array, weights: Array) -> int:
    """Index of the node nearest to q (k,) by the metric; the tree must not be empty."""
    near, tile = tree.near, len(q) * LANES
    best, group = _FAR, 0
    for g in range((tree.size[0] + LANES - 1) // LANES):
        off = _squares(tree.tiles, g * tile, q, weights)
        shortest = least(off)
        if shortest < best:
            best = shortest
            group = g
            store(near, 0, off)
    found = 0
    for lane in range(1, LANES):
        if near[lane] < near[found]:
            found = lane
    return group * LANES + found


@bare_kernel
def nearest_within(tree: Tree, q: Array, weights: Array, limit: float) -> int:
    """Like ``nearest``, but only nodes with cost + distance below ``limit``; -1 without any."""
    near, tile, n = tree.near, len(q) * LANES, tree.size[0]
    best, found = _FAR, -1
    for g in range((n + LANES - 1) // LANES):
        off = _squares(tree.tiles, g * tile, q, weights)
        if least(off) < best:
            store(near, 0, off)
            for lane in range(min(LANES, n - g * LANES)):
                room = limit - tree.costs[g * LANES + lane]
                if near[lane] < best and room > 0.0 and near[lane] < room * room:
                    best = near[lane]
                    found = g * LANES + lane
    return found
