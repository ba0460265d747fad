"""Where there is little room: short lines under a roof, a long lift between walls, deep places."""

import numpy as np
import pytest

from galley.collision.backends.pybullet_world import PyBulletWorld
from galley.collision.checker import MARGIN, pair
from galley.domain.scene.reader import load_scene
from galley.domain.scene.robot_file import Spacing
from galley.domain.shipped import shipped_file
from galley.domain.state import initial_state, item_pose
from galley.motion.effects import state_after
from galley.robots.panda.models import mobile_panda
from galley.skills import SKILLS, BoundAction, PlanningContext, Settings
from galley.skills.manipulation.contacts import place_manipulations
from galley.skills.manipulation.context import without
from galley.skills.pick import pick_manipulations
from galley.skills.placing.placements import LaterItem


@pytest.fixture
def context(request):
    scene = load_scene(shipped_file(f"{request.param}_scene.yaml"))
    with PyBulletWorld(scene, mobile_panda(scene.robot.base)) as world:
        yield PlanningContext(scene, world.robot, world, Settings())


def carried_out(context, name, objects, state):
    action = BoundAction(0, name, tuple(map(context.scene.binding, objects)))
    motions = SKILLS[name].refine(context, action, (), state, np.random.default_rng(0))
    assert isinstance(motions, tuple), str(motions)
    return motions


@pytest.mark.parametrize("context", ["low_niche"], indirect=True)
def test_under_a_low_roof_an_item_is_lifted_less(context):
    scene = context.scene
    index = scene.item_index["soup_can"]
    state = without(initial_state(scene), set(range(len(scene.items))) - {index})
    motions = carried_out(context, "pick", ("soup", "niche", "h1"), state)
    (lift,) = (each for each in motions if each.phase == "lift")
    heights = []
    for motion in motions:
        state = state_after(scene, context.robot, motion, state)
        X_WH = context.robot.kinematics.hand_pose(state.q)
        heights.append(item_pose(scene, state, index, X_WH)[2, 3])
    risen = heights[motions.index(lift)] - heights[0]
    assert MARGIN < risen < Spacing().lift - 0.005
    context.world.set_state(state)
    close = context.world.near_pairs(0.9 * MARGIN, (index,))
    assert {p for p in close if "soup_can" in p} <= {
        pair("soup_can", finger) for finger in context.robot.fingers
    }


@pytest.mark.parametrize("context", ["in_a_bin"], indirect=True)
def test_between_walls_an_item_is_lifted_over_them(context):
    scene = context.scene
    state, index = initial_state(scene), scene.item_index["sugar_box"]
    ways = pick_manipulations(context, state, index, np.random.default_rng(0))
    lengths = sorted(next(ways).steps[-1].length for _ in range(2))
    assert lengths == pytest.approx([Spacing().lift, 0.12], abs=1e-3)  # the walls are 0.1 m high
    carried_out(context, "pick", ("sugar", "burner", "h1"), state)


@pytest.mark.parametrize("context", ["low_niche"], indirect=True)
def test_what_later_items_must_pass_is_put_down_behind(context):
    scene = context.scene
    soup, beans = (scene.item_index[name] for name in ("soup_can", "beans_can"))
    state = without(initial_state(scene), set(range(len(scene.items))) - {soup})
    for motion in carried_out(context, "pick", ("soup", "niche", "h1"), state):
        state = state_after(scene, context.robot, motion, state)

    def first(later, base=None):
        rng = np.random.default_rng(0)
        q = state.q if base is None else context.robot.with_groups(state.q, base=base)[0]
        at = state.with_robot(q)
        found = place_manipulations(context, at, scene.region("niche"), rng, later)
        return [(next(found).contact @ state.items[soup].X_PI)[0, 3] for _ in range(4)]

    behind = first((LaterItem(scene.items[beans]),))
    assert np.mean(behind) < np.mean(first(())) - 0.05
    # Wherever the base comes from: it will drive to the niche.
    assert first((LaterItem(scene.items[beans]),), base=np.array([0.8, 1.4, np.pi])) == behind


@pytest.mark.parametrize("context", ["hand_in_a_bin"], indirect=True)
def test_where_the_hand_has_less_room_than_the_margin_half_of_it_will_do(context):
    scene, robot = context.scene, context.robot
    state = initial_state(scene)
    motions = carried_out(context, "pick", ("sugar", "burner", "h1"), state)
    margins = {motion.phase: motion.record.margin_m for motion in motions}
    assert margins["drive"] == MARGIN
    assert margins["reach"] == Spacing().narrow
    assert margins["approach"] is margins["lift"] is None, "lines have none"
    closest = np.inf
    for motion in motions:
        if motion.phase == "reach":
            path = motion.path.resampled(0.01).waypoints
            Q = robot.with_groups(state.q, arm=path)
            checker = context.world.checker(state, frozenset(), Spacing().narrow)
            near = [contact.distance for q in Q for contact in checker.contacts(q)[:1]]
            closest = min(near, default=np.inf)
        state = state_after(scene, robot, motion, state)
    assert closest >= Spacing().narrow / 2, "as PyBullet sees it"
    assert state.held == scene.item_index["sugar_box"]
