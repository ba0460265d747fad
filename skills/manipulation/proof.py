"""Proofs that whole paths are free of collision, not only their sampled states."""

from __future__ import annotations

import numpy as np

from galley.collision.checker import Pair, held_pairs
from galley.collision.view import View
from galley.domain.frames import Array
from galley.domain.predicates import corners
from galley.domain.state import State
from galley.motion.certify import CAP, Certificate, certify, configuration_at
from galley.motion.motion import Attachment
from galley.motion.path import Path
from galley.skills.manipulation.context import PlanningContext

CONTACT_MARGIN = 0.001  # m between pairs that may not touch, in the sampled states of a line
CONTACT_CLEARANCE = 0.0003  # m, proven along lines between pairs that may not touch


def prove(
    context: PlanningContext,
    state: State,
    path: Path,
    allowed: frozenset[Pair],
    required: float,
    scene_q: Array | None = None,
    line: bool = False,
    margin: float | None = None,
) -> Certificate:
    """Certify that all pairs not ``allowed`` keep a distance along the whole path.

    The kernel also proves that the robot's links stay apart. The clearance in its certificate is
    ``required``, which is a bound and not measured. PyBullet checks the links only for penetration,
    in sampled states.

    Args:
        context: the scene, the robot and the checker to use.
        state: everything that the path doesn't move.
        path: the path of a joint group.
        allowed: pairs that may touch.
        required: the distance, metres.
        scene_q: scene joint values (n, nj) at the waypoints of a line that moves a joint.
        line: whether the path is a Line of a Manipulation; else it is a free motion.
        margin: distance (m) that the sampled states of a free motion keep; by default the robot's.
    """
    if context.compiled:
        if line:
            kernel, allowed = context.kernel, allowed | context.always_touching(state)
            points = context.robot.with_groups(state.q, **{path.group: path.waypoints})
            if scene_q is None:
                view = kernel.view(state, "all", allowed, CONTACT_MARGIN)
            else:  # the furniture's joint moves along
                view, points = kernel.view_with_scene(
                    state, points, scene_q, allowed, CONTACT_MARGIN
                )
        else:
            sampled = context.robot.spacing.margin if margin is None else margin
            view = free_view(context, state, path.group, allowed, sampled)
            points = path.waypoints
        unproven = view.unproven(points, required)
        hit = None if unproven is None else unproven[0] + unproven[1]
        return Certificate(hit, required, len(points))
    checker = context.checker(state, allowed | context.kernel.constant_pairs(path.group))
    joints, q = context.robot.slice(path.group), state.q.copy()
    points = path.waypoints
    reach = held_reach(context, state)

    def clearance(s: float) -> float:
        """Distance (m) of the nearest pair at a place s of the path, at most ``CAP``."""
        q[joints] = configuration_at(points, s)
        moved = None if scene_q is None else configuration_at(scene_q, s)
        near = checker.contacts(q, moved, within=CAP)
        return near[0].distance if near else CAP

    def travel(a: Array, b: Array) -> float:
        """Bound (m) on the travel of any point that moves, from a to b (k,)."""
        # A drawer that the hand moves travels no farther than the hand.
        return context.robot.kinematics.travel_bound(path.group, a, b, reach)

    return certify(points, clearance, travel, required)


def free_view(
    context: PlanningContext, state: State, group: str, allowed: frozenset[Pair], margin: float
) -> View:
    """The kernel's view of a group's free motions, for their search, proof and clearance.

    Args:
        allowed: pairs that may touch.
        margin: distance (m) that all other pairs must keep.
    """
    allowed = allowed | context.always_touching(state)
    if "base" in group:
        allowed = allowed | context.kernel.constant_pairs(group)
    return context.kernel.view(state, group, allowed, margin)


def holding_contact_pairs(context: PlanningContext, state: State) -> frozenset[Pair]:
    """Pairs of the held item and the fingers, which always touch; empty if none is held."""
    return held_pairs(context.scene, context.robot, state)


def held_attachment(context: PlanningContext, state: State) -> tuple[Attachment, ...]:
    """The attachment of the held item; empty if none is held."""
    if state.held is None:
        return ()
    return (Attachment("item", context.scene.items[state.held].name),)


def held_reach(context: PlanningContext, state: State) -> float:
    """Distance (m) of the held item's farthest point from the hand's origin; 0 if none is held."""
    if state.held is None:
        return 0.0
    item = context.scene.items[state.held]
    X_HI = state.items[state.held].X_PI
    points = corners(item) @ X_HI[:3, :3].T + X_HI[:3, 3]
    return float(np.linalg.norm(points, axis=1).max())
