"""How far drawers and doors move before they meet something: PyBullet's distances as the oracle."""

import numpy as np
import pybullet as pb
import pytest

from galley.collision.backends.pybullet_world import PyBulletWorld
from galley.domain.failure import Failure, FailureKind
from galley.domain.scene.reader import load_scene
from galley.domain.state import initial_state
from galley.robots.panda.models import mobile_panda
from galley.skills import SKILLS, BoundAction, PlanningContext
from galley.skills.drawer import free_travel
from galley.skills.manipulation.polyhedra import first_contact, polyhedron, separation
from galley.skills.placing.placements import exposed_part

TOUCH = 0.002  # m, Bullet's margins, and the prism within a cylinder
CRATES = {
    "box": "{extents: [[0.45, 0.6], [-0.4, 0.1], [0.0, 0.66]]}",
    "turned box": "{box: [0.2, 0.1, 0.5], xyz: [0.55, 0.1, 0.45], rpy: [0.2, 0.3, 0.8]}",
    "cylinder": "{cylinder: [0.08, 0.9], xyz: [0.5, 0.12, 0.4]}",
    "lying cylinder": "{cylinder: [0.06, 0.4], xyz: [0.48, 0.0, 0.62], rpy: [1.3, 0.4, 0]}",
    "sphere": "{sphere: 0.1, xyz: [0.5, -0.15, 0.6]}",
}


def scene_with(text, tmp_path, crate):
    body = f"  crate:\n    shapes:\n      - {crate}\n"
    file = tmp_path / "crate.yaml"
    file.write_text(text.replace("  cabinet:\n    shapes", f"{body}  cabinet:\n    shapes", 1))
    return load_scene(file)


def distance(world, moved, other):
    """Bullet's signed distance between furniture bodies and one more."""
    b = world.loaded.link(world.furniture_id, other)
    found = [1.0]
    for name in moved:
        a = world.loaded.link(world.furniture_id, name)
        points = pb.getClosestPoints(
            world.furniture_id, world.furniture_id, 1.0, a, b, physicsClientId=world.client
        )
        found += [point[8] for point in points]
    return min(found)


def judge(scene, joint, other, values):
    """Distances of what a joint moves to another body at values of the joint."""
    robot = mobile_panda(scene.robot.base)
    with PyBulletWorld(scene, robot) as world:
        found = []
        for value in values:
            scene_q = initial_state(scene).scene_q.copy()
            scene_q[scene.joint_index[joint]] = value
            world.set_scene(scene_q)
            found.append(distance(world, scene.moved_by(joint), other))
    return np.array(found)


@pytest.mark.parametrize("crate", CRATES.values(), ids=CRATES)
def test_a_drawer_stops_where_bullet_sees_it_touch(small_text, tmp_path, crate):
    scene = scene_with(small_text, tmp_path, crate)
    context = PlanningContext(scene, None, None)
    value, blocker = free_travel(context, initial_state(scene), "slide", False, 0.4)
    assert blocker == "crate"
    assert 0.05 < value < 0.35
    values = np.linspace(0.0, value, 30)
    apart = judge(scene, "slide", "crate", [*values, value + 2 * TOUCH])
    assert (apart[:-1] > -TOUCH).all(), "free all the way"
    assert abs(apart[-2]) < TOUCH, "touches there"
    assert apart[-1] < apart[-2], "and goes into it after that"


def test_a_door_stops_where_bullet_sees_it_touch(small_text, tmp_path):
    crate = "{extents: [[0.42, 0.5], [0.0, 0.2], [0.1, 0.4]]}"
    scene = scene_with(small_text, tmp_path, crate)
    context = PlanningContext(scene, None, None)
    value, blocker = free_travel(context, initial_state(scene), "hinge", False, 1.5)
    assert blocker == "crate"
    apart = judge(scene, "hinge", "crate", [*np.linspace(0, value, 30), value + 0.02])
    assert (apart[:-1] > -TOUCH).all()
    assert abs(apart[-2]) < TOUCH
    assert apart[-1] < -TOUCH


def test_nothing_stops_a_drawer_beside_which_something_stands(small_text, tmp_path):
    """A hair beside it, and touching it all along: neither is met on the way."""
    for gap in (0.001, 0.0):
        crate = f"{{extents: [[-0.3, 0.9], [{0.3 + gap}, 0.6], [0.0, 0.7]]}}"
        scene = scene_with(small_text, tmp_path, crate)
        context = PlanningContext(scene, None, None)
        assert free_travel(context, initial_state(scene), "slide", True, 0.4) == (0.4, None)


def test_what_touches_the_front_of_a_drawer_stops_it_at_once(small_text, tmp_path):
    crate = "{extents: [[0.31, 0.9], [-0.6, 0.6], [0.0, 0.7]]}"  # the knob ends at x = 0.31
    scene = scene_with(small_text, tmp_path, crate)
    context = PlanningContext(scene, None, None)
    value, blocker = free_travel(context, initial_state(scene), "slide", False, 0.4)
    assert (value, blocker) == (pytest.approx(0.0, abs=1e-9), "crate")


