"""One question asked in several ways: batches, groups, hidden, held and allowed bodies, margins."""

from __future__ import annotations

import ctypes
from dataclasses import replace

import numpy as np
import pytest

from galley.collision.collision_world import CollisionWorld
from galley.collision.kernel.continuous_collision import polyline_free_native
from galley.collision.scene_kernel import SceneKernel
from galley.collision.solids import box, sphere
from galley.domain.frames import transform
from galley.domain.state import initial_state
from galley.robots.panda.description import panda_arm
from galley.robots.panda.models import mobile_panda
from galley.tests.collision.kernel.support import random_world, within

LOW, HIGH = np.array([-0.8, -0.8, 0.0]), np.array([0.8, 0.8, 1.6])
READY = np.array([0.0, -0.3, 0.0, -2.2, 0.0, 2.0, 0.8, 0.03, 0.03])


@pytest.fixture(scope="module")
def world():
    """A mobile Panda among 15 shapes."""
    return CollisionWorld(mobile_panda(), random_world(1, 15, LOW * 2.0, HIGH * 2.0), margin=0.005)


@pytest.fixture(scope="module")
def arm():
    return panda_arm()


def configurations(robot, seed, count):
    return np.random.default_rng(seed).uniform(*within(robot), (count, robot.size))


@pytest.mark.parametrize("group", ["all", "arm", "base", "base+arm", "fingers"])
@pytest.mark.parametrize("count", [1, 15, 16, 17, 200])
def test_many_at_once_are_judged_like_one_by_one(world, group, count):
    view = world.view(group, configurations(world.robot, 9, 1)[0])
    states = configurations(world.robot, count, count)[:, view.moving]
    found = view.free_many(states)
    assert found.tolist() == [view.free(q) for q in states]
    if count == 200 and group != "fingers":
        assert 0 < found.sum() < 200


def test_an_edge_without_length_is_judged_like_its_state(world):
    view = world.view("all")
    states = configurations(world.robot, 2, 300)
    free = view.free_many(states)
    assert view.edges_free(states, states, exact=True).tolist() == free.tolist()
    proven = [view.unproven(np.array([q, q]), 0.005) is None for q in states]
    # Of what is proven but not free, own links are nearer than 2 mm: a proof asks for half of that.
    for q in states[np.array(proven) & ~free]:
        assert {name for c in view.contacts(q) for name in (c.a, c.b)} <= set(world.robot.links)
    assert np.mean(proven) > 0.95 * free.mean()


@pytest.mark.parametrize("group", ["arm", "base", "base+arm"])
def test_a_group_is_free_where_the_whole_robot_is(world, group):
    """The rest stands free and still: then both must say the same, bit for bit."""
    near = [q for q in configurations(world.robot, 4, 300) if np.abs(q[:2]).max() < 1.2]
    rest = next(q for q in near if world.free(q))
    view = world.view(group, rest)
    Q = np.tile(rest, (400, 1))
    Q[:, view.moving] = configurations(world.robot, 5, 400)[:, view.moving]
    if group == "base":
        Q[:, :3] = rest[:3] + np.random.default_rng(0).uniform(-0.6, 0.6, (400, 3))
    found = view.free_many(Q[:, view.moving])
    assert 0 < found.sum() < 400
    np.testing.assert_array_equal(found, world.free_many(Q))


def test_a_configuration_is_free_if_and_only_if_it_has_no_contacts(world):
    free = world.free_many(configurations(world.robot, 6, 400))
    for q, said in zip(configurations(world.robot, 6, 400), free, strict=True):
        contacts = world.contacts(q)
        assert said == (not contacts) or abs(contacts[0].distance - 0.005) < 2e-5
        assert [c.distance for c in contacts] == sorted(c.distance for c in contacts)
        assert all(c.a < c.b for c in contacts)
        # The robot's own links count within 2 mm, however far one asks.
        for c in world.contacts(q, within=0.05):
            assert c.distance < 0.00201 or not {c.a, c.b} <= set(world.robot.links)


def test_edges_are_judged_by_their_states_at_the_step(world):
    """The step: 0.05 rad of the arm's joints, the end included, the beginning left out."""
    view = world.view("arm")
    rng = np.random.default_rng(3)
    A = rng.uniform(*within(world.robot, "arm"), (300, 7))
    B = A + rng.normal(size=A.shape) * rng.choice([0.01, 0.1, 0.5, 1.5], (300, 1))
    expected = []
    for a, b in zip(A, B, strict=True):
        n = max(1, int(np.ceil(np.abs(b - a).max() / 0.05 - 1e-9)))
        s = np.arange(1, n + 1)[:, None] / n
        expected.append(view.free_many(a + s * (b - a)).all())
    found = view.edges_free(A, B, exact=True)
    assert 30 < found.sum() < 270
    # Two roundings of a state may fall on either side of a surface.
    assert (found != expected).sum() <= 1


