"""Certifies paths in the workbench's world: what is handed on has been proven free."""

from __future__ import annotations

import numpy as np

from galley.domain.frames import Array
from galley.domain.predicates import corners
from galley.domain.scene import Body
from galley.domain.state import State
from galley.motion.certify import CAP, Certificate, at, certify
from galley.motion.path import Path
from galley.robots.travel import travel_bound
from galley.skills.workbench import Workbench
from galley.worlds.checker import Pair, pairs

FREE = 0.0025  # m, proven everywhere on a free motion; its checked states keep the full margin
_LOOK = 0.02  # rad or m between the states whose clearance is measured for the report
_GROUND = 0.005  # m, a body no higher than this lies under the chassis: it can't be run into
CONTACT = 0.0003  # m, proven on straight segments for everything that is not declared


def prove(
    bench: Workbench,
    state: State,
    path: Path,
    allowed: frozenset[Pair],
    required: float,
    scene_q: Array | None = None,
) -> Certificate:
    """Proof that undeclared pairs keep ``required`` metres along the whole path.

    The kernel proves the robot's own links apart as well. With PyBullet they are looked at in the
    same states, for penetration only.

    Args:
        scene_q: scene joint values (n, nj) at the waypoints, if the path moves a joint.
    """
    if bench.compiled:
        return _compiled(bench, state, path, allowed, required, scene_q)
    checker = bench.checker(state, allowed | constant_pairs(bench, path.group))
    where, q = bench.robot.slice(path.group), state.q.copy()
    points = path.waypoints
    reach = held_reach(bench, state)
    spec = bench.scene.robot.base

    def clearance(s: float) -> float:
        q[where] = at(points, s)
        moved = None if scene_q is None else at(scene_q, s)
        near = checker.contacts(q, moved, within=CAP)
        return near[0].distance if near else CAP

    def travel(a: Array, b: Array) -> float:
        # A drawer led by the hand moves no further than the hand does: the bound covers it.
        return travel_bound(path.group, spec, a, b, reach)

    return certify(points, clearance, travel, required)


def _compiled(
    bench: Workbench,
    state: State,
    path: Path,
    allowed: frozenset[Pair],
    required: float,
    scene_q: Array | None,
) -> Certificate:
    """The kernel's proof. All joints count as moving: one view serves every path in a State."""
    kernel = bench.kernel
    Q = np.repeat(state.q[None], len(path.waypoints), axis=0)
    Q[:, bench.robot.slice(path.group)] = path.waypoints
    driven = None if scene_q is None else kernel.driven(scene_q)
    if scene_q is not None:
        state = state.with_scene(scene_q[0])
        if driven is not None:
            Q = np.column_stack([Q, scene_q[:, bench.scene.joint_index[driven]]])
    known = allowed | constant_pairs(bench, path.group)
    view = kernel.view(state, "all", known, CAP, driven)
    found = view.unproven(Q, required)
    near = required
    if found is None and scene_q is None:
        Q = np.repeat(state.q[None], len(finely := path.resampled(_LOOK).waypoints), axis=0)
        Q[:, bench.robot.slice(path.group)] = finely
    if found is None:
        near = max(required, view.clearances(Q, CAP).min())
    hit = None if found is None else found[0] + found[1]
    return Certificate(hit, float(near), len(Q))


def constant_pairs(bench: Workbench, group: str) -> frozenset[Pair]:
    """Pairs whose distance can't change while a group moves, so that it says nothing of a path.

    What lies below the chassis wherever it drives; and for the arm, all that the base stands by.
    """
    scene, robot = bench.scene, bench.robot
    bodies = tuple(body.name for body in scene.bodies)
    low = tuple(b.name for b in scene.bodies if b.joint is None and _top(b) < _GROUND)
    if group == "base":
        return pairs(("chassis",), low)
    still = robot.links[: robot.links.index("panda_link1")]
    return pairs(still, bodies + tuple(item.name for item in scene.items))


def _top(body: Body) -> float:
    """Highest z (m) of a fixed body's collision shapes; infinite where it isn't known."""
    tops = [np.inf if any(s.kind == "mesh" for s in body.shapes) else -np.inf]
    for shape in body.shapes:
        if shape.collision and shape.kind != "mesh":
            X_WS = body.X_WB0 @ shape.X_BS
            tops.append(float(X_WS[2, 3] + np.abs(X_WS[2, :3]) @ shape.half_extents))
    return max(tops)


def held_reach(bench: Workbench, state: State) -> float:
    """Farthest point (m) of the held item from the hand frame's origin; 0 with an empty hand."""
    if state.held is None:
        return 0.0
    item = bench.scene.items[state.held]
    X_HI = state.items[state.held].X_PI
    points = corners(item) @ X_HI[:3, :3].T + X_HI[:3, 3]
    return float(np.linalg.norm(points, axis=1).max())
