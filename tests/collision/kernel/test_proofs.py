"""Edges proven free are free everywhere: thin plates, dense samples in Drake, travel bounds."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from galley.collision.backends.drake_world import DrakeWorld
from galley.collision.checker import pair
from galley.collision.collision_world import CollisionWorld
from galley.collision.kernel.arrays import BOX, LIMITS, SHARE, TRAVEL, Q
from galley.collision.kernel.continuous_collision import set_travel
from galley.collision.scene_kernel import SceneKernel
from galley.collision.solids import box
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
    dense,
    random_solid,
    random_world,
    within,
)
from galley.tests.effort import quick_first

DRAWER = "indigo_drawer_top_joint"
FINGERS = ("panda_leftfinger", "panda_rightfinger")
RIGID = ("panda_hand", *FINGERS, "panda_link7")
MADE = {
    "panda_arm": (panda_arm, "arm"),
    "iiwa": (iiwa, "arm"),
    "arm": (mobile_panda, "arm"),
    "base": (mobile_panda, "base"),
    "base+arm": (mobile_panda, "base+arm"),
}


# -- thin plates -----------------------------------------------------------------------------------


def test_a_thin_plate_that_sampled_edges_step_over_is_found():
    """1 mm across the way of stretched-out fingertips, which move 4 cm from state to state."""
    robot = panda_arm()
    tree = CollisionWorld(robot, {}).model.tree
    middle = np.array([0.0, 1.1, 0.0, -0.9, 0.0, 2.0, 0.785 + np.pi / 2, 0.0, 0.0])
    X = tree.link_pose(robot.palm, middle)
    tip = X[:3, 3] + 0.105 * X[:3, 2]
    world = CollisionWorld(robot, {"plate": box((0.008, 0.001, 0.008), at=tip)}, margin=0.0)
    view = world.view("arm", middle)
    missed = 0
    for shift in np.linspace(0.0, 0.05, 26):
        ends = np.array([middle[:7], middle[:7]])
        ends[:, 0] = -0.5 + shift, 0.5 + shift
        assert not view.free_many(dense(ends, 1e-3)).all()
        missed += view.edges_free(ends[:1], ends[1:])[0]
        edge, share = view.unproven(ends, 0.0)
        assert edge == 0
        assert abs(ends[0, 0] + share) < 0.05, "the plate is where joint 1 is about zero"
        # The same way by the law 3 u^2 - 2 u^3 in two seconds: fast at the plate.
        curve = np.zeros((1, 4, 7))
        curve[0, 0] = middle[:7]
        curve[0, :, 0] = ends[0, 0], 0.0, 3.0 / 4.0, -2.0 / 8.0
        t = view.curve_unproven([0.0, 2.0], curve, 0.0)
        assert abs(t ** np.arange(4) @ curve[0, :, 0]) < 0.05
        curve[0, 0, 3] += 0.3  # bent further: past the plate
        assert view.curve_unproven([0.0, 2.0], curve, 0.0) is None
    assert missed > 2, "else this shows nothing"


def test_a_proof_names_the_first_edge_and_a_state_on_it_that_is_too_near():
    robot = mobile_panda()
    q = np.array([0.0, 0.0, 0.0, 0.0, -0.6, 0.0, -2.5, 0.0, 2.0, 0.7, 0.0, 0.0])
    wall = box((0.1, 4.0, 1.0), at=(1.5, 0.0, 0.5))
    view = CollisionWorld(robot, {"wall": wall}, q=q, margin=0.0).view("base")
    path = np.array([[0.0, -1.0, 0.0], [0.0, 0.0, 0.0], [2.0, 0.0, 0.0]])
    edge, share = view.unproven(path, 0.02)
    assert edge == 1
    touch = 1.45 - 0.815 / 2 - 0.02  # the chassis' front reaches the wall
    assert touch - 2e-3 <= 2.0 * share <= 2.0
    assert view.unproven(path[:2], 0.02) is None
    assert view.unproven(path[:1], 0.02) is None
    short = np.array([path[1], [touch - 1e-3, 0.0, 0.0]])
    assert view.unproven(short, 0.02) is None
    short[1, 0] = touch + 1e-3
    assert view.unproven(short, 0.02) == (0, pytest.approx(1.0, abs=2e-3))


# -- dense samples in Drake ------------------------------------------------------------------------


def free_edges(view, rng, low, high, count, length):
    """Random edges (., 2, k) that are free at sampled states, most of them close to something."""
    A = rng.uniform(low, high, (60 * count, len(low)))
    A = A[view.free_many(A)]
    towards = rng.normal(size=A.shape)
    B = np.clip(A + length * towards / np.linalg.norm(towards, axis=1)[:, None], low, high)
    kept = view.edges_free(A, B)
    return np.stack([A[kept], B[kept]], axis=1)[:count]


@pytest.mark.parametrize("required", quick_first(1, [0.004, 0.0]))
@pytest.mark.parametrize(("name", "held"), [(n, h) for n in MADE for h in (False, True)])
def test_proven_edges_keep_their_distance_in_drake(name, held, required):
    """Required of what stands still; the robot's own parts must not overlap."""
    make, group = MADE[name]
    robot = make()
    rng = np.random.default_rng(len(name) + held)
    obstacles = random_world(8, 10, np.array([-0.9, -0.9, 0.1]), np.array([0.9, 0.9, 1.5]), 0.3)
    tin = random_solid("box", rng, np.array([0.0, 0.0, 0.17]), (0.06, 0.12))
    carried = {"tin": tin} if held else {}
    low, high = within(robot, group)
    low, high = np.maximum(low, -3.0), np.minimum(high, 3.0)
    rest = np.zeros(robot.size)
    rest[robot.slice("arm")] = [0.0, -0.6, 0.0, -2.2, 0.0, 1.7, 0.7]
    if group != "arm":
        low[:2], high[:2] = -1.2, 1.2
    world = CollisionWorld(robot, obstacles, q=rest, margin=0.005)
    for item, solid in carried.items():
        world = world.holding(item, solid)
    oracle = DrakeOracle(robot, obstacles, carried)
    rigid = {pair("tin", link) for link in (*RIGID, robot.palm)}
    view = world.view(group)
    edges = free_edges(view, rng, low, high, 14, 1.5)
    proven = [edge for edge in edges if view.unproven(edge, required) is None]
    assert len(proven) > 6
    moving = {link for link in robot.links if moves(world, view, link)} | {"tin"}
    for edge in proven:
        q = rest.copy()
        for state in dense(edge, float(np.abs(edge[1] - edge[0]).max()) / 120):
            q[view.moving] = state
            for (a, b), d in oracle.distances(q, 0.02).items():
                if (a, b) in rigid or not {a, b} & moving:
                    continue
                kept = required if {a, b} & set(obstacles) else 0.0
                assert d > kept - SLACK, (a, b, d, edge)


