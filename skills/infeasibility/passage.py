"""Whether the base can get to a stance at all, by exact areas in the plane.

A disc within the chassis, about the base's origin, fills the same place whatever the heading. Where
its centre can't go, the base can't: obstacles grown by its radius split the plane into parts.
Outlines and arcs are taken too small, so that only what is closed for certain counts as closed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache

import numpy as np

from galley.domain.failure import Failure, FailureKind
from galley.domain.frames import Array
from galley.domain.scene.model import Scene, Stance
from galley.domain.state import State
from galley.skills.base_placement.stances import places
from galley.skills.drawer import parts
from galley.skills.manipulation.context import PlanningContext

_SLACK = 1e-4  # m, for rounding


def no_passage(context: PlanningContext, state: State, stances: Sequence[Stance]) -> Failure | None:
    """A proof that the base can drive to none of ``stances`` while all stands as it does, or None.

    It names the bodies of drawers and doors, and the items, of which each alone closes the way, all
    the others gone; none where fixed furniture does. There is no proof where opening either of two
    doors would do.
    """
    import shapely

    robot, scene, chassis = context.robot, context.scene, context.scene.robot.base
    radius, low, high = min(chassis.size[:2]) / 2.0, chassis.ground_gap, chassis.size[2]
    areas = [
        (name, shapely.MultiPoint(points).convex_hull.buffer(radius - _SLACK))
        for name, points in _slices(scene, state, low, high)
    ]
    limits, start = robot.group("base"), state.q[robot.slice("base")][:2]
    everywhere = shapely.box(*limits.lower[:2], *limits.upper[:2]).buffer(_SLACK)
    goals = shapely.union_all([shapely.box(*np.ravel(places(stance, robot))) for stance in stances])

    @cache
    def passes(gone: frozenset[str]) -> bool:
        taken = shapely.union_all([area for name, area in areas if name not in gone])
        free = shapely.get_parts(everywhere - taken)
        here = free[shapely.distance(free, shapely.Point(start)) < _SLACK]
        return not len(here) or bool((shapely.distance(here, goals) < _SLACK).any())

    moved = [name for joint in scene.joints for name in scene.moved_by(joint.name)]
    movable = frozenset([*moved, *scene.item_index])
    # Of what rides on another drawer or door nothing is said.
    named = [n for n in sorted(movable) if moved.count(n) < 2 and not passes(movable - {n})]
    if passes(frozenset()) or (not named and passes(movable)):
        return None
    names = [stance.name for stance in stances]
    message = f"the base has no way past {' and '.join(named) or 'fixed furniture'} to stance set "
    message += " or ".join(map(repr, names))
    numbers = {"radius_m": radius, "lower_m": low, "upper_m": high}
    proof = {"kind": "passage", "start_m": start.tolist(), "stances": names, **numbers}
    return Failure(FailureKind.BLOCKED, message, tuple(named), numbers, proof)


def _slices(scene: Scene, state: State, low: float, high: float) -> Iterator[tuple[str, Array]]:
    """Names of bodies and items, and points (n, 2) whose hull is a level slice of one shape."""
    for part in parts(scene, state, "", True)[1]:
        corners = part.solid.vertices
        bottom, top = max(low, corners[:, 2].min()), min(high, corners[:, 2].max())
        if top - bottom > _SLACK:
            yield part.name, part.solid.section(0.5 * (bottom + top))
