"""A run in the browser: the page alone, what it shows when, and that looking changes nothing."""

import io
import itertools
import re
import shutil
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import trimesh

import galley
from galley.cli import main
from galley.domain.frames import from_pose7
from galley.domain.shipped import KITCHEN
from galley.robots.catalog import robot_of
from galley.tests.browser import Browser
from galley.viz.film.frames import slerp
from galley.viz.render.meshes import box_mesh, cylinder_mesh, joined, sphere_mesh
from galley.viz.render.scene_meshes import SceneMeshes
from galley.viz.replay import replay_html
from galley.viz.replay.gltf import MOST_TRIANGLES, as_gltf
from galley.viz.replay.keyframes import keyframes
from galley.viz.replay.live import LiveView
from galley.worlds.engines.drake_world import DrakeWorld

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


@pytest.fixture
def stored(run, tmp_path):
    galley.report(run, folder=tmp_path / "run")
    return tmp_path / "run"


def test_galley_replay_writes_beside_the_states(stored, capsys):
    assert main(["replay", str(stored), "--fps", "2"]) == 0
    assert str(stored / "replay.html") in capsys.readouterr().out
    assert "window.galley" in (stored / "replay.html").read_text()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nowhere"], "no such file"),
        ([str(KITCHEN)], "it is no run"),
        (["RUN", "--out", "film.mp4"], "must end in .html"),
        (["RUN", "--out", "nowhere/replay.html"], "nowhere"),
    ],
)
def test_galley_replay_refuses_in_one_line(stored, capsys, words, said):
    words = [str(stored) if word == "RUN" else word for word in words]
    assert main(["replay", *words]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1


def test_an_unfinished_run_is_refused(stored, capsys):
    shutil.copy(stored / "report.json", stored / "UNFINISHED")
    assert main(["replay", str(stored)]) == 2
    assert "has not ended" in capsys.readouterr().err
