"""Items of any shapes rest without motion, at the height of their geometry."""

import numpy as np
import pytest
import trimesh

from galley.domain.scene.reader import load_scene
from galley.domain.state import initial_state
from galley.execution.physics.sensing import item_speed
from galley.execution.physics.world import PhysicsWorld
from galley.robots.panda.models import mobile_panda


def cup():
    outline = [[0, 0], [0.025, 0], [0.035, 0.08], [0.032, 0.08], [0.022, 0.003], [0, 0.003]]
    mesh = trimesh.creation.revolve(outline, sections=32)
    mesh.apply_translation([0, 0, -0.04])
    return mesh


def pebble():
    """A ball with many small facets, cut off above and below."""
    ball = trimesh.creation.icosphere(3, 0.04)
    points = ball.vertices * [1.0, 0.8, 1.2]
    points[:, 2] = np.clip(points[:, 2], -0.035, 0.035)
    return trimesh.convex.convex_hull(points)


ITEMS = {  # shape, height, mass
    "box": ("{box: [0.05, 0.06, 0.10]}", 0.10, 0.3),
    "light_box": ("{box: [0.04, 0.04, 0.12]}", 0.12, 0.05),
    "can": ("{cylinder: [0.03, 0.10]}", 0.10, 0.3),
    "heavy_can": ("{cylinder: [0.035, 0.08]}", 0.08, 1.5),
    "mesh_box": ("{mesh: box.obj}", 0.10, 0.3),
    "mesh_can": ("{mesh: can.stl, scale: 0.001}", 0.10, 0.3),
    "cup": ("{mesh: cup.obj}", 0.08, 0.2),
    "pebble": ("{mesh: pebble.stl}", 0.07, 0.6),
    "composed": (
        "{cylinder: [0.03, 0.02], xyz: [0, 0, -0.04]}\n      - {mesh: lid.obj}",
        0.10,
        0.3,
    ),
}


@pytest.fixture(scope="module")
def crowd(small_text, tmp_path_factory):
    """A scene with all of them on the cabinet."""
    folder = tmp_path_factory.mktemp("über uns")
    trimesh.creation.box([0.05, 0.06, 0.10]).export(folder / "box.obj")
    trimesh.creation.cylinder(30, 100, sections=64).export(folder / "can.stl")
    lid = trimesh.creation.cylinder(0.03, 0.08, sections=24)
    lid.apply_translation([0, 0, 0.01])
    lid.export(folder / "lid.obj")
    cup().export(folder / "cup.obj")
    pebble().export(folder / "pebble.stl")
    entries = "".join(
        f"  {name}:\n    mass: {mass}\n    shapes:\n      - {shape}\n"
        f"    pose: {{on: top, xy: [{-0.2 + 0.15 * (k % 3):.2f}, {-0.2 + 0.2 * (k // 3):.2f}], "
        f"yaw: {0.3 * k}}}\n"
        for k, (name, (shape, _, mass)) in enumerate(ITEMS.items())
    )
    block = small_text[small_text.index("  block:\n") : small_text.index("stances:")]
    text = small_text.replace(block, entries).replace("block: {item: block}", "block: {item: box}")
    (folder / "scene.yaml").write_text(text)
    return load_scene(folder / "scene.yaml")


@pytest.mark.parametrize("parts", [1, 4])
def test_items_of_every_kind_rest_like_boxes(parts, crowd):
    world = PhysicsWorld(crowd, mobile_panda(crowd.robot.base), initial_state(crowd))
    world.set_step(crowd.physics.time_step / parts)  # steps are finer while the fingers grip
    speeds, heights = [], []
    try:
        q = world.q()
        for step in range(round(2.5 / world.dt)):
            world.drive(q, np.zeros(len(q)))
            world.step()
            if step * world.dt > 0.5:
                speeds.append([item_speed(world, k) for k in range(len(ITEMS))])
                heights.append([world.item_pose(k)[2, 3] for k in range(len(ITEMS))])
    finally:
        world.close()
    off = np.array(heights) - 0.84 - [height / 2 for _, height, _ in ITEMS.values()]
    fast = np.percentile(speeds, 95, axis=0)
    assert np.abs(off).max() < 1e-4, dict(zip(ITEMS, off.max(axis=0), strict=True))
    assert fast.max() < 0.003, dict(zip(ITEMS, fast, strict=True))
