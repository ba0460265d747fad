"""The manipulations of the kitchen: how each is cut into lines and strokes, and what may touch.

Every function yields Manipulations lazily: grasps, placements and handle grasps in random order,
again and again, until whoever consumes them has enough.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from galley.domain.failure import Failure, FailureKind
from galley.domain.frames import Array, inverse, rotation_z, transform
from galley.domain.scene import HAND, Handle, Item, Region
from galley.domain.state import Placement, State, item_pose
from galley.motion.motion import Attachment, Guard
from galley.skills.grasps import grasps_of, hand_in_item, item_in_hand
from galley.skills.manipulation import (
    APPROACH_SPEED,
    CARRY_SPEED,
    Line,
    Manipulation,
    Stroke,
    along_joint,
    backed_off,
    handle_grasps,
    shifted,
    straight,
)
from galley.skills.workbench import OPEN, Workbench
from galley.worlds.checker import pairs

RETREAT = 0.08  # m, straight back from a contact
LIFT = 0.05  # m, straight up from a support
_TOUCHING = 0.003  # m, what is nearer than this to an item carries it
_DOWN = (0.0, 0.0, -1.0)


def picks(
    bench: Workbench, state: State, index: int, rng: np.random.Generator
) -> Iterator[Manipulation]:
    """Grasps of an item that stands: approach, close, lift."""
    scene, fingers = bench.scene, bench.robot.fingers
    item = scene.items[index]
    X_WI = item_pose(scene, state, index, np.eye(4))
    under = supports(bench, state, index)
    grip = pairs(fingers, (item.name,))
    held = (Attachment("item", item.name),)
    grasps = grasps_of(item)
    while grasps:
        for k in rng.permutation(len(grasps)):
            grasp = grasps[k]
            X_WH = X_WI @ hand_in_item(grasp, bench.robot.p_HT)
            inside = Placement(HAND, item_in_hand(grasp, bench.robot.p_HT))
            up = shifted(X_WH, np.array([0.0, 0.0, LIFT]))
            yield Manipulation(
                f"pick {item.name} ({grasp.name})",
                (
                    Line(
                        "approach",
                        straight(backed_off(X_WH, RETREAT), X_WH),
                        state,
                        grip,
                        (),
                        APPROACH_SPEED,
                    ),
                    Stroke(
                        "close fingers",
                        grasp.width / 2.0,
                        grip | pairs((item.name,), under),
                        (),
                        Guard(X_WH[:3, 1], bench.scene.physics.finger_force, 0.1),
                    ),
                    Line(
                        "lift",
                        straight(X_WH, up),
                        state.with_item(index, inside),
                        grip | pairs((item.name,), under),
                        held,
                        CARRY_SPEED,
                    ),
                ),
                OPEN,
            )


def places(
    bench: Workbench, state: State, region: Region, rng: np.random.Generator
) -> Iterator[Manipulation]:
    """Stable poses of the held item, upright in a region: lower, open, withdraw."""
    scene, fingers = bench.scene, bench.robot.fingers
    index = state.held
    assert index is not None, "place needs something in the hand"
    item = scene.items[index]
    X_HI = state.items[index].X_PI
    width = float(state.q[bench.robot.slice("fingers")][0])
    grip = pairs(fingers, (item.name,))
    down = pairs((item.name,), (region.body,))
    X_WB = scene.body_pose(region.body, state.scene_q)
    moves = scene.body(region.body).joint is not None
    while True:
        X_BI = sample_placement(item, region, rng)
        if X_BI is None:
            return
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
                    CARRY_SPEED,
                    guard=Guard(np.array(_DOWN), 5.0, CARRY_SPEED),
                ),
                Stroke("open fingers", OPEN, grip | down, ()),
                Line(
                    "withdraw",
                    straight(X_WH, backed_off(X_WH, RETREAT)),
                    state.with_item(index, put),
                    grip,
                    (),
                    APPROACH_SPEED,
                ),
            ),
            width,
        )


def operations(
    bench: Workbench, state: State, handle: Handle, value: float, rng: np.random.Generator
) -> Iterator[Manipulation]:
    """Ways to take a handle and bring its joint to ``value`` (m or rad), then let go."""
    scene, fingers = bench.scene, bench.robot.fingers
    k = scene.joint_index[handle.joint]
    joint = scene.joints[k]
    start = float(state.scene_q[k])
    touch = pairs(fingers, (handle.body,))
    X_WB = scene.body_pose(handle.body, state.scene_q)
    after = np.array(state.scene_q)
    after[k] = value
    grasps = handle_grasps(X_WB, handle, bench.robot.p_HT)
    held = (Attachment("joint", joint.name),)
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
                    Line(
                        "approach",
                        straight(backed_off(X_WH, RETREAT), X_WH),
                        state,
                        touch,
                        (),
                        APPROACH_SPEED,
                    ),
                    Stroke("close fingers", handle.thickness / 2.0, touch, ()),
                    Line(verb, poses, state, touch, held, CARRY_SPEED, scene_q),
                    Stroke("open fingers", OPEN, touch, ()),
                    Line(
                        "withdraw",
                        straight(poses[-1], backed_off(poses[-1], RETREAT)),
                        state.with_scene(after),
                        touch,
                        (),
                        APPROACH_SPEED,
                    ),
                ),
                OPEN,
            )


def sample_placement(item: Item, region: Region, rng: np.random.Generator) -> Array | None:
    """X_BI (4, 4) of the item standing upright in the region, its whole footprint inside.

    Half of the yaws are square to the region, half uniform. None if it fits nowhere.
    """
    areas = np.prod(region.boxes[:, 1, :2] - region.boxes[:, 0, :2], axis=1)
    for _ in range(200):
        lower, upper = region.boxes[rng.choice(len(areas), p=areas / areas.sum())]
        square = rng.random() < 0.5
        yaw = float(rng.integers(4)) * np.pi / 2 if square else float(rng.uniform(-np.pi, np.pi))
        R = rotation_z(yaw)
        reach = np.abs(R[:2, :2]) @ item.size[:2] / 2.0
        low, high = lower[:2] + reach, upper[:2] - reach
        if (low <= high).all():
            p = np.array([*rng.uniform(low, high), lower[2] + item.size[2] / 2.0])
            return transform(R, p)
    return None


def fits(item: Item, region: Region) -> Failure | None:
    """A Failure with sizes if the upright item fits nowhere in the empty region, else None."""
    height = float(item.size[2])
    if region.kind == "volume":
        room = float(region.boxes[0, 1, 2] - region.boxes[0, 0, 2])
        if height > room:
            return Failure(
                FailureKind.DOES_NOT_FIT,
                f"{item.name} is {height:.3f} m high when upright, {region.name} has {room:.3f} m",
                (item.name, region.name),
                {"height_m": height, "room_m": room},
                {"kind": "sizes", "item_m": item.size.tolist(), "room_height_m": room},
            )
    short, long = np.sort(item.size[:2])
    sides = np.sort(region.boxes[:, 1, :2] - region.boxes[:, 0, :2], axis=1)
    # Necessary for any yaw: a rectangle's shorter side must fit across the region's narrower one.
    if (short > sides[:, 0]).all() or (long > np.hypot(sides[:, 0], sides[:, 1])).all():
        room_m = sides.max(axis=0).tolist()
        return Failure(
            FailureKind.DOES_NOT_FIT,
            f"{item.name} ({short:.3f} x {long:.3f} m) fits nowhere on {region.name}",
            (item.name, region.name),
            {"width_m": float(short), "length_m": float(long)},
            {"kind": "sizes", "item_m": item.size.tolist(), "largest_room_m": room_m},
        )
    return None


def supports(bench: Workbench, state: State, index: int) -> tuple[str, ...]:
    """Names of the furniture on which an item stands: what lies within 3 mm of it."""
    scene = bench.scene
    bench.world.set_state(state)
    name = scene.items[index].name
    furniture = {body.name for body in scene.bodies}
    found = set()
    for (a, b), distance in bench.world.near_pairs(_TOUCHING, (index,)).items():
        other = b if a == name else a
        if name in (a, b) and other in furniture and distance < _TOUCHING:
            found.add(other)
    return tuple(sorted(found))
