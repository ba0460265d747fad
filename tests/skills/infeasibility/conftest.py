"""Benches in small scenes."""

import pytest

from galley.collision.backends.pybullet_world import PyBulletWorld
from galley.domain.scene.reader import load_scene
from galley.robots.panda.models import mobile_panda
from galley.skills import PlanningContext, Settings
from galley.tests.skills.infeasibility.scenes import with_more


@pytest.fixture
def opened(tmp_path):
    """Opens the small scene with more bodies and items; returns its bench."""
    worlds = []

    def open_scene(bodies="", items="", change=lambda text: text):
        file = tmp_path / "scene.yaml"
        file.write_text(with_more(bodies, items, change))
        scene = load_scene(file)
        worlds.append(PyBulletWorld(scene, mobile_panda(scene.robot.base)))
        return PlanningContext(scene, worlds[-1].robot, worlds[-1], Settings())

    yield open_scene
    for world in worlds:
        world.close()
