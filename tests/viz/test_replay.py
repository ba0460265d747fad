"""A run in the browser: the page alone, what it shows when, and that looking changes nothing."""

import io
import itertools
import json
import re
import time
from dataclasses import replace
from urllib.request import urlopen

import numpy as np
import pytest
import trimesh

import galley
from galley.cli import main
from galley.collision.backends.drake_world import DrakeWorld
from galley.domain.frames import from_pose7
from galley.domain.shipped import KITCHEN
from galley.robots.catalog import robot_of
from galley.tests.browser import Browser
from galley.viz.film.frames import slerp
from galley.viz.render.meshes import box_mesh, joined, sphere_mesh
from galley.viz.render.renderer import Renderer
from galley.viz.render.scene_meshes import SceneMeshes
from galley.viz.render.scene_picture import front_camera
from galley.viz.replay import replay_html
from galley.viz.replay.bodies import HEIGHT, WIDTH, as_gltf
from galley.viz.replay.live import LiveView
from galley.viz.replay.recording import keyframes

TIMES = (0.0, 6.0, 11.0, 17.5)  # s


@pytest.fixture(scope="module")
def run():
    solution = galley.solve(galley.load(problem="sugar_only.pddl"), seed=3, optimize="none")
    return galley.execute(solution, executor="kinematic")


@pytest.fixture(scope="module")
def page(run, tmp_path_factory):
    return run.replay().save(tmp_path_factory.mktemp("page") / "replay.html")


@pytest.fixture(scope="module")
def tab(page, tmp_path_factory):
    browser = Browser(tmp_path_factory.mktemp("browser"))
    browser.open(page, "window.galley")
    yield browser
    browser.close()


def settle(tab):
    tab.run("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")


def test_the_page_is_small_and_names_no_outside_address(page):
    text = page.read_text()
    assert len(text) < 5e6
    found = set(re.findall(r"https?://[^\s\"'`<>)]+", text))
    assert {address for address in found if "www.w3.org" not in address} == set()


@pytest.mark.slow
def test_seeking_moves_the_picture_and_nothing_goes_wrong(tab):
    pictures = []
    for t in TIMES:
        tab.run(f"galley.seek({t})")
        settle(tab)
        pictures.append(tab.picture()[:-80].astype(float))  # without the controls
        assert tab.run("galley.time()") == t
    assert all(picture.std() > 20.0 for picture in pictures)
    moved = [np.abs(a - b).max(axis=2) > 40 for a, b in itertools.pairwise(pictures)]
    assert all(each.mean() > 0.002 for each in moved)
    assert tab.errors == []
    assert not [address for address in tab.asked if not re.match("file:|data:|blob:", address)]


@pytest.mark.slow
def test_it_looks_as_the_film_does(tab, run):
    scene, t = run.solution.task.scene, TIMES[2]
    robot, k = robot_of(scene.robot), round(t / run.log.period)
    camera = front_camera(scene, WIDTH, HEIGHT)
    film = Renderer(scene, robot, 960, 540, staged=True)
    state = run.log.q[k], run.log.scene_q[k], run.log.items[k]
    tab.run(f"galley.seek({t})")
    settle(tab)
    patches = [
        picture[:420].reshape(6, 70, 8, 120, 3).mean(axis=(1, 3))
        for picture in (film.render(*state, camera), tab.picture())
    ]
    apart = np.abs(patches[0] - patches[1])
    assert apart.mean() < 12.0
    assert apart.max() < 45.0  # of 255


@pytest.mark.slow
def test_the_path_of_the_hand_is_shown_on_request(tab):
    orange = []
    for _ in range(3):
        settle(tab)
        picture = tab.picture()[:420].astype(int)
        orange.append((picture[..., 0] - picture[..., 2] > 180).sum())
        tab.run("document.querySelector('#galley-legend input').click()")
    tab.run("document.querySelector('#galley-legend input').click()")
    assert orange[0] == orange[2] < orange[1] - 80


@pytest.mark.slow
def test_bodies_are_where_the_log_and_drake_have_them(tab, run):
    scene = run.solution.task.scene
    robot = robot_of(scene.robot)
    world_of = """(name => {
      let found; viewer.scene.updateMatrixWorld(true);
      viewer.scene.traverse(node => { if (node.name === name) found = node; });
      const root = viewer.scene_tree.find(["drake"]).object.matrixWorld.clone().invert();
      return root.multiply(found.matrixWorld).toArray();
    })"""
    names = SceneMeshes(scene, robot).names
    links = [name for name in names if name.startswith("panda_")]
    assert len(links) >= 10
    drake = DrakeWorld(scene, robot)
    for t in TIMES:
        tab.run(f"galley.seek({t})")
        k = round(t / run.log.period)
        drake.set_robot(run.log.q[k])
        for item, pose in zip(scene.items, run.log.items[k], strict=True):
            X = np.array(tab.run(f"{world_of}('{names.index(item.name)}')")).reshape(4, 4).T
            assert np.abs(X - from_pose7(pose)).max() < 0.004
        for link in links:
            X = np.array(tab.run(f"{world_of}('{names.index(link)}')")).reshape(4, 4).T
            assert np.abs(X - drake.link_pose(link)).max() < 0.01, (t, link)


