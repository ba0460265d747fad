import numpy as np

from galley.collision.backends.drake_world import DrakeWorld
from galley.viz.film.camera import film_cameras
from galley.viz.film.frames import frame_times, resample
from galley.viz.render.renderer import window_around
from galley.viz.render.view import LINK_RADIUS, Camera, Occluders, furniture_boxes, visible_from

NO_LINKS = np.zeros((0, 3))


def test_projection_by_hand():
    # 2 m from the target along +x, 90 degrees: half the height spans 2 m at the target.
    camera = Camera([2.0, 0.0, 1.0], [0.0, 0.0, 1.0], np.pi / 2)
    points = [[0, 0, 1], [0, 2, 1], [0, 0, 3], [0, 0, -1], [3, 0, 1]]
    pixels, depth = camera.project(np.array(points, dtype=float), 400, 200)
    by_hand = [[200, 100], [300, 100], [200, 0], [200, 200]]
    np.testing.assert_allclose(pixels[:4], by_hand, atol=1e-9)
    np.testing.assert_allclose(depth, [2, 2, 2, 2, -1])
    assert np.isnan(pixels[4]).all()


def test_walls_hide_and_open_drawers_are_boxes(scene):
    closed = furniture_boxes(scene, np.zeros(len(scene.joints)))
    eyes = np.array([[2.0, 0.6, 1.6], [-2.0, 0.6, 1.6], [1.0, 0.6, 0.2]])
    stove = np.array([0.065, 0.625, 1.0])
    assert visible_from(eyes, stove, closed, NO_LINKS).tolist() == [1.0, 0.0, 0.0]
    drawer = np.array([[0.45, 1.2, 0.80]])
    opened = furniture_boxes(scene, np.array([0.3, *np.zeros(len(scene.joints) - 1)]))
    assert closed.distance(drawer)[0] > 0.1
    assert opened.distance(drawer)[0] < 0.03
    arm = np.array([[1.0, 0.6, 0.0], [1.0, 0.6, 2.0]])
    assert visible_from(eyes[:1], stove, closed, arm).tolist() == [0.0]


def test_an_arm_hides_what_a_capsule_around_it_does():
    """By the distance of densely sampled points of both lines."""
    rng, u = np.random.default_rng(0), np.linspace(0, 1, 300)[:, None]
    nothing = Occluders(np.zeros((0, 4, 4)), np.zeros((0, 3)))
    seen = {0.0: 0, 1.0: 0}
    for _ in range(200):
        eye, a, b = rng.uniform(-0.5, 0.5, (3, 3))
        eye[2] += 1.5
        target = np.array([0.0, 0.0, -1.5])
        rays, arm = eye + 0.93 * u * (target - eye), a + u * (b - a)
        gap = np.linalg.norm(rays[:, None] - arm[None], axis=2).min()
        found = float(visible_from(eye[None], target, nothing, np.array([a, b]))[0])
        if abs(gap - LINK_RADIUS) > 0.015:
            assert found == (gap > LINK_RADIUS)
            seen[found] += 1
    assert min(seen.values()) > 10


def test_the_cameraman_is_smooth_keeps_clear_and_sees_the_hand(scene, robot, log):
    fps = 10.0
    frames = resample(log, robot, frame_times(log, fps))
    lines = [str(line) for line in log.motions]
    with DrakeWorld(scene, robot) as world:
        cameras = film_cameras(frames, lines, scene, robot, fps)
        assert len(cameras) == len(frames.time)
        eyes = np.array([camera.position for camera in cameras])
        assert np.linalg.norm(np.diff(eyes, axis=0), axis=1).max() * fps < 4.0  # m/s
        assert len({id(camera) for camera in cameras}) < 0.6 * len(cameras)  # it rests
        seen = []
        for k in range(0, len(cameras), 5):
            room = furniture_boxes(scene, frames.scene_q[k])
            assert room.distance(eyes[k][None])[0] > 0.14
            world.set_robot(frames.q[k])
            X_WH = world.link_pose(robot.palm)
            hand = X_WH[:3, :3] @ robot.p_HT + X_WH[:3, 3]
            pixels, depth = cameras[k].project(hand[None], 1280, 720)
            assert depth[0] > 0
            assert (pixels[0] > (64, 36)).all()
            assert (pixels[0] < (1216, 600)).all()  # above the captions too
            seen.append(visible_from(eyes[k][None], hand, room, NO_LINKS)[0])
    assert np.mean(seen) > 0.9


def test_a_window_holds_what_moved_or_is_empty_or_all():
    camera = Camera([2.0, 0.0, 1.0], [0.0, 0.0, 1.0])
    box = 0.05 * np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], float)

    def window(*places):
        points = np.concatenate([box[:0], *(box + place for place in places)])
        return window_around(points, camera, 1280, 720).tolist()

    both = ((0, 0.2, 1.2), (0, 0.3, 1.2))
    left, top, right, bottom = window(*both)
    pixels, _ = camera.project(np.concatenate([box + place for place in both]), 1280, 720)
    assert (pixels >= (left, top)).all()
    assert (pixels <= (right, bottom)).all()
    assert (right - left) * (bottom - top) < 0.15 * 1280 * 720
    assert window() == window((0, 5.0, 1.2)) == [0, 0, 0, 0]
    large, around_the_camera = ((0, -1.4, 0.3), (0, 1.4, 1.7)), (1.98, 0, 1)
    assert window(*large) == window(around_the_camera) == [0, 0, 1280, 720]
