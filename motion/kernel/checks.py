"""What counts as a free edge, sampled only or proven as well."""

from __future__ import annotations

from typing import Any

from galley.collision.kernel.edges import polyline_free, segment_free, segment_proven
from galley.compiled.jit import bare_kernel, inlined
from galley.domain.frames import Array
from galley.motion.kernel.rules import Rules


@bare_kernel
def edge_free(table: Any, rules: Rules, a: Array, b: Array) -> bool:
    """Whether the edge from a to b is free; if the rules require it, proven.

    The sampled check comes first in any case: it rejects more cheaply.
    """
    if not segment_free(table, a, b):
        return False
    return not rules.proven or segment_proven(table, a, b, rules.required)[0] < 0.0


@inlined
def edges_free(table: Any, rules: Rules, points: Array, n: int) -> bool:
    """``edge_free`` of the edges between the first n rows of ``points``, n at least 2."""
    if not polyline_free(table, points, n):
        return False
    if rules.proven:
        for i in range(n - 1):
            if segment_proven(table, points[i], points[i + 1], rules.required)[0] >= 0.0:
                return False
    return True


@bare_kernel
def state_proven(table: Any, q: Array, required: float) -> bool:
    """Whether one configuration is proven to keep ``required`` metres."""
    hit: float = segment_proven(table, q, q, required)[0]
    return hit < 0.0
