"""Galley's planner in the planning benchmark; nothing else here calls it."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import Any

from galley.domain.failure import Failure, FailureKind
from galley.domain.pddl.reader import read_domain, read_problem
from galley.planning import SearchLimits, Task, ground, plans, search


def grounded(domain: Path, problem: Path) -> Task:
    """The task of two files."""
    read = read_domain(domain)
    return ground(read, read_problem(problem, read))


def solve(task: Task, method: str, seconds: float) -> dict[str, Any]:
    """A search's outcome in the words of the benchmark."""
    found = search(task, method, limits=SearchLimits(seconds=seconds))
    if isinstance(found, Failure):
        status = "time" if found.kind is FailureKind.BUDGET else "unsolvable"
        return {"status": status, "expanded": found.numbers.get("expanded"), "cost": None}
    return {
        "status": "solved",
        "length": len(found.actions),
        "cost": found.cost,
        "expanded": found.expanded,
    }


def best(task: Task, count: int) -> list[float]:
    """The costs of the ``count`` cheapest plans."""
    return [each.cost for each in islice(plans(task), count)]
