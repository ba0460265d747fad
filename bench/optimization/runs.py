"""Runs methods in turns on the same queries, checks their trajectories, summarizes the results."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from galley.bench.optimization.peers import Answer, Method, ruckig_minimum
from galley.bench.optimization.queries import Case
from galley.bench.optimization.verdicts import TOLERANCE, TrajectoryJudge, Verdict
from galley.bench.report import note
from galley.robots.model import RobotModel

_REPEATS = 3  # how often a method of ours is timed; the median counts
_LIMIT = 1.0 + TOLERANCE


@dataclass(frozen=True)
class Run:
    """One method on one query.

    Attributes:
        query, set, held: of the case.
        seconds: of solving, whether or not a trajectory came back.
        method: which method made it. note: why none did, or why it was another.
        verdict: on the trajectory; None without one.
        bound: s, ruckig's least time from start to goal; None without ruckig.
        path_length: of the shortcut path, in joint space.
    """

    name: str
    query: str
    set: str
    held: bool
    seconds: float
    method: str
    note: str
    verdict: Verdict | None
    bound: float | None
    path_length: float

    @property
    def duration_ratio(self) -> float | None:
        """Duration over ruckig's least time."""
        if self.verdict is None or self.bound is None:
            return None
        return self.verdict.duration / self.bound

    @property
    def length_ratio(self) -> float | None:
        """Length over the shortcut path's."""
        return None if self.verdict is None else self.verdict.length / self.path_length

    def raw(self) -> dict[str, Any]:
        """For a JSON file."""
        found = {key: getattr(self, key) for key in self.__dataclass_fields__ if key != "verdict"}
        found |= {"duration_ratio": self.duration_ratio, "length_ratio": self.length_ratio}
        verdict = self.verdict
        if verdict is not None:
            keys = ("free", "within", "ends", "rest", "position", "velocity", "acceleration")
            keys += ("jerk", "length", "duration", "clearance")
            found |= {key: getattr(verdict, key) for key in keys}
            found["objections"] = list(verdict.objections())
        return found


def race(
    methods: Sequence[Method], cases: Sequence[Case], judge: TrajectoryJudge, robot: RobotModel
) -> list[Run]:
    """Every method on every query: they take turns, so that what slows one slows all.

    Each has solved two queries before the clock counts: imports and compilation are not solving.
    """
    for method in methods:
        note(f"{method.name}: warming up")
        for case in (cases[0], cases[-1]):
            method.prepare(case)
            method.solve(case)
    found = []
    for number, case in enumerate(cases, 1):
        note(f"{number} of {len(cases)}: {case.name}")
        bound = ruckig_minimum(case.path, robot.group(case.group))
        for method in methods:
            method.prepare(case)
            answers = [method.solve(case) for _ in range(_REPEATS if method.ours else 1)]
            found.append(_judged(method, case, answers, judge, bound))
    return found


def _judged(
    method: Method,
    case: Case,
    answers: list[Answer],
    judge: TrajectoryJudge,
    bound: float | None,
) -> Run:
    answer = answers[0]
    return Run(
        method.name,
        case.name,
        case.set,
        case.held,
        float(np.median([each.seconds for each in answers])),
        answer.method,
        answer.note,
        None if answer.trajectory is None else judge(case, answer.trajectory),
        bound,
        case.path.length,
    )


@dataclass(frozen=True)
class Gate:
    """How many of a method's answers are sound.

    Attributes:
        asked, returned: queries; trajectories.
        itself: made by the method itself, not by the one it hands over to.
        free: nobody sees a collision. paced: within the velocity and acceleration limits.
        within: all limits, jerk too, and at rest at the ends. passed: free and within.
        held, held_passed: queries with an item in the hand; passed of those.
    """

    asked: int
    returned: int
    itself: int
    free: int
    paced: int
    within: int
    passed: int
    held: int
    held_passed: int

    @classmethod
    def of(cls, runs: Sequence[Run]) -> Gate:
        """Counts one method's runs."""
        judged = [(run, run.verdict) for run in runs if run.verdict is not None]
        return cls(
            len(runs),
            len(judged),
            sum(run.method == run.name for run, _ in judged),
            sum(v.free for _, v in judged),
            sum(max(v.velocity, v.acceleration) <= _LIMIT for _, v in judged),
            sum(v.within for _, v in judged),
            sum(v.passed for _, v in judged),
            sum(run.held for run in runs),
            sum(v.passed for run, v in judged if run.held),
        )


def by_name(runs: Iterable[Run]) -> dict[str, list[Run]]:
    """Runs of each method, in the order in which they first come."""
    found: dict[str, list[Run]] = {}
    for run in runs:
        found.setdefault(run.name, []).append(run)
    return found


def numbers(values: Iterable[float | None]) -> list[float]:
    """Those that are there."""
    return [value for value in values if value is not None]


def median(values: Sequence[float]) -> float | None:
    """None of no values."""
    return float(np.median(values)) if values else None


def worst(values: Sequence[float]) -> float | None:
    """The largest; None of no values."""
    return max(values, default=None)


def percentile(values: Sequence[float], share: float) -> float | None:
    """None of no values."""
    return float(np.percentile(values, share)) if values else None
