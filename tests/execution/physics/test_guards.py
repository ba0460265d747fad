"""Guards: forces on the hand, and how they end motions."""

from dataclasses import replace

import numpy as np
import pytest

from galley.collision.backends.pybullet_world import PyBulletWorld
from galley.collision.checker import pair
from galley.domain.frames import frozen, transform
from galley.execution.physics.executor import ContactMonitor
from galley.execution.physics.sensing import ContactForce, force_on, measure_contacts
from galley.motion.motion import Guard
from galley.motion.path import Path
from galley.motion.thresholds import THRESHOLDS
from galley.motion.trajectory.timing import spline_through
from galley.robots.panda.mobile import hand_pose
from galley.skills import PlanningContext
from galley.skills.manipulation.optimize import optimize_trajectories
from galley.tests.execution.physics.by_hand import (
    BEFORE,
    BESIDE,
    BLOCK,
    FINGERS,
    KNOB,
    TOP,
    after,
    ahead,
    close,
    down,
    grip,
    height,
    line,
    seek,
    shifted,
    standing,
)
from galley.validation import validate_run

CONTACT = 3.0  # N
ON_TOP = TOP + 0.05  # m, of the block's middle
GRASP = down(*BLOCK, TOP + 0.07)
DOWN, OUT, IN = [0.0, 0.0, -1.0], [1.0, 0.0, 0.0], [-1.0, 0.0, 0.0]


@pytest.fixture(scope="module")
def scene(scene_of, small_text):
    text = small_text.replace("yaw: 0.5", "yaw: 0.0")
    return scene_of(
        text.replace("limits: [0, 0.4]", "limits: [0, 0.4], friction: 3.0, damping: 8.0")
    )


class Forces:
    """Stands where a fault would and keeps what one pair does to each other, in N."""

    def __init__(self, a, b):
        self.pair, self.normal, self.times = pair(a, b), [], []

    def motion_begins(self, world, motion):
        self.normal, self.times = [], []

    def before_step(self, world, motion, name, t):
        contact = measure_contacts(world).get(self.pair)
        self.normal.append(0.0 if contact is None else contact.normal_force)
        self.times.append(t)

    def external_forces(self):
        return {}

    def most(self, window=1.0 / 60.0):
        """The largest mean over a window (s): what a force sensor would show of an impact."""
        return max(
            np.mean(
                [f for f, t in zip(self.normal, self.times, strict=True) if a <= t < a + window]
            )
            for a in self.times
        )


# -- forces ---------------------------------------------------------------------------------------


def contact(force, normal=0.0):
    found = ContactForce()
    found.force, found.normal_force, found.distance = np.array(force, dtype=float), normal, 0.0
    return found


def test_the_force_on_a_group_counts_what_is_outside_it_with_its_sign():
    contacts = {
        ("a", "b"): contact([1.0, 0.0, 0.0]),
        ("a", "z"): contact([0.0, 2.0, 0.0]),
        ("b", "z"): contact([0.0, 0.0, 4.0]),
        ("y", "z"): contact([9.0, 9.0, 9.0]),
    }
    np.testing.assert_array_equal(force_on(frozenset("ab"), contacts), [0.0, 2.0, 4.0])
    np.testing.assert_array_equal(force_on(frozenset("a"), contacts), [1.0, 2.0, 0.0])
    np.testing.assert_array_equal(force_on(frozenset("z"), contacts), [-9.0, -11.0, -13.0])
    np.testing.assert_array_equal(force_on(frozenset("abyz"), contacts), 0.0)


def test_a_guard_feels_what_resists_it_on_the_hand_and_what_it_holds(scene, robot):
    motion = line(
        scene, robot, standing(scene, robot, BESIDE, GRASP).q, shifted(GRASP, z=-0.01),
        guard=seek(DOWN, 5.0),
    )  # fmt: skip
    holding = ContactMonitor(robot, motion, "block", THRESHOLDS)
    empty = ContactMonitor(robot, motion, None, THRESHOLDS)
    up = {("block", "cabinet"): contact([0.0, 0.0, 5.0])}
    assert holding.resistance(up) == 5.0
    assert "5 N" in holding.guard_triggered(up)
    assert not empty.guard_triggered(up), "the block is none of the hand's"
    weak = {("block", "cabinet"): contact([3.0, 3.0, 4.9])}
    assert not holding.guard_triggered(weak), "sideways forces don't count"
    pulls = {("block", "cabinet"): contact([0.0, 0.0, -50.0])}
    assert not holding.guard_triggered(pulls)
    unguarded = ContactMonitor(robot, replace(motion, guard=None), "block", THRESHOLDS)
    assert not unguarded.guard_triggered(up)
    assert unguarded.resistance(up) == 0.0


