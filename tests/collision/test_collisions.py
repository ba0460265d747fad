"""Hand-made states that must collide and that must not; every link; margins."""

import itertools

import numpy as np
import pytest

from galley.domain.frames import inverse, transform
from galley.domain.scene.model import HAND
from galley.domain.state import Placement, initial_state
from galley.robots.catalog import robot_of
from galley.robots.panda.description import LINKS
from galley.robots.panda.kinematics import p_HT
from galley.robots.panda.mobile import hand_pose
from galley.tests.robots.link_poses import link_poses

DRAWER = "indigo_drawer_top_joint"
DOWN = np.diag([1.0, -1.0, -1.0])  # hand pointing down, fingers apart along y
AHEAD = np.array([[0.0, 0.0, -1.0], [1.0, 0.0, 0.0], [0.0, -1.0, 0.0]])  # pointing to -x
GRASP_FROM_AHEAD = np.array([[0.0, 0.0, -1.0], [0.0, 1.0, 0.0], [1.0, 0.0, 0.0]])


def names(contacts):
    return {(c.a, c.b) for c in contacts}


def involves(contacts, one, other):
    return any({one, other} == {c.a, c.b} for c in contacts)


def with_drawer(kitchen, state, opening):
    scene_q = state.scene_q.copy()
    scene_q[kitchen.joint_index[DRAWER]] = opening
    return state.with_scene(scene_q)


def reaching(kitchen, p_WT, R, fingers=0.04):
    """Whole-robot configurations with the grasp centre at p_WT, from bases before the furniture."""
    X_WH = transform(R, p_WT) @ transform(None, -p_HT)
    q7 = np.linspace(-2.8, 2.8, 12)
    for x, dy, heading in itertools.product(
        (0.95, 0.85, 1.05, 0.75), (0.0, 0.3, -0.3), (np.pi, np.pi / 2, -np.pi / 2, 2.5, -2.5)
    ):
        base = np.array([x, p_WT[1] + dy, heading])
        for arm in robot_of(kitchen.robot).kinematics.configurations(X_WH, base, q7):
            yield np.concatenate([base, arm, [fingers, fingers]])


def first_free(checker, kitchen, p_WT, R):
    return next(
        (q for q in itertools.islice(reaching(kitchen, p_WT, R), 400) if checker.free(q)), None
    )


def test_the_start_is_free_and_items_touch_only_what_they_stand_on(kitchen, world):
    assert world.checker(initial_state(kitchen)).free(kitchen.robot.q)
    touching = world.near_pairs(0.001)
    touching = {k: d for k, d in touching.items() if k not in world.robot.allowed_self_collisions}
    assert set(touching) == {("potted_meat_can", "range"), ("range", "sugar_box")}
    assert max(abs(d) for d in touching.values()) < 1e-4


@pytest.mark.parametrize(
    ("p_WT", "R", "opening", "body", "free"),
    [
        ((0.25, 0.42, 1.00), DOWN, 0.0, "range", True),
        ((0.25, 0.42, 0.90), DOWN, 0.0, "range", False),
        ((0.20, -0.60, 1.00), DOWN, 0.0, "hitman", True),
        ((0.20, -0.60, 0.91), DOWN, 0.0, "hitman", False),
        ((0.42, 1.21, 0.86), DOWN, 0.3, "indigo_drawer_top", True),
        ((0.42, 1.21, 0.78), DOWN, 0.3, "indigo_drawer_top", False),
        ((0.34, 1.00, 0.82), AHEAD, 0.0, "indigo_drawer_top", True),
        ((0.26, 1.00, 0.82), AHEAD, 0.0, "indigo_drawer_top", False),
    ],
)
def test_the_hand_in_and_beside_furniture(kitchen, world, p_WT, R, opening, body, free):
    state = with_drawer(kitchen, initial_state(kitchen), opening)
    checker = world.checker(state)
    if free:
        assert first_free(checker, kitchen, p_WT, R) is not None
        return
    tried = 0
    for q in itertools.islice(reaching(kitchen, p_WT, R), 40):
        contacts = checker.contacts(q)
        assert any(involves(contacts, finger, body) for finger in world.robot.fingers), contacts
        tried += 1
    assert tried > 5


def test_the_fingers_about_the_handle_touch_only_what_is_declared(kitchen, world):
    """Above and below the bar, 2 mm off: free if finger and handle are declared, else not."""
    state = initial_state(kitchen)
    opening = 0.0105 + 0.002
    handle = frozenset((("indigo_drawer_handle_top", f)) for f in world.robot.fingers)
    declared = world.checker(state, handle)
    undeclared = world.checker(state)
    found = 0
    for q in itertools.islice(
        reaching(kitchen, (0.300, 1.211, 0.8215), GRASP_FROM_AHEAD, opening), 400
    ):
        if declared.free(q):
            assert not undeclared.free(q)
            found += 1
    assert found > 0


def test_a_closing_drawer_meets_the_hand_inside_it(kitchen, world):
    state = with_drawer(kitchen, initial_state(kitchen), 0.3)
    checker = world.checker(state)
    q = first_free(checker, kitchen, (0.42, 1.21, 0.86), DOWN)
    closing = np.zeros(6)
    closing[kitchen.joint_index[DRAWER]] = 0.12  # its front now stands at x = 0.365..0.385
    hits = checker.contacts(q, closing)
    assert checker.free(q), "the state that was given still counts for the next query"
    closing[kitchen.joint_index[DRAWER]] = 0.165  # front 0.410..0.430: in the fingers
    hits = checker.contacts(q, closing)
    assert any("indigo_drawer_top" in (c.a, c.b) for c in hits)


