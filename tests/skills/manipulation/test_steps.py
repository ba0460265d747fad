"""Steps, and what a plan's later actions mean for one at hand."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from galley.domain.failure import Failure, FailureKind
from galley.domain.frames import frozen, transform
from galley.domain.scene.model import Binding
from galley.domain.state import HAND, Placement, initial_state
from galley.motion.effects import state_after
from galley.skills import SKILLS, BoundAction, PlanningContext, Settings
from galley.skills.manipulation.contacts import place_manipulations
from galley.skills.manipulation.manipulation import GripperMotion, Line, Manipulation
from galley.skills.manipulation.motion_builder import MotionBuilder
from galley.skills.manipulation.step import SkillStep, can_be_placed_later, carry_out, placed_later


@pytest.fixture
def context(kitchen, world):
    return PlanningContext(kitchen, world.robot, world, Settings(seed=0, placements=50))


def bound(scene, index, name, *objects):
    return BoundAction(index, name, tuple(scene.binding(each) for each in objects))


def nothing(state, rng):
    return iter(())


def test_a_failure_names_the_step_of_a_compound_action(kitchen, context):
    action = bound(kitchen, 0, "stow", "spam", "drawer", "h1")
    drawer = kitchen.binding("drawer")
    rng = np.random.default_rng(0)
    steps = (SkillStep(nothing, drawer, "put down"), SkillStep(nothing, drawer, "open drawer"))
    failure = carry_out(context, action, steps, initial_state(kitchen), rng)
    assert isinstance(failure, Failure)
    assert failure.kind is FailureKind.BUDGET
    assert failure.step == ("put down",)
    whole = carry_out(context, action, (SkillStep(nothing, drawer),), initial_state(kitchen), rng)
    assert whole.step == ()
    assert "stow spam drawer h1" in whole.message


@pytest.mark.parametrize("refusals", [0, 1, 3, 1000])
def test_a_solution_that_the_next_step_rejects_is_not_used(kitchen, context, refusals):
    """Grasps are asked one after another; the first that is accepted is the one that is run.

    If none seems to do, one is run all the same: what follows says why.
    """
    action = bound(kitchen, 0, "pick", "sugar", "burner", "h1")
    asked = []

    def refuses_first(state, rng):
        asked.append(state)
        return len(asked) > refusals

    ways = SKILLS["pick"].first_contacts
    place = kitchen.binding("burner")
    step = SkillStep(lambda s, r: ways(context, action, s, r), place, "", refuses_first)
    start = initial_state(kitchen)
    motions = carry_out(context, action, (step,), start, np.random.default_rng(0))
    assert isinstance(motions, tuple)
    for motion in motions:
        start = state_after(kitchen, context.robot, motion, start)
    sugar = kitchen.item_index["sugar_box"]
    assert {state.held for state in asked} == {sugar}, "with the item in the hand"
    if refusals == 1000:
        assert 1 < len(asked) < 20
        return
    assert len(asked) > refusals
    np.testing.assert_allclose(start.items[sugar].X_PI, asked[-1].items[sugar].X_PI, atol=1e-9)


def test_what_comes_later_into_the_same_region(kitchen, context):
    top = Binding("same_top", "furniture", "countertop", region="hitman_top")
    scene = replace(kitchen, bindings=(*kitchen.bindings, top))
    plan = (
        bound(scene, 0, "navigate", "burner", "countertop"),
        bound(scene, 1, "place", "sugar", "countertop", "h1"),
        bound(scene, 2, "pick", "spam", "burner", "h1"),
        bound(scene, 3, "place", "spam", "same_top", "h1"),
        bound(scene, 4, "stow", "spam", "drawer", "h1"),
    )

    def names(after, region, but):
        return [each.item.name for each in placed_later(context, plan[after:], SKILLS, region, but)]

    assert names(2, "hitman_top", "sugar_box") == ["potted_meat_can"]
    assert names(0, "hitman_top", "potted_meat_can") == ["sugar_box"]
    assert names(4, "hitman_top", "sugar_box") == []
    assert names(0, "indigo_drawer_top_inside", "sugar_box") == ["potted_meat_can"]
    assert names(0, "burners", "sugar_box") == []


def test_what_a_grasp_must_serve_for_is_the_next_place_of_that_item(kitchen, context):
    """Asked for a put_in or place; not for a stow, which takes the item anew."""
    index = kitchen.item_index["potted_meat_can"]
    put_in = bound(kitchen, 1, "put_in", "spam", "drawer", "h1")
    stow = bound(kitchen, 1, "stow", "spam", "drawer", "h1")
    other = bound(kitchen, 0, "place", "sugar", "countertop", "h1")
    assert can_be_placed_later(context, (), SKILLS, index) is None
    assert can_be_placed_later(context, (other,), SKILLS, index) is None
    assert can_be_placed_later(context, (other, stow, put_in), SKILLS, index) is None
    accepts = can_be_placed_later(context, (other, put_in), SKILLS, index)
    # Held from below no arm can put it down on the drawer's floor.
    below = transform(np.diag([1.0, 1.0, 1.0]), (0.0, 0.0, 0.12))
    state = initial_state(kitchen).with_item(index, Placement(HAND, frozen(below)))
    assert not accepts(state, np.random.default_rng(0))


def test_navigate_looks_past_what_touches_nothing(kitchen, context):
    """It stands where the pick after the cooking is in reach: not just anywhere at the burner."""
    state = initial_state(kitchen)
    go = bound(kitchen, 0, "navigate", "center", "burner")
    cook = bound(kitchen, 1, "cook", "spam", "burner")
    pick = bound(kitchen, 2, "pick", "spam", "burner", "h1")
    ends = []
    for upcoming in ((cook, pick), (pick,)):
        found = SKILLS["navigate"].refine(context, go, upcoming, state, np.random.default_rng(5))
        assert not isinstance(found, Failure), str(found)
        ends.append(found[-1].path.end)
    np.testing.assert_array_equal(*ends)


def test_fingers_are_said_to_open_or_to_close_as_they_do(kitchen, context):
    builder = MotionBuilder(context, initial_state(kitchen), 0, np.random.default_rng(0))
    for opening in (0.02, 0.03, 0.01):
        builder.move_fingers(opening, "")
    for motion in builder.motions:
        opens = (motion.trajectory.end > motion.trajectory.start).all()
        assert motion.phase == ("open fingers" if opens else "partly close fingers")
    assert [m.phase.split()[0] for m in builder.motions] == ["partly", "open", "partly"]


def test_lines_and_manipulations_that_can_not_be_followed_are_refused_by_value(kitchen):
    state = initial_state(kitchen)
    with pytest.raises(ValueError, match=r"n from 2, got \(4, 4\)"):
        Line("reach", np.eye(4), state, frozenset(), (), 0.1)
    with pytest.raises(ValueError, match="begins and ends with a Line"):
        Manipulation("grip", (GripperMotion("close fingers", 0.01, frozenset(), ()),), 0.04)


def test_things_go_mostly_where_an_open_drawer_sticks_out(kitchen, context):
    """0.257 m of 0.510 m are open to above, and four fifths or so of the poses lie there."""
    index = kitchen.item_index["potted_meat_can"]
    held = Placement(HAND, frozen(transform(np.diag([1.0, -1.0, -1.0]), (0.0, 0.0, 0.12))))
    scene_q = initial_state(kitchen).scene_q.copy()
    scene_q[kitchen.joint_index["indigo_drawer_top_joint"]] = 0.30
    state = initial_state(kitchen).with_item(index, held).with_scene(scene_q)
    region = kitchen.region("indigo_drawer_top_inside")
    inside = 0
    for way in itertools.islice(
        place_manipulations(context, state, region, np.random.default_rng(0)), 200
    ):
        X_WI = way.contact @ held.X_PI
        inside += X_WI[0, 3] > 0.288
    assert 150 <= inside < 200
