"""The pipeline from Python, with nothing but ``import galley``, and the page that shows it."""

import io
import pickle
import re
import subprocess
import sys
from contextlib import redirect_stdout
from pathlib import Path

import numpy as np
import pytest

import galley
from galley.domain.failure import FailureKind
from galley.domain.log import Log
from galley.domain.shipped import KITCHEN, SCENARIOS
from galley.viz.replay import ReplayPage

DOCS = Path(galley.__file__).parent / "docs"
COLUMNS = ("time", "q", "velocity", "scene_q", "items", "held", "contact_step", "contact_pair")


def same_log(a, b):
    return all(np.array_equal(getattr(a, name), getattr(b, name)) for name in COLUMNS)


@pytest.fixture(scope="module")
def nowhere(tmp_path_factory):
    """A folder to work in, in which nothing may appear."""
    folder = tmp_path_factory.mktemp("nowhere")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        yield folder
    assert not list(folder.iterdir())


@pytest.fixture(scope="module")
def task(nowhere):
    return galley.load(problem="sugar_only.pddl")


@pytest.fixture(scope="module")
def solution(task):
    return galley.solve(task, seed=3, optimize="none")


@pytest.fixture(scope="module")
def run(solution):
    return galley.execute(solution, executor="kinematic")


@pytest.fixture(scope="module")
def refusal(nowhere):
    return galley.solve(galley.load(domain="drawers.pddl", problem=SCENARIOS / "too_tall.pddl"))


def test_importing_it_loads_nothing_else():
    code = (
        "import sys, galley\n"
        "print(sorted({n.split('.')[0] for n in sys.modules} & {'numpy', 'pybullet', 'yaml'}),"
        " [n for n in sys.modules if n.startswith('galley.')],"
        " set(galley.__all__) - set(dir(galley)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[] [] set()\n"


def test_every_exported_name_is_there_and_no_other():
    assert all(getattr(galley, name) is not None for name in galley.__all__)
    with pytest.raises(AttributeError, match="no attribute 'sovle'"):
        _ = galley.sovle


def test_a_solution_has_the_plan_its_motions_and_what_was_learned(task, solution):
    assert isinstance(solution, galley.Solution)
    assert [action.name for action in solution.plan] == ["navigate", "pick", "navigate", "place"]
    assert {m.action_index for m in solution.motions} <= set(range(len(solution.plan)))
    assert {motion.record.audit for motion in solution.motions} == {"free"}
    assert solution.check.own_validator == "valid"
    assert solution.search.solved
    assert solution.search.plan == solution.plan
    assert set(task.problem.goal)
    assert set(solution.timing_s) == {"compile", "task", "motion", "optimization"}


def test_a_run_is_judged_when_it_is_asked(run):
    assert run.aborted is None
    assert run.verdict.passed
    assert run.verdict.goal_reached
    assert galley.judge(run) is run.verdict
    assert run.success
    assert run.motions == len(run.solution.motions)


def test_a_run_whose_goal_does_not_hold_says_so(run):
    from dataclasses import replace

    half = replace(run.solution.motion_plan, motions=run.solution.motions[:3])
    short = galley.execute(
        replace(run.solution, motion_plan=half), executor="kinematic", recoveries=0
    )
    assert not short.success
    assert short.failure is short.aborted
    assert not short.verdict.goal_reached
    hidden = replace(short, aborted=None)
    assert hidden.failure.kind is FailureKind.CONTRADICTION
    assert "(on sugar countertop) does not hold" in str(hidden.failure)


def test_what_a_notebook_shows_of_a_result_is_a_line(task, solution, run):
    assert repr(task) == f"TampTask({KITCHEN}/sugar_only.pddl in {KITCHEN}/kitchen.yaml)"
    assert repr(solution).startswith(f"Solution(4 actions, {len(solution.motions)} motions, ")
    assert repr(run) == f"Execution(kinematic, {run.motions} motions, {run.log.duration:.1f} s)"
    assert repr(run.verdict).startswith("Verdict(passed, ")
    assert repr(galley.report(solution)).startswith("Report(")
    assert repr(ReplayPage("<p>" * 500_000)) == "Replay(1.5 MB; save(path) writes it)"


@pytest.mark.parametrize("what", ["task", "solution", "run", "refusal"])
def test_every_result_can_be_pickled(what, request):
    value = request.getfixturevalue(what)
    again = pickle.loads(pickle.dumps(value))
    assert type(again) is type(value)
    if what == "refusal":
        assert again == value
        assert again.as_json() == value.as_json()
    if what == "run":
        assert same_log(again.log, value.log)
        assert again.verdict == value.verdict


def test_a_solution_that_was_pickled_is_executed_in_the_same_way(solution, run):
    again = galley.execute(pickle.loads(pickle.dumps(solution)), executor="kinematic")
    assert same_log(again.log, run.log)


def test_a_failure_is_a_value_that_can_be_raised(refusal):
    assert isinstance(refusal, galley.Failure)
    assert refusal.certificate
    with pytest.raises(galley.FailureError) as raised:
        refusal.raise_()
    assert raised.value.failure is refusal
    assert str(raised.value) == str(refusal)
    assert pickle.loads(pickle.dumps(raised.value)).failure == refusal
    with pytest.raises(galley.FailureError):
        galley.execute(refusal)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda task, solution: galley.load(scene="nowhere.yaml"), "nowhere.yaml: no such file"),
        (
            lambda task, solution: galley.solve(task, planner="rrt-conect"),
            "planner: 'rrt-conect' is none of rrt-connect, rrt; did you mean 'rrt-connect'?",
        ),
        (
            lambda task, solution: galley.execute(solution, "robot"),
            "executor: 'robot' is none of physics, kinematic, files",
        ),
        (
            lambda task, solution: galley.execute(solution, "kinematic", noise="low"),
            "executor: noise and faults need physics",
        ),
        (
            lambda task, solution: galley.execute(solution, noise="lots"),
            "noise: unknown level or key 'lots'; there are none, low, moderate, high, or "
            "KEY=NUMBER,... of friction, mass, position, turn, observation, observation_turn",
        ),
        (
            lambda task, solution: galley.solve(task, seed="a"),
            "seed: expected a whole number from 0, got 'a'",
        ),
        (
            lambda task, solution: galley.solve(task, effort=-1),
            "effort: expected a number from 1e-06 to 1e+06, got -1",
        ),
        (
            lambda task, solution: galley.execute(solution, "kinematic").film("a.mp4", height=3),
            "height: expected a number from 120 to 2160, got 3",
        ),
        (
            lambda task, solution: galley.compare(seed="a"),
            "seed: expected a whole number from 0, got 'a'",
        ),
        (
            lambda task, solution: galley.execute(solution, "kinematic").film("run.avi"),
            "run.avi: the name of a film must end in .mp4 or .gif",
        ),
        (
            lambda task, solution: galley.load(problem="(define (problem", goal="(on sugar left)"),
            "the problem's text: the problem has no :goal to replace",
        ),
        (
            lambda task, solution: galley.report(solution, DOCS),
            f"{DOCS}: holds other files and no run; choose another --out",
        ),
    ],
)
def test_bad_input_is_told_in_one_line(task, solution, call, says):
    with pytest.raises(galley.BadInput) as raised:
        call(task, solution)
    assert str(raised.value) == says


