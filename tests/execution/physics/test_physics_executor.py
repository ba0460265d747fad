"""Motions under physics: tracking, logging and determinism."""

from dataclasses import fields, replace

import numpy as np
import pytest

from galley.domain.frames import frozen
from galley.execution.executor import LOG_PERIOD
from galley.motion.motion import Motion
from galley.motion.path import Path
from galley.motion.trajectory.timing import rest_to_rest
from galley.tests.execution.physics.by_hand import (
    BESIDE,
    BLOCK,
    TOP,
    close,
    down,
    grip,
    line,
    shifted,
    standing,
    stroke,
)

GRASP = down(*BLOCK, TOP + 0.07)


def straight(robot, group, start, end):
    """A motion of a group from rest to rest, at its full limits."""
    path = Path(group, np.array([start, end]))
    trajectory = rest_to_rest(path, robot.group(group))
    return Motion(0, f"{group} moves", group, path, trajectory)


def worst(log, trajectory, where):
    """The largest distance of a group from its trajectory at any sample."""
    return np.abs(log.q[:, where] - trajectory(log.time)).max()


# -- tracking -------------------------------------------------------------------------------------


@pytest.mark.parametrize("group", ["arm", "base"])
def test_a_group_follows_at_its_full_limits_while_all_else_stands(scene, robot, opened, group):
    executor, where, arm = opened(), robot.slice(group), robot.slice("arm")
    way = {"arm": np.random.default_rng(0).uniform(-0.6, 0.6, 7), "base": [0.3, -0.4, -1.0]}
    limits = robot.group(group)
    q = scene.robot.q[where]
    motion = straight(robot, group, q, np.clip(q + way[group], limits.lower, limits.upper))
    assert executor.execute(motion, "move").ended == ""
    log = executor.log()
    assert worst(log, motion.trajectory, where) < 0.005
    # A command is what a joint was told before the step that led to the sample.
    told = motion.trajectory(np.maximum(log.time - executor.world.dt, 0.0))
    np.testing.assert_allclose(log.command[:, where], told, atol=1e-6)
    central = (log.q[2:] - log.q[:-2]) / (2.0 * log.period)
    np.testing.assert_allclose(log.velocity[1:-1, where], central[:, where], atol=0.08)
    np.testing.assert_allclose(executor.observe().q[where], motion.path.end, atol=1e-3)
    torques = np.array([87.0] * 4 + [12.0] * 3)  # N m, of the real arm
    assert (np.abs(log.torque[:, arm]) <= torques + 1e-6).all()
    others = np.delete(np.arange(robot.size), np.arange(where.start, where.stop))
    assert np.abs(log.q[:, others] - scene.robot.q[others]).max() < (
        0.002 if group == "arm" else 0.01
    )


@pytest.mark.parametrize(("off", "way"), [(0.02, 0.2), (0.15, 0.001)], ids=["long", "short"])
def test_a_motion_that_begins_elsewhere_is_joined_without_a_jump(scene, robot, opened, off, way):
    """As after a guard that ended the motion before; to a short one's start the arm goes first."""
    executor, arm = opened(), robot.slice("arm")
    q = scene.robot.q[arm]
    start = q + off * np.array([1.0, -1.0, 1.0, 1.0, -1.0, 1.0, 1.5])
    motion = straight(robot, "arm", start, start + way)
    executor.execute(motion, "move")
    log = executor.log()
    np.testing.assert_allclose(log.command[0, arm], q, atol=1e-9)
    np.testing.assert_allclose(executor.observe().q[arm], motion.path.end, atol=1e-3)
    rates = np.diff(log.command[:, arm], axis=0) / LOG_PERIOD
    limit = robot.group("arm")
    assert (np.abs(rates) < limit.velocity).all()
    assert (np.abs(np.diff(rates, axis=0)) / LOG_PERIOD < 1.3 * limit.acceleration).all()


# -- the log --------------------------------------------------------------------------------------


