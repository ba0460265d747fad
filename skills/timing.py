"""Quick trajectories of free motions, as refinement makes them: ``finish`` makes the final ones."""

from __future__ import annotations

from galley.domain.state import State
from galley.motion.path import Path
from galley.motion.timing import rest_to_rest
from galley.motion.trajectory import Trajectory
from galley.skills.workbench import Workbench

HELD_SPEED = 0.6  # of the usual speed while something is in the hand


def speed(bench: Workbench, state: State, group: str) -> float:
    """The share of the joint limits that a free motion of ``group`` uses in ``state``."""
    careful = state.held is not None and group != "base"
    return bench.settings.speed * (HELD_SPEED if careful else 1.0)


def quick(bench: Workbench, state: State, path: Path) -> Trajectory:
    """Along a path proven free in ``state``, with a stop at each corner."""
    return rest_to_rest(path, bench.robot.group(path.group), speed(bench, state, path.group))
