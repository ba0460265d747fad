"""What is against what was to be: each difference alone, just below and just above its limit."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from galley.domain.frames import frozen, transform
from galley.domain.scene.model import HAND, WORLD
from galley.domain.state import Placement, initial_state
from galley.execution.deviations import deviations
from galley.motion.thresholds import THRESHOLDS

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


def turned(X, axis, angle):
    """A pose turned about one of its own axes through its origin."""
    return X @ transform(Rotation.from_rotvec(angle * np.eye(3)[axis]).as_matrix())


def moved_by(state, index, amount):
    """The State with one joint of the robot moved."""
    q = np.array(state.q)
    q[index] += amount
    return state.with_robot(q)


def opened_by(state, joint, amount):
    """The State with a drawer or door opened further."""
    scene_q = np.array(state.scene_q)
    scene_q[joint] += amount
    return state.with_scene(scene_q)


def way(state, direction, amount):
    """The State with the block moved along a direction, in what holds it."""
    moved = transform(None, amount * np.array(direction)) @ state.items[0].X_PI
    return state.with_item(0, Placement(state.items[0].parent, frozen(moved)))


def turn(state, index, axis, angle):
    """The State with an item turned about one of its own axes."""
    placement = state.items[index]
    X_PI = frozen(turned(placement.X_PI, axis, angle))
    return state.with_item(index, Placement(placement.parent, X_PI))


HELD = transform(None, (0.0, 0.0, 0.12))
# What is off, by how much at the most, how it is named, and the item in the hand or None.
LIMITS = [
    (lambda s, d: way(s, [0.6, 0, -0.8], d), "item_moved", ("moved", "block"), None),
    (lambda s, d: turn(s, 0, 2, d), "item_turned", ("moved", "block"), None),
    (lambda s, d: turn(turn(s, 1, 2, 1.0), 1, 0, d), "item_turned", ("moved", "can"), None),
    (lambda s, d: way(s, [0, 0, 1], d), "slipped", ("slipped", "block"), 0),
    (lambda s, d: turn(s, 0, 1, d), "slipped_turn", ("slipped", "block"), 0),
    (lambda s, d: turn(turn(s, 1, 2, 1.0), 1, 1, d), "slipped_turn", ("slipped", "can"), 1),
    (lambda s, d: opened_by(s, 0, d), "joint_off", ("drawer", "slide"), None),
    (lambda s, d: opened_by(s, 1, d), "joint_off", ("drawer", "hinge"), None),
    (lambda s, d: moved_by(s, 1, d), "base_off", ("base", "base"), None),
    (lambda s, d: moved_by(s, 2, d - 2.0 * np.pi), "base_turned", ("base", "base"), None),
    (lambda s, d: moved_by(s, 9, d), "arm_off", ("arm", "panda_joint7"), None),
]


@pytest.mark.parametrize(("change", "limit", "named", "held"), LIMITS)
@pytest.mark.parametrize("sign", [-1, 1])
def test_what_is_off_is_named_beyond_its_limit_only(scene, found, change, limit, named, held, sign):
    """A round thing has no yaw: the can is turned about its axis, which is no difference."""
    start = initial_state(scene).with_scene(frozen([0.2, 0.5]))
    if held is not None:
        start = start.with_item(held, Placement(HAND, frozen(HELD)))
    for share, expected in ((BELOW, []), (ABOVE, [named])):
        off = sign * share * getattr(THRESHOLDS, limit)
        assert found(start, change(start, off)) == expected


@pytest.mark.parametrize("axis", [0, 1])
def test_an_item_that_leans_has_fallen_over(scene, found, axis):
    start = initial_state(scene)
    lies = turn(start, 0, axis, np.pi / 2)
    for fallen in (turn(start, 0, axis, np.radians(25.0)), lies):
        assert found(start, fallen) == [("toppled", "block")]
    assert found(lies, lies) == [], "it was known to lie"


def test_an_item_that_is_lost_and_one_that_is_not_let_go(scene, found, robot):
    start = initial_state(scene)
    holds, other = (start.with_item(k, Placement(HAND, frozen(HELD))) for k in (0, 1))
    assert found(holds, start) == [("not-held", "block")]
    assert found(start, holds) == [("held", "block")]
    assert found(holds, other) == [("not-held", "block"), ("held", "can")]
    where = deviations(scene, robot, holds, start, THRESHOLDS)[0].what
    assert "(0.10, -0.20, 0.89)" in where, "it says where the item is"


def test_what_rides_in_a_drawer_counts_by_where_it_is_in_the_world(scene, found):
    """The same pose in the world under another parent is no difference."""
    start = initial_state(scene).with_scene(frozen([0.1, 0.0]))
    X_WI = transform(None, (0.05, 0.0, 0.67))
    in_world = start.with_item(0, Placement(WORLD, frozen(X_WI)))
    X_BI = scene.in_parent(X_WI, "drawer", start.scene_q)
    in_drawer = start.with_item(0, Placement("drawer", frozen(X_BI)))
    assert found(in_world, in_drawer) == found(in_drawer, in_world) == []
    out = in_drawer.with_scene(frozen([0.2, 0.0]))
    assert found(in_drawer, out) == [("moved", "block"), ("drawer", "slide")]


def test_amounts_have_the_unit_of_the_joint(scene, robot):
    start = initial_state(scene)
    drawer, door = deviations(
        scene, robot, start, start.with_scene(frozen([0.05, 0.3])), THRESHOLDS
    )
    assert (drawer.unit, drawer.amount) == ("m", pytest.approx(0.05))
    assert "50.0 mm" in drawer.what
    assert (door.unit, door.amount) == ("rad", pytest.approx(0.3))
    assert "0.3 rad" in door.what
