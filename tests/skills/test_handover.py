"""From hand to hand: a plan that only a handover makes possible, from the task to a verdict."""

from dataclasses import replace
from importlib.metadata import distributions

import numpy as np
import pytest

import galley
from galley.collision.backends.drake_world import DrakeWorld
from galley.collision.backends.pybullet_world import PyBulletWorld
from galley.domain.failure import FailureKind
from galley.domain.frames import inverse
from galley.domain.shipped import ROBOTS
from galley.domain.state import item_poses
from galley.motion.effects import state_after, with_acting_hand
from galley.motion.trajectory.store import load_motions, save_trajectories
from galley.robots.catalog import robot_of
from galley.skills.manipulation.context import PlanningContext
from galley.skills.manipulation.motion_builder import at_rest
from galley.validation import validate_run

HANDS = ("left", "right")
HAS_PR2 = any(each.name == "example-robot-data" for each in distributions())
STILL = ("reach", "approach", "close fingers", "open fingers", "withdraw")
CARTON = "(handover carton h1 h2)"


@pytest.fixture(scope="module")
def task():
    return galley.load(problem="two_arms.pddl")


@pytest.fixture(scope="module")
def solution(task):
    return galley.solve(task, seed=3)


@pytest.fixture(scope="module")
def robot(task):
    return robot_of(task.scene.robot)


@pytest.fixture(scope="module")
def run(solution):
    return galley.execute(solution, executor="kinematic")


def states(task, robot, solution):
    """The State before each motion, and after the last."""
    found = [task.start]
    for motion in solution.motions:
        found.append(state_after(task.scene, robot, motion, found[-1]))
    return found


def handover(solution):
    """Indices of the motions by which the carton is handed over."""
    at = next(k for k, each in enumerate(solution.plan) if str(each) == CARTON)
    return [k for k, motion in enumerate(solution.motions) if motion.action_index == at]


def test_the_carton_goes_from_hand_to_hand_and_stands_at_the_other_end(task, solution, run):
    names = [action.name for action in solution.plan]
    assert names.count("handover") == 2
    assert run.success, run.failure
    end, index = run.log.items[-1][:, :3], task.scene.item_index
    assert -1.0 < end[index["carton"], 1] < -0.72  # at the right end, where it had been at 0.82
    assert 0.72 < end[index["bottle"], 1] < 1.0


def test_the_taking_hand_has_closed_before_the_other_opens(task, robot, solution):
    """The order of the handover's motions, and who holds the carton after each."""
    every, holds = states(task, robot, solution), []
    for k in handover(solution):
        motion, now = solution.motions[k], every[k + 1]
        holds.append((motion.hand, motion.phase, now.holds(HANDS)))
    phases = [(hand, phase) for hand, phase, _ in holds]
    close, open_ = phases.index(("right", "close fingers")), phases.index(("left", "open fingers"))
    assert close + 1 == open_
    assert [who for *_, who in holds[: close + 1]] == [(0, None)] * (close + 1)
    assert {who for *_, who in holds[open_:]} == {(None, 0)}
    assert phases[open_ + 1 : open_ + 3] == [("left", "withdraw"), ("right", "lift")]


def test_nothing_but_fingers_and_item_touch_by_drakes_own_distances(task, robot, solution):
    """Each motion's trajectory in Drake, with what it may touch left out; both arms among it."""
    with DrakeWorld(task.scene, robot) as world:
        state = task.start
        for motion in solution.motions:
            own = robot.acting(motion.hand)
            seen, where = with_acting_hand(own, state), own.slice(motion.group)
            held = tuple(a.name for a in motion.attachments if not a.hand)
            for q_group in motion.trajectory.resampled(0.1)[1]:
                q = seen.q.copy()
                q[where] = q_group
                moved = seen.with_robot(q)
                if held and seen.held is None:
                    continue  # it is attached at the motion's start
                world.set_state(moved)
                near = world.contacts(0.0, motion.allowed)
                assert all(each.distance > -0.002 for each in near), (motion.phase, near)
            state = state_after(task.scene, robot, motion, state)


def test_the_carton_does_not_jump_as_it_changes_hands(task, robot, solution):
    every, first = states(task, robot, solution), None
    for k in handover(solution):
        state = every[k + 1]
        X_WH = robot.acting(state.hand).kinematics.hand_pose(state.q)
        X_WI = item_poses(task.scene, state, X_WH)[0]
        if solution.motions[k].phase in (
            "reach",
            "approach",
            "close fingers",
            "open fingers",
            "withdraw",
        ):
            first = X_WI if first is None else first
            np.testing.assert_allclose(inverse(first) @ X_WI, np.eye(4), atol=1e-9)


