"""What counts as a free edge: sampled only, or proven as well."""

from __future__ import annotations

from typing import Any

from galley.compiled.jit import bare_kernel
from galley.domain.frames import Array
from galley.motion.kernel.rules import Rules
from galley.worlds.kernel.edges import segment_free, segment_proven


@bare_kernel
def edge_free(table: Any, rules: Rules, a: Array, b: Array) -> bool:
    """Whether the edge from a to b is free; if the rules want proof, it is proven too.

    The sampled check comes first also then: it is the cheaper way to a no.
    """
    if not segment_free(table, a, b):
        return False
    return not rules.proven or segment_proven(table, a, b, rules.required)[0] < 0.0
