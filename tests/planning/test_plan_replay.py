"""PDDLGym as a second opinion, and the form of plan files."""

import subprocess
import sys
import tempfile
from importlib.resources import files
from pathlib import Path

import pytest

from galley.domain.errors import BadInput
from galley.domain.pddl_reader import read_domain, read_problem
from galley.planning import GroundAction, ReplayStatus, breadth_first, ground, read_plan, replay

KITCHEN = Path(str(files("galley.domain").joinpath("kitchen")))


@pytest.fixture(scope="module")
def kitchen():
    domain = read_domain(KITCHEN / "kitchen.pddl")
    problem = read_problem(KITCHEN / "task.pddl", domain)
    return domain, problem, breadth_first(ground(domain, problem)).actions


def both(folder, domain, problem):
    (folder / "d.pddl").write_text(domain)
    (folder / "p.pddl").write_text(problem)
    read = read_domain(folder / "d.pddl")
    return read, read_problem(folder / "p.pddl", read)


@pytest.mark.parametrize("name", ["task", "sugar_only"])
def test_pddlgym_agrees_with_the_kitchen(name, kitchen):
    domain, _, _ = kitchen
    problem = read_problem(KITCHEN / f"{name}.pddl", domain)
    actions = breadth_first(ground(domain, problem)).actions
    outcome = replay(domain, problem, actions)
    assert outcome.status is ReplayStatus.AGREES
    assert outcome.steps == len(actions)


def test_an_action_that_is_not_applicable(kitchen):
    domain, problem, actions = kitchen
    outcome = replay(domain, problem, (*actions[:3], *actions[5:]))
    assert outcome.status is ReplayStatus.DISAGREES
    assert outcome.message.startswith("step 4, (pick spam burner h1)")
    assert outcome.steps == 3


def test_standing_still_is_no_drive(kitchen):
    domain, problem, _ = kitchen
    outcome = replay(domain, problem, [GroundAction("navigate", ("center", "center"))])
    assert outcome.status is ReplayStatus.DISAGREES
    assert "not applicable" in outcome.message


def test_a_plan_that_stops_short(kitchen):
    domain, problem, actions = kitchen
    outcome = replay(domain, problem, actions[:-1])
    assert outcome.status is ReplayStatus.DISAGREES
    assert "goal" in outcome.message


@pytest.mark.parametrize(
    ("name", "args"), [("fly", ()), ("navigate", ("center",)), ("navigate", ("center", "moon"))]
)
def test_an_action_that_does_not_exist(kitchen, name, args):
    domain, problem, _ = kitchen
    outcome = replay(domain, problem, [GroundAction(name, args)])
    assert outcome.status is ReplayStatus.DISAGREES
    assert "no such action" in outcome.message


def test_a_state_that_differs_is_noticed(kitchen, tmp_path):
    # Our domain is read first, then the file that PDDLGym will read forgets an effect.
    text = (KITCHEN / "kitchen.pddl").read_text()
    task = (KITCHEN / "task.pddl").read_text()
    domain, problem = both(tmp_path, text, task)
    (tmp_path / "d.pddl").write_text(text.replace("(not (on ?obj ?fur)) ", ""))
    outcome = replay(domain, problem, kitchen[2])
    assert outcome.status is ReplayStatus.DISAGREES
    assert "step 2" in outcome.message
    assert "(on sugar burner) too much" in outcome.message


@pytest.mark.parametrize(
    "action",
    [
        "(:action a :parameters (?x ?y - t) :precondition (p ?x) :effect (q ?x))",
        "(:action a :parameters (?x - t) :effect (q ?x))",
        "(:action a :parameters (?x-1 - t) :precondition (p ?x-1) :effect (q ?x-1))",
        "(:action a :parameters (?x - (either t)) :precondition (p ?x) :effect (q ?x))",
        "(:action q :parameters (?x - t) :precondition (p ?x) :effect (q ?x))",
    ],
    ids=["shared type", "no precondition", "dashed variable", "either", "named as a predicate"],
)
def test_beyond_pddlgym_is_said_in_one_line(tmp_path, action, capfd):
    domain, problem = both(
        tmp_path,
        f"(define (domain d) (:types t) (:predicates (p ?x - t) (q ?x - t)) {action})",
        "(define (problem p) (:domain d) (:objects o - t) (:init (p o)) (:goal (q o)))",
    )
    plan = breadth_first(ground(domain, problem))
    assert len(plan.actions) == 1
    outcome = replay(domain, problem, plan.actions)
    assert outcome.status is ReplayStatus.UNREADABLE
    assert outcome.message
    assert "\n" not in outcome.message
    assert capfd.readouterr() == ("", "")


def test_files_that_are_gone(kitchen, tmp_path):
    domain, problem = both(
        tmp_path,
        "(define (domain d))",
        "(define (problem p) (:domain d) (:init) (:goal ()))",
    )
    Path(domain.file).unlink()
    outcome = replay(domain, problem, [])
    assert outcome.status is ReplayStatus.UNREADABLE
    assert "no such file" in outcome.message


def test_replay_is_silent_and_leaves_nothing(tmp_path):
    code = (
        "import sys\n"
        "from galley.domain.pddl_reader import read_domain, read_problem\n"
        "from galley.planning import breadth_first, ground, replay\n"
        "d = read_domain(sys.argv[1]); p = read_problem(sys.argv[2], d)\n"
        "for _ in range(2):\n"
        "    assert replay(d, p, breadth_first(ground(d, p)).actions).status == 'agrees'\n"
        "from gym.envs.registration import registry\n"
        "assert not any('Galley' in each for each in registry)\n"
    )
    paths = [str(KITCHEN / "kitchen.pddl"), str(KITCHEN / "task.pddl")]
    before = set(Path(tempfile.gettempdir()).glob("galley-replay-*"))
    done = subprocess.run(
        [sys.executable, "-c", code, *paths], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert set(Path(tempfile.gettempdir()).glob("galley-replay-*")) == before


@pytest.mark.parametrize(
    ("text", "line", "column", "what"),
    [
        ("(a b)\npick", 2, 1, "expected an action"),
        ("(a b)\n  ()", 2, 3, "needs a name"),
        ("(a ?x)", 1, 4, "a variable can't stand here"),
        ("(a (b))", 1, 4, "expected an object"),
        ("(a b)\n(c d", 2, 1, "never closed"),
        ("(a b))", 1, 6, "closes nothing"),
    ],
)
def test_plan_file_faults(tmp_path, text, line, column, what):
    (tmp_path / "plan.txt").write_text(text)
    with pytest.raises(BadInput) as caught:
        read_plan(tmp_path / "plan.txt")
    (fault,) = caught.value.errors
    assert (fault.line, fault.column) == (line, column)
    assert what in fault.what


def test_empty_plan_file(tmp_path):
    (tmp_path / "plan.txt").write_text("; nothing to do\n")
    assert read_plan(tmp_path / "plan.txt") == ()
