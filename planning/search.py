"""Search for a plan in the space of ground states."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from time import perf_counter

from galley.domain.failure import Failure, FailureKind
from galley.planning.explain import explain_exhausted, explain_unreachable
from galley.planning.successors import scan
from galley.planning.task import GroundAction, Task


@dataclass(frozen=True)
class Plan:
    """A sequence of actions that reaches the goal, and what it took to find it.

    Attributes:
        actions: the actions in order; empty where the goal holds already.
        cost: the sum of the actions' costs.
        expanded: states whose successors were computed.
        generated: distinct states seen, the initial one included.
        seconds: wall time of the search in seconds, without grounding.
    """

    actions: tuple[GroundAction, ...]
    cost: float
    expanded: int
    generated: int
    seconds: float

    def __str__(self) -> str:
        return "\n".join(map(str, self.actions))


def breadth_first(task: Task, *, node_limit: int | None = None) -> Plan | Failure:
    """A plan of the fewest actions.

    Among plans of that length it is the first in the order of ``task.operators``, action by
    action, so the same task always gives the same plan.

    Args:
        task: the ground task.
        node_limit: how many states may be expanded; None for no limit.

    Returns:
        The plan, or a Failure: ``CONTRADICTION`` with a certificate where no plan exists, and
        ``BUDGET`` where ``node_limit`` was reached first.

    Raises:
        ValueError: ``node_limit`` is negative.
    """
    if node_limit is not None and node_limit < 0:
        raise ValueError(f"node_limit must not be negative, got {node_limit}")
    start = perf_counter()
    hopeless = explain_unreachable(task)
    if hopeless is not None:
        return hopeless
    # Each state seen, with the state and the operator that led to it first.
    reached_by: dict[int, tuple[int, int]] = {task.init: (task.init, -1)}
    if task.is_goal(task.init):
        return Plan((), 0.0, 0, 1, perf_counter() - start)
    successors = scan(task)
    frontier = deque([task.init])
    expanded = 0
    while frontier:
        if expanded == node_limit:
            return _limit_reached(node_limit, expanded, len(reached_by))
        state = frontier.popleft()
        expanded += 1
        for index, successor in successors(state):
            if successor in reached_by:
                continue
            reached_by[successor] = (state, index)
            if task.is_goal(successor):
                indices = _trace(reached_by, task.init, successor)
                operators = [task.operators[i] for i in indices]
                return Plan(
                    tuple(each.action for each in operators),
                    sum(each.cost for each in operators),
                    expanded,
                    len(reached_by),
                    perf_counter() - start,
                )
            frontier.append(successor)
    return explain_exhausted(task, reached_by)


def _trace(reached_by: dict[int, tuple[int, int]], init: int, state: int) -> list[int]:
    """The operators that led from ``init`` to ``state``."""
    indices = []
    while state != init:
        state, index = reached_by[state]
        indices.append(index)
    return indices[::-1]


def _limit_reached(limit: int, expanded: int, generated: int) -> Failure:
    return Failure(
        FailureKind.BUDGET,
        f"no plan found within {limit} expanded states; there may be one beyond",
        numbers={"node_limit": limit, "expanded": expanded, "generated": generated},
    )