@pytest.mark.slow
def test_a_page_that_embeds_it_seeks_plays_and_pauses(tab):
    tab.run("window.postMessage({galley: 'seek', time: 9}, '*')")  # alone, it is its own parent
    tab.wait("galley.time() === 9")
    tab.run("window.postMessage({galley: 'play'}, '*')")
    tab.wait("galley.time() > 9.2")
    tab.run("window.postMessage({galley: 'pause'}, '*')")
    tab.wait("!galley.playing()")
    stood = tab.run("galley.time()")
    settle(tab)
    assert tab.run("galley.time()") == stood
    tab.run("galley.seek(1e9)")
    assert tab.run("galley.time()") == pytest.approx(tab.run("galley.duration"))
    assert tab.errors == []


@pytest.mark.slow
def test_it_obeys_no_other_page_and_no_nonsense(tab):
    tab.run("window.heard = 0, addEventListener('message', () => { heard += 1; }), 0")
    tab.run("galley.seek(2)")
    for message in ("null", "{galley: 'seek', time: 'x'}", "{a: 1}"):
        tab.run(f"window.postMessage({message}, '*')")
    tab.run(
        """(() => { const other = document.createElement("iframe");
        other.srcdoc = "<script>parent.postMessage({galley: 'seek', time: 7}, '*')</" + "script>";
        document.body.append(other); })()"""
    )
    tab.wait("heard === 4")
    settle(tab)
    assert tab.run("galley.time()") == 2
    assert tab.errors == []


def test_a_notebook_gets_the_page_in_a_frame(run):
    shown = run.solution.replay(fps=1)._repr_html_()
    assert shown.startswith("<iframe")
    assert shown.count('"') == 6
    assert "<script" not in shown


def test_names_from_files_cannot_leave_their_script(run):
    line = "(pick </script><script>alert(1)</script>) | reach"
    log = replace(run.log, motions=np.full_like(run.log.motions, line, dtype=f"<U{len(line)}"))
    scene = run.solution.task.scene
    assert "<script>alert" not in replay_html(log, scene, robot_of(scene.robot), fps=1)


def test_kept_poses_are_near_all_others():
    t = np.linspace(0.0, 6.0, 400)
    poses = np.zeros((len(t), 7))
    poses[:, 0] = np.where(t < 2.0, 0.0, np.sin(t - 2.0))
    poses[:, 5], poses[:, 6] = np.sin(0.5 * t), np.cos(0.5 * t)
    kept = keyframes(poses, 1e-3, 1e-3)
    assert 4 < len(kept) < len(t) // 3
    shown = np.empty_like(poses)
    for i, j in itertools.pairwise(kept):
        u = (np.arange(i, j + 1) - i)[:, None] / (j - i)
        shown[i : j + 1, :3] = poses[i, :3] + u * (poses[j, :3] - poses[i, :3])
        shown[i : j + 1, 3:] = slerp(poses[[i] * len(u), 3:], poses[[j] * len(u), 3:], u)
    assert np.abs(shown - poses).max() < 1.5e-3
    assert keyframes(np.repeat(poses[:1], 50, axis=0), 1e-3, 1e-3) == [0]


def test_a_mesh_is_the_same_for_the_browser():
    mesh = joined([sphere_mesh(0.3).painted([0.2, 0.5, 1.0]), box_mesh((1.0, 0.2, 0.1))])
    found = trimesh.load(io.BytesIO(as_gltf(mesh)), file_type="gltf").to_geometry()
    assert 0.5 * len(mesh.triangles) < len(found.faces) < len(mesh.triangles)
    y_up = mesh.points @ np.array([[1, 0, 0], [0, 0, -1], [0, 1, 0]])
    np.testing.assert_allclose(found.bounds, [y_up.min(axis=0), y_up.max(axis=0)], atol=0.005)


@pytest.mark.slow
def test_looking_changes_nothing(run):
    scene = run.solution.task.scene
    before = time.monotonic()
    view = LiveView(galley.Listener())
    after = time.monotonic()
    view.loaded(scene)
    assert re.match(r"http://(localhost|127\.0\.0\.1):\d+", view.address)
    again = galley.solve(run.solution.task, seed=3, optimize="none", listener=view)
    seen = galley.execute(again, executor="kinematic", listener=view)
    for name in ("q", "velocity", "items", "scene_q", "contact_distance"):
        assert np.array_equal(getattr(seen.log, name), getattr(run.log, name))
    asked = time.monotonic()
    with urlopen(f"{view.address}now") as now:
        *said, seconds = json.load(now)
    assert said == ["put the sugar box on the countertop", "withdraw", ""]
    assert asked - after < seconds < time.monotonic() - before


@pytest.fixture(scope="module")
def stored(run, tmp_path_factory):
    folder = tmp_path_factory.mktemp("stored") / "run"
    galley.report(run, folder=folder)
    return folder


@pytest.mark.slow
def test_galley_replay_writes_beside_the_states_of_a_run_that_ended(stored, capsys):
    assert main(["replay", str(stored), "--fps", "2"]) == 0
    assert str(stored / "replay.html") in capsys.readouterr().out
    assert "window.galley" in (stored / "replay.html").read_text()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nowhere"], "no such file"),
        ([str(KITCHEN)], "no run, or one"),
        (["RUN", "--out", "film.mp4"], "--out needs a name that ends in .html"),
        (["RUN", "--out", "nowhere/replay.html"], "nowhere"),
    ],
)
def test_galley_replay_refuses_in_one_line(stored, capsys, words, said):
    words = [str(stored) if word == "RUN" else word for word in words]
    assert main(["replay", *words]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1
