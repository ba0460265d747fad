"""``galley plan``: no geometry, and nothing imported that a small task can do without."""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from galley.cli.arguments import count, plural, positive
from galley.domain.failure import Failure, FailureKind

if TYPE_CHECKING:
    from galley.planning import Plan, SearchLimits, Task

_SILENT_S = 2.0  # a search says how far it is once it takes longer
_SHARE_OF_MEMORY = 0.8  # of what the machine has free, unless a limit is given

# Those of galley.planning.search, which is not imported before it is needed.
_SEARCHES = ("bfs", "astar", "gbfs")
_GONE = {"fd-optimal": "astar (least cost)", "fd-lama": "gbfs (some plan, quickly)"}

EPILOG = (
    "searches:\n"
    "  bfs         breadth-first: fewest actions (default)\n"
    "  astar       A*: least cost\n"
    "  gbfs        greedy best-first with the FF heuristic: some plan, for large tasks\n\n"
    "Read are STRIPS, types, constants, equality, negation, disjunction, quantifiers,\n"
    "conditional and universal effects, and action costs."
)


def add_arguments(p: argparse.ArgumentParser) -> None:
    """The options of ``galley plan``."""
    p.add_argument("domain", type=Path, help="PDDL domain")
    p.add_argument("problem", type=Path, help="PDDL problem")
    p.add_argument(
        "--search", type=_search, choices=_SEARCHES, help="how to search; see below (default bfs)"
    )
    p.add_argument(
        "--top-k",
        type=count,
        metavar="K",
        help="print the K cheapest plans instead, none of which visits a state twice",
    )
    p.add_argument("--json", action="store_true", help="print plan and figures as JSON")
    p.add_argument("--node-limit", type=count, metavar="N", help="give up after expanding N states")
    p.add_argument(
        "--time-limit", type=positive, metavar="S", help="give up after S seconds of search"
    )
    p.add_argument(
        "--memory-limit",
        type=positive,
        metavar="MIB",
        help="give up when the process holds so much (default: 80%% of what is free)",
    )


def _search(name: str) -> str:
    """The name of a search; for one that was there once, what to use instead."""
    if name in _GONE:
        print(
            f"galley plan: there is no --search {name} any more: Fast Downward is a peer of the "
            f"benchmarks now; use {_GONE[name]}",
            file=sys.stderr,
        )
        raise SystemExit(2)
    return name


def command(arguments: argparse.Namespace) -> int:
    """Print a plan, or the k best, an action a line, then the figures."""
    if arguments.top_k is not None and arguments.search is not None:
        print("galley plan: --top-k has a search of its own; leave out --search", file=sys.stderr)
        return 2
    from galley.domain.pddl.reader import read_task
    from galley.planning import (
        LimitReached,
        SearchLimits,
        ground,
        search,
    )

    began = time.perf_counter()
    domain, problem = read_task(arguments.domain, arguments.problem)
    read = time.perf_counter()
    progress = _Progress()
    limits = SearchLimits(
        nodes=arguments.node_limit,
        seconds=arguments.time_limit,
        memory_mib=arguments.memory_limit or _memory_mib(),
        progress=progress,
    )
    try:
        task = ground(domain, problem, limits)
    except LimitReached as stopped:
        return _refuse(stopped.failure, arguments, {"plan": None})
    grounded = time.perf_counter()
    limits = replace(limits, spent=grounded - read)
    figures = {
        "operators": len(task.operators),
        "facts": len(task.facts),
        "read_s": round(read - began, 6),
        "ground_s": round(grounded - read, 6),
    }
    if arguments.top_k is not None:
        return _top_k(task, arguments, limits, figures, progress)
    method = arguments.search or "bfs"
    try:
        found = search(task, method, limits)
    finally:
        progress.end()
    if isinstance(found, Failure):
        return _refuse(found, arguments, {"plan": None})
    if arguments.json:
        data = {"status": "solved", "search": method, **_as_json(found)}
        data |= {
            "expanded": found.expanded,
            "generated": found.generated,
            "search_s": found.seconds,
        }
        _print_json(data | figures)
        return 0
    for action in found.actions:
        print(action)
    print(
        f"; cost {found.cost:g}, {plural(found.expanded, 'state')} expanded, "
        f"{found.generated} generated, {1e3 * found.seconds:.1f} ms "
        f"({plural(len(task.operators), 'operator')} grounded in "
        f"{1e3 * figures['ground_s']:.1f} ms)"
    )
    return 0


def _top_k(
    task: Task,
    arguments: argparse.Namespace,
    limits: SearchLimits,
    figures: dict[str, Any],
    progress: _Progress,
) -> int:
    """Print up to ``--top-k`` plans in order of cost, each as soon as it is found."""
    from galley.planning import plans

    began = time.perf_counter()
    iterator = plans(task, limits)
    found: list[Plan] = []
    for plan in islice(iterator, min(arguments.top_k, sys.maxsize)):
        progress.end()
        found.append(plan)
        if not arguments.json:
            print(f"; plan {len(found)}: cost {plan.cost:g}, {plural(len(plan.actions), 'action')}")
            for action in plan.actions:
                print(action)
    progress.end()
    spent = time.perf_counter() - began
    stopped = iterator.failure if len(found) < arguments.top_k else None
    if not found and stopped is not None:
        return _refuse(stopped, arguments, {"plans": []})
    limit = stopped is not None and stopped.kind is FailureKind.BUDGET
    all_there_are = len(found) < arguments.top_k and not limit
    if arguments.json:
        data = {
            "status": "limit" if limit else "solved",
            "plans": [_as_json(plan) for plan in found],
            "complete": all_there_are,
            "failure": stopped.as_json() if stopped is not None and limit else None,
            "search_s": spent,
        }
        _print_json(data | figures)
    else:
        tail = "; there are no more" if all_there_are else ""
        print(f"; {plural(len(found), 'plan')} in {1e3 * spent:.1f} ms{tail}")
    if limit:
        print(f"limit: {len(found)} of {arguments.top_k} plans; {stopped}", file=sys.stderr)
        return 1
    return 0


def _refuse(failure: Failure, arguments: argparse.Namespace, empty: dict[str, Any]) -> int:
    status = "limit" if failure.kind is FailureKind.BUDGET else "unsolvable"
    if arguments.json:
        _print_json({"status": status, **empty, "failure": failure.as_json()})
    print(f"{status}: {failure}", file=sys.stderr)
    return 1


def _print_json(data: dict[str, Any]) -> None:
    import json

    print(json.dumps(data, indent=1))


def _as_json(plan: Plan) -> dict[str, Any]:
    return {"plan": [str(action) for action in plan.actions], "cost": plan.cost}


def _memory_mib() -> float | None:
    """Most of the memory that is free now, so that a search ends before the system ends it."""
    from galley.planning.limits import available_mib, resident_mib

    free = available_mib()
    return None if free is None else resident_mib() + _SHARE_OF_MEMORY * free


class _Progress:
    """One line on stderr about a search that takes its time; on a terminal only."""

    def __init__(self) -> None:
        self._began = time.perf_counter()
        self._shown = False

    def __call__(self, expanded: int) -> None:
        spent = time.perf_counter() - self._began
        if spent < _SILENT_S or not sys.stderr.isatty():
            return
        self._shown = True
        text = f"searching: {expanded:,} states expanded, {spent:.0f} s (Ctrl-C to stop)"
        print(f"\r{text}\x1b[K", end="", file=sys.stderr, flush=True)

    def end(self) -> None:
        """Take the line away again."""
        if self._shown:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
            self._shown = False
