"""A body that stops items and lets links through: in every world that checks, and in physics."""

import numpy as np
import pytest

from galley.collision.backends.drake_world import DrakeWorld
from galley.collision.backends.pybullet_world import PyBulletWorld
from galley.collision.scene_check import check_start
from galley.collision.scene_kernel import SceneKernel
from galley.domain.errors import BadInput
from galley.domain.frames import to_pose7, transform
from galley.domain.scene.reader import load_scene
from galley.domain.state import Placement, initial_state, item_poses
from galley.execution.physics.world import PhysicsWorld
from galley.robots.catalog import robot_of
from galley.validation.replay_world import ReplayWorld

# Across the arm as it is folded, beside the table's edge.
CURTAIN = """galley_scene: 1
extends: table.yaml
name: curtain
bodies:
  curtain: {{shapes: [{{extents: [[0.1, 0.38], [-0.6, 0.6], [0.75, 1.9]]}}], may_touch: {links}}}
"""


@pytest.fixture
def curtain(tmp_path):
    def load(links):
        file = tmp_path / "curtain.yaml"
        file.write_text(CURTAIN.format(links=list(links)))
        return load_scene(file)

    return load


@pytest.fixture(scope="module")
def arm():
    return robot_of(load_scene("table.yaml").robot)


def in_curtain(names):
    return {pair for pair in names if "curtain" in pair}


def test_links_pass_and_items_do_not_in_every_world(curtain, arm):
    scene = curtain(arm.links)
    item = scene.items[0].name
    start = initial_state(scene)
    thrown = start.with_item(0, Placement("world", transform(None, [0.15, -0.5, 1.0])))
    found = []
    with PyBulletWorld(scene, arm) as bullet, DrakeWorld(scene, arm) as drake:
        for state in (start, thrown):
            bullet.set_state(state)
            drake.set_state(state)
            found.append(set(bullet.near_pairs(0.0)))
            found.append({(c.a, c.b) for c in drake.contacts()})
    replay = ReplayWorld(scene)
    for state in (start, thrown):
        poses = np.array([to_pose7(X) for X in item_poses(scene, state, np.eye(4))])
        furniture = {b.name: to_pose7(scene.body_pose(b.name, state.scene_q)) for b in scene.bodies}
        replay.set_state(state.q, furniture, poses)
        found.append(set(replay.penetrations()))
    replay.close()
    assert [in_curtain(each) for each in found] == [
        set(),
        set(),
        *2 * [{(item, "curtain")}],
        set(),
        {(item, "curtain")},
    ]
    held = start.with_item(0, Placement("hand", transform(None, [-0.17, 0.0, -0.17])))
    for state, hits in ((start, set()), (held, {(item, "curtain")})):
        contacts = SceneKernel(scene, arm).checker(state).contacts(state.q)
        assert in_curtain({(c.a, c.b) for c in contacts}) == hits


def test_only_the_named_links_pass(curtain, arm):
    def across(links):
        scene = curtain(links)
        start = initial_state(scene)
        planned = SceneKernel(scene, arm).checker(start).contacts(start.q)
        with PyBulletWorld(scene, arm) as bullet:
            bullet.set_state(start)
            found = in_curtain(bullet.near_pairs(0.0))
            if found:
                with pytest.raises(BadInput, match="deep in curtain"):
                    check_start(bullet)
        assert found <= in_curtain({(c.a, c.b) for c in planned})
        return sorted({name for pair in found for name in pair} - {"curtain"})

    every = across([])
    assert len(every) > 2
    assert across(every[1:]) == every[:1]


def test_physics_does_not_push_a_link_out(curtain, arm):
    scene = curtain(arm.links)
    world = PhysicsWorld(scene, arm, initial_state(scene))
    before = world.q()
    for _ in range(100):
        world.step()
    after = world.q()
    world.close()
    assert np.abs(after - before).max() < 2e-3


def test_a_link_that_there_is_not_is_named(curtain, arm):
    scene = curtain(["panda_elbow"])
    with PyBulletWorld(scene, arm) as world, pytest.raises(BadInput) as refused:
        check_start(world)
    assert any(
        "no link 'panda_elbow'" in each.what and "curtain.may_touch" in each.what and each.line == 5
        for each in refused.value.errors
    )