def test_what_is_hidden_is_not_there(arm):
    obstacles = {"post": box((0.1, 0.1, 0.6), at=(0.5, 0.0, 0.4)), "floor": box((4, 4, 0.1))}
    world = CollisionWorld(arm, obstacles)
    q = np.array([0.0, 0.3, 0.0, -2.0, 0.0, 2.2, 0.8, 0.03, 0.03])
    assert any("post" in (c.a, c.b) for c in world.contacts(q))
    assert replace(world, hidden=frozenset({"post"})).free(q)
    assert replace(world, hidden=frozenset({"floor"})).contacts(q) == world.contacts(q)


def test_allowed_pairs_may_touch_and_others_may_not(arm):
    """A ball in the hand's way touches some links; each must be let off by name."""
    world = CollisionWorld(arm, {"ball": sphere(0.08, at=hand_at(arm, READY)[:3, 3])})
    touching = {(c.a, c.b) for c in world.contacts(READY)}
    assert len(touching) > 1
    assert world.view("all", allowed=frozenset(touching)).free(READY)
    turned = frozenset((b, a) for a, b in touching)
    assert world.view("all", allowed=turned).free(READY)
    for left_out in touching:
        view = world.view("all", allowed=frozenset(touching - {left_out}))
        assert {(c.a, c.b) for c in view.contacts(READY)} == {left_out}
        assert not view.free(READY)


def hand_at(robot, q):
    world = CollisionWorld(robot, {})
    return world.model.tree.link_pose(robot.palm, q) @ transform(None, (0.0, 0.0, 0.09))


@pytest.mark.parametrize("margin", [0.0, 0.002, 0.005, 0.03])
def test_the_margin_is_kept_to_a_tenth_of_a_millimetre(margin):
    """The chassis, a box, beside a wall: closed form. It faces x, 0.4075 m half its length."""
    robot = mobile_panda()
    wall = box((0.2, 4.0, 1.0), at=(1.1, 0.0, 0.5))
    world = CollisionWorld(robot, {"wall": wall}, margin=margin)
    q = np.array([0.0, 0.0, 0.0, 0.0, -0.6, 0.0, -2.5, 0.0, 2.0, 0.7, 0.0, 0.0])
    half = 0.815 / 2
    for gap, free in ((margin + 1e-4, True), (margin - 1e-4, False)):
        q[0] = 1.0 - half - gap
        assert world.free(q) is free
        assert world.view("base").free(q[:3]) is free
        assert replace(world, margin=1.0).view("all", margin=margin).free(q) is free
        near = {(c.a, c.b): c.distance for c in world.contacts(q, within=0.1)}
        assert near["chassis", "wall"] == pytest.approx(gap, abs=1e-5)
        assert world.clearance(q) <= gap + 1e-5


def test_a_held_body_goes_with_the_hand_and_may_touch_what_holds_it(arm):
    stick = box((0.02, 0.02, 0.5), at=(0.0, 0.0, 0.30))
    empty = CollisionWorld(arm, {}, margin=0.0)
    X_WP = empty.model.tree.link_pose(arm.palm, READY)
    tip = (X_WP @ np.array([0.0, 0.0, 0.54, 1.0]))[:3]
    world = CollisionWorld(arm, {"ball": sphere(0.02, at=tip)}, margin=0.0)
    assert world.free(READY)
    holding = world.holding("stick", stick)
    assert [(c.a, c.b) for c in holding.contacts(READY)] == [("ball", "stick")]
    turned = READY + np.array([0.3, 0, 0, 0, 0, 0, 0, 0, 0])
    assert holding.free(turned)
    # Between closed fingers it is inside them, which only matters where they must not touch it.
    closed = turned.copy()
    closed[7:] = 0.0
    assert holding.free(closed)
    strict = world.holding("stick", stick, fingers=False)
    assert {a for c in strict.contacts(closed) for a in (c.a, c.b)} >= {"stick", *arm.fingers}


def test_the_world_of_a_state_has_the_robot_where_the_state_has_it(kitchen, robot):
    """Also where another state with the same drawers and items was asked for before."""
    scenes = SceneKernel(kitchen, robot)
    start = initial_state(kitchen)
    elsewhere = start.with_robot(np.concatenate([[0.9, 0.5, 1.0], start.q[3:]]))
    for state in (start, elsewhere, start):
        np.testing.assert_array_equal(scenes.world(state).q, state.q)
        np.testing.assert_array_equal(scenes.view(state, "arm").arrays.tree.q, state.q)


