"""Malformed input: exit status 2, a line for each fault with its place, and nothing written."""

import re
from pathlib import Path

import pytest

from galley.domain.shipped import KITCHEN

DOMAIN, TASK = KITCHEN / "kitchen.pddl", KITCHEN / "task.pddl"
SPAM_POSE = "pose: {on: burners, xy: [0.065, 0.205], yaw: 0.0}"
SUNK = "pose: {xyz: [0.065, 0.205, 0.958]}"  # its middle belongs at 0.921 + 0.041: 4 mm too deep
BASE = "base: [2.0, 0.0, 3.141592653589793]"
ARM = "arm: [0.012, -0.570, 0.0, -2.811, 0.0, 3.036, 0.741]"


@pytest.fixture
def refused(cli, here):
    """Run a command that must refuse its input; the faults it names."""

    def run(*arguments):
        done = cli(*arguments)
        assert done.status == 2, done
        assert "Traceback" not in done.err
        assert done.faults, "it must say why"
        assert list(here.iterdir()) == [], "a refused command must leave nothing"
        return done.faults

    return run


# --- files


@pytest.mark.parametrize("option", ["--scene", "--domain", "--problem"])
def test_a_file_that_can_not_be_read(refused, option):
    assert refused("run", option, "nowhere.file") == ["nowhere.file: no such file"]
    assert refused("run", option, KITCHEN) == [f"{KITCHEN}: is a folder, expected a file"]


def test_missing_files_of_the_symbolic_commands(refused):
    assert refused("plan", "--domain", "nowhere.pddl") == ["nowhere.pddl: no such file"]
    assert refused("plan", "--problem", "nowhere.pddl") == ["nowhere.pddl: no such file"]
    assert refused("verify", "plan", "nowhere.plan") == ["nowhere.plan: no such file"]


# --- PDDL


def test_a_parenthesis_too_few(refused, tmp_path):
    file = tmp_path / "broken.pddl"
    file.write_text(DOMAIN.read_text().rstrip().removesuffix(")"))
    for words in (("run", "--domain", file), ("plan", "--domain", file)):
        (fault,) = refused(*words)
        assert fault.startswith(f"{file}:")
        assert fault.endswith("this '(' is never closed")


def test_every_fault_of_a_problem_has_its_place(refused, problem):
    file = problem("(and (on suger countertop)\n    (insid spam drawer))")
    faults = refused("plan", "--problem", file)
    assert len(faults) == 2
    assert faults[0].startswith(f"{file}:6:19: ")
    assert "did you mean 'sugar'?" in faults[0]
    assert faults[1].startswith(f"{file}:7:6: ")
    assert "did you mean 'inside'?" in faults[1]


# --- YAML


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            ("box: [0.097, 0.050, 0.082]", "box: [0.097, -0.050, 0.082]"),
            "greater than 0, got -0.05",
        ),
        (("textures/sugar_box.png", "textures/missing.png"), "no such file: textures/missing.png"),
    ],
)
def test_a_fault_in_the_scene_names_file_line_and_key(refused, variant, line_of, change, words):
    file = variant(change)
    faults = refused("run", "--scene", file)
    text = change[1].splitlines()[0]
    matching = [fault for fault in faults if words in fault]
    assert matching, faults
    line, column, key = matching[0].removeprefix(f"{file}:").split(":")[:3]
    assert int(line) == line_of(file, text), faults
    assert int(column) > 0
    assert key, "the key"


# --- the task against the scene


def test_an_object_that_is_not_in_the_scene(refused, problem):
    file = problem("(on sugar countertop)", objects="suggar moon - objective")
    faults = refused("run", "--problem", file)
    assert len(faults) == 2
    assert faults[0].startswith(f"{file}:4:38: object 'suggar' has no binding in ")
    assert faults[0].endswith("; did you mean 'sugar'?")
    assert faults[1].startswith(f"{file}:4:45: object 'moon' has no binding in ")


def test_initial_facts_that_the_scene_contradicts(refused, problem):
    file = problem("(near burner)", init="(inside spam drawer) (on sugar countertop)")
    faults = refused("run", "--problem", file)
    assert len(faults) == 2
    assert faults[0].startswith(f"{file}:5:36: (inside spam drawer) does not hold in ")
    assert faults[1].startswith(f"{file}:5:57: (on sugar countertop) does not hold in ")


# --- the start


def test_items_in_collision_at_the_start(refused, variant, line_of):
    file = variant((SPAM_POSE, "pose: {on: burners, xy: [0.065, 0.600], yaw: 0.0}"))
    (fault,) = refused("run", "--scene", file)
    places = [line_of(file, "  potted_meat_can:  "), line_of(file, "  sugar_box:  ")]
    assert any(fault.startswith(f"{file}:{line}:3: items.") for line in places)
    assert "at the start" in fault
    assert "mm deep in" in fault
    assert "sugar_box" in fault
    assert "potted_meat_can" in fault


def test_an_item_inside_furniture(refused, variant, line_of):
    file = variant((SPAM_POSE, SUNK))
    (fault,) = refused("run", "--scene", file)
    line = line_of(file, "  potted_meat_can:  ")
    assert fault.startswith(f"{file}:{line}:3: items.potted_meat_can: at the start potted_meat_can")
    assert fault.endswith("is 4.0 mm deep in range")


