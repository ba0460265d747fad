"""``galley new kitchen``: what it writes runs as it is, and can be edited."""

import json

import jsonschema
import pytest

from galley.cli import main
from galley.domain.scene.schema import scene_schema

TASK = ["--scene", "kitchen.yaml", "--domain", "domain.pddl", "--problem", "task.pddl"]


@pytest.fixture
def folder(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["new", "kitchen", "mine"]) == 0
    said = capsys.readouterr().out
    monkeypatch.chdir(tmp_path / "mine")
    return said


def test_it_writes_the_files_and_says_which_commands_come_next(folder, tmp_path, capsys):
    mine = tmp_path / "mine"
    assert sorted(path.name for path in mine.iterdir()) == [
        *("domain.pddl", "kitchen.yaml", "scene.schema.json", "task.pddl"),
    ]
    first = (mine / "kitchen.yaml").read_text().splitlines()[0]
    assert (mine / first.split("$schema=")[1]).is_file()
    assert json.loads((mine / "scene.schema.json").read_text()) == scene_schema()
    # What it says next is what a shell can run.
    lines = [line.strip() for line in folder.splitlines() if line.startswith("  galley")]
    assert len(lines) == 2
    assert main([*lines[0].split()[1:], "--no-picture"]) == 0
    assert lines[1].split()[1:] == ["run", *TASK]
    assert main(["plan", "--domain", "domain.pddl", "--problem", "task.pddl"]) == 0
    assert "(stow tea drawer h1)" in capsys.readouterr().out


def test_a_folder_that_holds_something_is_refused_and_left_alone(tmp_path, capsys):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("mine")
    assert main(["new", "kitchen", str(tmp_path / "mine")]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "exists already" in error
    assert [path.name for path in tmp_path.rglob("*")] == ["mine", "notes.txt"]
    assert main(["new", "kitchen", str(tmp_path / "no" / "such")]) == 2
    assert "folder does not exist" in capsys.readouterr().err


def test_of_an_arm_without_fingers_it_says_that_the_gripper_is_missing(tmp_path, capsys):
    file = tmp_path / "arm.yaml"
    words = ["new", "robot", "package://pybullet_data/xarm/xarm6_robot.urdf", "--out", str(file)]
    assert main(words) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[-1] == f"Complete its section gripper, then: galley robot {file}"
    assert main(["robot", str(file), "--no-view"]) == 2
    assert "needs the key 'gripper'" in capsys.readouterr().err


def test_a_folder_in_place_of_a_urdf_is_called_one(tmp_path, capsys):
    assert main(["new", "robot", str(tmp_path)]) == 2
    assert capsys.readouterr().err == f"{tmp_path}: is a folder: {tmp_path}\n"


def test_the_schema_that_is_printed_judges_the_template(capsys):
    assert main(["scene", "--schema"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed == scene_schema()
    jsonschema.Draft7Validator.check_schema(printed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1])
def test_the_template_succeeds_under_physics(folder, seed, tmp_path):
    assert main(["run", *TASK, "--seed", str(seed), "--no-video"]) == 0
    (report,) = (tmp_path / "mine" / "runs").glob("*/report.json")
    assert json.loads(report.read_text())["validation"]["passed"]


@pytest.mark.slow
def test_the_changes_that_its_comments_propose_work(folder, tmp_path):
    scene, task = (tmp_path / "mine" / name for name in ("kitchen.yaml", "task.pddl"))
    text = scene.read_text()
    assert text.count("0.75") > 2
    scene.write_text(text.replace("0.71]", "0.81]").replace("[0.71, 0.75]", "[0.81, 0.85]"))
    scene.write_text(scene.read_text().replace("z: 0.75", "z: 0.85"))
    goal = task.read_text()
    assert "(:goal (on tea cabinet))" in goal  # in a comment
    head = goal[: goal.index("  (:goal (and")]
    task.write_text(head + "  (:goal (on tea cabinet)))\n")
    assert main(["run", *TASK, "--execute", "kinematic", "--no-video"]) == 0
