"""Refusals of actions from sizes and distances alone: without a search, but with a certificate.

Distance bounds hold for every configuration: the hand is never farther from the shoulder than the
arm is long, and the item is at most ``hand`` metres from the hand.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np

from galley.domain.failure import Failure, FailureKind, metres
from galley.domain.frames import Array, inverse
from galley.domain.predicates import SPOT_RADIUS
from galley.domain.scene.model import WORLD, Handle, Item, Physics, Region, Scene, Spot, Stance
from galley.domain.scene.stable_poses import allowed_poses
from galley.domain.state import State, item_pose
from galley.robots.model import Gripper
from galley.skills.base_placement.stances import shortfall, shoulders
from galley.skills.infeasibility.covering import item_grasps, prove_no_grasp
from galley.skills.manipulation.context import PlanningContext
from galley.skills.manipulation.grasp_families import all_found
from galley.skills.manipulation.grasps import (
    grasp_families,
    grasps_at,
    grasps_of,
    hand_in_item,
    is_upright,
)
from galley.skills.placing.footprints import Upright
from galley.skills.skill import BoundAction, Skill, stance_of

_SLACK = 1e-9  # m, for rounding


def no_such_region(furniture: str, what: str) -> Failure:
    """The Failure if furniture lacks a region or handle that the action needs.

    Args:
        what: the missing part, for the message: ``surface to place things on``.
    """
    return Failure(
        FailureKind.CONTRADICTION,
        f"the scene gives '{furniture}' no {what}",
        (furniture,),
        certificate={"kind": "scene", "object": furniture, "missing": what},
    )


def wrong_in_hand(context: PlanningContext, state: State, wanted: int | None) -> Failure | None:
    """A Failure unless the hand holds the item ``wanted``, or nothing for None.

    A plan guarantees that, unless its domain or an earlier skill doesn't do what its name says.
    """
    if state.held == wanted:
        return None
    held, needed = (
        "nothing" if index is None else context.scene.items[index].name
        for index in (state.held, wanted)
    )
    return Failure(
        FailureKind.BUDGET,
        f"the hand must hold {needed} here, but the earlier actions leave {held} in it",
    )


def does_not_fit(item: Item, region: Region) -> Failure | None:
    """A Failure with sizes if the item doesn't fit into the empty region, else None.

    It must fit neither upright nor, if it may lie, on any of its faces.
    """
    sizes: dict[tuple[float, ...], Failure] = {}
    for pose in allowed_poses(item):
        failed = _does_not_fit_upright(pose.item, region)
        if failed is None:
            return None
        sizes.setdefault(pose.box, failed)
    first, *others = sizes.values()
    if not others:
        return first
    faces = {"on_each_face": [dict(failed.certificate or {}) for failed in (first, *others)]}
    lying = " or ".join(f"{h:.3f} m high on {a:.3f} x {b:.3f} m" for a, b, h in list(sizes)[1:])
    message = f"{first.message}; nor does it fit lying, {lying}"
    return replace(first, message=message, certificate={**(first.certificate or {}), **faces})


def _does_not_fit_upright(item: Item, region: Region) -> Failure | None:
    """A Failure if an upright item is too high for a volume, or fits into no box at any yaw."""
    height = float(item.size[2])
    if region.kind == "volume":
        room = float(region.boxes[0, 1, 2] - region.boxes[0, 0, 2])
        if height > room + _SLACK:
            return Failure(
                FailureKind.DOES_NOT_FIT,
                f"{item.name} is {height:.3f} m high when upright, {region.name} has {room:.3f} m",
                (item.name, region.name),
                {"height_m": height, "room_m": room},
                {"kind": "sizes", "item_m": item.size.tolist(), "room_height_m": room},
            )
    rim = Upright.of(item).rim
    across = np.ptp(rim @ _normals(rim).T, axis=0)
    # Least and greatest distance of parallel lines about it, of those along its edges.
    short, long = float(across.min()), float(across.max())
    sides = np.sort(region.boxes[:, 1, :2] - region.boxes[:, 0, :2], axis=1)
    # Necessary for any yaw: the shorter side must fit across the region's narrower one.
    diagonals = np.hypot(sides[:, 0], sides[:, 1])
    if (short > sides[:, 0] + _SLACK).all() or (long > diagonals + _SLACK).all():
        item_m = [short, long, height] if item.composite else item.size.tolist()
        room_m = sides.max(axis=0).tolist()
        return Failure(
            FailureKind.DOES_NOT_FIT,
            f"{item.name} ({short:.3f} x {long:.3f} m) fits nowhere on {region.name}",
            (item.name, region.name),
            {"width_m": short, "length_m": long},
            {"kind": "sizes", "item_m": item_m, "largest_room_m": room_m},
        )
    return None


def _normals(polygon: Array) -> Array:
    """Outward unit normals (n, 2) of the edges of a convex polygon (n, 2), counter-clockwise."""
    edges = np.roll(polygon, -1, axis=0) - polygon
    length = np.linalg.norm(edges, axis=1)[:, None]
    return np.asarray(np.stack([edges[:, 1], -edges[:, 0]], axis=1) / length)


def too_wide(item: Item, gripper: Gripper) -> Failure | None:
    """A Failure with sizes if no side of the standing item fits between the fingers, else None.

    It is wider than the fingers open, or thinner than they close.
    """
    if grasps_of(item, gripper) or grasp_families(item, np.eye(4), gripper):
        return None
    if item.composite and not all_found(item, gripper.widest):
        return None
    x, y, _ = item.size
    widest = gripper.widest
    message = f"{item.name} ({x:.3f} x {y:.3f} m) is too wide for the hand ({widest:.3f} m)"
    if item.grasps or max(x, y) < gripper.narrowest:
        closed = f"its fingers close to {gripper.narrowest:.3f} m"
        message = f"{item.name} ({x:.3f} x {y:.3f} m) is too thin for the hand: {closed}"
    parts = {}
    if item.composite:
        message += ", and no two free surfaces that face away from each other are as close"
        parts = {"parts_m": [(2.0 * s.half_extents).tolist() for s in item.solid]}
    return Failure(
        FailureKind.DOES_NOT_FIT,
        message,
        (item.name,),
        {"width_m": float(min(x, y)), "room_m": widest},
        {
            "kind": "sizes",
            "item_m": item.size.tolist(),
            **parts,
            "opening_m": gripper.opening,
            "widest_m": widest,
            "narrowest_m": gripper.narrowest,
        },
    )


def cannot_take(scene: Scene, state: State, index: int, gripper: Gripper) -> Failure | None:
    """A Failure if an item that is not held is too heavy, or too wide upright and as it lies."""
    if index in state.in_hands:
        return None
    item = scene.items[index]
    failed = too_heavy(item, scene.physics)
    if failed is not None or grasps_at(scene, state, index, gripper):
        return failed
    return too_wide(item, gripper)


def cannot_take_as_it_lies(context: PlanningContext, state: State, index: int) -> Failure | None:
    """A Failure with sizes if an item has fallen over and can't be grasped as it lies, else None.

    It is too wide to be held sideways. If it could be held from above and below, the certificate
    has a proof that the hand lacks room for that. A composite item is also refused, however it
    stands, if its own parts are in the fingers' way.
    """
    scene, gripper = context.scene, context.robot.gripper
    item = scene.items[index]
    if index in state.in_hands or grasps_at(scene, state, index, gripper):
        return None
    X_WI = item_pose(scene, state, index, np.eye(4))
    if item.composite:
        return _parts_in_the_way(context, state, index)
    if is_upright(X_WI):
        return None
    up = int(np.argmax(np.abs(X_WI[2, :3])))
    across = [float(side) for axis, side in enumerate(item.size) if axis != up]
    families = item_grasps(context, state, index)
    proof = prove_no_grasp(context, state, families, scene.stances, f"take {item.name}", item.name)
    if families and proof is None:
        return None
    return Failure(
        FailureKind.DOES_NOT_FIT,
        f"{item.name} lies on its side: it is {across[0]:.3f} x {across[1]:.3f} m across, too wide "
        f"for the hand, which takes {gripper.widest:.3f} m",
        (item.name,),
        {"width_m": min(across), "room_m": gripper.widest},
        {
            "kind": "sizes",
            "item_m": item.size.tolist(),
            "vertical_axis": "xyz"[up],
            "opening_m": gripper.opening,
            "widest_m": gripper.widest,
            "below": None if proof is None else dict(proof.certificate or {}),
        },
    )


def _parts_in_the_way(context: PlanningContext, state: State, index: int) -> Failure | None:
    """A Failure with a proof if a composite item's own parts leave the fingers no room.

    It holds whatever is moved or opened beside the item.
    """
    scene, item = context.scene, context.scene.items[index]
    families = item_grasps(context, state, index)
    if not families:
        return too_wide(item, context.robot.gripper)
    if not all_found(item, context.robot.gripper.widest):
        return None
    others = frozenset([b.name for b in scene.bodies] + [i.name for i in scene.items])
    alone = [replace(family, carried=others - {item.name}) for family in families]
    proof = prove_no_grasp(context, state, alone, scene.stances, f"take {item.name}", item.name)
    if proof is None or proof.kind is not FailureKind.BLOCKED:
        return proof
    message = (
        f"{item.name} does not fit into the hand: its parts leave no room for the fingers beside "
        "those that they can close on (shown for all grasps in "
        f"{proof.numbers['cells']:,.0f} cells)"
    )
    return replace(proof, kind=FailureKind.DOES_NOT_FIT, message=message)


def too_heavy(item: Item, physics: Physics) -> Failure | None:
    """A Failure if two fingers can't hold the item's weight by Coulomb friction, else None."""
    weight = item.mass * float(np.linalg.norm(physics.gravity))
    held = 2.0 * physics.finger_force * physics.finger_friction
    if weight <= held:
        return None
    return Failure(
        FailureKind.UNSTABLE,
        f"{item.name} weighs {weight:.0f} N, but two fingers hold at most {held:.0f} N by friction",
        (item.name,),
        {"weight_N": weight, "held_N": held},
        {
            "kind": "friction",
            "mass_kg": item.mass,
            "finger_force_N": physics.finger_force,
            "finger_friction": physics.finger_friction,
        },
    )


def region_out_of_reach(
    context: PlanningContext,
    item: Item,
    region: Region,
    stance: Stance,
    state: State | None = None,
    spot: Spot | None = None,
    wholly: bool = True,
) -> Failure | None:
    """A Failure with a distance bound if no place in the region is in reach, else None.

    It holds for all values of the joints that move the region, and for all ways to hold the item.

    Args:
        state: the grasp in which the item is held, if it is; all other grasps count, too.
        spot: an exact place in the region: then only poses that count as there matter.
        wholly: whether the item is wholly in the region; else only its centre is over it.
    """
    turned = [(pose, box) for pose in allowed_poses(item) for box in region.boxes]
    points = np.concatenate([_standing(pose.item, box, wholly) for pose, box in turned])
    what = f"all of {region.name}"
    if spot is not None:
        points[:, :2], what = spot.xy, f"the place for {item.name} on {region.name}"
    box = _reach_of_body(context.scene, region.body, points)
    hand = _hand_reach(context, item, state) + (0.0 if spot is None else SPOT_RADIUS)
    return _distance_bound(context, box, hand, stance, what, (item.name, region.name))


def handle_does_not_fit(handle: Handle, gripper: Gripper) -> Failure | None:
    """A Failure with sizes if a handle is too thick for the fingers, or thinner than they close."""
    if gripper.narrowest <= handle.thickness <= gripper.widest:
        return None
    takes = f"{gripper.narrowest:.3f} to {gripper.widest:.3f} m"
    return Failure(
        FailureKind.DOES_NOT_FIT,
        f"{handle.name} is {handle.thickness:.3f} m thick, but the hand takes {takes}",
        (handle.name,),
        {"thickness_m": handle.thickness, "room_m": gripper.widest},
        {
            "kind": "sizes",
            "thickness_m": handle.thickness,
            "narrowest_m": gripper.narrowest,
            "widest_m": gripper.widest,
        },
    )


def handle_out_of_reach(context: PlanningContext, handle: Handle, stance: Stance) -> Failure | None:
    """A Failure with a distance bound if the handle is out of reach at every joint value."""
    along = handle.span * np.cross(handle.closing, handle.approach)
    points = handle.point + np.array([-along, along])
    box = _reach_of_body(context.scene, handle.body, points)
    robot = context.robot
    aside = handle.thickness / 2.0 if robot.gripper.one_jaw else 0.0  # from the middle to T
    hand = float(np.linalg.norm(robot.p_HT)) + aside
    return _distance_bound(context, box, hand, stance, handle.name, (handle.name,))


def out_of_reach_as_found(
    context: PlanningContext, state: State, action: BoundAction, skill: Skill
) -> Failure | None:
    """A Failure if the item that an action takes is out of reach, or can't be grasped as it lies.

    It holds as long as the item is where it is in ``state``; for an item in a drawer, wherever the
    drawer is. None if the action takes nothing, or if nothing can be proven.
    """
    taken, place = skill.role.takes, skill.role.place
    if taken is None or place is None:
        return None
    stance = stance_of(context, action.bindings[place])
    index = context.scene.item_index[action.bindings[taken].target]
    if index in state.in_hands:
        return None
    failed = cannot_take_as_it_lies(context, state, index)
    if failed is not None:
        return failed
    placed, item = state.items[index], context.scene.items[index]
    if placed.parent == WORLD:
        p_WI = item_pose(context.scene, state, index, np.eye(4))[:3, 3]
        box: Array | None = np.array([p_WI, p_WI])
    else:
        box = _reach_of_body(context.scene, placed.parent, placed.X_PI[None, :3, 3])
    return _distance_bound(
        context, box, _hand_reach(context, item), stance, item.name, (item.name,)
    )


def _standing(item: Item, box: Array, wholly: bool) -> Array:
    """Corners (n, 3) of the places of an item's centre, its footprint within a box (2, 3).

    If not ``wholly``, the centre may be anywhere over the box, and the item may rest on any side.
    """
    rim = Upright.of(item).rim
    # The centre is at least this far from the edges, whatever the yaw.
    short = float((rim * _normals(rim)).sum(axis=1).min()) if wholly else 0.0
    lower, upper = box[0, :2] + short, box[1, :2] - short
    middle = 0.5 * (lower + upper)
    lower, upper = np.minimum(lower, middle), np.maximum(upper, middle)
    # Its centre is at most this high, however it lies.
    high = max(float(np.linalg.norm(item.size)), float(box[1, 2] - box[0, 2]))
    up = (item.size[2] / 2.0,) if wholly else (0.0, high)
    xs, ys, zs = (lower[0], upper[0]), (lower[1], upper[1]), float(box[0, 2]) + np.array(up)
    return np.array(list(product(xs, ys, zs)))


def _hand_reach(context: PlanningContext, item: Item, state: State | None = None) -> float:
    """Largest distance (m) of the hand's origin from the item's centre in any grasp.

    The grasps are those of its list, or anywhere in its box; and the one in ``state``, if held.
    """
    p_HT, listed = context.robot.p_HT, grasps_of(item, context.robot.gripper) if item.grasps else ()
    distances = [float(np.linalg.norm(hand_in_item(g, p_HT)[:3, 3])) for g in listed]
    if not distances:
        distances = [float(np.linalg.norm(item.size / 2.0) + np.linalg.norm(p_HT))]
    index = context.scene.item_index[item.name]
    if state is not None and state.held == index:
        distances.append(float(np.linalg.norm(inverse(state.items[index].X_PI)[:3, 3])))
    return max(distances)


def _reach_of_body(scene: Scene, body: str, points: Array) -> Array | None:
    """A box (2, 3) in the world around points (n, 3) of a body for all values of its joints.

    None if a joint is revolute, for the ends of its range don't bound its travel.
    """
    joints = [j for name in scene.chain(body) if (j := scene.body(name).joint) is not None]
    if any(scene.joint(name).kind != "prismatic" for name in joints):
        return None
    corners = []
    for ends in product((0, 1), repeat=len(joints)):
        scene_q = np.zeros(len(scene.joints))
        for name, end in zip(joints, ends, strict=True):
            joint = scene.joint(name)
            scene_q[scene.joint_index[name]] = (joint.lower, joint.upper)[end]
        X = scene.body_pose(body, scene_q)
        corners.append(points @ X[:3, :3].T + X[:3, 3])
    everywhere = np.concatenate(corners)
    return np.array([everywhere.min(axis=0), everywhere.max(axis=0)])


def _distance_bound(
    context: PlanningContext,
    box: Array | None,
    hand: float,
    stance: Stance,
    what: str,
    objects: tuple[str, ...],
) -> Failure | None:
    """The distance bound for a box (2, 3) in the world; None if it may be in reach, or is None.

    Args:
        hand: largest distance (m) of the hand's origin from what must be reached in the box.
        what: the name of that, for the message.
        objects: names of the objects concerned.
    """
    if box is None:
        return None
    low, high, _, height = shoulders(stance, context.robot)
    nearest = np.empty(3)
    # The point of the box nearest to where the shoulder can be, or the base below it.
    between = 0.5 * (np.maximum(box[0, :2], low) + np.minimum(box[1, :2], high))
    nearest[:2] = np.clip(between, box[0, :2], box[1, :2])
    nearest[2] = np.clip(height, box[0, 2], box[1, 2])
    gap = shortfall(nearest, stance, context.robot) - hand
    if gap <= 0.0:
        return None
    return Failure(
        FailureKind.UNREACHABLE,
        f"{what} is at least {metres(gap)} out of reach from everywhere in stance set "
        f"'{stance.name}'",
        objects,
        {"shortfall_m": gap},
        {
            "kind": "distance-bound",
            "point_m": nearest.tolist(),
            "hand_m": hand,
            "stance": stance.name,
            **({"hand": context.robot.hand} if context.robot.hand else {}),
        },
    )
