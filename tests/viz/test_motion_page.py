"""The page of a motion, in a browser: arm, ghosts, obstacles and clearance at each time."""

import logging
import re
import sys
import webbrowser
from dataclasses import replace
from pathlib import Path
from urllib.request import urlopen

import numpy as np
import pytest
from pydrake.multibody.parsing import Parser
from pydrake.multibody.plant import MultibodyPlant

import galley
from galley.domain.failure import Failure, FailureError, FailureKind
from galley.motion import CollisionWorld, box, convex, cylinder, plan, sphere
from galley.motion import Path as Waypoints
from galley.motion.trajectory.timing import rest_to_rest
from galley.robots.files import pybullet_data_file
from galley.robots.urdf_arm import arm_from_urdf
from galley.tests.browser import Browser
from galley.viz.render.scene_meshes import link_meshes
from galley.viz.replay import ReplayPage

START = np.array([-0.8, 0.9, 0.0, -1.2, 0.0, 0.9, 0.0])
GOAL = START * [-1, 1, 1, 1, 1, 1, 1]
OBSTACLES = {
    "post": cylinder(0.05, 1.0, at=[0.5, 0.0, 0.5]),
    "table": box([1.0, 1.6, 0.05], at=[0.6, 0.0, -0.03]),
    "lamp": sphere(0.1, at=[0.3, 0.9, 0.9]),
    "wedge": convex([[0, 0, 0], [0.2, 0, 0], [0, 0.3, 0], [0, 0, 0.4]], at=[0.7, 0.5, 0.0]),
    "unseen": box([0.1, 0.1, 0.1], at=[-0.5, 0.0, 0.5]),
}
# Poses in the world's frame, z up; the browser's is turned.
DRAWN = """(choose => {
  viewer.scene.updateMatrixWorld(true);
  const root = viewer.scene_tree.find(["drake"]).object.matrixWorld.clone().invert();
  const found = [];
  viewer.scene_tree.find(["drake", "galley", ...choose.path]).object.traverse(node => {
    if (choose.mesh ? node.isMesh && node.name !== "ghost" : node.name === choose.name)
      found.push(node);
  });
  return found.map(node => choose.mesh
    ? (node.geometry.computeBoundingBox(), node.geometry.boundingBox.clone()
      .applyMatrix4(root.clone().multiply(node.matrixWorld)))
    : root.clone().multiply(node.matrixWorld).toArray());
})"""
SLIDE = """(t => { const slider = document.querySelector("#galley-track input");
  slider.value = t; slider.oninput(); return galley.time(); })"""


@pytest.fixture(scope="module")
def world():
    robot = arm_from_urdf(pybullet_data_file("kuka_iiwa/model.urdf"))
    robot = replace(robot, sphere_excess=(("*", 0.012),))
    world = CollisionWorld(robot, OBSTACLES, hidden=frozenset({"unseen"}))
    return world.holding("tin", cylinder(0.03, 0.1, at=[0.0, 0.0, 0.1]))


@pytest.fixture(scope="module")
def path(world):
    found = plan(world, START, GOAL, seed=0)
    assert isinstance(found, Waypoints), found
    return found


@pytest.fixture(scope="module")
def page(path, tmp_path_factory):
    file = tmp_path_factory.mktemp("motion") / "x.html"
    path.save(file)
    return file


@pytest.fixture(scope="module")
def tab(page, tmp_path_factory):
    browser = Browser(tmp_path_factory.mktemp("browser"))
    browser.open(page, "window.galley")
    browser.wait(f"{DRAWN}({{path: [], name: 'ghost'}}).length")
    yield browser
    browser.close()


def link_pose(robot, link, q):
    """X_WL (4, 4) by Drake."""
    plant = MultibodyPlant(0.0)
    Parser(plant).AddModelsFromString(robot.urdf, "urdf")
    plant.Finalize()
    context = plant.CreateDefaultContext()
    for name, value in zip(robot.joints, q, strict=True):
        plant.GetJointByName(name).set_angle(context, value)
    return plant.EvalBodyPoseInWorld(context, plant.GetBodyByName(link)).GetAsMatrix4()


def pose(numbers):
    return np.reshape(numbers, (4, 4)).T


@pytest.mark.slow
def test_the_slider_moves_the_arm_to_where_drake_has_it(tab, world, path):
    robot, curve = world.robot, rest_to_rest(path, world.robot.group("arm"))
    names = list(link_meshes(robot.urdf))
    for share in (0.0, 0.3, 0.62, 1.0):
        t = tab.run(f"{SLIDE}({share * curve.duration})")
        assert t == pytest.approx(share * curve.duration, abs=1e-3)
        for link in ("lbr_iiwa_link_4", "lbr_iiwa_link_7"):
            choose = f"{{path: ['arm'], name: '{names.index(link)}'}}"
            (drawn,) = tab.run(f"{DRAWN}({choose})")
            assert np.abs(pose(drawn) - link_pose(robot, link, curve(t))).max() < 0.01, (t, link)
    assert tab.errors == []


