"""Proofs that the base can't get to a stance at all, from areas in the plane.

A disc within the chassis, about the base's origin, covers the same area whatever the heading. Where
the disc's centre can't go, the base can't go. Obstacles grown by the radius of the disc split the
plane into parts, and the base stays in the part where it is. Outlines and arcs are taken too small,
so that a passage counts as closed only if it is closed for certain.
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
    """A proof that the base can drive to none of ``stances`` as things stand now, or None.

    The Failure names the drawers, doors and items of which each alone closes the way, even with all
    the others gone. It names none if fixed furniture closes the way. There is no proof if moving
    either of two of them would open the way.
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
        """Whether the base may get to a stance if these bodies and items are gone."""
        taken = shapely.union_all([area for name, area in areas if name not in gone])
        free = shapely.get_parts(everywhere - taken)
        here = free[shapely.distance(free, shapely.Point(start)) < _SLACK]
        return not len(here) or bool((shapely.distance(here, goals) < _SLACK).any())

    moved = [name for joint in scene.joints for name in scene.moved_by(joint.name)]
    movable = frozenset([*moved, *scene.item_index])
    # A body that two joints move (a drawer in a drawer) is never named.
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
    """Yield a body's or item's name, and points (n, 2) whose hull is a level slice of a shape.

    The slice is in the middle of the heights (m) from ``low`` to ``high`` that the shape fills.
    """
    for part in parts(scene, state, "", True)[1]:
        corners = part.solid.vertices
        bottom, top = max(low, corners[:, 2].min()), min(high, corners[:, 2].max())
        if top - bottom > _SLACK:
            yield part.name, part.solid.section(0.5 * (bottom + top))
