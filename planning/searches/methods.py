"""The searches by name, behind one function."""

from __future__ import annotations

from importlib import import_module

from galley.domain.collection import paused_collection
from galley.domain.errors import did_you_mean
from galley.domain.failure import Failure
from galley.planning.explain.conflicts import explain_at_once
from galley.planning.limits import SearchLimits
from galley.planning.operators import Plan
from galley.planning.task import Task

# The modules are called as their functions; each is imported when it is asked for.
METHODS = {"bfs": "breadth_first", "astar": "astar", "gbfs": "greedy"}


def search(task: Task, method: str = "bfs", limits: SearchLimits | None = None) -> Plan | Failure:
    """Looks for a plan.

    Args:
        task: the ground task.
        method: a key of ``METHODS``: ``bfs`` (fewest actions), ``astar`` (least cost), ``gbfs``
            (any plan, fast).
        limits: when to give up; no limits by default.

    Returns:
        The plan, or a Failure: ``CONTRADICTION`` with a certificate where no plan exists, and
        ``BUDGET`` where a limit was reached first, which says nothing of whether there is one.

    Raises:
        ValueError: there is no such method.
    """
    if method not in METHODS:
        known = ", ".join(METHODS)
        hint = did_you_mean(method, list(METHODS))
        raise ValueError(f"no search is called '{method}'{hint} (there are {known})")
    if task.is_goal(task.init):
        return Plan((), 0.0, 0, 1, 0.0)
    hopeless = explain_at_once(task)
    if hopeless is not None:
        return hopeless
    name = METHODS[method]
    function = getattr(import_module(f"galley.planning.searches.{name}"), name)
    with paused_collection():
        return function(task, limits or SearchLimits())  # type: ignore[no-any-return]
