"""Recovery from States made by hand, in the middle of the default task."""

from dataclasses import replace
from itertools import islice

import numpy as np
import pytest

from galley.domain.failure import Failure, FailureKind
from galley.domain.frames import inverse, transform
from galley.domain.state import initial_state, item_pose
from galley.execution.recovery.plans import NOTHING_LEFT, REPLANNED, RESUMED
from galley.execution.recovery.replanning import _lying, _on_base, within_limits
from galley.motion.effects import state_after
from galley.planning import validate_actions
from galley.robots.panda.mobile import DEFAULT_BASE, hand_pose
from galley.skills.manipulation.contacts import place_manipulations
from galley.skills.manipulation.context import FailedContacts
from galley.skills.manipulation.grasps import grasps_at
from galley.skills.manipulation.motion_builder import MotionBuilder
from galley.skills.pick import pick_manipulations
from galley.tests.effort import quick_first
from galley.tests.execution.physics.by_hand import with_item

SUGAR, SPAM = "sugar_box", "potted_meat_can"


def names(found):
    return [action.name for action in found.plan]


def phases(found):
    return [motion.phase for motion in found.motions]


def test_grasps_that_closed_on_nothing_are_not_chosen_again_either_way_round(task):
    robot, missed, X_TT = task.context.robot, [], np.diag([-1.0, -1.0, 1.0, 1.0])  # fingers swapped
    k, state = task.after("pick sugar", "approach")
    for _ in range(3):
        found = task.replan(k, state, failed=FailedContacts(tuple(missed)))
        seen = found.start
        for motion in found.motions:
            seen = state_after(task.scene, robot, motion, seen)
            if seen.held is not None:
                break
        X_IT = inverse(seen.items[seen.held].X_PI) @ transform(None, robot.p_HT)
        for _, X in missed:
            assert min(np.abs(X_IT - X).max(), np.abs(X_IT @ X_TT - X).max()) > 0.002
        missed.append((seen.held, X_IT))


def test_an_items_only_grasp_is_tried_again_though_it_closed_on_nothing(task):
    state, rng = initial_state(task.scene), np.random.default_rng(0)
    grasp = grasps_at(task.scene, state, 0, task.context.robot.gripper)[0]
    scene = with_item(task.scene, grasps=(grasp,))
    context = replace(task.context, scene=scene, failed=FailedContacts(((0, grasp.X_IT),)))
    assert next(pick_manipulations(context, state, 0, rng), None) is not None


def test_a_place_where_an_item_did_not_stay_is_chosen_only_after_the_others(task):
    _, state = task.after("pick sugar", "lift")
    context, scene = task.context, task.scene
    region, index = scene.region(scene.binding("countertop").region), state.held

    def places(failed):
        changed = replace(context, failed=FailedContacts(placements=failed))
        ways = place_manipulations(changed, state, region, np.random.default_rng(0))
        return [(w.contact @ state.items[index].X_PI)[:3, 3] for w in islice(ways, 12)]

    first = places(())
    X = transform(None, first[0])
    then = places(((index, X),))
    assert np.allclose(first[1], then[0]) or np.linalg.norm(first[1] - first[0]) < 0.03
    assert min(np.linalg.norm(p - first[0]) for p in then) >= 0.03
    elsewhere = places(((index + 1, X),))
    np.testing.assert_array_equal(elsewhere, first)  # another item's place is none of its own


@pytest.mark.parametrize(("sign", "y"), [(1.0, 0.55), (-1.0, 0.415)])
def test_an_item_that_lies_on_the_stove_is_picked_up_and_put_upright(task, lying, sign, y):
    k, state = task.after("pick sugar", "reach")
    size = task.scene.item(SUGAR).size
    fallen = task.moved(state, SUGAR, lying(size, 0, sign, 0.3, 0.065, y, 0.921))
    found = task.replan(k, fallen)
    assert found.how == REPLANNED
    end = task.carried_out(found)
    X = item_pose(task.scene, end, task.scene.item_index[SUGAR], np.eye(4))
    assert X[2, 2] > 0.999


def test_an_item_that_fell_over_where_it_belongs_is_not_where_it_belongs(task, lying):
    k, state = task.after("place sugar", "withdraw")
    size = task.scene.item(SUGAR).size
    found = task.replan(k, task.moved(state, SUGAR, lying(size, 0, 1.0, 0.3, 0.0, -0.5, 0.93)))
    assert "pick" in names(found)
    assert names(found).count("place") == 1
    task.carried_out(found)


