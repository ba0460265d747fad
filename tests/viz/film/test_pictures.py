"""Cameras of observations: mounted, and turned."""

import numpy as np

from galley.viz.film import pictures
from galley.viz.film.camera import hand_poses
from galley.viz.render.view import Camera


def test_the_hands_camera_is_fixed_to_the_palm_and_sees_the_grasp(robot, kitchen):
    rng = np.random.default_rng(0)
    mounted = []
    for _ in range(20):
        q = np.concatenate([kitchen.robot.q[:3], rng.uniform(-2.5, 2.5, 7), [0.04, 0.04]])
        X_WH = hand_poses(robot, q[None])[0]
        camera = pictures._hand_camera(robot, X_WH)
        mounted.append(np.linalg.solve(X_WH, camera.X_WC))
        grasp = X_WH[:3, :3] @ robot.p_HT + X_WH[:3, 3]
        pixels, depth = camera.project(grasp[None], 96, 96)
        assert 0.1 < depth[0] < 0.3
        assert (np.abs(pixels - 48) < 24).all()
    np.testing.assert_allclose(mounted, [mounted[0]] * 20, atol=1e-9)


def test_a_turned_camera_turns_the_picture():
    eye, target = np.array([1.0, 0.0, 0.0]), np.zeros(3)
    points = np.random.default_rng(0).uniform(-0.3, 0.3, (20, 3))
    level = Camera(eye, target)
    (a, near), (b, far) = (
        camera.project(points, 100, 100) for camera in (level, Camera(eye, target, up=[0, 1, 0]))
    )
    np.testing.assert_allclose(near, far)
    # Looking along -x with y up, z is to the left: up in the level picture.
    np.testing.assert_allclose((b - 50)[:, 0], (a - 50)[:, 1], atol=1e-9)
    np.testing.assert_allclose((b - 50)[:, 1], -(a - 50)[:, 0], atol=1e-9)