def moves(world, view, link):
    frame, _ = world.model.tree.link(link)
    return bool(world.model.carries[frame][view.moving].any())


@pytest.fixture(scope="module")
def drake(kitchen, robot):
    with DrakeWorld(kitchen, robot) as made:
        yield made


@pytest.mark.parametrize("start", [0.05, 0.2])
def test_proven_edges_with_a_drawer_that_moves_along_are_free_in_drake(
    kitchen, robot, drake, start
):
    """The can in the drawer, the sugar box in the hand, near the drawer's front; joint last."""
    inside = Placement("indigo_drawer_top", transform(None, (0.12, 1.21, 0.82)))
    grasp = transform(rotation_about((0.0, 0.0, 1.0), 0.4), p_HT)
    q = np.array([0.85, 1.0, np.pi, 0.0, 0.2, 0.0, -2.2, 0.0, 2.4, 0.7, 0.02, 0.02])
    base = initial_state(kitchen).with_item(1, inside).with_robot(q)
    scenes, index = SceneKernel(kitchen, robot), kitchen.joint_index[DRAWER]
    rng = np.random.default_rng(int(100 * start))
    counted = 0
    for held in (False, True):
        state = base.with_item(0, Placement(HAND, grasp)) if held else base
        view = scenes.view(state, "arm", driven=DRAWER, margin=0.005)
        arm = robot.group("arm")
        low, high = np.append(arm.lower, start), np.append(arm.upper, 0.4)
        edges = free_edges(view, rng, low, high, 25, 1.0)
        drawn = set(kitchen.moved_by(DRAWER)) | {"potted_meat_can"}
        own = {*robot.links} | ({"sugar_box"} if held else set())
        rigid = {pair("sugar_box", link) for link in RIGID}
        still = {link for link in robot.links if link in ("chassis", "column", "panda_link0")}
        for edge in edges:
            if view.unproven(edge, 0.004) is not None:
                continue
            counted += 1
            for row in dense(edge, float(np.abs(edge[1] - edge[0]).max()) / 60):
                scene_q = state.scene_q.copy()
                scene_q[index] = row[-1]
                now = state.with_scene(scene_q)
                whole = now.q.copy()
                whole[view.moving[:-1]] = row[:-1]
                drake.set_state(now.with_robot(whole))
                for c in drake.contacts(within=0.01):
                    if not {c.a, c.b} & own or (c.a, c.b) in rigid:
                        continue
                    if {c.a, c.b} <= still | set(kitchen_names(kitchen)) - drawn:
                        continue
                    parts = {c.a, c.b} <= own | drawn
                    assert c.distance > (0.0 if parts else 0.004) - SLACK, (c, row)
    assert counted > 20


def kitchen_names(kitchen):
    return [body.name for body in kitchen.bodies] + [item.name for item in kitchen.items]


