"""Motions of any duration, one after another, sampled evenly: nothing lost, nothing added."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from galley.collision.backends.pybullet_world import PyBulletWorld
from galley.domain.frames import from_pose7
from galley.domain.scene.model import HAND
from galley.domain.state import initial_state
from galley.execution.executor import LOG_PERIOD
from galley.execution.kinematic import CONTACT_EVERY, TOUCHING, KinematicExecutor, execute_all
from galley.motion.motion import Attachment, Motion
from galley.motion.path import Path
from galley.motion.trajectory.timing import rest_to_rest
from galley.motion.trajectory.trajectory import slowed
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
)
from galley.validation import validate_run

GRASP = down(*BLOCK, TOP + 0.07)


@pytest.fixture(scope="module")
def world(scene, robot):
    with PyBulletWorld(scene, robot) as world:
        yield world


def lasting(robot, start, end, seconds):
    """An arm motion from rest to rest that takes exactly so long."""
    path = Path("arm", np.array([start, end]))
    trajectory = rest_to_rest(path, robot.group("arm"))
    factor = seconds / trajectory.duration
    return Motion(0, "move", "arm", path, slowed(trajectory, factor))


# Durations from far below a period to many, whole multiples of it among them.
spans = st.one_of(st.floats(1e-4, 0.3), st.integers(1, 40).map(lambda k: k * LOG_PERIOD))
courses = st.lists(spans, min_size=1, max_size=6)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.differing_executors])
@given(durations=courses)
def test_samples_lie_on_the_trajectories_at_even_times(scene, robot, world, durations):
    arm = robot.slice("arm")
    q = scene.robot.q[arm]
    ends = [q + 0.05 * (k % 3 + 1) * (-1) ** k for k in range(len(durations))]
    motions = [
        lasting(robot, a, b, d) for a, b, d in zip([q, *ends[:-1]], ends, durations, strict=True)
    ]
    executor = KinematicExecutor(world, initial_state(scene))
    log = execute_all(executor, tuple(motions), tuple("m" * len(motions)))
    total = sum(durations)
    np.testing.assert_allclose(log.time, np.arange(len(log.time)) * LOG_PERIOD, atol=1e-9)
    assert total - 1e-6 <= log.duration < total + LOG_PERIOD + 1e-6
    starts = np.concatenate([[0.0], np.cumsum(durations)])
    for t, where in zip(log.time, log.q[:, arm], strict=True):
        k = min(int(np.searchsorted(starts, t + 1e-7, side="right")) - 1, len(motions) - 1)
        np.testing.assert_allclose(where, motions[k].trajectory(t - starts[k]), atol=1e-6)
    np.testing.assert_allclose(log.q[-1, arm], ends[-1], atol=1e-9)
    np.testing.assert_allclose(log.velocity[-1], 0.0, atol=1e-9)
    assert executor.observe().q[arm] == pytest.approx(ends[-1])


def test_what_the_fingers_closed_on_is_in_the_hand_at_once(scene, robot, world):
    state = standing(scene, robot, BESIDE, GRASP)
    executor = KinematicExecutor(world, state)
    seen = executor.execute(close(robot, 0.04, 0.025, 20.0, "block"), "close")
    assert seen.state.held == 0
    assert seen.state.items[0].parent == HAND
    up = line(scene, robot, state.q, shifted(GRASP, z=0.05), allowed=grip("block"))
    up = replace(up, attachments=(Attachment("item", "block"),))
    executor.execute(up, "lift")
    log = executor.log()
    first = np.flatnonzero(log.motion == 1)[0]
    assert (log.held[first:] == 0).all()
    rise = log.items[-1, 0, 2] - log.items[0, 0, 2]
    assert rise == pytest.approx(0.05, abs=1e-4)
    np.testing.assert_allclose(log.items[-1, 0, :2], log.items[0, 0, :2], atol=1e-4)


def test_each_sample_is_told_once_as_it_stands_in_the_log(scene, robot, world):
    heard = []
    executor = KinematicExecutor(world, initial_state(scene), heard.append)
    q = scene.robot.q[robot.slice("arm")]
    executor.execute(lasting(robot, q, q + 0.3, 0.7), "there")
    executor.execute(lasting(robot, q + 0.3, q, 0.9), "back")
    executor.wait(0.2)
    log = executor.log()
    assert len(heard) == len(log.time) > 200
    for name in ("q", "velocity", "command", "scene_q", "items"):
        told = np.array([getattr(sample, name) for sample in heard])
        np.testing.assert_array_equal(told, getattr(log, name))
    assert {sample.held for sample in heard} == {None}
    central = (log.q[2:] - log.q[:-2]) / (2.0 * LOG_PERIOD)
    np.testing.assert_allclose(log.velocity[1:-1], central, atol=2e-3)
    assert np.abs(log.velocity).max() > 0.4


def test_contacts_are_those_of_a_world_set_to_the_logged_state(scene, robot, world):
    """The block is pressed: an own look at every 12th sample."""
    executor = KinematicExecutor(world, standing(scene, robot, BESIDE, GRASP))
    executor.execute(close(robot, 0.04, 0.025, 20.0, "block"), "close")
    log = executor.log()
    seen = {}
    for c, (step, distance) in enumerate(zip(log.contact_step, log.contact_distance, strict=True)):
        seen.setdefault(int(step), {})[log.touching(c)] = distance
    looks = [*range(0, len(log.time), CONTACT_EVERY), len(log.time) - 1]
    assert set(seen) <= set(looks)
    assert any("block" in pair for pair in seen[looks[-1]])
    with PyBulletWorld(scene, robot) as other:
        for k in looks:
            other.set_robot(log.q[k])
            other.set_item(0, from_pose7(log.items[k, 0]))
            assert seen.get(k, {}) == pytest.approx(other.near_pairs(TOUCHING), abs=1e-6)


def test_nothing_to_do_is_a_log_of_one_sample(scene, world):
    """A goal that holds already: no motions, yet the log shows where everything is."""
    start = initial_state(scene)
    executor = KinematicExecutor(world, start)
    log = executor.log()
    assert executor.observe() == start
    assert len(log.time) == 1
    assert validate_run(scene, log).passed
    np.testing.assert_allclose(log.q[-1], start.q)
