"""Geometric meaning of the predicates on, in, inside, opened, near and grasp.

The validator has an independent implementation: ``validation.goal``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product

import numpy as np

from galley.domain.frames import Array
from galley.domain.pddl.formula import Fact
from galley.domain.scene.model import Binding, Item, Region, Scene, Spot, Stance
from galley.domain.scene.stable_poses import heading_axis, tilt
from galley.domain.state import State, item_pose

GAP = 0.005  # m, largest distance between an item's underside and its support
TILT = np.radians(5.0)  # rad, largest tilt of an item that stands
CLOSED = 0.005  # m (rad for a door), up to which a joint counts as closed
SPOT_RADIUS = 0.010  # m in the plane, largest distance of an item's centre from its spot
SPOT_YAW = float(np.radians(5.0))  # rad, largest difference of an item's yaw from its spot's


@dataclass(frozen=True)
class PredicateVerdict:
    """Whether a predicate holds, and the figures that decided it, as text."""

    holds: bool
    why: str


def corners(item: Item) -> Array:
    """The eight corners (8, 3) of the item's bounding box, item frame, metres."""
    signs = np.array(np.meshgrid([-1, 1], [-1, 1], [-1, 1])).reshape(3, 8).T
    return signs * item.size / 2.0


def _pose_in_region(
    scene: Scene, state: State, item_name: str, region: Region, X_WH: Array
) -> Array:
    """X_BI (4, 4): the item's pose in the frame of the region's body."""
    X_WI = item_pose(scene, state, scene.item_index[item_name], X_WH)
    return scene.in_parent(X_WI, region.body, state.scene_q)


def on(scene: Scene, state: State, item_name: str, region: Region, X_WH: Array) -> PredicateVerdict:
    """Whether an item stands on a surface region.

    It must stand on an allowed face (upright, unless the scene allows it any face), with its centre
    over the region and its underside at most ``GAP`` from it. Whether it is at rest is not checked.
    """
    if scene.item_index[item_name] in state.in_hands:
        return PredicateVerdict(False, f"{item_name} is in the hand")
    X_BI = _pose_in_region(scene, state, item_name, region, X_WH)
    leans = tilt(scene.item(item_name), X_BI[:3, :3])
    if leans > TILT:
        return PredicateVerdict(False, f"{item_name} is tilted by {np.degrees(leans):.1f} degrees")
    return rests_on(scene, state, item_name, region, X_WH)


def rests_on(
    scene: Scene, state: State, item_name: str, region: Region, X_WH: Array
) -> PredicateVerdict:
    """``on`` with the item in any orientation: only its centre and its underside count."""
    X_BI = _pose_in_region(scene, state, item_name, region, X_WH)
    bottom = float((X_BI[:3, :3] @ corners(scene.item(item_name)).T + X_BI[:3, 3:4])[2].min())
    gaps = []
    for lower, upper in region.boxes:
        if (X_BI[:2, 3] >= lower[:2]).all() and (X_BI[:2, 3] <= upper[:2]).all():
            gaps.append(bottom - float(lower[2]))
    if not gaps:
        return PredicateVerdict(False, f"the centre of {item_name} is not over {region.name}")
    gap = min(gaps, key=abs)
    above = round(1e3 * gap, 1) + 0.0  # no "-0.0"
    words = f"{item_name} stands {above:.1f} mm above {region.name}"
    return PredicateVerdict(abs(gap) <= GAP, words)


def inside(
    scene: Scene, state: State, item_name: str, region: Region, joint: str | None, X_WH: Array
) -> PredicateVerdict:
    """Whether an item's bounding box lies within a region and ``joint``, if given, is closed."""
    if scene.item_index[item_name] in state.in_hands:
        return PredicateVerdict(False, f"{item_name} is in the hand")
    X_BI = _pose_in_region(scene, state, item_name, region, X_WH)
    p_BC = corners(scene.item(item_name)) @ X_BI[:3, :3].T + X_BI[:3, 3]
    lower, upper = region.boxes[0]
    # An item on the drawer's floor may sink in or stick out by the same gap as on a surface.
    excess = float(max((lower - p_BC).max(), (p_BC - upper).max()))
    if excess > GAP:
        return PredicateVerdict(
            False, f"{item_name} sticks out of {region.name} by {1e3 * excess:.1f} mm"
        )
    if joint is not None:
        opening = float(state.scene_q[scene.joint_index[joint]])
        prismatic = scene.joint(joint).kind == "prismatic"
        amount = f"{1e3 * opening:.1f} mm" if prismatic else f"{opening:.3f} rad"
        if abs(opening) > CLOSED:
            return PredicateVerdict(False, f"{joint} is open by {amount}")
        return PredicateVerdict(True, f"{item_name} is inside, {joint} open by {amount}")
    return PredicateVerdict(True, f"{item_name} is inside {region.name}")