def test_the_robot_stops_for_what_it_runs_into_but_not_for_its_own_grip(scene, robot):
    q = standing(scene, robot, BESIDE, GRASP).q
    motion = line(scene, robot, q, shifted(GRASP, z=0.01), allowed=grip("block"))
    monitor = ContactMonitor(robot, motion, "block", THRESHOLDS)
    hard, soft = THRESHOLDS.stop_force, 0.99 * THRESHOLDS.stop_force
    squeezed = {pair(FINGERS[0], "block"): contact([0, 0, 0], 3 * hard)}
    assert not monitor.collision(squeezed, True)
    closing = ContactMonitor(robot, motion, None, THRESHOLDS)  # before it counts as held
    assert not closing.collision(squeezed, True)
    assert f"{FINGERS[0]} met block" in closing.collision(squeezed, False)
    elbow = {pair("panda_link4", "cabinet"): contact([0, 0, 0], hard)}
    assert "panda_link4 met cabinet" in monitor.collision(elbow, True)
    assert not monitor.collision({pair("panda_link4", "cabinet"): contact([0, 0, 0], soft)}, True)
    assert "block met cabinet" in monitor.collision(
        {("block", "cabinet"): contact([0, 0, 0], hard)}, True
    )
    own = {pair("panda_link4", "panda_link7"): contact([0, 0, 0], 5 * hard)}
    assert not monitor.collision(own, True)
    furniture = {("cabinet", "drawer"): contact([0, 0, 0], 5 * hard)}
    assert not monitor.collision(furniture, True)
    palm = {pair("panda_hand", "drawer"): contact([0, 0, 0], hard)}
    assert "panda_hand met drawer" in monitor.collision(palm, False)
    empty = ContactMonitor(robot, replace(motion, allowed=frozenset()), None, THRESHOLDS)
    assert "block" in empty.collision(squeezed, False)


# -- putting down ---------------------------------------------------------------------------------


def put_down(scene, robot, opened, planned, guard):
    """The block is lifted and lowered to ``planned`` (m) above the table, as if that were on it."""
    spy = Forces("block", "cabinet")
    state = standing(scene, robot, BESIDE, GRASP)
    executor = opened(state, fault=spy)
    executor.execute(close(robot, 0.04, 0.025, 20.0, "block"), "close")
    rise = max(0.05, planned + 0.04)
    up = line(scene, robot, state.q, shifted(GRASP, z=rise), allowed=grip("block"))
    executor.execute(up, "lift")
    lower = line(
        scene, robot, after(state.q, up, robot), shifted(GRASP, z=planned), 0.15, guard,
        grip("block") | {pair("block", "cabinet")},
    )  # fmt: skip
    seen = executor.execute(lower, "lower")
    return executor, seen, spy, lower


@pytest.mark.parametrize("planned", [-0.005, 0.0, 0.005])
def test_an_item_is_put_down_on_a_table_that_is_higher_or_lower_than_planned(
    scene, robot, opened, planned
):
    guard = seek(DOWN, CONTACT, 0.01, THRESHOLDS.overtravel)
    executor, seen, forces, _ = put_down(scene, robot, opened, planned, guard)
    assert seen.ended.startswith("contact")
    if planned:
        early = "% of the way" in seen.ended
        assert early == (planned < 0.0), seen.ended
    assert height(executor) == pytest.approx(ON_TOP, abs=0.001)
    assert executor.world.item_pose(0)[2, 2] > np.cos(np.radians(1.0))
    assert seen.state.held == 0
    assert max(forces.normal) >= CONTACT
    assert forces.most() < THRESHOLDS.stop_force
    if planned >= 0.0:  # where it is expected, or sought for, at the guard's speed
        assert forces.most(THRESHOLDS.impact_window) <= THRESHOLDS.impact_force
    assert forces.normal[-1] < 0.1 * THRESHOLDS.impact_force, "the hand presses on"
    assert executor.log().ends[-1] == seen.ended


