"""What Drake calls a collision the kernel calls one too, and how often it does so without cause."""

from __future__ import annotations

import numpy as np
import pytest

from galley.collision.backends.drake_world import DrakeWorld
from galley.collision.checker import pair
from galley.collision.collision_world import CollisionWorld
from galley.collision.scene_kernel import SceneKernel
from galley.domain.frames import rotation_about, transform
from galley.domain.scene.model import HAND
from galley.domain.state import Placement, initial_state
from galley.robots.iiwa import iiwa
from galley.robots.panda.description import panda_arm
from galley.robots.panda.kinematics import p_HT
from galley.robots.panda.models import mobile_panda
from galley.tests.collision.kernel.support import (
    SLACK,
    DrakeOracle,
    bullet,
    random_solid,
    random_world,
    within,
)

DRAWER = "indigo_drawer_top_joint"
RIGID = ("panda_hand", "panda_leftfinger", "panda_rightfinger", "panda_link7")
REACHES_OUT = 0.008  # m, the most that a covering sphere leaves its link


@pytest.fixture(scope="module")
def drake(kitchen, robot):
    with DrakeWorld(kitchen, robot) as world:
        yield world


@pytest.fixture(scope="module")
def scenes(kitchen, robot):
    return SceneKernel(kitchen, robot)


def states(kitchen):
    start = initial_state(kitchen)
    opened = start.scene_q.copy()
    opened[kitchen.joint_index[DRAWER]] = 0.3
    grasp = transform(rotation_about((0.0, 0.0, 1.0), 0.4), p_HT)
    tilted = transform(rotation_about((1.0, 0.0, 0.0), 0.6), p_HT + np.array([0.0, 0.0, 0.09]))
    inside = Placement("indigo_drawer_top", transform(None, (0.12, 1.21, 0.82)))
    return {
        "start": start,
        "drawer open, the can in it": start.with_scene(opened).with_item(1, inside),
        "sugar box held": start.with_item(0, Placement(HAND, grasp)),
        "can held, drawer open": start.with_scene(opened).with_item(1, Placement(HAND, tilted)),
    }


STATES = ("start", "drawer open, the can in it", "sugar box held", "can held, drawer open")


def near_furniture(robot, rng, count):
    low, high = within(robot)
    low, high = low.copy(), high.copy()
    low[0], high[0] = 0.55, 1.15
    return rng.uniform(low, high, (count, robot.size))


def relevant(kitchen, robot, state):
    """Which pairs the kernel judges: those with the robot or what it holds, not held by rigidly."""
    held = None if state.held is None else kitchen.items[state.held].name
    own = {*robot.links, held} - {None}
    rigid = {pair(held, link) for link in RIGID} if held else set()
    return lambda a, b: (a in own or b in own) and (a, b) not in rigid


@pytest.mark.parametrize("name", STATES)
def test_what_collides_in_drake_is_never_free(kitchen, robot, drake, scenes, name):
    """And what keeps a sphere's reach from everything in Drake is always free."""
    state = states(kitchen)[name]
    counts = relevant(kitchen, robot, state)
    Q = near_furniture(robot, np.random.default_rng(len(name)), 700)
    free = scenes.view(state, "all", margin=0.0).free_many(Q)
    alarms = collisions = 0
    for q, said in zip(Q, free, strict=True):
        drake.set_state(state.with_robot(q))
        hits = [c for c in drake.contacts() if counts(c.a, c.b)]
        collisions += bool(hits)
        if said:
            assert all(c.distance > -1e-6 for c in hits), (q, hits[0])
        elif not hits:
            alarms += 1
            near = [c for c in drake.contacts(within=0.03) if counts(c.a, c.b)]
            assert near[0].distance < 2.0 * REACHES_OUT + SLACK, (q, near[0])
    assert 100 < collisions < 650
    assert alarms < 0.05 * len(Q)


@pytest.mark.parametrize("name", STATES)
def test_distances_are_never_larger_than_drakes_and_little_smaller(
    kitchen, robot, drake, scenes, name
):
    """Pair by pair, within 3 cm; smaller by no more than spheres reach beyond their links.

    Depths are not compared: that of one sphere is less than that of a whole link.
    """
    state = states(kitchen)[name]
    counts = relevant(kitchen, robot, state)
    view = scenes.view(state, "all")
    parts = view.moving_bodies.names  # among themselves these are told of only where they overlap
    seen = 0
    for q in near_furniture(robot, np.random.default_rng(7 + len(name)), 150):
        drake.set_state(state.with_robot(q))
        exact = {(c.a, c.b): c.distance for c in drake.contacts(within=0.04) if counts(c.a, c.b)}
        found = {(c.a, c.b): c.distance for c in view.contacts(q, within=0.03)}
        for (a, b), d in exact.items():
            own = a in parts and b in parts
            bound = 0.0 if own else 0.03
            if d < bound - SLACK:
                assert (a, b) in found, (q, a, b, d)
                assert found[a, b] <= max(d, 0.0) + SLACK, (q, a, b, d)
                seen += 1
        for (a, b), d in found.items():
            reach = REACHES_OUT * ((a in robot.links) + (b in robot.links))
            if d > -SLACK:
                assert exact.get((a, b), 0.04) <= d + reach + 1e-3, (q, a, b, d)
    assert seen > 100


ROBOTS = {"panda_arm": panda_arm, "iiwa": iiwa, "mobile_panda": mobile_panda}


@pytest.mark.parametrize("name", ROBOTS)
def test_no_robot_is_free_where_it_hits_a_random_shape(name):
    """Turned boxes, cylinders, spheres and hulls, one in the hand; Drake and PyBullet agree."""
    robot = ROBOTS[name]()
    rng = np.random.default_rng(4)
    obstacles = random_world(5, 12, np.array([-0.8, -0.8, 0.1]), np.array([0.8, 0.8, 1.4]), 0.25)
    for k in range(3):
        at = rng.uniform([-0.8, -0.8, 0.2], [-0.3, 0.8, 1.0])
        obstacles[f"hull{k}"] = random_solid("hull", rng, at, (0.1, 0.4))
    held = random_solid("cylinder", rng, np.array([0.0, 0.0, 0.16]), (0.06, 0.1))
    world = CollisionWorld(robot, obstacles, margin=0.0).holding("tin", held)
    oracle = DrakeOracle(robot, obstacles, {"tin": held})
    rigid = {pair("tin", link) for link in (*RIGID, robot.palm)}
    low, high = within(robot)
    low, high = np.maximum(low, -3.0), np.minimum(high, 3.0)
    Q = rng.uniform(low, high, (400, robot.size))
    free = world.free_many(Q)
    hits = alarms = 0
    with bullet(robot, obstacles) as engine:
        for k, (q, said) in enumerate(zip(Q, free, strict=True)):
            exact = {p: d for p, d in oracle.distances(q, 0.0).items() if p not in rigid}
            deepest = min(exact.values(), default=1.0)
            hits += deepest < 0.0
            alarms += not said and deepest >= 0.0
            if said:
                assert deepest > -SLACK, (q, exact)
                if k % 4 == 0:
                    assert min(engine.distances(q, 0.0).values(), default=0.0) > -0.003, q
    assert hits > 50
    assert free.sum() > 20
    assert alarms < 0.12 * len(Q)
