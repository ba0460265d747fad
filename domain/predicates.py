"""Geometric predicates: what ``on``, ``inside`` and ``near`` mean in metres.

The thresholds are the design's: a goal holds in the geometry or it does not hold.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from galley.domain.frames import Array, inverse
from galley.domain.scene import Binding, Item, Region, Scene, Stance
from galley.domain.state import State, item_pose

GAP = 0.005  # m, between an item's underside and what it stands on
TILT = np.radians(5.0)  # rad, of the item's z axis from the vertical
CLOSED = 0.005  # m, a drawer opened less counts as closed


@dataclass(frozen=True)
class Verdict:
    """Whether a predicate holds, and the figure that decided it, in words."""

    holds: bool
    why: str


def corners(item: Item) -> Array:
    """The eight corners (8, 3) of the item's bounding box, item frame, metres."""
    signs = np.array(np.meshgrid([-1, 1], [-1, 1], [-1, 1])).reshape(3, 8).T
    return signs * item.size / 2.0


def on(scene: Scene, state: State, item_name: str, region: Region, X_WH: Array) -> Verdict:
    """Stands on the region: gap, centre over it, upright. Being at rest is the log's to tell."""
    index = scene.item_index[item_name]
    if state.held == index:
        return Verdict(False, f"{item_name} is in the hand")
    X_WB = scene.body_pose(region.body, state.scene_q)
    X_BI = inverse(X_WB) @ item_pose(scene, state, index, X_WH)
    tilt = float(np.arccos(np.clip(X_BI[2, 2], -1.0, 1.0)))
    if tilt > TILT:
        return Verdict(False, f"{item_name} is tilted by {np.degrees(tilt):.1f} degrees")
    bottom = float((X_BI[:3, :3] @ corners(scene.item(item_name)).T + X_BI[:3, 3:4])[2].min())
    gaps = []
    for lower, upper in region.boxes:
        inside = bool((X_BI[:2, 3] >= lower[:2]).all() and (X_BI[:2, 3] <= upper[:2]).all())
        if inside:
            gaps.append(bottom - float(lower[2]))
    if not gaps:
        return Verdict(False, f"the centre of {item_name} is not over {region.name}")
    gap = min(gaps, key=abs)
    above = round(1e3 * gap, 1) + 0.0  # no "-0.0"
    words = f"{item_name} stands {above:.1f} mm above {region.name}"
    return Verdict(abs(gap) <= GAP, words)


def inside(
    scene: Scene, state: State, item_name: str, region: Region, joint: str | None, X_WH: Array
) -> Verdict:
    """Its box lies within the inner volume; and the drawer (``joint``, if given) is closed."""
    index = scene.item_index[item_name]
    if state.held == index:
        return Verdict(False, f"{item_name} is in the hand")
    X_BI = inverse(scene.body_pose(region.body, state.scene_q)) @ item_pose(
        scene, state, index, X_WH
    )
    p_BC = corners(scene.item(item_name)) @ X_BI[:3, :3].T + X_BI[:3, 3]
    lower, upper = region.boxes[0]
    # A thing that stands on the drawer's floor may rest within the same gap as on a surface.
    excess = float(max((lower - p_BC).max(), (p_BC - upper).max()))
    if excess > GAP:
        return Verdict(False, f"{item_name} sticks out of {region.name} by {1e3 * excess:.1f} mm")
    if joint is not None:
        opening = float(state.scene_q[scene.joint_index[joint]])
        if abs(opening) > CLOSED:
            return Verdict(False, f"{joint} is open by {1e3 * opening:.1f} mm")
        return Verdict(True, f"{item_name} is inside, {joint} open by {1e3 * opening:.1f} mm")
    return Verdict(True, f"{item_name} is inside {region.name}")


def near(stance: Stance, base: Array) -> Verdict:
    """The base pose (x, y, heading) lies in the furniture's stance set."""
    x, y, heading = (float(v) for v in base[:3])
    where = f"the base stands at ({x:.2f}, {y:.2f}, {heading:.2f})"
    return Verdict(stance.contains(np.asarray(base[:3])), where)


def fact_holds(
    scene: Scene, state: State, name: str, bindings: tuple[Binding, ...], X_WH: Array
) -> Verdict | None:
    """Whether a PDDL fact holds in the geometry; None for a fact that has no geometric meaning.

    ``bindings`` are those of the fact's arguments, in order.
    """
    kinds = tuple(binding.kind for binding in bindings)
    if name == "near" and kinds == ("furniture",):
        return near(scene.stance(bindings[0].target), state.q[:3])
    if name in ("on", "inside") and kinds == ("item", "furniture"):
        thing, place = bindings
        if place.region is None:
            return Verdict(False, f"{place.object} has no region to put things")
        region = scene.region(place.region)
        if name == "on":
            if region.kind != "surface":
                return Verdict(False, f"{place.object} has no surface, only an inside")
            return on(scene, state, thing.target, region, X_WH)
        joint = scene.handle(place.handle).joint if place.handle else None
        return inside(scene, state, thing.target, region, joint, X_WH)
    if name == "grasp" and kinds == ("item",):
        held = state.held == scene.item_index[bindings[0].target]
        return Verdict(held, f"{bindings[0].target} is {'' if held else 'not '}in the hand")
    return None