def test_a_table_that_is_far_below_is_not_found(scene, robot, opened):
    guard = seek(DOWN, CONTACT, 0.15, THRESHOLDS.overtravel)
    executor, seen, forces, lower = put_down(scene, robot, opened, 0.05, guard)
    assert seen.ended == "no contact within 12 mm beyond the end"
    assert forces.most() == 0.0
    assert height(executor) == pytest.approx(ON_TOP + 0.05 - THRESHOLDS.overtravel, abs=0.0015)
    log = executor.log()
    lowering = np.count_nonzero(log.motion == len(log.motions) - 1) * log.period
    sought = THRESHOLDS.overtravel / THRESHOLDS.creep
    assert lowering == pytest.approx(lower.trajectory.duration + sought, abs=0.15)
    X_WI = executor.world.item_pose(0)
    np.testing.assert_allclose(X_WI[:2, 3], BLOCK, atol=0.001)
    np.testing.assert_allclose(X_WI[:3, 2], [0.0, 0.0, 1.0], atol=0.01)


def test_without_a_guard_a_hand_that_meets_the_table_stops_all_the_same(scene, robot, opened):
    start = down(-0.05, -0.2, TOP + 0.06)
    state = standing(scene, robot, BESIDE, start)
    executor = opened(state)
    seen = executor.execute(line(scene, robot, state.q, shifted(start, z=-0.09), 0.15), "down")
    assert "finger met cabinet" in seen.ended
    assert "% of the way" in seen.ended
    tip = executor.world.hand_pose() @ [*robot.p_HT, 1.0]
    assert tip[2] > TOP - 0.003
    q, rates, _ = executor.world.joint_states()
    assert np.abs(rates).max() < 0.02, "it stands"
    np.testing.assert_allclose(q, executor.world.command, atol=0.01)


def test_a_fast_hand_that_knocks_something_away_brakes_within_its_limits(scene, robot, opened):
    start = down(BLOCK[0] - 0.15, BLOCK[1], TOP + 0.08)
    state = standing(scene, robot, BESIDE, start)
    executor = opened(state)
    seen = executor.execute(line(scene, robot, state.q, shifted(start, x=0.3), 2.0), "sweep")
    assert " met block" in seen.ended
    executor.wait(0.3)
    log, arm = executor.log(), robot.slice("arm")
    window, limits = round(0.05 / log.period), robot.group("arm")
    gained = np.abs(log.velocity[window:] - log.velocity[:-window])[:, arm] / 0.05
    assert (gained <= 1.05 * limits.acceleration).all()
    assert (np.abs(log.velocity[:, arm]).max(axis=0) > 0.08 * limits.acceleration).any(), "fast"


# -- pressing -------------------------------------------------------------------------------------


def pressed(scene, robot, opened, way, guard):
    """Closed fingers press on the cabinet from above or from ahead, as a skill's final motion."""
    X_WT = down(-0.05, -0.2, TOP + 0.056) if guard.direction[2] else ahead(0.36, 0.15, 0.82)
    base = BESIDE if guard.direction[2] else BEFORE
    state = standing(scene, robot, base, X_WT, opening=0.0)
    motion = line(
        scene, robot, state.q, shifted(X_WT, *(way * guard.direction)), 0.08, guard,
        grip("cabinet"),
    )  # fmt: skip
    with PyBulletWorld(scene, robot) as world:
        motion = optimize_trajectories(PlanningContext(scene, robot, world), (motion,), state)[0]
    spies = [Forces(finger, "cabinet") for finger in FINGERS]
    executor = opened(state, fault=spies[0])
    spies[0].before_step = lambda *args: [Forces.before_step(each, *args) for each in spies]
    seen = executor.execute(motion, "(press) | press")
    executor.wait(0.5)
    return (
        seen,
        np.sum([each.normal for each in spies], axis=0),
        validate_run(scene, executor.log()),
    )


@pytest.mark.parametrize(
    ("direction", "force", "speed"), [(DOWN, 2.0, None), (DOWN, 30.0, 0.5), (IN, 5.0, 0.5)]
)
def test_an_empty_hand_presses_with_what_its_guard_asks_for(
    scene, robot, opened, direction, force, speed
):
    guard = Guard(np.array(direction), force, speed, 0.02)
    seen, forces, verdict = pressed(scene, robot, opened, 0.038, guard)
    assert seen.ended.startswith("contact"), seen.ended
    assert force <= forces.max() <= force + max(20.0, 0.5 * force)
    assert forces[-1] <= force, "the hand presses on"
    assert verdict.passed, verdict.violations


def test_a_contact_harder_than_its_guard_allows_is_told_and_a_violation(scene, robot, opened):
    guard = Guard(np.array(DOWN), 5.0)  # the line goes on where the table is, at its own speed
    seen, forces, verdict = pressed(scene, robot, opened, 0.05, guard)
    assert forces.max() > 25.0
    assert " instead of 5 N" in seen.ended
    (violation,) = verdict.violations
    assert f"presses on cabinet with {forces.max():.0f} N" in violation.what
    assert "up to 25 N are allowed" in violation.what


