"""Well-formed tasks that can't be done, and runs cut short: what is said, and what is left."""

import contextlib
import json
import os
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import galley
from galley.domain.shipped import KITCHEN
from galley.motion.trajectory.trajectory import read_trajectories
from galley.tests.command_line import HANGS_S, environment

ROOT = Path(galley.__file__).parent
ERRAND = KITCHEN / "sugar_only.pddl"
DOMAIN, TASK = KITCHEN / "kitchen.pddl", KITCHEN / "task.pddl"
HERE = environment(PYTHONPATH=str(ROOT.parent), PYTHONUNBUFFERED="")
IDLE = """\
from galley.skills import Skill

class Idle(Skill):
    parameters = ("item", "furniture", "hand")

    def refine(self, context, action, upcoming, state, rng):
        return ()

SKILLS = {"pick": Idle()}
"""


@pytest.fixture
def outcome(cli, here):
    """Run a task without film into ``here/run``: what the terminal shows, and the report."""

    def run(file, *options):
        done = cli("run", "--problem", file, "--no-video", "--no-html", "--out", "run", *options)
        assert "Traceback" not in done.err
        assert [p.name for p in here.iterdir()] == ["run"], "nothing but the run folder"
        names = {p.name for p in (here / "run").iterdir()}
        assert not any("partial" in name for name in names)
        return done, json.loads((here / "run" / "report.json").read_text()), names

    return run


def test_a_goal_without_a_plan(outcome, problem):
    done, report, names = outcome(problem("(and (grasp sugar) (grasp spam))"))
    assert done.status == 1
    assert len(done.faults) == 1
    assert done.err.startswith("refused: no plan exists: ")
    assert names == {"report.json", "inputs"}
    assert (report["status"], report["goal_reached"], report["plan"]) == ("refused", False, [])
    assert report["failure"]["kind"] == "contradiction"
    assert report["failure"]["message"] in done.err
    assert report["failure"]["certificate"]["conflict"] == ["(grasp sugar)", "(grasp spam)"]


def test_sugar_does_not_fit_into_the_drawer(outcome, problem):
    done, report, names = outcome(problem("(inside sugar drawer)"))
    assert done.status == 1
    assert done.err == (
        "refused: stow sugar drawer h1: sugar_box is 0.175 m high when upright, "
        "indigo_drawer_top_inside has 0.109 m\n"
    )
    assert names == {"report.json", "plan.txt", "inputs"}
    assert report["status"] == "refused"
    assert report["plan"][-1] == "(stow sugar drawer h1)"
    failure = report["failure"]
    assert failure["kind"] == "does-not-fit"
    assert failure["step"] == ["stow sugar drawer h1"]
    assert failure["objects"] == ["sugar_box", "indigo_drawer_top_inside"]
    # The certificate alone proves it: 0.175 m, and 0.888 - 0.779 m between floor and worktop.
    certificate = failure["certificate"]
    assert certificate["item_m"] == pytest.approx([0.089, 0.038, 0.175])
    assert certificate["room_height_m"] == pytest.approx(0.109)
    assert certificate["item_m"][2] > certificate["room_height_m"]


def test_a_surface_has_no_inside(outcome, problem):
    done, report, _ = outcome(problem("(inside sugar burner)"))
    assert done.status == 1
    assert report["failure"]["kind"] == "contradiction"
    assert report["failure"]["certificate"]["object"] == "burner"
    assert "no inside" in done.err


def test_the_end_of_the_effort_is_an_honest_answer(outcome):
    done, report, names = outcome(ERRAND, "--effort", 0.001)
    assert done.status == 1
    assert done.err.startswith("budget: ")
    assert names == {"report.json", "plan.txt", "inputs"}
    assert (report["status"], report["failure"]["kind"]) == ("budget", "budget")
    assert report["effort"]["most_tries"] == 30.0
    assert [len(each["actions"]) for each in report["effort"]["plans"]] == [len(report["plan"])]
    assert report["failure"]["certificate"] is None


def test_a_goal_that_holds_already(outcome, problem):
    done, report, names = outcome(problem("(on sugar burner)"))
    assert done.status == 0, done.err
    assert report["plan"] == []
    assert (report["status"], report["goal_reached"]) == ("success", True)
    assert names == {"report.json", "plan.txt", "trajectories.npz", "states.npz", "inputs"}


def test_a_goal_fact_that_holds_in_symbols_but_not_in_the_geometry(outcome, problem, variant):
    # In this scene whoever stands at the burner is still near the center.
    scene = variant(
        ("center: {x: [1.6, 2.4], y: [-0.4, 0.4]}", "center: {x: [0.0, 2.4], y: [-1.6, 1.7]}")
    )
    file = problem("(and (near burner) (not (near center)))")
    done, report, _ = outcome(file, "--scene", scene)
    assert done.status == 1
    assert report["plan"] == ["(navigate center burner)"]
    assert (report["status"], report["goal_reached"]) == ("failed", False)
    facts = {fact["fact"]: fact["holds"] for fact in report["validation"]["goal_facts"]}
    assert facts == {"(near burner)": True, "(not (near center))": False}
    assert done.err.startswith("failed: validation: (not (near center)) does not hold: ")
    assert report["failure"]["certificate"]["kind"] == "executed-states"