def test_the_kitchens_own_drawers_and_doors_open_all_the_way(kitchen):
    context = PlanningContext(kitchen, None, None)
    for joint in kitchen.joints:
        assert free_travel(context, initial_state(kitchen), joint.name, True, joint.upper) == (
            joint.upper,
            None,
        )


def test_items_stop_a_drawer_only_if_included(small_text, tmp_path):
    """The block stands on a crate that is lower than the drawer, 0.12 m before its knob."""
    text = small_text.replace("{on: top, xy: [0.1, -0.2], yaw: 0.5}", "{xyz: [0.455, 0, 0.65]}")
    scene = scene_with(text, tmp_path, "{extents: [[0.4, 0.7], [-0.2, 0.2], [0.0, 0.6]]}")
    context = PlanningContext(scene, None, None)
    state = initial_state(scene)
    assert free_travel(context, state, "slide", False, 0.4) == (0.4, None)
    value, blocker = free_travel(context, state, "slide", True, 0.4)
    assert blocker == "block"
    assert value == pytest.approx(0.455 - 0.025 - 0.31)


def test_boxes_meet_where_a_hand_calculation_says(kitchen):
    shape = kitchen.item("sugar_box").shapes[0]  # 0.089 x 0.038 x 0.175
    a = polyhedron(shape)
    turned = np.eye(4)
    turned[:2, :2] = [[np.sqrt(0.5), -np.sqrt(0.5)], [np.sqrt(0.5), np.sqrt(0.5)]]
    turned[0, 3] = 0.3
    b = a.moved(turned)
    corner = 0.5 * (0.089 + 0.038) * np.sqrt(0.5)  # how far the turned box reaches towards a
    # The corner lies at y = -(0.089 - 0.038) / 2 * sqrt(1/2), within a's side of +-0.019.
    assert 0.5 * (0.089 - 0.038) * np.sqrt(0.5) < 0.019
    way = 0.3 - corner - 0.0445
    assert first_contact(a, b, np.array([1.0, 0, 0]), 0.001) == pytest.approx(way)
    assert first_contact(a, b, np.array([-1.0, 0, 0]), 0.001) == np.inf
    assert separation(a, b) == pytest.approx(way)


# -- what follows for the actions ------------------------------------------------------------------


def bound(scene, name, *objects):
    return BoundAction(0, name, tuple(scene.binding(each) for each in objects))


def test_a_drawer_that_furniture_blocks_is_refused_with_its_free_way(small_text, tmp_path):
    crate = "{extents: [[0.35, 0.6], [-0.4, 0.4], [0.0, 0.66]]}"
    scene = scene_with(small_text, tmp_path, crate)
    robot = mobile_panda(scene.robot.base)
    context = PlanningContext(scene, robot, None)
    state = initial_state(scene)
    actions = (bound(scene, "open", "drawer", "h1"), bound(scene, "stow", "block", "drawer", "h1"))
    for action in actions:
        failure = SKILLS[action.name].impossible(context, action, state)
        assert failure.kind is FailureKind.BLOCKED
        assert failure.objects == ("crate",)
        free = failure.certificate["free_m"]
        assert free == pytest.approx(0.04)
        assert failure.numbers["opening_m"] == free < failure.certificate["needed_m"]
        assert (failure.certificate["kind"], failure.certificate["joint"]) == (
            "swept-drawer",
            "slide",
        )


def test_an_item_before_a_drawer_is_named_but_proves_nothing_forever(small_text, tmp_path):
    text = small_text.replace("{on: top, xy: [0.1, -0.2], yaw: 0.5}", "{xyz: [0.36, 0, 0.65]}")
    scene = scene_with(text, tmp_path, "{extents: [[0.34, 0.7], [-0.2, 0.2], [0.0, 0.6]]}")
    context = PlanningContext(scene, mobile_panda(scene.robot.base), None)
    action, state = bound(scene, "open", "drawer", "h1"), initial_state(scene)
    assert SKILLS["open"].impossible(context, action, state) is None
    failure = SKILLS["open"].refine(context, action, (), state, np.random.default_rng(0))
    assert isinstance(failure, Failure)
    assert failure.kind is FailureKind.BLOCKED
    assert failure.objects == ("block",)


def test_the_exposed_part_of_an_open_drawer_is_found(kitchen):
    """The worktop's edge is at x = 0.288, the drawer's inside -0.265..0.245: 0.257 m at 0.3 m."""
    region = kitchen.region("indigo_drawer_top_inside")
    state = initial_state(kitchen)
    scene_q = state.scene_q.copy()
    scene_q[kitchen.joint_index["indigo_drawer_top_joint"]] = 0.30
    shown = exposed_part(kitchen, state.with_scene(scene_q), region)
    np.testing.assert_allclose(shown.boxes, [[[-0.012, 0.862, 0.779], [0.245, 1.561, 0.888]]])
    assert exposed_part(kitchen, state, region) is None, "nothing of a closed one"
    assert exposed_part(kitchen, state, kitchen.region("burners")) is None, "a surface is no drawer"
