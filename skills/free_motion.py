"""Free motions: the arm or the base from where it is to where it should be, full margin kept."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np

from galley.domain.failure import Failure, FailureKind
from galley.domain.frames import Array
from galley.domain.state import State
from galley.motion.edges import Free, edge_free, path_free
from galley.motion.motion import Attachment, Motion, Record
from galley.motion.path import Path
from galley.motion.rrt import RRT, EndRegion
from galley.motion.rrt_connect import RRTConnect
from galley.motion.shortcut import shortcut
from galley.motion.space import Space
from galley.motion.timing import rest_to_rest
from galley.motion.trajectory import limit_ratios
from galley.optimization.shortest import shortest
from galley.skills.proof import FREE, prove
from galley.skills.reach import grip
from galley.skills.workbench import Workbench

_HELD_SPEED = 0.6  # of the usual speed while something is in the hand
_FINENESS = (1.0, 0.5, 0.25)  # of the space's resolution, from search to search


def free_motion(
    bench: Workbench,
    state: State,
    group: str,
    goals: Array,
    phase: str,
    action_index: int,
    rng: np.random.Generator,
) -> Motion | Failure:
    """Move one joint group from ``state`` to one of ``goals`` (m, k).

    Planned by the settings' planner (the base always by RRT-Connect). For the arm the QP then
    replaces the path where its result is proven free; otherwise the path is shortcut and proven.
    """
    began = time.perf_counter()
    allowed = grip(bench, state)
    start = state.q[bench.robot.slice(group)]
    free = bench.free(state, group, allowed)
    for finer in _FINENESS:
        # Search on sampled edges, then prove; where the proof finds a hit, search on a finer grid.
        space = bench.space(group).finer(finer)
        found, planner = _search(bench, space, free, start, goals, state, rng, group)
        if isinstance(found, Failure):
            return found.within(phase)
        record = Record(planner, length_rrt=found.length)
        if group == "arm" and bench.settings.optimize == "shortest":
            path, record = _optimized(bench, found, state, space, free, record)
            if path is not None:
                break
        path = shortcut(found, space, free, rng, bench.settings.shortcuts)
        certificate = prove(bench, state, path, allowed, FREE)
        if certificate.hit is None:
            record = replace(
                record, length_shortcut=path.length, min_clearance_m=certificate.clearance
            )
            break
    else:
        return Failure(
            FailureKind.BUDGET,
            f"no path could be proven free in {len(_FINENESS)} searches",
            numbers={"searches": float(len(_FINENESS))},
        ).within(phase)
    spent = 1e3 * (time.perf_counter() - began)
    record = replace(record, planning_ms=spent - record.optimization_ms)
    trajectory = rest_to_rest(
        path,
        bench.robot.group(group),
        bench.settings.speed * (_HELD_SPEED if state.held is not None and group == "arm" else 1.0),
    )
    attachments = held_attachment(bench, state)
    motion = Motion(action_index, phase, group, path, trajectory, attachments, allowed)
    return with_ratios(bench, motion, record)


def _search(
    bench: Workbench,
    space: Space,
    free: Free,
    start: Array,
    goals: Array,
    state: State,
    rng: np.random.Generator,
    group: str,
) -> tuple[Path | Failure, str]:
    settings = bench.settings
    goals = np.atleast_2d(goals)
    if group != "arm" or settings.planner == "rrt-connect":
        planner = RRTConnect(iterations=settings.iterations)
        return planner.plan(space, free, start, goals, rng), "rrt-connect"
    region = _region(bench, state, goals[0])
    rrt = RRT(iterations=settings.rrt_iterations)
    found = rrt.plan(space, free, start, region, goals, rng)
    if isinstance(found, Failure) or bool((np.abs(goals - found.end).max(axis=1) < 1e-9).any()):
        return found, "rrt"
    # Arrived in the region, perhaps with another elbow: the straight segment that follows starts
    # at a goal configuration, so join it, or search on for exactly that.
    for goal in goals:
        if edge_free(space, free, found.end, goal):
            return Path(space.group, np.vstack([found.waypoints, goal])), "rrt"
    return rrt.plan(space, free, start, None, goals, rng), "rrt"


def _region(bench: Workbench, state: State, goal: Array) -> EndRegion:
    pose = bench.hand(state)
    radius = 0.02 if bench.settings.l1 else 0.01
    return EndRegion(pose, pose(goal), radius=radius, l1=bench.settings.l1)


def _optimized(
    bench: Workbench, path: Path, state: State, space: Space, free: Free, record: Record
) -> tuple[Path | None, Record]:
    """The QP's path if it is proven free, else None; and what to report."""
    began = time.perf_counter()
    result = shortest(path)
    kept = None
    if isinstance(result, Failure):
        outcome = f"kept the planned path: {result.message}"
    else:
        outcome = "kept the planned path: the QP's result is in collision"
        # Sampled states first: cheaper than a proof, and they find most hits.
        if path_free(space, free, result):
            certificate = prove(bench, state, result, grip(bench, state), FREE)
            if certificate.hit is None:
                kept, outcome = result, "shortest"
                record = replace(
                    record,
                    length_optimized=result.length,
                    min_clearance_m=certificate.clearance,
                )
    spent = 1e3 * (time.perf_counter() - began)
    return kept, replace(record, optimizer=outcome, optimization_ms=spent)


def held_attachment(bench: Workbench, state: State) -> tuple[Attachment, ...]:
    """The attachment of what is in the hand, if anything is."""
    if state.held is None:
        return ()
    return (Attachment("item", bench.scene.items[state.held].name),)


def with_ratios(bench: Workbench, motion: Motion, record: Record) -> Motion:
    """The motion with its record, completed by the shares of the limits that it uses."""
    velocity, acceleration, jerk = limit_ratios(motion.trajectory, bench.robot.group(motion.group))
    return replace(
        motion,
        record=replace(
            record,
            velocity_ratio=velocity,
            acceleration_ratio=acceleration,
            jerk_ratio=jerk,
        ),
    )
