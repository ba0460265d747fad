"""Runs of scenarios: the same outcomes for any number of workers; the command's exit codes."""

import json
from dataclasses import replace
from functools import partial

import pytest

import galley.cli.common.study as study
from galley.domain.shipped import KITCHEN
from galley.studies.scenarios.outcome import ScenarioJob, run_scenario
from galley.studies.scenarios.scenario import find_scenarios
from galley.sweeps import sweep

QUICK = ("too_tall", "contradiction")  # refused without a search

TASK = f"""\
galley_scenario: 1
says: The sugar box is put into a drawer that is too low for it.
scene: {KITCHEN / "kitchen.yaml"}
domain: drawers.pddl
"""
PROBLEM = """\
(define (problem low)
  (:domain drawers)
  (:objects center - furniture drawer - drawer burner - stove sugar - objective h1 - hand)
  (:init (near center) (on sugar burner) (empty h1))
  (:goal (in sugar drawer)))
"""


@pytest.fixture(scope="module")
def quick():
    return [scenario for scenario in find_scenarios() if scenario.name in QUICK]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with two scenarios of one task: ``right`` and, expecting success, ``wrong``."""
    home = tmp_path / "mine"
    home.mkdir()
    (home / "low.pddl").write_text(PROBLEM)
    for name, expect in (
        ("right", "{status: refused, kind: does-not-fit, names: [sugar_box]}"),
        ("wrong", "{status: success, plan_has: [wash sugar]}"),
    ):
        text = f"{TASK}name: {name}\nproblem: low.pddl\nexpect: {expect}\n"
        (home / f"{name}.yaml").write_text(text)
    monkeypatch.chdir(tmp_path)
    return home


@pytest.fixture
def cli(cli):
    """``cli("--list")``: exit status, stdout and stderr of ``galley scenarios``."""
    return partial(cli, "scenarios")


def untimed(outcome):
    """The same without what depends on how fast the machine is."""
    return replace(outcome, planning_s=0.0, wall_s=0.0)


def test_outcomes_are_the_same_on_ray(quick):
    pytest.importorskip("ray.exceptions")
    jobs = [ScenarioJob(scenario) for scenario in quick]
    here = [untimed(outcome) for outcome in sweep(run_scenario, jobs, 1)]
    assert [untimed(outcome) for outcome in sweep(run_scenario, jobs, 2, engine="ray")] == here


def test_bad_input_of_one_run_is_an_outcome(folder):
    (scenario, _) = find_scenarios([folder])
    (folder / "low.pddl").write_text(PROBLEM.replace("in sugar", "in suggar"))
    outcome = run_scenario(ScenarioJob(scenario))
    assert (outcome.status, outcome.right) == ("bad-input", False)
    assert "low.pddl:5:" in outcome.message


def test_the_command_says_what_is_wrong(cli, folder):
    status, out, err = cli(folder, "--jobs", 1, "--out", "kept")
    assert status == 1
    assert err == ""
    assert "1 of 2 as expected" in out
    assert "wrong, seed 0: refused instead of success" in out
    assert "wrong, seed 0: no action of the plan is wash sugar" in out
    assert "sugar_box is 0.175 m high" in out
    kept = folder.parent / "kept"
    told = json.loads((kept / "scenarios.json").read_text())
    assert (told["finished"], told["runs"], told["right"]) == (True, 2, 1)
    assert [o["scenario"] for o in told["outcomes"]] == ["right", "wrong"]
    report = json.loads((kept / "right-0" / "report.json").read_text())
    assert report["failure"]["kind"] == "does-not-fit"


def test_the_command_succeeds_if_all_is_as_expected(cli, folder):
    status, out, _ = cli(folder, "--only", "right", "--jobs", 1, "--seed", 4)
    assert status == 0
    assert "right, seed 4: right" in out
    assert [p.name for p in folder.parent.iterdir()] == ["mine"], "nothing is left behind"


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (["--only", "swop"], "--only: no scenario 'swop'; did you mean 'swap'?"),
        (["nowhere"], "nowhere: no such file"),
        (["--seeds", "0"], "must be 1 or more"),
        (["--only", "swap", "--out", "mine"], "mine: holds other files"),
    ],
)
def test_bad_input_is_told_before_anything_runs(cli, folder, arguments, what):
    status, out, err = cli(*arguments)
    assert status == 2
    assert what in err
    assert "Traceback" not in err
    assert "seed 0" not in out
    assert [p.name for p in folder.parent.iterdir()] == ["mine"]


def test_faults_of_a_task_are_told_before_anything_runs(cli, folder):
    (folder / "low.pddl").write_text(PROBLEM.replace("in sugar", "in suggar"))
    status, out, err = cli(folder, "--jobs", 1)
    assert (status, out) == (2, "")
    assert err.count("low.pddl:5:") == 1, "two scenarios share the file"


def test_an_interrupt_keeps_what_was_finished(cli, folder, monkeypatch):
    def one_and_then_ctrl_c(function, jobs, workers, engine, progress):
        progress(0, function(jobs[0]))
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(study, "sweep", one_and_then_ctrl_c)
        status, out, err = cli(folder, "--jobs", 1, "--out", "kept")
    assert status == 130
    assert err.startswith("interrupted")
    assert "1 of 2 as expected" in out
    told = json.loads((folder.parent / "kept" / "scenarios.json").read_text())
    assert (told["finished"], told["runs"], len(told["outcomes"])) == (False, 2, 1)
    assert sorted(p.name for p in folder.parent.iterdir()) == ["kept", "mine"]
    first = told["outcomes"][0]

    status, out, _ = cli(folder, "--jobs", 2, "--out", "kept")
    assert status == 1
    assert "resuming: 1 of 2 runs were completed in kept" in out
    assert "right, seed 0: right" not in out, "it is not run again"
    told = json.loads((folder.parent / "kept" / "scenarios.json").read_text())
    assert told["outcomes"][0] == first
    assert [o["scenario"] for o in told["outcomes"]] == ["right", "wrong"]


def test_the_list_runs_nothing(cli):
    status, out, _ = cli("--list")
    assert status == 0
    assert all(name in out for name in QUICK)


@pytest.mark.slow
def test_the_shipped_suite_comes_out_as_expected():
    jobs = [ScenarioJob(scenario, options=(("optimize", "none"),)) for scenario in find_scenarios()]
    outcomes = sweep(run_scenario, jobs)
    assert [(o.scenario, o.wrong, o.message) for o in outcomes if not o.right] == []