@pytest.mark.parametrize("last", HANDS)
def test_before_a_hand_acts_the_other_arm_rests_whichever_acted_last(task, robot, last):
    left, right = (robot.acting(hand) for hand in HANDS)
    q = task.start.q.copy()
    q[[left.slice("arm").start, right.slice("arm").start]] += 0.4, -0.4
    state = with_acting_hand(robot.acting(last), task.start.with_robot(q))
    with PyBulletWorld(task.scene, robot) as world:
        context = PlanningContext(task.scene, robot, world).acting("right")
        motions, rested = at_rest(context, state, 0, np.random.default_rng(0))
        assert {motion.hand for motion in motions} == {"left"}
        assert rested.hand == "right"
        np.testing.assert_array_equal(rested.q[right.slice("arm")], q[right.slice("arm")])
        assert np.abs(rested.q - q)[left.slice("arm")].max() > 0.1
        assert not at_rest(context, rested, 0, np.random.default_rng(0))[0]


def test_motions_are_read_back_with_their_hands(tmp_path, solution):
    save_trajectories(tmp_path / "own.npz", solution.motions)
    for was, now in zip(solution.motions, load_motions(tmp_path / "own.npz"), strict=True):
        assert (now.hand, now.attachments) == (was.hand, was.attachments)


def test_a_log_that_has_the_carton_in_nobodys_hand_is_not_believed(task, run):
    """While both hold it and after; and one that says it is in the wrong hand."""
    log = run.log
    assert log.holds.shape[1] == 2
    both = log.motions.tolist().index(f"{CARTON} | bring")
    there = log.motion >= both
    for changed in (
        replace(
            log, held=np.where(there, -1, log.held), others=np.where(there[:, None], -1, log.others)
        ),
        replace(log, held=log.others[:, 0], others=log.held[:, None]),
    ):
        verdict = validate_run(task.scene, changed)
        assert any(each.kind == "floating" for each in verdict.violations)
    assert not validate_run(task.scene, log).violations


def test_one_hand_alone_is_refused_with_a_distance(task):
    alone = galley.load(scene=ROBOTS / "two_arms.yaml", problem="one_hand.pddl")
    refused = galley.solve(alone)
    assert refused.kind is FailureKind.UNREACHABLE
    assert refused.certificate["kind"] == "distance-bound"
    # By random configurations: no hand pose comes near enough to the nearest point.
    left = robot_of(alone.scene.robot).acting("left")
    rng, (low, high) = np.random.default_rng(0), left.limits
    hands = left.kinematics.hand_poses(rng.uniform(low, high, (20_000, left.size)))[:, :3, 3]
    nearest = np.linalg.norm(hands - refused.certificate["point_m"], axis=1).min()
    assert nearest > refused.certificate["hand_m"]


def test_two_hands_without_a_handover_are_refused_with_proofs_for_each(tmp_path, task):
    text = (ROBOTS / "two_arms.pddl").read_text()
    path = tmp_path / "own.pddl"
    path.write_text(text.replace("(:domain hands)", "(:domain drawers)"))
    refused = galley.solve(galley.load(scene=ROBOTS / "two_arms.yaml", problem=path))
    assert refused.proven, refused
    told = [refused.certificate, *refused.certificate["because"]]
    assert {each["kind"] for each in told} == {"distance-bound"}
    assert "right_end" in refused.message
    assert "left_end" in refused.message


@pytest.mark.slow
def test_under_physics_the_carton_is_gripped_at_every_moment_of_the_handover(solution):
    found = galley.execute(solution, executor="physics")
    assert found.success, found.failure
    log = found.log
    during = [k for k, line in enumerate(log.motions.tolist()) if line.startswith(CARTON)]
    samples = np.isin(log.motion, during)
    holding = (log.holds[samples] == 0).any(axis=1)
    assert holding.all()
    assert (log.holds[samples] == 0).all(axis=1).any()  # there is a time when both do
    # By the recorded forces, too: the fingers of a hand press on it in every sample.
    pairs, force = log.names[log.contact_pair], log.contact_force
    grip = dict.fromkeys(np.flatnonzero(samples).tolist(), 0.0)
    for step, pair, newtons in zip(log.contact_step.tolist(), pairs.tolist(), force, strict=True):
        if step in grip and "carton" in pair and any("finger" in name for name in pair):
            grip[step] += newtons
    assert min(grip.values()) > 20.0


@pytest.mark.slow
def test_what_slips_out_of_a_hand_is_taken_again_and_handed_over(solution):
    found = galley.execute(solution, executor="physics", fault="slippery:carton")
    assert found.success, found.failure
    assert any("carton" in str(each.noticed) for each in found.recoveries)


@pytest.mark.slow
@pytest.mark.skipif(not HAS_PR2, reason="needs pip install 'galley-tamp[robots]' (131 MB)")
def test_a_pr2_carries_two_things_at_once():
    found = galley.execute(galley.solve(galley.load(problem="two_hands.pddl"), seed=1))
    assert found.success, found.failure
    both = (found.log.holds >= 0).all(axis=1)
    drives = np.abs(found.log.velocity[:, :2]).max(axis=1) > 0.1
    assert (both & drives).any()