def test_a_flat_box_wider_than_the_hand_is_pushed_over_an_edge_in_a_domain_without_pushes(
    task, lying
):
    k, state = task.after("pick sugar", "reach")
    assert not any(action.name.startswith("push") for action in task.tamp.domain.actions)
    size = task.scene.item(SUGAR).size
    found = task.replan(k, task.moved(state, SUGAR, lying(size, 1, 1.0, 0.3, 0.0, 0.62, 0.921)))
    assert found.how == REPLANNED
    assert names(found)[names(found).index("push_aside") + 1] == "pick"
    end = task.carried_out(found)
    assert item_pose(task.scene, end, task.scene.item_index[SUGAR], np.eye(4))[2, 2] > 0.999


def test_what_is_found_lying_is_set_aside_lying_where_it_can_be_taken_otherwise(task, lying):
    """Held by its lower end, it could not be stood up by the hand from above."""
    _, state = task.after("pick sugar", "lift")
    context, region = task.context, task.scene.region("hitman_top")
    found = task.scene.item_index[SUGAR]

    def ups(fell):
        changed, rng = replace(context, fell=fell), np.random.default_rng(0)
        ways = place_manipulations(changed, state, region, rng, aside=True)
        poses = (way.contact @ state.items[found].X_PI for way in islice(ways, 8))
        return [abs(X_WI[2, 2]) > 0.9 for X_WI in poses]

    assert all(ups(frozenset()))
    assert not all(ups(frozenset({found})))
    pose = lying(task.scene.item(SUGAR).size, 0, 1.0, 0.3, 0.065, 0.55, 0.921)
    fallen = task.moved(initial_state(task.scene), SUGAR, pose)
    assert _lying(context, task.tamp, fallen) == [found]
    assert _lying(context, task.tamp, state) == []  # in the hand


def on_the_base(task, lying, state, axis, item=SUGAR):
    """The State with an item lying on the chassis before the arm."""
    x, y, heading = state.q[task.context.robot.slice("base")]
    p = x + 0.3 * np.cos(heading), y + 0.3 * np.sin(heading), DEFAULT_BASE.size[2]
    return task.moved(state, item, lying(task.scene.item(item).size, axis, 1.0, heading, *p))


def test_an_item_that_fell_onto_the_robots_base_is_taken_before_the_base_drives(task, lying):
    k, state = task.after("pick sugar", "reach")
    fallen = on_the_base(task, lying, state, axis=0)
    found = task.replan(k, fallen)
    assert (found.how, names(found)[0]) == (REPLANNED, "pick")
    groups = [motion.group for motion in found.motions]
    assert "base" in groups[phases(found).index("lift") :]
    before = found.motions[: phases(found).index("lift")]
    assert all(each.group != "base" for each in before)
    for each in before[phases(found).index("reach") :]:
        assert ("chassis", SUGAR) in each.allowed  # it lies there all the while
    end = task.carried_out(found)
    assert item_pose(task.scene, end, task.scene.item_index[SUGAR], np.eye(4))[2, 2] > 0.999


def test_the_base_does_not_drive_off_with_an_item_or_from_under_it(task, lying):
    k, state = task.after("pick sugar", "reach")
    fallen = on_the_base(task, lying, state, axis=1)
    context = replace(task.context, on_base=_on_base(task.context, task.tamp, fallen))
    builder = MotionBuilder(context, fallen, 0, np.random.default_rng(0))
    goal = fallen.q[context.robot.slice("base")] + [0.2, 0.0, 0.0]
    failed = builder.move_base(goal, "")
    assert failed.objects == (SUGAR,)
    assert failed.message == f"{SUGAR} on the robot's base would be carried along"
    refused = task.replan(k, fallen)  # too wide for the hand as it lies, and no edge near
    assert refused.message.startswith(f"{SUGAR} lies on the robot itself, on its chassis")
    away = task.moved(fallen, SUGAR, lying(task.scene.item(SUGAR).size, 1, 1.0, 0.0, 2.0, 2.0, 0.0))
    assert _on_base(task.context, task.tamp, away) == ()  # on the floor it is in nobody's way
    assert MotionBuilder(context, away, 0, np.random.default_rng(0)).move_base(goal, "") is None


def test_a_stow_goes_on_from_the_staging_surface_with_the_drawer_half_open(task):
    k, state = task.after("stow spam", "pick up: reach")
    found = task.replan(k, task.drawn(state, 0.15))
    assert names(found) == ["stow"]
    told = phases(found)
    assert "open drawer: pull" in told
    assert not any(phase.startswith("put down") for phase in told)
    end = task.carried_out(found)
    assert end.scene_q[task.scene.joint_index["indigo_drawer_top_joint"]] == pytest.approx(0.0)


def test_a_stow_whose_item_lies_in_the_drawer_only_shuts_it(task):
    k, state = task.after("stow spam", "put in: withdraw")
    found = task.replan(k, task.drawn(state, 0.2))
    assert names(found) == ["stow"]
    told = [phase.split(": ")[0] for phase in phases(found)]
    assert set(told) <= {"escape", "close drawer", "fold the arm"}
    task.carried_out(found)


