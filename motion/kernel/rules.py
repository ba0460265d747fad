"""What a search must keep, as tuples: compiled functions pass them on."""

from __future__ import annotations

from typing import NamedTuple

from numba import float64, types

from galley.domain.frames import Array

UNBOUNDED = 1e300  # no infinities: fast-math code assumes that there are none


class Rules(NamedTuple):
    """What counts as a valid edge.

    Attributes:
        radius: longest edge stored in a tree (metric of the box).
        proven: whether each edge must be proven to keep ``required``, not only sampled.
        required: clearance, metres.
    """

    radius: float
    proven: bool
    required: float


class Box(NamedTuple):
    """The space that is searched.

    Attributes:
        low, high: limits of each joint (k,).
        weights: (k,) of the metric |weights * (a - b)|.
    """

    low: Array
    high: Array
    weights: Array


BOX = types.NamedUniTuple(float64[::1], 3, Box)
RULES = types.NamedTuple((float64, types.boolean, float64), Rules)
"""Their types to Numba, for entries."""
