"""The five methods, each on the same query from the same seed.

``rrt`` is the seed's; ``shortcut`` shortens its path; ``shortest``, the seed's QP, ``smooth`` and
``time-optimal`` start from one of them. The polygons of the first three are timed by
``rest_to_rest``: they stop at every corner.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from galley.comparison.query import Query, arm_view
from galley.domain.failure import Failure, FailureKind
from galley.domain.frames import Array
from galley.motion.compiled_search import SearchOptions, plan_rrt, prove, shorten
from galley.motion.path import Path
from galley.motion.planning import ask, search
from galley.motion.timing import rest_to_rest
from galley.motion.trajectory import Trajectory
from galley.worlds.checker import MARGIN
from galley.worlds.scene_kernel import SceneKernel
from galley.worlds.view import View

METHODS = ("rrt", "shortcut", "shortest", "smooth", "time-optimal")
TITLES = {
    "rrt": "RRT",
    "shortcut": "RRT + shortcut",
    "shortest": "shortest (QP)",
    "smooth": "smooth",
    "time-optimal": "time-optimal",
}
DEFAULT = "smooth"
_REQUIRED = 0.5 * MARGIN  # m, proven along every planned path
_ROUNDS = 4  # searches, each after one whose path could not be proven
_STREAM = 2  # of a seed's random numbers
_T = TypeVar("_T")


Made = tuple[Trajectory | Failure, Array | None, str, str]
"""A trajectory or why there is none, its waypoints, who made it, and a note."""


@dataclass(frozen=True)
class Effort:
    """Budgets, in iterations.

    Attributes:
        radius: longest edge of the RRT's tree, rad. iterations: of one RRT.
        shortcuts: tries of shortcutting.
        scale: share of the velocity, acceleration and jerk limits that all methods may use.
    """

    radius: float = 0.3
    iterations: int = 20000
    shortcuts: int = 100
    scale: float = 1.0


@dataclass(frozen=True)
class Attempt:
    """What one method made of a query.

    Attributes:
        method: which of METHODS.
        trajectory: None if there is none.
        waypoints: (n, 7) rad, of the polygon where it is one, else None.
        by: the method that really made it, where one stands in for another.
        note: what a reader should know. reason: why there is no trajectory.
        seconds: it took, what it started from not counted.
    """

    method: str
    trajectory: Trajectory | None = None
    waypoints: Array | None = None
    by: str = ""
    note: str = ""
    reason: str = ""
    seconds: float = 0.0


def solve(
    kernel: SceneKernel,
    query: Query,
    seed: int = 0,
    effort: Effort = Effort(),
    progress: Callable[[str], None] = lambda method: None,
) -> tuple[Attempt, ...]:
    """All methods on one query, in the order of METHODS.

    Args:
        progress: called with each method's name as it begins.
    """
    view, group = arm_view(kernel, query.state), kernel.robot.group("arm")
    numbers = np.random.SeedSequence((seed, _STREAM)).generate_state(3)
    start = query.start(kernel.robot)
    options = SearchOptions(
        radius=effort.radius,
        iterations=effort.iterations,
        shortcuts=effort.shortcuts,
        required=_REQUIRED,
    )

    def timed(path: Path | Failure) -> Made:
        if isinstance(path, Failure):
            return path, None, "", ""
        return rest_to_rest(path, group, effort.scale), path.waypoints, "", ""

    progress("rrt")
    raw, spent = _clocked(lambda: _rrt(view, query, start, int(numbers[0]), options))
    attempts = [_attempt("rrt", timed(raw), spent)]
    progress("shortcut")
    note = ""
    if isinstance(raw, Failure):
        attempts.append(Attempt("shortcut", reason="there is no RRT path to shorten"))
        # What comes next can do with any proven path.
        goals, other = query.goals, int(numbers[2])
        path = search(view, start, goals, other, "rrt-connect", SearchOptions(required=_REQUIRED))
        raw, note = path, "from RRT-Connect's path"
    else:
        path, spent = _clocked(lambda: _shortened(view, raw, int(numbers[1]), options))
        attempts.append(_attempt("shortcut", timed(path), spent))
    if isinstance(path, Failure) or isinstance(raw, Failure):
        gone = f"there is no path to start from: {path}"
        attempts += [Attempt(method, reason=gone) for method in METHODS[2:]]
        return tuple(attempts)
    for method in METHODS[2:]:
        progress(method)
        attempts.append(_optimized(method, view, raw, path, kernel, effort, note))
    return tuple(attempts)


def _attempt(method: str, made: Made, seconds: float) -> Attempt:
    trajectory, waypoints, by, note = made
    if isinstance(trajectory, Failure):
        return Attempt(method, reason=str(trajectory), seconds=seconds)
    return Attempt(method, trajectory, waypoints, by or method, note, "", seconds)


def _optimized(
    method: str,
    view: View,
    raw: Path,
    short: Path,
    kernel: SceneKernel,
    effort: Effort,
    note: str,
) -> Attempt:
    """One of the three methods that start from a path: the QP from the raw one, as the seed's."""
    group = kernel.robot.group("arm")

    def shortest_path() -> Made:
        from galley.optimization.shortest import shortest

        found = shortest(raw)
        if isinstance(found, Failure):
            return found, None, "", ""
        return rest_to_rest(found, group, effort.scale), found.waypoints, "", ""

    def smooth_curve() -> Made:
        from galley.optimization.smooth import smooth

        found = smooth(view, short, group, effort.scale)
        if isinstance(found, Failure):
            return found, None, "", ""
        return found.trajectory, None, found.method, found.note

    def fast_timing() -> Made:
        from galley.optimization.time_optimal import time_optimal

        found = time_optimal(view, short, group, effort.scale)
        if isinstance(found, Failure):
            return found, None, "", ""
        return found.trajectory, None, found.method, found.note

    makers = {"shortest": shortest_path, "smooth": smooth_curve, "time-optimal": fast_timing}
    (trajectory, waypoints, by, said), spent = _clocked(makers[method])
    said = "; ".join(part for part in (said, note) if part)
    return _attempt(method, (trajectory, waypoints, by, said), spent)


def _rrt(
    view: View, query: Query, start: Array, seed: int, options: SearchOptions
) -> Path | Failure:
    """The seed's RRT, proven; begun anew, on a finer grid, where its path can't be proven."""
    question = ask(view)
    found: Path | Failure
    unproven = 0
    for turn in range(_ROUNDS):
        asked = question if turn == 0 else question._replace(table=question.finer)
        goals, region = query.goals, query.region
        found = plan_rrt(view.group, asked, start, goals, region, seed + turn, options)
        if isinstance(found, Failure):
            continue
        if prove(found, asked, _REQUIRED).hit is None:
            return found
        unproven += 1
    if unproven == 0:
        assert isinstance(found, Failure)
        return found
    return Failure(
        FailureKind.BUDGET,
        f"RRT found paths, but none proven free, in {_ROUNDS} searches",
        numbers={"rounds": float(_ROUNDS), "required_m": _REQUIRED},
    )


def _shortened(view: View, path: Path, seed: int, options: SearchOptions) -> Path:
    return shorten(path, ask(view), seed, options)


def _clocked(make: Callable[[], _T]) -> tuple[_T, float]:
    began = time.perf_counter()
    found = make()
    return found, time.perf_counter() - began
