"""plan: finds a path for one joint group in a CollisionWorld, or the reason why there is none.

``plan`` checks the arguments, turns a pose as goal into configurations, and searches (``search``).
A search checks the ends first, so that a failure names the bodies in collision; then it runs
RRT-Connect (``compiled_search``) or the baseline RRT.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from galley.collision.collision_world import CollisionWorld
from galley.collision.kernel.arrays import LIMIT_TOLERANCE
from galley.collision.view import View, configuration, configurations
from galley.compiled.build import PLANNERS as SEARCHES
from galley.compiled.build import ensure
from galley.domain.failure import Failure, FailureKind
from galley.domain.frames import Array, as_numbers, as_pose, inverse
from galley.motion.path import Path
from galley.motion.planners import compiled_search, turns
from galley.motion.planners.compiled_search import SearchOptions
from galley.motion.planners.drives import drivable
from galley.motion.planners.rrt import RRT, EndRegion, view_space
from galley.robots.model import by_name, onto_limits

Planner = Literal["rrt-connect", "rrt"]
PLANNERS: tuple[Planner, ...] = ("rrt-connect", "rrt")
_STREAM = 7919  # added to the seed for each restart
_SEARCHES = 4  # of the baseline RRT, until a path is proven
_FREE_VALUES = 72  # values of the redundant joint tried in closed-form inverse kinematics
_STARTS = 64  # starts of numeric inverse kinematics
_MISSED = 1e-3  # m and entries of R: a robot's ``ik`` that is further off is for another arm


def plan(
    world: CollisionWorld,
    start: ArrayLike | Mapping[str, float],
    goal: ArrayLike | Mapping[str, float],
    seed: int = 0,
    planner: Planner = "rrt-connect",
    group: str = "arm",
    *,
    prove: bool = True,
    options: SearchOptions | None = None,
) -> Path | Failure:
    """A collision-free path of a joint group, proven free between its waypoints too.

    Args:
        world: the robot and its obstacles, the values of the joints that don't move, the margin
            that sampled states keep, and the pairs of bodies that may touch.
        start: configuration (k,) of the group; or values by the joints' names, where joints that
            are not named are as in ``world.q``.
        goal: one of: a configuration (k,), or values by the joints' names; several configurations
            (m, k), of which the path reaches one; the tool's pose X_WT (4, 4) in the world, for
            which inverse kinematics finds configurations of the arm. A joint that turns without end
            (``JointGroup``) may end whole turns away from the goal: the path ends at the nearest
            of these that can be reached. In the start and the goal, values that float32 has rounded
            beyond a limit count as on it.
        seed: the same seed gives the same path, bit for bit.
        planner: ``rrt-connect``; or ``rrt``, the baseline: one tree, in Python.
        group: ``arm``, ``base``, or two groups that move together, ``base+arm``. A differential
            base moves only by itself, and turns and drives one after the other.
        prove: whether the path must be proven to keep half the margin everywhere; if not, it is
            free at sampled states.
        options: budgets of the search and of shortcutting; the defaults if None.

    Returns:
        The path, over ``group``; or a Failure. ``blocked``: the start or every goal is in
        collision; the failure names the pair of bodies and how deep they overlap. ``unreachable``:
        the start or every goal is beyond the joints' limits, or no configuration reaches the pose.
        ``budget``: no path was found within the budget.

    Raises:
        ValueError: shapes that don't fit the group, or an unknown planner.
    """
    if planner not in PLANNERS:
        raise ValueError(f"no planner '{planner}', there are {', '.join(PLANNERS)}")
    if "+" in group and any(world.robot.group(name).differential for name in group.split("+")):
        raise ValueError(f"group '{group}': a differential base moves by itself, plan for 'base'")
    view = world.view(group)
    now = view.arrays.tree.q[view.moving]
    start, goal = (by_name(view.joints, end, now) for end in (start, goal))
    begin, ends = _ends(world, view, start, goal)
    if isinstance(ends, Failure):
        return ends
    required = 0.5 * float(view.arrays.checks.margins[0]) if prove else None
    if options is None:
        options = SearchOptions(required=required)
    elif prove:
        options = replace(options, required=required)
    if not turns.endless(view).any():
        path = search(view, begin, ends, seed, planner, options)
    else:
        # First the nearest whole turns, then the other way round: the search stays small.
        begin, ends = configuration(begin, len(view.moving)), configurations(ends, len(view.moving))
        ends = turns.nearest_turns(view, begin, ends)
        path = search(view, begin, ends, seed, planner, options)
        if isinstance(path, Failure) and path.kind is FailureKind.BUDGET:
            others = turns.opposite_turns(view, begin, ends)
            path = search(view, begin, others, seed, planner, options) if len(others) else path
    if not isinstance(path, Failure) and world.robot.group(group).differential:
        path = _driven(world, view, path, options)
    return path if isinstance(path, Failure) else replace(path, world=world)


def _driven(
    world: CollisionWorld, view: View, path: Path, options: SearchOptions
) -> Path | Failure:
    """The path of a differential base: ``path`` replaced by turns and straight drives."""

    def free(points: Array) -> bool:
        if options.required is None:
            return bool(view.edges_free(points[:-1], points[1:]).all())
        return view.unproven(points, options.required) is None

    way = drivable(path.waypoints, world.robot.group(path.group), free)
    if way is None:
        message = "a path was found, but a differential base has no room to turn along it"
        return Failure(FailureKind.BUDGET, message, numbers={"searches": 1})
    return Path(path.group, way)


def search(
    view: View,
    start: Array,
    goals: Array,
    seed: int,
    planner: str,
    options: SearchOptions,
    region: EndRegion | None = None,
) -> Path | Failure:
    """``plan`` in a collision view, for goal configurations.

    Args:
        view: collision view of the joint group.
        start: configuration (k,).
        goals: configurations (m, k).
        seed: the same seed gives the same path.
        planner: ``rrt-connect`` or ``rrt``.
        options: parameters and budget of the search.
        region: where the baseline ``rrt`` may end besides at the goals.
    """
    tree = view.arrays.tree
    q = onto_limits(configuration(start, len(view.moving)), tree.low, tree.high)
    ends = onto_limits(configurations(goals, len(view.moving)), tree.low, tree.high)
    spheres_only, states = view.spheres_only, np.vstack([q, ends])
    beyond = np.maximum(tree.low - states, states - tree.high).max(axis=1) > LIMIT_TOLERANCE
    # A search with the spheres alone is faster. If they block an end or every path, search with
    # the hulls.
    easy = spheres_only.free_many(states) & ~beyond
    free = easy if easy.all() else easy | (view.free_many(states) & ~beyond)
    if not free[0] or not free[1:].any():
        return _refused(view, q, ends)
    ensure(SEARCHES)
    view = turns.narrowed(view, states[free])
    spheres_only = view.spheres_only
    run = partial(_rrt, region) if planner == "rrt" else compiled_search.plan_rrt_connect
    if easy[0] and easy[1:].any():
        path = run(spheres_only, q, ends[easy[1:]], seed, options)
        if not isinstance(path, Failure):
            return path
    return run(view, q, ends[free[1:]], seed, options)


def _refused(view: View, start: Array, goals: Array) -> Failure:
    """The reason not to begin a search from start (k,) to goals (m, k).

    It is that of the start, or else of the best goal: the one in collision that is least deep, or
    one out of limits if all are.
    """
    failed = out_of_limits(view, start, "the start") or in_collision(view, start, "the start")
    if failed is not None:
        return failed
    within = [out_of_limits(view, goal, "the goal") for goal in goals]
    inside = np.array([failure is None for failure in within], dtype=bool)
    first = next((f for f in within if f is not None), None)
    blocked = [in_collision(view, goal, "the goal") for goal in goals[inside]]
    best = min(
        (f for f in blocked if f is not None), key=lambda f: f.numbers["depth_m"], default=first
    )
    assert best is not None
    if len(goals) == 1:
        return best
    message = f"none of {len(goals)} goals is valid; for the best, {best.message}"
    return replace(best, message=message)


def _rrt(
    region: EndRegion | None,
    view: View,
    start: Array,
    goals: Array,
    seed: int,
    options: SearchOptions,
) -> Path | Failure:
    """One tree, then shortcuts, then the proof if required; restarted if the proof fails."""
    planner = RRT(options.radius, options.goal_bias, int(options.iterations))
    for turn in range(_SEARCHES):
        current = view if turn == 0 else view.fine
        stream = seed + turn * _STREAM
        rng = np.random.default_rng(stream)
        path = planner.plan(view_space(current), current.free, start, region, goals, rng)
        if isinstance(path, Failure):
            return path
        if options.shortcuts > 0:
            path = compiled_search.shorten(path, current, stream, options)
        if options.required is None:
            return path
        if current.unproven(path.waypoints, options.required) is None:
            return path
    return Failure(
        FailureKind.BUDGET,
        f"RRT found paths, but none proven free, in {_SEARCHES} searches",
        numbers={"searches": _SEARCHES, "required_m": float(options.required or 0.0)},
    )


def out_of_limits(view: View, q: Array, what: str) -> Failure | None:
    """The Failure of a configuration (k,) out of the joints' limits; None if it is within them.

    It names the joint that is furthest out, and by how much. ``what`` is the message's subject,
    such as ``the start``.
    """
    low, high = view.arrays.tree.low, view.arrays.tree.high
    beyond = np.maximum(low - q, q - high)
    worst = int(np.argmax(beyond))
    if beyond[worst] <= LIMIT_TOLERANCE:
        return None
    return Failure(
        FailureKind.UNREACHABLE,
        f"{what} is out of the joints' limits: '{view.joints[worst]}' at {q[worst]:.4f}, "
        f"{beyond[worst]:.2g} beyond [{low[worst]:.4f}, {high[worst]:.4f}]",
        numbers={"beyond": float(beyond[worst]), "joint": float(worst)},
        certificate={"kind": "joint-limits", "q": q.tolist()},
    )


def in_collision(view: View, q: Array, what: str) -> Failure | None:
    """The Failure of a configuration (k,) in collision; None if it is free.

    It names the pair of bodies that is too near, and how deep or how near they are. ``what`` is the
    message's subject, such as ``the start``.
    """
    if view.free(q):
        return None
    contacts = view.contacts(q)
    # So near the margin that the two checks round to different sides of it.
    if not contacts:
        return Failure(
            FailureKind.BLOCKED, f"{what} is at the margin of a collision", numbers={"depth_m": 0.0}
        )
    worst = contacts[0]
    if worst.distance < 0.0:
        how = f"{worst.a} is {-1e3 * worst.distance:.1f} mm deep in {worst.b}"
    else:
        how = f"{worst.a} is {1e3 * worst.distance:.1f} mm from {worst.b}, within the margin"
    return Failure(
        FailureKind.BLOCKED,
        f"{what} is in collision: {how}",
        (worst.a, worst.b),
        {"depth_m": -worst.distance},
        {"kind": "contact", "q": q.tolist(), "pair": [worst.a, worst.b]},
    )


def _ends(
    world: CollisionWorld, view: View, start: ArrayLike, goal: ArrayLike
) -> tuple[Array, Array | Failure]:
    """The start (k,) and the goal configurations (m, k), or why a pose as goal has none.

    Raises:
        ValueError: the start or the goal has a wrong shape.
    """
    k = len(view.moving)
    begin = np.asarray(start, dtype=np.float64)
    end = np.asarray(goal, dtype=np.float64)
    if begin.shape != (k,):
        raise ValueError(f"start must be {k} finite numbers for '{view.group}', got {begin.shape}")
    if end.shape == (4, 4) and k != 4:
        return as_numbers(begin, "start", (k,)), goal_configurations(world, view, end)
    if end.shape == (k,):
        return begin, end[None]
    if end.ndim == 2 and end.shape[1] == k and len(end) > 0:
        return begin, end
    raise ValueError(
        f"goal must be ({k},) or (m, {k}) for '{view.group}', or a pose (4, 4); got {end.shape}"
    )


def goal_configurations(world: CollisionWorld, view: View, X_WT: Array) -> Array | Failure:
    """Configurations (m, k) of the view's arm that bring the tool to X_WT (4, 4), world frame.

    They come from the robot's closed form, or numerically from seeded starts. Collisions are not
    checked.

    Returns:
        The configurations; if there are none, a Failure: ``unreachable`` if the pose is beyond the
        arm's length, else ``budget``.

    Raises:
        ValueError: the group is not the arm, X_WT is no pose, or the robot's ``ik`` returns
            anything but finite configurations, or configurations that do not reach the pose.
    """
    if view.group != "arm":
        raise ValueError(f"a pose as goal is for the arm; give '{view.group}' configurations")
    X_WT = as_pose(X_WT, "the goal")
    robot = world.robot
    group = robot.group("arm")
    if robot.ik is not None:
        tree = world.model.tree
        X_WA = robot.foot_pose(view.arrays.tree.q[: robot.size])
        free = np.linspace(group.turn[0][-1], group.turn[1][-1], _FREE_VALUES)
        own = robot.ik(inverse(X_WA) @ X_WT, free)
        solutions = as_numbers(own, f"the result of ik of '{robot.name}'", (-1, group.size))
        q = np.array(view.arrays.tree.q[: robot.size])
        # One solution is enough to show a wrong frame or arm; to check all would take longer than
        # the search.
        if len(solutions):
            q[robot.slice("arm")] = solutions[0]
            off = np.abs(tree.link_pose(robot.tool_link, q) @ robot.X_LT - X_WT).max()
            if not off <= _MISSED:
                raise ValueError(f"the result of ik of '{robot.name}' is off the pose by {off:.2g}")
        tried = f"in closed form, at {_FREE_VALUES} values of the last joint"
    else:
        from galley.collision.backends.numeric_ik import NumericIK

        solver = NumericIK(robot)
        rng = np.random.default_rng(0)
        solutions = solver.solve(X_WT, _STARTS, rng, q=view.arrays.tree.q[: robot.size])
        tried = f"numerically, from {_STARTS} starts"
    if len(solutions):
        return solutions
    p = ", ".join(f"{v:.3f}" for v in X_WT[:3, 3])
    short = _shortfall(world, view, X_WT)
    if short > 0.0:
        return Failure(
            FailureKind.UNREACHABLE,
            f"({p}) m is at least {short:.3f} m out of reach of '{robot.tool_link}'",
            numbers={"shortfall_m": short},
            certificate={"kind": "distance-bound", "point_m": X_WT[:3, 3].tolist()},
        )
    return Failure(
        FailureKind.BUDGET,
        f"no configuration of the arm found that brings '{robot.tool_link}' to ({p}) m, {tried}",
        numbers={"tried": float(_FREE_VALUES if robot.ik is not None else _STARTS)},
    )


def _shortfall(world: CollisionWorld, view: View, X_WT: Array) -> float:
    """A lower bound (m) on the distance from X_WT that remains, with the links laid end to end."""
    tree, first = world.model.tree, int(view.moving[0])
    frame, X_FL = tree.link(world.robot.tool_link)
    length = float(np.linalg.norm((X_FL @ world.robot.X_LT)[:3, 3]))
    while frame - 1 > first:
        joint = frame - 1
        length += float(np.linalg.norm(tree.X_PJ[joint, :3, 3]))
        if tree.prismatic[joint]:
            length += float(np.abs([tree.lower[joint], tree.upper[joint]]).max())
        frame = int(tree.parent[joint])
    foot = tree.poses(view.arrays.tree.q[: world.robot.size])[first + 1, :3, 3]
    return max(0.0, float(np.linalg.norm(X_WT[:3, 3] - foot)) - length)
