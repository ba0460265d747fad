"""Runs one planner on one task in this process and prints time and memory as a line of JSON.

    python bench/planning/peers.py where
    python bench/planning/peers.py pyperplan-bfs DOMAIN PROBLEM [--seconds 20]

A fresh process for every run separates the peaks of memory and allows another environment than
Galley's. The planner first solves a small task untimed, so imports and first calls don't count.
Only ``galley-*`` imports Galley.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import json
import logging
import resource
import signal
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any

_SWITCHES = [f"o{i}" for i in range(6)]
WARM_UP = (
    "(define (domain tiny) (:predicates (a ?x) (b ?x)) (:action act :parameters (?x)"
    " :precondition (a ?x) :effect (and (b ?x) (not (a ?x)))))",
    f"(define (problem p) (:domain tiny) (:objects {' '.join(_SWITCHES)})"
    f" (:init {' '.join(f'(a {o})' for o in _SWITCHES)})"
    f" (:goal (and {' '.join(f'(b {o})' for o in _SWITCHES)})))",
)

Result = dict[str, Any]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("planner", choices=["where", *RUNNERS])
    parser.add_argument("domain", type=Path, nargs="?")
    parser.add_argument("problem", type=Path, nargs="?")
    parser.add_argument("--seconds", type=float, default=20.0, help="wall time of the search")
    parser.add_argument("--plans", type=int, default=20, help="for top-k")
    arguments = parser.parse_args()
    if arguments.planner == "where":
        print(json.dumps(installed()))
        return 0
    run = RUNNERS[arguments.planner]
    signal.signal(signal.SIGALRM, _out_of_time)
    try:
        with tempfile.TemporaryDirectory() as name:
            paths = Path(name, "domain.pddl"), Path(name, "problem.pddl")
            for path, text in zip(paths, WARM_UP, strict=True):
                path.write_text(text)
            run(*paths, arguments)
        result = run(arguments.domain, arguments.problem, arguments)
    except ImportError as error:
        # Ours is installed: where it can't be imported it is broken.
        ours = arguments.planner.startswith("galley")
        result = {"status": "error" if ours else "not installed", "why": str(error)}
    except TimeoutError:
        result = {"status": "time"}
    except MemoryError:
        result = {"status": "memory"}
    except Exception as error:  # a peer that can't read a task is a result too
        result = {"status": "error", "why": f"{type(error).__name__}: {error}"[:300]}
    result["rss_mib"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps(result))
    return 0


def _out_of_time(*_: object) -> None:
    raise TimeoutError


def _timed(seconds: float, call: Callable[[], Any]) -> tuple[Any, float]:
    """What ``call`` returns and how long it took; TimeoutError after ``seconds``."""
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        start = perf_counter()
        found = call()
        return found, perf_counter() - start
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def installed() -> Result:
    """Which peers this interpreter has, with versions, and Fast Downward's driver."""
    from importlib.metadata import PackageNotFoundError, version

    found: Result = {}
    for name in ("pyperplan", "up-fast-downward"):
        with contextlib.suppress(PackageNotFoundError):
            found[name] = version(name)
    spec = importlib.util.find_spec("up_fast_downward")
    for place in (spec.submodule_search_locations or ()) if spec else ():
        driver = Path(place) / "downward" / "fast-downward.py"
        if driver.is_file():
            found["driver"] = str(driver)
    return found


def galley(method: str, domain: Path, problem: Path, options: argparse.Namespace) -> Result:
    """Ours, with all that comes after grounding."""
    from galley.bench.planning import ours

    start = perf_counter()
    task = ours.grounded(domain, problem)
    grounding = perf_counter() - start
    start = perf_counter()
    found = ours.solve(task, method, options.seconds)
    return {**found, "search_s": perf_counter() - start, "grounding_s": grounding}


def galley_top_k(domain: Path, problem: Path, options: argparse.Namespace) -> Result:
    """Our cheapest plans, one after the other; the time is that of everything after grounding."""
    from galley.bench.planning import ours

    start = perf_counter()
    task = ours.grounded(domain, problem)
    grounding = perf_counter() - start
    costs, seconds = _timed(options.seconds, lambda: ours.best(task, options.plans))
    return {
        "status": "solved",
        "search_s": seconds,
        "grounding_s": grounding,
        "costs": costs,
    }


def pyperplan(method: str, domain: Path, problem: Path, options: argparse.Namespace) -> Result:
    """Pyperplan's search on its own grounded task, its log silent but for the last count."""
    from pyperplan.planner import HEURISTICS, SEARCHES, _ground, _parse

    start = perf_counter()
    task = _ground(_parse(str(domain), str(problem)))
    grounding = perf_counter() - start
    count = _LastCount()
    log = logging.getLogger()
    log.setLevel(logging.INFO)
    log.handlers = [count]
    search = SEARCHES[method]

    def run() -> Any:
        # Its heuristic is made from the task, like our tables: that is part of the search.
        return search(task) if method == "bfs" else search(task, HEURISTICS["hff"](task))

    found, seconds = _timed(options.seconds, run)
    return {
        "status": "unsolvable" if found is None else "solved",
        "length": None if found is None else len(found),
        "cost": None if found is None else len(found),
        "expanded": count.value,
        "search_s": seconds,
        "grounding_s": grounding,
    }


class _LastCount(logging.Handler):
    """Takes the number of expanded nodes from what pyperplan logs at the end."""

    value: int | None = None

    def emit(self, record: logging.LogRecord) -> None:
        text = record.getMessage()
        if text.endswith("Nodes expanded"):
            self.value = int(text.split()[0])


RUNNERS: dict[str, Callable[[Path, Path, argparse.Namespace], Result]] = {
    "galley-bfs": lambda d, p, o: galley("bfs", d, p, o),
    "galley-astar": lambda d, p, o: galley("astar", d, p, o),
    "galley-gbfs": lambda d, p, o: galley("gbfs", d, p, o),
    "galley-topk": galley_top_k,
    "pyperplan-bfs": lambda d, p, o: pyperplan("bfs", d, p, o),
    "pyperplan-gbf": lambda d, p, o: pyperplan("gbf", d, p, o),
}


if __name__ == "__main__":
    sys.exit(main())
