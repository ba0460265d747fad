"""Open, take out, put in and close: every motion replayed, judged by predicates and by Drake."""

import itertools
from dataclasses import dataclass, replace

import numpy as np
import pytest

from galley.collision.checker import MARGIN
from galley.domain.failure import Failure, FailureKind
from galley.domain.frames import frozen, transform
from galley.domain.pddl.reader import read_domain
from galley.domain.predicates import fact_holds
from galley.domain.scene.model import Binding
from galley.domain.state import Placement, initial_state
from galley.motion.effects import state_after
from galley.robots.panda.mobile import hand_pose
from galley.skills import SKILLS, BoundAction, PlanningContext, Settings
from galley.skills.manipulation.contacts import handle_manipulations
from galley.skills.manipulation.lines import RejectionCounts
from galley.skills.manipulation.step import solve_manipulation
from galley.skills.pick import Pick
from galley.tamp.checks import audit

JOINT = "indigo_drawer_top_joint"
PLAN = (
    ("navigate", "center", "drawer"),
    ("open", "drawer", "h1"),
    ("take_out", "spam", "drawer", "h1"),
    ("place", "spam", "left_counter", "h1"),
    ("pick", "spam", "left_counter", "h1"),
    ("put_in", "spam", "drawer", "h1"),
    ("close", "drawer", "h1"),
)


@pytest.fixture(scope="module")
def scene(kitchen):
    """The kitchen, its left counter an object of its own at which the drawer's stances stand."""
    counter = Binding("left_counter", "furniture", "drawer", region="indigo_top")
    return replace(kitchen, bindings=(*kitchen.bindings, counter))


@pytest.fixture(scope="module")
def start(scene):
    """The can in the closed drawer, at its front."""
    inside = Placement("indigo_drawer_top", frozen(transform(None, (0.12, 1.2, 0.779 + 0.041))))
    return initial_state(scene).with_item(scene.item_index["potted_meat_can"], inside)


@pytest.fixture(scope="module")
def context(scene, shared_world):
    return PlanningContext(scene, shared_world.robot, shared_world, Settings(seed=1))


def bound(scene, index, name, *objects):
    return BoundAction(index, name, tuple(scene.binding(each) for each in objects))


@dataclass
class Ran:
    """An action, its motions, and the States before and after."""

    action: BoundAction
    motions: tuple
    before: object
    after: object


@pytest.fixture(scope="module")
def runs(scene, start, context):
    """The whole plan, nothing but ``navigate`` at its beginning between the steps."""
    state, found = start, []
    plan = tuple(bound(scene, k, *words) for k, words in enumerate(PLAN))
    for k, action in enumerate(plan):
        for attempt in range(4):
            motions = SKILLS[action.name].refine(
                context, action, plan[k + 1 :], state, context.rng(k, attempt)
            )
            if not isinstance(motions, Failure):
                break
        assert not isinstance(motions, Failure), str(motions)
        end = state
        for motion in motions:
            end = state_after(scene, context.robot, motion, end)
        found.append(Ran(action, motions, state, end))
        state = end
    return found


def holds(scene, state, name, *objects):
    X_WH = hand_pose(state.q, scene.robot.base)
    bindings = tuple(scene.binding(each) for each in objects)
    return fact_holds(scene, state, name, bindings, X_WH).holds


def test_each_action_has_the_effects_that_the_domain_gives_it(scene, runs):
    expected = (
        {"near": True, "opened": False, "in": True},
        {"near": True, "opened": True, "in": True},
        {"near": True, "opened": True, "in": False, "grasp": True},
        {"opened": True, "in": False, "grasp": False, "on": True},
        {"opened": True, "in": False, "grasp": True, "on": False},
        {"near": True, "opened": True, "in": True, "grasp": False},
        {"near": True, "opened": False, "in": True},
    )
    objects = {
        "near": ("drawer",),
        "opened": ("drawer",),
        "in": ("spam", "drawer"),
        "grasp": ("spam",),
        "on": ("spam", "left_counter"),
    }
    for run, facts in zip(runs, expected, strict=True):
        got = {name: holds(scene, run.after, name, *objects[name]) for name in facts}
        assert got == facts, str(run.action)


def test_drake_finds_every_motion_free(scene, robot, start, runs):
    motions = tuple(motion for run in runs for motion in run.motions)
    for motion in audit(scene, robot, motions, start):
        assert motion.record.audit == "free", motion.phase


