"""Between things that stand close, the fingers open no more than they must: PyBullet judges."""

from itertools import islice

import numpy as np
import pytest

from galley.collision.backends.pybullet_world import PyBulletWorld
from galley.domain.failure import Failure
from galley.domain.frames import frozen
from galley.domain.state import Placement, initial_state
from galley.motion.effects import state_after
from galley.robots.panda.models import mobile_panda
from galley.skills import SKILLS, BoundAction, PlanningContext, Settings
from galley.skills.manipulation.lines import RejectionCounts
from galley.skills.manipulation.motion_builder import MotionBuilder
from galley.skills.manipulation.step import solve_manipulation
from galley.skills.pick import pick_manipulations

WALLS = """\
  walls:
    shapes:
      - {extents: [[0.045, 0.055], [-0.27, -0.13], [0.84, 0.94]]}
      - {extents: [[0.145, 0.155], [-0.27, -0.13], [0.84, 0.94]]}
      - {extents: [[0.055, 0.145], [-0.27, -0.255], [0.84, 0.94]]}
      - {extents: [[0.055, 0.145], [-0.145, -0.13], [0.84, 0.94]]}
"""


@pytest.fixture(scope="module")
def context(small_text, scene_of):
    """A block of 3 x 3 x 10 cm on the table, walls as high as itself 3 to 4 cm around it."""
    text = small_text.replace("{box: [0.05, 0.06, 0.10]}", "{box: [0.03, 0.03, 0.10]}")
    text = text.replace("xy: [0.1, -0.2], yaw: 0.5", "xy: [0.1, -0.2], yaw: 0.0")
    scene = scene_of(text.replace("  drawer:\n    parent", f"{WALLS}  drawer:\n    parent", 1))
    with PyBulletWorld(scene, mobile_panda(scene.robot.base)) as world:
        yield PlanningContext(scene, world.robot, world, Settings(seed=0))


def bound(scene, name, *objects):
    return BoundAction(0, name, tuple(scene.binding(each) for each in objects))


def test_wide_and_narrow_come_in_turn(context):
    state = initial_state(context.scene)
    ways = list(islice(pick_manipulations(context, state, 0, np.random.default_rng(0)), 200))
    assert {round(way.opening, 4) for way in ways} == {0.04, 0.021}
    for a, b in zip(ways[::2], ways[1::2], strict=True):
        assert a.opening != b.opening
    both = {way.name for way in ways if way.opening > 0.03} & {
        way.name for way in ways if way.opening < 0.03
    }
    assert len(both) > 5, "no grasp is tied to one opening"


def picking(context, rng):
    """The motions of a drive to the block and of its pick, each with the State that it leads to."""
    scene, state = context.scene, initial_state(context.scene)
    drive = bound(scene, "navigate", "center", "table")
    pick = bound(scene, "pick", "block", "table", "h1")
    for action, upcoming in ((drive, (pick,)), (pick, ())):
        found = SKILLS[action.name].refine(context, action, upcoming, state, rng)
        assert not isinstance(found, Failure), str(found)
        for motion in found:
            state = state_after(scene, context.robot, motion, state)
            yield motion, state


def test_only_narrow_fingers_get_between_the_walls(context):
    """The hand put there with the fingers as they come down: PyBullet says what they touch."""
    world, checked = context.world, 0
    for motion, end in picking(context, np.random.default_rng(0)):
        if motion.phase == "approach":
            fingers = context.robot.slice("fingers")
            np.testing.assert_allclose(end.q[fingers], 0.021)
            for opening, free in ((0.021, True), (0.04, False)):
                q = end.q.copy()
                q[fingers] = opening
                world.set_state(end.with_robot(q))
                near = world.near_pairs(0.0)
                hit = [d for pair, d in near.items() if "walls" in pair and d < -0.001]
                assert (not hit) == free
                checked += 1
    assert checked == 2
    assert end.held == 0


def test_fingers_open_where_they_have_room_and_not_before(context):
    """Left narrow between the walls, the hand moves to the next thing before it opens wide."""
    scene, world = context.scene, context.world
    rng = np.random.default_rng(0)
    fingers = context.robot.slice("fingers")
    state = next(end for motion, end in picking(context, rng) if motion.phase == "approach")
    # The same hand pose, but the block stands elsewhere, and the fingers are nearly shut.
    q = state.q.copy()
    q[fingers] = 0.005
    state = state.with_robot(q)
    elsewhere = scene.items[0].X_WI.copy()
    elsewhere[:2, 3] = [0.17, 0.0]
    state = state.with_item(0, Placement("world", frozen(elsewhere)))
    ways = (way for way in pick_manipulations(context, state, 0, rng) if way.opening == 0.04)
    tries = (
        solve_manipulation(context, way, state.q[:3], rng, RejectionCounts())
        for way in islice(ways, 200)
    )
    builder = MotionBuilder(context, state, 0, rng)
    assert builder.run(next(reached for reached in tries if reached is not None)) is None
    phases = [motion.phase for motion in builder.motions]
    assert phases.index("reach") < phases.index("open fingers") < phases.index("approach")
    for motion in builder.motions:
        if motion.phase == "open fingers":
            for opening in np.linspace(0.005, 0.04, 8):
                q = state.q.copy()
                q[fingers] = opening
                world.set_state(state.with_robot(q))
                assert not [p for p, d in world.near_pairs(0.0).items() if "walls" in p and d < 0]
            break
        state = state_after(scene, context.robot, motion, state)
