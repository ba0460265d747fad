"""The renderer's pictures, compared with the scene file's colours."""

from dataclasses import replace

import numpy as np
import pytest
from PIL import Image as PilImage

from galley.domain.frames import to_pose7, transform
from galley.viz.render.renderer import Renderer
from galley.viz.render.view import Camera

WIDTH, HEIGHT = 320, 240
FACES = {  # colour of each cell, and the direction from which its face is seen
    "front": ((0, 0), (200, 0, 0), (1, 0, 0)),
    "back": ((1, 0), (0, 200, 0), (-1, 0, 0)),
    "top": ((2, 0), (0, 0, 200), (0, 0, 1)),
    "left": ((0, 1), (200, 200, 0), (0, 1, 0)),
    "right": ((1, 1), (0, 200, 200), (0, -1, 0)),
}


def painted(folder):
    """A texture with a colour for each face, whose upper right quarter is white."""
    sheet = PilImage.new("RGB", (96, 64))
    for (column, row), color, _ in FACES.values():
        sheet.paste(color, (32 * column, 32 * row, 32 * column + 32, 32 * row + 32))
        sheet.paste((255, 255, 255), (32 * column + 16, 32 * row, 32 * column + 32, 32 * row + 16))
    path = folder / "painted.png"
    sheet.save(path)
    return path


@pytest.fixture(scope="module")
def drawer(scene, robot, tmp_path_factory):
    texture = painted(tmp_path_factory.mktemp("texture"))
    sugar = scene.item("sugar_box")
    shape = replace(sugar.shapes[0], texture=texture)
    items = (replace(sugar, shapes=(shape,)), *scene.items[1:])
    return Renderer(replace(scene, items=items), robot, WIDTH, HEIGHT)


@pytest.mark.parametrize("face", FACES)
def test_each_face_carries_its_cell_upright(drawer, scene, items, face):
    _, color, normal = FACES[face]
    place = np.array([1.2, 0.6, 1.5])  # in the open
    poses = items.copy()
    poses[0] = to_pose7(transform(None, place))
    # From above, "up" in the picture is away from the viewer; a hair towards +x makes it -x.
    eye = place + 0.5 * np.array(normal) + (0.02 * (normal[2] != 0), 0.0, 0.0)
    q = scene.robot.q.copy()
    picture = drawer.render(q, np.zeros(len(scene.joints)), poses, Camera(eye, place))
    size = scene.item("sugar_box").size
    right = {"front": 1, "back": 1, "top": 1, "left": 0, "right": 0}[face]
    up = 0 if face == "top" else 2
    scale = Camera(eye, place).focal(HEIGHT) / (0.5 - 0.5 * size[np.argmax(np.abs(normal))])
    dx, dy = 0.25 * size[right] * scale, 0.25 * size[up] * scale

    def pixel(x, y):
        return picture[round(HEIGHT / 2 - y), round(WIDTH / 2 + x)].astype(int)

    white, low = pixel(dx, dy), pixel(-dx, -dy)
    assert np.ptp(white) < 30
    assert white.min() > 60
    lit = np.array(color) > 0
    assert low[lit].min() > low[~lit].max() + 50
    for x, y in ((-dx, dy), (dx, -dy)):
        np.testing.assert_allclose(pixel(x, y), low, atol=25)


def test_a_drawer_is_seen_to_open(drawer, scene, items):
    camera = Camera([1.6, 1.2, 2.2], [0.3, 1.2, 0.85])
    q, closed = scene.robot.q, np.zeros(len(scene.joints))
    opened = closed.copy()
    opened[scene.joint_index["indigo_drawer_top_joint"]] = 0.3
    # The drawer's floor, wood, is seen now where the worktop or front was.
    (pixel,), _ = camera.project(np.array([[0.40, 1.2, 0.779]]), WIDTH, HEIGHT)
    column, row = (int(p) for p in pixel)
    before = drawer.render(q, closed, items, camera)[row, column].astype(int)
    after = drawer.render(q, opened, items, camera)[row, column].astype(int)
    wood = np.array([0.80, 0.72, 0.60])
    assert np.abs(after - before).max() > 15
    np.testing.assert_allclose(after / after.sum(), wood / wood.sum(), atol=0.03)


def test_trembling_is_not_drawn_and_creeping_is(scene, robot, items):
    engine = Renderer(scene, robot, WIDTH, HEIGHT)
    sugar = items[0, :3]
    camera = Camera(sugar + np.array([0.35, 0.1, 0.1]), sugar)
    q, scene_q = scene.robot.q, np.zeros(len(scene.joints))
    first = engine.render(q, scene_q, items, camera)
    assert engine.render(q, scene_q, items, camera) is first
    assert engine.render(q, scene_q, items + 1e-6, camera) is first
    moved = items.copy()
    for _ in range(300):
        moved[0, 1] += 1.5e-5
        crept = engine.render(q, scene_q, moved, camera)
    fresh = Renderer(scene, robot, WIDTH, HEIGHT)
    expected = fresh.render(q, scene_q, moved, camera).astype(int)
    assert (np.abs(expected - first).max(axis=2) > 40).mean() > 0.005  # 4.5 mm are seen
    assert (np.abs(expected - crept).max(axis=2) > 40).mean() < 2e-4
