"""The space that a search explores and the rules for its edges, as tuples for compiled code."""

from __future__ import annotations

from typing import NamedTuple

from numba import float64, types

from galley.domain.frames import Array

UNBOUNDED = 1e300  # no infinities: fast-math code assumes that there are none


class Rules(NamedTuple):
    """Rules for the edges of a search.

    Attributes:
        radius: longest edge stored in a tree, in the metric of the box. With a larger radius the
            trees cross open space in fewer edges, but more of their edges are blocked.
        proven: whether each edge must be proven to keep ``required``, rather than only sampled.
        required: metres of clearance that a proof must show.
    """

    radius: float
    proven: bool
    required: float


class SearchBox(NamedTuple):
    """The configurations that a search may draw, and its metric.

    Attributes:
        low: lower limit of each joint (k,), rad or m.
        high: upper limit of each joint (k,), rad or m.
        weights: (k,), of the metric |weights * (a - b)|.
    """

    low: Array
    high: Array
    weights: Array


BOX = types.NamedUniTuple(float64[::1], 3, SearchBox)
RULES = types.NamedTuple((float64, types.boolean, float64), Rules)
"""Numba's types of the two tuples, for the signatures of entries."""
