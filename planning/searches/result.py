"""What a search gives back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import fsum

from galley.domain.failure import Failure, FailureKind
from galley.planning.operators import COST_DECIMALS, GroundAction, Operator


@dataclass(frozen=True)
class Plan:
    """A plan that a search found.

    Attributes:
        actions: the actions in order; empty where the goal holds already.
        cost: the sum of the actions' costs.
        expanded: states whose successors were computed.
        generated: distinct states seen, the initial one included.
        seconds: wall time of the search in seconds, its preparations included, without grounding.
    """

    actions: tuple[GroundAction, ...]
    cost: float
    expanded: int
    generated: int
    seconds: float

    def __str__(self) -> str:
        return "\n".join(map(str, self.actions))


def plan_of(
    operators: Sequence[Operator], *, expanded: int, generated: int, seconds: float
) -> Plan:
    """The plan that ``operators`` are."""
    return Plan(
        tuple(each.action for each in operators),
        round(fsum(each.cost for each in operators), COST_DECIMALS),
        expanded,
        generated,
        seconds,
    )


def limit_failure(reached: str, *, expanded: int, generated: int, seconds: float) -> Failure:
    """The failure of a search that stopped at a limit: an honest "don't know".

    Args:
        reached: which limit, such as ``"node limit of 1000"``.
        expanded: states whose successors were computed.
        generated: distinct states seen.
        seconds: wall time spent.
    """
    return Failure(
        FailureKind.BUDGET,
        f"no plan found before the {reached} was reached ({expanded} "
        f"state{'' if expanded == 1 else 's'} expanded, {seconds:.1f} s); there may be one beyond",
        numbers={"expanded": expanded, "generated": generated, "seconds": seconds},
    )