def test_execute_none_stops_after_planning(outcome):
    done, report, names = outcome(ERRAND, "--execute", "none")
    assert done.status == 0, done.err
    assert names == {"report.json", "plan.txt", "trajectories.npz", "inputs"}
    assert report["status"] == "success"
    # Nothing was executed, so nothing can be said of where things are.
    assert (report["goal_reached"], report["validation"]) == (False, None)
    assert len(report["motions"]) == len(read_trajectories("run/trajectories.npz")[0])
    assert report["timing_s"]["execution"] == 0


def test_a_second_run_replaces_the_first(outcome, problem):
    _, first, names = outcome(problem("(on sugar burner)"))
    assert "states.npz" in names
    _, second, names = outcome(problem("(inside sugar burner)"))
    assert (first["status"], second["status"]) == ("success", "refused")
    assert names == {"report.json", "plan.txt", "inputs"}


# --- cut short


# Who started the tests in the background ignores interrupts, and so would the command.
INTERRUPTIBLE = ("env", "--default-signal=INT")


@contextlib.contextmanager
def started(*arguments, cwd):
    """``python engine.py`` under way."""
    process = subprocess.Popen(
        [*INTERRUPTIBLE, sys.executable, "-u", str(ROOT / "engine.py"), *map(str, arguments)],
        cwd=cwd,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=str)
@pytest.mark.parametrize(
    ("stage", "task", "actions"),
    [
        ("task and motion planning", "task", 8),
        ("execution (physics)", "sugar_only", 4),
    ],
)
def test_an_interrupt_keeps_what_was_finished(number, stage, task, actions, here):
    file = KITCHEN / f"{task}.pddl"
    with started("--problem", file, "--no-video", "--out", "run", cwd=here) as process:
        for line in process.stdout:
            if line.rstrip().endswith(stage):
                break
        else:
            pytest.fail(process.stderr.read())
        if stage == "task and motion planning":
            lines = [process.stdout.readline() for _ in range(actions + 2)]
            assert "1/8" in lines[-1], "the first action is refined, after the plan"
        os.kill(process.pid, number)
        _, err = process.communicate(timeout=HANGS_S)
    assert process.returncode == 130
    assert err == "interrupted; completed results are kept\n"
    assert [p.name for p in here.iterdir()] == ["run"]
    names = {p.name for p in (here / "run").iterdir()}
    report = json.loads((here / "run" / "report.json").read_text())
    plan = (here / "run" / "plan.txt").read_text().splitlines()
    assert report["plan"] == plan
    assert len(plan) == actions
    assert report["status"] == "budget"
    assert not report["goal_reached"]
    assert "interrupted" in report["failure"]["message"]
    if stage == "task and motion planning":
        assert names == {"report.html", "report.json", "plan.txt", "inputs"}
    else:
        assert names == {
            *("report.html", "report.json", "plan.txt", "trajectories.npz"),
            "inputs",
        }
        trajectories = read_trajectories(here / "run" / "trajectories.npz")[0]
        assert len(trajectories) == len(report["motions"]) > 10


def test_an_action_that_the_scene_rules_out_is_planned_round(outcome, problem):
    # The shortest plan would stow the sugar "in the burner" or place it "on the drawer".
    done, report, _ = outcome(
        problem("(and (not (on sugar burner)) (empty h1))"), "--execute", "none"
    )
    assert done.status == 0, done.err
    assert "(place sugar countertop h1)" in report["plan"]


def test_a_skill_that_does_nothing_is_missed_by_the_next(outcome, problem, tmp_path):
    (tmp_path / "idle.py").write_text(IDLE)
    both = problem("(and (on sugar countertop) (on spam countertop))")
    done, report, _ = outcome(both, "--execute", "none", "--skills", tmp_path / "idle.py")
    assert done.status == 1
    said = r"the hand must hold \w+ here, but the earlier actions leave nothing in it"
    assert re.search(said, report["failure"]["message"])
    assert re.search(said, done.err)


def test_streams_that_nobody_reads(here):
    """A reader that leaves changes no status; a full disk, a closed stdout are told in a line."""
    words = (ROOT / "engine.py", "plan", "--domain", DOMAIN, "--problem", TASK)
    command = shlex.join([sys.executable, *map(str, words)])
    closed = "cannot continue: standard output is closed; redirect it to a file or to /dev/null"
    for redirected, expected, told in (
        (f"(sleep 0.2; {command} 2>&1) | true", 0, []),
        (f"{command} 2>&-", 0, []),
        (f"{command} >/dev/full", 1, ["cannot continue: No space left on device"]),
        (f"{command} >&-", 1, [closed]),
        (f"{command} >&- 2>&-", 1, []),
    ):
        shell = ["bash", "-o", "pipefail", "-c", redirected]
        done = subprocess.run(shell, capture_output=True, text=True, env=HERE, check=False)
        assert done.returncode == expected, redirected
        assert done.stderr.splitlines() == told, redirected


def test_a_folder_that_was_deleted_is_told(cli, here):
    here.rmdir()
    done = cli("run", "--no-video")
    assert done.status == 1
    assert done.faults[-1].startswith("cannot continue: the working folder: ")
