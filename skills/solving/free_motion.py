"""Free motions: the arm or the base from where it is to where it should be, full margin kept."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np

from galley.domain.failure import Failure, FailureKind
from galley.domain.frames import Array
from galley.domain.state import State
from galley.motion.motion import Attachment, Motion, Record
from galley.motion.path import Path
from galley.motion.trajectory.timing import rest_to_rest
from galley.skills.solving.finders import BOTH, CompiledFinder, Finder, PyBulletFinder
from galley.skills.solving.proof import FREE, grip, prove
from galley.skills.solving.workbench import Workbench
from galley.worlds.checker import Pair

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

    Planned by the settings' planner (the base always by RRT-Connect), shortcut and proven; in
    PyBullet by the seed's RRT, and proven. With ``shortest`` the seed's QP replaces an arm's path
    where its result is proven free. Where no way is found for the arm alone, base and arm move
    together. The trajectory is a quick
    one, with a stop at each corner: ``finish`` makes the final one.
    """
    began = time.perf_counter()
    allowed = grip(bench, state)
    start = state.q[bench.robot.slice(group)]
    for finer in _FINENESS:
        # Search on sampled edges, then prove; where the proof finds a hit, search on a finer grid.
        finder = _finder(bench, state, group, allowed, finer, rng)
        found, planner = finder.search(start, np.atleast_2d(goals))
        if group == "arm" and isinstance(found, Failure) and found.kind is FailureKind.BUDGET:
            # The base makes room and comes back: both at once find ways that neither finds alone.
            group, start = BOTH, state.q[bench.robot.slice(BOTH)]
            base = np.repeat(state.q[None, bench.robot.slice("base")], len(goals), axis=0)
            goals = np.hstack([base, np.atleast_2d(goals)])
            finder = _finder(bench, state, group, allowed, finer, rng)
            found, planner = finder.search(start, goals)
        if isinstance(found, Failure):
            return found.within(phase)
        record = Record(planner, length_rrt=found.length)
        if group == "arm" and bench.settings.optimize == "shortest":
            path, record = _optimized(bench, found, state, finder, record)
            if path is not None:
                break
        path = finder.shortcut(found)
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
    attachments = held_attachment(bench, state)
    trajectory = rest_to_rest(path, bench.robot.group(path.group), bench.speed(state, path.group))
    return Motion(action_index, phase, group, path, trajectory, attachments, allowed, record=record)


def _finder(
    bench: Workbench,
    state: State,
    group: str,
    allowed: frozenset[Pair],
    finer: float,
    rng: np.random.Generator,
) -> Finder:
    """What searches and shortens: compiled on the kernel, or the seed's RRT in PyBullet."""
    make = CompiledFinder if bench.compiled else PyBulletFinder
    return make(bench, state, group, allowed, finer, rng)


def _optimized(
    bench: Workbench, path: Path, state: State, finder: Finder, record: Record
) -> tuple[Path | None, Record]:
    """The QP's path if it is proven free, else None; and what to report."""
    from galley.optimization.shortest import shortest  # late: it loads a QP solver

    began = time.perf_counter()
    result = shortest(path)
    kept = None
    if isinstance(result, Failure):
        outcome = f"kept the planned path: {result.message}"
    else:
        outcome = "kept the planned path: the QP's result is in collision"
        # Sampled states first: cheaper than a proof, and they find most hits.
        if finder.free(result):
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
