"""``search``: finds a plan by the search that the caller names."""

from __future__ import annotations

from importlib import import_module

from galley.domain.errors import did_you_mean
from galley.domain.failure import Failure
from galley.planning.explain.conflicts import explain_before_search
from galley.planning.limits import SearchLimits
from galley.planning.operators import Plan
from galley.planning.task import Task

# Each module has the name of its function, and is imported on first use.
METHODS = {"bfs": "breadth_first", "astar": "astar", "gbfs": "greedy"}


def search(task: Task, method: str = "bfs", limits: SearchLimits | None = None) -> Plan | Failure:
    """Searches for a plan.

    Args:
        task: the ground task.
        method: a key of ``METHODS``: ``bfs`` (fewest actions), ``astar`` (least cost), ``gbfs``
            (any plan, fast).
        limits: when to give up; no limits by default.

    Returns:
        The plan, or a Failure: ``CONTRADICTION`` with a certificate if no plan exists, or
        ``BUDGET`` if a limit was reached, which does not tell whether one exists.

    Raises:
        ValueError: unknown method.
    """
    if method not in METHODS:
        known = ", ".join(METHODS)
        hint = did_you_mean(method, list(METHODS))
        raise ValueError(f"no search is called '{method}'{hint} (there are {known})")
    # The searches test only generated states, not the initial one.
    if task.is_goal(task.init):
        return Plan((), 0.0, 0, 1, 0.0)
    # Cheap proofs of unsolvability come first: a search would have to visit every state.
    failure = explain_before_search(task)
    if failure is not None:
        return failure
    name = METHODS[method]
    function = getattr(import_module(f"galley.planning.searches.{name}"), name)
    return function(task, limits or SearchLimits())  # type: ignore[no-any-return]
