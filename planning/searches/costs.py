"""Costs as whole numbers, so that sums of decimals are exact and equal costs compare equal."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from math import lcm


def whole_costs(costs: Iterable[float]) -> tuple[list[int], int]:
    """The costs in a unit of which each is a whole multiple.

    A cost is taken as the decimal that it is written as: 0.1 is a tenth, not the binary fraction
    next to it.

    Returns:
        The multiples, and how many of the unit make one.
    """
    listed = list(costs)
    exact = {cost: Fraction(repr(cost)) for cost in set(listed)}
    scale = lcm(*(each.denominator for each in exact.values()))
    whole = {cost: int(each * scale) for cost, each in exact.items()}
    return [whole[cost] for cost in listed], scale