def at_spot(
    scene: Scene, state: State, item_name: str, region: Region, spot: Spot, X_WH: Array
) -> PredicateVerdict:
    """Whether an item's centre and yaw agree with a spot.

    An item's yaw is the direction of its x axis, seen from above. If the item may lie and its x
    axis is vertical, it is the direction of the z axis. Otherwise such an item has no yaw.
    """
    X_BI = _pose_in_region(scene, state, item_name, region, X_WH)
    distance = float(np.linalg.norm(X_BI[:2, 3] - spot.xy))
    words = f"{item_name} is {1e3 * distance:.1f} mm from its spot in {region.name}"
    if spot.yaw is None:
        return PredicateVerdict(distance <= SPOT_RADIUS, words)
    x, y = X_BI[:2, heading_axis(scene.item(item_name), X_BI[:3, :3])]
    if float(np.hypot(x, y)) < 1e-6:
        return PredicateVerdict(
            False, f"{words}, and its x axis is vertical, so that it has no yaw"
        )
    turn = abs(float(np.arctan2(y, x)) - spot.yaw) % (2.0 * np.pi)
    turn = min(turn, 2.0 * np.pi - turn)
    words += f", turned {np.degrees(turn):.1f} degrees from its yaw"
    return PredicateVerdict(distance <= SPOT_RADIUS and turn <= SPOT_YAW, words)


def opened(scene: Scene, state: State, joint: str) -> PredicateVerdict:
    """Whether a scene joint is farther from zero than ``CLOSED``."""
    k = scene.joint_index[joint]
    value = float(state.scene_q[k])
    amount = f"{value:.3f} rad" if scene.joints[k].kind == "revolute" else f"{1e3 * value:.1f} mm"
    return PredicateVerdict(abs(value) > CLOSED, f"{joint} is open by {amount}")


def near(stance: Stance, base: Array) -> PredicateVerdict:
    """Whether a base pose (x, y, heading), m and rad, lies in a stance set."""
    x, y, heading = (float(v) for v in base[:3])
    why = f"the base stands at ({x:.2f}, {y:.2f}, {heading:.2f})"
    return PredicateVerdict(stance.contains(np.asarray(base[:3])), why)


def fact_holds(
    scene: Scene, state: State, name: str, bindings: tuple[Binding, ...], X_WH: Array
) -> PredicateVerdict | None:
    """Whether a PDDL fact holds in the geometry; None if it has no geometric meaning.

    Args:
        scene: the scene.
        state: the State.
        name: the predicate.
        bindings: the bindings of the fact's arguments, in order.
        X_WH: the hand's pose (4, 4), for a held item.
    """
    kinds = tuple(binding.kind for binding in bindings)
    if name == "near" and kinds == ("furniture",):
        return near(scene.stance(bindings[0].target), state.q[:3])
    if name in ("on", "in", "inside") and kinds == ("item", "furniture"):
        return _at_place(scene, state, name, bindings[0], bindings[1], X_WH)
    if name == "opened" and kinds == ("furniture",):
        if bindings[0].handle is None:
            return PredicateVerdict(False, f"{bindings[0].object} has no handle to open it by")
        return opened(scene, state, scene.handle(bindings[0].handle).joint)
    if name == "grasp" and kinds == ("item",):
        held = scene.item_index[bindings[0].target] in state.in_hands
        return PredicateVerdict(
            held, f"{bindings[0].target} is {'' if held else 'not '}in the hand"
        )
    return None


def _at_place(
    scene: Scene, state: State, name: str, thing: Binding, place: Binding, X_WH: Array
) -> PredicateVerdict:
    """``on``, ``in`` or ``inside`` of an item and a piece of furniture."""
    if place.region is None:
        return PredicateVerdict(False, f"{place.object} has no region to put things in")
    region = scene.region(place.region)
    if name == "on" and region.kind != "surface":
        return PredicateVerdict(False, f"{place.object} has no surface, only an inside")
    if name == "in" and region.kind != "volume":
        return PredicateVerdict(False, f"{place.object} has no inside, only a surface")
    if name == "inside":
        joint = scene.handle(place.handle).joint if place.handle else None
        return inside(scene, state, thing.target, region, joint, X_WH)
    if name == "on":
        verdict = on(scene, state, thing.target, region, X_WH)
    else:
        verdict = inside(scene, state, thing.target, region, None, X_WH)
    if not verdict.holds or place.spot is None:
        return verdict
    exact = at_spot(scene, state, thing.target, region, place.spot, X_WH)
    return exact if not exact.holds else PredicateVerdict(True, f"{verdict.why}; {exact.why}")


def state_facts(
    scene: Scene,
    state: State,
    predicates: Mapping[str, int],
    bindings: Mapping[str, Binding],
    X_WH: Array,
) -> dict[Fact, PredicateVerdict]:
    """Evaluates every fact over some predicates and objects in the geometry.

    Args:
        scene: the scene.
        state: the State.
        predicates: the number of arguments of each predicate, by name.
        bindings: the binding of each PDDL object.
        X_WH: the hand's pose (4, 4), for a held item.

    Returns:
        The verdict on each fact that has a geometric meaning, true or false.
    """
    verdicts = {}
    for name, arity in predicates.items():
        for args in product(bindings, repeat=arity):
            verdict = fact_holds(scene, state, name, tuple(bindings[a] for a in args), X_WH)
            if verdict is not None:
                verdicts[Fact(name, args)] = verdict
    return verdicts