def test_a_moved_world_is_judged_like_one_made_anew(arm):
    """Boxes, cylinders, spheres and hulls, one of several solids; the old world stays as it was."""
    old = random_world(5, 12, LOW, HIGH)
    new = random_world(6, 12, LOW, HIGH)
    names = list(old)[::2]
    poses = {name: np.array(new[name].X) for name in names}
    expected = {k: replace(s, X=new[k].X) if k in names else s for k, s in old.items()}
    stack = [box((0.1, 0.1, 0.2), at=(0.4, 0.2, z)) for z in (0.2, 0.6)]
    raised = [box((0.1, 0.1, 0.2), at=(0.3, -0.3, z)) for z in (0.3, 0.7)]
    world = CollisionWorld(arm, {**old, "stack": stack})
    Q = configurations(arm, 3, 400)
    before = world.free_many(Q)
    moved = world.moved({**poses, "stack": np.array([s.X for s in raised])})
    anew = CollisionWorld(arm, {**expected, "stack": raised})
    placed, made = moved.fixed_bodies.arrays, anew.fixed_bodies.arrays
    np.testing.assert_array_equal(placed.pose, made.pose)
    for found, wanted in ((placed.low, made.low), (placed.high, made.high)):
        np.testing.assert_allclose(found, wanted, rtol=0.0, atol=1e-6)  # by numpy
    assert 0 < moved.free_many(Q).sum() < 400
    np.testing.assert_array_equal(moved.free_many(Q), anew.free_many(Q))
    for q in Q[:20]:
        assert moved.contacts(q, within=0.1) == anew.contacts(q, within=0.1)
    assert (before != moved.free_many(Q)).any()
    np.testing.assert_array_equal(world.free_many(Q), before)


def test_a_polyline_is_free_where_all_its_edges_are(arm):
    """From one edge to ten, some of them without length: the edges one by one are the oracle."""
    view = CollisionWorld(arm, random_world(5, 12, LOW, HIGH)).view("arm")
    check = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * 4)(polyline_free_native.address)
    rng = np.random.default_rng(11)
    verdicts = []
    for turn in range(300):
        n = 2 + turn % 10
        points = READY[:7] + np.cumsum(rng.normal(size=(n, 7)) * 0.6 ** (turn % 7), axis=0)
        points[rng.random(n) < 0.1] = points[0]
        found = check(view.table.ctypes.data, points.ctypes.data, n, 0)
        assert found == view.edges_free(points[:-1], points[1:], exact=True).all()
        verdicts.append(found)
    assert 30 < sum(verdicts) < 270


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_numbers_that_are_not_finite_are_refused_and_never_free(arm, bad):
    view = CollisionWorld(arm, {"post": box((0.1, 0.1, 0.5), at=(0.5, 0.0, 0.3))}).view("arm")
    q = READY[:7].copy()
    q[3] = bad
    for ask in (
        lambda: view.free(q),
        lambda: view.free_many([READY[:7], q]),
        lambda: view.edges_free([READY[:7]], [q]),
        lambda: view.unproven([READY[:7], q]),
        lambda: view.contacts(q),
    ):
        with pytest.raises(ValueError, match="finite"):
            ask()


@pytest.mark.parametrize(
    ("ask", "says"),
    [
        (lambda world: world.view("arm").free(np.zeros(6)), "shape"),
        (lambda world: world.view("arm").free_many(np.zeros((3, 1, 7))), "shape"),
        (lambda world: CollisionWorld(world.robot, {}, q=np.zeros(8)), "9 joint values"),
        (lambda world: world.moved({"cup": np.eye(4)}), "no body 'cup' stands still"),
        (lambda world: world.moved({"pair": np.eye(4)}), "'pair' has 2 solids"),
        (lambda world: world.moved({"post": 2.0 * np.eye(4)}), "rotation"),
        (lambda world: world.moved({"post": np.full((4, 4), np.nan)}), "rotation"),
        (
            lambda world: world.view("arm").curve_unproven([0.0, 1.0], np.zeros((1, 4, 6))),
            r"n \+ 1 breaks and coefficients \(n, d \+ 1, 7\)",
        ),
        (
            lambda world: world.view("arm").curve_unproven([0.0, 1.0], np.full((1, 4, 7), np.nan)),
            "finite",
        ),
    ],
)
def test_questions_that_make_no_sense_are_refused(arm, ask, says):
    post, pair = box((0.1, 0.1, 0.5)), [sphere(0.1), sphere(0.2)]
    with pytest.raises(ValueError, match=says):
        ask(CollisionWorld(arm, {"post": post, "pair": pair}))