@pytest.mark.slow
def test_ghosts_stand_at_start_and_goal_wherever_the_slider_is(tab, world):
    tab.run(f"{SLIDE}(1.0)")
    ghosts = [pose(each) for each in tab.run(f"{DRAWN}({{path: ['arm'], name: 'ghost'}})")]
    for q in (START, GOAL):
        X = link_pose(world.robot, "lbr_iiwa_link_7", q)
        assert min(np.abs(each - X).max() for each in ghosts) < 1e-3


@pytest.mark.slow
def test_obstacles_are_drawn_where_the_checker_has_them_and_hidden_ones_are_not(tab, world):
    drawn = tab.run(f"{DRAWN}({{path: ['obstacles'], mesh: true}})")
    arrays = world.fixed_bodies.arrays
    assert len(drawn) == len(OBSTACLES) - 1
    for k, corners in enumerate(drawn):
        for mine, its in ((arrays.low[k], corners["min"]), (arrays.high[k], corners["max"])):
            np.testing.assert_allclose(mine, [its[axis] for axis in "xyz"], atol=2e-3)


@pytest.mark.slow
def test_the_clearance_shown_is_that_of_the_time(tab, world, path):
    curve = rest_to_rest(path, world.robot.group("arm"))
    for share in (0.0, 0.5):
        t = tab.run(f"{SLIDE}({share * curve.duration})")
        shown = tab.run("document.querySelector('#galley-say b').textContent")
        metres = 1e-3 * float(re.fullmatch(r"clearance (\d+) mm", shown)[1])
        near = [world.clearance(curve(s)) for s in np.clip([t - 0.01, t], 0.0, curve.duration)]
        assert min(near) - 1e-3 < metres < max(near) + 1e-3
    assert "post" in tab.run("document.querySelector('#galley-say em').textContent")
    assert tab.run("document.querySelector('#galley svg path').getAttribute('d').length") > 100


@pytest.mark.slow
def test_the_file_is_small_and_asks_for_nothing(page, tab):
    assert page.stat().st_size < 5e6
    found = set(re.findall(r"https?://[^\s\"'`<>)]+", page.read_text()))
    assert {address for address in found if "www.w3.org" not in address} == set()
    assert not [address for address in tab.asked if not re.match("file:|data:|blob:", address)]


@pytest.mark.parametrize(
    ("motion", "error", "said"),
    [
        (Failure(FailureKind.BLOCKED, "the goal is in collision"), FailureError, "in collision"),
        (Waypoints("arm", START[None]), ValueError, "and its world"),
        (START, ValueError, "give a Path or a Trajectory"),
    ],
)
def test_what_cannot_be_shown_is_said_in_one_line(motion, error, said):
    with pytest.raises(error, match=said) as raised:
        galley.view(motion)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("group", "count", "error", "said"),
    [
        ("legs", 7, KeyError, "no joint group 'legs', there are \\['arm'\\]"),
        ("arm", 6, ValueError, "'arm' has 7 joints, not 6"),
    ],
)
def test_a_motion_of_another_robot_is_refused(world, group, count, error, said):
    with pytest.raises(error, match=said):
        galley.view(Waypoints(group, np.zeros((2, count))), world)


def test_a_browser_gets_the_page_from_the_loopback_address(tmp_path, monkeypatch):
    fetch = (
        "import sys, urllib.request as u; "
        f"open({str(tmp_path / 'got')!r}, 'wb').write(u.urlopen(sys.argv[1]).read() +"
        " sys.argv[1].encode())"
    )
    browser = webbrowser.GenericBrowser([sys.executable, "-c", fetch, "%s"])
    webbrowser.register("fetch", None, browser, preferred=True)
    monkeypatch.setenv("BROWSER", "fetch")
    ReplayPage("<p>caf\u00e9</p>").show()
    text = (tmp_path / "got").read_text()
    assert re.fullmatch(r"<p>caf\u00e9</p>http://127\.0\.0\.1:\d+/", text)


def test_without_a_browser_the_address_is_said(monkeypatch, caplog):
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(sys, "platform", "linux")
    with caplog.at_level(logging.WARNING):
        ReplayPage("<p>here</p>").show()
    (line,) = caplog.messages
    address, file = re.search(r"(http://127\.0\.0\.1:\d+/).* open (.*)$", line).groups()
    with urlopen(address) as answer:
        assert answer.read() == b"<p>here</p>" == Path(file).read_bytes()
