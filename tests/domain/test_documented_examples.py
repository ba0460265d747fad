"""What the documentation shows runs: the scene of docs/scene.md, and the Python of each page."""

import re
from pathlib import Path

import pytest

from galley.domain.scene_file import load_scene
from galley.robots.mobile_panda import mobile_panda
from galley.worlds.pybullet_world import PyBulletWorld
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
    "simulation",
)


def blocks(page, language):
    text = (DOCS / f"{page}.md").read_text()
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


def test_the_example_of_the_scene_format_is_a_scene_that_starts_free(tmp_path):
    (example,) = blocks("scene", "yaml")
    file = tmp_path / "bench.yaml"
    file.write_text(example)
    scene = load_scene(file)
    with PyBulletWorld(scene, mobile_panda(scene.robot.base)) as world:
        check_start(world)
    assert scene.region("table_top").boxes[0, 0, 2] == 0.75
    assert scene.item("block").X_WI[2, 3] == pytest.approx(0.80)


@pytest.mark.parametrize("page", PAGES)
def test_the_examples_of_a_page_run_and_print_something(
    page, kitchen_folder, capsys, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)  # some write files
    code = "".join(blocks(page, "python"))
    assert code
    exec(compile(code, f"docs/{page}.md", "exec"), {"KITCHEN": kitchen_folder})
    assert capsys.readouterr().out
