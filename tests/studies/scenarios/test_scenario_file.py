"""Scenario files: what is read, what is refused and where, which files are found."""

import re
import shutil

import pytest

from galley.domain.errors import BadInput
from galley.domain.shipped import KITCHEN
from galley.studies.scenarios.scenario import check_scenario, find_scenarios, read_scenario

GOOD = """\
galley_scenario: 1
name: errand
says: The sugar goes
  to the countertop.
scene: kitchen.yaml
domain: kitchen.pddl
problem: sugar_only.pddl
expect:
  status: success
  plan_has: ["pick sugar", "place * countertop"]
"""


@pytest.fixture
def written(tmp_path):
    """``written((old, new), ...)``: the good file with each text replaced; its path."""

    def write(*changes, name="errand.yaml"):
        text = GOOD
        for old, new in changes:
            assert text.count(old) == 1, old
            text = text.replace(old, new)
        file = tmp_path / name
        file.write_text(text)
        return file

    return write


def faults(call, *arguments):
    with pytest.raises(BadInput) as caught:
        call(*arguments)
    return [str(error) for error in caught.value.errors]


def test_a_scenario_is_read(written):
    scenario = read_scenario(written())
    assert (scenario.name, scenario.says) == ("errand", "The sugar goes to the countertop.")
    assert scenario.scene == KITCHEN / "kitchen.yaml"
    assert scenario.expect.status == "success"
    assert scenario.expect.plan_has == ("pick sugar", "place * countertop")
    assert scenario.skills is None
    check_scenario(scenario)


def test_a_file_beside_the_scenario_comes_before_the_kitchens(written, tmp_path):
    shutil.copy(KITCHEN / "sugar_only.pddl", tmp_path)
    scenario = read_scenario(written())
    assert scenario.problem == tmp_path / "sugar_only.pddl"
    assert scenario.domain == KITCHEN / "kitchen.pddl"


@pytest.mark.parametrize(
    ("old", "new", "line", "what"),
    [
        ("galley_scenario: 1", "galley_scenario: 2", 1, "galley_scenario: this version of"),
        ("scene: kitchen.yaml", "scene: kitchn.yaml", 5, "scene: no such file: "),
        ("domain: kitchen.pddl", "domian: kitchen.pddl", 6, "domian: unknown key"),
        ("  status: success", "  status: sucess", 9, "expect.status: unknown value 'sucess'"),
        ("  status: success", "  status: success\n  names: [sugar]", 10, "belongs to a failure"),
        ("name: errand", "name: errand\nskills: mine.py", 3, "skills: no such file: "),
    ],
)
def test_faults_have_their_line_and_key(written, old, new, line, what):
    file = written((old, new))
    told = faults(read_scenario, file)
    assert any(re.match(rf"{file}:{line}:\d+: ", each) and what in each for each in told), told


@pytest.mark.parametrize("text", ["", "[1, 2]", "a: [", "\x00", "galley_scenario: 1"])
def test_what_is_no_scenario_is_bad_input(tmp_path, text):
    file = tmp_path / "broken.yaml"
    file.write_text(text)
    assert all(str(file) in each for each in faults(read_scenario, file))


def test_expected_names_and_actions_must_exist(written):
    file = written(
        ("  status: success", "  status: refused\n  names: [suger, indigo, drawer]"),
        ('"pick sugar"', '"pik sugar"'),
    )
    told = faults(check_scenario, read_scenario(file))
    assert told == [
        f"{file}:10:11: expect.names[0]: nothing is called 'suger'; did you mean 'sugar'?",
        f"{file}:11:14: expect.plan_has[0]: no action 'pik'; did you mean 'pick'?",
    ]


def test_a_folder_gives_its_scenarios_and_nothing_else(written, tmp_path):
    written()
    written(("name: errand", "name: a_second"), name="z.yml")
    shutil.copy(KITCHEN / "kitchen.yaml", tmp_path)
    assert [scenario.name for scenario in find_scenarios([tmp_path])] == ["a_second", "errand"]
    assert len(find_scenarios([tmp_path, tmp_path / "errand.yaml"])) == 2, "named twice, run once"


def test_two_scenarios_of_one_name_or_none(written, tmp_path):
    assert faults(find_scenarios, [tmp_path]) == [
        f"{tmp_path}: holds no scenario: no .yaml with the key 'galley_scenario'"
    ]
    written()
    twin = written(name="twin.yaml")
    (told,) = faults(find_scenarios, [tmp_path])
    assert told == f"{twin}:2:1: name: 'errand' is also the name of {tmp_path / 'errand.yaml'}"


def test_the_shipped_suite_is_well_formed():
    suite = find_scenarios()
    assert len(suite) >= 12
    for scenario in suite:
        check_scenario(scenario)
        assert scenario.says.endswith("."), scenario.name
    assert {scenario.expect.kind for scenario in suite} >= {
        "contradiction",
        "unreachable",
        "blocked",
        "does-not-fit",
    }


def test_the_documentation_lists_the_suite():
    text = (KITCHEN.parent.parent / "docs" / "scenarios.md").read_text()
    suite = text.split("## The suite")[1].split("\n## ")[0]
    rows = [line.split("|") for line in suite.splitlines() if line.startswith("|")]
    for scenario in find_scenarios():
        column = 2 if str(scenario.expect) == "success" else 3
        found = [k for row in rows for k in (2, 3) if f"`{scenario.name}`" in row[k]]
        assert found == [column], scenario.name
