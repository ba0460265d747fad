"""What lies flat is pushed over an edge, and taken there from above and below."""

import numpy as np
import pytest

import galley
from galley.domain.failure import Failure, FailureKind
from galley.domain.frames import frozen, rotation_about, transform
from galley.domain.scene.model import WORLD, Binding
from galley.domain.shipped import SCENARIOS
from galley.domain.state import Placement, item_pose
from galley.motion.effects import state_after
from galley.robots.catalog import robot_of
from galley.skills import SKILLS, BoundAction, PlanningContext, Settings

SUGAR = """(define (problem sugar) (:domain pushing)
  (:objects center - furniture burner - stove countertop - surface sugar spam - objective h1 - hand)
  (:init (near center) (on sugar burner) (on spam burner) (empty h1))
  (:goal (on sugar countertop)))
"""


@pytest.fixture(scope="module")
def solution():
    scene, problem = SCENARIOS / "regrasp_scene.yaml", SCENARIOS / "regrasp.pddl"
    found = galley.solve(galley.load(scene, problem=problem), seed=0)
    assert not isinstance(found, Failure), str(found)
    return found


def test_a_flat_box_is_taken_where_it_sticks_out_and_cannot_tip(solution):
    """Against the worktop's front edge, x = 0.288 m in the scene's file, and the box's corners."""
    scene, state = solution.task.scene, solution.task.start
    robot, index = robot_of(scene.robot), scene.item_index["cracker_box"]
    corners = np.array(np.meshgrid(*[[-s / 2.0, s / 2.0] for s in (0.060, 0.158, 0.210)]))
    for motion in solution.motions:
        was, state = state, state_after(scene, robot, motion, state)
        if motion.slide is not None:
            assert item_pose(scene, state, index, np.eye(4))[0, 3] < 0.288 - 0.02
        if state.held == index:
            break
    assert state.held == index
    X_WI, X_WH = item_pose(scene, was, index, np.eye(4)), robot.kinematics.hand_pose(was.q)
    out = (X_WI[:3, :3] @ corners.reshape(3, -1))[0].max() + X_WI[0, 3] - 0.288
    assert 0.03 < out < 0.06
    assert abs(X_WH[2, 1]) > 0.99, "the fingers close vertically"
    assert X_WH[0, 2] < -0.7, "the hand points at the counter from outside"


def test_the_kinematic_run_passes_validation(solution):
    verdict = galley.judge(galley.execute(solution, "kinematic"))
    assert verdict.passed
    assert all(fact.holds for fact in verdict.goal_facts)


def test_what_fell_over_is_not_pushed_to_where_it_should_stand(shared_world):
    task = galley.load(problem="push_tray.pddl")
    scene, index = task.scene, task.scene.item_index["sugar_box"]
    R = rotation_about((1.0, 0.0, 0.0), np.pi / 2.0)
    lying = transform(R, (0.0, -0.9, 0.93 + 0.019))
    state = task.start.with_item(index, Placement(WORLD, frozen(lying)))
    found, top = Binding("found", "furniture", "countertop"), scene.binding("countertop")
    context = PlanningContext(scene, shared_world.robot, shared_world, Settings())
    places = scene.binding("sugar"), found, top, scene.binding("h1")
    failed = SKILLS["push"].impossible(context, BoundAction(0, "push", places), state)
    assert failed.kind is FailureKind.CONTRADICTION
    assert "lies, and would not stand there" in failed.message
    aside = BoundAction(0, "push_aside", (places[0], *places[1::2]))
    assert SKILLS["push_aside"].impossible(context, aside, state) is None
    on_air = state.with_item(index, Placement(WORLD, frozen(transform(R, (0.0, -0.9, 1.2)))))
    assert SKILLS["push_aside"].impossible(context, aside, on_air).kind is FailureKind.CONTRADICTION


def test_a_small_can_is_pushed_until_a_finger_fits_below_it_and_no_farther(shared_world):
    """It fell onto its wide side; the stove's front panel is at x = 0.343 m, a finger 0.02 m."""
    task = galley.load()
    scene, index = task.scene, task.scene.item_index["potted_meat_can"]
    lying = transform(rotation_about((1.0, 0.0, 0.0), -np.pi / 2.0), (0.065, 0.2775, 0.946))
    state = task.start.with_item(index, Placement(WORLD, frozen(lying)))
    context = PlanningContext(scene, shared_world.robot, shared_world, Settings())
    places = scene.binding("spam"), Binding("found", "furniture", "burner"), scene.binding("h1")
    aside, pick = (BoundAction(k, name, places) for k, name in enumerate(("push_aside", "pick")))
    rng = np.random.default_rng(0)
    motions = SKILLS["push_aside"].refine(context, aside, (pick,), state, rng)
    assert not isinstance(motions, Failure), str(motions)
    for motion in motions:
        state = state_after(scene, context.robot, motion, state)
    x, half = item_pose(scene, state, index, np.eye(4))[0, 3], 0.0485
    assert x + half > 0.343 + 0.02
    assert x < 0.335 - 0.012, "it does not tip"


def test_what_lies_flat_on_the_floor_is_below_the_hand_and_refused_with_a_distance(shared_world):
    """The floor's edges are metres away: none of them is looked at."""
    task = galley.load()
    scene, index = task.scene, task.scene.item_index["potted_meat_can"]
    lying = transform(rotation_about((1.0, 0.0, 0.0), -np.pi / 2.0), (1.23, -0.77, 0.025))
    state = task.start.with_item(index, Placement(WORLD, frozen(lying)))
    context = PlanningContext(scene, shared_world.robot, shared_world, Settings())
    places = scene.binding("spam"), Binding("found", "furniture", "burner"), scene.binding("h1")
    failed = SKILLS["push_aside"].impossible(context, BoundAction(0, "push_aside", places), state)
    assert failed.kind is FailureKind.UNREACHABLE
    shoulder, hand = 1.102, np.linalg.norm(scene.items[index].size) / 2.0 + 0.11  # m
    reach = shared_world.robot.kinematics.reach.to_hand
    assert failed.numbers["shortfall_m"] == pytest.approx(shoulder - 0.04 - reach - hand, abs=0.02)
    # Tilted or not: where the bound is not enough, inverse kinematics says so, once.
    rng, action = np.random.default_rng(0), BoundAction(0, "push_aside", places)
    tried = SKILLS["push_aside"].refine(context, action, (), state, rng)
    assert "too short to push" in tried.message
    assert context.effort.tries == 0


@pytest.mark.slow
@pytest.mark.parametrize("domain", ["pushing", "kitchen"])
def test_a_box_that_topples_onto_its_wide_side_is_recovered(tmp_path, domain):
    """In the kitchen's domain nothing is pushed, but in recoveries."""
    text = SUGAR.replace("pushing", domain)
    if domain == "kitchen":
        text = text.replace("burner - stove countertop - surface", "burner countertop - furniture")
    (tmp_path / "sugar.pddl").write_text(text)
    solution = galley.solve(galley.load(problem=tmp_path / "sugar.pddl"), seed=0)
    run = galley.execute(solution, "physics", fault="topple:sugar")
    verdict = galley.judge(run)
    assert verdict.passed, verdict.violations
    assert all(fact.holds for fact in verdict.goal_facts)
    assert any("push_aside" in str(action) for each in run.recoveries for action in each.plan)
