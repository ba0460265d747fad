"""``galley verify run``: a stored run judged again, in this process."""

import json
import shutil
from functools import partial

import pytest

from galley.domain.log import Log
from galley.tests.validation.mutations import changed, part

EXECUTION = {"motions": 0, "recoveries": [], "released": [], "faults": [], "facts": []}


@pytest.fixture
def check(cli):
    """``check(folder, "--json", file)``: exit status, stdout and stderr."""
    return partial(cli, "verify", "run")


@pytest.fixture
def stored(run_folder, tmp_path):
    """A copy of the good run's folder that may be spoilt."""
    return shutil.copytree(run_folder, tmp_path / "run")


@pytest.fixture
def edit(stored):
    """``edit(key=value)``: change keys of the stored report; None takes one away."""

    def change(**keys):
        report = json.loads((stored / "report.json").read_text())
        for key, value in keys.items():
            report[key] = value
            if value is None:
                del report[key]
        (stored / "report.json").write_text(json.dumps(report))

    return change


@pytest.fixture(scope="module")
def beginning(good, tmp_path_factory):
    """The log of the first motions, which is judged in a tenth of the time."""
    file = tmp_path_factory.mktemp("beginning") / "states.npz"
    part(good, 0, 3).save(file)
    return file


def test_a_good_run_passes_again(check, stored):
    status, out, err = check(stored)
    assert (status, err) == (0, "")
    assert "kinematic" in out
    assert "(on sugar countertop)  holds" in out
    assert "(inside spam drawer)  holds" in out
    assert "passed, the goal is reached" in out


def test_the_verdict_is_the_one_of_the_report(check, stored, tmp_path):
    status, _, err = check(stored, "--json", tmp_path / "verdict.json")
    found = json.loads((tmp_path / "verdict.json").read_text())
    told = json.loads((stored / "report.json").read_text())["validation"]
    assert (status, err) == (0, "")
    for key in ("states_checked", "limit_violations", "violations", "goal_facts", "at_rest"):
        assert found[key] == told[key], key
    assert found["max_torque_ratio"] == pytest.approx(told["max_torque_ratio"])
    assert found["mode"] == "kinematic"
    assert found["goal_reached"] is True
    assert found["changed_inputs"] == []


def test_a_spoilt_run_fails_with_each_violation_and_its_time(check, stored, kitchen):
    log = Log.load(stored / "states.npz")
    can = kitchen.item_index["potted_meat_can"]

    def sink(items):
        items[1200:1260, can, 2] -= 0.01

    def leave(command):
        command[2000, 3] += 1.0

    changed(log, items=sink, command=leave).save(stored / "states.npz")
    status, out, err = check(stored)
    assert status == 1
    assert "10.00 s  penetration   potted_meat_can and range penetrate by 10.0 mm" in out
    assert err.startswith("failed: at 10.00 s potted_meat_can ")
    assert "(and 1 more)" in err


def test_another_goal_is_judged_on_the_same_run(check, stored, tmp_path, kitchen_folder):
    text = (kitchen_folder / "task.pddl").read_text()
    (tmp_path / "other.pddl").write_text(text.replace("(on sugar countertop)", "(on sugar burner)"))
    status, out, err = check(stored, "--problem", tmp_path / "other.pddl")
    assert status == 1
    assert "(on sugar burner)  does not hold: the centre of sugar_box is not over burners" in out
    assert err.startswith("failed: (on sugar burner) does not hold")
    assert "passed" in out, "nothing is wrong with the run itself"


@pytest.mark.slow
def test_symbols_come_from_what_was_executed(check, stored, edit, tmp_path, kitchen_folder):
    text = (kitchen_folder / "task.pddl").read_text()
    (tmp_path / "empty.pddl").write_text(text.replace("(on sugar countertop)", "(empty h1)"))
    status, out, _ = check(stored, "--problem", tmp_path / "empty.pddl")
    assert status == 0
    assert "(empty h1)  holds: has no geometric meaning" in out
    edit(execution={**EXECUTION, "facts": ["(near drawer)"]})
    status, out, _ = check(stored, "--problem", tmp_path / "empty.pddl")
    assert status == 1
    assert "(empty h1)  does not hold" in out


def test_a_log_alone_needs_its_scene_and_has_no_goal(check, beginning, tmp_path, kitchen_folder):
    alone = tmp_path / "alone.npz"
    shutil.copy(beginning, alone)
    status, _, err = check(alone)
    assert status == 2
    assert "--scene" in err
    status, out, err = check(alone, "--scene", kitchen_folder / "kitchen.yaml")
    assert (status, err) == (0, "")
    assert "no goal was checked" in out
    status, _, err = check(
        alone,
        *("--scene", kitchen_folder / "kitchen.yaml"),
        *("--problem", kitchen_folder / "task.pddl"),
    )
    assert status == 2
    assert "add --domain" in err


@pytest.mark.parametrize(
    ("spoil", "what"),
    [
        (lambda run: shutil.rmtree(run), "no such file"),
        (lambda run: (run / "states.npz").unlink(), "holds no states.npz"),
        (lambda run: (run / "states.npz").write_bytes(b"no"), "is not a log"),
        (lambda run: (run / "report.json").write_text("{"), "report.json:1: is not JSON"),
        (lambda run: (run / "report.json").write_text("[]"), "is not the report of a run"),
        (lambda run: (run / "report.json").unlink(), "add --scene"),
    ],
)
def test_what_is_no_run_is_bad_input(check, stored, spoil, what):
    spoil(stored)
    status, out, err = check(stored)
    assert (status, out) == (2, "")
    assert what in err
    assert "Traceback" not in err


def test_a_log_of_another_scene_is_refused_in_words(check, stored, small_text, tmp_path):
    scene = tmp_path / "small.yaml"
    scene.write_text(small_text)
    status, _, err = check(stored / "states.npz", "--scene", scene)
    assert status in (1, 2)
    assert "Traceback" not in err
    assert "has no binding" in err or "shape" in err
