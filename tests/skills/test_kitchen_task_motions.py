"""The default task's motions, held against an independent world and against each other."""

import itertools

import numpy as np
import pytest

from galley.collision.backends.bullet import pybullet
from galley.collision.backends.pybullet_world import PyBulletWorld
from galley.execution.physics.world import PhysicsWorld
from galley.motion.effects import effects, state_after
from galley.motion.thresholds import THRESHOLDS
from galley.robots.panda.mobile import hand_pose
from galley.robots.panda.models import mobile_panda

STEP = 0.02  # rad (or m) between checked states
TOUCH = 0.002  # m, Bullet's margin about meshes


@pytest.fixture(scope="module")
def steps(kitchen, robot, default_run):
    """Each motion with the State in which it begins."""
    state, found = default_run.start, []
    for motion in default_run.refined.motions:
        found.append((motion, state))
        state = state_after(kitchen, robot, motion, state)
    return found


def phases(run, index):
    return [m.phase for m in run.refined.motions if m.action_index == index]


def test_every_motion_begins_where_the_one_before_it_ended(robot, steps):
    for motion, state in steps:
        q = state.q[robot.slice(motion.group)]
        np.testing.assert_allclose(motion.path.start, q, atol=1e-9, err_msg=motion.phase)
        np.testing.assert_allclose(motion.trajectory(0.0), q, atol=1e-9)
        np.testing.assert_allclose(
            motion.trajectory(motion.trajectory.duration), motion.path.end, atol=1e-9
        )
        for t in (0.0, motion.trajectory.duration):
            np.testing.assert_allclose(motion.trajectory(t, 1), 0.0, atol=1e-6)


def test_every_motion_keeps_its_limits(robot, steps):
    for motion, _ in steps:
        group = robot.group(motion.group)
        t = np.linspace(0.0, motion.trajectory.duration, 400)
        q = motion.trajectory(t)
        assert (q >= group.lower - 1e-9).all(), motion.phase
        assert (q <= group.upper + 1e-9).all(), motion.phase
        for order, limit in ((1, group.velocity), (2, group.acceleration), (3, group.jerk)):
            assert (np.abs(motion.trajectory(t, order)) <= limit * (1 + 1e-9)).all(), motion.phase


def states_of(kitchen, robot, motion, state):
    """The states of a motion at most STEP apart, from its trajectory."""
    model = effects(kitchen, robot, motion, state)
    q = motion.trajectory(np.linspace(0.0, motion.trajectory.duration, 2000))
    last = None
    for row in q:
        if last is None or np.abs(row - last).max() > 0.9 * STEP:
            yield model.at(row)
            last = row
    yield model.at(q[-1])


def test_every_motion_is_free_in_a_world_of_its_own(kitchen, steps):
    """A fresh world, no checker, no margin: plain distances of every state at 0.02 rad."""
    robot = mobile_panda(kitchen.robot.base)
    checked = 0
    with PyBulletWorld(kitchen, robot) as world:
        for motion, state in steps:
            rests = {
                tuple(sorted((kitchen.items[k].name, p.parent))) for k, p in enumerate(state.items)
            }
            for at in states_of(kitchen, robot, motion, state):
                world.set_state(at)
                checked += 1
                for names, distance in world.near_pairs(0.0).items():
                    if distance < -TOUCH and names not in motion.allowed and names not in rests:
                        pytest.fail(f"{motion.phase}: {names} by {-1e3 * distance:.1f} mm")
    assert checked > 500


def test_what_is_attached_is_what_is_held(kitchen, steps):
    """Picked: attached from the lift on, all the way until the fingers open."""
    for (before, _), (motion, state) in itertools.pairwise(steps):
        names = {a.name for a in motion.attachments if a.kind == "item"}
        assert len(names) <= 1
        held = {kitchen.items[state.held].name} if state.held is not None else set()
        if names != held:
            assert before.group == "fingers" or motion.group == "fingers", motion.phase
    joints = {a.name for m, _ in steps for a in m.attachments if a.kind == "joint"}
    assert joints == {"indigo_drawer_top_joint"}


def test_a_pick_approaches_closes_and_lifts_straight_up(kitchen, robot, steps, default_run):
    pick = next(a.index for a in default_run.plan if a.name == "pick")
    own = [(m, s) for m, s in steps if m.action_index == pick]
    names = [m.phase for m, _ in own]
    order = [names.index(p) for p in ("approach", "close fingers", "lift")]
    assert order == sorted(order)
    motion, state = own[names.index("lift")]
    model = effects(kitchen, robot, motion, state)
    path = motion.path.waypoints
    poses = [hand_pose(model.at(q).q, kitchen.robot.base) for q in path]
    rise = poses[-1][:3, 3] - poses[0][:3, 3]
    np.testing.assert_allclose(rise, [0.0, 0.0, 0.05], atol=1e-6)
    for X in poses:
        np.testing.assert_allclose(X[:2, 3], poses[0][:2, 3], atol=1e-6)
        np.testing.assert_allclose(X[:3, :3], poses[0][:3, :3], atol=1e-6)


def test_stow_goes_through_the_seeds_steps_in_order(default_run):
    stow = next(a.index for a in default_run.plan if a.name == "stow")
    named = [p.split(":")[0] for p in phases(default_run, stow) if ":" in p]
    assert [key for key, _ in itertools.groupby(named)] == [
        "put down",
        "open drawer",
        "pick up",
        "put in",
        "close drawer",
    ]


def test_items_touch_down_no_faster_than_the_impact_may_be(kitchen, robot, steps):
    """Against PyBullet's mass matrix and Newton: arm, in step, and item stop in a window."""
    landings = [(m, s) for m, s in steps if m.phase.endswith("lower")]
    assert landings
    world = PhysicsWorld(kitchen, robot, landings[0][1])
    try:
        for motion, state in landings:
            before, end = robot.with_groups(state.q, arm=motion.path.waypoints[-2:])
            M = np.array(
                pybullet.calculateMassMatrix(
                    world.robot_id, end.tolist(), physicsClientId=world.client
                )
            )
            way = hand_pose(before)[2, 3] - hand_pose(end)[2, 3]
            energy = 0.5 * (end - before) @ M @ (end - before) / way**2
            mass = 2.0 * energy + kitchen.items[state.held].mass
            speed, window = motion.guard.speed, THRESHOLDS.impact_window
            assert mass * speed / window == pytest.approx(THRESHOLDS.impact_force, rel=0.02)
            assert 0.005 < speed < 0.05
    finally:
        world.close()
