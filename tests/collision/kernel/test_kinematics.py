"""Where the kernel and the joint tree put the links: against Drake, PyBullet and numpy."""

from __future__ import annotations

import numpy as np
import pytest

from galley.collision.collision_world import CollisionWorld
from galley.collision.kernel.arrays import FRAMES
from galley.collision.kernel.kinematics import FRAME, sine_cosine
from galley.compiled.jit import bare_kernel
from galley.compiled.lanes import LANES, load, store
from galley.domain.frames import rotation_about, transform
from galley.robots.iiwa import iiwa
from galley.robots.panda.description import panda_arm
from galley.robots.panda.models import mobile_panda
from galley.tests.collision.kernel.support import DrakeOracle, bullet, within

ROBOTS = {
    "mobile_panda": mobile_panda,
    "panda_arm": panda_arm,
    "iiwa": iiwa,
    "iiwa_turned": lambda: iiwa(transform(rotation_about((0.6, 0.0, 0.8), 0.7), (0.3, -0.2, 0.9))),
}


@bare_kernel
def sines_and_cosines(angles, s, c):
    for first in range(0, len(angles), LANES):
        a, b = sine_cosine(load(angles, first))
        store(s, first, a)
        store(c, first, b)


@pytest.fixture(scope="module", params=ROBOTS)
def robot(request):
    return ROBOTS[request.param]()


def test_sines_and_cosines_are_those_of_numpy():
    angles = np.linspace(-20.0, 20.0, 16 * 5000).astype(np.float32)
    angles = np.concatenate([angles, np.arange(-16, 16).astype(np.float32) * np.float32(np.pi / 4)])
    s, c = np.empty_like(angles), np.empty_like(angles)
    sines_and_cosines(angles, s, c)
    exact = angles.astype(np.float64)
    assert np.abs(s - np.sin(exact)).max() < 1e-6
    assert np.abs(c - np.cos(exact)).max() < 1e-6


def test_links_stand_where_drake_and_pybullet_put_them(robot):
    tree = CollisionWorld(robot, {}).model.tree
    drake = DrakeOracle(robot, {})
    low, high = within(robot)
    rng = np.random.default_rng(0)
    with bullet(robot, {}) as engine:
        for q in rng.uniform(low, high, (20, robot.size)):
            for link in robot.links:
                X = tree.link_pose(link, q)
                np.testing.assert_allclose(X, drake.link_pose(link, q), atol=1e-9)
                if link in engine.links:
                    np.testing.assert_allclose(X, engine.link_pose(link, q), atol=2e-6)


def test_frames_of_16_configurations_are_those_of_the_tree(robot):
    """Within the 10 um by which the kernel widens every distance."""
    world = CollisionWorld(robot, {})
    tree, view = world.model.tree, world.whole
    low, high = within(robot)
    rng = np.random.default_rng(1)
    worst = 0.0
    for _ in range(20):
        states = rng.uniform(low, high, (LANES, robot.size))
        view.free_many(states)
        at = view.arrays.scratch.layout[FRAMES]
        lanes = view.arrays.scratch.buffer[at : at + (robot.size + 1) * FRAME].reshape(
            -1, 12, LANES
        )
        for k, q in enumerate(states):
            X = tree.poses(q)
            worst = max(worst, np.abs(lanes[:, 9:, k] - X[:, :3, 3]).max())
            R = lanes[:, :9, k].reshape(-1, 3, 3)
            np.testing.assert_allclose(R, X[:, :3, :3], atol=1e-5)
    assert worst < 1e-5
