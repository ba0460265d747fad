"""Distances and their gradients against Drake's signed distances and finite differences."""

from __future__ import annotations

import numpy as np
import pytest

from galley.collision.collision_world import CollisionWorld
from galley.collision.scene_kernel import SceneKernel
from galley.collision.solids import box, cylinder
from galley.domain.frames import transform
from galley.domain.scene.model import HAND
from galley.domain.scene.reader import load_scene
from galley.domain.shipped import KITCHEN
from galley.domain.state import Placement, initial_state
from galley.robots.iiwa import iiwa
from galley.robots.panda.description import panda_arm
from galley.robots.panda.models import mobile_panda
from galley.tests.collision.kernel.support import DrakeOracle, random_world, within

WITHIN = 0.05
OWN = 0.002  # m that the robot's own parts keep


def made(make, group, held):
    robot = make()
    low, high = np.array([-0.9, -0.9, 0.1]), np.array([0.9, 0.9, 1.2])
    obstacles = random_world(21, 16, low, high, apart=0.4)
    world = CollisionWorld(robot, obstacles)
    rods = {"rod": box((0.03, 0.03, 0.2), at=(0.0, 0.0, 0.14))} if held else {}
    for name, solid in rods.items():
        world = world.holding(name, solid)
    return robot, world.view(group), DrakeOracle(robot, obstacles, rods)


def least_gap(robot, oracle, view, state, cap=0.1):
    """Drake's least distance beyond what is required, the next pair's, and the distance itself."""
    q = np.array(view.arrays.tree.q)
    q[view.moving] = state
    gaps = []
    for pair, distance in oracle.distances(q, cap).items():
        if "rod" in pair and set(pair) & {*robot.fingers}:
            continue
        own = all(name in robot.links for name in pair)
        gaps.append((distance - (OWN if own else 0.005), distance))
    gaps.sort()
    return gaps[0] if gaps else (cap, cap), gaps[1][0] if len(gaps) > 1 else cap


@pytest.mark.parametrize(
    ("make", "group", "held"),
    [(panda_arm, "arm", False), (panda_arm, "arm", True), (mobile_panda, "base+arm", True)],
)
def test_distances_are_drakes_and_gradients_its_finite_differences(make, group, held):
    robot, view, oracle = made(make, group, held)
    rng = np.random.default_rng(1)
    Q = rng.uniform(*within(robot, group), (1500, len(view.moving)))
    Q = Q[view.free_many(Q)][:60]
    near = view.nearby(Q, WITHIN)
    compared = 0
    for row, state in enumerate(Q):
        own = near.row == row
        (gap, distance), next_gap = least_gap(robot, oracle, view, state)
        if not own.any():
            assert gap > WITHIN - 1e-3
            continue
        gaps = near.distance[own] - near.required[own]
        nearest = int(gaps.argmin())
        if gap > WITHIN - 1e-3:
            continue
        assert near.distance[own][nearest] == pytest.approx(distance, abs=1e-4)
        if next_gap - gap < 0.004:
            continue  # which pair is the nearest changes within the difference
        h = 2e-3  # Drake's distances of meshes are good to some micrometres
        for k in range(len(view.moving)):
            up, down = state.copy(), state.copy()
            up[k] += h
            down[k] -= h
            ahead = least_gap(robot, oracle, view, up)[0][0]
            behind = least_gap(robot, oracle, view, down)[0][0]
            slope = (ahead - behind) / (2.0 * h)
            assert near.gradient[own][nearest, k] == pytest.approx(slope, abs=0.03)
            compared += 1
    assert compared > 60


def test_following_the_gradient_leads_out_of_an_overlap():
    robot, view, oracle = made(panda_arm, "arm", True)
    rng = np.random.default_rng(4)
    Q = rng.uniform(*within(robot, "arm"), (3000, 7))
    near = view.nearby(Q, 0.0)
    deepest = {}
    for index, row in enumerate(near.row):
        if near.distance[index] < near.distance[deepest.get(row, index)] + 1e-12:
            deepest[row] = index
    tried = better = 0
    for row, index in deepest.items():
        depth, gradient = near.distance[index], near.gradient[index]
        if not -0.03 < depth < -0.003 or np.linalg.norm(gradient) < 0.05:
            continue
        before = least_gap(robot, oracle, view, Q[row])[0][0]
        step = 0.01 * gradient / (gradient @ gradient)  # a centimetre, to first order
        after = least_gap(robot, oracle, view, Q[row] + step)[0][0]
        tried += 1
        better += after > before + 0.002
        if tried == 80:
            break
    assert tried > 30
    assert better > 0.8 * tried


def test_what_is_far_away_or_may_touch_is_not_listed():
    robot = iiwa()
    post = cylinder(0.05, 1.0, at=(0.5, 0.0, 0.5))
    world = CollisionWorld(robot, {"post": post})
    q = np.zeros((1, 7))
    q[0, 1] = 0.9
    listed = world.view("arm").nearby(q, 0.3)
    assert len(listed.row)
    allowed = frozenset(tuple(sorted((name, "post"))) for name in robot.links)
    scene_free = world.view("arm", allowed=allowed).nearby(q, 0.3)
    assert len(scene_free.row) < len(listed.row)
    assert (scene_free.required < 0.004).all(), "only the robot's own parts are left"
    assert len(world.view("arm").nearby(np.zeros((0, 7)), 0.3).row) == 0


def test_hundreds_of_rows_are_all_there_even_where_room_was_made_for_fewer():
    robot = panda_arm()
    cage = {
        f"bar{k}": box((0.01, 0.01, 1.5), at=(0.3 * np.cos(a), 0.3 * np.sin(a), 0.75))
        for k, a in enumerate(np.linspace(0, 2 * np.pi, 60, endpoint=False))
    }
    view = CollisionWorld(robot, cage).view("arm")
    q = np.array([[0.0, -0.5, 0.0, -2.2, 0.0, 1.8, 0.7]])
    many = view.nearby(q, 0.5)
    assert len(many.row) > 96
    one_by_one = view.nearby(np.repeat(q, 3, axis=0), 0.5)
    assert len(one_by_one.row) == 3 * len(many.row)
    np.testing.assert_allclose(
        np.sort(one_by_one.distance[one_by_one.row == 2]), np.sort(many.distance)
    )


def test_a_held_item_keeps_the_full_margin_to_the_arm_that_holds_it():
    scene = load_scene(KITCHEN / "kitchen.yaml")
    robot = mobile_panda(scene.robot.base)
    state = initial_state(scene)
    q = state.q[None, robot.slice("arm")]
    kernel = SceneKernel(scene, robot)
    empty = kernel.view(state, "arm").nearby(q, 0.4)
    held = state.with_item(0, Placement(HAND, transform(translation=[0.0, 0.0, 0.12])))
    carrying = kernel.view(held, "arm").nearby(q, 0.4)
    margin = float(kernel.view(held, "arm").arrays.checks.margins[0])
    assert set(np.round(empty.required, 4)) == {OWN}, "nothing else is near where the robot starts"
    assert set(np.round(carrying.required, 4)) == {OWN, round(margin, 4)}
    assert (carrying.required < 0.004).sum() == (empty.required < 0.004).sum()
