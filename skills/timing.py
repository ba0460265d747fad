"""From a proven path to the trajectory that a free motion runs, by the method of the settings."""

from __future__ import annotations

from dataclasses import replace
from time import perf_counter

from galley.domain.failure import Failure
from galley.domain.state import State
from galley.motion.motion import Record
from galley.motion.path import Path
from galley.motion.timing import rest_to_rest
from galley.motion.trajectory import Trajectory
from galley.optimization.result import Optimized
from galley.optimization.smooth import smooth
from galley.optimization.time_optimal import time_optimal
from galley.skills.proof import constant_pairs
from galley.skills.workbench import Workbench
from galley.worlds.checker import Pair

HELD_SPEED = 0.6  # of the usual speed while something is in the hand
_LOOK = 0.01  # rad or m between the states whose clearance is measured for the report
_CAP = 0.06  # m, as far as that looks


def timed(
    bench: Workbench, state: State, path: Path, allowed: frozenset[Pair], record: Record
) -> tuple[Trajectory, Record]:
    """A trajectory for a path proven free in ``state``, and what to report of it.

    ``smooth`` and ``time-optimal`` are proven by the kernel, whatever planned the path. Where that
    fails the path is run as it is, with a stop at each corner.
    """
    group = bench.robot.group(path.group)
    careful = state.held is not None and path.group != "base"
    scale = bench.settings.speed * (HELD_SPEED if careful else 1.0)
    method = bench.settings.optimize
    if method not in ("smooth", "time-optimal"):
        return rest_to_rest(path, group, scale), record
    began = perf_counter()
    if path.group == "base":
        allowed = allowed | constant_pairs(bench, path.group)
    view = bench.kernel.view(state, path.group, allowed)
    found: Optimized | Failure
    if method == "smooth":
        found = smooth(view, path, group, scale)
    else:
        found = time_optimal(view, path, group, scale)
    spent = 1e3 * (perf_counter() - began)
    if isinstance(found, Failure):
        note = f"stops at each corner: {found.message}"
        return rest_to_rest(path, group, scale), replace(
            record, optimizer=note, optimization_ms=spent
        )
    trajectory = found.trajectory
    clearance = float(view.clearances(trajectory.resampled(_LOOK)[1], _CAP).min())
    return trajectory, replace(
        record,
        optimizer=f"{found.method} ({found.note})" if found.note else found.method,
        optimization_ms=spent,
        length_optimized=trajectory.length(),
        min_clearance_m=clearance,
    )
