"""The kitchen's manipulations: their lines and strokes, and which pairs may touch.

The generators are lazy and endless. They yield grasps, placements and handle grasps in random
order, so that a caller can go on until one can be solved. Checks of the hand alone (``with_room``)
put those first that leave it room; the arm is left to ``step``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import cycle, islice, product, repeat

import numpy as np
from numpy.typing import NDArray

from galley.collision.checker import Pair, pairs
from galley.domain.frames import Array, inverse, transform
from galley.domain.log import CLOSE, OPEN
from galley.domain.predicates import corners
from galley.domain.scene.model import Grasp, Handle, Item, Joint, Region, Shape, Spot, Stance
from galley.domain.scene.stable_poses import allowed_poses, stable_poses
from galley.domain.state import Placement, State, item_pose
from galley.motion.guarded_approach import threshold
from galley.motion.motion import Attachment, Guard
from galley.motion.thresholds import THRESHOLDS
from galley.skills.manipulation.context import PlanningContext
from galley.skills.manipulation.grasp_families import CLEARANCE, widest_opening
from galley.skills.manipulation.grasps import may_turn
from galley.skills.manipulation.hand import hand_bounds, obstacles, overlapping
from galley.skills.manipulation.manipulation import (
    APPROACH_SPEED,
    CARRY_SPEED,
    LOWER_SPEED,
    GripperMotion,
    Line,
    Manipulation,
    along_joint,
    backed_off,
    handle_grasps,
    shifted,
    straight,
)
from galley.skills.placing.placements import LaterItem, placements_in

_FORCE_RATE = 1000.0  # Hz, readings of the force: the control rate of many arms
_TOUCHING = 0.003  # m, furniture nearer than this to an item supports it
_OVER = 0.02  # m, an item is lifted this far above its neighbours
_ROUNDING = 0.0005  # m, tolerance for what stands exactly the margin away
_NEAR_LOST = 0.03  # m, a placement nearer than this to one that failed counts as failed, too
UNCHECKED = 6  # grasps and placements tried before the hand's room is checked
_MOST_VAIN = 48  # placements in a row without room for the hand, after which the search ends
BATCH = 16  # leaning grasps checked in one turn
_UPWARDS = 0.2  # most upward part of the direction of a hand that puts an item down
_COMPARED = 48  # placements drawn together, of which the deepest are tried first


def with_room(
    context: PlanningContext,
    state: State,
    index: int,
    grasps: Sequence[Grasp],
    rng: np.random.Generator,
) -> Iterator[Grasp]:
    """The grasps of an item at which the hand alone is free of collision, in random order.

    It must be free at the grasp and half of the retreat before it. The grasps are checked lazily, a
    few at a time.
    """
    if not grasps:
        return
    robot, name = context.robot, context.scene.items[index].name
    X_WT = item_pose(context.scene, state, index, np.eye(4)) @ np.array([g.X_IT for g in grasps])
    ways = np.array([back * X_WT[:, :3, 2] for back in (0.0, robot.spacing.retreat / 2.0)])
    others = obstacles(
        context, state, (), hand_bounds(robot, (X_WT[:, :3, 3] - ways).reshape(-1, 3))
    )
    order = rng.permutation(len(grasps))
    for begin in range(0, len(grasps), BATCH):
        lot = order[begin : begin + BATCH]
        hit = np.zeros(len(lot), dtype=bool)
        for way, width in product(ways, {grasps[k].width for k in lot}):
            rows = np.array([not hit[n] and grasps[k].width == width for n, k in enumerate(lot)])
            X = X_WT[lot[rows]]
            X[:, :3, 3] -= way[lot[rows]]
            hit[rows] = overlapping(robot, others, name, X, width / 2.0)
        yield from (grasps[k] for k in lot[~hit])


def place_manipulations(
    context: PlanningContext,
    state: State,
    region: Region,
    rng: np.random.Generator,
    later: Sequence[LaterItem] = (),
    spot: Spot | None = None,
    aside: bool = False,
) -> Iterator[Manipulation]:
    """Ways to place the held item in a region: lower, open, withdraw. Empty if none is held.

    It is put down upright or, if it may lie, on any face that doesn't make the hand point up.

    Args:
        later: items that later actions put into the region, and that need room there.
        spot: the exact place; None for any free one.
        aside: whether the item is only set aside, to be taken by another grasp. Then an item that
            was found lying may lie again.
    """
    scene, fingers = context.scene, context.robot.fingers
    index = state.held
    if index is None:
        return
    item = scene.items[index]
    X_HI = state.items[index].X_PI
    width = float(context.robot.half_width(state.q[context.robot.slice("fingers")]))
    grip = pairs(fingers, (item.name,)) | held_item_contacts(context, state, item)
    down, body = pairs((item.name,), (region.body,)), scene.body(region.body)
    X_WB = scene.body_pose(region.body, state.scene_q)
    moves, thin = body.joint is not None, any(map(_is_plate, body.shapes))
    openings = finger_openings(context)
    spacing = context.robot.spacing
    landing = _landing(item, spacing.lift)
    X_IT = inverse(X_HI) @ transform(None, context.robot.p_HT)
    most = widest_opening(item, X_IT, 2.0 * width, context.robot.gripper) / 2.0
    to_it = [b for b in scene.bindings if b.kind == "furniture" and b.region == region.name]
    stances = [scene.stance(binding.target) for binding in to_it]

    def room(X_BI: Array) -> NDArray[np.bool_]:
        """Whether the hand alone has room at placements (n, 4, 4): (n,)."""
        X_WT = X_WB @ X_BI @ X_IT
        others = obstacles(context, state, (), hand_bounds(context.robot, X_WT[:, :3, 3]))
        return ~overlapping(context.robot, others, item.name, X_WT, width)

    lie = aside and may_lie_aside(context, index)
    lying = stable_poses(item) if lie else allowed_poses(item)
    if len(lying) > 1:
        ahead = inverse(X_HI)[:3, 2]  # the hand's z axis, in the item's frame
        lying = tuple(pose for pose in lying if pose.R_SI[2] @ ahead < _UPWARDS)
    poses = placements_in(scene, state, lying, region, later, spot, rng)
    if later and stances and region.kind == "surface":  # into a drawer the hand comes from above
        poses = _deepest_first(poses, X_WB, stances)
    lost = [X_WI for k, X_WI in context.failed.placements if k == index]
    if lost:
        poses = _others_first(poses, X_WB, lost)
    for X_BI in _checked_later(poses, room):
        X_WI = X_WB @ X_BI
        X_WH = context.nearest(X_WI @ inverse(X_HI), state)
        up = shifted(X_WH, np.array([0.0, 0.0, spacing.lift]))
        put = Placement(region.body, X_BI) if moves else Placement("world", X_WI)
        there = state.with_item(index, put)
        if thin:  # the item nearly touches what the plate lies on
            down = pairs((item.name,), (region.body, *supports_of(context, there, index)))
        opening = min(most, next(openings)(width))
        yield Manipulation(
            f"place {item.name} on {region.name}",
            (
                Line(
                    "lower",
                    straight(up, X_WH, spacing.step),
                    state,
                    grip | down,
                    (Attachment("item", item.name),),
                    LOWER_SPEED,
                    guard=landing,
                ),
                GripperMotion(OPEN, opening, grip | down, ()),
                *_withdraw(context, X_WH, opening - width, there, grip),
            ),
            width,
        )


def may_lie_aside(context: PlanningContext, index: int) -> bool:
    """Whether an item may lie where it is set aside.

    It may if it may be turned anyway, or if it was found lying.
    """
    return may_turn(context.scene.items[index]) or index in context.fell


def _is_plate(shape: Shape) -> bool:
    """Whether a shape is so thin that an item on it nearly touches what the shape lies on."""
    low, high = shape.bounds(np.eye(4))
    return shape.collision and bool(high[2] - low[2] < _TOUCHING)


def _deepest_first(
    poses: Iterator[Array], X_WB: Array, stances: Sequence[Stance]
) -> Iterator[Array]:
    """Poses in a body at X_WB, a few at a time, those first that are farthest from the stances.

    An item that is put down at the back doesn't block the way of later ones.
    """

    def depth(X_BI: Array) -> float:
        """Distance (m) from the nearest place where the base may stand."""
        p = (X_WB @ X_BI)[:2, 3]
        return min(math.dist(p, np.clip(p, s.lower[:2], s.upper[:2])) for s in stances)

    while some := list(islice(poses, _COMPARED)):
        yield from sorted(some, key=depth, reverse=True)


def _others_first(poses: Iterator[Array], X_WB: Array, lost: Sequence[Array]) -> Iterator[Array]:
    """Poses in a body at X_WB, those last that are near one of ``lost`` (poses in the world)."""
    near = []
    for X_BI in poses:
        p = (X_WB @ X_BI)[:3, 3]
        if min(math.dist(p, X_WI[:3, 3]) for X_WI in lost) < _NEAR_LOST:
            near.append(X_BI)
        else:
            yield X_BI
    yield from near


def _checked_later(
    poses: Iterator[Array], room: Callable[[Array], NDArray[np.bool_]]
) -> Iterator[Array]:
    """Poses, the first few unchecked, then only those at which the hand has room.

    The check pays off only where room is scarce, which shows when the first tries fail. The
    sampling ends after many poses in a row without room.
    """
    yield from islice(poses, UNCHECKED)
    vain = 0
    while vain < _MOST_VAIN and (some := list(islice(poses, BATCH))):
        free = room(np.array(some))
        vain = 0 if free.any() else vain + len(some)
        yield from (X for X, good in zip(some, free, strict=True) if good)


def handle_manipulations(
    context: PlanningContext, state: State, handle: Handle, value: float, rng: np.random.Generator
) -> Iterator[Manipulation]:
    """Ways to grasp a handle, move its joint to ``value`` (m or rad), and let go; endless."""
    scene, fingers = context.scene, context.robot.fingers
    k = scene.joint_index[handle.joint]
    joint = scene.joints[k]
    start = float(state.scene_q[k])
    touch = pairs(fingers, (handle.body,))
    X_WB = scene.body_pose(handle.body, state.scene_q)
    after = np.array(state.scene_q)
    after[k] = value
    grasps, wide = handle_grasps(X_WB, handle, context.robot), context.robot.gripper.open
    aside = wide - handle.thickness / 2.0
    held = (Attachment("joint", joint.name),)
    guard = _stuck_or_shut(joint, start, value, X_WB @ np.array([*handle.point, 1.0]))
    while True:
        for g in rng.permutation(len(grasps)):
            X_WH = context.nearest(grasps[g], state)
            poses, values = along_joint(X_WH, joint, start, value, context.robot.spacing.step)
            scene_q = np.repeat(state.scene_q[None], len(values), axis=0)
            scene_q[:, k] = values
            verb = "pull" if value > start else "push"
            yield Manipulation(
                f"{verb} {handle.name}",
                (
                    *approach_lines(context, X_WH, aside, state, touch),
                    GripperMotion(
                        CLOSE, handle.thickness / 2.0, touch, (), grip_guard(context, X_WH)
                    ),
                    Line(verb, poses, state, touch, held, CARRY_SPEED, scene_q, guard),
                    GripperMotion(OPEN, wide, touch, ()),
                    *_withdraw(context, poses[-1], aside, state.with_scene(after), touch),
                ),
                wide,
            )


def approach_lines(
    context: PlanningContext, X_WH: Array, gap: float, state: State, touch: frozenset[Pair]
) -> tuple[Line, ...]:
    """Lines straight to the contact with open fingers.

    A jaw that stands still first comes beside the item, and is then moved against it.

    Args:
        gap: distance (m) of each finger from what it will close on.
    """
    spacing, come = context.robot.spacing, _beside(context, X_WH, gap)
    ways = [straight(backed_off(come, spacing.retreat), come, spacing.step)]
    ways += [straight(come, X_WH, spacing.step)] if come is not X_WH else []
    return tuple(Line("approach", way, state, touch, (), APPROACH_SPEED) for way in ways)


def _withdraw(
    context: PlanningContext, X_WH: Array, gap: float, state: State, touch: frozenset[Pair]
) -> tuple[Line, ...]:
    """Lines straight back from the contact, fingers open; a still jaw first moves off the item."""
    spacing, go = context.robot.spacing, _beside(context, X_WH, gap)
    ways = [straight(X_WH, go, spacing.step)] if go is not X_WH else []
    ways += [straight(go, backed_off(go, spacing.retreat), spacing.step)]
    return tuple(Line("withdraw", way, state, touch, (), APPROACH_SPEED) for way in ways)


def _beside(context: PlanningContext, X_WH: Array, gap: float) -> Array:
    """The hand pose with a still jaw moved off what it holds; X_WH itself if both jaws move."""
    if not context.robot.gripper.one_jaw:
        return X_WH
    return shifted(X_WH, -min(gap, CLEARANCE) * X_WH[:3, 1])


def grip_guard(context: PlanningContext, X_WH: Array) -> Guard:
    """The guard that ends a closing stroke when both fingers press with a share of their force."""
    force = THRESHOLDS.grip_force * context.scene.physics.finger_force
    return Guard(X_WH[:3, 1], force, 0.1)


def _landing(item: Item, lift: float) -> Guard:
    """The guard that ends the lowering of an item when it touches down.

    Its force is above what the item's inertia and the sensor's noise cause without contact. How
    fast the hand may be at contact follows from the arm's configuration (``optimize``).
    """
    limits = THRESHOLDS
    duration = 1.875 * lift / LOWER_SPEED  # of the quintic, whose peaks are 15/8 and 10/sqrt(3)
    inertia = item.mass * 10.0 / np.sqrt(3.0) * lift / duration**2
    readings = math.ceil((duration + limits.overtravel / limits.creep) * _FORCE_RATE)
    force = threshold(inertia, limits.force_noise, limits.false_contact, readings)
    return Guard(np.array([0.0, 0.0, -1.0]), force, LOWER_SPEED, limits.overtravel)


def _stuck_or_shut(joint: Joint, start: float, value: float, p_WQ: Array) -> Guard:
    """The guard that ends the motion of a joint when it resists.

    At a joint limit the hand pushes on until it meets the stop.

    Args:
        p_WQ: the handle, a homogeneous point (4,).
    """
    ahead = joint.motion(np.sign(value - start) * 1e-3) @ p_WQ - p_WQ
    direction = ahead[:3] / np.linalg.norm(ahead[:3])
    if value in (joint.lower, joint.upper):
        return Guard(direction, THRESHOLDS.push_force, CARRY_SPEED, THRESHOLDS.overtravel)
    return Guard(direction, THRESHOLDS.pull_force, CARRY_SPEED)


def finger_openings(context: PlanningContext) -> Iterator[Callable[[float], float]]:
    """Functions from an item's half width to each finger's opening (m): wide and narrow in turn.

    Narrow openings fit between items that stand close together; wide ones tolerate more error.
    """
    most = context.robot.gripper.open
    if context.robot.gripper.opens_fully:
        return repeat(lambda half: most)
    return cycle((lambda half: most, lambda half: min(most, half + CLEARANCE)))


def supports_of(context: PlanningContext, state: State, index: int) -> tuple[str, ...]:
    """Names of what an item stands on: furniture and links of the base within 3 mm of it."""
    bodies = {body.name for body in context.scene.bodies}.union(context.robot.base_links)
    return tuple(sorted(near_to(context, state, index) & bodies))


def touching_items(context: PlanningContext, state: State, index: int) -> tuple[str, ...]:
    """Names of the items within the margin of an item, so that a free motion can't start there."""
    beside = context.robot.spacing.margin - _ROUNDING
    return tuple(sorted(near_to(context, state, index, beside) & set(context.scene.item_index)))


