"""Random hand poses in the kitchen: the goals of the motion benchmark."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from galley.domain.frames import Array, rotation_about, rotation_z, transform
from galley.domain.scene.model import HAND
from galley.domain.state import Placement, State
from galley.skills.manipulation.contacts import handle_manipulations, place_manipulations
from galley.skills.manipulation.context import PlanningContext
from galley.skills.manipulation.grasps import grasps_of, item_in_hand
from galley.skills.manipulation.manipulation import shifted
from galley.skills.pick import pick_manipulations

Goals = Iterator[tuple[Array, State]]
"""Hand poses X_WH (4, 4), each with the world in which the hand is brought there."""

DRAWER = "indigo_drawer_top"
OPENING = 0.30  # m, as far as the task pulls it
_ABOVE_FLOOR = 0.012  # m between a held item and the floor of the drawer


def burners(bench: PlanningContext, state: State, rng: np.random.Generator) -> Goals:
    """In front of a grasp of an item on the stove, withdrawn by the length of the approach."""
    while True:
        index = int(rng.integers(len(bench.scene.items)))
        yield next(pick_manipulations(bench, state, index, rng)).steps[0].poses[0], state


def handle(bench: PlanningContext, state: State, rng: np.random.Generator) -> Goals:
    """In front of the drawer's handle."""
    bar = bench.scene.handle("indigo_drawer_handle_top")
    while True:
        yield next(handle_manipulations(bench, state, bar, OPENING, rng)).steps[0].poses[0], state


def counters(bench: PlanningContext, state: State, rng: np.random.Generator) -> Goals:
    """The fingertips 3 to 15 cm above a counter, the hand leaning by up to 30 degrees."""
    while True:
        box = bench.scene.region(str(rng.choice(["hitman_top", "indigo_top"]))).boxes[0]
        p = np.append(rng.uniform(box[0, :2], box[1, :2]), box[0, 2] + rng.uniform(0.03, 0.15))
        yield _pointing_down(bench, p, rng, np.pi / 6), state


def carries(bench: PlanningContext, state: State, rng: np.random.Generator) -> Goals:
    """A held item 5 cm above a place on a counter or on the burners."""
    while True:
        held = _holding(bench, state, int(rng.integers(len(bench.scene.items))), rng)
        name = str(rng.choice(["hitman_top", "indigo_top", "burners"]))
        yield (
            next(place_manipulations(bench, held, bench.scene.region(name), rng)).steps[0].poses[0],
            held,
        )


def drawer(bench: PlanningContext, state: State, rng: np.random.Generator) -> Goals:
    """Fingertips deep in the open drawer, or the can just above its floor, in turns."""
    scene = bench.scene
    scene_q = state.scene_q.copy()
    scene_q[scene.joint_index[f"{DRAWER}_joint"]] = OPENING
    opened = state.with_scene(scene_q)
    inside = scene.region(f"{DRAWER}_inside")
    box = inside.boxes[0] + np.array([OPENING, 0.0, 0.0])
    can = scene.item_index["potted_meat_can"]
    while True:
        p = rng.uniform(box[0] + [0.30, 0.04, 0.025], box[1] - [0.04, 0.04, 0.055])
        yield _pointing_down(bench, p, rng, np.pi / 9), opened
        held = _holding(bench, opened, can, rng)
        X_WH = next(place_manipulations(bench, held, inside, rng)).contact
        yield shifted(X_WH, np.array([0.0, 0.0, _ABOVE_FLOOR])), held


def hood(bench: PlanningContext, state: State, rng: np.random.Generator) -> Goals:
    """Between the hood and the stove, over the back burners; every third time with an item."""
    return _reaching_in(bench, state, rng, ((-0.28, 0.08, 0.97), (-0.05, 0.75, 1.40)))


def cabinet(bench: PlanningContext, state: State, rng: np.random.Generator) -> Goals:
    """Between the left counter and the wall cabinet above; every third time with an item."""
    return _reaching_in(bench, state, rng, ((-0.28, 0.88, 0.98), (-0.06, 1.55, 1.36)))


def _reaching_in(
    bench: PlanningContext,
    state: State,
    rng: np.random.Generator,
    box: tuple[tuple[float, float, float], tuple[float, float, float]],
) -> Goals:
    """The grasp centre in a box, the hand pointing to the wall, up to 35 degrees off."""
    count = 0
    while True:
        world = state
        if count % 3 == 2:
            world = _holding(bench, state, int(rng.integers(len(bench.scene.items))), rng)
        count += 1
        yaw, pitch = rng.uniform(-0.6, 0.6), rng.uniform(-0.5, 0.3)
        ahead = np.array([-np.cos(yaw) * np.cos(pitch), np.sin(yaw) * np.cos(pitch), np.sin(pitch)])
        side = np.cross(ahead, [0.0, 0.0, 1.0])
        side /= np.linalg.norm(side)
        # The fingers side by side or one above the other, a little turned.
        roll = 0.5 * np.pi * rng.integers(4) + rng.uniform(-0.3, 0.3)
        closing = rotation_about(ahead, roll) @ side
        R = np.stack([np.cross(closing, ahead), closing, ahead], axis=1)
        yield _hand(bench, R, rng.uniform(*box)), world


def _pointing_down(
    bench: PlanningContext, p_WT: Array, rng: np.random.Generator, lean: float
) -> Array:
    axis = rotation_z(rng.uniform(-np.pi, np.pi)) @ np.array([1.0, 0.0, 0.0])
    down = np.diag([1.0, -1.0, -1.0])
    R = rotation_about(axis, rng.uniform(0.0, lean)) @ rotation_z(rng.uniform(-np.pi, np.pi))
    return _hand(bench, R @ down, p_WT)


def _hand(bench: PlanningContext, R_WH: Array, p_WT: Array) -> Array:
    return transform(R_WH, p_WT) @ transform(None, -bench.robot.p_HT)


def _holding(bench: PlanningContext, state: State, index: int, rng: np.random.Generator) -> State:
    """The world with an item in the hand, by any of its grasps."""
    grasps = grasps_of(bench.scene.items[index], bench.robot.gripper)
    grasp = grasps[int(rng.integers(len(grasps)))]
    q = state.q.copy()
    q[bench.robot.slice("fingers")] = grasp.width / 2.0
    placed = Placement(HAND, item_in_hand(grasp, bench.robot.p_HT))
    return replace(state.with_robot(q), items=state.with_item(index, placed).items)