def test_a_problem_and_a_goal_may_be_text(task):
    text = (KITCHEN / "sugar_only.pddl").read_text() + "; (:goal () of a comment"
    asked = galley.load(problem=text, goal="(and (on sugar drawer))")
    assert [goal.args for goal in asked.problem.goal] == [("sugar", "drawer")]
    assert asked.problem.init == task.problem.init
    assert Path(asked.problem.file).read_text().count("(:goal") == 1
    with pytest.raises(galley.BadInput, match=r"sugar_only.pddl:\d+:\d+: .*'moon'"):
        galley.load(problem="sugar_only.pddl", goal="(on sugar moon)")
    with pytest.raises(TypeError, match="not int"):
        galley.load(problem=3)


def test_an_option_that_is_none_is_told_with_the_one_meant(task, solution, run, tmp_path):
    with pytest.raises(TypeError, match=r"'planer' is none of .*; did you mean 'planner'"):
        galley.solve(task, planer="rrt")
    with pytest.raises(TypeError, match="'seed' is none of noise, fault, recoveries"):
        galley.execute(solution, seed=1)
    with pytest.raises(TypeError, match=r"'heigth' is none of .*; did you mean 'height'"):
        run.film(tmp_path / "film.mp4", heigth=480)


def test_a_report_is_written_where_it_is_asked_for(run, solution, tmp_path):
    report = galley.report(run)
    assert report.status == "success"
    assert report.as_json()["execution"]["motions"] == run.motions
    assert galley.report(solution).as_json()["validation"] is None
    for key, value in (("seed", 3), ("optimize", "none"), ("execute", "kinematic")):
        assert report.options[key] == value
    assert report.options["problem"] == report.problem == f"{KITCHEN}/sugar_only.pddl"
    galley.report(run, tmp_path / "kept")
    assert {file.name for file in (tmp_path / "kept").iterdir()} == {
        "report.json",
        "report.html",
        "plan.txt",
        "trajectories.npz",
        "states.npz",
        "inputs",
    }
    assert same_log(Log.load(tmp_path / "kept" / "states.npz"), run.log)


def test_a_listener_hears_of_every_stage(task):
    stages, results = [], []

    class Ears(galley.Listener):
        def stage(self, text):
            stages.append(text)

        def finished(self, result):
            results.append(type(result).__name__)

    ears = Ears()
    run = galley.execute(
        galley.solve(task, optimize="none", listener=ears), "kinematic", listener=ears
    )
    assert galley.judge(run, ears) is galley.judge(run, ears)  # once
    assert stages == [
        "task and motion planning",
        "replaying the plan in PDDLGym",
        "trajectories (none), audited in Drake",
        "execution (kinematic)",
        "validation",
    ]
    assert results == ["SearchRecord", "PlanCheck", "AuditedMotions", "Execution"]


# -- docs/python.md --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """What the page's blocks leave behind, run from the first to the last: names and output."""
    folder, names, out = tmp_path_factory.mktemp("page"), {}, io.StringIO()
    blocks = re.findall(r"^```python\n(.*?)^```", (DOCS / "python.md").read_text(), re.S | re.M)
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out):
        patch.chdir(folder)
        for block in blocks:
            exec(compile(block, "docs/python.md", "exec"), names)
    return folder, names, out.getvalue().splitlines()


@pytest.mark.slow
def test_the_page_does_what_it_says(page):
    folder, names, lines = page
    assert lines[0].startswith("True after ")
    assert "nowhere.pddl: no such file" in lines
    assert "now: validation" in lines
    assert lines[-1] == "True"
    written = {"kitchen.mp4", "again.mp4", "replay.html", "mine"}
    assert {file.name for file in folder.iterdir()} == written
    assert names["failure"].kind is FailureKind.DOES_NOT_FIT


@pytest.mark.slow
def test_the_page_has_the_same_result_as_the_command_line(page, physics_run):
    """The same seed under physics, in this process and in one of ``galley run``."""
    _, names, _ = page
    assert same_log(names["run"].log, Log.load(physics_run.folder / "states.npz"))
