"""The six methods, each on the same query from the same seed.

``rrt`` is the seed's, compiled, and ``rrt-pybullet`` the same in Python on PyBullet's collision
checks; ``shortcut`` shortens the first's path; ``shortest``, the seed's QP, ``smooth`` and
``time-optimal`` start from one of these two. The polygons of all but the last two are timed by
``rest_to_rest``: they stop at every corner. All may use the whole of the robot's limits.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from galley.comparison.queries import ArmQuery, arm_view
from galley.domain.failure import Failure, FailureKind
from galley.domain.frames import Array
from galley.motion.path import Path
from galley.motion.planners.compiled_search import SearchOptions, plan_rrt, shorten
from galley.motion.planners.planning import search
from galley.motion.planners.rrt import RRT, joint_space
from galley.motion.trajectory.timing import rest_to_rest
from galley.motion.trajectory.trajectory import Trajectory
from galley.robots.model import JointGroup
from galley.worlds.checker import MARGIN, held_pairs
from galley.worlds.engines.pybullet_world import PyBulletWorld
from galley.worlds.scene_kernel import SceneKernel
from galley.worlds.view import View

if TYPE_CHECKING:  # pydrake loads late
    from galley.optimization.time_optimal import Optimized

METHODS = ("rrt", "rrt-pybullet", "shortcut", "shortest", "smooth", "time-optimal")
TITLES = {
    "rrt": "RRT",
    "rrt-pybullet": "RRT in PyBullet",
    "shortcut": "RRT + shortcut",
    "shortest": "shortest (QP)",
    "smooth": "smooth",
    "time-optimal": "time-optimal",
}
DEFAULT = "smooth"
ITERATIONS, IN_PYBULLET = 20_000, 4000  # of one RRT, and of the one in PyBullet
_RADIUS = 0.3  # rad, longest edge of an RRT
_REQUIRED = 0.5 * MARGIN  # m, proven along every planned path
_ROUNDS = 4  # searches, each after one whose path could not be proven
_STREAM = 2  # of a seed's random numbers
_T = TypeVar("_T")


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
    world: PyBulletWorld,
    query: ArmQuery,
    seed: int = 0,
    iterations: int = ITERATIONS,
    in_pybullet: int = IN_PYBULLET,
) -> tuple[Attempt, ...]:
    """All methods on one query, in the order of METHODS.

    Args:
        world: any PyBullet world of the same scene; left in another state.
        iterations: budget of one compiled RRT. in_pybullet: of the RRT in PyBullet.
    """
    view, group = arm_view(kernel, query.state), kernel.robot.group("arm")
    numbers = np.random.SeedSequence((seed, _STREAM)).generate_state(4)
    start = query.start(kernel.robot)
    options = SearchOptions(radius=_RADIUS, iterations=iterations, required=_REQUIRED)

    raw, spent = _clocked(lambda: _rrt(view, query, start, int(numbers[0]), options))
    attempts = [_timed("rrt", raw, group, spent)]
    rng = np.random.default_rng(numbers[3])
    found, spent = _clocked(lambda: _rrt_in_pybullet(world, query, start, rng, in_pybullet))
    attempts.append(_timed("rrt-pybullet", found, group, spent))
    note = ""
    if isinstance(raw, Failure):
        attempts.append(Attempt("shortcut", reason="there is no RRT path to shorten"))
        # What comes next can do with any proven path.
        goals, other = query.goals, int(numbers[2])
        path = search(view, start, goals, other, "rrt-connect", SearchOptions(required=_REQUIRED))
        raw, note = path, "from RRT-Connect's path"
    else:
        path, spent = _clocked(lambda: shorten(raw, view, int(numbers[1]), options))
        attempts.append(_timed("shortcut", path, group, spent))
    makers = (_shortest, _smooth, _time_optimal)
    for method, make in zip(METHODS[-len(makers) :], makers, strict=True):
        if isinstance(path, Failure) or isinstance(raw, Failure):
            attempts.append(Attempt(method, reason=f"there is no path to start from: {path}"))
            continue
        made, spent = _clocked(partial(make, view, raw, path, group))
        said = "; ".join(part for part in (made.note, note) if part) if made.by else ""
        attempts.append(replace(made, note=said, seconds=spent))
    return tuple(attempts)


def _timed(method: str, path: Path | Failure, group: JointGroup, seconds: float = 0.0) -> Attempt:
    """A polygon, with a stop at every corner."""
    if isinstance(path, Failure):
        return Attempt(method, reason=str(path), seconds=seconds)
    trajectory = rest_to_rest(path, group)
    return Attempt(method, trajectory, path.waypoints, method, seconds=seconds)


def _shortest(view: View, raw: Path, short: Path, group: JointGroup) -> Attempt:
    """The seed's quadratic program, from the raw path as in the seed."""
    from galley.optimization.shortest import shortest

    return _timed("shortest", shortest(raw), group)


def _smooth(view: View, raw: Path, short: Path, group: JointGroup) -> Attempt:
    from galley.optimization.smooth import smooth

    return _optimized("smooth", smooth(view, short, group))


def _time_optimal(view: View, raw: Path, short: Path, group: JointGroup) -> Attempt:
    from galley.optimization.time_optimal import time_optimal

    return _optimized("time-optimal", time_optimal(view, short, group))


def _optimized(method: str, found: Optimized | Failure) -> Attempt:
    if isinstance(found, Failure):
        return Attempt(method, reason=str(found))
    return Attempt(method, found.trajectory, None, found.method, found.note)


def _rrt(
    view: View, query: ArmQuery, start: Array, seed: int, options: SearchOptions
) -> Path | Failure:
    """The seed's RRT, proven; begun anew, on a finer grid, where its path can't be proven."""
    found: Path | Failure
    unproven = 0
    for turn in range(_ROUNDS):
        asked = view if turn == 0 else view.fine
        goals, region = query.goals, query.region
        found = plan_rrt(asked, start, goals, region, seed + turn, options)
        if isinstance(found, Failure):
            continue
        if asked.unproven(found.waypoints, _REQUIRED) is None:
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


def _rrt_in_pybullet(
    world: PyBulletWorld, query: ArmQuery, start: Array, rng: np.random.Generator, iterations: int
) -> Path | Failure:
    """The seed's RRT in Python, on PyBullet's collision checks at sampled states alone."""
    checker = world.checker(query.state, held_pairs(world.scene, world.robot, query.state))
    where, q = world.robot.slice("arm"), query.state.q.copy()

    def free(arm: Array) -> bool:
        q[where] = arm
        return checker.free(q)

    rrt, space = RRT(_RADIUS, iterations=iterations), joint_space(world.robot, "arm")
    return rrt.plan(space, free, start, query.region, query.goals, rng)


def _clocked(make: Callable[[], _T]) -> tuple[_T, float]:
    began = time.perf_counter()
    found = make()
    return found, time.perf_counter() - began