def test_the_drawer_moves_by_the_hand_and_only_while_it_is_pulled_or_pushed(scene, runs, robot):
    k = scene.joint_index[JOINT]
    for run in runs:
        state = run.before
        for motion in run.motions:
            end = state_after(scene, robot, motion, state)
            led = any(a.kind == "joint" for a in motion.attachments)
            assert led or end.scene_q[k] == state.scene_q[k], motion.phase
            state = end
    assert runs[1].after.scene_q[k] == pytest.approx(0.30, abs=1e-3)
    assert runs[-1].after.scene_q[k] == pytest.approx(0.0, abs=1e-3)


def test_nothing_moves_to_open_what_is_open_and_to_close_what_is_closed(scene, context, runs):
    rng = np.random.default_rng(0)
    for name, state in (("open", runs[1].after), ("close", runs[-1].after)):
        action = bound(scene, 0, name, "drawer", "h1")
        assert SKILLS[name].refine(context, action, (), state, rng) == ()


def test_navigate_stays_where_the_next_thing_is_in_reach(scene, context, runs):
    """Opened, the base near the drawer: the counter has the same stances."""
    rng = np.random.default_rng(0)
    there = bound(scene, 0, "navigate", "drawer", "left_counter")
    assert SKILLS["navigate"].refine(context, there, (), runs[1].after, rng) == ()
    away = bound(scene, 0, "navigate", "drawer", "countertop")
    assert SKILLS["navigate"].refine(context, away, (), runs[1].after, rng)[-1].group == "base"


def test_stow_into_an_open_drawer_needs_no_place_to_put_the_thing_meanwhile(scene, context, runs):
    held = runs[4].after  # picked up, the drawer is open
    stow = bound(scene, 0, "stow", "spam", "drawer", "h1")
    found = SKILLS["stow"].refine(context, stow, (), held, np.random.default_rng(3))
    assert not isinstance(found, Failure), str(found)
    steps = {motion.phase.split(":")[0] for motion in found if ":" in motion.phase}
    assert steps == {"put in", "close drawer"}


def test_cooking_moves_nothing_and_needs_the_item_in_its_place(scene, context, start, runs):
    cook = bound(scene, 0, "cook", "sugar", "burner")
    rng = np.random.default_rng(0)
    q = start.q.copy()
    q[:3] = [0.9, 0.4, 0.0]
    assert SKILLS["cook"].refine(context, cook, (), start.with_robot(q), rng) == ()
    far = SKILLS["cook"].refine(context, cook, (), start, rng)
    assert far.kind is FailureKind.CONTRADICTION
    assert far.certificate["fact"] == "(near burner)"
    cook = bound(scene, 0, "cook", "spam", "burner")
    elsewhere = SKILLS["cook"].refine(context, cook, (), start, rng)
    assert elsewhere.certificate["fact"] == "(on spam burner)"
    assert elsewhere.objects == ("spam", "burner")


def test_every_action_of_both_domains_has_a_skill_with_its_parameters(kitchen_folder):
    from galley.tamp.binding import check_skills

    for name in ("kitchen.pddl", "drawers.pddl"):
        check_skills(read_domain(kitchen_folder / name), SKILLS)


def test_a_subclass_does_not_claim_to_use_the_standard_grasps_only():
    class Own(Pick):
        pass

    claims = {name for name, skill in SKILLS.items() if skill.standard_grasps}
    assert claims == {"pick", "take_out", "open", "stow"}
    assert not Own().standard_grasps


def test_after_a_drawer_was_pulled_the_whole_robot_has_room(scene, context):
    """Not only the arm: the drawer comes within millimetres of this base, which may drive next.

    Where that is less than the usual margin, the solution says so.
    """
    state, rng = initial_state(scene), np.random.default_rng(0)
    handle, solved = scene.handle(scene.binding("drawer").handle), 0
    for back in (0.0, 0.05):
        base = np.array([0.677 + back, 0.894, 1.643])
        ways = handle_manipulations(context, state, handle, 0.3, rng)
        for way in itertools.islice(ways, 60):
            reached = solve_manipulation(context, way, base, rng, RejectionCounts())
            if reached is None:
                continue
            end, arm = reached.state_after(context.robot), reached.segments[-1].path.end
            q = context.robot.with_groups(end.q, base=base, arm=arm)[0]
            assert context.checker(end.with_robot(q), margin=reached.margin).free(q)
            solved += reached.margin == MARGIN
    assert solved, "from farther back"