def test_an_item_that_touches_is_no_collision(cli, variant):
    # 38 mm deep and 50 mm deep boxes side by side, faces touching.
    file = variant((SPAM_POSE, "pose: {on: burners, xy: [0.065, 0.581], yaw: 0.0}"))
    done = cli("scene", "--scene", file, "--no-picture")
    assert done.status == 0, done.err


def test_the_robot_in_collision_at_the_start(refused, variant, line_of):
    center = ("center: {x: [1.6, 2.4], y: [-0.4, 0.4]}", "center: {x: [0.0, 2.4], y: [-0.4, 0.4]}")
    file = variant((BASE, "base: [0.5, 0.4, 3.141592653589793]"), center)
    faults = refused("run", "--scene", file)
    line = line_of(file, "  start:")
    assert all(
        f.startswith(f"{file}:{line}:3: robot.start: at the start the robot's") for f in faults
    )
    assert any(" in range" in fault for fault in faults)


def test_the_robot_beyond_its_limits_at_the_start(refused, variant, line_of):
    file = variant((ARM, "arm: [0.012, -0.570, 0.0, 0.5, 0.0, 3.036, 0.741]"))
    faults = refused("run", "--scene", file)
    line = line_of(file, "arm: [0.012")
    expected = f"{file}:{line}:5: robot.start.arm: panda_joint4 starts at 0.5000 rad, outside ["
    assert any(fault.startswith(expected) for fault in faults), faults


# --- options


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["run", "--frobnicate"], "unrecognized arguments: --frobnicate"),
        (["run", "--sedd", "3"], "unrecognized arguments: --sedd 3; did you mean '--seed'?"),
        (["rnu"], "; did you mean 'run'?"),
        (["run", "--execute", "kinematc"], "; did you mean 'kinematic'?"),
        (["run", "--seed", "-1"], "a seed must be a whole number, 0 or more"),
        (["run", "--fps", "0"], "the frame rate must be 1 to 120 Hz, not 0"),
        (["verify", "plan"], "the following arguments are required: PLAN"),
        (["compare", "--distance", "nan"], "must be a number greater than 0"),
    ],
)
def test_usage(refused, arguments, words):
    (fault,) = refused(*arguments)
    assert re.match(r"galley( \w+)*: error: ", fault)
    assert words in fault


def test_a_compiled_planner_in_pybullet_is_refused(refused):
    assert refused("run", "--checker", "pybullet", "--planner", "rrt-connect") == [
        "galley run: error: --planner rrt-connect needs --checker kernel; "
        "--checker pybullet needs --planner rrt"
    ]


# --- where the results go


def test_out_is_a_file(refused, tmp_path):
    file = tmp_path / "precious"
    file.write_text("mine")
    assert refused("run", "--out", file) == [f"{file}: is a file; --out names a folder"]
    assert file.read_text() == "mine"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["here", "precious"]


def test_out_holds_other_things(refused, tmp_path):
    folder = tmp_path / "precious"
    folder.mkdir()
    (folder / "thesis.tex").write_text("mine")
    (fault,) = refused("run", "--out", folder)
    assert fault == f"{folder}: holds other files and no run; choose another --out"
    assert [p.name for p in folder.iterdir()] == ["thesis.tex"]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["here", "precious"]


@pytest.mark.parametrize("out", [".", "/"])
def test_out_is_a_folder_that_cannot_be_replaced(refused, here, out):
    (fault,) = refused("run", "--out", out)
    assert fault.startswith(f"{Path(out)}: ")


def test_out_lies_below_a_file(refused, tmp_path):
    file = tmp_path / "precious"
    file.write_text("mine")
    (fault,) = refused("run", "--out", file / "run")
    assert fault == f"{file}/run: can't be written: {file} is not a writable folder"


def test_an_action_that_no_skill_carries_out(refused, tmp_path):
    file = tmp_path / "domain.pddl"
    lines = DOMAIN.read_text().replace("(:action navigate", "(:action fly").splitlines()
    file.write_text("\n".join(lines))
    line = next(k for k, text in enumerate(lines, 1) if "(:action fly" in text)
    (fault,) = refused("run", "--domain", file)
    assert fault.startswith(f"{file}:{line}:")
    assert "no skill carries out the action 'fly'; there are close, cook, " in fault


@pytest.mark.parametrize(
    ("action", "old", "new"),
    [
        ("pick", "?obj - objective ?fur - furniture", "?fur - furniture ?obj - objective"),
        ("pick", "?h - hand)", "?h - hand ?extra - furniture)"),
    ],
)
def test_an_action_with_other_parameters_than_its_skill(refused, tmp_path, action, old, new):
    before, after = DOMAIN.read_text().split(f"(:action {action}", 1)
    assert old in after
    file = tmp_path / "domain.pddl"
    file.write_text(f"{before}(:action {action}{after.replace(old, new, 1)}")
    (fault,) = refused("run", "--domain", file)
    line = before.count("\n") + 1
    assert fault.startswith(f"{file}:{line}:")
    assert "the skill 'pick' takes (item, furniture, hand), in this order" in fault
