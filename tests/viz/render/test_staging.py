"""What films add to a scene: shadows and a room."""

from dataclasses import replace

import numpy as np
import pytest

from galley.viz.render.renderer import BACKGROUND, LAMP, Renderer, room_mesh
from galley.viz.render.view import Camera, Image

WIDTH, HEIGHT = 320, 240
COUNTER = Camera([0.9, -0.9, 1.5], [0.1, -0.6, 0.93])
STANDS = 0.93  # m, height of the counter


@pytest.fixture(scope="module")
def staged(scene, robot):
    return Renderer(scene, robot, WIDTH, HEIGHT, staged=True)


def on_counter(items, height=STANDS):
    """The sugar box on the right counter, ``height`` m above the floor."""
    poses = items.copy()
    poses[0] = [0.1, -0.6, height + 0.0875, 0.0, 0.0, 0.0, 1.0]
    return poses


def meets_box(start, way, middle, size):
    """Whether a ray meets a box along the axes, by its distances to the planes of the faces."""
    with np.errstate(divide="ignore"):
        ends = (middle + np.array([[-0.5], [0.5]]) * size - start) / way
    return bool(ends.min(axis=0).max() < ends.max(axis=0).min() and ends.max(axis=0).min() > 0)


@pytest.mark.parametrize("height", [STANDS, STANDS + 0.05])
def test_a_shadow_lies_where_an_item_hides_the_lamp_and_nowhere_else(staged, scene, items, height):
    q, scene_q = scene.robot.q, np.zeros(len(scene.joints))
    away = staged.render(q, scene_q, items, COUNTER).astype(float).sum(axis=2)
    lies = staged.render(q, scene_q, on_counter(items, height), COUNTER).astype(float).sum(axis=2)
    size, middle = scene.item("sugar_box").size, np.array([0.1, -0.6, height + 0.0875])
    checked = {True: 0, False: 0}
    for x in np.arange(-0.12, 0.22, 0.02):
        for y in np.arange(-0.8, -0.4, 0.02):
            point = np.array([x, y, STANDS + 1e-4])
            near = [point + 0.015 * np.array([a, b, 0]) for a in (-1, 1) for b in (-1, 1)]
            hidden = {meets_box(each, np.array(LAMP), middle, size) for each in near}
            seen = {meets_box(each, COUNTER.position - each, middle, size) for each in near}
            if len(hidden) == 2 or True in seen:  # on an edge, or behind the box
                continue
            column, row = COUNTER.project(point[None], WIDTH, HEIGHT)[0][0].astype(int)
            share = lies[row, column] / away[row, column]
            assert share < 0.8 if hidden == {True} else share > 0.98, (point, share)
            checked[hidden.pop()] += 1
    assert min(checked.values()) > 5


def test_an_item_behind_a_closed_drawers_front_darkens_nothing(staged, scene, items):
    q, scene_q = scene.robot.q, np.zeros(len(scene.joints))
    camera = Camera([1.6, 1.2, 1.1], [0.26, 1.2, 0.82])
    inside = items.copy()
    inside[0] = [0.15, 1.20, 0.80, 0.0, 0.7071067811865476, 0.0, 0.7071067811865476]
    empty, full = (staged.render(q, scene_q, poses, camera) for poses in (items, inside))
    front = camera.project(np.array([[0.266, 0.86, 0.87], [0.266, 1.56, 0.77]]), WIDTH, HEIGHT)[0]
    (left, right), (top, bottom) = np.sort(front.astype(int), axis=0).T
    np.testing.assert_array_equal(full[top:bottom, left:right], empty[top:bottom, left:right])


def test_windows_and_whole_pictures_have_the_same_shadows(staged, scene, items):
    camera, other = (Camera([2.6, 0.6, z], [0.4, -0.2, 0.7]) for z in (1.7, 1.8))
    rng = np.random.default_rng(3)
    steps = []
    for k in range(8):
        q, drawers = scene.robot.q.copy(), np.zeros(len(scene.joints))
        q[0] -= 0.08 * k * (k > 3)
        q[3:10] += 0.05 * k
        drawers[0] = 0.04 * k
        poses = on_counter(items, STANDS + 0.03 * (k % 4))
        poses[0, :2] += rng.uniform(-0.1, 0.1, 2)
        steps.append((q, drawers, poses))
    windowed = [staged.render(*step, camera) for step in steps]
    for step, picture in zip(steps, windowed, strict=True):
        staged.render(*step, other)  # forget what was drawn
        whole = staged.render(*step, camera)
        differs = np.abs(picture.astype(int) - whole).max(axis=2) > 12
        assert differs.sum() <= 8  # on edges, where furniture touches itself


def test_a_close_up_is_what_a_renderer_of_its_size_draws(staged, scene, robot, items):
    state = (scene.robot.q, np.zeros(len(scene.joints)), on_counter(items))
    staged.render(*state, Camera([2.6, 0.6, 1.7], [0.4, -0.2, 0.7]))
    close = staged.close_up(COUNTER, 160, 120).astype(int)
    alone = Renderer(scene, robot, 160, 120, staged=True).render(*state, COUNTER)
    assert (np.abs(close - alone).max(axis=2) > 12).mean() < 1e-3
    assert staged.close_up(COUNTER, 80, 60).shape == (60, 80, 3)


def test_walls_on_all_sides_are_seen_from_inside_and_not_from_outside(staged, scene, items):
    q, scene_q = scene.robot.q, np.zeros(len(scene.joints))
    ground = np.round(255 * np.array(BACKGROUND))

    def background(camera):
        picture: Image = staged.render(q, scene_q, items, camera)
        return float((np.abs(picture - ground).max(axis=2) < 2).mean())

    middle = np.array([2.0, 0.5, 1.5])
    for angle in np.arange(0.0, 2 * np.pi, np.pi / 4):
        way = np.array([np.cos(angle), np.sin(angle), -0.1])
        assert background(Camera(middle, middle + way)) == 0.0
    # From behind the wall, the robot is seen all the same.
    outside = Camera([7.5, 0.0, 1.5], [2.0, 0.0, 0.6])
    with_room = staged.render(q, scene_q, items, outside)
    column, row = outside.project(np.array([[2.0, 0.0, 0.35]]), WIDTH, HEIGHT)[0][0].astype(int)
    assert with_room[row, column].max() < 120  # the dark base, not a light wall


def test_a_scene_without_floor_and_walls_gets_a_room_with_space_for_a_camera(scene):
    bare = replace(scene, bodies=tuple(b for b in scene.bodies if b.name == "range"), regions=())
    points = room_mesh(bare).points
    stances = np.array([[*s.lower[:2], *s.upper[:2]] for s in scene.stances])
    assert (points[:, :2].min(axis=0) <= stances[:, :2].min(axis=0) - 2.4).all()
    assert (points[:, :2].max(axis=0) >= stances[:, 2:].max(axis=0) + 2.4).all()
    assert points[:, 2].max() >= 2.5
