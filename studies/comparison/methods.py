"""The six methods of a comparison, run on the same query with the same random seed.

``rrt`` is the baseline RRT on the compiled checks, and ``rrt-pybullet`` the same on PyBullet's.
``shortcut`` shortens the path of ``rrt``. ``shortest`` is the baseline QP, from the RRT's path;
``smooth`` and ``time-optimal`` start from the shortened one. All but these two are polygons timed
by ``rest_to_rest``: they stop at every corner. All may use the robot's full limits.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

import numpy as np

from galley.collision.backends.pybullet_world import PyBulletWorld
from galley.collision.checker import MARGIN, held_pairs
from galley.collision.scene_kernel import SceneKernel
from galley.collision.view import View
from galley.domain.failure import Failure
from galley.domain.frames import Array
from galley.motion.path import Path
from galley.motion.planners.compiled_search import SearchOptions, shorten
from galley.motion.planners.planning import search
from galley.motion.planners.rrt import RRT, joint_space
from galley.motion.trajectory.timing import rest_to_rest
from galley.motion.trajectory.trajectory import Trajectory
from galley.robots.model import JointGroup
from galley.studies.comparison.queries import ArmQuery, arm_view

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
FILES = {"rrt": "rrt", "shortest": "qp", DEFAULT: "opt"}
"""The methods whose trajectories are kept and filmed, and their names in files."""
ITERATIONS, PYBULLET_ITERATIONS = 20_000, 4000  # budgets of the two RRTs
_RADIUS = 0.3  # rad, longest edge of the RRTs
_REQUIRED = 0.5 * MARGIN  # m, clearance proven along every planned path
_STREAM = 2  # random stream of the methods; the queries use other streams
_T = TypeVar("_T")


@dataclass(frozen=True)
class Attempt:
    """The result of one method on a query.

    Attributes:
        method: one of METHODS.
        trajectory: None if the method failed.
        waypoints: the corners (n, k), rad or m, if the path is a polygon, else None.
        by: the method that made the trajectory; differs from ``method`` after a fallback.
        note: a remark for the reader.
        reason: why there is no trajectory; empty if there is one.
        seconds: solve time, without the time for the path that the method started from.
    """

    method: str
    trajectory: Trajectory | None = None
    waypoints: Array | None = None
    by: str = ""
    note: str = ""
    reason: str = ""
    seconds: float = 0.0


def run_methods(
    kernel: SceneKernel,
    world: PyBulletWorld,
    query: ArmQuery,
    seed: int = 0,
    iterations: int = ITERATIONS,
    in_pybullet: int = PYBULLET_ITERATIONS,
) -> tuple[Attempt, ...]:
    """Run all methods on one query, in the order of METHODS.

    Args:
        world: any PyBullet world of the same scene; its state is changed.
        iterations: the budget of the RRT that uses the compiled kernel.
        in_pybullet: the budget, also in iterations, of the RRT in PyBullet.
    """
    view, group = arm_view(kernel, query.state), kernel.robot.group("arm")
    numbers = np.random.SeedSequence((seed, _STREAM)).generate_state(4)
    start = query.start(kernel.robot)
    options = SearchOptions(radius=_RADIUS, iterations=iterations, required=_REQUIRED)

    raw, seconds = _timed_call(
        lambda: search(
            view,
            start,
            query.goals,
            int(numbers[0]),
            "rrt",
            replace(options, shortcuts=0),
            query.region,
        )
    )
    attempts = [_polygon_attempt("rrt", raw, group, seconds)]
    rng = np.random.default_rng(numbers[3])
    path, seconds = _timed_call(lambda: _rrt_in_pybullet(world, query, start, rng, in_pybullet))
    attempts.append(_polygon_attempt("rrt-pybullet", path, group, seconds))
    note = ""
    if isinstance(raw, Failure):
        attempts.append(Attempt("shortcut", reason="there is no RRT path to shorten"))
        # The optimizers can start from any proven path.
        goals, other = query.goals, int(numbers[2])
        path = search(view, start, goals, other, "rrt-connect", SearchOptions(required=_REQUIRED))
        raw, note = path, "from RRT-Connect's path"
    else:
        path, seconds = _timed_call(lambda: shorten(raw, view, int(numbers[1]), options))
        attempts.append(_polygon_attempt("shortcut", path, group, seconds))
    for method in METHODS[3:]:
        if isinstance(path, Failure) or isinstance(raw, Failure):
            attempts.append(Attempt(method, reason=f"there is no path to start from: {path}"))
            continue
        made, seconds = _timed_call(partial(_optimize, method, view, raw, path, group))
        notes = "; ".join(part for part in (made.note, note) if part) if made.by else ""
        attempts.append(replace(made, note=notes, seconds=seconds))
    return tuple(attempts)


def _polygon_attempt(
    method: str, path: Path | Failure, group: JointGroup, seconds: float = 0.0
) -> Attempt:
    """An attempt along a polygon, with a stop at every corner."""
    if isinstance(path, Failure):
        return Attempt(method, reason=str(path), seconds=seconds)
    trajectory = rest_to_rest(path, group)
    return Attempt(method, trajectory, path.waypoints, method, seconds=seconds)


def _optimize(method: str, view: View, raw: Path, short: Path, group: JointGroup) -> Attempt:
    """Optimize the shortened path; the baseline QP starts from the RRT's own, like the original."""
    if method == "shortest":
        from galley.optimization.shortest import shortest

        return _polygon_attempt(method, shortest(raw), group)
    from galley.optimization.smooth import smooth
    from galley.optimization.time_optimal import time_optimal

    result = (smooth if method == "smooth" else time_optimal)(view, short, group)
    if isinstance(result, Failure):
        return Attempt(method, reason=str(result))
    return Attempt(method, result.trajectory, None, result.method, result.note)


def _rrt_in_pybullet(
    world: PyBulletWorld, query: ArmQuery, start: Array, rng: np.random.Generator, iterations: int
) -> Path | Failure:
    """The baseline RRT in Python; PyBullet checks sampled states only, nothing is proven."""
    checker = world.checker(query.state, held_pairs(world.scene, world.robot, query.state))
    joints, q = world.robot.slice("arm"), query.state.q.copy()

    def free(arm: Array) -> bool:
        """Whether PyBullet finds the arm configuration (n,) free of collision."""
        q[joints] = arm
        return checker.free(q)

    rrt, space = RRT(_RADIUS, iterations=iterations), joint_space(world.robot, "arm")
    return rrt.plan(space, free, start, query.region, query.goals, rng)


def _timed_call(make: Callable[[], _T]) -> tuple[_T, float]:
    """Call ``make``; its result, and the seconds that it took."""
    began = time.perf_counter()
    result = make()
    return result, time.perf_counter() - began