def test_a_drawer_that_opened_too_little_is_let_go_and_pulled_again(task):
    k, state = task.during("stow spam", "open drawer: pull", 0.5)
    opening = state.scene_q[task.scene.joint_index["indigo_drawer_top_joint"]]
    assert 0.1 < opening < 0.2
    found = task.replan(k, state)
    assert phases(found)[0].startswith("escape: open fingers")
    assert "open drawer: pull" in phases(found)
    task.carried_out(found)


def test_a_base_that_was_pushed_during_an_approach_goes_on_with_the_same_plan(task):
    k, state = task.during("pick sugar", "approach", 0.4)
    found = task.replan(k, task.pushed(state, 0.05, 0.0, np.radians(3.0)))
    assert found.how == RESUMED
    assert found.plan == task.plan[1:]
    task.carried_out(found)


def test_a_base_that_was_pushed_away_from_everything_drives_back(task):
    k, state = task.after("pick sugar", "reach")
    base = task.context.robot.slice("base")
    far = task.pushed(state, 1.45 - state.q[base][0], 1.5 - state.q[base][1], 0.3)
    stances = [b.target for b in task.bindings.values() if b.kind == "furniture"]
    inside = [n for n in stances if task.scene.stance(n).contains(far.q[base])]
    assert inside == ["drawer"]  # of the next action's place, it is far
    farther = task.pushed(far, 0.4, 0.0, 0.0)
    assert not any(task.scene.stance(n).contains(farther.q[base]) for n in stances)
    for seen in (far, farther):
        found = task.replan(k, seen)
        assert names(found)[0] == "navigate"
        task.carried_out(found)


def test_an_item_out_of_everyones_reach_is_refused_with_a_distance(task):
    k, state = task.after("pick sugar", "lift")
    found = task.replan(k, task.moved(state, SUGAR, transform(None, (3.9, 0.4, 0.0875))))
    assert isinstance(found, Failure)
    assert found.kind is FailureKind.UNREACHABLE
    # No stance lets the base beyond x = 2.4, and the arm's longest reach is 1.2 m with the hand.
    assert 0.0 < found.numbers["shortfall_m"] < 3.9 - 2.4


def test_what_is_reached_already_leaves_nothing_to_do(task):
    found = task.replan(len(task.motions) - 1, task.states[-1])
    assert found.how == NOTHING_LEFT
    assert found.plan == found.motions == ()


@pytest.mark.parametrize("which", quick_first(1, ["task", "drawer_task"]))
def test_wherever_the_plan_is_broken_off_it_goes_on(which, request):
    task = request.getfixturevalue(which)
    rng = np.random.default_rng(3)
    for k in range(rng.integers(5), len(task.motions), 5):
        motion = task.motions[k]
        action = task.plan[motion.action_index]
        share = rng.uniform(0.1, 0.9)
        phase = motion.phase
        index, state = task.during(str(action)[1:-1], phase, share)
        found = task.replan(index, state)
        assert not isinstance(found, Failure), f"{action} {phase}: {found}"
        assert len(found.facts) == len(found.plan) + 1
        done = 1 if found.how == RESUMED and found.plan else 0  # need not hold literally
        problem = replace(found.task.problem, init=tuple(found.facts[done]))
        verdict = validate_actions(task.domain, problem, found.plan[done:])
        assert verdict.valid, f"{action} {phase}: {verdict.message}"
        assert verdict.states == found.facts[done:]


def test_the_same_seed_and_recovery_give_the_same_motions_and_another_recovery_others(task):
    k, state = task.during("pick sugar", "approach", 0.4)
    seen = task.pushed(state, 0.05, 0.0, 0.0)
    one, same, other = (task.replan(k, seen, n) for n in (1, 1, 2))

    def ways(found):
        return [motion.path.waypoints.tobytes() for motion in found.motions]

    assert ways(one) == ways(same)
    assert ways(one) != ways(other)


def test_a_base_turned_past_its_range_is_seen_turned_by_the_same_angle(task):
    state = initial_state(task.scene)
    q = np.array(state.q)
    base = task.context.robot.group("base")
    q[2] = base.upper[2] + 0.05
    arm = task.context.robot.slice("arm").start
    q[arm + 1] = task.context.robot.group("arm").upper[1] + 0.002
    found = within_limits(task.context, state.with_robot(q))
    assert found.q[2] == pytest.approx(base.upper[2] + 0.05 - 2.0 * np.pi)
    assert found.q[arm + 1] == task.context.robot.group("arm").upper[1]
    pose_difference = hand_pose(found.q, task.scene.robot.base) - hand_pose(
        q, task.scene.robot.base
    )
    assert np.abs(pose_difference).max() < 0.003
