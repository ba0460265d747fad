"""``galley plan``: task planning without geometry. It imports little and so starts fast."""

from __future__ import annotations

import sys
import time
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from galley.cli.common.arguments import Count, Positive, check_output, plural, write_json
from galley.cli.common.shared import SymbolicTask, json_option
from galley.domain.failure import Failure, FailureKind
from galley.domain.options import group, more, option

if TYPE_CHECKING:
    from galley.planning import Plan, SearchLimits, Task

_SILENT_S = 2.0  # before the progress line appears

_SEARCHES = ("bfs", "astar", "gbfs")  # those of galley.planning.search, which is imported later

EPILOG = """searches:
  bfs      breadth-first search: fewest actions (default)
  astar    A*: least cost
  gbfs     greedy best-first search with the FF heuristic: any plan, for large tasks

examples:
  galley plan --top-k 5    the five cheapest plans in the kitchen
  galley plan --domain domain.pddl --problem problem.pddl --time-limit 60

Supported PDDL: STRIPS, types, constants, equality, negation, disjunction,
quantifiers, conditional and universal effects, action costs."""


@dataclass(frozen=True, kw_only=True)
class PlanOptions:
    """Options of ``galley plan``.

    Raises:
        ValueError: both ``search`` and ``top_k`` are given.
    """

    task: SymbolicTask = group(SymbolicTask())
    search: str | None = option(None, "Search method, see below. Default: bfs.", choices=_SEARCHES)
    top_k: Count | None = option(None, "Print the K cheapest plans that visit no state twice.", "K")
    json: Path | None = json_option("the plan and statistics")
    node_limit: Count | None = more(None, "Stop after expanding N states.")
    time_limit: Positive | None = more(None, "Stop after S seconds of search.", "S")
    memory_limit: Positive | None = more(
        None, "Stop when the process uses this much memory. Default: half of the machine's.", "MIB"
    )

    def __post_init__(self) -> None:
        if self.top_k is not None and self.search is not None:
            raise ValueError("--top-k uses a search of its own: remove --search")


def command(options: PlanOptions) -> int:
    """Print a plan, or the K cheapest plans, one action per line; then print statistics."""
    from galley.planning import LimitReached, SearchLimits, ground, search
    from galley.planning.limits import default_memory_mib

    check_output(options.json, ".json", option="--json")
    began = time.perf_counter()
    domain, problem = options.task.read()
    read = time.perf_counter()
    progress = _Progress("grounding", "combinations of objects")
    limits = SearchLimits(
        nodes=options.node_limit,
        seconds=options.time_limit,
        memory_mib=options.memory_limit or default_memory_mib(),
        progress=progress,
    )
    try:
        with closing(progress):
            task = ground(domain, problem, limits)
    except LimitReached as stopped:
        return _refuse(stopped.failure, options, {"plan": None})
    progress.doing, progress.counted = "searching", "states expanded"
    grounded = time.perf_counter()
    limits = replace(limits, spent=grounded - read)
    figures = {
        "operators": len(task.operators),
        "facts": len(task.facts),
        "read_s": round(read - began, 6),
        "ground_s": round(grounded - read, 6),
    }
    if options.top_k is not None:
        return _top_k(task, options, limits, figures, progress)
    method = options.search or "bfs"
    with closing(progress):
        plan = search(task, method, limits)
    if isinstance(plan, Failure):
        return _refuse(plan, options, {"plan": None})
    data = {"status": "solved", "search": method, **_as_json(plan)}
    data |= {"expanded": plan.expanded, "generated": plan.generated, "search_s": plan.seconds}
    write_json(options.json, data | figures)
    from galley.planning.operators import cost_text

    for action in plan.actions:
        print(action)
    print(
        f"; cost {cost_text(plan.cost)}, {plural(plan.expanded, 'state')} expanded, "
        f"{plan.generated} generated, {1e3 * plan.seconds:.1f} ms "
        f"({plural(len(task.operators), 'operator')} grounded in "
        f"{1e3 * figures['ground_s']:.1f} ms)"
    )
    return 0


def _top_k(
    task: Task,
    options: PlanOptions,
    limits: SearchLimits,
    figures: dict[str, Any],
    progress: _Progress,
) -> int:
    """Print up to ``--top-k`` plans by increasing cost, each as soon as it is found."""
    from galley.planning import plans
    from galley.planning.operators import cost_text

    most, began = options.top_k or 0, time.perf_counter()
    iterator = plans(task, limits)
    found: list[Plan] = []
    for plan in islice(iterator, min(most, sys.maxsize)):
        progress.close()
        found.append(plan)
        cost = cost_text(plan.cost)
        print(f"; plan {len(found)}: cost {cost}, {plural(len(plan.actions), 'action')}")
        for action in plan.actions:
            print(action)
    progress.close()
    spent = time.perf_counter() - began
    stopped = iterator.failure if len(found) < most else None
    if not found and stopped is not None:
        return _refuse(stopped, options, {"plans": []})
    limit = stopped is not None and stopped.kind is FailureKind.BUDGET
    complete = len(found) < most and not limit
    data = {
        "status": "limit" if limit else "solved",
        "plans": [_as_json(plan) for plan in found],
        "complete": complete,
        "failure": stopped.as_json() if stopped is not None and limit else None,
        "search_s": spent,
    }
    write_json(options.json, data | figures)
    tail = "; there are no other plans" if complete else ""
    print(f"; {plural(len(found), 'plan')} in {1e3 * spent:.1f} ms{tail}")
    if limit:
        print(f"limit: {len(found)} of {most} plans found; {stopped}", file=sys.stderr)
        return 1
    return 0


def _refuse(failure: Failure, options: PlanOptions, empty: dict[str, Any]) -> int:
    """Print why there is no plan, write it as JSON, and return exit status 1."""
    status = "limit" if failure.kind is FailureKind.BUDGET else "unsolvable"
    write_json(options.json, {"status": status, **empty, "failure": failure.as_json()})
    print(f"{status}: {failure}", file=sys.stderr)
    return 1


def _as_json(plan: Plan) -> dict[str, Any]:
    return {"plan": [str(action) for action in plan.actions], "cost": plan.cost}


class _Progress:
    """A progress line on stderr during long work, on terminals only."""

    def __init__(self, doing: str, counted: str) -> None:
        self.doing, self.counted = doing, counted
        self._began = time.perf_counter()
        self._shown = False

    def __call__(self, count: int) -> None:
        spent = time.perf_counter() - self._began
        if spent < _SILENT_S or not sys.stderr.isatty():
            return
        self._shown = True
        text = f"{self.doing}: {count:,} {self.counted}, {spent:.0f} s (Ctrl-C to stop)"
        print(f"\r{text}\x1b[K", end="", file=sys.stderr, flush=True)

    def close(self) -> None:
        """Erase the progress line, if it was printed."""
        if self._shown:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
            self._shown = False