def test_the_motion_after_a_push_begins_where_the_hand_was_held_back(scene, robot, opened):
    """The guard feels what resists it along its own direction: here the table is across."""
    X_WT = down(-0.05, -0.2, TOP + 0.056)
    state = standing(scene, robot, BESIDE, X_WT, opening=0.0)
    push = line(
        scene, robot, state.q, shifted(X_WT, z=-0.06), 0.02, Guard(np.array(IN), 12.0),
        grip("cabinet"),
    )  # fmt: skip
    executor = opened(state)
    seen = executor.execute(push, "(push) | push")
    assert not seen.ended
    assert np.abs(seen.state.q - after(state.q, push, robot)).max() > 0.01, "not held back"
    here = hand_pose(seen.state.q, scene.robot.base) @ transform(None, robot.p_HT)
    up = line(scene, robot, seen.state.q, shifted(here, z=0.03), 0.08, None, grip("cabinet"))
    executor.execute(up, "(push) | lift")
    log = executor.log()
    first = np.searchsorted(log.motion, 1)
    np.testing.assert_allclose(log.command[first], log.q[first], atol=2e-3)


def test_a_shoved_base_stays_where_it_is_after_a_guarded_motion_of_base_and_arm(
    scene, robot, opened
):
    X_WT = down(-0.05, -0.2, TOP + 0.03)
    state = standing(scene, robot, BESIDE, X_WT, opening=0.0)
    motion = line(scene, robot, state.q, shifted(X_WT, z=-0.05), guard=Guard(np.array(DOWN), 5.0))
    arm = motion.path.waypoints
    path = Path("base+arm", np.hstack([np.tile(BESIDE, (len(arm), 1)), arm]))
    trajectory = spline_through(path, robot.group("base+arm"), 1.0)
    executor = opened(state)
    executor.world.base_shift = np.array([0.02, 0.0, 0.0])
    motion = replace(
        motion, group=path.group, path=path, trajectory=trajectory, allowed=grip("cabinet")
    )
    seen = executor.execute(motion, "(press) | press")
    assert seen.ended.startswith("contact"), seen.ended
    executor.wait(0.5)
    np.testing.assert_allclose(executor.world.q()[:3], seen.state.q[:3], atol=0.002)


# -- drawers --------------------------------------------------------------------------------------


def at_the_knob(scene, robot, opened, value, fault=None):
    """The drawer open by ``value``, the hand closed on its knob."""
    X_WT = ahead(KNOB[0] + value, *KNOB[1:])
    state = standing(scene, robot, BEFORE, X_WT).with_scene(frozen([value, 0.0]))
    executor = opened(state, fault=fault)
    executor.execute(close(robot, 0.04, 0.01, 20.0, "knob"), "close")
    return executor, state.q, X_WT


@pytest.mark.parametrize("beyond", [-0.006, 0.0, 0.02])
def test_a_drawer_is_pushed_until_it_is_shut_however_far_was_planned(scene, robot, opened, beyond):
    executor, q, X_WT = at_the_knob(scene, robot, opened, 0.12)
    guard = seek(IN, THRESHOLDS.push_force, 0.15, THRESHOLDS.overtravel)
    push = line(scene, robot, q, shifted(X_WT, x=-0.12 - beyond), 0.15, guard, grip("knob"))
    seen = executor.execute(push, "push")
    assert seen.ended.startswith("contact"), seen.ended
    assert seen.state.scene_q[0] == pytest.approx(0.0, abs=0.001)
    opening = executor.log().scene_q[:, 0]
    assert opening.min() > -0.002


def test_a_stuck_drawer_stops_the_pull(scene, robot, opened):
    executor, q, X_WT = at_the_knob(scene, robot, opened, 0.0)
    executor.world.set_joint_friction(0, 400.0)
    guard = seek(OUT, THRESHOLDS.pull_force)
    pull = line(scene, robot, q, shifted(X_WT, x=0.15), 0.15, guard, grip("knob"))
    seen = executor.execute(pull, "pull")
    assert seen.ended.startswith("stuck")
    assert "% of the way" in seen.ended
    assert abs(seen.state.scene_q[0]) < 0.003
    where = executor.world.hand_pose() @ [*robot.p_HT, 1.0]
    assert where[0] < KNOB[0] + 0.03, "the hand went on without the drawer"
