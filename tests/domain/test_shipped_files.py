"""Bare names of shipped files work wherever a scene, domain, problem or scenario is read."""

import tomllib
from pathlib import Path

import pytest

import galley
from galley.cli import main
from galley.domain.errors import BadInput
from galley.domain.pddl.reader import read_domain, read_problem
from galley.domain.scene.reader import load_scene
from galley.domain.shipped import EXAMPLES, PLACES, SCENARIOS, shipped_file
from galley.planar.pushing.config_file import load_config, load_outline
from galley.skills.own import load_skills
from galley.studies.comparison.query_file import read_query
from galley.studies.scenarios.scenario import find_scenarios, read_scenario

SHIPPED = sorted(p for folder in PLACES for p in folder.iterdir() if p.is_file())
ROOT = Path(galley.__file__).parent


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_no_two_shipped_files_have_one_name():
    assert len({path.name for path in SHIPPED}) == len(SHIPPED)


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.name)
def test_every_shipped_file_is_found_by_its_bare_name(path):
    assert shipped_file(path.name) == path


def test_shipped_files_and_examples_are_in_the_wheel():
    setuptools = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    packed = {
        path
        for package, patterns in setuptools["package-data"].items()
        for pattern in patterns
        for path in ROOT.joinpath(*package.split(".")[1:]).glob(pattern)
    }
    assert {*SHIPPED, *EXAMPLES.glob("*.py")} <= packed


def test_a_file_of_the_users_wins(tmp_path):
    (tmp_path / "kitchen.pddl").write_text("(define (domain mine))")
    assert read_domain("kitchen.pddl").name == "mine"
    with pytest.raises(BadInput, match=r"no such file; did you mean 'kitchen.yaml'"):
        load_scene("./kitchen.yaml")  # no bare name: the current folder is meant


def test_readers_take_bare_names(tmp_path):
    assert load_scene("swap_scene.yaml").source == str(SCENARIOS / "swap_scene.yaml")
    assert read_problem("too_tall.pddl", read_domain("drawers.pddl")).name == "too_tall"
    assert read_scenario("swap.yaml").name == "swap"
    assert [scenario.name for scenario in find_scenarios(["swap.yaml"])] == ["swap"]
    assert load_scene("wiping.yaml").item("sponge").grasps[0].name == "straight"
    assert sorted(load_skills("wipe.py")) == ["wipe"]
    arrow = load_config("pushing.yaml").shape
    assert arrow.vertices.tolist() == load_outline("arrow.yaml").vertices.tolist()
    (tmp_path / "push.yaml").write_text("shape: arrow.yaml\n")
    assert load_config("push.yaml").shape.vertices.tolist() == arrow.vertices.tolist()
    (tmp_path / "mine.yaml").write_text("galley_scene: 1\nextends: kitchen.yaml\nname: mine\n")
    assert load_scene("mine.yaml").name == "mine"
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "query.yaml").write_text(
        "galley_query: 1\nscene: swap_scene.yaml\ngoal: {arm: [0, -1, 0, -2, 0, 2, 0]}\n"
    )
    assert read_query(tmp_path / "sub" / "query.yaml").scene == SCENARIOS / "swap_scene.yaml"


@pytest.mark.parametrize(
    ("command", "meant"),
    [
        (["plan", "--domain", "drawer.pddl"], "drawers.pddl"),
        (["scene", "--scene", "kichen.yaml"], "kitchen.yaml"),
        (["run", "--problem", "suger_only.pddl"], "sugar_only.pddl"),
        (["scenarios", "swop.yaml"], "swap.yaml"),
    ],
    ids=lambda value: value if isinstance(value, str) else value[0],
)
def test_a_misspelt_name_is_refused_with_the_one_meant(command, meant, capsys, tmp_path):
    assert main(command) == 2
    error = capsys.readouterr().err
    assert f"no such file; did you mean '{meant}'?" in error
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("scene", ["mine.yaml", "mine_scene.yaml"])
def test_a_problem_finds_its_domain_and_the_scene_of_its_name(scene, tmp_path):
    problem = (SCENARIOS / "flagship.pddl").read_text()
    (tmp_path / "mine.pddl").write_text(problem)
    (tmp_path / "mine_no_scene.yaml").write_text("galley_scenario: 1\n")
    (tmp_path / scene).write_text("galley_scene: 1\nextends: flagship_scene.yaml\nname: mine\n")
    task = galley.load(problem=tmp_path / "mine.pddl")
    assert (task.scene.name, task.domain.name) == ("mine", "pushing")