# -- travel ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("held", [False, True])
@pytest.mark.parametrize("name", MADE)
def test_no_point_travels_farther_than_its_bound(name, held):
    """Spheres and corners of solids along random edges, one joint alone or all together."""
    make, group = MADE[name]
    robot = make()
    rng = np.random.default_rng(17)
    world = CollisionWorld(robot, {})
    if held:
        world = world.holding("rod", box((0.03, 0.02, 0.4), at=(0.05, 0.0, 0.25)))
    rest = rng.uniform(*within(robot))
    view = world.view(group, rest)
    low, high = within(robot, group)
    movers, tree = view.moving_bodies, world.model.tree
    tightest = np.zeros(len(movers.names))
    for k in range(60):
        a = rng.uniform(low, high)
        b = a.copy()
        if k % 2:
            b[k // 2 % len(low)] += rng.uniform(-0.6, 0.6)
        else:
            b += rng.uniform(-0.3, 0.3, len(low))
        b = np.clip(b, low, high)
        largest = set_travel(view.table, np.array([a, b - a]), np.abs(b - a))
        bounds = view.arrays.scratch.travel[TRAVEL, : len(movers.names)].astype(float)
        assert largest >= bounds.max() - 1e-6
        frames = []
        for s in np.linspace(0.0, 1.0, 9):
            q = rest.copy()
            q[view.moving] = a + s * (b - a)
            frames.append(tree.poses(q))
        for part in range(len(movers.names)):
            moved = 0.0
            for row in np.flatnonzero(movers.solids.part == part):
                frame, points = points_of(view, row)
                placed = np.array([points @ X[frame, :3, :3].T + X[frame, :3, 3] for X in frames])
                moved = max(moved, np.linalg.norm(placed - placed[:1], axis=2).max())
            assert moved <= bounds[part] + 1e-5, (movers.names[part], a, b)
            if bounds[part] > 1e-3:
                tightest[part] = max(tightest[part], moved / bounds[part])
    moving = tightest > 0.0
    assert moving.any()
    assert tightest[moving].min() > 0.2, "a bound this loose would prove nothing"


@pytest.mark.parametrize("degree", [1, 5])
@pytest.mark.parametrize("name", MADE)
def test_no_point_travels_farther_from_the_middle_of_a_stretch_than_its_bound(name, degree):
    """The last stretches of a proof, read from its scratch, against 21 states of each.

    Half of the joints' motions cancel each other. The first joint's is straight and tells where on
    the curve a stretch is.
    """
    make, group = MADE[name]
    robot = make()
    rng = np.random.default_rng(23 + degree)
    rest = rng.uniform(*within(robot))
    world = CollisionWorld(robot, {})
    view = world.view(group, rest)
    low, high = within(robot, group)
    scratch, tree = view.arrays.scratch, world.model.tree
    lanes, at = scratch.buffer.reshape(-1, 16), scratch.layout // 16
    rows = view.arrays.checks.rows
    shares, tightest = set(), np.zeros(len(view.arrays.moving.part))
    for turn in range(40):
        piece = np.zeros((degree + 1, len(low)))
        piece[0] = rng.uniform(low, high)
        piece[1:] = rng.uniform(-1.0, 1.0, (degree, len(low))) * 0.5 ** (turn % 5)
        piece[1:, ::2] *= -1.0 if turn % 2 else 1.0
        piece[2:, 0] = 0.0
        piece[1, 0] = 0.4
        view.curve_unproven([0.0, 1.0], piece[None], 0.0)
        placed = lanes[at[Q] + view.moving[0]].astype(float)
        for lane in (0, 7):
            middle, share = (placed[lane] - piece[0, 0]) / 0.4, float(lanes[at[SHARE], lane])
            shares.add(round(share, 6))
            q, frames = rest.copy(), []
            for s in (middle, *(middle + share * np.linspace(-1.0, 1.0, 21))):
                q[view.moving] = s ** np.arange(degree + 1) @ piece
                frames.append(tree.poses(q))
            for row in rows:
                bound = float(lanes[at[LIMITS] + row, lane])
                frame, points = points_of(view, row)
                x = np.array([points @ X[frame, :3, :3].T + X[frame, :3, 3] for X in frames])
                moved = np.linalg.norm(x - x[:1], axis=2).max()
                assert moved <= bound + 1e-6, (row, share, piece)
                tightest[row] = max(tightest[row], moved / bound)
    assert len(shares) > 3
    assert tightest[rows].min() > 0.5, "a bound this loose would prove nothing"


def points_of(view, row):
    """(frame, points in it) of a row: its spheres' six poles, or the corners of a solid."""
    moving = view.arrays.moving
    if row < len(moving.excess):
        first, last = moving.cluster[row : row + 2]
        balls = moving.sphere[moving.cluster_sphere[first] : moving.cluster_sphere[last]]
        poles = np.concatenate([np.eye(3), -np.eye(3)])
        points = balls[:, None, :3] + balls[:, None, 3:] * poles
    else:
        size = moving.solids.shape[row, 1:4].astype(float)
        half = size if moving.solids.shape[row, 0] == BOX else np.array([size[0], 0.0, size[1]])
        points = half * list(itertools.product((-1.0, 1.0), repeat=3))
    X = moving.pose[row].astype(float)
    return moving.frame[row], points.reshape(-1, 3) @ X[:9].reshape(3, 3).T + X[9:]
