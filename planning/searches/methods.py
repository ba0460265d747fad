"""The searches by name, behind one function."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from galley.domain.collection import paused_collection
from galley.domain.errors import did_you_mean
from galley.domain.failure import Failure
from galley.planning.contradiction import explain_contradiction
from galley.planning.limits import Limits
from galley.planning.searches.result import Plan
from galley.planning.task import Task

Search = Callable[[Task, Limits], Plan | Failure]


# Each is imported when it is asked for.


def _bfs(task: Task, limits: Limits) -> Plan | Failure:
    from galley.planning.searches.breadth_first import breadth_first

    return breadth_first(task, limits)


def _astar(task: Task, limits: Limits) -> Plan | Failure:
    from galley.planning.searches.astar import astar

    return astar(task, limits)


def _gbfs(task: Task, limits: Limits) -> Plan | Failure:
    from galley.planning.searches.greedy import greedy

    return greedy(task, limits)


def _fd_optimal(task: Task, limits: Limits) -> Plan | Failure:
    return _fast_downward(task, limits, optimal=True)


def _fd_lama(task: Task, limits: Limits) -> Plan | Failure:
    return _fast_downward(task, limits, optimal=False)


def _fast_downward(task: Task, limits: Limits, *, optimal: bool) -> Plan | Failure:
    # A limit on states is not its kind of limit: it has none such.
    from galley.planning.fast_downward import fast_downward

    memory = None if limits.memory_mib is None else int(limits.memory_mib * (1 << 20))
    return fast_downward(
        task.domain,
        task.problem,
        optimal=optimal,
        forbidden=task.forbidden,
        seconds=limits.seconds and max(0.01, limits.seconds - limits.spent),
        memory_bytes=memory,
    )


# What each promises, for help texts.
METHODS: Mapping[str, tuple[Search, str]] = MappingProxyType(
    {
        "bfs": (_bfs, "breadth-first: fewest actions"),
        "astar": (_astar, "A*: least cost"),
        "gbfs": (_gbfs, "greedy best-first with the FF heuristic: some plan, for large tasks"),
        "fd-optimal": (_fd_optimal, "Fast Downward, least cost (extra 'fd')"),
        "fd-lama": (_fd_lama, "Fast Downward's LAMA, first plan (extra 'fd')"),
    }
)


def search(task: Task, method: str = "bfs", limits: Limits | None = None) -> Plan | Failure:
    """Looks for a plan.

    Args:
        task: the ground task.
        method: a key of ``METHODS``: ``bfs`` (fewest actions), ``astar`` (least cost), ``gbfs``
            (any plan, fast), ``fd-optimal`` and ``fd-lama`` (Fast Downward, where it is installed).
        limits: when to give up; no limits by default.

    Returns:
        The plan, or a Failure: ``CONTRADICTION`` with a certificate where no plan exists, and
        ``BUDGET`` where a limit was reached first, which says nothing of whether there is one.

    Raises:
        ValueError: there is no such method.
        MissingExtra: Fast Downward is asked for and not installed.
    """
    if method not in METHODS:
        known = ", ".join(METHODS)
        hint = did_you_mean(method, list(METHODS))
        raise ValueError(f"no search is called '{method}'{hint} (there are {known})")
    run, _ = METHODS[method]
    if task.impossible_goal() is not None:
        from galley.planning.unreachable import explain_unreachable

        hopeless = explain_unreachable(task)
        assert hopeless is not None
        return hopeless
    if task.is_goal(task.init):
        return Plan((), 0.0, 0, 1, 0.0)
    contradiction = explain_contradiction(task)
    if contradiction is not None:
        return contradiction
    with paused_collection():
        return run(task, limits or Limits())
