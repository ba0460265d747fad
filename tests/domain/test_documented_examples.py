"""What the documentation shows runs: the scene of docs/scene.md, and the Python of each page.

Blocks marked ``py`` are for reading only: those take a whole run.
"""

import re
from pathlib import Path

import pytest

from galley.domain.scene.reader import load_scene
from galley.robots.panda.models import mobile_panda
from galley.worlds.engines.pybullet_world import PyBulletWorld
from galley.worlds.scene_check import check_start

DOCS = Path(__file__).parents[2] / "docs"
PAGES = (
    "domain",
    "worlds",
    "robots",
    "motion",
    "optimization",
    "comparison",
    "reachability",
    "skills",
    "execution",
)


def blocks(page, language):
    text = (DOCS / f"{page}.md").read_text()
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


@pytest.fixture
def scene_examples(tmp_path):
    """The scene files of docs/scene.md: the whole one, and those that extend it."""
    context, extended, grasps, objects = blocks("scene", "yaml")
    (tmp_path / "bench.yaml").write_text(context)
    (tmp_path / "bench2.yaml").write_text(extended)
    (tmp_path / "ball_grasps.yaml").write_text(grasps)
    (tmp_path / "marks.yaml").write_text(f"galley_scene: 1\nextends: bench.yaml\n{objects}")
    return tmp_path


def test_the_example_of_the_scene_format_is_a_scene_that_starts_free(scene_examples):
    scene = load_scene(scene_examples / "bench.yaml")
    with PyBulletWorld(scene, mobile_panda(scene.robot.base)) as world:
        check_start(world)
    assert scene.region("table_top").boxes[0, 0, 2] == 0.75
    assert scene.item("block").X_WI[2, 3] == pytest.approx(0.80)


def test_the_example_of_a_scene_that_extends_another_starts_free_too(scene_examples):
    scene = load_scene(scene_examples / "bench2.yaml")
    with PyBulletWorld(scene, mobile_panda(scene.robot.base)) as world:
        check_start(world)
    assert [item.name for item in scene.items] == ["ball"]
    assert [grasp.name for grasp in scene.item("ball").grasps] == ["down", "slanted"]
    assert scene.binding("mark").spot.yaw == 1.57
    assert scene.robot.q[:4].tolist() == [1.7, 0.3, 3.1, 0.0]


def test_the_example_of_exact_places_is_read(scene_examples):
    scene = load_scene(scene_examples / "marks.yaml")
    places = {b.object: b.spot for b in scene.bindings if b.spot is not None}
    assert {name: (*spot.xy, spot.yaw) for name, spot in places.items()} == {
        "left_mark": (0.0, -0.3, 0.0),
        "right_mark": (0.0, 0.3, None),
    }


@pytest.mark.parametrize("page", PAGES)
def test_the_examples_of_a_page_run_and_print_something(
    page, kitchen_folder, capsys, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)  # some write files
    code = "".join(blocks(page, "python"))
    assert code
    exec(compile(code, f"docs/{page}.md", "exec"), {"KITCHEN": kitchen_folder})
    assert capsys.readouterr().out
