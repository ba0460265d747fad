"""Certifies paths in the workbench's world: what is handed on has been proven free."""

from __future__ import annotations

import numpy as np

from galley.domain.frames import Array
from galley.domain.predicates import corners
from galley.domain.state import State
from galley.motion.certify import CAP, Certificate, at, certify
from galley.motion.path import Path
from galley.robots.panda.mobile import travel_bound
from galley.skills.solving.context import PlanningContext
from galley.worlds.checker import Pair, held_pairs
from galley.worlds.view import View

CONTACT_MARGIN = 0.001  # m that undeclared pairs keep in a line's states
FREE = 0.0025  # m, proven everywhere on a free motion; its checked states keep the full margin
CONTACT = 0.0003  # m, proven on straight segments for everything that is not declared


def prove(
    context: PlanningContext,
    state: State,
    path: Path,
    allowed: frozenset[Pair],
    required: float,
    scene_q: Array | None = None,
    line: bool = False,
) -> Certificate:
    """Proof that undeclared pairs keep ``required`` metres along the whole path.

    The kernel proves the robot's own links apart as well, and measures nothing: the certificate's
    clearance is what was required. With PyBullet they are looked at in the same states, for
    penetration only.

    Args:
        scene_q: scene joint values (n, nj) at the waypoints of a line that moves a joint.
        line: whether it is a Line of a Manipulation, else a free motion.
    """
    if context.compiled:
        if line:
            view, points = _of_line(context, state, path, allowed, scene_q)
        else:
            view, points = free_view(context, state, path.group, allowed), path.waypoints
        found = view.unproven(points, required)
        hit = None if found is None else found[0] + found[1]
        return Certificate(hit, required, len(points))
    checker = context.checker(state, allowed | context.kernel.constant_pairs(path.group))
    where, q = context.robot.slice(path.group), state.q.copy()
    points = path.waypoints
    reach = held_reach(context, state)
    spec = context.scene.robot.base

    def clearance(s: float) -> float:
        q[where] = at(points, s)
        moved = None if scene_q is None else at(scene_q, s)
        near = checker.contacts(q, moved, within=CAP)
        return near[0].distance if near else CAP

    def travel(a: Array, b: Array) -> float:
        # A drawer led by the hand moves no further than the hand does: the bound covers it.
        return travel_bound(path.group, spec, a, b, reach)

    return certify(points, clearance, travel, required)


def free_view(context: PlanningContext, state: State, group: str, allowed: frozenset[Pair]) -> View:
    """The view in which a group's free motions are searched, proven and measured."""
    if "base" in group:
        allowed = allowed | context.kernel.constant_pairs(group)
    return context.kernel.view(state, group, allowed)


def _of_line(
    context: PlanningContext,
    state: State,
    path: Path,
    allowed: frozenset[Pair],
    scene_q: Array | None,
) -> tuple[View, Array]:
    """The view in which a line's states are checked, and its path in all joints (n, k).

    A proof has a margin of its own, so that one view does for both.
    """
    kernel = context.kernel
    Q = np.repeat(state.q[None], len(path.waypoints), axis=0)
    Q[:, context.robot.slice(path.group)] = path.waypoints
    if scene_q is None:
        return kernel.view(state, "all", allowed, CONTACT_MARGIN), Q
    return kernel.view_with_scene(state, Q, scene_q, allowed, CONTACT_MARGIN)


def holding_contact_pairs(context: PlanningContext, state: State) -> frozenset[Pair]:
    """The pairs that always touch while an item is held: it and the fingers."""
    return held_pairs(context.scene, context.robot, state)


def held_reach(context: PlanningContext, state: State) -> float:
    """Farthest point (m) of the held item from the hand frame's origin; 0 with an empty hand."""
    if state.held is None:
        return 0.0
    item = context.scene.items[state.held]
    X_HI = state.items[state.held].X_PI
    points = corners(item) @ X_HI[:3, :3].T + X_HI[:3, 3]
    return float(np.linalg.norm(points, axis=1).max())
