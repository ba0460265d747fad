"""The page of a robot, in a browser: its sliders move the links to the poses of the model."""

import numpy as np
import pytest

from galley.domain.scene.reader import load_scene
from galley.domain.shipped import ALONE
from galley.robots.catalog import robot_of
from galley.robots.urdf_reader import read_tree
from galley.tests.browser import Browser
from galley.tests.cli.test_robot_file import GEN3
from galley.tests.command_line import command
from galley.viz.render.scene_meshes import SceneMeshes, for_display

DRAWN = """(path => {
  viewer.scene.updateMatrixWorld(true);
  const root = viewer.scene_tree.find(["drake"]).object.matrixWorld.clone().invert();
  const found = viewer.scene_tree.find(["drake", "galley", ...path]).object.matrixWorld;
  return root.multiply(found).toArray();
})"""


def pose(numbers):
    return np.reshape(numbers, (4, 4)).T


@pytest.mark.slow
def test_sliders_move_the_drawn_links_to_the_poses_of_the_model(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert command("new", "robot", GEN3, "--out", "gen3.yaml").status == 0
    done = command("robot", "gen3.yaml", "--no-view", "--out", "gen3.html")
    assert (done.status, done.err) == (0, "")
    scene = load_scene(ALONE, "gen3.yaml")
    robot = robot_of(scene.robot)
    tree = read_tree(robot.urdf, robot.joints)
    names = SceneMeshes(scene, for_display(robot)).names
    tab = Browser(tmp_path / "profile")
    try:
        tab.open(tmp_path / "gen3.html", "window.galley")
        rng, q = np.random.default_rng(5), scene.robot.q.copy()
        low, high = robot.group("arm").turn
        move = "(([k, v]) => { const s = document.querySelectorAll('input[type=range]')[k];"
        move += " s.value = v; s.oninput(); })"
        for _ in range(3):
            q[robot.slice("arm")] = rng.uniform(low, high)
            half = rng.uniform(0.0, robot.gripper.open)
            q[robot.slice("fingers")] = robot.fingers_at(half)
            for k, value in enumerate([*q[robot.slice("arm")], 2.0 * half]):
                tab.run(f"{move}([{k}, {value}])")
            X_WH = robot.kinematics.hand_pose(q)
            assert np.abs(pose(tab.run("galley.pose('hand_frame')")) - X_WH).max() < 1e-4
            for link in ("hand_frame", *robot.fingers):
                drawn = pose(tab.run(f"{DRAWN}(['looks', '{names.index(link)}'])"))
                assert np.abs(drawn - tree.link_pose(link, q)).max() < 1e-4, link
        assert tab.run("document.querySelectorAll('.limit').length") == 0
        tab.run(f"{move}([1, {high[1]}])")
        assert tab.run("document.querySelector('.limit span').textContent") == "joint_2"
        before = tab.picture()[:, 320:].astype(float)
        tab.run("document.querySelector('input[name=shapes]').click()")
        tab.run("document.querySelector('input[name=looks]').click()")
        tab.run("new Promise(done => setTimeout(done, 500))")
        shapes = tab.picture()[:, 320:].astype(float)
        orange = (shapes[..., 0] > shapes[..., 2] + 90).mean()
        assert orange > 0.005 > (before[..., 0] > before[..., 2] + 90).mean()
        assert tab.errors == []
    finally:
        tab.close()