def test_what_lies_in_a_drawer_moves_with_it_and_can_be_hit(kitchen, world):
    k = kitchen.item_index["potted_meat_can"]
    inside = Placement("indigo_drawer_top", transform(None, (0.12, 1.24, 0.779 + 0.041)))
    state = with_drawer(kitchen, initial_state(kitchen).with_item(k, inside), 0.3)
    bare = with_drawer(kitchen, initial_state(kitchen), 0.3)  # the can is on the burner
    q = first_free(world.checker(bare), kitchen, (0.42, 1.21, 0.84), DOWN)
    assert any("potted_meat_can" in (c.a, c.b) for c in world.checker(state).contacts(q))
    world.set_state(state)
    np.testing.assert_allclose(
        world.link_pose(world.scene.items[k].name)[:3, 3], [0.42, 1.24, 0.82], atol=1e-9
    )
    # A little shut, and can and fingers have come apart (the can is 97 mm long, fingers 20 wide).
    scene_q = state.scene_q.copy()
    scene_q[kitchen.joint_index[DRAWER]] = 0.15
    away = world.checker(state).contacts(q, scene_q)
    assert not any("potted_meat_can" in (c.a, c.b) for c in away)


# -- held items ----------------------------------------------------------------------------------


def holding_at(kitchen, p_WI):
    """The start, the sugar box rigidly on the hand, so far off that it stands at p_WI."""
    state = initial_state(kitchen)
    X_WH = hand_pose(state.q, kitchen.robot.base)
    return state.with_item(0, Placement(HAND, inverse(X_WH) @ transform(None, p_WI)))


@pytest.mark.parametrize(
    ("gap", "free"), [(0.006, True), (0.004, False), (0.0, False), (-0.03, False)]
)
def test_a_held_item_keeps_its_margin_from_the_hood(kitchen, world, gap, free):
    """The hood's underside is at 1.516, the box half 0.175 high."""
    state = holding_at(kitchen, (-0.1, 0.4, 1.516 - 0.0875 - gap))
    contacts = world.checker(state).contacts(state.q)
    assert (not contacts) is free, contacts
    if not free:
        assert names(contacts) == {("hood", "sugar_box")}


def test_a_held_item_goes_with_the_base(kitchen, world):
    state = holding_at(kitchen, (-0.1, 0.4, 1.50))  # in the hood
    checker = world.checker(state)
    q = state.q.copy()
    assert involves(checker.contacts(q), "hood", "sugar_box")
    q[1] -= 0.5  # the box comes to y = -0.1, beside the hood, which begins at 0.035
    assert checker.free(q)
    q[1] += 0.5 + 0.45  # y = 0.85: in the wall cabinet's side
    assert involves(checker.contacts(q), "dagger", "sugar_box")


@pytest.mark.parametrize("other", ["potted_meat_can", "chassis", "panda_link5", "floor"])
def test_a_held_item_can_hit_anything(kitchen, world, other):
    state = initial_state(kitchen)
    if other == "potted_meat_can":
        p = (0.065, 0.205, 1.0)
    elif other == "floor":
        p = (1.0, 1.0, 0.05)
    elif other == "chassis":
        p = (1.7, 0.0, 0.4)
    else:
        p = link_poses(state.q, kitchen.robot.base)[other][:3, 3] + (0.0, 0.0, 0.0)
    held = holding_at(kitchen, p)
    assert involves(world.checker(held).contacts(held.q), "sugar_box", other)


# -- every link ----------------------------------------------------------------------------------

# A point inside each link's shape, in the link's frame (m): from the Panda's drawings, not code.
INSIDE = {
    "chassis": (0.0, 0.0, 0.2),
    "column": (-0.04, 0.0, 0.15),
    "panda_link0": (-0.04, 0.0, 0.06),
    "panda_link1": (0.0, -0.02, -0.06),
    "panda_link2": (0.0, -0.08, 0.02),
    "panda_link3": (0.06, 0.05, 0.0),
    "panda_link4": (-0.06, 0.06, 0.0),
    "panda_link5": (0.0, 0.05, -0.10),
    "panda_link6": (0.06, 0.0, 0.0),
    "panda_link7": (0.0, 0.0, 0.07),
    "panda_hand": (0.0, 0.0, 0.03),
    "panda_leftfinger": (0.0, 0.015, 0.03),
    "panda_rightfinger": (0.0, -0.015, 0.03),
}


def inside_of(probe, link):
    q = probe.scene.robot.q
    return (link_poses(q, probe.scene.robot.base)[link] @ np.array([*INSIDE[link], 1.0]))[:3]


@pytest.mark.parametrize("link", LINKS)
def test_each_link_hits_furniture_and_an_item_that_is_in_it(probe, link):
    assert set(INSIDE) == set(LINKS)
    state = initial_state(probe.scene)
    assert probe.checker(state).free(state.q)
    assert involves(probe.checker(state).contacts(state.q, inside_of(probe, link)), link, "probe")
    furniture = state.with_scene(inside_of(probe, link))
    contacts = probe.checker(furniture).contacts(state.q)
    assert involves(contacts, link, "probe"), contacts
    assert all("probe" in (c.a, c.b) for c in contacts)
    hit = state.with_item(0, Placement("world", transform(None, inside_of(probe, link))))
    contacts = probe.checker(hit).contacts(hit.q)
    assert involves(contacts, link, "ball"), contacts
    assert all("ball" in (c.a, c.b) for c in contacts)
    allowed = frozenset(tuple(sorted(("ball", name))) for name in LINKS)
    assert probe.checker(hit, allowed).free(hit.q)
