"""The kitchen's manipulations: their lines and strokes, and which pairs may touch.

The generators are lazy and endless: grasps, placements and handle grasps in random order.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import cycle, islice, product

import numpy as np

from galley.collision.checker import MARGIN, Pair, pairs
from galley.domain.frames import Array, inverse, transform
from galley.domain.predicates import corners
from galley.domain.scene.model import HAND, Grasp, Handle, Item, Joint, Region, Spot
from galley.domain.state import Placement, State, item_pose
from galley.motion.guarded_approach import threshold
from galley.motion.motion import Attachment, Guard
from galley.motion.thresholds import THRESHOLDS
from galley.skills.manipulation.context import PlanningContext
from galley.skills.manipulation.fans import CLEARANCE, widest_opening
from galley.skills.manipulation.grasps import (
    grasps_at,
    hand_in_item,
    item_in_hand,
    leaning_grasps,
)
from galley.skills.manipulation.hand import hand_bounds, obstacles, overlapping
from galley.skills.manipulation.manipulation import (
    APPROACH_SPEED,
    CARRY_SPEED,
    LOWER_SPEED,
    RETREAT,
    Line,
    Manipulation,
    Stroke,
    along_joint,
    backed_off,
    handle_grasps,
    shifted,
    straight,
)
from galley.skills.placing.placements import LaterItem, placements_in

LIFT = 0.05  # m, straight up from a support
_FORCE_RATE = 1000.0  # Hz, of readings of the force: the Panda's
_TOUCHING = 0.003  # m, furniture nearer than this to an item supports it
_BESIDE = MARGIN - 0.0005  # m, two items nearer than this leave no margin between them
_OVER = 0.02  # m, an item is lifted this far above the items beside it
_ALIKE = math.cos(math.radians(2.0))  # two grasps that are turned by less are one
_SAME_PLACE = 0.002  # m, likewise
_FEW = 16  # leaning grasps checked in one turn


def pick_manipulations(
    context: PlanningContext, state: State, index: int, rng: np.random.Generator
) -> Iterator[Manipulation]:
    """Pick an item that stands or lies: approach, close, lift. Empty where no grasp exists.

    Items that stand too near for a free motion to start beside them may touch during the lift,
    which then ends above them.
    """
    scene, fingers, openings = context.scene, context.robot.fingers, _openings(context)
    item = scene.items[index]
    X_WI = item_pose(scene, state, index, np.eye(4))
    under, near = supporting_furniture(context, state, index), touching_items(context, state, index)
    lift = np.array([0.0, 0.0, max(LIFT, height_over(context, state, index, near))])
    grip = pairs(fingers, (item.name,))
    touch = grip | pairs((item.name,), (*under, *near))
    held = (Attachment("item", item.name),)
    for grasp in _grasps_in_turns(context, state, index, rng):
        X_WH = X_WI @ hand_in_item(grasp, context.robot.p_HT)
        inside = Placement(HAND, item_in_hand(grasp, context.robot.p_HT))
        lifted, up = state.with_item(index, inside), straight(X_WH, shifted(X_WH, lift))
        most = widest_opening(item, grasp.X_IT, grasp.width, context.robot.gripper) / 2.0
        yield Manipulation(
            f"pick {item.name} ({grasp.name})",
            (
                _approach(X_WH, state, grip),
                Stroke("close fingers", grasp.width / 2.0, touch, (), _grip(context, X_WH)),
                Line("lift", up, lifted, touch, held, CARRY_SPEED),
            ),
            min(most, next(openings)(grasp.width / 2.0)),
        )


def _grasps_in_turns(
    context: PlanningContext, state: State, index: int, rng: np.random.Generator
) -> Iterator[Grasp]:
    """Grasps of an item, endlessly: all standard ones, then some leaning ones, and so on.

    Those that closed on nothing, whichever way round the hand was, are left out while there are
    others.
    """

    def untried(grasp: Grasp) -> bool:
        return not any(k == index and _same_grasp(X_IT, grasp.X_IT) for k, X_IT in context.missed)

    every = grasps_at(context.scene, state, index, context.robot.gripper)
    standard = list(filter(untried, every))
    leaning = filter(untried, leaning_with_room(context, state, index, rng))
    checked = list[Grasp]()
    while True:
        yield from (standard[k] for k in rng.permutation(len(standard)))
        more = list(islice(leaning, _FEW))
        checked += more
        if not standard and not checked:
            if not every:
                return
            standard = list(every)
        yield from more or (checked[k] for k in rng.permutation(len(checked)))


def _same_grasp(X_IA: Array, X_IB: Array) -> bool:
    """Whether two fingers close alike with their grasp frames at X_IA and X_IB (4, 4)."""
    R_AB = X_IA[:3, :3].T @ X_IB[:3, :3]
    turned = R_AB[2, 2] < _ALIKE or abs(R_AB[1, 1]) < _ALIKE
    return not turned and float(np.linalg.norm(X_IA[:3, 3] - X_IB[:3, 3])) < _SAME_PLACE


def leaning_with_room(
    context: PlanningContext, state: State, index: int, rng: np.random.Generator
) -> Iterator[Grasp]:
    """The leaning grasps at which the hand alone is free, and during the approach.

    In random order, checked a few at a time.
    """
    scene, robot = context.scene, context.robot
    found = leaning_grasps(scene, state, index, robot.gripper)
    if not found:
        return
    X_WT = item_pose(scene, state, index, np.eye(4)) @ np.array([g.X_IT for g in found])
    ways = np.array([back * X_WT[:, :3, 2] for back in (0.0, RETREAT / 2.0, RETREAT)])
    about = hand_bounds(robot, (X_WT[:, :3, 3] - ways).reshape(-1, 3))
    order, others = rng.permutation(len(found)), obstacles(context, state, (), about)
    hit = np.zeros(len(found), dtype=bool)
    for begin in range(0, len(found), 2 * _FEW):
        lot = order[begin : begin + 2 * _FEW]
        for way, width in product(ways, {found[k].width for k in lot}):
            rows = np.array([k for k in lot if found[k].width == width and not hit[k]], int)
            X = X_WT[rows]
            X[:, :3, 3] -= way[rows]
            hit[rows] = overlapping(robot, others, scene.items[index].name, X, width / 2.0)
        yield from (found[k] for k in lot if not hit[k])


def place_manipulations(
    context: PlanningContext,
    state: State,
    region: Region,
    rng: np.random.Generator,
    later: Sequence[LaterItem] = (),
    spot: Spot | None = None,
) -> Iterator[Manipulation]:
    """Place the held item upright in a region: lower, open, withdraw. Empty if none is held.

    Args:
        later: items that need room in the region afterwards.
        spot: the exact place; None: any free one.
    """
    scene, fingers = context.scene, context.robot.fingers
    index = state.held
    if index is None:
        return
    item = scene.items[index]
    X_HI = state.items[index].X_PI
    width = float(state.q[context.robot.slice("fingers")][0])
    grip = pairs(fingers, (item.name,)) | held_item_contacts(context, state, item)
    down = pairs((item.name,), (region.body,))
    X_WB = scene.body_pose(region.body, state.scene_q)
    moves = scene.body(region.body).joint is not None
    openings = _openings(context)
    landing = _landing(item)
    X_IT = inverse(X_HI) @ transform(None, context.robot.p_HT)
    most = widest_opening(item, X_IT, 2.0 * width, context.robot.gripper) / 2.0
    for X_BI in placements_in(scene, state, item, region, later, spot, rng):
        X_WI = X_WB @ X_BI
        X_WH = X_WI @ inverse(X_HI)
        up = shifted(X_WH, np.array([0.0, 0.0, LIFT]))
        put = Placement(region.body, X_BI) if moves else Placement("world", X_WI)
        yield Manipulation(
            f"place {item.name} on {region.name}",
            (
                Line(
                    "lower",
                    straight(up, X_WH),
                    state,
                    grip | down,
                    (Attachment("item", item.name),),
                    LOWER_SPEED,
                    guard=landing,
                ),
                Stroke("open fingers", min(most, next(openings)(width)), grip | down, ()),
                _withdraw(X_WH, state.with_item(index, put), grip),
            ),
            width,
        )


def handle_manipulations(
    context: PlanningContext, state: State, handle: Handle, value: float, rng: np.random.Generator
) -> Iterator[Manipulation]:
    """Grasp a handle, move its joint to ``value`` (m or rad), let go."""
    scene, fingers = context.scene, context.robot.fingers
    k = scene.joint_index[handle.joint]
    joint = scene.joints[k]
    start = float(state.scene_q[k])
    touch = pairs(fingers, (handle.body,))
    X_WB = scene.body_pose(handle.body, state.scene_q)
    after = np.array(state.scene_q)
    after[k] = value
    grasps, wide = handle_grasps(X_WB, handle, context.robot.p_HT), context.robot.gripper.open
    held = (Attachment("joint", joint.name),)
    guard = _stuck_or_shut(joint, start, value, X_WB @ np.array([*handle.point, 1.0]))
    while True:
        for g in rng.permutation(len(grasps)):
            X_WH = grasps[g]
            poses, values = along_joint(X_WH, joint, start, value)
            scene_q = np.repeat(state.scene_q[None], len(values), axis=0)
            scene_q[:, k] = values
            verb = "pull" if value > start else "push"
            yield Manipulation(
                f"{verb} {handle.name}",
                (
                    _approach(X_WH, state, touch),
                    Stroke(
                        "close fingers", handle.thickness / 2.0, touch, (), _grip(context, X_WH)
                    ),
                    Line(verb, poses, state, touch, held, CARRY_SPEED, scene_q, guard),
                    Stroke("open fingers", wide, touch, ()),
                    _withdraw(poses[-1], state.with_scene(after), touch),
                ),
                wide,
            )


def _approach(X_WH: Array, state: State, touch: frozenset[Pair]) -> Line:
    """Straight to the contact with open fingers."""
    return Line(
        "approach", straight(backed_off(X_WH, RETREAT), X_WH), state, touch, (), APPROACH_SPEED
    )


def _withdraw(X_WH: Array, state: State, touch: frozenset[Pair]) -> Line:
    """Straight back from the contact with open fingers."""
    return Line(
        "withdraw", straight(X_WH, backed_off(X_WH, RETREAT)), state, touch, (), APPROACH_SPEED
    )


def _grip(context: PlanningContext, X_WH: Array) -> Guard:
    """Ends a stroke when both fingers press with a share of their force."""
    force = THRESHOLDS.grip_force * context.scene.physics.finger_force
    return Guard(X_WH[:3, 1], force, 0.1)


def _landing(item: Item) -> Guard:
    """Ends the lowering of an item when it is put down.

    Of what the hand feels, the item's inertia and noise are no contact. How fast it may be follows
    from the arm's configuration (``optimize``).
    """
    limits = THRESHOLDS
    duration = 1.875 * LIFT / LOWER_SPEED  # of the quintic, whose peaks are 15/8 and 10/sqrt(3)
    inertia = item.mass * 10.0 / np.sqrt(3.0) * LIFT / duration**2
    readings = math.ceil((duration + limits.overtravel / limits.creep) * _FORCE_RATE)
    force = threshold(inertia, limits.force_noise, limits.false_contact, readings)
    return Guard(np.array([0.0, 0.0, -1.0]), force, LOWER_SPEED, limits.overtravel)


def _stuck_or_shut(joint: Joint, start: float, value: float, p_WQ: Array) -> Guard:
    """Ends the motion of a joint, by its handle at p_WQ, when it resists.

    At a joint limit the hand pushes on until it meets the stop.
    """
    ahead = joint.motion(np.sign(value - start) * 1e-3) @ p_WQ - p_WQ
    direction = ahead[:3] / np.linalg.norm(ahead[:3])
    if value in (joint.lower, joint.upper):
        return Guard(direction, THRESHOLDS.push_force, CARRY_SPEED, THRESHOLDS.overtravel)
    return Guard(direction, THRESHOLDS.pull_force, CARRY_SPEED)


def _openings(context: PlanningContext) -> Iterator[Callable[[float], float]]:
    """Each finger's opening (m) for an item's half width: fully and narrowly in turn.

    Narrow openings fit between items that stand close together; wide ones tolerate more error.
    """
    most = context.robot.gripper.open
    return cycle((lambda half: most, lambda half: min(most, half + CLEARANCE)))


def supporting_furniture(context: PlanningContext, state: State, index: int) -> tuple[str, ...]:
    """Names of the furniture within 3 mm of an item: what it stands on."""
    bodies = {body.name for body in context.scene.bodies}
    return tuple(sorted(_near(context, state, index, _TOUCHING) & bodies))


def touching_items(context: PlanningContext, state: State, index: int) -> tuple[str, ...]:
    """Names of the items that an item touches, or nearly."""
    return tuple(sorted(_near(context, state, index, _BESIDE) & set(context.scene.item_index)))


def _near(context: PlanningContext, state: State, index: int, within: float) -> set[str]:
    """Names of what is nearer to an item than ``within`` metres."""
    name = context.scene.items[index].name
    context.world.set_state(state)
    near = context.world.near_pairs(within, (index,)).items()
    return {n for p, distance in near if name in p and distance < within for n in p} - {name}


def height_over(context: PlanningContext, state: State, index: int, near: Sequence[str]) -> float:
    """How far (m) to lift an item until its underside is above the items ``near`` it."""
    scene = context.scene

    def heights(k: int) -> Array:
        X_WI = item_pose(scene, state, k, np.eye(4))
        return np.asarray(corners(scene.items[k]) @ X_WI[2, :3] + X_WI[2, 3])

    bottom = float(heights(index).min())
    tops = [float(heights(scene.item_index[n]).max()) - bottom + _OVER for n in near]
    return max(tops, default=0.0)


def held_item_contacts(context: PlanningContext, state: State, item: Item) -> frozenset[Pair]:
    """Pairs of the held item and links that it touches: after slipping it may lean on the palm."""
    context.world.set_state(state)
    near = context.world.near_pairs(_TOUCHING, ())
    links = frozenset(context.robot.links)
    return frozenset(p for p in near if item.name in p and links & set(p))