def errand(scene, robot):
    """A block is taken, lifted and put back, and the arm moves on."""
    state = standing(scene, robot, BESIDE, GRASP)
    up = line(scene, robot, state.q, shifted(GRASP, z=0.06), 0.2, allowed=grip("block"))
    back = replace(
        up,
        path=Path("arm", up.path.waypoints[::-1]),
        trajectory=rest_to_rest(Path("arm", up.path.waypoints[::-1]), robot.group("arm"), 0.5),
    )
    motions = (
        close(robot, 0.04, 0.025, 20.0, "block"),
        up,
        back,
        stroke(robot, 0.025, 0.04, allowed=grip("block")),
    )
    return state, motions


def test_the_same_run_twice_gives_the_same_even_log_bit_for_bit(scene, robot, opened):
    state, motions = errand(scene, robot)
    logs = []
    for _ in range(2):
        executor = opened(state)
        for motion in motions:
            seen = executor.execute(motion, motion.phase)
        logs.append(executor.log())
        assert seen.time == pytest.approx(logs[-1].duration)
    for field in fields(logs[0]):
        one, two = (np.asarray(getattr(log, field.name)) for log in logs)
        assert one.tobytes() == two.tobytes(), field.name
    log = logs[0]
    np.testing.assert_allclose(log.time, np.arange(len(log.time)) * LOG_PERIOD, atol=1e-9)
    assert set(log.motion) == set(range(len(motions)))
    # The log's clock is the physics', at fine steps and coarse: a rate times a period is the way.
    arm = robot.slice("arm")
    moved = np.diff(log.q[:, arm], axis=0)
    mean = 0.5 * (log.velocity[1:] + log.velocity[:-1])[:, arm] * LOG_PERIOD
    assert np.abs(moved.sum(axis=0) - mean.sum(axis=0)).max() < 2e-3
    np.testing.assert_allclose(moved, mean, atol=6e-4)
    assert set(log.motion[log.held == 0]) >= {0, 1, 2}
    assert log.held[-1] == -1


def test_what_is_seen_passes_through_the_sensor(scene, robot, opened):
    def sensor(state):
        return state.with_scene(frozen(state.scene_q + 0.123))

    executor = opened(sensor=sensor)
    seen = executor.observe()
    assert seen.scene_q[0] == pytest.approx(0.123, abs=1e-3)
    assert executor.log().scene_q[0, 0] == pytest.approx(0.0, abs=1e-3), "the log has the truth"


# -- a base that stands beside where it believes to stand -----------------------------------------


def test_a_shift_of_the_base_is_unknown_to_it_until_a_motion_begins_elsewhere(scene, robot, opened):
    executor, base = opened(), robot.slice("base")
    world = executor.world
    q, shift = scene.robot.q[base], np.array([0.04, -0.03, 0.05])
    world.base_shift[:] = shift
    executor.wait(1.0)
    np.testing.assert_allclose(executor.observe().q[base], q + shift, atol=2e-3)
    # The log has where the motors hold it, whatever it believes.
    np.testing.assert_allclose(executor.log().command[-1, base], q + shift, atol=1e-9)
    # It begins where the base believes to stand: what it does is off by as much.
    first = straight(robot, "base", q, q + np.array([0.2, 0.1, -0.2]))
    executor.execute(first, "drive")
    np.testing.assert_allclose(executor.observe().q[base], first.path.end + shift, atol=2e-3)
    # It begins where the base truly stands, as it was seen: it leads where it says.
    seen = executor.observe().q[base]
    second = straight(robot, "base", seen, seen + np.array([-0.1, 0.1, 0.2]))
    executor.execute(second, "drive")
    np.testing.assert_allclose(executor.observe().q[base], second.path.end, atol=2e-3)
    np.testing.assert_array_equal(world.base_shift, 0.0)
    jumps = np.abs(np.diff(executor.log().q[:, base], axis=0)) / LOG_PERIOD
    assert (jumps[130:] < np.array([0.7, 0.7, 1.4])).all(), "no jump where it learned of the shift"
