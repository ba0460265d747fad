"""Items that touch each other, or the palm: taken and put down all the same."""

import numpy as np
import pytest

from galley.collision.backends.pybullet_world import PyBulletWorld
from galley.collision.checker import MARGIN, pair
from galley.domain.frames import frozen, inverse, transform
from galley.domain.scene.model import HAND
from galley.domain.scene.robot_file import Spacing
from galley.domain.state import Placement, initial_state, item_pose
from galley.motion.effects import state_after
from galley.robots.catalog import robot_of
from galley.robots.panda.mobile import hand_pose
from galley.skills import SKILLS, BoundAction, PlanningContext, Settings
from galley.skills.manipulation.contacts import (
    height_over,
    held_item_contacts,
    place_manipulations,
    supports_of,
    touching_items,
)
from galley.skills.manipulation.grasps import grasps_of, item_in_hand
from galley.skills.pick import pick_manipulations

SUGAR, SPAM = "sugar_box", "potted_meat_can"
STOVE = 0.921  # m


@pytest.fixture(scope="module")
def context(kitchen, shared_world):
    return PlanningContext(kitchen, shared_world.robot, shared_world, Settings(seed=3))


def standing(scene, gap, along_y):
    """The start, the sugar beside the can on the stove with a gap (m) between them."""
    sugar, can = scene.item(SUGAR), scene.item(SPAM)
    way = np.array([0.0, 1.0]) if along_y else np.array([1.0, 0.0])
    apart = float(way @ (sugar.size[:2] + can.size[:2])) / 2.0 + gap
    state = initial_state(scene)
    for item, xy in ((can, np.array([0.0, 0.2])), (sugar, np.array([0.0, 0.2]) + apart * way)):
        X_WI = transform(None, (*xy, STOVE + item.size[2] / 2.0))
        state = state.with_item(scene.item_index[item.name], Placement("world", frozen(X_WI)))
    return state


@pytest.mark.parametrize(("gap", "near"), [(0.0003, True), (0.003, True), (0.006, False)])
def test_what_stands_too_near_is_lifted_over(kitchen, context, gap, near):
    state = standing(kitchen, gap, along_y=False)
    index = kitchen.item_index[SUGAR]
    assert touching_items(context, state, index) == ((SPAM,) if near else ())
    assert supports_of(context, state, index) == ("range",)
    way = next(pick_manipulations(context, state, index, np.random.default_rng(0)))
    lift = way.steps[-1]
    assert (pair(SUGAR, SPAM) in lift.allowed) == near
    # The can is 0.082 m high.
    assert (lift.length > 0.082) == near
    assert lift.length == pytest.approx(Spacing().lift if not near else 0.102)
    high = height_over(context, state, index, ("range",))
    assert high == pytest.approx(0.102 if near else 0.0)


@pytest.mark.parametrize("along_y", [True, False])
def test_an_item_pushed_against_another_is_taken(kitchen, context, along_y):
    state = standing(kitchen, 0.0003, along_y)
    bound = tuple(kitchen.binding(name) for name in ("sugar", "burner", "h1"))
    action = BoundAction(0, "pick", bound)
    motions = SKILLS["pick"].refine(context, action, (), state, np.random.default_rng(0))
    assert isinstance(motions, tuple), str(motions)
    for motion in motions:
        state = state_after(kitchen, context.robot, motion, state)
    assert state.held == kitchen.item_index[SUGAR]
    context.world.set_state(state)
    close = context.world.near_pairs(0.9 * MARGIN, (state.held,))
    assert {p for p in close if SUGAR in p} <= {pair(SUGAR, f) for f in context.robot.fingers}


def test_an_item_that_leans_on_the_palm_may_leave_it(kitchen, context):
    index = kitchen.item_index[SUGAR]
    item = kitchen.items[index]
    grasp = next(g for g in grasps_of(item, context.robot.gripper) if g.name.startswith("top"))
    start = initial_state(kitchen)
    q = start.q.copy()
    q[context.robot.slice("fingers")] = grasp.width / 2.0
    X_HI = item_in_hand(grasp, context.robot.p_HT)
    held = start.with_robot(q).with_item(index, Placement(HAND, frozen(X_HI)))
    palm = pair("panda_hand", SUGAR)
    assert palm not in held_item_contacts(context, held, item)
    # Deeper in the hand by steps, until Bullet sees the palm touched.
    pushed, X = held, X_HI.copy()
    while palm not in held_item_contacts(context, pushed, item):
        X = transform(None, (0.0, 0.0, -0.001)) @ X
        assert X[2, 3] > 0.0
        pushed = pushed.with_item(index, Placement(HAND, frozen(X)))
    X_WH = hand_pose(pushed.q, kitchen.robot.base)
    assert np.allclose(inverse(X_WH) @ item_pose(kitchen, pushed, index, X_WH), X)
    region = kitchen.region("hitman_top")
    for state, leans in ((held, False), (pushed, True)):
        way = next(place_manipulations(context, state, region, np.random.default_rng(0)))
        assert all((palm in step.allowed) == leans for step in way.steps)


@pytest.mark.parametrize(("thick", "nearly"), [(0.001, True), (0.02, False)])
def test_an_item_is_put_down_on_a_thin_plate_over_a_table(scene_of, small_text, thick, nearly):
    """It nearly touches the table through the plate, which stands on it."""
    plate = (
        f"  plate: {{shapes: [{{extents: [[-0.1, 0.1], [-0.1, 0.1], [0.84, {0.84 + thick}]]}}]}}\n"
    )
    text = small_text.replace("bodies:\n", f"bodies:\n{plate}", 1)
    top = f"{{x: [-0.1, 0.1], y: [-0.1, 0.1], z: {0.84 + thick}}}"
    region = f"  plate: {{body: plate, surface: [{top}]}}\n"
    scene = scene_of(text.replace("regions:\n", f"regions:\n{region}", 1))
    robot = robot_of(scene.robot)
    block, start = scene.items[0], initial_state(scene)
    grasp = next(g for g in grasps_of(block, robot.gripper) if g.name.startswith("top"))
    X_HI = frozen(item_in_hand(grasp, robot.p_HT))
    with PyBulletWorld(scene, robot) as world:
        context = PlanningContext(scene, robot, world)
        held = start.with_item(0, Placement(HAND, X_HI))
        ways = place_manipulations(context, held, scene.region("plate"), np.random.default_rng(0))
        lower = next(ways).steps[0]
    assert pair("block", "plate") in lower.allowed
    assert (pair("block", "cabinet") in lower.allowed) == nearly
