"""Other planners, other problems and other scenes, all by options."""

import json

import numpy as np
import pytest

from galley.domain.log import Log
from galley.domain.shipped import KITCHEN
from galley.tests.effort import quick_first

ERRAND = KITCHEN / "sugar_only.pddl"


@pytest.fixture
def achieved(cli, tmp_path):
    """Run a task that must succeed: its report and its log."""

    def run(*arguments):
        out = tmp_path / "run"
        done = cli("run", "--no-video", "--execute", "kinematic", "--out", out, *arguments)
        assert done.status == 0, done.err
        report = json.loads((out / "report.json").read_text())
        assert (report["status"], report["goal_reached"]) == ("success", True)
        assert report["validation"]["violations"] == []
        return report, Log.load(out / "states.npz")

    return run


def arm_planners(report):
    free = [m for m in report["motions"] if m["planner"] not in ("straight", "direct")]
    return {m["planner"] for m in free if m["group"] == "arm"}


@pytest.mark.parametrize("arrival", quick_first(1, ["l1", "box"]))
@pytest.mark.slow
def test_the_seeds_rrt(achieved, arrival):
    report, _ = achieved("--problem", ERRAND, "--planner", "rrt", "--arrival", arrival)
    assert arm_planners(report) == {"rrt"}
    assert report["options"]["planner"] == "rrt"
    assert report["options"]["arrival"] == arrival


@pytest.mark.parametrize("method", quick_first(1, ["time-optimal", "smooth"]))
@pytest.mark.slow
def test_with_optimization_free_motions_of_arm_and_base_get_faster(achieved, method):
    plain, _ = achieved("--problem", ERRAND, "--optimize", "none")
    report, _ = achieved("--problem", ERRAND, "--optimize", method)
    assert report["options"]["optimize"] == method
    pairs = zip(report["motions"], plain["motions"], strict=True)
    free = [(m, p) for m, p in pairs if m["planner"] == "rrt-connect"]
    assert {m["group"] for m, _ in free} == {"arm", "base"}
    for motion, before in free:
        assert motion["optimizer"] == method
        # ``smooth`` turns a base early: x and y, then the heading, instead of all at once.
        early = method == "smooth" and motion["group"] == "base"
        longer = 1.02 * (np.sqrt(2.0) if early else 1.0)
        assert motion["length"]["optimized"] <= longer * motion["length"]["shortcut"]
        assert motion["duration_s"] < before["duration_s"]
    assert report["timing_s"]["optimization"] > 0


@pytest.mark.slow
def test_with_the_seeds_program_on_the_arms_paths(achieved):
    report, _ = achieved("--problem", ERRAND, "--optimize", "shortest")
    free = [m for m in report["motions"] if m["planner"] == "rrt-connect" and m["group"] == "arm"]
    assert free
    for motion in free:
        kept = motion["optimizer"].startswith("kept the planned path: ")
        assert kept == (motion["length"]["optimized"] is None)
        assert kept or motion["optimizer"] == "shortest"


@pytest.mark.slow
def test_another_problem_in_the_same_kitchen(achieved, problem):
    report, log = achieved("--problem", problem("(and (grasp spam) (near countertop))"))
    assert report["plan"][-1] == "(navigate burner countertop)"
    assert log.held[-1] == 1
