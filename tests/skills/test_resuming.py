"""Actions that were interrupted: what a skill says it can go on with, and what it then does."""

import numpy as np
import pytest

from galley.domain.frames import frozen, rotation_about, transform
from galley.domain.predicates import inside
from galley.domain.scene.model import HAND
from galley.domain.state import Placement, initial_state
from galley.motion.effects import state_after
from galley.robots.panda.mobile import hand_pose
from galley.skills import SKILLS, BoundAction, PlanningContext, Settings

SPAM = "potted_meat_can"
JOINT = "indigo_drawer_top_joint"


@pytest.fixture(scope="module")
def context(kitchen, shared_world):
    return PlanningContext(kitchen, shared_world.robot, shared_world, Settings(seed=1))


@pytest.fixture
def bound(kitchen):
    def make(name, *objects):
        return BoundAction(0, name, tuple(kitchen.binding(each) for each in objects))

    return make


def with_spam(scene, X, parent="world", opening=0.0):
    """The start, the can at X in its parent's frame, the drawer open by so much."""
    state = initial_state(scene)
    scene_q = np.array(state.scene_q)
    scene_q[scene.joint_index[JOINT]] = opening
    placed = Placement(parent, frozen(X))
    return state.with_scene(frozen(scene_q)).with_item(scene.item_index[SPAM], placed)


HELD = transform(rotation_about(np.array([1.0, 0.0, 0.0]), np.pi), (0.0, 0.0, 0.12))
ON_LEFT_COUNTER = transform(None, (0.0, 1.2, 0.93 + 0.041))
ON_RIGHT_COUNTER = transform(None, (0.0, -0.5, 0.93 + 0.041))
IN_DRAWER = transform(None, (0.1, 1.2, 0.779 + 0.041))
FALLEN = transform(rotation_about(np.array([1.0, 0.0, 0.0]), np.pi / 2), (0.0, 1.2, 0.93 + 0.025))


@pytest.mark.parametrize(
    ("X", "parent", "opening", "goes_on"),
    [
        (HELD, HAND, 0.0, True),
        (HELD, HAND, 0.3, True),
        (ON_LEFT_COUNTER, "world", 0.0, True),
        (ON_LEFT_COUNTER, "world", 0.15, True),
        (IN_DRAWER, "indigo_drawer_top", 0.2, True),
        (IN_DRAWER, "indigo_drawer_top", 0.0, True),
        (ON_RIGHT_COUNTER, "world", 0.3, False),
        (FALLEN, "world", 0.3, False),
    ],
)
def test_a_stow_goes_on_where_its_item_is_on_the_way(
    kitchen, context, bound, X, parent, opening, goes_on
):
    state = with_spam(kitchen, X, parent, opening)
    assert SKILLS["stow"].resumes(context, bound("stow", "spam", "drawer", "h1"), state) is goes_on


def test_a_stow_does_not_go_on_with_something_else_in_the_hand(kitchen, context, bound):
    state = with_spam(kitchen, IN_DRAWER, "indigo_drawer_top", 0.2)
    held = Placement(HAND, frozen(HELD))
    state = state.with_item(kitchen.item_index["sugar_box"], held)
    assert not SKILLS["stow"].resumes(context, bound("stow", "spam", "drawer", "h1"), state)


def test_what_is_done_already_takes_no_motions(kitchen, context, bound):
    rng = np.random.default_rng(0)
    shut = with_spam(kitchen, IN_DRAWER, "indigo_drawer_top", 0.002)
    held = with_spam(kitchen, HELD, HAND)
    stands = with_spam(kitchen, ON_RIGHT_COUNTER)
    opened = with_spam(kitchen, ON_RIGHT_COUNTER, opening=0.299)
    for name, objects, state in (
        ("stow", ("spam", "drawer", "h1"), shut),
        ("put_in", ("spam", "drawer", "h1"), shut),
        ("pick", ("spam", "burner", "h1"), held),
        ("place", ("spam", "countertop", "h1"), stands),
        ("open", ("drawer", "h1"), opened),
        ("close", ("drawer", "h1"), shut),
    ):
        action = bound(name, *objects)
        assert SKILLS[name].resumes(context, action, state), name
        assert SKILLS[name].refine(context, action, (), state, rng) == (), name


def test_what_was_not_begun_is_not_gone_on_with(kitchen, context, bound):
    start = initial_state(kitchen)
    held = with_spam(kitchen, HELD, HAND)
    for name, objects, state in (
        ("pick", ("spam", "burner", "h1"), start),
        ("place", ("spam", "countertop", "h1"), start),
        ("place", ("spam", "countertop", "h1"), held),
        ("stow", ("spam", "drawer", "h1"), start),
        ("open", ("drawer", "h1"), held),
        ("close", ("drawer", "h1"), held),
        ("cook", ("spam", "burner"), start),
    ):
        assert not SKILLS[name].resumes(context, bound(name, *objects), state), name


def test_a_stuck_drawer_may_be_made_do_with_once_it_was_pulled_again(kitchen, context, bound):
    half = with_spam(kitchen, ON_LEFT_COUNTER, opening=0.2)
    stow, opens = bound("stow", "spam", "drawer", "h1"), bound("open", "drawer", "h1")
    pulls: dict[int, set[bool]] = {}
    opened: dict[int, set[bool]] = {}
    for recovery in (0, 1, 2):
        again = context.for_replanning(recovery)
        for seed in range(6):
            rng = np.random.default_rng(seed)
            motions = SKILLS["stow"].refine(again, stow, (), half, rng)
            pulled = any(motion.phase == "open drawer: pull" for motion in motions)
            pulls.setdefault(recovery, set()).add(pulled)
            end = half
            for motion in motions:
                end = state_after(kitchen, context.robot, motion, end)
            drawer = kitchen.region("indigo_drawer_top_inside")
            assert inside(kitchen, end, SPAM, drawer, JOINT, np.eye(4)).holds
            moved = SKILLS["open"].refine(again, opens, (), half, rng) != ()
            opened.setdefault(recovery, set()).add(moved)
    assert pulls == opened == {0: {True}, 1: {True}, 2: {True, False}}


def test_a_drawer_that_opened_half_way_is_pulled_on(kitchen, context, bound):
    half = with_spam(kitchen, ON_RIGHT_COUNTER, opening=0.15)
    action = bound("open", "drawer", "h1")
    assert SKILLS["open"].resumes(context, action, half)
    motions = SKILLS["open"].refine(context, action, (), half, np.random.default_rng(1))
    pull = next(motion for motion in motions if motion.phase == "pull")
    spec = kitchen.robot.base
    q = half.q.copy()
    ends = []
    for motion in motions:
        if motion is pull:
            for arm in (motion.path.start, motion.path.end):
                q[context.robot.slice("arm")] = arm
                ends.append(hand_pose(q, spec)[0, 3])
        q[context.robot.slice(motion.group)] = motion.path.end
    assert ends[1] - ends[0] == pytest.approx(0.15, abs=1e-6)
