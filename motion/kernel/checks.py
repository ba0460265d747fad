"""Free edges: the collision check of an edge, by samples alone or with a proof as well.

``table`` (rows, 3) is a collision view's table of addresses (``collision.kernel.packed``).
"""

from __future__ import annotations

from galley.collision.kernel.continuous_collision import polyline_free, segment_free, segment_proven
from galley.compiled.annotations import Configuration, Configurations, Int
from galley.compiled.jit import bare_kernel, inlined
from galley.motion.kernel.rules import Rules


@bare_kernel
def edge_free(table: Int, rules: Rules, a: Configuration, b: Configuration) -> bool:
    """Whether the straight edge from a (k,) to b (k,) is free and, if the rules say so, proven."""
    # Samples come first even if a proof follows: they reject a blocked edge at less cost.
    if not segment_free(table, a, b):
        return False
    # A hit below 0 means that the proof found no state that is too near.
    return not rules.proven or segment_proven(table, a, b, rules.required)[0] < 0.0


@inlined
def edges_free(table: Int, rules: Rules, points: Configurations, n: int) -> bool:
    """Whether all edges between the first n rows of ``points`` (m, k) are free; n at least 2.

    The same as ``edge_free`` for each of them.
    """
    # One call samples them all, so that one batch of states may hold parts of several edges.
    if not polyline_free(table, points, n):
        return False
    if rules.proven:
        for i in range(n - 1):
            if segment_proven(table, points[i], points[i + 1], rules.required)[0] >= 0.0:
                return False
    return True


@bare_kernel
def state_proven(table: Int, q: Configuration, required: float) -> bool:
    """Whether the configuration q (k,) is proven to keep ``required`` metres of clearance."""
    # A state is an edge of no length.
    hit: float = segment_proven(table, q, q, required)[0]
    return hit < 0.0
