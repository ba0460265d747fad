"""Out of contact: from the middle of approaches, grips and pulls to where free motions begin."""

import numpy as np
import pytest

from galley.collision.checker import MARGIN, held_pairs
from galley.domain.failure import Failure
from galley.domain.frames import frozen, rotation_about, transform
from galley.domain.scene.model import HAND
from galley.domain.state import Placement
from galley.motion.effects import effects, state_after
from galley.skills.manipulation.escape import escape

SPAM = "potted_meat_can"


def near(task, state, within):
    """What Bullet has nearer than ``within`` to the robot or what it holds, fingers and that left
    out, and the chassis over the floor."""
    world, robot = task.context.world, task.context.robot
    world.set_state(state)
    movers = () if state.held is None else (state.held,)
    ours = set(robot.links) | {task.scene.items[k].name for k in movers}
    gripped = held_pairs(task.scene, robot, state)
    found = world.near_pairs(within, movers)
    return {p: d for p, d in found.items() if set(p) & ours and p not in gripped}


def way_out(task, state, motion=None):
    """The motions, followed; nothing is pressed deeper on the way, and all is clear at the end."""
    found = escape(task.context, state, motion)
    assert not isinstance(found, Failure), str(found)
    before = near(task, state, 0.002)
    for motion in found:
        model = effects(task.scene, task.context.robot, motion, state)
        for q in motion.trajectory.resampled(0.01)[1]:
            for pair, distance in near(task, model.at(q), 0.0).items():
                assert distance > min(before.get(pair, 0.0), 0.0) - 0.001, (motion.phase, pair)
        state = state_after(task.scene, task.context.robot, motion, state)
    close = {p: d for p, d in near(task, state, 0.8 * MARGIN).items() if not _of_robot(task, p)}
    assert close == {}
    return found, state


def _of_robot(task, pair):
    return set(pair) <= set(task.context.robot.links)


def test_a_robot_that_is_clear_stays_where_it_is(task):
    assert escape(task.context, task.states[0]) == ()


@pytest.mark.parametrize("share", [0.5, 1.0])
def test_an_approach_that_was_broken_off_is_left_straight_back(task, share):
    k, state = task.during("pick spam", "approach", share)
    # Narrow fingers: too near the item for a free motion.
    fingers = task.context.robot.slice("fingers")
    q = np.array(state.q)
    q[fingers] = 0.0265
    way_out(task, state.with_robot(q), task.motions[k])


def test_fingers_closed_on_what_they_do_not_hold_let_go(task):
    _, state = task.after("pick spam", "close fingers")
    assert state.held is None
    found, end = way_out(task, state)
    assert found[0].group == "fingers"
    assert found[0].path.end[0] > found[0].path.start[0]
    assert end.items == state.items


def test_what_is_in_the_hand_stays_there_and_is_lifted_off(task):
    k, state = task.after("pick spam", "close fingers")
    lift = effects(task.scene, task.context.robot, task.motions[k + 1], state)
    held = lift.at(task.motions[k + 1].path.resampled(0.01).waypoints[1])
    assert held.held == task.scene.item_index[SPAM]
    found, end = way_out(task, held, task.motions[k + 1])
    assert found
    assert end.items == held.items
    assert {motion.group for motion in found} == {"arm"}


def test_an_item_askew_in_the_hand_on_its_support_comes_free(task):
    _, state = task.after("place sugar", "lower")
    index = task.scene.item_index["sugar_box"]
    turn = rotation_about(np.array([0.0, 0.0, 1.0]), 0.05)
    X = state.items[index].X_PI @ transform(turn, (0.0, 0.0, 0.0))
    found, end = way_out(task, state.with_item(index, Placement(HAND, frozen(X))))
    assert found
    assert end.held == index


def test_a_base_that_was_pushed_against_the_furniture_gives_way(task):
    _, state = task.after("navigate center burner", "drive")
    q = np.array(state.q)
    base = task.context.robot.slice("base")
    q[base.start + 2] = np.pi
    q[base.start : base.start + 2] = [1.0, 0.415]
    while not {p for p in near(task, state.with_robot(q), 0.003) if "chassis" in p}:
        q[base.start] -= 0.002
    found, _ = way_out(task, state.with_robot(q))
    assert {motion.group for motion in found} == {"base"}


def test_without_a_way_out_it_says_what_is_too_near(task):
    state = task.states[0]
    q = np.array(state.q)
    where = q[:2] + np.array([0.2, 0.0])
    inside = task.moved(state.with_robot(q), SPAM, transform(None, (*where, 0.3)))
    found = escape(task.context, inside)
    assert isinstance(found, Failure)
    assert SPAM in found.objects
    assert found.certificate is None
