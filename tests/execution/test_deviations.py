"""What is against what was to be: each difference alone, just below and just above its limit."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from galley.domain.frames import frozen, inverse, transform
from galley.domain.scene.model import HAND, WORLD
from galley.domain.state import Placement, State, initial_state, item_pose
from galley.execution.deviations import deviations
from galley.motion.thresholds import THRESHOLDS
from galley.robots.panda.mobile import hand_pose
from galley.tests.effort import examples

BELOW, ABOVE = 0.98, 1.02
CAN = """\
  can:
    mass: 0.2
    shapes:
      - {cylinder: [0.03, 0.10]}
    pose: {on: top, xy: [-0.1, 0.1]}
"""


@pytest.fixture(scope="module")
def scene(scene_of, small_text):
    """The small scene with a can beside the block."""
    return scene_of(small_text.replace("stances:", f"{CAN}stances:", 1))


@pytest.fixture
def found(scene, robot):
    """``found(expected, observed)``: kinds and names of what differs."""

    def kinds(expected, observed):
        seen = deviations(scene, robot, expected, observed, THRESHOLDS)
        assert all(str(each) for each in seen)
        return [(each.kind, each.name) for each in seen]

    return kinds


def at(state, index, X_WI):
    return state.with_item(index, Placement(WORLD, frozen(X_WI)))


def in_hand(scene, state, index=0, X_HI=None):
    """The State with an item in the hand."""
    X_HI = transform(None, (0.0, 0.0, 0.12)) if X_HI is None else X_HI
    return state.with_item(index, Placement(HAND, frozen(X_HI)))


def turned(X, axis, angle):
    """A pose turned about one of its own axes through its origin."""
    return X @ transform(Rotation.from_rotvec(angle * np.eye(3)[axis]).as_matrix())


# -- items ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("direction", [[1, 0, 0], [0, -1, 0], [0.6, 0, 0.8]])
def test_an_item_that_stands_elsewhere(scene, found, direction):
    start = initial_state(scene)
    X = scene.items[0].X_WI
    for share, kinds in ((BELOW, []), (ABOVE, [("moved", "block")])):
        way = share * THRESHOLDS.item_moved * np.array(direction)
        assert found(start, at(start, 0, transform(None, way) @ X)) == kinds


def test_an_item_that_is_turned_about_the_vertical(scene, found):
    start = initial_state(scene)
    X = scene.items[0].X_WI
    for share, kinds in ((BELOW, []), (ABOVE, [("moved", "block")])):
        for sign in (-1, 1):
            X_now = turned(X, 2, sign * share * THRESHOLDS.item_turned)
            assert found(start, at(start, 0, X_now)) == kinds


def test_a_can_that_turned_about_its_axis_stands_as_before(scene, found):
    """Nothing that looks alike has moved: a round thing has no yaw."""
    start = initial_state(scene)
    X = scene.items[1].X_WI
    assert found(start, at(start, 1, turned(X, 2, 1.0))) == []
    leans = turned(turned(X, 2, 1.0), 0, ABOVE * THRESHOLDS.item_turned)
    assert found(start, at(start, 1, leans)) == [("moved", "can")]
    holds = in_hand(scene, start, 1)
    X_HI = holds.items[1].X_PI
    assert found(holds, in_hand(scene, start, 1, turned(X_HI, 2, 1.0))) == []
    swung = turned(X_HI, 1, ABOVE * THRESHOLDS.slipped_turn)
    assert found(holds, in_hand(scene, start, 1, swung)) == [("slipped", "can")]


@pytest.mark.parametrize("axis", [0, 1])
def test_an_item_that_leans_has_fallen_over(scene, found, axis):
    start = initial_state(scene)
    X = scene.items[0].X_WI
    assert found(start, at(start, 0, turned(X, axis, np.radians(25.0)))) == [("toppled", "block")]
    lies = turned(X, axis, np.pi / 2)
    assert found(start, at(start, 0, lies)) == [("toppled", "block")]
    assert found(at(start, 0, lies), at(start, 0, lies)) == [], "it was known to lie"
    little = turned(X, axis, BELOW * THRESHOLDS.item_turned)
    assert found(start, at(start, 0, little)) == []


def test_an_item_that_is_lost_and_one_that_is_not_let_go(scene, found, robot):
    start = initial_state(scene)
    holds = in_hand(scene, start)
    assert found(holds, start) == [("not-held", "block")]
    assert found(start, holds) == [("held", "block")]
    assert found(holds, holds) == []
    where = deviations(scene, robot, holds, start, THRESHOLDS)[0].words
    assert "(0.10, -0.20, 0.89)" in where, "it says where the item is"


def test_another_item_in_the_hand_than_was_to_be(scene, found):
    start = initial_state(scene)
    one, other = in_hand(scene, start, 0), in_hand(scene, start, 1)
    assert found(one, other) == [("not-held", "block"), ("held", "can")]


def test_an_item_that_slips_in_the_hand(scene, found):
    X_HI = turned(transform(None, (0.0, 0.0, 0.12)), 0, 0.7)
    start = in_hand(scene, initial_state(scene), 0, X_HI)
    for share, kinds in ((BELOW, []), (ABOVE, [("slipped", "block")])):
        moved = transform(None, (0.0, 0.0, share * THRESHOLDS.slipped)) @ X_HI
        assert found(start, in_hand(scene, start, 0, moved)) == kinds
        swung = turned(X_HI, 1, share * THRESHOLDS.slipped_turn)
        assert found(start, in_hand(scene, start, 0, swung)) == kinds


def test_what_rides_in_a_drawer_counts_by_where_it_is_in_the_world(scene, found):
    """The same pose in the world under another parent is no difference."""
    start = initial_state(scene).with_scene(frozen([0.1, 0.0]))
    X_WI = transform(None, (0.05, 0.0, 0.67))
    in_world = at(start, 0, X_WI)
    X_BI = scene.in_parent(X_WI, "drawer", start.scene_q)
    in_drawer = start.with_item(0, Placement("drawer", frozen(X_BI)))
    assert found(in_world, in_drawer) == found(in_drawer, in_world) == []
    out = in_drawer.with_scene(frozen([0.2, 0.0]))
    assert found(in_drawer, out) == [("moved", "block"), ("drawer", "slide")]


# -- joints ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("joint", "name"), [(0, "slide"), (1, "hinge")])
def test_a_drawer_or_a_door_that_is_open_by_another_amount(scene, found, joint, name):
    start = initial_state(scene).with_scene(frozen([0.2, 0.5]))
    for sign in (-1, 1):
        for share, kinds in ((BELOW, []), (ABOVE, [("drawer", name)])):
            scene_q = np.array(start.scene_q)
            scene_q[joint] += sign * share * THRESHOLDS.joint_off
            assert found(start, start.with_scene(scene_q)) == kinds


def test_amounts_have_the_unit_of_the_joint(scene, robot):
    start = initial_state(scene)
    drawer, door = deviations(
        scene, robot, start, start.with_scene(frozen([0.05, 0.3])), THRESHOLDS
    )
    assert (drawer.unit, drawer.amount) == ("m", pytest.approx(0.05))
    assert "50.0 mm" in drawer.words
    assert (door.unit, door.amount) == ("rad", pytest.approx(0.3))
    assert "0.3 rad" in door.words


def moved_by(state, index, amount):
    q = np.array(state.q)
    q[index] += amount
    return state.with_robot(q)


def test_a_base_that_stands_or_faces_elsewhere(scene, found):
    start = initial_state(scene)
    for share, kinds in ((BELOW, []), (ABOVE, [("base", "base")])):
        for index, limit in ((0, "base_off"), (1, "base_off"), (2, "base_turned")):
            off = share * getattr(THRESHOLDS, limit)
            assert found(start, moved_by(start, index, off)) == kinds
            assert found(start, moved_by(start, index, -off)) == kinds


def test_a_whole_turn_of_the_base_is_no_difference(scene, found):
    start = initial_state(scene)
    assert found(start, moved_by(start, 2, -2.0 * np.pi)) == []
    nearly = -2.0 * np.pi + ABOVE * THRESHOLDS.base_turned
    assert found(start, moved_by(start, 2, nearly)) == [("base", "base")]


@pytest.mark.parametrize("joint", range(7))
def test_a_joint_of_the_arm_that_is_elsewhere(scene, robot, found, joint):
    start = initial_state(scene)
    name = robot.group("arm").joints[joint]
    for sign in (-1, 1):
        for share, kinds in ((BELOW, []), (ABOVE, [("arm", name)])):
            off = sign * share * THRESHOLDS.arm_off
            assert found(start, moved_by(start, 3 + joint, off)) == kinds


# -- of any State ---------------------------------------------------------------------------------

angle = st.floats(-np.pi, np.pi)
length = st.floats(-1.0, 1.0)
poses = st.builds(
    lambda r, p: transform(Rotation.from_rotvec(r).as_matrix(), p),
    st.tuples(angle, angle, angle).map(np.array),
    st.tuples(length, length, length),
)


@st.composite
def states(draw):
    """States with items anywhere, one of them in the hand or none."""
    q = np.array([draw(length), draw(length), *(draw(angle) for _ in range(8)), 0.02, 0.02])
    held = draw(st.sampled_from([None, 0, 1]))
    items = tuple(
        Placement(HAND if k == held else draw(st.sampled_from([WORLD, "drawer"])), draw(poses))
        for k in range(2)
    )
    return State(frozen(q), frozen([draw(st.floats(0.0, 0.4)), draw(st.floats(0.0, 1.5))]), items)


@settings(
    max_examples=examples(80),
    deadline=None,
    suppress_health_check=[HealthCheck.differing_executors],
)
@given(state=states())
def test_a_state_does_not_differ_from_itself(scene, robot, state):
    assert deviations(scene, robot, state, state, THRESHOLDS) == ()


@settings(
    max_examples=examples(80),
    deadline=None,
    suppress_health_check=[HealthCheck.differing_executors],
)
@given(one=states(), two=states())
def test_the_same_things_differ_whichever_of_two_states_was_to_be(scene, robot, one, two):
    """What is held the one way is not held the other way; a lying item rises again."""
    there = deviations(scene, robot, one, two, THRESHOLDS)
    back = deviations(scene, robot, two, one, THRESHOLDS)
    turned = {"held": "not-held", "not-held": "held"}
    assert [(turned.get(d.kind, d.kind), d.name) for d in there] == [(d.kind, d.name) for d in back]
    np.testing.assert_allclose([d.amount for d in there], [d.amount for d in back], atol=1e-6)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.differing_executors])
@given(state=states(), data=st.data())
def test_noise_well_below_all_limits_is_no_difference(scene, robot, state, data):
    small = st.floats(-0.4, 0.4)
    X_WH = hand_pose(state.q, scene.robot.base)
    seen = state
    for k, placement in enumerate(state.items):
        # A third of a limit along each axis is less than the limit in all.
        way = [THRESHOLDS.item_moved * data.draw(small) for _ in range(3)]
        yaw = THRESHOLDS.item_turned * data.draw(small)
        X_WI = item_pose(scene, state, k, X_WH)
        X_now = transform(
            Rotation.from_euler("z", yaw).as_matrix() @ X_WI[:3, :3], X_WI[:3, 3] + way
        )
        X_WP = (
            X_WH if placement.parent == HAND else scene.body_pose(placement.parent, state.scene_q)
        )
        seen = seen.with_item(k, Placement(placement.parent, frozen(inverse(X_WP) @ X_now)))
    assert deviations(scene, robot, state, seen, THRESHOLDS) == ()
