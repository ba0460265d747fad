"""Runs planners in turns on the same queries and summarizes the results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from galley.bench.motion.peers.planners import Answer, Planner
from galley.bench.motion.queries import Query
from galley.bench.motion.verdicts import Judge
from galley.bench.report import note, shown, table

SOON = 1.0  # s, the time within which the narrow sets are wanted
_QUICK, _REPEATS = 0.03, 5  # s, and how often a search as short as that is run


@dataclass(frozen=True)
class Run:
    """One planner on one query.

    Attributes:
        seconds: of the search, found or not.
        solved: a path came back.
        valid: and neither engine objects to it; None without a path.
        length: rad, Euclidean; None without a path.
        objection: what was wrong with it.
    """

    planner: str
    query: str
    set: str
    seconds: float
    solved: bool
    valid: bool | None = None
    length: float | None = None
    objection: str = ""


def race(
    planners: Sequence[Planner],
    queries: Sequence[Query],
    judge: Judge,
    limit: float,
    seeds: Sequence[int] = (0,),
) -> list[Run]:
    """Every planner on every query: they take turns, so that what slows one slows all.

    Each has planned once before the clock counts: imports, caches and compilation are not search.
    """
    for planner in planners:
        note(f"{planner.name}: warming up")
        planner.prepare(queries[0])
        planner.plan(queries[0], 0, limit)
    found = []
    for query in queries:
        note(query.name)
        for planner in planners:
            planner.prepare(query)
            for seed in seeds:
                answer = _answer(planner, query, seed, limit)
                run = Run(planner.name, query.name, query.set, answer.seconds, False)
                if answer.path is not None:
                    verdict = judge(query, answer.path)
                    objections = [
                        f"{name}: {hit.a} in {hit.b} by {-1e3 * hit.distance:.1f} mm"
                        for name, hit in (("PyBullet", verdict.bullet), ("Drake", verdict.drake))
                        if hit is not None
                    ]
                    if not verdict.ends:
                        objections.append("wrong ends, or beyond the limits")
                    run = Run(
                        planner.name,
                        query.name,
                        query.set,
                        answer.seconds,
                        True,
                        verdict.valid,
                        verdict.length,
                        "; ".join(objections),
                    )
                found.append(run)
    return found


def _answer(planner: Planner, query: Query, seed: int, limit: float) -> Answer:
    """The planner's answer; one given quickly is asked for again, and the median time counts.

    The seed is the same, so the search is as well; what differs is what the caches hold.
    """
    answers = [planner.plan(query, seed, limit)]
    if answers[0].seconds < _QUICK:
        answers += [planner.plan(query, seed, limit) for _ in range(_REPEATS - 1)]
    return Answer(answers[0].path, float(np.median([each.seconds for each in answers])))


@dataclass(frozen=True)
class Summary:
    """A planner on a group of queries.

    Attributes:
        asked, solved, soon, valid: how many runs; how many of them found a path, found one within
            a second, found one that both engines call free.
        median, p95: s over all runs; one that found nothing counts as the limit.
        length: rad, mean over those solved.
    """

    planner: str
    asked: int
    solved: int
    soon: int
    valid: int
    median: float
    p95: float
    length: float | None

    def row(self) -> list[str]:
        """For a table."""
        return [
            self.planner,
            f"{self.solved}/{self.asked}",
            f"{self.soon}/{self.asked}",
            shown(1e3 * self.median),
            shown(1e3 * self.p95),
            shown(self.length),
            f"{self.valid}/{self.solved}",
        ]


def summed_up(runs: Sequence[Run], planner: str, sets: Sequence[str], limit: float) -> Summary:
    """One planner's runs in some of the sets."""
    mine = [run for run in runs if run.planner == planner and run.set in sets]
    times = [run.seconds if run.solved else max(limit, run.seconds) for run in mine]
    lengths = [run.length for run in mine if run.length is not None]
    return Summary(
        planner,
        len(mine),
        sum(run.solved for run in mine),
        sum(run.solved and run.seconds <= SOON for run in mine),
        sum(run.valid is True for run in mine),
        float(np.median(times)) if times else float("nan"),
        float(np.percentile(times, 95)) if times else float("nan"),
        float(np.mean(lengths)) if lengths else None,
    )


def show(runs: Sequence[Run], sets: Sequence[str], limit: float) -> dict[str, Summary]:
    """Prints the table of some of the sets and returns its rows by planner."""
    names = list(dict.fromkeys(run.planner for run in runs))
    found = {name: summed_up(runs, name, sets, limit) for name in names}
    headers = [", ".join(sets), "solved", "within 1 s", "median ms", "p95 ms", "length", "valid"]
    table(headers, [summary.row() for summary in found.values()])
    return found


def objections(runs: Sequence[Run]) -> list[list[Any]]:
    """Every path that an engine objects to: planner, query, what it says."""
    return [[run.planner, run.query, run.objection] for run in runs if run.objection]
