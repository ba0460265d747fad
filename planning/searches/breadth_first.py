"""Breadth-first search: fewest actions."""

from __future__ import annotations

from galley.domain.failure import Failure
from galley.planning.limits import Limits
from galley.planning.searches.first_states import search_first_states
from galley.planning.searches.result import Plan
from galley.planning.task import Task


def breadth_first(task: Task, limits: Limits | None = None) -> Plan | Failure:
    """A plan of the fewest actions.

    The same task always gives the same plan.

    Args:
        task: the ground task; its goal is relaxed-reachable.
        limits: when to give up.

    Returns:
        The plan, or a Failure: ``CONTRADICTION`` with a certificate where no plan exists, and
        ``BUDGET`` where a limit was reached first.
    """
    meter = (limits or Limits()).start()
    if task.is_goal(task.init):
        return Plan((), 0.0, 0, 1, meter.seconds)
    found = search_first_states(task, meter)
    if found is None:
        # From the start again: what was searched so far took no longer than the preparations do.
        from galley.planning.searches.layers import Layers
        from galley.planning.space import state_space

        found = Layers(state_space(task), meter.restarted()).run()
    return found
