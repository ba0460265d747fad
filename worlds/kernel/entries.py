"""What Python calls besides ``edges``, each in one go."""

from __future__ import annotations

from typing import Any

from galley.compiled.jit import bare_kernel
from galley.worlds.kernel.contacts import distances
from galley.worlds.kernel.edges import piece_proven_native, segment_free_native
from galley.worlds.kernel.examine import examine_native
from galley.worlds.kernel.packed import unpack
from galley.worlds.kernel.prepare import bound_travel, list_movers, place_everything

FUNCTIONS = (examine_native.address, segment_free_native.address, piece_proven_native.address)
"""Addresses for ``packed.pack``."""


@bare_kernel
def prepare_query(
    table: Any, every: Any, carries: Any, span: Any, checked: Any, counts: Any
) -> None:
    """Fills a new query: see ``prepare``."""
    bound_travel(table, carries, span)
    list_movers(table, carries, checked, counts)
    place_everything(table, every)


@bare_kernel
def distances_at(table: Any, every: Any, q: Any, cap: float, scene: Any, between: Any) -> None:
    """``contacts.distances`` at values q (n,) of all joints; the query is left as it was."""
    _, _, query = unpack(table)
    for j in range(len(q)):
        query.full[j] = query.q[j]
        query.q[j] = q[j]
    place_everything(table, every)
    distances(table, cap, scene, between)
    for j in range(len(q)):
        query.q[j] = query.full[j]
    place_everything(table, every)