def near_to(
    context: PlanningContext, state: State, index: int, within: float = _TOUCHING
) -> set[str]:
    """Names of the bodies, links and items nearer to an item than ``within`` (m)."""
    name = context.scene.items[index].name
    context.world.set_state(state)
    near = context.world.near_pairs(within, (index,)).items()
    return {n for p, distance in near if name in p and distance < within for n in p} - {name}


def height_over(context: PlanningContext, state: State, index: int, under: Sequence[str]) -> float:
    """How far (m) to lift an item until it is above all that is within its margin at the sides.

    Args:
        under: names of what it stands on, which doesn't count.
    """
    item, X_WI = context.scene.items[index], item_pose(context.scene, state, index, np.eye(4))
    points = corners(item) @ X_WI[:3, :3].T + X_WI[:3, 3]
    low, high = points.min(axis=0), points.max(axis=0)
    room = context.robot.spacing.margin + _ROUNDING
    about = np.array([low - room, high + room])
    beside = obstacles(context, state, (item.name, *under), about)
    return max((float(part.solid.box[1][2] - low[2]) + _OVER for part in beside), default=0.0)


def held_item_contacts(context: PlanningContext, state: State, item: Item) -> frozenset[Pair]:
    """Pairs of the held item and the links that it touches.

    After slipping it may lean on the palm.
    """
    context.world.set_state(state)
    near = context.world.near_pairs(_TOUCHING, ())
    links = frozenset(context.robot.links)
    return frozenset(p for p in near if item.name in p and links & set(p))
